/* tests/pthread/rwlock.c - read-write locks, both preferences.  SPDX-License-Identifier: Apache-2.0 */
#include "stress.h"

struct guarded {
    pthread_rwlock_t lock;
    long a, b;                                       /* equal whenever nobody writes */
    long written, read;                              /* `read` is atomic */
    int readers, writers;                            /* atomic; who is inside */
};

static int take_read(pthread_rwlock_t *l, unsigned how)
{
    struct timespec t;
    switch (how % 4) {
    case 0:
        return pthread_rwlock_tryrdlock(l);
    case 1:
        t = after_us(CLOCK_REALTIME, how % 500);
        return pthread_rwlock_timedrdlock(l, &t);
    case 2:
        t = after_us(CLOCK_MONOTONIC, how % 500);
        return pthread_rwlock_clockrdlock(l, CLOCK_MONOTONIC, &t);
    default:
        return pthread_rwlock_rdlock(l);
    }
}

static int take_write(pthread_rwlock_t *l, unsigned how)
{
    struct timespec t;
    switch (how % 4) {
    case 0:
        return pthread_rwlock_trywrlock(l);
    case 1:
        t = after_us(CLOCK_REALTIME, how % 500);
        return pthread_rwlock_timedwrlock(l, &t);
    case 2:
        t = after_us(CLOCK_MONOTONIC, how % 500);
        return pthread_rwlock_clockwrlock(l, CLOCK_MONOTONIC, &t);
    default:
        return pthread_rwlock_wrlock(l);
    }
}

static void read_some(struct guarded *g, unsigned r)
{
    __atomic_fetch_add(&g->readers, 1, __ATOMIC_SEQ_CST);
    CHECK_EQ(__atomic_load_n(&g->writers, __ATOMIC_SEQ_CST), 0);
    long a = g->a;
    work(r % 100);
    CHECK_EQ(g->b, a);
    __atomic_fetch_sub(&g->readers, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&g->read, 1, __ATOMIC_RELAXED);
}

static void write_some(struct guarded *g, unsigned r)
{
    CHECK_EQ(__atomic_fetch_add(&g->writers, 1, __ATOMIC_SEQ_CST), 0);
    CHECK_EQ(__atomic_load_n(&g->readers, __ATOMIC_SEQ_CST), 0);
    g->a++;
    work(r % 100);
    g->b++;
    g->written++;
    __atomic_fetch_sub(&g->writers, 1, __ATOMIC_SEQ_CST);
}

static void *hammer(void *arg)
{
    struct worker *w = arg;
    struct guarded *g = w->arg;
    for (long i = 0; i < share(); i++) {
        unsigned r = next_random(&w->random);
        bool write = r % 8 == 0;
        int err = write ? take_write(&g->lock, r / 8) : take_read(&g->lock, r / 8);
        CHECK(err == 0 || (err == EBUSY && r / 8 % 4 == 0) || (err == ETIMEDOUT && r / 8 % 4 != 0));
        if (err)
            continue;
        if (write)
            write_some(g, r);
        else
            read_some(g, r);
        CHECK_EQ(pthread_rwlock_unlock(&g->lock), 0);
    }
    return NULL;
}

static void prepare(struct guarded *g, int preference, bool shared)
{
    pthread_rwlockattr_t attr;
    memset(g, 0, sizeof *g);
    pthread_rwlockattr_init(&attr);
    CHECK_EQ(pthread_rwlockattr_setkind_np(&attr, preference), 0);
    CHECK_EQ(pthread_rwlockattr_setpshared(&attr, shared), 0);
    CHECK_EQ(pthread_rwlock_init(&g->lock, &attr), 0);
}

static void conclude(struct guarded *g)
{
    CHECK_EQ(g->a, g->written);
    CHECK_EQ(g->b, g->written);
    CHECK_EQ(pthread_rwlock_trywrlock(&g->lock), 0);
    CHECK_EQ(pthread_rwlock_unlock(&g->lock), 0);
    CHECK_EQ(pthread_rwlock_destroy(&g->lock), 0);
}

int main(int argc, char **argv)
{
    static const int preferences[] = { PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NP,
                                       PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP };
    static struct guarded g;
    stress_start(argc, argv, 20000);
    struct guarded *shared = shared_memory(sizeof *shared);
    for (int p = 0; p < 3; p++) {
        prepare(&g, preferences[p], false);
        run(hammer, &g);
        conclude(&g);
        prepare(shared, preferences[p], true);
        run_processes(threads < 4 ? threads : 4, hammer, shared);
        conclude(shared);
    }
    prepare(&g, PTHREAD_RWLOCK_PREFER_READER_NP, false);
    CHECK_EQ(pthread_rwlock_wrlock(&g.lock), 0);
    CHECK_EQ(pthread_rwlock_rdlock(&g.lock), EDEADLK);
    CHECK_EQ(pthread_rwlock_wrlock(&g.lock), EDEADLK);
    CHECK_EQ(pthread_rwlock_unlock(&g.lock), 0);
    conclude(&g);
    return 0;
}
