/* src/sched/bind.c - which CPUs a thread may run on.  SPDX-License-Identifier: Apache-2.0
 *
 * While no task waits for a core, the kernel places the threads: each has its own mask, as without
 * usf, and is balanced with the threads of other instances, of other users, and of programs that
 * run without usf.  While tasks wait, the scheduler does: each core's thread is bound to the core's
 * CPU, or the kernel would put two of them on one CPU and leave another one idle.
 *
 *      UNBOUND ──a task is READY when the scheduler lock is released──► BOUND
 *      BOUND ──none was for UNBIND_NS, at a release of the lock───────► UNBOUND
 *
 * The mode changes by one store, under the scheduler lock.  No thread waits for others to follow.
 * A waker places the thread that it wakes (park.c), a thread that goes on places itself
 * (core_arrive), and the monitor places threads that run without a scheduling point, or a helper
 * has them place themselves.  So a thread may be placed by the former mode until the monitor's next
 * look: that costs time, and nothing depends on it.
 *
 * `pinned` names the core that a thread may be bound to.  A binder writes it before the call that
 * binds and again after it.  A thread that removes a binding writes USF_NONE after its call.  So a
 * binder that is killed in between, or that comes late, leaves a thread that seems to be bound, and
 * the next binder corrects that.
 *
 * While BOUND and tasks wait, all cores of the instance are in use, and there is no other to
 * choose; contend.c says what is done about other programs on their CPUs.  A thread is bound beside
 * an idle core only in the UNBIND_NS after the last wait, and where short waits follow each other.
 * On two CPUs beside a program that is bound to CPU 0, such a thread did 19 % of its work there,
 * and 25 % without usf (medians of 10 runs).  Whether another CPU idled meanwhile was not recorded,
 * so this case is open. */
#include "sched/core.h"
#include "sched/times.h"
#include "sched/watch.h"

void bind_choose(struct sched *s)
{
    struct usf_header *h = s->h;
    bool bound = sched_is_bound(s), waits = atomic_load_explicit(&h->nr_ready, memory_order_relaxed) != 0;
    if (!waits && !bound) return;
    uint64_t waited = atomic_load_explicit(&h->waited_ns, memory_order_relaxed);
    if (waits && (!bound || s->pol.now > waited + UNBIND_NOTE_NS)) atomic_store_explicit(&h->waited_ns, s->pol.now, memory_order_relaxed);
    if (waits == bound || (bound && s->pol.now < waited + UNBIND_NS)) return;
    atomic_store_explicit(&h->binding, waits ? USF_BOUND : USF_UNBOUND, memory_order_relaxed);
    USF_POINT("sched.binding");
}

bool bind_is_over(struct sched *s, uint64_t now)
{ return sched_is_bound(s) && now >= atomic_load_explicit(&s->h->waited_ns, memory_order_relaxed) + UNBIND_NS; }

/* ---- one thread ---------------------------------------------------------------------------------- */

static bool has(const uint64_t *cores, uint32_t c) { return __atomic_load_n(&cores[c / 64], __ATOMIC_RELAXED) >> (c % 64) & 1; }

static bool has_mask(const struct usf_task *t)
{
    uint64_t any = 0;
    for (unsigned w = 0; w < USF_CORE_WORDS; w++) any |= __atomic_load_n(&t->pol.mask[w], __ATOMIC_RELAXED);
    return any != 0;
}

bool bind_is_alike(const struct usf_task *a, const struct usf_task *b)
{
    const struct usf_pol_task *x = &a->pol, *y = &b->pol;
    uint64_t differ = __atomic_load_n(&x->strict, __ATOMIC_RELAXED) ^ __atomic_load_n(&y->strict, __ATOMIC_RELAXED);
    for (unsigned w = 0; w < USF_CORE_WORDS; w++)
        differ |= __atomic_load_n(&x->mask[w], __ATOMIC_RELAXED) ^ __atomic_load_n(&y->mask[w], __ATOMIC_RELAXED);
    return !differ && __atomic_load_n(&x->group, __ATOMIC_RELAXED) == __atomic_load_n(&y->group, __ATOMIC_RELAXED);
}

/* The core to bind the task's thread to; USF_NONE: its own mask holds.  A thread that runs on a
 * core outside of its mask is bound there if the mask is a hint, and never if it is strict. */
static uint32_t wanted(struct sched *s, const struct usf_task *t, uint32_t core)
{
    if (has_mask(t) && !has(t->pol.mask, core)) return __atomic_load_n(&t->pol.strict, __ATOMIC_RELAXED) ? USF_NONE : core;
    return sched_is_bound(s) ? core : USF_NONE;
}

