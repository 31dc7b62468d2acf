/* bench/gate_cost.c - what the gate adds to a call, as ratios to the bare call.  SPDX-License-Identifier: Apache-2.0
 *
 * Links the gate.  The bare call is a site of this program, which the gate never patches; the gated one is
 * libc's.  Medians of interleaved rounds; prints ns and ratios.
 *   gate_cost [rounds] */
#include "gate/gate.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CALLS 20000
#define MAX_ROUNDS 501

static long answer(struct gate_frame *f) { return 42; }
static long make_it(struct gate_frame *f) { return gate_call(f); }

__attribute__((noinline)) static long bare(long nr)
{
    long ret;
    __asm__ volatile("syscall" : "=a"(ret) : "a"(nr) : "rcx", "r11", "memory");
    return ret;
}

static long call_bare(void) { return bare(SYS_getppid); }
static long call_libc(void) { return getppid(); }
static long call_dynamic(void) { return syscall(SYS_getppid); }

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double per_call(long (*fn)(void))
{
    double t = now();
    for (int i = 0; i < CALLS; i++) fn();
    return (now() - t) / CALLS;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, by_value);
    return v[n / 2];
}

/* Interleaved: the bare call, libc's with this handler, libc's syscall() with this handler. */
static void measure(const char *what, gate_handler h, int rounds)
{
    static double b[MAX_ROUNDS], l[MAX_ROUNDS], d[MAX_ROUNDS];
    usf_gate_handlers[SYS_getppid] = h;
    for (int i = 0; i < rounds; i++) {
        b[i] = per_call(call_bare);
        l[i] = per_call(call_libc);
        d[i] = per_call(call_dynamic);
    }
    double mb = median(b, rounds), ml = median(l, rounds), md = median(d, rounds);
    printf("%-34s bare %6.1f ns   gated %6.1f ns  x%.3f  %+5.1f ns   syscall() %6.1f ns  x%.3f\n", what, mb, ml, ml / mb,
           ml - mb, md, md / mb);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 101;
    if (rounds < 1 || rounds > MAX_ROUNDS) rounds = MAX_ROUNDS;
    measure("before patching", NULL, rounds);
    usf_gate_patch_all = true;
    gate_init(NULL);
    gate_patch_loaded();
    measure("passes through", NULL, rounds);
    measure("handler that makes the call", make_it, rounds);
    measure("handler that answers", answer, rounds);
    return 0;
}
