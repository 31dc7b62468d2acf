/* tests/soak/kinds.c - programs that check themselves, one for each way to wait.  SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "load.h"

/* A thread of a load: one of `n` that take turns, or wait for each other, and the number by which it tells its progress. */
struct ring { _Atomic unsigned turn; _Atomic bool over; pthread_mutex_t mutex; pthread_cond_t cond; int pipes[LOAD_THREADS][2]; };
struct member { struct ring *ring; unsigned i, n, id; void *(*run)(void *); };
static struct member members[LOAD_THREADS];
static struct ring rings[LOAD_THREADS];

static void add_members(unsigned first, unsigned n, void *(*run)(void *))
{
    struct ring *r = &rings[first];
    pthread_mutex_init(&r->mutex, 0);
    pthread_cond_init(&r->cond, 0);
    for (unsigned i = 0; i < n; i++) {
        LOAD_CHECK(pipe(r->pipes[i]) == 0);
        members[first + i] = (struct member){r, i, n, first + i, run};
    }
}

/* The first `lost` never come back. */
static void run_members(unsigned n, unsigned lost)
{
    pthread_t t[LOAD_THREADS];
    for (unsigned i = 0; i < n; i++) LOAD_CHECK(pthread_create(&t[i], 0, members[i].run, &members[i]) == 0);
    for (unsigned i = lost; i < n; i++) LOAD_CHECK(pthread_join(t[i], 0) == 0);
}

static void run_threads(unsigned n, void *(*run)(void *))
{
    add_members(0, n, run);
    run_members(n, 0);
}

static void compute(unsigned rounds)
{ for (volatile unsigned i = 0; i < rounds; i++) {} }

/* Whose turn it is may go on; who finds that it is to stop lets all others out. */
static bool next_turn(const struct member *m)
{
    struct ring *r = m->ring;
    LOAD_CHECK(atomic_load(&r->turn) == m->i || atomic_load(&r->over));
    if (!load_round(m->id)) atomic_store(&r->over, true);
    return !atomic_load(&r->over);
}
static bool waits(const struct member *m) { return atomic_load(&m->ring->turn) != m->i && !atomic_load(&m->ring->over); }
static void pass_on(const struct member *m) { atomic_store(&m->ring->turn, (m->i + 1) % m->n); }

/* ---- mutex and condition --------------------------------------------------------------------- */

static void *cond_thread(void *arg)
{
    struct member *m = arg;
    pthread_mutex_lock(&m->ring->mutex);
    for (bool go = true; go;) {
        while (waits(m)) pthread_cond_wait(&m->ring->cond, &m->ring->mutex);
        go = next_turn(m);
        pass_on(m);
        pthread_cond_broadcast(&m->ring->cond);
    }
    pthread_mutex_unlock(&m->ring->mutex);
    return 0;
}
static void run_cond(unsigned n) { run_threads(n, cond_thread); }

/* ---- a barrier -------------------------------------------------------------------------------- */

static pthread_barrier_t barrier;
static uint64_t phase[LOAD_THREADS];
static _Atomic bool barrier_over;

static void *barrier_thread(void *arg)
{
    const struct member *m = arg;
    unsigned i = m->i;
    for (;;) {
        compute(2000);
        phase[i]++;
        if (!load_round(m->id)) atomic_store(&barrier_over, true);
        pthread_barrier_wait(&barrier);
        for (unsigned k = 0; k < m->n; k++) LOAD_CHECK(phase[k] == phase[i]);
        bool end = atomic_load(&barrier_over);
        pthread_barrier_wait(&barrier);
        if (end) return 0;
    }
}
static void run_barrier(unsigned n)
{
    pthread_barrier_init(&barrier, 0, n);
    run_threads(n, barrier_thread);
}

/* ---- OpenMP ----------------------------------------------------------------------------------- */

static void run_openmp(unsigned n)
{
    for (bool go = true; go;) {
        uint64_t sum = 0;
        #pragma omp parallel for num_threads(n) reduction(+:sum) schedule(static, 1)
        for (unsigned k = 0; k < 64; k++) {
            compute(500);
            sum += k;
            load_round(k % n);
        }
        LOAD_CHECK(sum == 63 * 32);
        go = !atomic_load(&head->stop);
    }
}

