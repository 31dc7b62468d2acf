/* tests/policy/slices.c - threads that only compute, on a core: how long are their turns?  SPDX-License-Identifier: Apache-2.0
 *
 * usage: slices THREADS MS
 * Each looks at the clock all the time and at who did before: turns that ended, and the longest and the mean one.  No system call, no
 * scheduling point. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static _Atomic int last = -1;
static _Atomic long turns, total, longest;
static long began, until;

static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000l + t.tv_nsec;
}

static void *compute(void *arg)
{
    int me = (int)(long)arg;
    for (long t = now(); t < until; t = now()) {
        int was = last;
        if (was == me) continue;
        last = me;
        if (was >= 0 && turns++ > 0) {      /* the first was cut by the other's start */
            total += t - began;
            if (t - began > longest) longest = t - began;
        }
        began = t;
    }
    return 0;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 2;
    pthread_t t[64];
    until = now() + (argc > 2 ? atol(argv[2]) : 300) * 1000000l;
    for (int i = 0; i < n && i < 64; i++) pthread_create(&t[i], NULL, compute, (void *)(long)i);
    for (int i = 0; i < n && i < 64; i++) pthread_join(t[i], NULL);
    printf("turns %ld, mean %.3f ms, longest %.3f ms\n", turns, turns > 1 ? (double)total / (double)(turns - 1) / 1e6 : 0.0, (double)longest / 1e6);
    return 0;
}
