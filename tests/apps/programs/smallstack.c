/* Threads with the smallest stacks that libc allows, and signals on the smallest alternate stacks.
 * SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static volatile sig_atomic_t handled;
static int ready, rounds;

static void handler(int s) { handled++; }

static void *run(void *arg)
{
    struct pollfd none;
    pthread_mutex_lock(&mutex);
    ready++;
    pthread_cond_broadcast(&cond);
    while (ready < 16) pthread_cond_wait(&cond, &mutex);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < 50; i++) {
        sched_yield();
        poll(&none, 0, 1);
        pthread_mutex_lock(&mutex);
        rounds++;
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

static void *on_alternate_stack(void *arg)
{
    size_t size = (size_t)sysconf(_SC_MINSIGSTKSZ) + 1024;
    stack_t ss = { .ss_size = size, .ss_sp = malloc(size) };
    struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
    sigaltstack(&ss, NULL);
    sigaction(SIGUSR1, &sa, NULL);
    for (int i = 0; i < 100; i++) pthread_kill(pthread_self(), SIGUSR1);
    return NULL;
}

int main(void)
{
    pthread_t t[16];
    pthread_attr_t a;
    pthread_attr_init(&a);
    pthread_attr_setstacksize(&a, PTHREAD_STACK_MIN);
    for (int i = 0; i < 16; i++)
        if (pthread_create(&t[i], &a, run, NULL)) return printf("pthread_create failed\n"), 1;
    for (int i = 0; i < 16; i++) pthread_join(t[i], NULL);
    printf("smallest stacks: %d rounds\n", rounds);
    pthread_create(&t[0], NULL, on_alternate_stack, NULL);
    pthread_join(t[0], NULL);
    printf("alternate stack: %d signals\n", (int)handled);
    return 0;
}
