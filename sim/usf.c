/* sim/usf.c - threads under usf: the real scheduler, called at the virtual times at which they
 * would call it.  SPDX-License-Identifier: Apache-2.0
 *
 * Each program has its own view (struct sched), as each process has; the monitor has another.  The
 * policy's operations are called through two hooks, which note who becomes ready and who is
 * started, and change nothing.
 *
 * The scheduler lock is never contended here, as a fiber executes a whole decision at one instant;
 * what waiting for it takes is reckoned: decisions are `lock_ns` apart, and who comes sooner pays
 * for the wait. */
#include "sim/internal.h"
#include "os/os.h"
#include "policy/policy.h"
#include "sched/watch.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static struct sim_view *view_of(struct usf_pol *p) { return (struct sim_view *)(void *)((char *)p - offsetof(struct sim_view, s.pol)); }
static struct usf_task *record(struct sim_thread *t) { return &t->inst->view->s.tasks[t->self.task]; }

/* Null: the task has ended. */
static struct sim_thread *thread_of(const struct sched *v, uint32_t task)
{
    int32_t tid = atomic_load_explicit(&sched_thread_of(v, task)->tid, memory_order_relaxed);
    return tid ? sim_thread(sim_the, (uint32_t)tid - 1) : 0;
}

static void forget(const struct sched *v, uint32_t task) { atomic_store_explicit(&sched_thread_of(v, task)->tid, 0, memory_order_relaxed); }

/* ---- hooks ----------------------------------------------------------------------------------------- */

/* Is it in the policy's queues, and has it use for a core? */
static void set_queued(struct sim_thread *t, bool in_queue)
{
    struct sim *s = sim_the;
    bool useful = in_queue && (!t->unproductive || t->granted);
    s->useful += (uint32_t)useful - t->useful;
    t->in_queue = in_queue;
    t->useful = useful;
}

void sim_usf_granted(struct sim_thread *t) { set_queued(t, t->in_queue); }

static void on_enqueue(struct usf_pol *p, uint32_t task, enum usf_why why)
{
    struct sim *s = sim_the;
    struct sim_thread *t = thread_of(&view_of(p)->s, task);
    s->asks = true;
    sim_mark_ready(s, t);
    set_queued(t, true);
    if (why != USF_WHY_YIELD) s->pokes++;
    view_of(p)->inner.enqueue(p, task, why);
}

static void on_started(struct usf_pol *p, uint32_t core, uint32_t task)
{
    const struct sched *v = &view_of(p)->s;
    uint32_t poller = atomic_load(&v->cores[core].poller);
    set_queued(thread_of(v, task), false);
    if (poller && !(poller & USF_MAIL)) sim_poke(sim_the, thread_of(v, poller - 1));
    usf_cores_remove(sim_the->keeps, core);
    view_of(p)->inner.started(p, core, task);
}

static void on_stopped(struct usf_pol *p, uint32_t core, uint32_t task)
{
    sim_the->asks = true;
    view_of(p)->inner.stopped(p, core, task);
}

static void on_dequeue(struct usf_pol *p, uint32_t task)
{
    struct sim_thread *t = thread_of(&view_of(p)->s, task);
    if (t) set_queued(t, false);
    view_of(p)->inner.dequeue(p, task);
}

/* Whoever is chosen has waited for long: all that is known of it comes at once, not one record
 * after another. */
static uint32_t on_pick(struct usf_pol *p, uint32_t core)
{
    const struct sim_view *v = view_of(p);
    uint32_t task = v->inner.pick(p, core);
    if (task >= v->s.h->max_tasks) return task;
    sim_fetch(&v->s.tasks[task], sizeof(struct usf_task));
    __builtin_prefetch(&v->s.spins[task]);
    const struct sim_thread *t = thread_of(&v->s, task);
    if (t) sim_fetch(t, SIM_THREAD_HOT);
    return task;
}

/* The policy may have been replaced since: its operations are the new one's then, and bare. */
static void hook(struct sim_view *v)
{
    if (USF_LIKELY(v->s.ops.enqueue == on_enqueue)) return;
    v->inner = v->s.ops;
    v->s.ops.enqueue = on_enqueue;
    v->s.ops.started = on_started;
    v->s.ops.stopped = on_stopped;
    v->s.ops.dequeue = on_dequeue;
    v->s.ops.pick = on_pick;
}

