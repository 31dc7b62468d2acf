/* tests/sched/race.c - scheduler and futexes under ThreadSanitizer and under perturbation.  SPDX-License-Identifier: Apache-2.0
 *
 * usage: race [SEED [SECONDS]]
 * Several participants ("views": one struct sched each, as a process has it) of one instance live in this one process, so
 * that ThreadSanitizer sees what they do to the segment.  Each episode has an instance of its own, with another lock,
 * policy, number of cores and monitor.  Threads work in pairs: an exchange is one wake posted and one awaited, without
 * timeouts, so a wake-up that is lost is never made up for by another: the pair hangs and the test says so.  Between
 * two exchanges come random operations.  Signals are simulated where a real one could arrive: at perturbation points and
 * at the ends of critical sections, as the runtime enters handlers there.
 *
 * What is checked: the user's data (plain fields in sections of a futex mutex, plain fields of the core that a thread has),
 * every wake-up consumed, results of calls, the whole instance under its lock, an empty instance at the end. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "policy/policy.h"
#include "sched/core.h"
#include "shm/shm.h"
#include "sync/sync.h"
#include "trace/trace.h"

enum { VIEWS = 2, THREADS = 8, LEAVERS = 3, STALL_S = 12 };

struct view {
    struct sched s;
    struct sync y;
    _Atomic uint32_t mutex, cond, box;  /* futex words */
    uint64_t sections, sum;             /* under mutex */
    _Atomic uint32_t ops;               /* FUTEX_WAKE_OPs */
};
struct thread {
    struct sched_self self;
    struct sync_self sync;
    struct view *v;
    struct thread *partner;
    uint64_t rng;
    _Atomic uint32_t id, credit;        /* its task; wakes owed to it */
    _Atomic uint32_t inbox;             /* the same for exchanges by futex */
    uint64_t mail[2];                   /* written by the partner, who is one exchange ahead at most */
    _Atomic uint64_t done;              /* exchanges */
    _Atomic bool nudged;
    bool attached, inside, certain, checked;
    unsigned depth;                     /* of handlers */
    uint32_t core;
    pthread_t pthread;
};

static struct episode {
    uint64_t seed;
    uint32_t lock_kind, cores;
    const struct usf_policy_ops *policy;    /* one that works for a while; null: `builtin` */
    const char *builtin;
    bool unseen;                        /* the monitor believes at times that running threads sleep, and takes their cores */
    bool strays;                        /* wakes that nobody has asked for */
    bool lonely;                        /* the monitor only checks: nobody makes up for a lost wake-up */
    bool traced;                        /* somebody records it */
    bool departures;                    /* one more process, which leaves and joins again while its threads go on */
    unsigned exchanges, handlers;       /* a signal in so many places, 0 = none */
} e;
static struct view views[VIEWS + 1];   /* the last: of the leavers */
static struct thread threads[THREADS], leavers[LEAVERS];
static struct os_cpuset cpus;
static struct { uint64_t visits; uint32_t owner; } user[USF_MAX_CORES];    /* plain: of whoever has the core */
static struct usf_header *header;
static _Atomic bool stop, failed;
static _Atomic uint32_t finished;
static _Thread_local struct thread *self;
static _Thread_local uint64_t point_rng;

static void fail(int line, const char *what, const char *more)
{
    fprintf(stderr, "race.c:%d: %s%s%s (seed %lu)\n", line, what, more ? ": " : "", more ? more : "", e.seed);
    failed = true;
}
#define CHECK(c) do { if (!(c)) fail(__LINE__, #c, 0); } while (0)

static uint64_t mix(uint64_t x)
{
    x ^= x >> 30, x *= 0xbf58476d1ce4e5b9ull, x ^= x >> 27, x *= 0x94d049bb133111ebull;
    return x ^ x >> 31;
}
static uint64_t next(uint64_t *rng) { return mix(*rng += 0x9e3779b97f4a7c15ull); }
static unsigned below(struct thread *t, unsigned n) { return (unsigned)(next(&t->rng) % n); }

/* A thread of a process that is being taken off still counts in its record while that is added up: either may lose some. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void) { return "race_top:add_counters\nrace_top:remove_task\n"; }

/* ---- the core that a thread has ---------------------------------------------------------------- */

