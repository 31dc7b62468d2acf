/* tests/nosv/compat-cond.c - condition variables of tasks.  SPDX-License-Identifier: Apache-2.0 */
#include <nosv/compat.h>

#include "nosv_test.h"

static nosv_mutex_t mutex = NOSV_MUTEX_INITIALIZER;
static nosv_cond_t cond = NOSV_COND_INITIALIZER;
static pthread_mutex_t pmutex = PTHREAD_MUTEX_INITIALIZER;
static int completions, waiting, woken, allowed;
static void finish(nosv_task_t task) { OK(nosv_destroy(task, NOSV_DESTROY_NONE)); add(&completions, 1); }

/* `ms` from now, with all of it in tv_nsec: below 0 and above a second are allowed there. */
static struct timespec in_ms(long ms)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += ms * 1000000;
    return t;
}

static void outside(void)
{
    nosv_condattr_t attr;
    nosv_cond_t own;
    struct timespec at = in_ms(0);
    CHECK_EQ(sizeof(nosv_cond_t), SIZEOF_NOSV_COND);
    CHECK_EQ(sizeof(nosv_condattr_t), SIZEOF_NOSV_CONDATTR);
    CHECK_EQ(nosv_condattr_init(NULL), EINVAL);
    CHECK_EQ(nosv_condattr_destroy(NULL), EINVAL);
    CHECK_EQ(nosv_cond_init(NULL, NULL), EINVAL);
    CHECK_EQ(nosv_cond_destroy(NULL), EINVAL);
    CHECK_EQ(nosv_cond_signal(NULL), EINVAL);
    CHECK_EQ(nosv_cond_broadcast(NULL), EINVAL);
    memset(&own, 0x5a, sizeof(own));
    CHECK_EQ(nosv_condattr_init(&attr), 0);
    CHECK_EQ(nosv_cond_init(&own, &attr), 0);
    CHECK_EQ(nosv_condattr_destroy(&attr), 0);
    CHECK_EQ(nosv_cond_signal(&own), 0);
    CHECK_EQ(nosv_cond_broadcast(&own), 0);
    CHECK_EQ(nosv_cond_wait(&own, &mutex), ESRCH);
    CHECK_EQ(nosv_cond_timedwait(&own, &mutex, &at), ESRCH);
    CHECK_EQ(nosv_cond_timedwait(&own, &mutex, NULL), ESRCH);
    CHECK_EQ(pthread_mutex_lock(&pmutex), 0);
    CHECK_EQ(nosv_cond_wait_pthread(&own, &pmutex), ESRCH);
    CHECK_EQ(nosv_cond_timedwait_pthread(&own, &pmutex, &at), ESRCH);
    CHECK_EQ(pthread_mutex_unlock(&pmutex), 0);
    CHECK_EQ(nosv_cond_destroy(&own), 0);
}

static void parallel_body(void)
{
    struct timespec at = in_ms(0);
    CHECK_EQ(nosv_cond_wait(&cond, &mutex), EINVAL);
    CHECK_EQ(nosv_cond_timedwait(&cond, &mutex, &at), EINVAL);
    CHECK_EQ(nosv_cond_wait_pthread(&cond, &pmutex), EINVAL);
    CHECK_EQ(nosv_cond_timedwait_pthread(&cond, &pmutex, &at), EINVAL);
    CHECK_EQ(nosv_cond_signal(&cond), 0);
    CHECK_EQ(nosv_cond_broadcast(&cond), 0);
}

