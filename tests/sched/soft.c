/* tests/sched/soft.c - waiting softly, with signals and deaths.  SPDX-License-Identifier: Apache-2.0
 *
 * usage: soft [alone] [SEED [SECONDS]]
 * Threads of two processes yield, block, wake each other and leave for system calls; the cores' estimates are kept such that
 * they always wait softly and offer their turns.  Real signals end their waits; handlers block, yield, or jump out as
 * pthread_cancel does.  One process lives; the other is killed, at a perturbation point or anywhere, and replaced.  The parent
 * is the monitor.  Never two threads on a core; every thread of the one that lives goes on.
 *
 * alone: one thread each.  The one that is killed is taking the other's turn, and nobody else looks at the lock: the survivor
 * has to call for help. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"
#include "sched/core.h"
#include "sched/lock.h"
#include "shm/shm.h"

enum { THREADS = 4, WORKERS = 2, STUCK_S = 15 };
static const char *const points[] = {
    "sched.take_turn", "sched.turn_taken", "sched.leave_soft", "sched.kick", "sched.locked", "sched.unlock", "sched.blocked",
    "sched.parking", "sched.park", "sched.away", "sched.removed", "lock.owned", "lock.released",
};

static struct {
    _Atomic uint64_t owner[USF_MAX_CORES];      /* who believes to have it: pid << 32 | tid */
    _Atomic uint64_t done[THREADS];             /* by the survivor's threads */
    _Atomic uint32_t handlers, jumps;           /* how much has happened */
    int failures;                               /* see check.h */
    _Atomic uint32_t told;
} *shared;

/* ---- a thread of a worker ----------------------------------------------------------------------- */

struct thread {
    struct sched_self self;
    uint64_t rng;
    volatile sig_atomic_t deferred, can_jump;
    unsigned depth;                     /* of handlers */
    bool attached, inside;
    uint32_t core;
    _Atomic uint32_t id, credit;
    _Atomic pthread_t pthread;
    sigjmp_buf out;
};
static struct sched s;
static struct thread threads[THREADS];
static unsigned nr_threads;
static bool lives;
static _Thread_local struct thread *self;

static uint64_t next(uint64_t *x)
{
    *x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
    return *x >> 11;
}
static unsigned below(struct thread *t, unsigned n) { return (unsigned)(next(&t->rng) % n); }

static uint64_t own_name(void) { return (uint64_t)getpid() << 32 | (uint32_t)syscall(SYS_gettid); }

static unsigned state_of(struct thread *t) { return atomic_load(&s.tasks[t->self.task].state); }

static void enter_core(struct thread *t)
{
    /* The monitor takes the core from one that sleeps on the lock for long: it queues again at its next scheduling point. */
    while (state_of(t) == USF_TASK_IN_KERNEL) sched_yield_core(&s, &t->self, false);
    sched_crit_enter(&t->self);
    t->inside = true;
    t->core = atomic_load(&s.tasks[t->self.task].core);
    EXPECT(state_of(t) == USF_TASK_RUNNING);
    EXPECT(atomic_exchange(&shared->owner[t->core], own_name()) == 0);
    sched_crit_leave(&s, &t->self);
}
static void exit_core(struct thread *t)
{
    sched_crit_enter(&t->self);
    EXPECT(atomic_exchange(&shared->owner[t->core], 0) == own_name());
    t->inside = false;
    sched_crit_leave(&s, &t->self);
}

/* No stranger makes waits hard: here nobody is measured. */
static void be_soft(struct thread *t)
{
    for (uint32_t i = 0; i < s.h->nr_cores; i++) {
        atomic_store(&s.cores[i].soft_after, 0);
        atomic_store(&s.cores[i].soft_pause, 0);
        if (below(t, 2)) atomic_store(&s.cores[i].soft_seen, os_cycles());
    }
    t->self.wait_avg = t->self.turn_avg = 0;
}

static void yield(struct thread *t)
{
    exit_core(t);
    be_soft(t);
    sched_yield_core(&s, &t->self, false);
    enter_core(t);
}

static void block(struct thread *t, uint64_t ns)
{
    exit_core(t);
    be_soft(t);
    uint64_t deadline = os_now() + ns;
    int r = sched_block(&s, &t->self, deadline);
    EXPECT(r == 0 || r == -EINTR || (r == -ETIMEDOUT && os_now() >= deadline));
    enter_core(t);
}

