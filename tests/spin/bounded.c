/* tests/spin/bounded.c - threads that spin for a while and then block: each wait is too short for the monitor's look at
 * cores that make no progress.  SPDX-License-Identifier: Apache-2.0 */
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 8, SPINS = 2000 };
static _Atomic unsigned arrived, generation;
static volatile unsigned rounds;

__attribute__((noinline)) static void wait_for(unsigned old)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&generation, memory_order_acquire) != old) return;
        __builtin_ia32_pause();
    }
    while (atomic_load(&generation) == old)
        syscall(SYS_futex, &generation, FUTEX_WAIT_PRIVATE, old, NULL, NULL, 0);
}

static void *worker(void *arg)
{
    for (unsigned r = 0; r < rounds; r++) {
        unsigned old = atomic_load(&generation);
        if (atomic_fetch_add(&arrived, 1) == THREADS - 1) {
            atomic_store(&arrived, 0);
            atomic_fetch_add(&generation, 1);
            syscall(SYS_futex, &generation, FUTEX_WAKE_PRIVATE, THREADS, NULL, NULL, 0);
        } else {
            wait_for(old);
        }
    }
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t t[THREADS];
    alarm(110);
    rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    for (int i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, worker, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    printf("%u\n", generation);
    return 0;
}