/* Plain accesses: two threads on one core, or one that follows another without seeing what it did, are a race. */
static void enter_core(struct thread *t)
{
    t->inside = true;
    if (!t->checked || t->self.guest) return;
    uint32_t core = atomic_load_explicit(&t->v->s.tasks[t->self.task].core, memory_order_relaxed);
    CHECK(core < header->nr_cores);
    CHECK(atomic_load_explicit(&t->v->s.tasks[t->self.task].state, memory_order_relaxed) == USF_TASK_RUNNING);
    if (core >= USF_MAX_CORES) return;
    t->core = core;
    CHECK(user[core].owner == 0);
    user[core].owner = t->self.task + 1;
    user[core].visits++;
}
static void exit_core(struct thread *t)
{
    t->inside = false;
    if (!t->checked || t->self.guest) return;
    CHECK(user[t->core].owner == t->self.task + 1);
    user[t->core].owner = 0;
}

/* ---- signals ------------------------------------------------------------------------------------ */

static bool is_in(struct thread *t);

/* A busy-wait that others may try: while they do, the thread is still in it. */
struct trial { _Atomic uint32_t alive; };

static bool would_leave(uint32_t place, const void *regs)
{
    static _Atomic uint32_t tried;
    const struct trial *x = regs;
    CHECK(atomic_load_explicit(&x->alive, memory_order_relaxed) == place);
    return mix(place + atomic_fetch_add_explicit(&tried, 1, memory_order_relaxed)) % 4 == 0;
}

static void spin(struct thread *t)
{
    struct trial x = {.alive = below(t, 1000) + 1};
    sched_spin(&t->v->s, &t->self, x.alive, &x);
    atomic_store_explicit(&x.alive, 0, memory_order_relaxed);
}

static void handler(struct thread *t)
{
    if (!is_in(t)) return;
    struct sched *s = &t->v->s;
    uint32_t id = atomic_load(&threads[below(t, THREADS)].id);
    unsigned what = below(t, 5);
    if (what == 0) {
        if (e.strays && id != USF_NONE) sched_wake(s, &t->self, &id, 1);
        return;
    }
    exit_core(t);
    if (what == 1) {
        int r = sched_block(s, &t->self, os_now() + below(t, 100000));
        CHECK(r == 0 || r == -ETIMEDOUT || r == -EINTR);
    } else if (what == 2) {
        sched_preempt(s, &t->self);
    } else if (what == 3) {
        sched_yield_core(s, &t->self, false);
    }
    enter_core(t);
}

/* As src/runtime/signals.c enters a handler. */
static void take_signal(struct thread *t)
{
    uint32_t where = t->self.where, interrupted;
    bool certain = t->certain, inside = t->inside, returned = false;
    struct sync_waiter *waiter = t->sync.waiter;
    if (waiter) sync_cancel(&t->v->y, &t->sync);
    if (where == SCHED_PARKED) sched_interrupt(&t->v->s, &t->self);
    else if (where == SCHED_AWAY) returned = sched_interrupt_away(&t->v->s, &t->self);
    interrupted = t->self.interrupted;
    t->self.interrupted = 0;
    t->self.where = SCHED_USER;
    t->sync.waiter = 0;
    if (!inside) enter_core(t);
    handler(t);
    if (!inside) exit_core(t);
    t->sync.waiter = waiter;
    t->self.interrupted |= interrupted;
    t->self.where = where;
    if (returned) sched_leave_core(&t->v->s, &t->self, certain);
}

static void maybe_signal(struct thread *t)
{
    if (!t || !t->attached || t->self.crit || t->depth >= 2 || !e.handlers) return;
    if (next(&point_rng) % (t->depth ? 4 * e.handlers : e.handlers)) return;
    t->depth++;
    take_signal(t);
    t->depth--;
}

static void after_crit(struct sched_self *me) { if (self && me == &self->self) maybe_signal(self); }

/* In place of src/base/point.c. */
void usf_point(const char *name)
{
    uint64_t x = next(&point_rng);
    (void)name;
    switch (x % 64) {
    case 0: usleep((unsigned)(x >> 32) % 200); break;
    case 1: case 2: os_sched_yield(); break;
    case 3: case 4: case 5: for (unsigned n = (x >> 32) % 2000; n; n--) os_pause(); break;
    default: break;
    }
    maybe_signal(self);
}

/* ---- policies that work for a while -------------------------------------------------------------- */