static void post(struct thread *t, struct thread *to)
{
    uint32_t id = atomic_load(&to->id);
    atomic_fetch_add(&to->credit, 1);
    if (id == USF_NONE) return;
    exit_core(t);
    sched_wake(&s, &t->self, &id, 1);
    enter_core(t);
}

static void go_away(struct thread *t)
{
    exit_core(t);
    sched_leave_core(&s, &t->self, below(t, 2));
    usleep(below(t, 100));
    sched_return_core(&s, &t->self);
    enter_core(t);
}

/* ---- signals ------------------------------------------------------------------------------------ */

/* As src/runtime/signals.c enters a handler. */
static void take_signal(struct thread *t)
{
    uint32_t where = t->self.where, interrupted;
    bool inside = t->inside;
    if (!t->attached || where == SCHED_AWAY || t->depth >= 2) return;
    t->depth++;
    if (where == SCHED_PARKED) sched_interrupt(&s, &t->self);
    interrupted = t->self.interrupted;
    t->self.interrupted = 0;
    t->self.where = SCHED_USER;
    if (!inside) enter_core(t);
    atomic_fetch_add_explicit(&shared->handlers, 1, memory_order_relaxed);
    switch (below(t, 4)) {
    case 0: block(t, below(t, 100000)); break;
    case 1: yield(t); break;
    case 2:
        if (!t->can_jump || where != SCHED_PARKED || t->depth > 1) break;
        t->depth = 0;
        siglongjmp(t->out, 1);
    default: break;
    }
    if (!inside) exit_core(t);
    t->self.interrupted |= interrupted;
    if (where == SCHED_PARKED) t->self.where = SCHED_PARKED;
    t->depth--;
}

static void on_signal(int sig)
{
    struct thread *t = self;
    int saved = errno;
    (void)sig;
    if (t && t->self.crit) t->deferred = 1;
    else if (t) take_signal(t);
    errno = saved;
}

static void after_crit(struct sched_self *me)
{
    if (!self || me != &self->self || !self->deferred) return;
    self->deferred = 0;
    take_signal(self);
}

/* ---- the life of a worker ----------------------------------------------------------------------- */

static void attach(struct thread *t)
{
    t->self.task = USF_NONE;
    EXPECT(sched_attach(&s, &t->self, (int)syscall(SYS_gettid), "soft") == 0);
    t->attached = true;
    enter_core(t);
    atomic_store(&t->id, t->self.task);
}

static void detach(struct thread *t)
{
    atomic_store(&t->id, USF_NONE);
    exit_core(t);
    t->attached = false;
    sched_detach(&s, &t->self, false);
}

static void something(struct thread *t)
{
    struct thread *other = &threads[below(t, nr_threads)];
    switch (below(t, 8)) {
    case 0: block(t, below(t, 100000)); break;
    case 1: if (other != t) post(t, other); break;
    case 2: for (int n = 0; n < 20 && !atomic_load(&t->credit); n++) block(t, 200000); break;
    case 3: if (below(t, 8) == 0) go_away(t); break;
    default: for (unsigned n = below(t, 20); n; n--) yield(t);
    }
}

static void *run(void *arg)
{
    struct thread *t = self = arg;
    atomic_store(&t->pthread, pthread_self());
    attach(t);
    if (sigsetjmp(t->out, 1)) {         /* cancelled: another takes its place */
        atomic_fetch_add(&shared->jumps, 1);
        t->can_jump = 0;
        detach(t);
        attach(t);
    }
    for (t->can_jump = nr_threads > 1;;) {
        if (nr_threads > 1) something(t);
        else yield(t);
        if (lives) atomic_fetch_add(&shared->done[t - threads], 1);
    }
    return 0;
}

static bool tell(struct usf_lock *l, uint32_t owner)
{
    (void)l, (void)owner;
    shared->told = 1;
    return false;
}

static void work(void *base, const char *dir, uint64_t seed)
{
    struct os_cpuset cpus;
    char why[128];
    uint64_t rng = seed;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    usf_points_again();
    sched_bind(&s, base);
    s.shm_dir = dir;
    s.after_crit = after_crit;
    s.remote_pin = true;
    usf_lock_on_stuck = tell;
    EXPECT(os_getaffinity(0, &cpus) == 0 && sched_use_policy(&s, 0, why, sizeof why) == 0);
    EXPECT(sched_proc_join(&s, getpid(), os_start_time(getpid()), "soft", cpus.w, 0) >= 0);
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = on_signal}, 0);
    for (unsigned i = 0; i < nr_threads; i++) {
        pthread_t p;
        threads[i].rng = next(&rng) | 1;
        threads[i].id = USF_NONE;
        pthread_create(&p, 0, run, &threads[i]);
    }
    for (;;) {
        usleep((unsigned)(next(&rng) % 500));
        pthread_t p = atomic_load(&threads[next(&rng) % nr_threads].pthread);
        if (p && nr_threads > 1) pthread_kill(p, SIGUSR1);
    }
}

