/* tests/float/nested.c - eight threads, each of which waits in functions of its own.  SPDX-License-Identifier: Apache-2.0
 * It prints its pid when all are about to wait.  After a byte on its standard input main and a ninth thread yield to one another.  Then
 * the waits end, and it prints the sum of their results. */
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS 8
#define YIELDS 100

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER, arrival = PTHREAD_COND_INITIALIZER;
static int arrived, over;
static atomic_uint word;

/* Named frames that no compiler may take away. */
#define FRAME __attribute__((noinline)) static long

static pthread_barrier_t all_run;

static void arrive(void)
{
    arrived++;
    pthread_cond_signal(&arrival);
}

FRAME wait_in_cond(void)
{
    pthread_mutex_lock(&mutex);
    arrive();
    while (!over)
        pthread_cond_wait(&cond, &mutex);
    pthread_mutex_unlock(&mutex);
    return 1;
}

FRAME wait_in_futex(void)
{
    pthread_mutex_lock(&mutex);
    arrive();
    pthread_mutex_unlock(&mutex);
    while (!atomic_load(&word))
        syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    return 1;
}

#define NESTED(i, wait) \
    FRAME inner_##i(long n) { volatile long kept = n * 11; long r = wait(); return kept * r; } \
    FRAME outer_##i(long n) { long r = inner_##i(n + 1); return r + n; }
NESTED(0, wait_in_cond)
NESTED(1, wait_in_futex)
NESTED(2, wait_in_cond)
NESTED(3, wait_in_futex)
NESTED(4, wait_in_cond)
NESTED(5, wait_in_futex)
NESTED(6, wait_in_cond)
NESTED(7, wait_in_futex)

static long (*const outer[THREADS])(long) = { outer_0, outer_1, outer_2, outer_3, outer_4, outer_5, outer_6, outer_7 };

static void yields(void)
{
    for (int k = 0; k < YIELDS; k++)
        sched_yield();
}

__attribute__((noinline)) static void *ninth(void *arg)
{
    yields();
    return arg;
}

static void *thread(void *arg)
{
    long i = (long)arg;
    pthread_barrier_wait(&all_run);     /* cores are to pass from thread to thread: else they do not leave their carriers */
    yields();
    return (void *)outer[i](i);
}

FRAME all_wait(void)
{
    char c;
    return read(0, &c, 1) == 1;
}

int main(void)
{
    pthread_t threads[THREADS], partner;
    long sum = 0;
    alarm(120);
    pthread_barrier_init(&all_run, NULL, THREADS);
    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, thread, (void *)i))
            return 2;
    pthread_mutex_lock(&mutex);
    while (arrived < THREADS)
        pthread_cond_wait(&arrival, &mutex);
    pthread_mutex_unlock(&mutex);
    printf("%d\n", (int)getpid());
    fflush(stdout);
    if (!all_wait() || pthread_create(&partner, NULL, ninth, NULL))
        return 2;
    yields();
    if (pthread_join(partner, NULL))
        return 2;
    pthread_mutex_lock(&mutex);
    over = 1;
    pthread_cond_broadcast(&cond);
    pthread_mutex_unlock(&mutex);
    atomic_store(&word, 1);
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, THREADS, NULL, NULL, 0);
    for (int i = 0; i < THREADS; i++) {
        void *r;
        if (pthread_join(threads[i], &r))
            return 2;
        sum += (long)r;
    }
    printf("sum %ld\n", sum);
    return 0;
}