struct USF_POLICY_STATE liar { struct usf_fifo ready; uint32_t answers; };
static struct liar *liar(struct usf_pol *p) { return (struct liar *)(void *)p->data; }
static bool lies(struct usf_pol *p) { return ++liar(p)->answers > 100; }
static void liar_enqueue(struct usf_pol *p, uint32_t task, enum usf_why why)
{ (void)why; usf_fifo_push(p, &liar(p)->ready, task); }
static void liar_dequeue(struct usf_pol *p, uint32_t task) { usf_fifo_remove(p, &liar(p)->ready, task); }
static uint32_t pick_rightly(struct usf_pol *p, uint32_t core) { return usf_fifo_pop_allowed(p, &liar(p)->ready, core); }
static uint32_t pick_running(struct usf_pol *p, uint32_t core)
{
    uint32_t current = usf_core(p, core)->current;
    if (!lies(p)) return pick_rightly(p, core);
    return current != USF_NONE ? current : p->nr_tasks + 7;
}
static uint32_t pick_queued(struct usf_pol *p, uint32_t core)
{ return lies(p) && liar(p)->ready.head ? liar(p)->ready.head - 1 : pick_rightly(p, core); }
static uint32_t select_wrongly(struct usf_pol *p, uint32_t task, const uint64_t idle[4])
{ return lies(p) ? p->nr_cores + 3 : usf_policy_defaults.select_core(p, task, idle); }
#define LIAR(n, pick_, select_) static const struct usf_policy_ops n = {.api = USF_POLICY_API, .size = sizeof n, \
    .name = #n, .flags = USF_POLICY_SWAP, .enqueue = liar_enqueue, .dequeue = liar_dequeue, .pick = pick_, .select_core = select_}
LIAR(liar_running, pick_running, 0);
LIAR(liar_queued, pick_queued, 0);
LIAR(liar_core, pick_rightly, select_wrongly);

/* ---- futexes ------------------------------------------------------------------------------------- */

/* more: as futex(2), the time for those that wait, else the second number. */
static long futex(struct thread *t, _Atomic uint32_t *word, int op, uint32_t val, uint64_t more, _Atomic uint32_t *word2,
                  uint32_t val3)
{
    struct sync_timespec ts = {(int64_t)(more / 1000000000u), (int64_t)(more % 1000000000u)};
    bool waits = op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET;
    const void *arg = !waits ? (void *)more : more ? &ts : 0;
    if (waits) exit_core(t);
    long r = sync_futex(&t->v->y, &t->sync, (uint32_t *)word, op | FUTEX_PRIVATE_FLAG, val, arg, (uint32_t *)word2, val3);
    if (waits) enter_core(t);
    if (waits) CHECK(r == 0 || r == -EAGAIN || r == -EINTR || (r == -ETIMEDOUT && more));
    else CHECK(r >= 0 || (r == -EAGAIN && op == FUTEX_CMP_REQUEUE));
    return r;
}

static void lock(struct thread *t, bool contended)
{
    uint32_t free = 0;
    if (!contended && atomic_compare_exchange_strong(&t->v->mutex, &free, 1)) return;
    while (atomic_exchange(&t->v->mutex, 2)) futex(t, &t->v->mutex, FUTEX_WAIT, 2, 0, 0, 0);
}
static void unlock(struct thread *t)
{ if (atomic_exchange(&t->v->mutex, 0) == 2) futex(t, &t->v->mutex, FUTEX_WAKE, 1, 0, 0, 0); }

static void section(struct thread *t)
{
    uint64_t x = t->rng;
    t->v->sections++;
    t->v->sum += x;
    if (below(t, 16) == 0) {
        exit_core(t);
        if (below(t, 2)) spin(t);
        else sched_yield_core(&t->v->s, &t->self, false);
        enter_core(t);
    }
    t->v->sum -= x;
}

static void use_futexes(struct thread *t)
{
    struct view *v = t->v;
    uint32_t n;
    switch (below(t, 6)) {
    case 0:
        lock(t, false);
        n = atomic_load(&v->cond);
        unlock(t);
        futex(t, &v->cond, FUTEX_WAIT_BITSET, n, os_now() + below(t, 300000) + 1, 0, 1u << below(t, 3));
        lock(t, true);
        section(t);
        unlock(t);
        break;
    case 1:
        atomic_fetch_add(&v->cond, 1);
        futex(t, &v->cond, FUTEX_WAKE_BITSET, below(t, 3) + 1, 0, 0, below(t, 7) + 1);
        break;
    case 2:
        lock(t, true);
        n = atomic_fetch_add(&v->cond, 1) + 1;
        futex(t, &v->cond, FUTEX_CMP_REQUEUE, 1, INT_MAX, &v->mutex, n);
        unlock(t);
        break;
    case 3:
        atomic_fetch_add(&v->ops, 1);
        futex(t, &v->cond, FUTEX_WAKE_OP, 1, 1, &v->box, FUTEX_OP(FUTEX_OP_ADD, 1, FUTEX_OP_CMP_GT, 0));
        break;
    default:
        lock(t, false);
        section(t);
        unlock(t);
    }
}

