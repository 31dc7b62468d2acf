/* src/sched/task.c - tasks and processes come and go.  SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "sched/carrier.h"
#include "sched/core.h"
#include "sched/ring.h"
#include "shm/shm.h"

void sched_bind(struct sched *s, void *base)
{
    struct usf_header *h = base;
    char *b = base;
    s->h = h;
    s->cores = (struct usf_core *)(b + h->off_cores);
    s->procs = (struct usf_proc *)(b + h->off_procs);
    s->groups = (struct usf_group *)(b + h->off_groups);
    s->threads = (struct usf_thread *)(b + h->off_threads);
    s->tasks = (struct usf_task *)(b + h->off_tasks);
    s->runs = (struct usf_run *)(b + h->off_runs);
    s->proc = USF_NONE;
    s->pol = (struct usf_pol){
        .quantum = h->quantum_ns, .slice = h->slice_ns, .flags = h->blind ? USF_POL_BLIND : 0,
        .nr_cores = h->nr_cores, .nr_tasks = h->max_tasks, .nr_groups = h->max_groups,
        .task_stride = sizeof(struct usf_task), .core_stride = sizeof(struct usf_core),
        .group_stride = sizeof(struct usf_group),
        .tasks = (char *)&s->tasks->pol, .cores = (char *)&s->cores->pol, .groups = (char *)&s->groups->pol,
        .data = h->pol_data,
    };
}

/* ---- processes -------------------------------------------------------------------------------- */

/* The monitor opens a pidfd, at its next look if it looks anyhow within milliseconds: many
 * processes have ended by then, and to have the monitor wake up for each costs as much as all the
 * rest of joining.  Asleep, it has to be woken: it sets its flag before it compares the number that
 * it is about to sleep on. */
static void tell_of_join(struct sched *s)
{
    atomic_fetch_add(&s->h->monitor_event, 1);
    if (s->kernel || atomic_load(&s->h->monitor_asleep) & USF_MONITORS_ASLEEP) sched_tell_monitor(s->h);
}

int sched_proc_join(struct sched *s, int32_t pid, uint64_t start_time, const char *comm,
                    const struct os_cpuset *cpus, uint32_t run)
{
    struct sched_self me = {.task = USF_NONE, .joining = 1};
    uint64_t cores[USF_CORE_WORDS];
    if (!core_of_cpus(s, cpus, cores)) return -EXDEV;
    int i = shm_join_begin(s->h, s->shm_dir, s->namespace, pid, start_time);
    if (i < 0) return i;

    struct usf_proc *p = &s->procs[i];
    p->run = run;
    atomic_store(&p->deserted, 0);
    p->unpatched = p->spin_sites = p->stays = 0;
    p->stays_why = 0;
    usf_format(p->comm, sizeof p->comm, "%s", comm);
    __atomic_store_n(&p->group, USF_NONE, __ATOMIC_RELAXED);
    s->proc = (uint32_t)i;
    probe_forget(s);            /* before the lock: no other thread of this process enters yet */
    int group = core_enter_for_group(s, &me, false);
    if (group < 0) {
        shm_leave(s->h, (uint32_t)i);
        s->proc = USF_NONE;
        return group;
    }
    usf_xassert(shm_header_is_valid(s->h, s->h->total_size, (char[160]){0}, 160));
    /* Under the lock: a change of policy, and recovery, look at all records. */
    for (unsigned w = 0; w < USF_CORE_WORDS; w++) {
        p->cores[w] = cores[w];
        __atomic_store_n(&p->may[w], cores[w], __ATOMIC_RELAXED);
    }
    atomic_store(&p->quota, 0);
    p->nr_groups = 0;
    __atomic_store_n(&p->group, (uint32_t)group, __ATOMIC_RELAXED);
    if (!s->h->policy_begun && !core_begin_policy(s)) core_replace_policy(s, "its init has failed");
    core_make_group(s, (uint32_t)group, (uint32_t)i, &(struct group_traits){
        .name = "", .weight = s->weight ? s->weight : 100, .priority = s->priority, .flags = s->flags});
    atomic_store(&p->state, USF_PROC_ACTIVE);
    core_leave(s, &me, &(struct wakes){0});
    tell_of_join(s);
    return i;
}

static void clear_counters(struct usf_counters *n)
{
    uint64_t *word = (uint64_t *)n;
    for (unsigned i = 0; i < sizeof *n / 8; i++) __atomic_store_n(&word[i], 0, __ATOMIC_RELAXED);
}

