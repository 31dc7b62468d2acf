/* tests/pthread/barrier.c - barriers among threads and among processes.  SPDX-License-Identifier: Apache-2.0 */
#include "stress.h"

struct meeting {
    pthread_barrier_t barrier, second;
    int parties;
    long cycles;
    long arrived;                                    /* atomic; cycles * parties in the end */
    long serial;                                     /* atomic; one per cycle */
    long slot[MAX_THREADS];
};

static void *meet(void *arg)
{
    struct worker *w = arg;
    struct meeting *m = w->arg;
    for (long c = 1; c <= m->cycles; c++) {
        m->slot[w->index] = c;
        __atomic_fetch_add(&m->arrived, 1, __ATOMIC_RELAXED);
        if (next_random(&w->random) % 16 == 0)
            work(next_random(&w->random) % 3000);
        int r = pthread_barrier_wait(&m->barrier);
        CHECK(r == 0 || r == PTHREAD_BARRIER_SERIAL_THREAD);
        if (r == PTHREAD_BARRIER_SERIAL_THREAD)
            __atomic_fetch_add(&m->serial, 1, __ATOMIC_RELAXED);
        for (int i = 0; i < m->parties; i++)
            CHECK_EQ(__atomic_load_n(&m->slot[i], __ATOMIC_RELAXED), c);
        pthread_barrier_wait(&m->second);
    }
    return NULL;
}

static void prepare(struct meeting *m, int parties, long cycles, bool shared)
{
    pthread_barrierattr_t attr;
    memset(m, 0, sizeof *m);
    pthread_barrierattr_init(&attr);
    CHECK_EQ(pthread_barrierattr_setpshared(&attr, shared), 0);
    CHECK_EQ(pthread_barrier_init(&m->barrier, &attr, (unsigned)parties), 0);
    CHECK_EQ(pthread_barrier_init(&m->second, &attr, (unsigned)parties), 0);
    m->parties = parties;
    m->cycles = cycles;
}

static void conclude(struct meeting *m)
{
    CHECK_EQ(m->arrived, m->cycles * m->parties);
    CHECK_EQ(m->serial, m->cycles);
    CHECK_EQ(pthread_barrier_destroy(&m->barrier), 0);
    CHECK_EQ(pthread_barrier_destroy(&m->second), 0);
}

/* Destroyed by whoever is told to, while the others may still be on their way out. */
static void *once_only(void *arg)
{
    struct worker *w = arg;
    pthread_barrier_t *b = w->arg;
    if (pthread_barrier_wait(b) == PTHREAD_BARRIER_SERIAL_THREAD) {
        CHECK_EQ(pthread_barrier_destroy(b), 0);
        memset(b, 0xff, sizeof *b);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static struct meeting m;
    stress_start(argc, argv, 8000);
    prepare(&m, threads, share(), false);
    run(meet, &m);
    conclude(&m);

    struct meeting *shared = shared_memory(sizeof *shared);
    int n = threads < 4 ? threads : 4;
    prepare(shared, n, rounds / 20 + 1, true);
    run_processes(n, meet, shared);
    conclude(shared);

    for (int i = 0; i < 20; i++) {
        pthread_barrier_t b;
        CHECK_EQ(pthread_barrier_init(&b, NULL, (unsigned)threads), 0);
        run(once_only, &b);
    }
    pthread_barrier_t b;
    CHECK_EQ(pthread_barrier_init(&b, NULL, 0), EINVAL);
    return 0;
}