/* Holds the scheduler lock. */
bool bind_is_better_idle(struct sched *s, uint32_t task, uint32_t core)
{
    const struct usf_task *t = &s->tasks[task];
    return has_mask(t) && !has(t->pol.mask, core) && core_has_idle(s, task, t->pol.mask);
}

/* Where the group's threads may be.  A quota, which counts CPUs, leaves it to the kernel which. */
static const uint64_t *limits_of(const struct sched *s, uint32_t group, uint32_t proc, const uint64_t *may)
{
    const struct usf_group *g = &s->groups[group];
    if (proc < USF_MAX_PROCS && atomic_load_explicit(&s->procs[proc].quota, memory_order_relaxed) == USF_NONE) return g->pol.cores;
    return __atomic_load_n(&g->kind, __ATOMIC_RELAXED) == USF_GROUP_BORROWING ? may : g->wants;
}

/* The instance's CPUs that the process, the group and the thread's own mask have in common; if
 * none, those of the process. */
static void own_mask(struct sched *s, const struct usf_task *t, struct os_cpuset *cpus)
{
    uint32_t proc = atomic_load_explicit(&((struct usf_task *)t)->proc, memory_order_relaxed), n = 0;
    bool masked = has_mask(t);
    uint32_t group = __atomic_load_n(&t->pol.group, __ATOMIC_RELAXED);
    const uint64_t *may = proc < USF_MAX_PROCS ? s->procs[proc].may : t->pol.mask;
    const uint64_t *wants = group < USF_MAX_GROUPS ? limits_of(s, group, proc, may) : may;
    __builtin_memset(cpus, 0, sizeof *cpus);
    for (uint32_t c = 0; c < s->h->nr_cores; c++)
        if (has(may, c) && has(wants, c) && (!masked || has(t->pol.mask, c))) os_cpu_set(cpus, s->cores[c].pol.cpu), n++;
    for (uint32_t c = 0; c < s->h->nr_cores && !n; c++)
        if (has(may, c)) os_cpu_set(cpus, s->cores[c].pol.cpu);
}

/* tid: of the thread, 0: the caller's. */
static void release(struct sched *s, uint32_t task, struct usf_thread *thread, int32_t tid)
{
    struct os_cpuset cpus;
    if (atomic_load(&thread->pinned) == USF_PINNED_HELD) return;
    own_mask(s, &s->tasks[task], &cpus);
    bool done = os_setaffinity(tid, &cpus) == 0;
    USF_POINT("sched.unbound");
    if (atomic_load(&thread->pinned) != USF_PINNED_HELD) atomic_store(&thread->pinned, done ? USF_NONE : USF_PINNED_UNKNOWN);
}

void bind_forget(struct sched *s, uint32_t task)
{
    _Atomic uint32_t *pinned = &sched_thread_of(s, task)->pinned;
    if (atomic_load(pinned) != USF_PINNED_HELD) atomic_store(pinned, USF_PINNED_UNKNOWN);
}

static void place(struct sched *s, uint32_t task, uint32_t core, struct usf_thread *thread, int32_t tid)
{
    uint32_t to = wanted(s, &s->tasks[task], core);
    if (to == USF_NONE) {
        release(s, task, thread, tid);
        return;
    }
    atomic_store(&thread->pinned, to);
    USF_POINT("sched.binding_thread");
    /* refused (the CPU left its cpuset): it runs where it is */
    bool bound = os_pin(tid, s->cores[to].pol.cpu) == 0;
    USF_POINT("sched.bound");
    atomic_store(&thread->pinned, bound ? to : USF_PINNED_UNKNOWN);
}

/* A task USF_NONE is a thread whose process has just left by a call in one of the thread's handlers,
 * setuid for example. */
void bind_release(struct sched *s, uint32_t task) { if (task != USF_NONE) release(s, task, sched_thread_of(s, task), 0); }
void bind_place(struct sched *s, uint32_t task, uint32_t core) { if (task != USF_NONE) place(s, task, core, sched_thread_of(s, task), 0); }

bool bind_is_placed(struct sched *s, uint32_t task, uint32_t core)
{
    if (task == USF_NONE || core >= s->h->nr_cores) return true;
    uint32_t pinned = atomic_load(&sched_thread_of(s, task)->pinned);
    return pinned == USF_PINNED_HELD || pinned == wanted(s, &s->tasks[task], core);
}