/* The task becomes GONE.  The record may be freed only when its thread does not touch it any
 * more. */
static void remove_task(struct sched *s, uint32_t task, struct wakes *k)
{
    struct usf_task *t = &s->tasks[task];
    uint32_t core = atomic_load(&t->core);
    unsigned st = atomic_load(&t->state);

    if (core < s->h->nr_cores) {
        struct usf_core *c = &s->cores[core];
        uint32_t poll = atomic_load(&c->poller);
        core_drop(s, core, task);
        /* It polled its last core: no thread looks into the mailbox any more. */
        if (poll == task + 1 || (poll & USF_MAIL)) {
            /* (a mail is taken by a live poller within microseconds: waking its task twice is
             * harmless) */
            poll = atomic_exchange(&c->poller, 0);
            if (poll & USF_MAIL && k->n < WAKES_MAX) k->task[k->n++] = (poll & ~USF_MAIL) - 1;
        }
    }
    if (st == USF_TASK_READY) core_dequeue(s, task);
    s->ops.task_remove(&s->pol, task);
    core_group(s, task)->pol.nr_tasks--;
    core_end_task(s, task);
}

void core_end_task(struct sched *s, uint32_t task)
{
    struct usf_task *t = &s->tasks[task];
    core_add_counters(&core_group(s, task)->gone, &t->n);
    clear_counters(&t->n);
    core_set_state(s, task, ~0u, USF_TASK_GONE);
}

/* Free a record: called by its own thread, or for a dead process.  A thread frees its own record
 * only after it has released the lock: the lock's word names the record, which must tell whether
 * the owner is dead.  The claim is given up last: until then the record goes with its process. */
static void free_task(struct sched *s, uint32_t task, unsigned from)
{
    struct usf_task *t = &s->tasks[task];
    t->proc = USF_NONE;
    core_pass_state(t, from, USF_TASK_FREE);
    USF_POINT("sched.freed_task");
    atomic_store(&t->claim, 0);
}

static void free_thread(struct sched *s, uint32_t thread)
{
    atomic_store(&s->threads[thread].born, 0);
    atomic_store(&s->threads[thread].claim, 0);
}

/* The thread of a task that ends, and with it its kernel thread. */
static void free_both(struct sched *s, uint32_t task)
{
    uint32_t thread = atomic_load(&s->tasks[task].thread);
    free_task(s, task, USF_TASK_GONE);
    free_thread(s, thread);
}

/* holds the lock.  The process is dead: none of its threads looks at its record any more.  One may
 * have died when it had claimed a record and not yet filled it in, or had freed it and not given
 * the claim up: that is FREE or NEW, and `proc` does not name the process. */
static void free_tasks(struct sched *s, uint32_t proc)
{
    uint32_t hwm = atomic_load(&s->h->task_hwm);
    for (uint32_t i = 0; i < hwm; i++) {
        unsigned st = atomic_load(&s->tasks[i].state);
        if (atomic_load(&s->tasks[i].claim) != proc + 1) continue;
        if (st == USF_TASK_FREE) atomic_store(&s->tasks[i].claim, 0);
        else if (st == USF_TASK_NEW || st == USF_TASK_GONE) free_task(s, i, st);
    }
    for (uint32_t i = 0; i < hwm; i++)
        if (atomic_load(&s->threads[i].claim) == proc + 1) free_thread(s, i);
}

/* holds the lock.  Make room: these are on their cores already. */
static void wake_now(struct sched *s, struct wakes *k)
{
    for (uint32_t j = 0; j < k->n; j++) core_wake(s, k->task[j], false);
    k->n = 0;
}

void core_fill_each(struct sched *s, struct wakes *k)
{ for (core_fill_all(s, k); k->n >= WAKES_MAX - 2; core_fill_all(s, k)) wake_now(s, k); }