/* ---- exchanges ----------------------------------------------------------------------------------- */

static void post(struct thread *t, uint64_t k, bool by_futex)
{
    struct thread *p = t->partner;
    p->mail[k % 2] = k;
    if (by_futex) {
        atomic_fetch_add(&p->inbox, 1);
        futex(t, &p->inbox, FUTEX_WAKE, 1, 0, 0, 0);
    } else {
        atomic_fetch_add(&p->credit, 1);
        uint32_t id = atomic_load(&p->id);      /* it may have left and come back by now: a stray wake */
        if (id != USF_NONE) sched_wake(&t->v->s, &t->self, &id, 1);
    }
}

static void await(struct thread *t, bool by_futex)
{
    if (by_futex) {
        while (!atomic_load(&t->inbox)) futex(t, &t->inbox, FUTEX_WAIT, 0, 0, 0, 0);
        atomic_fetch_sub(&t->inbox, 1);
        return;
    }
    while (!atomic_load(&t->credit)) {
        exit_core(t);
        int r = sched_block(&t->v->s, &t->self, 0);
        CHECK(r == 0 || r == -EINTR);
        enter_core(t);
    }
    atomic_fetch_sub(&t->credit, 1);
}

static void exchange(struct thread *t)
{
    uint64_t k = atomic_load(&t->done) + 1;
    unsigned pair = (unsigned)(t - threads) / 2;
    bool by_futex = t->v == t->partner->v && mix(e.seed + k * 16 + pair) % 2;
    post(t, k, by_futex);
    await(t, by_futex);
    CHECK(t->mail[k % 2] == k);
    atomic_store(&t->done, k);
}

/* ---- other operations ---------------------------------------------------------------------------- */

static void attach(struct thread *t)
{
    t->self.task = USF_NONE;
    CHECK(sched_attach(&t->v->s, &t->self, (int)syscall(SYS_gettid), "race") == 0);
    t->attached = true;
    enter_core(t);
    atomic_store(&t->id, t->self.task);
}
static void detach(struct thread *t)
{
    atomic_store(&t->id, USF_NONE);
    exit_core(t);
    t->attached = false;
    sched_detach(&t->v->s, &t->self, false);
    CHECK(t->self.task == USF_NONE && t->self.crit == 0);
}

static void go_away(struct thread *t)
{
    exit_core(t);
    t->certain = below(t, 2);
    if (below(t, 4) == 0) t->self.short_bursts = 1000;     /* as one that does nothing else: it becomes a guest */
    sched_leave_core(&t->v->s, &t->self, t->certain);
    if (below(t, 4) == 0) usleep(below(t, 300));
    USF_POINT("test.away");
    sched_return_core(&t->v->s, &t->self);
    enter_core(t);
}

static void wake_strays(struct thread *t)
{
    uint32_t id[5];
    unsigned n = 0;
    for (unsigned i = below(t, 5) + 1; i; i--)
        if ((id[n] = atomic_load(&threads[below(t, THREADS)].id)) != USF_NONE) n++;
    if (n) sched_wake(&t->v->s, &t->self, id, n);
}

static void block_for_a_while(struct thread *t)
{
    uint64_t deadline = os_now() + below(t, 200000);
    exit_core(t);
    sched_waits_for(&t->v->s, &t->self, USF_WAIT_FUTEX, deadline);
    int r = sched_block(&t->v->s, &t->self, deadline);
    CHECK(r == 0 || r == -EINTR || (r == -ETIMEDOUT && os_now() >= deadline));
    enter_core(t);
}

static void something(struct thread *t)
{
    struct sched *s = &t->v->s;
    if (atomic_exchange_explicit(&t->nudged, false, memory_order_relaxed)) {
        exit_core(t);
        sched_preempt(s, &t->self);
        enter_core(t);
    }
    switch (below(t, 12)) {
    case 0: case 1: case 2:
        exit_core(t);
        for (unsigned n = below(t, 6); n; n--)
            if (n & 1) spin(t);
            else sched_yield_core(s, &t->self, false);
        enter_core(t);
        break;
    case 3: case 4: go_away(t); break;
    case 5: block_for_a_while(t); break;
    case 6: if (e.strays) wake_strays(t); break;
    case 7:
        if (below(t, 8)) break;
        detach(t);
        usleep(below(t, 200));
        attach(t);
        break;
    default: use_futexes(t);
    }
}

