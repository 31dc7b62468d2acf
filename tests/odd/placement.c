/* tests/odd/placement.c - threads that compute, as many as standard input says.  SPDX-License-Identifier: Apache-2.0
 *
 *   threads N      N of them compute from now on, the others have ended
 *   pinned CPU N   another one sets its mask to that CPU and looks N times where it is; prints how often it was there
 *
 * Each line is answered by one. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 64

static _Atomic int wanted;
static pthread_t thread[MOST];

static void compute(unsigned rounds)
{
    for (volatile unsigned i = 0; i < rounds; i++) {}
}

static void *work(void *number)
{
    while ((int)(long)number < atomic_load_explicit(&wanted, memory_order_relaxed)) compute(10000);
    return NULL;
}

static int fail(const char *what)
{
    perror(what);
    exit(1);
}

static void have(int now, int n)
{
    atomic_store(&wanted, n);
    for (int i = now; i < n; i++)
        if (pthread_create(&thread[i], NULL, work, (void *)(long)i)) fail("pthread_create");
    for (int i = n; i < now; i++) pthread_join(thread[i], NULL);
}

static int pinned_cpu, pinned_looks;

static void *look(void *none)
{
    long there = 0;
    cpu_set_t set;
    (void)none;
    CPU_ZERO(&set);
    CPU_SET(pinned_cpu, &set);
    if (pthread_setaffinity_np(pthread_self(), sizeof set, &set)) fail("pthread_setaffinity_np");
    for (int i = 0; i < pinned_looks; i++) {
        there += sched_getcpu() == pinned_cpu;
        compute(10000);
        if (i % 16 == 0) sched_yield();
    }
    return (void *)there;
}

int main(void)
{
    char line[64];
    int now = 0, n;
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "threads %d", &n) == 1 && n >= 0 && n <= MOST) {
            have(now, n);
            now = n;
            printf("ok\n");
        } else if (sscanf(line, "pinned %d %d", &pinned_cpu, &pinned_looks) == 2) {
            pthread_t t;
            void *there = NULL;
            if (pthread_create(&t, NULL, look, NULL) || pthread_join(t, &there)) fail("pthread_create");
            printf("%ld\n", (long)there);
        } else {
            return 2;
        }
        fflush(stdout);
    }
    return 0;
}
