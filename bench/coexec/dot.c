/* bench/coexec/dot.c - the scalar product of two long vectors.  SPDX-License-Identifier: Apache-2.0
 *
 * Bound by memory: two loads for two operations, and nothing is used twice. */
#include <math.h>

#include "common.h"
#include "flow.h"

#define CHUNK 65536L

static double *x, *y, result;
static long length;

static void setup(long n)
{
    length = n;
    x = bench_memory((size_t)n, sizeof *x);
    y = bench_memory((size_t)n, sizeof *y);
    for (long i = 0; i < n; i++) {
        x[i] = (double)(i % 1021) * 0x1p-10;
        y[i] = (double)(i % 1019) * 0x1p-10;
    }
}

/* Eight sums: the additions do not wait for each other. */
static double part(void *arg, long from, long to)
{
    double sum[8] = {0}, rest = 0;
    long i = from;
    for (; i + 8 <= to; i += 8)
        for (int l = 0; l < 8; l++) sum[l] += x[i + l] * y[i + l];
    for (; i < to; i++) rest += x[i] * y[i];
    return bench_sum(sum, 8) + rest;
}

static void run(long iterations)
{
    for (long n = 0; n < iterations; n++) result = flow_sum(length, CHUNK, part, NULL);
}

static double checksum(void) { return result; }

static double deviation(long iterations)
{
    double sum = 0;
    for (long i = 0; i < length; i++) sum += x[i] * y[i];
    return fabs(result - sum) / sum;
}

int main(int argc, char **argv)
{
    return bench_main(&(struct bench){.name = "dot", .size_is = "numbers in each vector", .size = 1L << 24, .iterations = 120,
        .setup = setup, .run = run, .checksum = checksum, .deviation = deviation, .tolerance = 1e-10}, argc, argv);
}
