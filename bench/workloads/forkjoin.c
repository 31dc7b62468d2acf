/* bench/workloads/forkjoin.c - short OpenMP parallel regions, one after the other.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A region has --us microseconds of work per core (of --cores), spread evenly over the threads. */
#include "workload.h"

#include <omp.h>

int main(int argc, char **argv)
{
    opt_check(argc, argv, "--threads --cores --us --regions --seconds --loops-per-us");
    int threads = (int)opt_long(argc, argv, "--threads", 2);
    double us = opt_num(argc, argv, "--us", 10), cores = opt_num(argc, argv, "--cores", 2);
    long min_regions = opt_long(argc, argv, "--regions", 20);
    double limit = opt_num(argc, argv, "--seconds", 0.5);
    if (threads < 1 || cores < 1) die("--threads and --cores must be positive");
    uint64_t loops = (uint64_t)(us * work_speed(argc, argv) * cores / threads);
    begin_line("forkjoin", (double)min_regions, "region");

    /* One entry and one cache line per thread: every thread must have done every region. */
    uint64_t(*count)[8] = calloc((size_t)threads, sizeof *count);
    if (!count) die("out of memory");
    long regions = 0;
    double t0 = now_s(), t = 0;
    do {
        for (long i = 0; i < min_regions; i++)
#pragma omp parallel num_threads(threads)
        {
            uint64_t *mine = count[omp_get_thread_num()];
            mine[1] = work_chain(mine[1], loops);
            mine[0]++;
        }
        regions += min_regions;
        t = now_s() - t0;
    } while (t < limit);

    int ok = 1;
    for (int i = 0; i < threads; i++) ok &= count[i][0] == (uint64_t)regions;
    char more[100];
    snprintf(more, sizeof more, "threads=%d us=%g regions=%ld", threads, us, regions);
    return result_line("forkjoin", (double)regions, t, "region", ok, more);
}
