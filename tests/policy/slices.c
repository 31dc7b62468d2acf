/* tests/policy/slices.c - threads that only compute, on a core: how many turns have they?  SPDX-License-Identifier: Apache-2.0
 *
 * usage: slices THREADS
 * Each line of standard input says for how many ms they compute; any other word is answered at once.
 * Each thread looks all the time at the clock, and at which thread did so before: a change is the end of
 * a turn.  No system call, no scheduling point. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"

static _Atomic int last = -1;
static _Atomic long turns;
static long until;

static long clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000l + t.tv_nsec;
}

static void *compute(void *arg)
{
    int me = (int)(long)arg;
    while (clock_ns(CLOCK_MONOTONIC) < until)
        if (last != me) {
            turns += last >= 0;
            last = me;
        }
    return 0;
}

static void take_turns(int n, long ms)
{
    pthread_t t[64];
    long began = clock_ns(CLOCK_MONOTONIC), ran = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    until = began + ms * 1000000;
    for (long i = 0; i < n; i++) CHECK(pthread_create(&t[i], NULL, compute, (void *)i) == 0);
    for (int i = 0; i < n; i++) pthread_join(t[i], NULL);
    ran = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - ran;
    printf("turns %ld, ran %.3f ms of %.3f ms\n", turns, (double)ran / 1e6, (double)(clock_ns(CLOCK_MONOTONIC) - began) / 1e6);
}

int main(int argc, char **argv)
{
    char line[64];
    int n = argc > 1 ? atoi(argv[1]) : 0;
    alarm(120);
    CHECK(n > 0 && n <= 64);
    while (fgets(line, sizeof line, stdin)) {
        if (atol(line)) take_turns(n, atol(line));
        else puts("ready");
        fflush(stdout);
    }
    return 0;
}
