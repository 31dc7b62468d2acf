/* tests/signals/tools.c - a program to look into: a thread in each kind of wait.  SPDX-License-Identifier: Apache-2.0
 * It prints its pid, and a dot for each of its steps that it is asked for by a byte on its standard input.
 * With an argument it has two threads that compute instead. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static sem_t sem;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t cond_mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int flag;
static int fd[2];
int calls;

/* Named frames that no compiler may take away. */
#define FRAME __attribute__((noinline)) static void
#define STAYS __asm__ volatile("" ::: "memory")

int add(int n);
int add(int n) { return calls += n; }

FRAME wait_in_sem(void) { while (sem_wait(&sem)) STAYS; STAYS; }
FRAME wait_in_mutex(void) { pthread_mutex_lock(&mutex); STAYS; }
FRAME wait_in_cond(void)
{
    pthread_mutex_lock(&cond_mutex);
    for (;;)
        pthread_cond_wait(&cond, &cond_mutex);
}
FRAME wait_in_read(void) { char c; while (read(fd[0], &c, 1) != 1) STAYS; STAYS; }
FRAME wait_in_spin(void) { while (!atomic_load_explicit(&flag, memory_order_relaxed)) {} STAYS; }
FRAME wait_in_nap(void) { struct timespec t = { 100, 0 }; nanosleep(&t, NULL); STAYS; }

FRAME work(void) { for (volatile unsigned long n = 0;; n++) STAYS; }

static void (*const works[])(void) = { work, work };
static void (*const waits[])(void) = { wait_in_sem, wait_in_mutex, wait_in_cond, wait_in_read, wait_in_spin, wait_in_spin, wait_in_nap };

static void *thread(void *arg)
{
    (*(void (*const *)(void))arg)();
    return NULL;
}

FRAME step(void)
{
    struct timespec t = { 0, 200000 };
    nanosleep(&t, NULL);
    calls++;
    sched_yield();
    STAYS;
}

int main(int argc, char **argv)
{
    void (*const *todo)(void) = argc > 1 ? works : waits;
    unsigned nr = argc > 1 ? sizeof works / sizeof *works : sizeof waits / sizeof *waits;
    pthread_t th;
    char c;
    (void)argv;
    alarm(120);
    if (pipe(fd) || sem_init(&sem, 0, 0) || pthread_mutex_lock(&mutex))
        return 2;
    for (unsigned i = 0; i < nr; i++)
        if (pthread_create(&th, NULL, thread, (void *)&todo[i]))
            return 2;
    printf("%d\n", (int)getpid());
    fflush(stdout);
    while (read(0, &c, 1) == 1) {
        step();
        if (write(1, ".", 1) != 1)
            return 2;
    }
    return 0;
}
