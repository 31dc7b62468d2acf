/* tests/cache/join.c - joining and detaching in every order.  SPDX-License-Identifier: Apache-2.0 */
#include "../asleep.h"
#include "check.h"

#include <stdatomic.h>

static void *echo(void *arg) { return arg; }

static void *slow(void *arg)
{
    sleep_ms((long)arg);
    return arg;
}

/* Lasts until it is let go. */
static _Atomic bool let_go;
static _Atomic int held_ended;
static void *held(void *arg)
{
    while (!let_go)
        sleep_ms(1);
    held_ended++;
    return arg;
}

static void hold(pthread_t *th, const pthread_attr_t *attr, long value)
{
    let_go = false;
    held_ended = 0;
    CHECK_EQ(pthread_create(th, attr, held, (void *)value), 0);
}

static void let_end(void)
{
    let_go = true;
    while (!held_ended)
        sleep_ms(1);
}

static void values(void)
{
    for (long i = 0; i < 1000; i++)
        CHECK_EQ(run_thread(echo, (void *)i), i);
    if (cached())
        CHECK(reused() >= 990);
    pthread_t th;
    CHECK_EQ(pthread_create(&th, NULL, echo, NULL), 0);
    CHECK_EQ(pthread_join(th, NULL), 0);
}

static void storm(long n)
{
    pthread_t th[16];
    for (long i = 0; i < n; i += 16) {
        for (long j = 0; j < 16; j++)
            CHECK_EQ(pthread_create(&th[j], NULL, echo, (void *)(i + j)), 0);
        for (long j = 15; j >= 0; j--) {
            void *result;
            CHECK_EQ(pthread_join(th[j], &result), 0);
            CHECK_EQ(result, i + j);
        }
    }
}

static void *let_go_when_main_waits(void *arg)
{
    while (!sleeps_in(getpid(), SYS_futex))
        sleep_ms(1);
    let_go = true;
    return arg;
}

/* ---- timed and trying joins ---------------------------------------------------------------------- */
static void timed(void)
{
    pthread_t th, other;
    void *result;
    for (int clock = 0; clock < 3; clock++) {
        hold(&th, NULL, 400);
        CHECK_EQ(pthread_tryjoin_np(th, &result), EBUSY);
        struct timespec r = after_ms(CLOCK_REALTIME, 20), m = after_ms(CLOCK_MONOTONIC, 20);
        if (clock == 0)
            CHECK_EQ(pthread_timedjoin_np(th, &result, &r), ETIMEDOUT);
        else
            CHECK_EQ(pthread_clockjoin_np(th, &result, clock == 1 ? CLOCK_REALTIME : CLOCK_MONOTONIC,
                                          clock == 1 ? &r : &m), ETIMEDOUT);
        struct timespec past = { 1, 0 };
        CHECK_EQ(pthread_timedjoin_np(th, &result, &past), ETIMEDOUT);
        CHECK_EQ(pthread_create(&other, NULL, let_go_when_main_waits, NULL), 0);
        r = after_ms(CLOCK_REALTIME, 5000), m = after_ms(CLOCK_MONOTONIC, 5000);
        if (clock == 0)
            CHECK_EQ(pthread_timedjoin_np(th, &result, &r), 0);
        else
            CHECK_EQ(pthread_clockjoin_np(th, &result, clock == 1 ? CLOCK_REALTIME : CLOCK_MONOTONIC,
                                          clock == 1 ? &r : &m), 0);
        CHECK_EQ(result, 400);
        CHECK_EQ(pthread_join(other, NULL), 0);
    }
    struct timespec bad = { 0, 0 };
    CHECK_EQ(pthread_create(&th, NULL, slow, (void *)30), 0);
    CHECK_EQ(pthread_clockjoin_np(th, &result, 99, &bad), EINVAL);
    int err;
    while ((err = pthread_tryjoin_np(th, &result)) == EBUSY)
        sleep_ms(1);
    CHECK_EQ(err, 0);
    CHECK_EQ(result, 30);
    CHECK_EQ(pthread_create(&th, NULL, slow, (void *)10), 0);
    CHECK_EQ(pthread_timedjoin_np(th, &result, NULL), 0);
    CHECK_EQ(result, 10);
}

/* ---- errors ---------------------------------------------------------------------------------------- */
static void *join_self(void *arg) { return (void *)(long)pthread_join(pthread_self(), NULL); }