static void *run(void *arg)
{
    struct thread *t = self = arg;
    point_rng = mix(t->rng);
    attach(t);
    while (atomic_load(&t->done) < e.exchanges && !failed) {
        for (unsigned n = below(t, 8); n; n--) something(t);
        exchange(t);
    }
    detach(t);
    atomic_fetch_add(&finished, 1);
    return 0;
}

/* ---- a process that leaves and joins again -------------------------------------------------------- */

/* As a thread of the runtime comes to a call: it may have lost its record, and takes another. */
static bool is_in(struct thread *t)
{
    if (t->attached && sched_has_lost(&t->v->s, &t->self)) t->attached = false;
    if (t->attached) return true;
    t->self.task = USF_NONE;
    int r = sched_attach(&t->v->s, &t->self, (int)syscall(SYS_gettid), "leaver");
    CHECK(r == 0 || r == -ESTALE);
    t->attached = r == 0;
    return t->attached && !sched_has_lost(&t->v->s, &t->self);
}

/* An exec that fails. */
static void depart(struct thread *t)
{
    struct sched *s = &t->v->s;
    static _Atomic uint32_t one = 1;
    if (!atomic_exchange(&one, 0)) return;
    if (is_in(t)) {
        sched_crit_enter(&t->self);
        uint32_t proc = s->proc;
        sched_proc_remove(s, &t->self, proc, true);
        t->attached = false;
        usleep(below(t, 300));
        t->self.joining = 1;
        CHECK(sched_proc_join(s, getpid(), os_start_time(getpid()), "leaver", cpus.w, 0) >= 0);
        CHECK(is_in(t));
        t->self.joining = 0;
        sched_left(s, proc, false);
        sched_crit_leave(s, &t->self);
    }
    atomic_store(&one, 1);
}

static void *run_leaver(void *arg)
{
    struct thread *t = self = arg;
    struct sched *s = &t->v->s;
    point_rng = mix(t->rng);
    while (!atomic_load(&stop) && !failed) {
        if (!is_in(t)) continue;
        switch (below(t, 8)) {
        case 0: depart(t); break;
        case 1: case 2: sched_yield_core(s, &t->self, false); break;
        case 3: sched_block(s, &t->self, os_now() + below(t, 300000)); break;
        case 4:
            t->certain = below(t, 2);
            sched_leave_core(s, &t->self, t->certain);
            usleep(below(t, 200));
            sched_return_core(s, &t->self);
            break;
        case 5:
            t->attached = false;
            sched_detach(s, &t->self, false);
            break;
        default:
            sched_waits_for(s, &t->self, USF_WAIT_CORE, 0);
            sched_wake(s, &t->self, &(uint32_t){below(t, USF_TASK_CHUNK)}, 1);
        }
    }
    t->attached = false;
    sched_detach(s, &t->self, true);
    atomic_fetch_add(&finished, 1);
    return 0;
}

/* ---- the monitor --------------------------------------------------------------------------------- */

static void nudge(void *arg, uint32_t task)
{
    (void)arg;
    for (int i = 0; i < THREADS; i++)
        if (atomic_load(&threads[i].id) == task) atomic_store_explicit(&threads[i].nudged, true, memory_order_relaxed);
}
static char state(void *arg, uint32_t task)
{
    (void)arg, (void)task;
    return e.unseen && next(&point_rng) % 4 ? 'S' : 'R';
}

/* Holds the scheduler lock. */
static void check_instance(struct sched *s)
{
    char why[160];
    uint32_t running = 0, held = 0, ready = 0, hwm = atomic_load(&s->h->task_hwm);
    if (!sched_is_valid(s, why, sizeof why)) fail(__LINE__, "invalid", why);
    for (uint32_t i = 0; i < hwm; i++) {
        struct usf_task *t = &s->tasks[i];
        if (atomic_load(&t->state) != USF_TASK_RUNNING) continue;
        uint32_t core = atomic_load(&t->core);
        running++;
        CHECK(core < s->h->nr_cores);
        if (core < s->h->nr_cores) CHECK(core_task(atomic_load(&s->cores[core].word)) == i);
    }
    for (uint32_t i = 0; i < s->h->nr_cores; i++) {
        bool idle = core_state(atomic_load(&s->cores[i].word)) == USF_CORE_IDLE;
        held += !idle;
        /* Without its bit it is somebody's who has just come back and found it taken: he is about to look. */
        bool known = atomic_load(&s->h->idle[i / 64]) >> (i % 64) & 1;
        if (idle && known) CHECK(atomic_load(&s->h->nr_ready) == 0);
    }
    CHECK(running == held);
    for (uint32_t i = 0, n = atomic_load(&s->h->proc_hwm); i < n; i++) {
        unsigned st = atomic_load(&s->procs[i].state);
        if (st == USF_PROC_ACTIVE) ready += s->procs[i].pol.nr_ready;
    }
    CHECK(ready == atomic_load(&s->h->nr_ready));
}