/* ---- the parent: monitor, and death -------------------------------------------------------------- */

static struct worker { pid_t pid; bool dead; } workers[WORKERS];     /* the first lives */
static struct shm shm;
static char dir[] = "/tmp/usf-soft-XXXXXX";
static uint64_t rng;
static struct sched m;

static void start(int i)
{
    char plan[128];
    bool alone = nr_threads == 1;
    snprintf(plan, sizeof plan, "seed=%u,delay=20,yield=20", (unsigned)next(&rng) & 0xffffff);
    if (i) snprintf(plan + strlen(plan), sizeof plan - strlen(plan), ",kill=%s:%u",
                    alone ? points[0] : points[next(&rng) % (sizeof points / sizeof *points)],
                    alone ? 20 : (unsigned)(next(&rng) % (next(&rng) % 2 ? 3000 : 50) + 1));
    uint64_t seed = next(&rng);
    fflush(stdout);
    workers[i] = (struct worker){.pid = fork()};
    if (workers[i].pid) return;
    setenv("USF_POINTS", plan, 1);
    lives = i == 0;
    work(shm.h, dir, seed);
}

static bool has_died(struct worker *w)
{
    int status;
    if (w->dead || waitpid(w->pid, &status, WNOHANG) != w->pid) return w->dead;
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "a worker ended by itself");
    for (uint32_t i = 0; i < USF_MAX_CORES; i++)
        if (atomic_load(&shared->owner[i]) >> 32 == (uint64_t)w->pid) atomic_store(&shared->owner[i], 0);
    return w->dead = true;
}

static bool is_dead(void *arg, uint32_t name)
{
    (void)arg;
    uint32_t proc = name - LOCK_NAME_PROC;
    if (name < LOCK_NAME_PROC) proc = m.tasks[name - 1].proc;
    for (int i = 0; i < WORKERS && proc < m.h->max_procs; i++)
        if (m.procs[proc].pid == workers[i].pid) return has_died(&workers[i]);
    return false;
}

static bool recover(struct usf_lock *l, uint32_t owner)
{
    (void)l, (void)owner;
    sched_recover(&m, is_dead, 0);
    return false;
}

static void bury(struct worker *w)
{
    recover(0, 0);
    for (uint32_t i = 0; i < atomic_load(&m.h->proc_hwm); i++)
        if (atomic_load(&m.procs[i].state) != USF_PROC_FREE && m.procs[i].pid == w->pid) sched_proc_remove(&m, 0, i, false);
}

static void no_nudge(void *arg, uint32_t task) { (void)arg, (void)task; }
static char state(void *arg, uint32_t task)
{
    (void)arg;
    uint32_t proc = m.tasks[task].proc;
    return proc < m.h->max_procs ? os_thread_state(m.procs[proc].pid, sched_thread_of(&m, task)->tid) : 0;
}

static void describe(void)
{
    printf("lock %x, %u ready\n", atomic_load(&m.h->lock.word), atomic_load(&m.h->nr_ready));
    for (uint32_t i = 0; i < m.h->nr_cores; i++)
        printf("core %u: word %lx owner %lx\n", i, atomic_load(&m.cores[i].word), atomic_load(&shared->owner[i]));
    for (uint32_t i = 0; i < atomic_load(&m.h->task_hwm); i++)
        if (atomic_load(&m.tasks[i].state) != USF_TASK_FREE)
            printf("task %u: state %u park %u core %u, tid %d is %c\n", i, atomic_load(&m.tasks[i].state),
                   atomic_load(&sched_thread_of(&m, i)->park), atomic_load(&m.tasks[i].core), sched_thread_of(&m, i)->tid, state(0, i));
}

