/* tests/pthread/mutex.c - every kind of mutex.  SPDX-License-Identifier: Apache-2.0 */
#include "stress.h"

struct guarded {
    pthread_mutex_t lock;
    long count, twice;
    int kind;
    bool robust;
};

static int kinds[] = { PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                       PTHREAD_MUTEX_ADAPTIVE_NP };

static void make(struct guarded *g, int kind, int protocol, bool robust, bool shared)
{
    pthread_mutexattr_t attr;
    CHECK_EQ(pthread_mutexattr_init(&attr), 0);
    CHECK_EQ(pthread_mutexattr_settype(&attr, kind), 0);
    CHECK_EQ(pthread_mutexattr_setprotocol(&attr, protocol), 0);
    CHECK_EQ(pthread_mutexattr_setrobust(&attr, robust ? PTHREAD_MUTEX_ROBUST : PTHREAD_MUTEX_STALLED), 0);
    CHECK_EQ(pthread_mutexattr_setpshared(&attr, shared ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE), 0);
    memset(g, 0, sizeof *g);
    CHECK_EQ(pthread_mutex_init(&g->lock, &attr), 0);
    g->kind = kind;
    g->robust = robust;
    pthread_mutexattr_destroy(&attr);
}

/* One of the four ways to lock; false if it was not to be had in time. */
static bool take(struct guarded *g, unsigned how)
{
    struct timespec t;
    int err;
    switch (how % 8) {
    case 0:
        err = pthread_mutex_trylock(&g->lock);
        CHECK(err == 0 || err == EBUSY);
        return err == 0;
    case 1:
        t = after_us(CLOCK_REALTIME, how % 300);
        err = pthread_mutex_timedlock(&g->lock, &t);
        CHECK(err == 0 || (err == ETIMEDOUT && is_past(CLOCK_REALTIME, t)));
        return err == 0;
    case 2:
        t = after_us(CLOCK_MONOTONIC, how % 300);
        err = pthread_mutex_clocklock(&g->lock, CLOCK_MONOTONIC, &t);
        if (err == EINVAL)                           /* priority inheritance: not with this clock in every kernel */
            return false;
        CHECK(err == 0 || (err == ETIMEDOUT && is_past(CLOCK_MONOTONIC, t)));
        return err == 0;
    default:
        CHECK_EQ(pthread_mutex_lock(&g->lock), 0);
        return true;
    }
}

static void *hammer(void *arg)
{
    struct worker *w = arg;
    struct guarded *g = w->arg;
    for (long i = 0; i < share(); i++) {
        unsigned r = next_random(&w->random);
        while (!take(g, r))
            r = next_random(&w->random);
        CHECK_EQ(g->count * 2, g->twice);
        g->count++;
        if (r % 64 == 0)
            work(2000);
        if (r % 512 == 0)
            sched_yield();
        if (g->kind == PTHREAD_MUTEX_RECURSIVE && r % 4 == 0) {
            CHECK_EQ(pthread_mutex_lock(&g->lock), 0);
            CHECK_EQ(pthread_mutex_unlock(&g->lock), 0);
        }
        if (g->kind == PTHREAD_MUTEX_ERRORCHECK)
            CHECK_EQ(pthread_mutex_lock(&g->lock), EDEADLK);
        g->twice += 2;
        CHECK_EQ(pthread_mutex_unlock(&g->lock), 0);
        if (g->kind == PTHREAD_MUTEX_ERRORCHECK && r % 16 == 0) {
            int err = pthread_mutex_unlock(&g->lock);
            CHECK_EQ(err, EPERM);
        }
    }
    return NULL;
}

static void check(struct guarded *g, long workers_count)
{
    CHECK_EQ(g->count, workers_count * share());
    CHECK_EQ(g->twice, 2 * g->count);
    CHECK_EQ(pthread_mutex_trylock(&g->lock), 0);
    CHECK_EQ(pthread_mutex_unlock(&g->lock), 0);
    CHECK_EQ(pthread_mutex_destroy(&g->lock), 0);
}

static void in_threads(void)
{
    struct guarded g;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (int protocol = 0; protocol < 2; protocol++)
            for (int robust = 0; robust < 2; robust++) {
                make(&g, kinds[k], protocol ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE, robust, false);
                run(hammer, &g);
                check(&g, threads);
            }
}

static void in_processes(void)
{
    struct guarded *g = shared_memory(sizeof *g);
    int n = threads < 4 ? threads : 4;
    for (int protocol = 0; protocol < 2; protocol++)
        for (int robust = 0; robust < 2; robust++) {
            make(g, PTHREAD_MUTEX_NORMAL, protocol ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE, robust, true);
            run_processes(n, hammer, g);
            check(g, n);
        }
    munmap(g, sizeof *g);
}

/* ---- owners that die ---------------------------------------------------------------------------------- */
static void *die_holding(void *arg)
{
    struct worker *w = arg;
    struct guarded *g = w->arg;
    int err = pthread_mutex_lock(&g->lock);
    CHECK(err == 0 || err == EOWNERDEAD);
    if (err == EOWNERDEAD)
        CHECK_EQ(pthread_mutex_consistent(&g->lock), 0);
    g->count++;
    if (w->index % 2)
        sched_yield();
    return NULL;                                     /* without unlocking */
}

static void dead_owners(void)
{
    struct guarded *g = shared_memory(sizeof *g);
    for (int protocol = 0; protocol < 2; protocol++) {
        make(g, PTHREAD_MUTEX_NORMAL, protocol ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE, true, true);
        run(die_holding, g);
        CHECK_EQ(g->count, threads);
        int n = threads < 4 ? threads : 4;
        run_processes(n, die_holding, g);
        CHECK_EQ(g->count, threads + n);
        CHECK_EQ(pthread_mutex_lock(&g->lock), EOWNERDEAD);
        CHECK_EQ(pthread_mutex_unlock(&g->lock), 0);          /* not made consistent: lost */
        CHECK_EQ(pthread_mutex_lock(&g->lock), ENOTRECOVERABLE);
        pthread_mutex_destroy(&g->lock);
    }
    munmap(g, sizeof *g);
}

/* ---- philosophers: many locks at a time ------------------------------------------------------------------ */
static pthread_mutex_t forks[MAX_THREADS];
static long meals;

static void *dine(void *arg)
{
    struct worker *w = arg;
    int a = w->index, b = (w->index + 1) % threads;
    pthread_mutex_t *first = &forks[a < b ? a : b], *second = &forks[a < b ? b : a];
    for (long i = 0; i < share(); i++) {
        CHECK_EQ(pthread_mutex_lock(first), 0);
        if (first != second)
            CHECK_EQ(pthread_mutex_lock(second), 0);
        work(20);
        __atomic_fetch_add(&meals, 1, __ATOMIC_RELAXED);
        if (first != second)
            CHECK_EQ(pthread_mutex_unlock(second), 0);
        CHECK_EQ(pthread_mutex_unlock(first), 0);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    stress_start(argc, argv, 4000);
    in_threads();
    in_processes();
    dead_owners();
    for (int i = 0; i < threads; i++)
        pthread_mutex_init(&forks[i], NULL);
    run(dine, NULL);
    CHECK_EQ(meals, threads * share());
    return 0;
}