static bool nobody_is_dead(void *arg, uint32_t name) { return (void)arg, (void)name, false; }

static void *monitor(void *arg)
{
    static struct sched_watcher memory;
    struct sched *m = arg;
    struct sched_self me = {.task = USF_NONE};
    struct kicks none = {0};
    memory = (struct sched_watcher){0};
    m->watch = &memory;
    point_rng = e.seed;
    for (unsigned n = 0; atomic_load(&finished) < THREADS + (e.departures ? LEAVERS : 0); n++) {
        uint64_t ns = e.lonely ? 1000000 : sched_watch(m, nudge, state, 0);
        if (core_enter(m, &me)) {
            check_instance(m);
            core_leave(m, &me, &none);
        }
        if (n % 64 == 63) sched_recover(m, nobody_is_dead, 0);
        usleep(ns > 500000 ? 500 : (unsigned)(ns / 1000));
    }
    return 0;
}

/* ---- a recording ----------------------------------------------------------------------------------- */

/* Half of the episodes are recorded: what the lock's ring tells of a task follows upon what it told before, up to the last state. */
static struct trace_map *rings;
static _Atomic bool recorded;
static uint64_t events;
static uint8_t told[USF_MAX_TASKS];     /* state of each task, as it was told last */

static void follow(const struct trace_event *ev)
{
    if (ev->kind != TRACE_STATE) return;
    CHECK(ev->task < USF_MAX_TASKS && ev->aux >> 8 <= USF_TASK_GONE);
    unsigned from = ev->aux & 0xff;
    bool first = !told[ev->task];
    if (told[ev->task] != from && !first) fprintf(stderr, "task %u: %u, then from %u to %u\n", ev->task, told[ev->task], from, ev->aux >> 8);
    CHECK(first ? from == USF_TASK_NEW : told[ev->task] == from);
    told[ev->task] = ev->aux >> 8 == USF_TASK_GONE ? 0 : ev->aux >> 8;
}

static bool read_ring(struct trace_ring *r, uint32_t size, bool locked)
{
    static struct trace_event out[512];
    uint64_t wrong = 0;
    uint32_t n = trace_get(r, size, out, 512, &wrong);
    CHECK(!wrong);
    for (uint32_t i = 0; i < n; i++) {
        CHECK(out[i].kind > TRACE_NONE && out[i].kind < TRACE_LOST);
        if (locked) follow(&out[i]);
    }
    events += n;
    return n;
}

static void *recorder(void *arg)
{
    (void)arg;
    for (bool last = false; !last;) {
        last = atomic_load(&recorded);
        while (read_ring(trace_lock_ring(rings), TRACE_LOCK_EVENTS, true)) {}
        for (uint32_t i = 0; i < USF_TASK_CHUNK; i++) read_ring(trace_task_ring(rings, i), TRACE_TASK_EVENTS, false);
        if (!last) usleep(500);
    }
    CHECK(atomic_load(&trace_lock_ring(rings)->lost) == 0);
    for (uint32_t i = 0; i < USF_TASK_CHUNK; i++) CHECK(told[i] == 0);
    return 0;
}

