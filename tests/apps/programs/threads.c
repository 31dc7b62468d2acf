/* A program of threads that meet in the usual ways.  SPDX-License-Identifier: Apache-2.0
 * usage: threads [SECONDS to stay alive at the end]; 8 threads, one line each kind of meeting. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 8, ROUNDS = 200 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t sem;
static long counter, turn, reads, posted;

__attribute__((noinline)) void breakpoint_here(long i) { __asm__ volatile("" : : "r"(i)); }

static void *run(void *arg)
{
    long me = (long)arg;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&mutex);
        counter++;
        pthread_mutex_unlock(&mutex);
        if (i % 20 == 0) pthread_barrier_wait(&barrier);
        pthread_rwlock_rdlock(&rwlock);
        __atomic_add_fetch(&reads, 1, __ATOMIC_RELAXED);
        pthread_rwlock_unlock(&rwlock);
        sem_post(&sem);
        sem_wait(&sem);
        __atomic_add_fetch(&posted, 1, __ATOMIC_RELAXED);
    }
    if (me == 3) breakpoint_here(me);
    pthread_mutex_lock(&mutex);
    while (turn != me) pthread_cond_wait(&cond, &mutex);
    turn++;
    pthread_cond_broadcast(&cond);
    pthread_mutex_unlock(&mutex);
    return (void *)(me * me);
}

int main(int argc, char **argv)
{
    pthread_t t[THREADS];
    long squares = 0;
    pthread_barrier_init(&barrier, NULL, THREADS);
    sem_init(&sem, 0, 0);
    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&t[i], NULL, run, (void *)i)) {
            puts("no thread");
            exit(3);
        }
    for (int i = 0; i < THREADS; i++) {
        void *r;
        pthread_join(t[i], &r);
        squares += (long)r;
    }
    printf("counter %ld turn %ld reads %ld posted %ld squares %ld\n", counter, turn, reads, posted, squares);
    fflush(stdout);
    if (argc > 1) sleep((unsigned)atoi(argv[1]));
    return 0;
}