static void *join_it(void *arg)
{
    void *result = NULL;
    long err = pthread_join(*(pthread_t *)arg, &result);
    return (void *)err;
}

/* Only the cache tells by EINVAL that another thread waits for it: libc says EBUSY in any case. */
static void until_joined(pthread_t th)
{
    int err;
    while ((err = pthread_tryjoin_np(th, NULL)) == EBUSY)
        sleep_ms(1);
    CHECK_EQ(err, EINVAL);
}
static _Atomic bool has_looked;
static void *look_at(void *th)
{
    until_joined(*(pthread_t *)th);
    has_looked = true;
    return NULL;
}
static void until_i_am_joined(void)
{
    pthread_t me = pthread_self(), other;
    has_looked = false;
    CHECK_EQ(pthread_create(&other, NULL, look_at, &me), 0);
    while (!has_looked)                      /* not in a join: two threads may not join each other */
        sleep_ms(1);
    CHECK_EQ(pthread_join(other, NULL), 0);
}

static pthread_t first;
static void *join_back(void *arg)
{
    until_i_am_joined();
    return (void *)(long)pthread_join(first, NULL);
}

static void *join_other(void *arg)
{
    pthread_t *other = arg;
    void *result;
    first = pthread_self();
    CHECK_EQ(pthread_join(*other, &result), 0);
    return result;
}

static pthread_t main_thread;
static void *join_main(void *arg)
{
    until_i_am_joined();
    return (void *)(long)pthread_join(main_thread, NULL);
}

/* POSIX recommends these errors; glibc 2.34 to 2.36 lost them and hangs. */
static void recommended_errors(void)
{
    pthread_t th, th2;
    void *result;
    main_thread = pthread_self();
    CHECK_EQ(run_thread(join_main, NULL), EDEADLK);

    CHECK_EQ(pthread_create(&th2, NULL, join_back, NULL), 0);
    CHECK_EQ(pthread_create(&th, NULL, join_other, &th2), 0);
    CHECK_EQ(pthread_join(th, &result), 0);
    CHECK_EQ(result, EDEADLK);

    hold(&th, NULL, 500);
    CHECK_EQ(pthread_create(&th2, NULL, join_it, &th), 0);
    until_joined(th);
    CHECK_EQ(pthread_join(th, NULL), EINVAL);        /* somebody else waits */
    CHECK_EQ(pthread_tryjoin_np(th, NULL) != 0, 1);
    let_end();
    CHECK_EQ(pthread_join(th2, &result), 0);
    CHECK_EQ(result, 0);
}

static void errors(void)
{
    pthread_t th;
    CHECK_EQ(run_thread(join_self, NULL), EDEADLK);
    CHECK_EQ(pthread_join(pthread_self(), NULL), EDEADLK);

    hold(&th, NULL, 0);
    CHECK_EQ(pthread_detach(th), 0);
    CHECK_EQ(pthread_detach(th), EINVAL);
    CHECK_EQ(pthread_join(th, NULL), EINVAL);
    let_end();
}

/* ---- detaching ---------------------------------------------------------------------------------------- */
static _Atomic long ran;

static void *count(void *arg)
{
    ran++;
    return NULL;
}

static void *detach_self(void *arg)
{
    CHECK_EQ(pthread_detach(pthread_self()), 0);
    CHECK_EQ(pthread_detach(pthread_self()), EINVAL);
    ran++;
    return NULL;
}

static void wait_ran(long n)
{
    while (ran != n)
        sleep_ms(1);
    ran = 0;
}

static void detaching(void)
{
    pthread_attr_t attr;
    pthread_t th;
    int state;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    for (int i = 0; i < 3000; i++) {
        switch (i % 4) {
        case 0:
            CHECK_EQ(pthread_create(&th, &attr, count, NULL), 0);
            break;
        case 1:
            CHECK_EQ(pthread_create(&th, NULL, detach_self, NULL), 0);
            break;
        case 2:
            CHECK_EQ(pthread_create(&th, NULL, count, NULL), 0);
            CHECK_EQ(pthread_detach(th), 0);
            break;
        case 3:
            CHECK_EQ(pthread_create(&th, NULL, count, NULL), 0);
            while (ran <= i)
                sched_yield();
            CHECK_EQ(pthread_detach(th), 0);         /* probably over */
            break;
        }
    }
    wait_ran(3000);
    hold(&th, &attr, 0);
    pthread_attr_t got;
    CHECK_EQ(pthread_getattr_np(th, &got), 0);
    CHECK_EQ(pthread_attr_getdetachstate(&got, &state), 0);
    CHECK_EQ(state, PTHREAD_CREATE_DETACHED);
    pthread_attr_destroy(&got);
    pthread_attr_destroy(&attr);
    let_end();
    hold(&th, NULL, 0);
    CHECK_EQ(pthread_getattr_np(th, &got), 0);
    CHECK_EQ(pthread_attr_getdetachstate(&got, &state), 0);
    CHECK_EQ(state, PTHREAD_CREATE_JOINABLE);
    pthread_attr_destroy(&got);
    let_end();
    CHECK_EQ(pthread_join(th, NULL), 0);
}

