/* tests/policy/threads.c - a program with more threads than cores that block, yield and end.  SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

enum { THREADS = 12, ROUNDS = 400 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static long sum;

static void *work(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&lock);
        sum++;
        pthread_mutex_unlock(&lock);
        if (i % 7 == 0) sched_yield();
        if (i % 20 == 0) pthread_barrier_wait(&barrier);
    }
    return arg;
}

int main(void)
{
    pthread_t t[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, work, NULL);
        for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    }
    printf("sum %ld\n", sum);
    return sum == 3l * THREADS * ROUNDS ? 0 : 1;
}