/* holds the lock, and releases it */
static void remove_proc(struct sched *s, struct sched_self *me, uint32_t proc, bool dead)
{
    struct usf_proc *p = &s->procs[proc];
    NO_WAKES(k);
    uint32_t hwm = atomic_load(&s->h->task_hwm);    /* under the lock: all tasks that attached before are below it */
    uint32_t state = atomic_load(&p->state), kept = 0, task = me->task;
    if (state == USF_PROC_FREE || state == USF_PROC_JOINING || (state == USF_PROC_LEAVING && dead)) {
        if (state == USF_PROC_LEAVING) free_tasks(s, proc);
        core_leave(s, me, &k);
        if (state != USF_PROC_FREE) shm_leave(s->h, proc);     /* died while it joined, or after it left */
        return;
    }
    if (proc == s->proc) atomic_store(&s->leaving, SCHED_LEAVING);
    atomic_store(&p->state, USF_PROC_LEAVING);
    for (uint32_t i = 0; i < hwm; i++) {
        unsigned st = atomic_load(&s->tasks[i].state);
        if (atomic_load(&s->tasks[i].claim) != proc + 1) continue;
        if (i != me->task) kept++;
        if (!usf_task_is_known(st)) continue;       /* not yet, or no longer, to the policy */
        remove_task(s, i, &k);
        USF_POINT("sched.removing");
        if (k.n >= WAKES_MAX - 4) wake_now(s, &k);
    }
    struct usf_counters gone;
    core_end_groups(s, proc, &gone);
    if (p->run && p->run <= s->h->max_runs) {
        struct usf_run *r = &s->runs[p->run - 1];
        const uint64_t *n = (const uint64_t *)&gone;
        atomic_fetch_add(&r->nr_procs, 1);
        atomic_fetch_add(&r->spin_sites, p->spin_sites);
        atomic_fetch_add(&r->unpatched, p->unpatched);
        atomic_fetch_add(&r->stays, p->stays);
        atomic_fetch_or(&r->stays_why, p->stays_why);
        for (unsigned i = 0; i < sizeof gone / 8; i++) atomic_fetch_add(&r->n[i], n[i]);
    }
    core_fill_each(s, &k);
    /* Other threads of a process that leaves by itself go on for a moment, and park and wake by
     * their records.  The monitor frees these once the process is dead. */
    if (dead) free_tasks(s, proc);
    USF_POINT("sched.removed");
    core_leave(s, me, &k);
    USF_POINT("sched.left");
    if (!dead && task != USF_NONE) free_both(s, task);
    if (dead || !kept) shm_leave(s->h, proc);
    if (proc == s->proc) s->proc = USF_NONE;
    me->task = USF_NONE;
}

void sched_proc_remove(struct sched *s, uint32_t proc, bool lives)
{
    struct sched_self me = {.task = USF_NONE};
    if (core_enter(s, &me)) remove_proc(s, &me, proc, !lives);
}

bool sched_leave(struct sched *s, struct sched_self *me, uint32_t *proc)
{
    if (!core_enter(s, me)) return false;
    *proc = s->proc;
    remove_proc(s, me, *proc, false);
    return true;
}

/* A floating thread may have left its kernel thread since that was looked at, and that one have
 * ended: then the task names another by now. */
static bool has_ended(struct sched *s, uint32_t task, char (*state)(void *arg, uint32_t task), void *arg)
{
    uint32_t thread = atomic_load(&s->tasks[task].thread);
    return state(arg, task) == 'X' && atomic_load(&s->tasks[task].thread) == thread;
}

/* The thread was killed alone (seccomp can do that), or ended by a system call that the gate does
 * not see. */
void sched_lose_task(struct sched *s, uint32_t core, uint64_t word, char (*state)(void *arg, uint32_t task), void *arg)
{
    struct sched_self me = {.task = USF_NONE};
    NO_WAKES(k);
    uint32_t task = core_task(word);
    if (!core_enter(s, &me)) return;
    if (atomic_load(&s->cores[core].word) == word && atomic_load(&s->tasks[task].state) == USF_TASK_RUNNING && has_ended(s, task, state, arg)) {
        remove_task(s, task, &k);
        free_both(s, task);
        core_fill_all(s, &k);
    }
    core_leave(s, &me, &k);
}

void sched_left(struct sched *s, uint32_t proc, bool for_good)
{
    uint32_t hwm = atomic_load(&s->h->task_hwm);
    atomic_store(&s->leaving, for_good ? SCHED_LEFT : SCHED_STAYS);
    os_futex_wake(&s->leaving, INT32_MAX);
    for (uint32_t i = 0; i < hwm; i++) {
        struct usf_task *t = &s->tasks[i];
        if (t->proc != proc || atomic_load(&t->state) != USF_TASK_GONE) continue;
        core_rouse(sched_thread_of(s, i));
    }
}

