/* bench/coexec/common.h - what the benchmarks of this folder share.  SPDX-License-Identifier: Apache-2.0 */
#ifndef COEXEC_COMMON_H
#define COEXEC_COMMON_H

#include <stddef.h>
#include <stdint.h>

struct bench {
    const char *name;
    const char *size_is;            /* what --size means, for --help */
    long size, iterations;          /* defaults */
    long multiple;                  /* the size is rounded up to a multiple of this */
    void (*setup)(long size);       /* serial */
    void (*run)(long iterations);   /* the parallel phase */
    double (*checksum)(void);       /* of the result; the same on any number of CPUs */
    double (*deviation)(long iterations);   /* how far the result is from a serial computation, relative to it */
    double tolerance;               /* of the deviation */
};

/* main of a benchmark: reads the options, runs it, prints one line of JSON. */
int bench_main(const struct bench *b, int argc, char **argv);

/* Zeroed memory, aligned to 64 bytes. Ends the program where there is none. */
void *bench_memory(size_t count, size_t size);

/* A number from 0 to 1 that depends on the key alone. */
static inline double bench_random(uint64_t key)
{
    key = (key + 1) * UINT64_C(0x9e3779b97f4a7c15);
    key = (key ^ key >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
    return (double)((key ^ key >> 29) >> 11) * 0x1p-53;
}

/* The larger of the two; NaN, the mark of a wrong result, stays. */
static inline double bench_worse(double a, double b) { return a >= b || a != a ? a : b; }

static inline double bench_sum(const double *v, long n)
{
    double sum = 0;
    for (long i = 0; i < n; i++) sum += v[i];
    return sum;
}

#endif