/* May we place threads of this task's process?  A free record names no process; the monitor has
 * none, either. */
static bool is_bindable(struct sched *s, struct usf_task *t)
{
    uint32_t proc = t->proc;
    if (proc >= USF_MAX_PROCS) return false;
    return proc == s->proc || (s->remote_pin && sched_namespace_of(&s->procs[proc]) == s->namespace);
}

/* The thread may have ended, and its record may be another's by now: one of a container, for
 * example, where the same id means another thread.  A record that is freed loses its process, and
 * one that is claimed gets its thread before its process.  So a thread that is read before the
 * process belongs to that process, or to an earlier one.  A floating task may be executed by another
 * thread by now: `pinned` is said of the thread that is bound. */
void bind_other(struct sched *s, uint32_t task, uint32_t core)
{
    struct usf_task *t = &s->tasks[task];
    struct usf_thread *thread = sched_thread_of(s, task);
    int32_t tid = thread->tid;
    if (is_bindable(s, t) && atomic_load(&thread->pinned) != USF_PINNED_HELD) place(s, task, core, thread, tid);
}

/* A thread that runs on without a core has the CPU of another task's core, or of a real-time program
 * that leaves it no time at all.  `pinned` is UNKNOWN after that: another thread may bind it at the
 * same time, and the kernel may see that call last.  The next binder corrects that. */
void sched_unbind(struct sched *s, uint32_t task)
{
    struct usf_thread *thread = sched_thread_of(s, task);
    int32_t tid = thread->tid;          /* before the process: see bind_other */
    struct os_cpuset cpus;
    uint32_t pinned = atomic_load(&thread->pinned);
    if (!is_bindable(s, &s->tasks[task]) || pinned == USF_PINNED_HELD || pinned == USF_NONE) return;
    own_mask(s, &s->tasks[task], &cpus);
    os_setaffinity(tid, &cpus);
    USF_POINT("sched.freed");
    if (atomic_load(&thread->pinned) != USF_PINNED_HELD) atomic_store(&thread->pinned, USF_PINNED_UNKNOWN);
}

void sched_hold_place(struct sched *s, struct sched_self *me, uint32_t thread)
{
    if (thread == USF_NONE || !core_enter(s, me)) return;
    struct usf_thread *t = &s->threads[thread];
    if (atomic_load(&t->claim) == s->proc + 1) atomic_store(&t->pinned, USF_PINNED_HELD);
    core_leave(s, me, &(struct wakes){0});
}

void sched_end_hold(struct sched *s, uint32_t thread)
{
    if (thread != USF_NONE) atomic_store(&s->threads[thread].pinned, USF_PINNED_UNKNOWN);
}

void sched_place_anew(struct sched *s, struct sched_self *me, uint32_t task)
{
    struct usf_task *t = &s->tasks[task];
    uint32_t core = atomic_load(&t->core);
    atomic_store(&sched_thread_of(s, task)->pinned, USF_PINNED_UNKNOWN);
    if (atomic_load(&t->state) != USF_TASK_RUNNING || core >= s->h->nr_cores) return;  /* it is placed when it is next given a core */
    if (task == me->task) bind_place(s, task, core);
    else bind_other(s, task, core);
}

/* ---- threads that poll ----------------------------------------------------------------------------- */
/* The kernel may have put two threads on one CPU that wait for each other for microseconds.  It
 * would part them if they slept at once. One that polls keeps the other from running there, and
 * both are there again after each wait.  So the one that is about to poll goes to a CPU where none
 * of the instance's was seen, and may be moved again from there as before. */
static bool is_on(struct sched *s, uint32_t core, uint32_t cpu, uint64_t now)
{
    const struct usf_core *c = &s->cores[core];
    return core_state(atomic_load_explicit(&c->word, memory_order_relaxed)) == USF_CORE_RUNNING
           && atomic_load_explicit(&c->at, memory_order_relaxed) == cpu + 1
           && now - atomic_load_explicit(&c->at_when, memory_order_relaxed) < SPREAD_SEEN_CYCLES;
}

static bool is_empty(const struct os_cpuset *set)
{
    uint64_t any = 0;
    for (unsigned w = 0; w < OS_CPUSET_WORDS; w++) any |= set->w[w];
    return !any;
}

