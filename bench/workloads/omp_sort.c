/* bench/workloads/omp_sort.c - parallel counting sort of integers, with barriers.  SPDX-License-Identifier: Apache-2.0 */
#include "workload.h"

#include <omp.h>

#define BUCKETS 1024

static long n;
static uint32_t *keys, *sorted;
static long (*counts)[BUCKETS]; /* per thread; after the prefix sum: where its keys of a bucket go */

static uint32_t key_of(uint64_t i, uint64_t round)
{
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u + round * 0xbf58476d1ce4e5b9u;
    x ^= x >> 29;
    x *= 0x94d049bb133111ebu;
    return (uint32_t)(x >> 32) % BUCKETS;
}

static void sort_round(long round)
{
#pragma omp parallel
    {
        int me = omp_get_thread_num(), team = omp_get_num_threads();
        long from = n * me / team, to = n * (me + 1) / team;
        long *mine = counts[me];
        memset(mine, 0, sizeof counts[me]);
        for (long i = from; i < to; i++) {
            keys[i] = key_of((uint64_t)i, (uint64_t)round);
            mine[keys[i]]++;
        }
#pragma omp barrier
#pragma omp single
        {
            long sum = 0;
            for (int b = 0; b < BUCKETS; b++)
                for (int t = 0; t < team; t++) {
                    long c = counts[t][b];
                    counts[t][b] = sum;
                    sum += c;
                }
        } /* implied barrier */
        for (long i = from; i < to; i++) sorted[mine[keys[i]]++] = keys[i];
    }
}

int main(int argc, char **argv)
{
    opt_check(argc, argv, "--n --threads --rounds");
    n = opt_long(argc, argv, "--n", 200000);
    long rounds = opt_long(argc, argv, "--rounds", 100);
    int threads = (int)opt_long(argc, argv, "--threads", 0);
    if (threads > 0) omp_set_num_threads(threads);
    keys = calloc((size_t)n, sizeof *keys);
    sorted = calloc((size_t)n, sizeof *sorted);
    counts = calloc((size_t)omp_get_max_threads(), sizeof *counts);
    if (!keys || !sorted || !counts) die("out of memory");
    begin_line("sort", (double)rounds, "round");

    int ok = 1;
    double t0 = now_s();
    for (long r = 0; r < rounds; r++) {
        sort_round(r);
        ok &= sorted[0] <= sorted[n / 2] && sorted[n / 2] <= sorted[n - 1];
    }
    double t = now_s() - t0;
    for (long i = 1; i < n; i++) ok &= sorted[i - 1] <= sorted[i];
    char more[100];
    snprintf(more, sizeof more, "n=%ld threads=%d rounds=%ld", n, threads, rounds);
    return result_line("sort", (double)rounds, t, "round", ok, more);
}