static void begin_recording(pthread_t *t)
{
    rings = mmap(NULL, TRACE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(rings != MAP_FAILED);
    memset(told, 0, sizeof told);
    atomic_store(&recorded, false);
    atomic_store(&rings->nr_rings, USF_TASK_CHUNK);
    events = 0;
    CHECK(pthread_create(t, 0, recorder, 0) == 0);
}

static void end_recording(pthread_t t)
{
    atomic_store(&recorded, true);
    pthread_join(t, 0);
    CHECK(events > 0);
    munmap(rings, TRACE_SIZE);
    rings = NULL;
}

/* ---- episodes ------------------------------------------------------------------------------------ */

static void dump(void)
{
    fprintf(stderr, "stalled (seed %lu): lock %x, %u ready\n", e.seed, atomic_load(&header->lock.word), atomic_load(&header->nr_ready));
    for (uint32_t i = 0; i < header->nr_cores; i++) {
        uint64_t w = atomic_load(&views[0].s.cores[i].word);
        fprintf(stderr, "core %u: state %u task %u\n", i, core_state(w), core_task(w));
    }
    for (int i = 0; i < THREADS + LEAVERS; i++) {
        struct thread *t = i < THREADS ? &threads[i] : &leavers[i - THREADS];
        uint32_t id = i < THREADS ? atomic_load(&t->id) : t->self.task;
        fprintf(stderr, "thread %d: done %lu credit %u inbox %u", i, atomic_load(&t->done), atomic_load(&t->credit), atomic_load(&t->inbox));
        if (id != USF_NONE) {
            struct usf_task *r = &views[0].s.tasks[id];
            fprintf(stderr, " task %u state %u park %u token %u core %u", id, atomic_load(&r->state), atomic_load(&r->park),
                    atomic_load(&r->token), atomic_load(&r->core));
        }
        fputc('\n', stderr);
    }
}

static void wait_for_all(void)
{
    uint64_t last = 0, since = os_now();
    while (atomic_load(&finished) < THREADS + (stop && e.departures ? LEAVERS : 0)) {
        uint64_t sum = stop;
        for (int i = 0; i < THREADS; i++) sum += atomic_load(&threads[i].done);
        if (sum != last) last = sum, since = os_now();
        if (failed || os_now() - since > STALL_S * 1000000000ull) {
            if (!failed) dump();
            fprintf(stderr, "FAILED: seed %lu\n", e.seed);
            _exit(1);
        }
        usleep(2000);
    }
}

static void choose(uint64_t seed)
{
    static const struct usf_policy_ops *const liars[] = {&liar_running, &liar_queued, &liar_core};
    uint64_t r = mix(mix(seed));
    e = (struct episode){.seed = seed, .lock_kind = r & 1, .cores = 1 + (r >> 1) % 4, .unseen = (r >> 4) % 3 == 0,
                         .strays = (r >> 8) % 2, .exchanges = 40, .handlers = (r >> 12) % 3 ? 16 + (r >> 16) % 100 : 0,
                         .builtin = (const char *const[]){"coop", "coop", "coop", "fifo", "fl", "fl", "gang", "gang"}[(r >> 24) % 8]};
    if ((r >> 32) % 3 == 0) e.policy = liars[(r >> 40) % 3];
    e.departures = (r >> 48) % 3 == 0;
    e.traced = r >> 56 & 1;
    e.lonely = !e.departures && !e.unseen && (r >> 52) % 2;
    printf("seed %lu: %s, %u cores, policy %s%s%s%s%s%s, handlers %u\n", seed, e.lock_kind ? "dtlock" : "plain", e.cores,
           e.policy ? e.policy->name : e.builtin, e.unseen ? ", cores taken unseen" : "", e.strays ? ", stray wakes" : "",
           e.departures ? ", departures" : "", e.lonely ? ", no monitor" : "", e.traced ? ", recorded" : "", e.handlers);
    fflush(stdout);
}

/* Any number of cores: more than there are CPUs do no harm. */
static void set_cores(uint32_t n)
{
    struct usf_core *cores = shm_cores(header);
    for (uint32_t i = header->nr_cores; i < n; i++) {
        cores[i].pol = cores[i % header->nr_cores].pol;
        cores[i].pol.id = i;
        atomic_fetch_or(&header->idle[0], 1ull << i);
    }
    for (uint32_t i = n; i < header->nr_cores; i++) atomic_fetch_and(&header->idle[0], ~(1ull << i));
    header->nr_cores = n;
}

static void bind_view(struct sched *s, const char *dir)
{
    char why[160];
    memset(s, 0, sizeof *s);
    sched_bind(s, header);
    if (sched_use_policy(s, e.policy, why, sizeof why)) fail(__LINE__, "policy", why);
    s->shm_dir = dir;
    s->trace = rings;
    s->spins = calloc(USF_MAX_TASKS, sizeof *s->spins);
    s->would_leave = would_leave;
}

static int open_instance(struct shm *m, const char *dir)
{
    char name[USF_NAME_MAX];
    snprintf(name, sizeof name, "race-%d", getpid());
    struct shm_config c = {.name = name, .dir = dir, .policy = e.policy ? e.policy->name : e.builtin,
                           .policy_path = e.policy ? "a liar" : "", .lock_kind = e.lock_kind};
    int r = shm_open_instance(&c, true, m);
    if (r) return fprintf(stderr, "%s\n", m->why), r;
    header = m->h;
    CHECK(os_getaffinity(0, &cpus) == 0);
    set_cores(e.cores);
    for (int i = 0; i <= VIEWS; i++) {
        struct view *v = &views[i];
        memset(v, 0, sizeof *v);
        bind_view(&v->s, dir);
        if (i == VIEWS && !e.departures) break;
        if (i < VIEWS) v->s.after_crit = after_crit;
        v->s.remote_pin = i == 0;
        v->y.sched = &v->s;
        CHECK(sched_proc_join(&v->s, getpid(), os_start_time(getpid()), "race", cpus.w, 0) >= 0);
    }
    return 0;
}

static void start_threads(void)
{
    memset(threads, 0, sizeof threads);
    memset(user, 0, sizeof user);
    finished = 0;
    /* ... or has not had a CPU for so long that it passes for deaf, which nobody is to be here */
    header->progress_ns = e.unseen ? 1000000 : UINT64_MAX / 16;
    for (int i = 0; i < THREADS; i++) {
        struct thread *t = &threads[i];
        t->v = &views[i < THREADS / 2 ? i / 2 % VIEWS : (i + i / 2) % VIEWS];  /* pairs within a view, and across */
        t->partner = &threads[i ^ 1];
        t->rng = mix(e.seed * 64 + (unsigned)i);
        t->id = USF_NONE;
        t->checked = !e.unseen;     /* a core is taken only from who asks for it, ... */
        t->sync.sched = &t->self;
        t->self.task = USF_NONE;
    }
    memset(leavers, 0, sizeof leavers);
    for (int i = 0; i < LEAVERS && e.departures; i++) {
        leavers[i].v = &views[VIEWS];
        leavers[i].rng = mix(~e.seed * 64 + (unsigned)i);
        leavers[i].self.task = USF_NONE;
        CHECK(pthread_create(&leavers[i].pthread, 0, run_leaver, &leavers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i].pthread, 0, run, &threads[i]) == 0);
}

static void check_end(void)
{
    for (uint32_t i = 0; i < header->nr_cores; i++) CHECK(core_state(atomic_load(&views[0].s.cores[i].word)) == USF_CORE_IDLE);
    CHECK(atomic_load(&header->nr_ready) == 0);
    CHECK(atomic_load(&header->lock.word) == 0);
    for (int i = 0; i < THREADS; i++) {
        CHECK(atomic_load(&threads[i].done) == e.exchanges);
        CHECK(atomic_load(&threads[i].credit) == 0 && atomic_load(&threads[i].inbox) == 0);
    }
    for (int i = 0; i < VIEWS; i++) {
        CHECK(views[i].sum == 0);
        CHECK(atomic_load(&views[i].box) == atomic_load(&views[i].ops));
        for (unsigned b = 0; b < SYNC_BUCKETS; b++) {
            struct sync_bucket *k = &views[i].y.bucket[b];
            CHECK(!k->head && !k->tail && !atomic_load(&k->count) && !atomic_load(&k->lock));
        }
    }
}

static int episode(uint64_t seed, const char *dir)
{
    struct shm m;
    struct sched watching;
    pthread_t mon, rec;
    choose(seed);
    if (e.traced) begin_recording(&rec);
    if (open_instance(&m, dir)) return 77;
    bind_view(&watching, dir);
    stop = false;
    start_threads();
    if (pthread_create(&mon, 0, monitor, &watching)) return 1;
    wait_for_all();
    stop = true;
    wait_for_all();
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i].pthread, 0);
    for (int i = 0; i < LEAVERS && e.departures; i++) pthread_join(leavers[i].pthread, 0);
    pthread_join(mon, 0);
    check_end();
    for (uint32_t i = 0, n = atomic_load(&header->proc_hwm); i < n; i++) sched_proc_remove(&watching, 0, i, false);
    if (e.traced) end_recording(rec);
    CHECK(shm_retire_if_empty(&m, dir));
    shm_close(&m);
    return failed;
}

int main(int argc, char **argv)
{
    char dir[] = "/tmp/usf-race-XXXXXX";
    uint64_t seed = argc > 1 ? strtoull(argv[1], 0, 0) : (uint64_t)time(0) * 1000 + (uint64_t)getpid() % 1000;
    uint64_t until = os_now() + (argc > 2 ? strtoull(argv[2], 0, 0) : 10) * 1000000000ull;
    int r;
    alarm(100);
    if (!mkdtemp(dir)) return 77;
    do r = episode(seed++, dir);
    while (!r && os_now() < until);
    rmdir(dir);
    return r;
}