/* Rarely, as long as the thread stays on the CPU: others read it. */
static void note_at(struct usf_core *c, uint32_t cpu, uint64_t now)
{
    bool same = atomic_load_explicit(&c->at, memory_order_relaxed) == cpu + 1;
    if (same && now - atomic_load_explicit(&c->at_when, memory_order_relaxed) < SPREAD_NOTE_CYCLES) return;
    atomic_store_explicit(&c->at, cpu + 1, memory_order_relaxed);
    atomic_store_explicit(&c->at_when, now, memory_order_relaxed);
}

void bind_spread(struct sched *s, struct sched_self *me, uint32_t core)
{
    uint32_t cpu = os_cpu(), others = 0, task = me->task;
    uint64_t now = os_cycles();
    struct usf_core *c = &s->cores[core];
    struct os_cpuset free;
    note_at(c, cpu, now);
    if (now - me->spread < SPREAD_CYCLES || task == USF_NONE || atomic_load(&sched_thread_of(s, task)->pinned) != USF_NONE) return;
    me->spread = now;
    for (uint32_t i = 0; i < s->h->nr_cores; i++) others += i != core && is_on(s, i, cpu, now);
    if (!others) return;
    own_mask(s, &s->tasks[task], &free);
    for (uint32_t i = 0; i < s->h->nr_cores; i++) {
        uint32_t at = atomic_load_explicit(&s->cores[i].at, memory_order_relaxed);
        if (at && is_on(s, i, at - 1, now) && at <= OS_CPUSET_WORDS * 64) free.w[(at - 1) / 64] &= ~(1ull << ((at - 1) % 64));
    }
    if (is_empty(&free)) return;
    atomic_store(&sched_thread_of(s, task)->pinned, USF_PINNED_UNKNOWN);
    USF_POINT("sched.spread");
    os_setaffinity(0, &free);
    bind_release(s, task);
    note_at(c, os_cpu(), os_cycles());
}

/* ---- threads that run without a scheduling point --------------------------------------------------- */

static bool is_astray(struct sched *s, uint32_t core, uint64_t w)
{
    if (core_state(w) != USF_CORE_RUNNING || !sched_is_ours(s, core_task(w))) return false;
    struct usf_thread *t = sched_thread_of(s, core_task(w));
    return !atomic_load(&t->parked) && !bind_is_placed(s, core_task(w), core);
}

/* At the first look the thread may be on its way to its CPU.  If the kernel refuses to bind it (its
 * cpuset has changed), or the thread does not answer, the time between two attempts doubles.  It
 * starts anew when another core is wanted. */
bool sched_is_astray(struct sched *s, uint32_t core, struct sched_astray *a, uint64_t now)
{
    uint64_t w = atomic_load(&s->cores[core].word);
    bool is = is_astray(s, core, w);
    uint32_t to = is ? wanted(s, &s->tasks[core_task(w)], core) : USF_NONE;
    if (!is || a->word != w || a->to != to) {
        *a = (struct sched_astray){.word = is ? w : 0, .to = to, .again = now, .pause = ASTRAY_NS};
        return false;
    }
    if (now < a->again) return false;
    a->again = now + a->pause;
    if (a->pause < ASTRAY_MAX_NS) a->pause *= 2;
    return true;
}

/* Under the lock: until it is placed, the thread does not leave the instance, as for an exec, and
 * looks at no mask of its own. */
static void place_astray(struct sched *s, uint32_t core, uint64_t w)
{
    struct sched_self me = {.task = USF_NONE};
    USF_POINT("sched.astray");
    if (!core_enter(s, &me)) return;
    if (atomic_load(&s->cores[core].word) == w && is_astray(s, core, w)) bind_other(s, core_task(w), core);
    core_leave(s, &me, &(struct wakes){0});
}

bool sched_watch_binding(struct sched *s, struct sched_astray astray[USF_MAX_CORES])
{
    uint64_t now = os_now();
    bool any = false;
    for (uint32_t i = 0; i < s->h->nr_cores; i++) {
        bool is = sched_is_astray(s, i, &astray[i], now);
        if (is) place_astray(s, i, astray[i].word);
        any = any || is || sched_is_newly_astray(&astray[i]);
    }
    return any;
}

/* Under the lock: another thread of the process may be about to hold the place. */
void sched_place_self(struct sched *s, struct sched_self *me)
{
    uint32_t core = atomic_load(&s->tasks[me->task].core);
    if (core >= s->h->nr_cores || !is_astray(s, core, atomic_load(&s->cores[core].word)) || !core_enter(s, me)) return;
    uint64_t w = atomic_load(&s->cores[core].word);
    if (core_task(w) == me->task && is_astray(s, core, w)) bind_place(s, me->task, core);
    core_leave(s, me, &(struct wakes){0});
}