static void errors(void)
{
    struct timespec at = in_ms(0);
    CHECK_EQ(nosv_cond_wait(NULL, &mutex), EINVAL);
    CHECK_EQ(nosv_cond_wait(&cond, NULL), EINVAL);
    CHECK_EQ(nosv_cond_timedwait(NULL, &mutex, &at), EINVAL);
    CHECK_EQ(nosv_cond_timedwait(&cond, NULL, &at), EINVAL);
    CHECK_EQ(nosv_cond_wait_pthread(NULL, &pmutex), EINVAL);
    CHECK_EQ(nosv_cond_wait_pthread(&cond, NULL), EINVAL);
    CHECK_EQ(nosv_cond_timedwait_pthread(NULL, &pmutex, &at), EINVAL);
    CHECK_EQ(nosv_cond_timedwait_pthread(&cond, NULL, &at), EINVAL);
    CHECK_EQ(nosv_cond_wait(&cond, &mutex), EPERM);
    CHECK_EQ(nosv_cond_timedwait(&cond, &mutex, &at), EPERM);
}

/* The time comes: ETIMEDOUT, with the mutex locked, not before that time. */
static void times_out(void)
{
    static const long ms[] = {-3000, -1, 0, 1, 20};
    nosv_cond_t own = NOSV_COND_INITIALIZER;
    for (int i = 0; i < 5; i++) {
        struct timespec at = in_ms(ms[i]), now;
        CHECK_EQ(nosv_mutex_lock(&mutex), 0);
        CHECK_EQ(nosv_cond_timedwait(&own, &mutex, &at), ETIMEDOUT);
        clock_gettime(CLOCK_MONOTONIC, &now);
        CHECK((now.tv_sec - at.tv_sec) * 1000000000L + now.tv_nsec >= at.tv_nsec);
        CHECK_EQ(nosv_mutex_trylock(&mutex), EBUSY);
        CHECK_EQ(nosv_mutex_unlock(&mutex), 0);

        at = in_ms(ms[i]);
        CHECK_EQ(pthread_mutex_lock(&pmutex), 0);
        CHECK_EQ(nosv_cond_timedwait_pthread(&own, &pmutex, &at), ETIMEDOUT);
        CHECK_EQ(pthread_mutex_trylock(&pmutex), EBUSY);
        CHECK_EQ(pthread_mutex_unlock(&pmutex), 0);
    }
    CHECK_EQ(nosv_cond_destroy(&own), 0);
}

