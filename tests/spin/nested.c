/* tests/spin/nested.c ROUNDS LOOKS - a barrier whose waits look a few times, count in memory, and look again.  SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 4 };
static _Alignas(64) _Atomic unsigned phase;
static _Alignas(64) _Atomic int arrived;
static int rounds, looks;
static struct { _Alignas(64) volatile long waits; } count[THREADS];

__attribute__((noinline)) static void wait_for(unsigned p, int id)
{
    for (;; count[id].waits++)
        for (int i = 0; i < looks; i++)
            if (atomic_load_explicit(&phase, memory_order_acquire) != p) return;
}

static void *worker(void *arg)
{
    for (int i = 0; i < rounds; i++) {
        unsigned p = atomic_load(&phase);
        if (atomic_fetch_add(&arrived, 1) == THREADS - 1) {
            atomic_store(&arrived, 0);
            atomic_store(&phase, p + 1);
        } else {
            wait_for(p, (int)(long)arg);
        }
    }
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t t[THREADS];
    alarm(60);
    rounds = argc > 2 ? atoi(argv[1]) : 1;
    looks = argc > 2 ? atoi(argv[2]) : 1;
    for (long i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, worker, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    printf("%u\n", phase);
    return 0;
}
