/* tests/spin/ring.c - threads that run in turn, each busy-waiting for its own: only one of those that wait has use for a
 * core.  SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 16 };
static _Atomic unsigned long turn;
static unsigned long turns, counter;

static void *worker(void *arg)
{
    for (unsigned long mine = (unsigned long)arg; mine < turns; mine += THREADS) {
        while (atomic_load_explicit(&turn, memory_order_acquire) != mine) __builtin_ia32_pause();
        counter++;
        atomic_store_explicit(&turn, mine + 1, memory_order_release);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t t[THREADS];
    alarm(60);
    turns = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    for (unsigned long i = 0; i < THREADS; i++)     /* the last begins: against the order of the queue */
        pthread_create(&t[i], NULL, worker, (void *)(THREADS - 1 - i));
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    printf("%lu\n", counter);
    return 0;
}
