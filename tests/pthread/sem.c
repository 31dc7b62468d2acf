/* tests/pthread/sem.c - semaphores: unnamed, named, shared by processes.  SPDX-License-Identifier: Apache-2.0 */
#include "stress.h"

#include <fcntl.h>
#include <semaphore.h>

struct pool {
    sem_t own, *free;
    long inside, limit;                              /* inside is atomic */
    long got;                                        /* atomic */
};

static bool take(sem_t *s, unsigned how)
{
    struct timespec t;
    int r;
    switch (how % 5) {
    case 0:
        r = sem_trywait(s);
        CHECK(r == 0 || errno == EAGAIN);
        return r == 0;
    case 1:
        t = after_us(CLOCK_REALTIME, how % 500);
        r = sem_timedwait(s, &t);
        CHECK(r == 0 || errno == EINTR || (errno == ETIMEDOUT && is_past(CLOCK_REALTIME, t)));
        return r == 0;
    case 2:
        t = after_us(CLOCK_MONOTONIC, how % 500);
        r = sem_clockwait(s, CLOCK_MONOTONIC, &t);
        CHECK(r == 0 || errno == EINTR || (errno == ETIMEDOUT && is_past(CLOCK_MONOTONIC, t)));
        return r == 0;
    default:
        r = sem_wait(s);
        CHECK(r == 0 || errno == EINTR);
        return r == 0;
    }
}

static void *swim(void *arg)
{
    struct worker *w = arg;
    struct pool *p = w->arg;
    for (long i = 0; i < share(); i++) {
        unsigned r = next_random(&w->random);
        while (!take(p->free, r))
            r = next_random(&w->random);
        long inside = __atomic_add_fetch(&p->inside, 1, __ATOMIC_SEQ_CST);
        CHECK(inside >= 1 && inside <= p->limit);
        work(r % 200);
        if (r % 64 == 0)
            sched_yield();
        __atomic_fetch_sub(&p->inside, 1, __ATOMIC_SEQ_CST);
        __atomic_fetch_add(&p->got, 1, __ATOMIC_RELAXED);
        CHECK_EQ(sem_post(p->free), 0);
    }
    return NULL;
}

static void conclude(struct pool *p, int n)
{
    int value;
    CHECK_EQ(p->got, n * share());
    CHECK_EQ(sem_getvalue(p->free, &value), 0);
    CHECK_EQ(value, p->limit);
}

static void pools(void)
{
    static const long limits[] = { 1, 2, 5 };
    int few = threads < 4 ? threads : 4;
    for (int l = 0; l < 3; l++) {
        struct pool p = { .free = &p.own, .limit = limits[l] };
        CHECK_EQ(sem_init(&p.own, 0, (unsigned)p.limit), 0);
        run(swim, &p);
        conclude(&p, threads);
        CHECK_EQ(sem_destroy(&p.own), 0);

        struct pool *s = shared_memory(sizeof *s);
        *s = (struct pool){ .free = &s->own, .limit = limits[l] };
        CHECK_EQ(sem_init(&s->own, 1, (unsigned)s->limit), 0);
        run_processes(few, swim, s);
        conclude(s, few);
        munmap(s, sizeof *s);
    }
}

static void named(void)
{
    char name[64];
    int few = threads < 4 ? threads : 4;
    snprintf(name, sizeof name, "/stress-sem-%d", (int)getpid());
    struct pool *s = shared_memory(sizeof *s);
    *s = (struct pool){ .limit = 2 };
    s->free = sem_open(name, O_CREAT | O_EXCL, 0600, 2);
    CHECK(s->free != SEM_FAILED);
    CHECK_EQ(sem_unlink(name), 0);
    run(swim, s);
    conclude(s, threads);
    s->got = 0;
    run_processes(few, swim, s);
    conclude(s, few);
    CHECK_EQ(sem_close(s->free), 0);
    munmap(s, sizeof *s);
}

/* A token handed round a ring: one switch per post. */
static sem_t ring[MAX_THREADS];
static long passed;
static void *hand_on(void *arg)
{
    struct worker *w = arg;
    for (long i = 0; i < share(); i++) {
        while (sem_wait(&ring[w->index]) != 0)
            CHECK_EQ(errno, EINTR);
        CHECK_EQ(passed, i * threads + w->index);
        passed++;
        CHECK_EQ(sem_post(&ring[(w->index + 1) % threads]), 0);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    stress_start(argc, argv, 8000);
    pools();
    named();
    for (int i = 0; i < threads; i++)
        CHECK_EQ(sem_init(&ring[i], 0, i == 0), 0);
    run(hand_on, NULL);
    CHECK_EQ(passed, threads * share());
    return 0;
}
