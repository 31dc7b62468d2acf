/* tests/pthread/misc.c - once, spin locks, thread-specific data.  SPDX-License-Identifier: Apache-2.0 */
#include "stress.h"

/* ---- once: exactly one runs, the others wait until it has -------------------------------------------------- */
#define ONCES 200
static pthread_once_t once[ONCES];
static int ran[ONCES], done[ONCES];
static int current;                                  /* argument of the routine; protected by once[] in turn */

static void first(void)
{
    ran[current]++;
    work(current % 7 * 500);
    if (current % 5 == 0)
        sleep_us(200);
    __atomic_store_n(&done[current], 1, __ATOMIC_RELEASE);
}

static pthread_barrier_t together;

static void *one_of_many(void *arg)
{
    struct worker *w = arg;
    for (int i = 0; i < ONCES; i++) {
        if (w->index == 0)
            current = i;
        pthread_barrier_wait(&together);
        CHECK_EQ(pthread_once(&once[i], first), 0);
        CHECK_EQ(__atomic_load_n(&done[i], __ATOMIC_ACQUIRE), 1);
        CHECK_EQ(ran[i], 1);
        pthread_barrier_wait(&together);
    }
    return NULL;
}

/* ---- spin locks ---------------------------------------------------------------------------------------------- */
struct spinning {
    pthread_spinlock_t lock;
    long count, twice;
};

static void *spin(void *arg)
{
    struct worker *w = arg;
    struct spinning *s = w->arg;
    for (long i = 0; i < share(); i++) {
        unsigned r = next_random(&w->random);
        if (r % 4 == 0) {
            int err = pthread_spin_trylock(&s->lock);
            CHECK(err == 0 || err == EBUSY);
            if (err)
                CHECK_EQ(pthread_spin_lock(&s->lock), 0);
        } else {
            CHECK_EQ(pthread_spin_lock(&s->lock), 0);
        }
        CHECK_EQ(2 * s->count, s->twice);
        s->count++;
        work(r % 20);
        s->twice += 2;
        CHECK_EQ(pthread_spin_unlock(&s->lock), 0);
    }
    return NULL;
}

static void spins(void)
{
    static struct spinning s;
    CHECK_EQ(pthread_spin_init(&s.lock, PTHREAD_PROCESS_PRIVATE), 0);
    run(spin, &s);
    CHECK_EQ(s.count, threads * share());
    CHECK_EQ(pthread_spin_destroy(&s.lock), 0);
    struct spinning *p = shared_memory(sizeof *p);
    int n = threads < 4 ? threads : 4;
    CHECK_EQ(pthread_spin_init(&p->lock, PTHREAD_PROCESS_SHARED), 0);
    run_processes(n, spin, p);
    CHECK_EQ(p->count, n * share());
    munmap(p, sizeof *p);
}

/* A thread that waits for a flag which another sets: with yields, and without. */
static int flag;
static void *ping(void *arg)
{
    struct worker *w = arg;
    for (long i = 0; i < 15; i++) {
        while (__atomic_load_n(&flag, __ATOMIC_ACQUIRE) % threads != w->index)
            if (w->index % 2)
                sched_yield();
        __atomic_fetch_add(&flag, 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

/* ---- keys ------------------------------------------------------------------------------------------------------ */
static pthread_key_t key;
static long destroyed;
static void destroy(void *value)
{
    __atomic_fetch_add(&destroyed, (long)value, __ATOMIC_RELAXED);
}

static void *use_key(void *arg)
{
    struct worker *w = arg;
    CHECK(pthread_getspecific(key) == NULL);
    CHECK_EQ(pthread_setspecific(key, (void *)(long)(w->index + 1)), 0);
    sched_yield();
    CHECK_EQ(pthread_getspecific(key), w->index + 1);
    return NULL;
}

int main(int argc, char **argv)
{
    stress_start(argc, argv, 20000);
    for (int i = 0; i < ONCES; i++)
        once[i] = (pthread_once_t)PTHREAD_ONCE_INIT;
    CHECK_EQ(pthread_barrier_init(&together, NULL, (unsigned)threads), 0);
    run(one_of_many, NULL);
    spins();
    if (threads <= 8) {                              /* a round of bare spinning costs a time slice per thread */
        run(ping, NULL);
        CHECK_EQ(flag, 15 * threads);
    }
    CHECK_EQ(pthread_key_create(&key, destroy), 0);
    for (int i = 0; i < 20; i++)
        run(use_key, NULL);
    CHECK_EQ(destroyed, 20L * threads * (threads + 1) / 2);
    return 0;
}