static bool probe(uint32_t place, const void *regs) { return ((const struct sim_thread *)regs)->granted; }

static struct sim_view *view_new(struct sim *s)
{
    struct sim_view *v = calloc(1, sizeof *v);
    if (!v) return 0;
    sched_bind(&v->s, s->h);
    v->s.watch = s->watcher;
    v->s.remote_pin = v->s.no_contention = true;        /* no programs but those that are simulated */
    v->s.spins = s->spins;
    v->s.probe = probe;
    if (sched_use_policy(&v->s, s->c->policy_ops, s->why, s->cap)) {
        free(v);
        return 0;
    }
    hook(v);
    return v;
}

/* ---- begin, end ------------------------------------------------------------------------------------ */

int sim_usf_init(struct sim *s)
{
    const struct usf_policy_ops *ops = s->c->policy_ops ? s->c->policy_ops : policy_find(s->c->policy);
    if (!ops) {
        const char *near = policy_nearest(s->c->policy);
        usf_format(s->why, s->cap, "there is no policy `%s`%s%s%s", s->c->policy, near ? "; did you mean `" : "", near ? near : "", near ? "`?" : "");
        return -EINVAL;
    }
    if (ops->flags & USF_POLICY_KERNEL) {
        usf_format(s->why, s->cap, "policy `%s` leaves scheduling to the kernel: choose a model of the kernel instead", ops->name);
        return -EINVAL;
    }
    if (s->m->nr_cpus > USF_MAX_CORES) {
        usf_format(s->why, s->cap, "the machine has %u CPUs, and this build of the scheduler at most %u cores", s->m->nr_cpus, USF_MAX_CORES);
        return -EINVAL;
    }
    s->h = sim_segment_new(s->c, &s->segment);
    if (!s->h) return -ENOMEM;
    s->watcher = calloc(1, sizeof *s->watcher);
    s->spins = mmap(0, USF_MAX_TASKS * sizeof *s->spins, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (s->spins == MAP_FAILED) s->spins = 0;
    if (!s->watcher || !s->spins) return -ENOMEM;
    s->monitor = view_new(s);
    if (!s->monitor) return *s->why ? -EINVAL : -ENOMEM;
    sched_watch_begin(&s->monitor->s);
    s->looked_at = s->now;
    sim_heap_set(&s->heap, s->id_monitor, s->now + WATCH_LEAST_NS);
    return 0;
}

void sim_usf_free(struct sim *s)
{
    if (s->spins) munmap(s->spins, USF_MAX_TASKS * sizeof *s->spins);
    if (s->h) sim_segment_free(s->h, s->segment);
    free(s->watcher);
    free(s->spinner);
    free(s->monitor);
}

int sim_usf_join(struct sim *s, struct sim_inst *i)
{
    struct os_cpuset cpus = {0};
    struct sim_view *v = i->view = view_new(s);
    if (!v) return *s->why ? -EINVAL : -ENOMEM;
    for (uint32_t c = 0; c < s->m->nr_cpus; c++)
        if (!i->p->cpus || i->p->cpus[c / 64] >> (c % 64) & 1) os_cpu_set(&cpus, c);
    v->s.weight = i->p->weight;
    v->s.priority = i->p->priority;
    v->s.flags = i->p->flags;
    if (s->c->floats && !i->p->no_float) v->s.carriers = &v->carrier;
    int r = sched_proc_join(&v->s, (int32_t)i->index + 2, 1, i->p->name, &cpus, 0);
    if (r < 0) return r;
    hook(v);
    return 0;
}

/* What a yield that hands the core over takes outside of the scheduler's lock. */
static uint64_t outside_ns(const struct sim *s, const struct sim_thread *t)
{
    const struct sim_costs *c = &s->m->cost;
    return c->sched_ns + (t->self.home ? c->float_ns : c->yield_ns + c->switch_ns);
}

/* 2: by yielding */
static void set_at_rest(struct sim_thread *t, bool rests, bool yields)
{
    struct sim *s = sim_the;
    if (t->at_rest == 2) s->yield_at_rest--, s->rest_ns -= outside_ns(s, t);
    if (t->at_rest) s->at_rest--;
    t->at_rest = rests ? yields ? 2 : 1 : 0;
    if (t->at_rest == 2) s->yield_at_rest++, s->rest_ns += outside_ns(s, t);
    if (t->at_rest) s->at_rest++;
}

/* As the monitor clears away a process that has died. */
void sim_usf_leave(struct sim *s, struct sim_inst *i)
{
    hook(s->monitor);
    if (i->view->s.proc != USF_NONE) sched_proc_remove(&s->monitor->s, i->view->s.proc, false);
    for (uint32_t id = i->threads; id; id = sim_thread(s, id - 1)->next_of_inst) {
        struct sim_thread *t = sim_thread(s, id - 1);
        if (t->self.task != USF_NONE) forget(&s->monitor->s, t->self.task);
        set_queued(t, false);
        set_at_rest(t, false, false);
        if (t->spin_at) {
            uint32_t last = s->spinner[--s->nr_spinners];
            s->spinner[t->spin_at - 1] = last;
            sim_thread(s, last)->spin_at = t->spin_at;
            t->spin_at = 0;
        }
    }
    free(i->view);
    i->view = 0;
}

/* ---- what a decision costs ------------------------------------------------------------------------- */

/* Threads that yield at rest would take the lock each time.  If they are so many that it is never
 * free, each turn at it is as long as all of them need, less what each does outside. */
static uint64_t lock_wait_behind(struct sim *s)
{
    const struct sim_costs *c = &s->m->cost;
    uint64_t all = (uint64_t)s->yield_at_rest * c->lock_ns, outside = s->yield_at_rest ? s->rest_ns / s->yield_at_rest : 0;
    if (all <= outside) return 0;
    s->st->lock_wait_ns += all - outside;
    return all - outside;
}

static void pay(struct sim *s, struct sim_thread *t)
{
    uint64_t at = s->lock_free_at > s->now ? s->lock_free_at : s->now;
    s->st->lock_wait_ns += at - s->now;
    t->debt += s->m->cost.sched_ns + s->m->cost.lock_ns + (at - s->now);
    s->lock_free_at = at + s->m->cost.lock_ns;
    t->debt += lock_wait_behind(s);
    hook(t->inst->view);
}

void sim_usf_attach(struct sim_thread *t)
{
    struct sim *s = sim_the;
    pay(s, t);
    t->self.task = USF_NONE;
    t->self.floats = t->inst->view->s.carriers;
    int r = sched_attach(&t->inst->view->s, &t->self, (int32_t)t->k.id + 1, t->inst->p->name);
    if (r) sim_fail(s, r, "%s", r == -EAGAIN ? "more threads than an instance has tasks" : "a thread cannot take part");
    if (r) sim_request(t, SIM_REQ_EXIT);
}

void sim_usf_detach(struct sim_thread *t)
{
    struct sim *s = sim_the;
    uint32_t task = t->self.task;
    pay(s, t);
    sched_detach(&t->inst->view->s, &t->self, true);
    forget(&t->inst->view->s, task);
}

/* ---- waiting ----------------------------------------------------------------------------------------- */

static bool spinner_add(struct sim *s, struct sim_thread *t)
{
    if (s->nr_spinners == s->cap_spinners) {
        uint32_t n = s->cap_spinners ? 2 * s->cap_spinners : 256;
        uint32_t *list = realloc(s->spinner, n * sizeof *list);
        if (!list) return false;
        s->spinner = list;
        s->cap_spinners = n;
    }
    s->spinner[s->nr_spinners++] = t->k.id;
    t->spin_at = s->nr_spinners;
    return true;
}

static void spinner_del(struct sim *s, struct sim_thread *t)
{
    if (!t->spin_at) return;
    uint32_t last = s->spinner[--s->nr_spinners];
    s->spinner[t->spin_at - 1] = last;
    sim_thread(s, last)->spin_at = t->spin_at;
    t->spin_at = 0;
}

/* A turn that finds no task for the core, after `unproductive` of them in a row, until the next
 * one: no switch. */
static uint64_t unproductive_turn(const struct sim *s, bool yields, uint32_t unproductive)
{
    const struct sim_costs *c = &s->m->cost;
    uint64_t ns = c->sched_ns + c->lock_ns + (yields ? c->yield_ns : (1 + spinwait_rounds(unproductive, true)) * c->spin_ns);
    return ns ? ns : 1;
}

/* Rounds of a busy-wait.  The scheduler may not know a thread that has come to this CPU, one that
 * is just beginning: now and then the kernel gets to choose, as in the runtime. */
static void wait_rounds(struct sim *s, struct sim_thread *t, bool yields, uint64_t ns)
{
    uint64_t next = t->strangers_at + (yields ? YIELD_STRANGERS_NS : SPIN_STRANGERS_NS);
    bool others = s->cpu[t->k.cpu].nr_queued != 0;
    if (others && next <= s->now) {
        t->strangers_at = s->now;
        t->debt += s->m->cost.yield_ns;
        sim_request(t, SIM_REQ_YIELD);
        return;
    }
    if (others && next - s->now < ns) ns = next - s->now;
    t->on_enqueue = !others;
    sim_busy(t, SIM_MODE_SPIN, ns);
    t->on_enqueue = 0;
}

/* The policy has it keep its core for a time: its rounds do not enter the scheduler. */
static void keep(struct sim *s, struct sim_thread *t, bool yields, uint64_t until)
{
    uint32_t core = atomic_load(&record(t)->core);
    const struct usf_pol_core *c = &t->inst->view->s.cores[core].pol;
    uint64_t keeps = c->keeps_until;
    usf_assert(!usf_cores_has(s->keeps, core));
    usf_cores_add(s->keeps, core);
    wait_rounds(s, t, yields, (until && until < keeps ? until : keeps) - s->now);
    if (c->current == t->self.task) usf_cores_remove(s->keeps, core);      /* else it has been made to give way meanwhile, and the core is another's */
    t->self.yielded = s->now;
}

/* The rounds of a busy-wait that find nothing: until the wait is over, until a task becomes ready,
 * or, if others are ready that no turn has put on this core, until a turn that looks further.
 * These rounds may be thousands, and are one event: so the turns among them are not executed but
 * reckoned, by the numbers that give_way goes by (src/sched/wait.c). */
static void spin(struct sim *s, struct sim_thread *t, bool yields, uint64_t until)
{
    if (sched_keeps_core(&t->inst->view->s, &t->self)) {
        keep(s, t, yields, until);
        return;
    }
    bool others = sched_core_is_wanted(&t->inst->view->s);
    uint32_t unproductive = t->self.unproductive, further = unproductive < YIELD_NEAR_TURNS ? YIELD_NEAR_TURNS : unproductive | (YIELD_ANY_TURNS - 1);
    uint64_t ns = others ? 0 : SIM_ENDLESS, began = s->now;
    further += further == unproductive;
    for (uint32_t v = unproductive; others && v < further; v++) ns += unproductive_turn(s, yields, v);
    if (until && until - s->now < ns) ns = until - s->now;
    if (!spinner_add(s, t)) sim_fail(s, -ENOMEM, "no memory");
    wait_rounds(s, t, yields, ns);
    uint64_t left = others && t->self.unproductive == unproductive ? s->now - began : 0, one; /* else it has had a turn meanwhile */
    for (; t->self.unproductive < further && left >= (one = unproductive_turn(s, yields, t->self.unproductive)); left -= one) t->self.unproductive++;
    spinner_del(s, t);
}

static bool round_of(struct sim *s, struct sim_thread *t, bool yields)
{
    struct sched *v = &t->inst->view->s;
    if (!sched_core_is_wanted(v) && atomic_load(&record(t)->state) == USF_TASK_RUNNING) {
        record(t)->n.yields += yields;
        return false;
    }
    if (sched_keeps_core(v, &t->self)) return false;
    pay(s, t);
    t->yields = 1;
    bool ran = yields ? sched_yield_core(v, &t->self, false) : sched_spin(v, &t->self, 0, t);
    t->yields = 0;
    if (!yields) spinwait_gave_way(&t->spin, os_cycles(), ran);
    s->st->yields += ran;
    s->st->sched_events += ran;
    return ran;
}

/* All that is ready waits unproductively, as the thread itself: to hand the core around between
 * them, which takes a decision and a switch each time, leads to nothing.  So they are left as they
 * are, until one is ready that has use for a core: then all go on yielding until it has one.
 * Differs from yielding all the time, as `every_yield` has it, in who has the core meanwhile, and
 * in how far each is in its round when it goes on; the lock's load is reckoned (lock_wait_behind).
 * tests/sim/test_unproductive.c bounds what comes of it. */
static void rest(struct sim *s, struct sim_thread *t, bool yields)
{
    if (!spinner_add(s, t)) sim_fail(s, -ENOMEM, "no memory");
    set_at_rest(t, true, yields);
    wait_rounds(s, t, yields, SIM_ENDLESS);
    set_at_rest(t, false, yields);
    spinner_del(s, t);
}

static bool may_rest(struct sim *s, struct sim_thread *t)
{
    return t->unproductive && !s->useful && !s->c->every_yield && atomic_load(&record(t)->state) == USF_TASK_RUNNING
        && sched_core_is_wanted(&t->inst->view->s);
}

/* A thread in a recognised loop may go on by itself before it gives way.  Its rounds are one event:
 * it looks when its patience ends or when it is poked, not once per chunk. */
static bool spins_on(struct sim *s, struct sim_thread *t, uint64_t until)
{
    struct spinwait *w = &t->spin;
    bool others = sched_core_is_wanted(&t->inst->view->s);
    uint64_t now = os_cycles();
    spinwait_look(w, &t->inst->long_waits, now, false, t->self.home);
    enum spinwait_next next = spinwait_next(w, now, others ? SPINWAIT_READY : SPINWAIT_NONE, false);
    if (!others || next == SPINWAIT_GIVE_WAY) return false;
    uint64_t ns = (w->began + w->patience - now) / SIM_CYCLES_PER_NS + 1;
    wait_rounds(s, t, false, until && until - s->now < ns ? until - s->now : ns);
    return true;
}

/* until: ns, 0: none. */
static void wait_busily(struct sim *s, struct sim_thread *t, bool yields, uint64_t until)
{
    t->how = SIM_HOW_SPINS;
    t->unproductive = !until;
    if (!yields) spinwait_look(&t->spin, &t->inst->long_waits, os_cycles(), true, t->self.home);
    while (!t->granted && (!until || s->now < until)) {
        if (s->c->spins_unseen && !yields) sim_busy(t, SIM_MODE_SPIN, until ? until - s->now : SIM_ENDLESS);
        else if (may_rest(s, t)) rest(s, t, yields);
        else if ((yields || !spins_on(s, t, until)) && !round_of(s, t, yields) && !t->granted) spin(s, t, yields, until);
    }
    t->unproductive = 0;
}

/* As src/sync/futex.c before it enters the scheduler: while nobody wants the core, it looks for as
 * long as the governor of idle cores thinks it is worth it.  Whoever ends such a wait does not
 * enter the scheduler either. */
static void look_first(struct sim *s, struct sim_thread *t)
{
    struct sched *v = &t->inst->view->s;
    uint64_t budget = t->granted ? 0 : sched_look_budget(v, &t->self), from = s->now;
    if (!budget) return;
    t->how = SIM_HOW_SPINS;
    while (!t->granted && s->now < from + budget && !sched_core_is_wanted(v)) {
        if (!spinner_add(s, t)) sim_fail(s, -ENOMEM, "no memory");
        sim_busy(t, SIM_MODE_SPIN, from + budget - s->now);
        spinner_del(s, t);
    }
    sched_looked(v, &t->self, t->granted ? s->now - from : UINT64_MAX);
}

/* A word that several processes share is waited for in the kernel, with the core given up. */
static void wait_in_kernel(struct sim *s, struct sim_thread *t)
{
    struct sched *v = &t->inst->view->s;
    t->how = SIM_HOW_KERNEL;
    while (!t->granted) {
        pay(s, t);
        sched_waits_for(v, &t->self, USF_WAIT_SYSCALL, 0);
        sched_leave_core(v, &t->self, true);
        if (!t->granted) {
            t->debt += s->m->cost.block_ns;
            sim_request(t, SIM_REQ_SLEEP);
        }
        pay(s, t);
        sched_return_core(v, &t->self);
    }
}

void sim_usf_wait(struct sim_thread *t, enum sim_wait how)
{
    struct sim *s = sim_the;
    bool yields = how == SIM_WAIT_YIELD || how == SIM_WAIT_YIELD_BLOCK;
    if (how == SIM_WAIT_YIELD || how == SIM_WAIT_SPIN) wait_busily(s, t, yields, 0);
    if (how == SIM_WAIT_SPIN_BLOCK || how == SIM_WAIT_YIELD_BLOCK) wait_busily(s, t, yields, s->now + t->inst->p->spin_ns);
    if (t->shared) wait_in_kernel(s, t);
    else if (!t->granted) look_first(s, t);
    while (!t->granted) {
        t->how = SIM_HOW_BLOCKS;
        pay(s, t);
        sched_waits_for(&t->inst->view->s, &t->self, USF_WAIT_FUTEX, (uintptr_t)t);
        sched_block(&t->inst->view->s, &t->self, 0);
    }
    t->how = SIM_HOW_NOT;
}

/* All of one program, as wakers of futexes have it. */
void sim_usf_wake(struct sim_thread *t, const uint32_t *threads, unsigned n)
{
    struct sim *s = sim_the;
    uint32_t task[SCHED_WAKE_BATCH];
    while (n) {
        unsigned k = 0;
        struct sim_view *v = sim_thread(s, *threads)->inst->view;
        for (; k < n && k < SCHED_WAKE_BATCH && sim_thread(s, threads[k])->inst->view == v; k++) task[k] = sim_thread(s, threads[k])->self.task;
        pay(s, t);
        sched_wake(&t->inst->view->s, &t->self, task, k);
        threads += k;
        n -= k;
    }
}

/* A call that may block releases the core provisionally; a thread whose core was taken in one
 * believes from then on that they block: it looks first, and as these do (a simulated call without
 * a wait is none), it gives the core up at once (src/runtime/calls.c). */
void sim_usf_sleep(struct sim_thread *t, uint64_t ns, bool certain)
{
    struct sim *s = sim_the;
    struct sched *v = &t->inst->view->s;
    uint32_t lost = t->self.lost;
    if (!certain && t->blocks) {
        t->debt += s->m->cost.yield_ns;     /* the look, a call that does nothing */
        certain = true;
    }
    if (certain) {
        pay(s, t);
        sched_waits_for(v, &t->self, USF_WAIT_SYSCALL, 0);
        sched_leave_core(v, &t->self, true);
    } else {
        sched_begin_release(v, &t->self, 0);
    }
    sim_kernel_sleep(t, ns);
    if (certain || !sched_end_release(v, &t->self)) {
        pay(s, t);
        sched_return_core(v, &t->self);
    }
    if (!certain && t->self.lost != lost) t->blocks = 1;
}

/* A thread that floats enters the kernel only if no other thread of its program takes its place. */
void sim_usf_yield(struct sim_thread *t)
{
    struct sim *s = sim_the;
    bool floats = t->self.home;
    if (!floats) t->debt += s->m->cost.yield_ns;
    if (!round_of(s, t, true) && floats) t->debt += s->m->cost.yield_ns;
}

/* ---- the monitor ----------------------------------------------------------------------------------- */

/* What the runtime does in the preemption signal's handler (look_at_itself), but that loops are
 * known here. */
void sim_usf_signal(struct sim_thread *t)
{
    struct sim *s = sim_the;
    struct sched *v = &t->inst->view->s;
    if (t->self.task == USF_NONE || t->self.crit) return;
    const struct usf_task *task = record(t);
    if (atomic_load(&task->state) == USF_TASK_RUNNING && !sched_is_due(v, &t->self)) return;
    pay(s, t);
    t->yields = 1;
    uint64_t had = task->n.preemptions;
    t->self.stays++;        /* the handler's frame is the kernel thread's */
    sched_preempt(v, &t->self);
    t->self.stays--;
    t->yields = 0;
    if (task->n.preemptions == had) return;
    s->st->preemptions++;
    t->inst->st->preemptions++;
}

static void preempt(void *arg, uint32_t task)
{
    struct sim *s = arg;
    struct sim_thread *t = thread_of(&s->monitor->s, task);
    if (!t || t->signal || (t->k.state != SIM_K_RUNNING && t->k.state != SIM_K_QUEUED)) return;
    t->signal = 1;
    if (t->k.state != SIM_K_RUNNING) return;        /* the rest when it runs */
    sim_account(s, t->k.cpu);
    t->over += s->m->cost.signal_ns;
    sim_set_event(s, t->k.cpu);
}

static char state(void *arg, uint32_t task)
{
    const struct sim_thread *t = thread_of(&((struct sim *)arg)->monitor->s, task);
    return !t || t->k.state == SIM_K_ASLEEP ? 'S' : 'R';
}

void sim_usf_look(struct sim *s)
{
    struct sched *v = &s->monitor->s;
    hook(s->monitor);
    s->looks = false;
    uint64_t next = sched_watch(v, preempt, state, s);
    s->looked_at = s->now;
    if (next == UINT64_MAX) {
        atomic_fetch_or(&s->h->monitor_asleep, USF_MONITOR_ASLEEP(0));
        if (!sched_is_quiet(v)) next = WATCH_DOZE_NS;
    } else if (next > WATCH_LEAST_NS) {
        atomic_fetch_or(&s->h->monitor_asleep, USF_MONITOR_NAPS(0));
    }
    sim_heap_set(&s->heap, s->id_monitor, next == UINT64_MAX ? SIM_NEVER : s->now + (next ? next : 1));
    sim_usf_after(s);
}

struct sim_thread *sim_usf_thread(const struct sim *s, uint32_t number)
{
    int32_t tid = number < s->h->max_tasks ? atomic_load_explicit(&s->monitor->s.threads[number].tid, memory_order_relaxed) : 0;
    return tid ? sim_thread(s, (uint32_t)tid - 1) : 0;
}

void sim_usf_fetch(const struct sim *s, const struct sim_thread *t)
{ if (t->self.task != USF_NONE) sim_fetch(&s->monitor->s.tasks[t->self.task], sizeof(struct usf_task)); }

void sim_usf_fetch_core(const struct sim *s, uint32_t cpu)
{ sim_fetch(&s->monitor->s.cores[cpu], offsetof(struct usf_core, pol.data) + 64); }

void sim_usf_after(struct sim *s)
{
    if (s->looks) {     /* it has been woken */
        s->looks = false;
        uint64_t at = s->looked_at + WATCH_LEAST_NS;
        sim_heap_set(&s->heap, s->id_monitor, at > s->now ? at : s->now);
    }
    for (uint32_t i = s->useful && s->at_rest ? s->nr_spinners : 0; i-- > 0;) {
        struct sim_thread *t = sim_thread(s, s->spinner[i]);
        if (!t->at_rest) continue;
        set_at_rest(t, false, false);
        spinner_del(s, t);
        sim_poke(s, t);
    }
    for (; s->pokes && s->nr_spinners && sched_core_is_wanted(&s->monitor->s); s->pokes--) {
        struct sim_thread *t = sim_thread(s, s->spinner[s->nr_spinners - 1]);
        spinner_del(s, t);
        sim_poke(s, t);
    }
    s->pokes = 0;
    for (uint32_t i = 0; s->asks && (i = usf_cores_next(s->keeps, i)) != USF_NONE; i++) {       /* those that kept their cores, and are asked again */
        const struct usf_pol_core *c = &s->monitor->s.cores[i].pol;
        if (!c->keeps_until && c->current != USF_NONE) sim_poke(s, thread_of(&s->monitor->s, c->current));
    }
    s->asks = false;
}

/* ---- looking -------------------------------------------------------------------------------------------- */

uint32_t sim_usf_width(struct sim *s, struct sim_inst *i)
{
    const struct usf_pol_group *p = &sched_first_group(&i->view->s)->pol;
    uint32_t share = usf_cores_common(p->share, p->cores), all = usf_cores_count(p->cores);
    if (p->share_gen != i->share_gen) {
        i->share_gen = p->share_gen;
        i->st->reconfigurations++;
        i->st->moves += i->share == share;
        i->share = share;
        sim_trace(s, SIM_T_SHARE, i->index, SIM_NONE, share);
    }
    return share ? share : all ? all : 1;
}

/* S5: no core is idle while a task that may run there is ready.  Now and then: the tables agree. */
bool sim_usf_check(struct sim *s)
{
    char why[160];
    struct sched *v = &s->monitor->s;
    uint32_t hwm = atomic_load(&s->h->task_hwm);
    if (s->st->events % 64 == 0 && !sched_is_valid(v, why, sizeof why)) return sim_fail(s, -EPROTO, "%s", why), false;
    if (!atomic_load(&s->h->nr_ready)) return true;
    for (uint32_t c = 0; c < s->h->nr_cores; c++) {
        if (core_state(atomic_load(&v->cores[c].word)) != USF_CORE_IDLE) continue;
        for (uint32_t i = 0; i < hwm; i++)
            if (atomic_load(&v->tasks[i].state) == USF_TASK_READY && usf_may_run(&v->pol, i, c))
                return sim_fail(s, -EPROTO, "core %u is idle while task %u is ready", c, i), false;
    }
    return true;
}