void sched_rouse(struct sched *s, uint32_t but)
{
    for (uint32_t i = 0, hwm = atomic_load(&s->h->task_hwm); i < hwm; i++) {
        uint32_t claim = atomic_load(&s->threads[i].claim);
        if (claim && claim - 1 != but) core_rouse(&s->threads[i]);
    }
}

void sched_desert(struct sched *s, const struct os_cpuset *cpus)
{
    uint32_t hwm = atomic_load(&s->h->task_hwm), stays = SCHED_STAYS, proc = s->proc;
    if (!atomic_compare_exchange_strong(&s->leaving, &stays, SCHED_LEFT)) return;
    for (uint32_t i = 0; i < hwm; i++) {
        struct usf_task *t = &s->tasks[i];
        if (t->proc != proc || atomic_load(&t->claim) != proc + 1) continue;
        os_setaffinity(sched_thread_of(s, i)->tid, cpus);
        core_rouse(sched_thread_of(s, i));
    }
    if (proc >= s->h->max_procs) return;        /* it has not joined */
    atomic_store(&s->procs[proc].deserted, 1);
    sched_tell_monitor(s->h);   /* the lock may have moved on meanwhile: the monitor's look then found nothing */
}

/* ---- threads ---------------------------------------------------------------------------------- */

/* Claim a free record of the table of tasks, or of that of threads, which is as long.  word: that of
 * its first record; the word of a free record is 0, and becomes the process + 1, so that the record
 * is the process's from that moment on, whenever the thread dies.  The search begins at number
 * `start`.  USF_NONE: there is no room. */
static uint32_t claim(struct sched *s, _Atomic uint16_t *word, size_t size, uint32_t start, uint32_t proc)
{
    uint32_t hwm = atomic_load(&s->h->task_hwm);
    for (;;) {
        for (uint32_t n = 0; n < hwm; n++) {
            uint32_t i = (start + n) % hwm;
            _Atomic uint16_t *at = (_Atomic uint16_t *)((char *)word + i * size);
            uint16_t free = 0, as = (uint16_t)(proc + 1);
            if (atomic_load_explicit(at, memory_order_relaxed) == 0 && atomic_compare_exchange_strong(at, &free, as)) return i;
        }
        if (hwm >= s->h->max_tasks || shm_reserve_tasks(s->h, s->shm_dir, hwm + USF_TASK_CHUNK)) return USF_NONE;
        hwm = atomic_load(&s->h->task_hwm);
    }
}

static uint32_t claim_record(struct sched *s, uint32_t proc)
{
    uint32_t start = atomic_load_explicit(&s->next_record, memory_order_relaxed);
    uint32_t i = claim(s, &s->tasks->claim, sizeof *s->tasks, start, proc);
    if (i == USF_NONE) return i;
    USF_POINT("sched.claimed_task");
    core_pass_state(&s->tasks[i], USF_TASK_FREE, USF_TASK_NEW);
    atomic_store_explicit(&s->next_record, i + 1, memory_order_relaxed);
    return i;
}

/* Most often the one of the task's number is free. */
static uint32_t claim_thread(struct sched *s, uint32_t task, uint32_t proc)
{ return claim(s, &s->threads->claim, sizeof *s->threads, task, proc); }

/* Both records are the thread's own until it enters the scheduler. */
static void fill_records(struct sched *s, struct sched_self *me, uint32_t id, uint32_t number, int32_t tid, const char *name)
{
    struct usf_task *t = &s->tasks[id];
    struct usf_thread *thread = &s->threads[number];
    const struct usf_group *first = sched_first_group(s);
    atomic_store(&t->thread, number);
    atomic_store(&thread->park, USF_PARK_NONE);
    atomic_store(&t->core, USF_NONE);
    atomic_store(&thread->pinned, USF_PINNED_UNKNOWN);       /* as its maker's was */
    atomic_store(&t->pending_wake, 0);
    atomic_store(&thread->parked, 0);
    atomic_store(&t->wait_kind, USF_WAIT_NONE);
    atomic_store(&thread->burst_cpu_ns, 0);
    atomic_store(&t->bursts, 0);
    atomic_store(&t->release, 0);
    thread->tid = tid;
    t->proc = s->proc;
    clear_counters(&t->n);
    usf_format(t->name, sizeof t->name, "%s", name);
    __builtin_memset(&t->pol, 0, sizeof t->pol);
    t->pol.id = id;
    t->pol.group = first ? (uint32_t)(first - s->groups) : 0;   /* for tools; what counts is set under the lock */
    t->pol.last_core = USF_NONE;
    me->poll_core = me->interrupted = me->unproductive = me->bursts.in_row = me->bursts.n = 0;
    me->bursts.cpu_ns = 0;
    if (s->spins) atomic_store_explicit(&s->spins[id].regs, 0, memory_order_relaxed);   /* of a parent that forked */
}