/* ---- yields, and spin loops -------------------------------------------------------------------- */

static void *yield_thread(void *arg)
{
    struct member *m = arg;
    for (bool go = true; go;) {
        while (waits(m)) sched_yield();
        go = next_turn(m);
        pass_on(m);
    }
    return 0;
}
static void run_yield(unsigned n) { run_threads(n, yield_thread); }

static void *spin_thread(void *arg)
{
    struct member *m = arg;
    for (bool go = true; go;) {
        while (waits(m)) __builtin_ia32_pause();
        go = next_turn(m);
        pass_on(m);
    }
    return 0;
}
static void run_spin(unsigned n) { run_threads(n, spin_thread); }

/* ---- pipes ------------------------------------------------------------------------------------- */

static void *pipe_thread(void *arg)
{
    struct member *m = arg;
    int from = m->ring->pipes[m->i][0], to = m->ring->pipes[(m->i + 1) % m->n][1];
    uint64_t n = 0, got;
    for (bool go = true; go; n++) {
        if (m->i == 0) LOAD_CHECK(write(to, &n, sizeof n) == sizeof n);
        LOAD_CHECK(read(from, &got, sizeof got) == sizeof got);
        LOAD_CHECK(got == n || got == UINT64_MAX);
        go = load_round(m->id) && got != UINT64_MAX;
        if (!go) got = UINT64_MAX;
        if (m->i || !go) LOAD_CHECK(write(to, &got, sizeof got) == sizeof got);
    }
    return 0;
}
static void run_pipe(unsigned n) { run_threads(n, pipe_thread); }

/* ---- children ---------------------------------------------------------------------------------- */

extern char **environ;
static pthread_mutex_t guarded = PTHREAD_MUTEX_INITIALIZER;     /* while others hold what they like */
static unsigned guard[2];

static void child_of(unsigned i, unsigned id)
{
    int status = 0;
    char *argv[] = {"true", 0};
    pid_t pid;
    if (i % 2) {
        LOAD_CHECK(posix_spawn(&pid, "/bin/true", 0, 0, argv, environ) == 0);
    } else if ((pid = fork()) == 0) {
        load_step(id);
        sched_yield();
        load_step(id);
        if (i) _exit(7);
        execve("/bin/true", argv, environ);
        _exit(1);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    LOAD_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == (i && i % 2 == 0 ? 7 : 0));
}

static void *fork_thread(void *arg)
{
    const struct member *m = arg;
    while (load_round(m->id)) {
        pthread_mutex_lock(&guarded);
        LOAD_CHECK(guard[0]++ == guard[1]);
        load_step(m->id);
        sched_yield();
        load_step(m->id);
        guard[1]++;
        pthread_mutex_unlock(&guarded);
        child_of(m->i, m->id);
    }
    return 0;
}
static void run_fork(unsigned n) { run_threads(n, fork_thread); }

/* ---- threads come and go, sleep, wait with timeouts ------------------------------------------------ */

static void *short_life(void *arg)
{
    static _Atomic unsigned n;
    struct timespec t = {.tv_nsec = 100000};
    nanosleep(&t, 0);
    if (atomic_fetch_add(&n, 1) % 2) pthread_exit(arg);     /* ends; the other is kept for the next */
    return arg;
}

static void *sleep_thread(void *arg)
{
    struct member *m = arg;
    struct timespec t;
    while (load_round(m->id)) {
        pthread_t p;
        void *r = 0;
        LOAD_CHECK(pthread_create(&p, 0, short_life, arg) == 0);
        LOAD_CHECK(pthread_join(p, &r) == 0 && r == arg);
        clock_gettime(CLOCK_REALTIME, &t);
        t.tv_nsec += 200000;
        if (t.tv_nsec >= 1000000000) t.tv_nsec -= 1000000000, t.tv_sec++;
        pthread_mutex_lock(&m->ring->mutex);
        LOAD_CHECK(pthread_cond_timedwait(&m->ring->cond, &m->ring->mutex, &t) == ETIMEDOUT);
        pthread_mutex_unlock(&m->ring->mutex);
        compute(5000);
    }
    return 0;
}
static void run_sleep(unsigned n) { run_threads(n, sleep_thread); }

