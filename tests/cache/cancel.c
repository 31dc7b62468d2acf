/* tests/cache/cancel.c - threads that end otherwise than by returning, and signals to threads that have ended.
 * SPDX-License-Identifier: Apache-2.0 */
#include "../asleep.h"
#include "check.h"

#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>

static _Atomic int cleaned;
static void clean(void *arg) { cleaned += (int)(long)arg; }

static void *nothing(void *arg) { return arg; }

static _Atomic pid_t its_id;
static void *tells_its_id(void *arg)
{
    its_id = (pid_t)syscall(SYS_gettid);
    return arg;
}

static void *sleeper(void *arg)
{
    pthread_cleanup_push(clean, (void *)1);
    for (;;)
        sleep_ms(1000);
    pthread_cleanup_pop(0);
    return NULL;
}

static void leaf(void *value) { pthread_exit(value); }

static void *leaver(void *arg)
{
    pthread_cleanup_push(clean, (void *)10);
    leaf(arg);
    pthread_cleanup_pop(0);
    return NULL;
}

/* Cancellation is off, so the request never acts; the thread must still not be given to anybody else. */
static _Atomic int asked;
static void *unresponsive(void *arg)
{
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    while (!asked)
        sleep_ms(1);
    return arg;
}

static void *test_cancelled(void *arg)
{
    for (int i = 0; i < 10; i++)
        pthread_testcancel();
    sleep_ms(1);
    return arg;
}

static void cancelling(void)
{
    for (int i = 0; i < 50; i++) {
        pthread_t th;
        void *result;
        CHECK_EQ(pthread_create(&th, NULL, sleeper, NULL), 0);
        if (i % 2)
            sleep_ms(1);
        CHECK_EQ(pthread_cancel(th), 0);
        CHECK_EQ(pthread_join(th, &result), 0);
        CHECK(result == PTHREAD_CANCELED);
        cleaned = 0;                         /* or 1, if the thread had come that far */

        CHECK_EQ(run_thread(test_cancelled, (void *)5), 5);
        CHECK_EQ(run_thread(leaver, (void *)6), 6);
        CHECK_EQ(cleaned, 10);
        cleaned = 0;

        asked = 0;
        CHECK_EQ(pthread_create(&th, NULL, unresponsive, (void *)7), 0);
        CHECK_EQ(pthread_cancel(th), 0);
        asked = 1;
        CHECK_EQ(pthread_join(th, &result), 0);
        CHECK(result == (void *)7 || result == PTHREAD_CANCELED);
        CHECK_EQ(run_thread(test_cancelled, (void *)8), 8);
    }
}

static void ended(void)
{
    pthread_t th;
    void *result;
    for (int i = 0; i < 20; i++) {
        its_id = 0;
        CHECK_EQ(pthread_create(&th, NULL, tells_its_id, (void *)9), 0);
        while (!its_id || (state_of(its_id) && !sleeps_in(its_id, SYS_futex)))      /* gone, or kept */
            sleep_ms(1);
        CHECK_EQ(pthread_cancel(th), 0);
        CHECK_EQ(pthread_kill(th, 0), 0);
        CHECK_EQ(pthread_kill(th, SIGURG), 0);
        union sigval value = { 0 };
        int err = pthread_sigqueue(th, SIGURG, value);   /* 0 while it is still on its way out */
        CHECK(err == 0 || err == ESRCH);
        CHECK_EQ(pthread_join(th, &result), 0);
        CHECK_EQ(result, 9);
        CHECK_EQ(run_thread(test_cancelled, (void *)4), 4);
    }
}

/* A joiner that is cancelled leaves the thread joinable by others. */
static sem_t go;
static void *waiter(void *arg)
{
    while (sem_wait(&go) != 0)
        ;
    return (void *)77;
}

static void *joiner(void *arg)
{
    void *result;
    its_id = (pid_t)syscall(SYS_gettid);
    pthread_join(*(pthread_t *)arg, &result);
    return result;
}

static void *timed_joiner(void *arg)
{
    void *result;
    struct timespec t = after_ms(CLOCK_REALTIME, 20000);
    its_id = (pid_t)syscall(SYS_gettid);
    pthread_timedjoin_np(*(pthread_t *)arg, &result, &t);
    return result;
}

static void cancelled_join(void)
{
    sem_init(&go, 0, 0);
    for (int i = 0; i < 20; i++) {
        pthread_t th, by;
        void *result;
        its_id = 0;
        CHECK_EQ(pthread_create(&th, NULL, waiter, NULL), 0);
        CHECK_EQ(pthread_create(&by, NULL, i % 2 ? joiner : timed_joiner, &th), 0);
        while (!its_id || !sleeps_in(its_id, SYS_futex))
            sleep_ms(1);
        CHECK_EQ(pthread_cancel(by), 0);
        CHECK_EQ(pthread_join(by, &result), 0);
        CHECK(result == PTHREAD_CANCELED);
        CHECK_EQ(pthread_tryjoin_np(th, &result), EBUSY);
        sem_post(&go);
        CHECK_EQ(pthread_join(th, &result), 0);
        CHECK_EQ(result, 77);
    }
}

/* Signals to threads that may be ending at this moment: they reach that thread or nobody. */
static _Atomic long early, right;
static __thread long generation;
static _Atomic long current;

static void on_usr1(int sig)
{
    CHECK(generation == current || generation == 0);
    if (generation)
        right++;
    else
        early++;                             /* the thread has not come to its first line */
}

static void *target(void *arg)
{
    generation = (long)arg;
    for (volatile int i = 0; i < (int)((long)arg % 7) * 3000; i++)
        ;
    return NULL;
}

static void kill_race(unsigned seed)
{
    signal(SIGUSR1, on_usr1);
    for (long i = 1; i < 3000; i++) {
        pthread_t th;
        current = i;
        CHECK_EQ(pthread_create(&th, NULL, target, (void *)i), 0);
        for (volatile int k = rand_r(&seed) % 30000; k > 0; k--)
            ;
        CHECK_EQ(pthread_kill(th, SIGUSR1), 0);
        CHECK_EQ(pthread_join(th, NULL), 0);
    }
    signal(SIGUSR1, SIG_DFL);
    printf("%ld signals to running threads, %ld to starting ones\n", right, early);
}

static void *self_kill(void *arg)
{
    CHECK_EQ(pthread_kill(pthread_self(), SIGUSR2), 0);
    return arg;
}
static _Atomic long usr2;
static void on_usr2(int sig) { usr2++; }

static void *detached_leaver(void *arg)
{
    pthread_detach(pthread_self());
    sem_post(&go);
    pthread_exit(NULL);
}

int main(void)
{
    unsigned seed = test_start(60);
    cancelling();
    ended();
    cancelled_join();
    kill_race(seed);
    signal(SIGUSR2, on_usr2);
    for (long i = 1; i <= 100; i++) {
        CHECK_EQ(run_thread(self_kill, (void *)i), i);
        CHECK_EQ(usr2, i);
    }
    for (int i = 0; i < 200; i++) {
        pthread_t th;
        CHECK_EQ(pthread_create(&th, NULL, detached_leaver, NULL), 0);
        while (sem_wait(&go) != 0)
            ;
        run_thread(nothing, NULL);
    }
    if (cached())
        CHECK(reused() >= 100);
    return 0;
}