/* Does each of the survivor's threads go on? */
static bool all_go_on(void)
{
    static uint64_t last[THREADS], since[THREADS];
    uint64_t now = os_now();
    for (unsigned i = 0; i < nr_threads; i++) {
        uint64_t done = atomic_load(&shared->done[i]);
        if (done != last[i] || !since[i]) last[i] = done, since[i] = now;
        if (now - since[i] > STUCK_S * 1000000000ull) return false;
    }
    return true;
}

static int finish(const char *what)
{
    if (what) {
        printf("FAILED: %s\n", what);
        describe();
    }
    for (int i = 0; i < WORKERS; i++) kill(workers[i].pid, SIGKILL);
    for (int i = 0; i < WORKERS; i++) while (!has_died(&workers[i])) usleep(1000);
    for (int i = 0; i < WORKERS; i++) bury(&workers[i]);
    if (!shm_retire_if_empty(&shm, dir)) what = "the instance is not empty at the end";
    rmdir(dir);
    printf("%u handlers, %u jumped out\n", shared->handlers, shared->jumps);
    return what || check_failed();
}

static int open_instance(void)
{
    static struct sched_watcher memory;
    char name[USF_NAME_MAX], why[128];
    if (!mkdtemp(dir)) return 77;
    snprintf(name, sizeof name, "soft-%d", getpid());
    struct shm_config c = {.name = name, .dir = dir, .policy = next(&rng) % 2 ? "coop" : "fifo"};
    if (shm_open_instance(&c, true, &shm)) return fprintf(stderr, "%s\n", shm.why), 77;
    if (nr_threads == 1 || next(&rng) % 4 == 0) {     /* one core: all wait for each other */
        shm.h->nr_cores = 1;
        atomic_store(&shm.h->idle[0], 1);
    }
    sched_bind(&m, shm.h);
    m.shm_dir = dir;
    m.watch = &memory;
    if (sched_use_policy(&m, 0, why, sizeof why)) return 77;
    usf_lock_on_stuck = recover;
    printf("%s, %u cores\n", c.policy, shm.h->nr_cores);
    return 0;
}

static bool goes_on(uint64_t before, uint64_t until)
{
    while (atomic_load(&shared->done[0]) == before && os_now() < until) usleep(1000);
    return atomic_load(&shared->done[0]) != before;
}

/* The parent does nothing until it is told.  That one calls for help while all are alive, as the other did not get the CPU for long, is no harm. */
static int alone(void)
{
    for (unsigned n = 0; n < 10; n++) {
        start(1);
        while (!has_died(&workers[1])) usleep(1000);
        shared->told = 0;
        uint64_t until = os_now() + STUCK_S * 1000000000ull;
        while (!shared->told && os_now() < until) usleep(1000);
        if (!shared->told) return finish("nobody called for help");
        uint64_t before = atomic_load(&shared->done[0]);
        bury(&workers[1]);
        if (!goes_on(before, until)) return finish("the survivor does not go on");
    }
    return finish(0);
}

static int together(uint64_t until)
{
    unsigned deaths = 0, at_point = 0;
    start(1);
    for (uint64_t killed = 0; os_now() < until && !check_failed();) {
        uint64_t ns = sched_watch(&m, no_nudge, state, 0), now = os_now();
        if (has_died(&workers[1])) {
            bury(&workers[1]);
            deaths++, at_point += killed == 0;
            start(1);
            killed = 0;
        } else if (!killed && next(&rng) % 300 == 0) {
            kill(workers[1].pid, SIGKILL);
            killed = now;
        }
        if (!all_go_on()) return finish("somebody is stuck");
        usleep(ns > 1000000 ? 1000 : (unsigned)(ns / 1000));
    }
    printf("%u deaths, %u at a perturbation point\n", deaths, at_point);
    return finish(0);
}

int main(int argc, char **argv)
{
    bool by_itself = argc > 1 && !strcmp(argv[1], "alone");
    argc -= by_itself, argv += by_itself;
    alarm(100);
    rng = argc > 1 ? strtoull(argv[1], 0, 0) : (uint64_t)time(0) * 1000003u + (uint64_t)getpid();
    uint64_t seconds = argc > 2 ? strtoull(argv[2], 0, 0) : 8;
    check_seed = rng;
    printf("seed %lu\n", rng);
    if (!rng) rng = 1;
    nr_threads = by_itself ? 1 : THREADS;
    shared = mmap(0, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 77;
    check_failures = &shared->failures;
    int r = open_instance();
    if (r) return r;
    start(0);
    return by_itself ? alone() : together(os_now() + seconds * 1000000000u);
}