/* ---- signals to one thread ------------------------------------------------------------------------ */

/* Each sends its neighbour one, whose handler answers, and waits for the answer. */
static sem_t answers[LOAD_THREADS];
static _Atomic pthread_t signalled[LOAD_THREADS];
static __thread const struct member *own_member;

static unsigned next_of(const struct member *m) { return (m->i + 1) % m->n; }
static unsigned before(const struct member *m) { return (m->i + m->n - 1) % m->n; }
static void answer(int sig) { sem_post(&answers[before(own_member)]); }

static void *signal_thread(void *arg)
{
    struct member *m = arg;
    own_member = m;
    atomic_store(&signalled[m->i], pthread_self());
    while (load_round(m->id)) {
        pthread_t next = atomic_load(&signalled[next_of(m)]);
        if (!next) {
            sched_yield();
            continue;
        }
        LOAD_CHECK(pthread_kill(next, SIGRTMIN) == 0);
        while (sem_wait(&answers[m->i])) LOAD_CHECK(errno == EINTR);
        compute(1000);
    }
    answer(0);      /* it waits for no more: all are to stop */
    return 0;
}

static void run_signal(unsigned n)
{
    const struct sigaction a = {.sa_handler = answer};
    for (unsigned i = 0; i < n; i++) LOAD_CHECK(sem_init(&answers[i], 0, 0) == 0);
    LOAD_CHECK(sigaction(SIGRTMIN, &a, 0) == 0);
    run_threads(n, signal_thread);
}

/* ---- a thread that ends alone, while the others wait for its core ------------------------------------ */

static void live_for_a_while(const struct member *m)
{
    for (unsigned i = 0; i < 5; i++) sched_yield();
    while (load_round(m->id) && atomic_load(&m->ring->turn) < 2) compute(1000);
}

static void *mortal_thread(void *arg)
{
    live_for_a_while(arg);
    load_unseen(SYS_exit, 0, 0, 0);
    return 0;
}

/* ... in the middle of a call: test_ends.py has seccomp kill whoever makes it. */
static long fatal_call;

static void *killed_thread(void *arg)
{
    live_for_a_while(arg);
    syscall(fatal_call, 0, 0, 0, 0, 0);
    LOAD_CHECK(false);
    return 0;
}

static void *successor_thread(void *arg)
{
    struct member *m = arg;
    while (load_round(m->id)) {
        atomic_fetch_add(&m->ring->turn, 1);
        sched_yield();
        compute(1000);
    }
    return 0;
}

static void run_successors(unsigned n, void *(*of)(void *))
{
    add_members(0, n, successor_thread);
    members[0].run = of;
    run_members(n, 1);
}
static void run_mortal(unsigned n) { run_successors(n, mortal_thread); }

static void run_killed(unsigned n, long call)
{
    fatal_call = call;
    run_successors(n, killed_thread);
}
/* Calls that no other test makes: one that passes through, one that releases its core
 * provisionally, one that releases it at once. */
static void run_passing(unsigned n) { run_killed(n, SYS_ustat); }
static void run_provisional(unsigned n) { run_killed(n, SYS_keyctl); }
static void run_pausing(unsigned n) { run_killed(n, SYS_pause); }

/* ---- all of them at once -------------------------------------------------------------------------- */

static void run_all(unsigned n)
{
    if (n != LOAD_THREADS) exit(2);
    add_members(0, 2, cond_thread);
    add_members(2, 2, yield_thread);
    add_members(4, 2, spin_thread);
    add_members(6, 2, pipe_thread);
    add_members(8, 1, fork_thread);
    add_members(9, 1, sleep_thread);
    run_members(n, 0);
}

const struct load_kind load_kinds[] = {
    {"cond", run_cond}, {"barrier", run_barrier}, {"openmp", run_openmp}, {"yield", run_yield}, {"spin", run_spin},
    {"pipe", run_pipe}, {"fork", run_fork}, {"sleep", run_sleep}, {"signal", run_signal}, {"mortal", run_mortal}, {"passing", run_passing},
    {"provisional", run_provisional}, {"pausing", run_pausing}, {"all", run_all},
    {0, 0},
};