/* ---- many who join and detach at once ----------------------------------------------------------------- */
struct race {
    unsigned seed;
    long rounds;
    _Atomic pthread_t shared;
};

static void *random_life(void *arg)
{
    unsigned r = (unsigned)(uintptr_t)arg;
    if (r % 3 == 0)
        sched_yield();
    if (r % 7 == 0)
        usleep(r % 300);
    return arg;
}

static void *racer(void *arg)
{
    struct race *race = arg;
    unsigned seed = race->seed + (unsigned)(uintptr_t)pthread_self() / 4096;
    for (long i = 0; i < race->rounds; i++) {
        unsigned r = (unsigned)rand_r(&seed);
        pthread_t th;
        void *result;
        CHECK_EQ(pthread_create(&th, NULL, random_life, (void *)(uintptr_t)r), 0);
        if (r % 5 == 0)
            usleep(r % 200);
        switch (r % 4) {
        case 0:
            CHECK_EQ(pthread_detach(th), 0);
            break;
        case 1: {
            struct timespec soon = after_ms(CLOCK_REALTIME, 0);
            soon.tv_nsec += r % 50000;
            if (soon.tv_nsec >= 1000000000L)
                break;
            int err = pthread_timedjoin_np(th, &result, &soon);
            CHECK(err == 0 || err == ETIMEDOUT);
            if (err == 0)
                continue;
            CHECK_EQ(pthread_join(th, &result), 0);
            CHECK_EQ(result, r);
            continue;
        }
        default:
            CHECK_EQ(pthread_join(th, &result), 0);
            CHECK_EQ(result, r);
            continue;
        }
        if (r % 4 == 1) {
            CHECK_EQ(pthread_join(th, &result), 0);
            CHECK_EQ(result, r);
        }
    }
    return NULL;
}

static void races(unsigned seed, long rounds)
{
    struct race race = { .seed = seed, .rounds = rounds };
    pthread_t th[12];
    for (int i = 0; i < 12; i++)
        CHECK_EQ(pthread_create(&th[i], NULL, racer, &race), 0);
    for (int i = 0; i < 12; i++)
        CHECK_EQ(pthread_join(th[i], NULL), 0);
}

/* A thread may hand its own id to a stranger who joins it before its creator's pthread_create has returned. */
static _Atomic pthread_t handed;
static _Atomic long reaped;

static void *hand_over(void *arg)
{
    handed = pthread_self();
    if (arg)
        pthread_exit(arg);
    return arg;
}

static void *reap(void *arg)
{
    for (long i = 0; i < (long)arg; i++) {
        pthread_t th;
        while (!(th = atomic_exchange(&handed, 0)))
            sched_yield();
        void *result;
        CHECK_EQ(pthread_join(th, &result), 0);
        reaped++;
    }
    return NULL;
}

static void reaper(long n)
{
    pthread_t th, reaping;
    CHECK_EQ(pthread_create(&reaping, NULL, reap, (void *)n), 0);
    for (long i = 0; i < n; i++) {
        CHECK_EQ(pthread_create(&th, NULL, hand_over, (void *)(i % 2)), 0);
        while (reaped <= i)
            sched_yield();
    }
    CHECK_EQ(pthread_join(reaping, NULL), 0);
}

int main(int argc, char **argv)
{
    unsigned seed = test_start(120);
    long n = argc > 1 ? atol(argv[1]) : 100000;
    values();
    timed();
    errors();
    if (cached())
        recommended_errors();
    detaching();
    races(seed, n / 500);
    reaper(n / 200);
    storm(n);
    if (cached())
        CHECK(reused() > (unsigned long)n * 9 / 10);
    return 0;
}