/* holds the lock */
static void begin_task(struct sched *s, struct sched_self *me, uint32_t id, struct usf_thread *thread, struct wakes *k)
{
    struct usf_task *t = &s->tasks[id];
    /* Another thread may have made the process leave and join again since: only now is its number
     * final. */
    t->proc = s->proc;
    t->pol.group = s->procs[s->proc].group;
    atomic_store(&t->claim, (uint16_t)(s->proc + 1));
    atomic_store(&thread->claim, (uint16_t)(s->proc + 1));
    atomic_store(&thread->born, id + 1);
    me->task = id;
    if (s->carriers) carrier_begin(s, me);
    if (trace_is_on(s)) trace_thread(s, me);
    core_group(s, id)->pol.nr_tasks++;
    s->ops.task_add(&s->pol, id);
    if (s->kernel) core_set_state(s, id, ST(USF_TASK_NEW), USF_TASK_RUNNING);
    else core_place(s, id, USF_WHY_NEW, k);
    sched_set_where(me, SCHED_AT(SCHED_USER) | SCHED_AT(SCHED_IN_CALL), SCHED_PARKED);  /* IN_CALL: opted out since */
}

int sched_attach(struct sched *s, struct sched_self *me, int32_t tid, const char *name)
{
    NO_WAKES(k);
    sched_crit_enter(me);
    uint32_t proc = s->proc, id = proc != USF_NONE ? claim_record(s, proc) : USF_NONE;
    if (id == USF_NONE) {
        sched_crit_leave(s, me);
        return proc == USF_NONE ? -ESTALE : -EAGAIN;       /* the process is just being taken off; or there is no room */
    }
    USF_POINT("sched.new");
    uint32_t number = claim_thread(s, id, proc);
    if (number == USF_NONE) {
        free_task(s, id, USF_TASK_NEW);
        sched_crit_leave(s, me);
        return -EAGAIN;
    }
    fill_records(s, me, id, number, tid, name);
    if (!core_enter(s, me)) {
        free_task(s, id, USF_TASK_NEW);
        free_thread(s, number);
        sched_crit_leave(s, me);
        return -ESTALE;
    }
    begin_task(s, me, id, &s->threads[number], &k);
    core_leave(s, me, &k);
    if (s->kernel) sched_set_where(me, SCHED_AT(SCHED_PARKED), SCHED_USER);
    else core_wait_turn(s, me);
    sched_crit_leave(s, me);
    return 0;
}

/* The task that runs next on the core.  It is taken out of those that the release of the lock
 * wakes. */
static uint32_t take_successor(struct sched *s, uint32_t core, struct wakes *k)
{
    for (uint32_t i = 0; core != USF_NONE && i < k->n; i++) {
        uint32_t successor = k->task[i];
        if (atomic_load(&s->tasks[successor].core) != core) continue;
        k->task[i] = k->task[--k->n];
        return successor;
    }
    return USF_NONE;
}

void sched_detach(struct sched *s, struct sched_self *me, bool ends)
{
    NO_WAKES(k);
    if (me->task == USF_NONE) return;
    if (!core_enter(s, me)) return;
    uint32_t task = me->task;       /* a handler that runs at the section's end may clear me->task */
    uint32_t core = ends && atomic_load(&s->tasks[task].state) == USF_TASK_RUNNING ? atomic_load(&s->tasks[task].core) : USF_NONE;
    remove_task(s, task, &k);
    core_fill_all(s, &k);
    uint32_t successor = take_successor(s, core, &k);
    USF_POINT("sched.removed");
    core_leave(s, me, &k);
    USF_POINT("sched.detached");
    carrier_forget(s, task);
    if (carrier_is_home(me)) free_both(s, task);
    else free_task(s, task, USF_TASK_GONE);     /* the kernel thread that it began as executes another thread */
    me->task = USF_NONE;
    if (successor != USF_NONE) core_wake(s, successor, true);   /* last: the successor waits for this thread's end from here on */
}
