/* tests/spin/counted.c - a back-off: a wait of a few rounds, which ends by itself, over and over.  SPDX-License-Identifier: Apache-2.0
 * More threads than cores, each of which looks at a word ten times, then does something else. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 10 };
static _Atomic int never;
static long calls;

__attribute__((noinline)) static int back_off(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        if (atomic_load_explicit(&never, memory_order_relaxed)) return 1;
        __builtin_ia32_pause();
    }
    return 0;
}

static void *worker(void *arg)
{
    long ended = 0;
    for (long i = 0; i < calls; i++) ended += !back_off();
    return (void *)ended;
}

int main(int argc, char **argv)
{
    pthread_t t[THREADS];
    long all = 0;
    alarm(60);
    calls = argc > 1 ? atol(argv[1]) : 1;
    for (int i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, worker, NULL);
    for (int i = 0; i < THREADS; i++) {
        void *ended;
        pthread_join(t[i], &ended);
        all += (long)ended;
    }
    printf("%ld\n", all);
    return 0;
}