/* Waiters of the four kinds.  Each waits until it is allowed to go on; spurious wake-ups are allowed. */
static void waits(nosv_task_t task)
{
    int kind = (int)(intptr_t)pointer_of(task);
    struct timespec at = in_ms(600000);
    bool pthread = kind >= 2;
    CHECK_EQ(pthread ? pthread_mutex_lock(&pmutex) : nosv_mutex_lock(&mutex), 0);
    add(&waiting, 1);
    while (get(&allowed) <= 0) {
        int r = kind == 0 ? nosv_cond_wait(&cond, &mutex) : kind == 1 ? nosv_cond_timedwait(&cond, &mutex, get(&completions) % 2 ? &at : NULL)
            : kind == 2 ? nosv_cond_wait_pthread(&cond, &pmutex) : nosv_cond_timedwait_pthread(&cond, &pmutex, &at);
        CHECK_EQ(r, 0);
    }
    add(&allowed, -1);
    add(&woken, 1);
    CHECK_EQ(pthread ? pthread_mutex_unlock(&pmutex) : nosv_mutex_unlock(&mutex), 0);
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));        /* waiting for a signal and for a submission do not mix */
    OK(nosv_pause(NOSV_PAUSE_NONE));
}
enum { WAITERS = 40 };
static void until_they_wait(bool pthread)
{
    UNTIL(get(&waiting) == WAITERS);                /* each is in its wait, or holds the mutex just before it */
    if (pthread) { CHECK_EQ(pthread_mutex_lock(&pmutex), 0); CHECK_EQ(pthread_mutex_unlock(&pmutex), 0); }
    else { CHECK_EQ(nosv_mutex_lock(&mutex), 0); CHECK_EQ(nosv_mutex_unlock(&mutex), 0); }
}
static void signals(void)
{
    nosv_task_type_t type = type_of(waits, NULL, finish);
    for (intptr_t kind = 0; kind < 4; kind++) {
        for (int all = 0; all < 2; all++) {
            set(&waiting, 0);
            set(&woken, 0);
            set(&allowed, 0);
            set(&completions, 0);
            for (int i = 0; i < WAITERS; i++) OK(nosv_submit(task_of(type, (void *)kind, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
            until_they_wait(kind >= 2);
            CHECK_EQ(get(&woken), 0);
            CHECK_EQ(nosv_cond_destroy(&cond), EBUSY);
            if (all) {
                set(&allowed, WAITERS);
                CHECK_EQ(nosv_cond_broadcast(&cond), 0);
            } else {
                for (int i = 0; i < WAITERS; i++) {
                    set(&allowed, 1);
                    CHECK_EQ(nosv_cond_signal(&cond), 0);
                    UNTIL(get(&woken) == i + 1);
                    CHECK_EQ(get(&allowed), 0);
                }
            }
            UNTIL(get(&completions) == WAITERS);
            CHECK_EQ(get(&woken), WAITERS);
        }
    }
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* A signal comes from a thread in no task, too. */
static void *signaller(void *arg)
{
    while (!get(&completions)) {
        set(&allowed, 1);
        CHECK_EQ(nosv_cond_signal(&cond), 0);
        usleep(100);
    }
    return arg;
}
static void from_outside(void)
{
    pthread_t thread;
    nosv_task_type_t type = type_of(waits, NULL, finish);
    set(&allowed, 0);
    set(&completions, 0);
    CHECK_EQ(pthread_create(&thread, NULL, signaller, NULL), 0);
    OK(nosv_submit(task_of(type, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    UNTIL(get(&completions));
    CHECK_EQ(pthread_join(thread, NULL), 0);
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* Timed waits and signals race: each wait ends once, by one of the two. */
static int stop, timed_out;
static void races(nosv_task_t task)
{
    (void)task;
    for (int i = 0; i < 100; i++) {
        struct timespec at = in_ms(i % 3);
        CHECK_EQ(nosv_mutex_lock(&mutex), 0);
        int r = nosv_cond_timedwait(&cond, &mutex, &at);
        CHECK(r == 0 || r == ETIMEDOUT);
        if (r) add(&timed_out, 1);
        CHECK_EQ(nosv_mutex_trylock(&mutex), EBUSY);
        CHECK_EQ(nosv_mutex_unlock(&mutex), 0);
    }
}
static void signals_all_the_time(nosv_task_t task)
{
    (void)task;
    while (!get(&stop)) {
        CHECK_EQ(nosv_cond_signal(&cond), 0);
        OK(nosv_waitfor(300000, NULL));
    }
}
static void race(void)
{
    nosv_task_type_t racers = type_of(races, NULL, finish), signaller_type = type_of(signals_all_the_time, NULL, finish);
    set(&stop, 0);
    set(&completions, 0);
    OK(nosv_submit(task_of(signaller_type, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    for (int i = 0; i < 20; i++) OK(nosv_submit(task_of(racers, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    UNTIL(get(&completions) == 20);
    set(&stop, 1);
    UNTIL(get(&completions) == 21);
    CHECK_EQ(nosv_cond_destroy(&cond), 0);
    CHECK_EQ(nosv_cond_init(&cond, NULL), 0);
    OK(nosv_type_destroy(racers, NOSV_TYPE_DESTROY_NONE));
    OK(nosv_type_destroy(signaller_type, NOSV_TYPE_DESTROY_NONE));
}

int main(void)
{
    begin();
    OK(nosv_init());
    outside();
    in_task(parallel_body, NOSV_CREATE_PARALLEL);
    in_task(errors, NOSV_CREATE_NONE);
    in_task(times_out, NOSV_CREATE_NONE);
    in_task(signals, NOSV_CREATE_NONE);
    from_outside();
    race();
    attach();
    errors();
    times_out();
    signals();
    OK(nosv_detach(NOSV_DETACH_NONE));
    OK(nosv_shutdown());
    return 0;
}
