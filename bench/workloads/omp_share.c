/* bench/workloads/omp_share.c - how much an OpenMP program gets done in a given time, beside others like it.  SPDX-License-Identifier: Apache-2.0
 *
 * Parallel regions one after the other, each of --chunks pieces of --us microseconds, until --until (seconds of the monotonic clock, the same
 * for all programs of a comparison) and a little longer, so that no program has the machine for itself before that.  What counts is what was
 * done, and how much CPU time it took, from --from on: by then all of them have long been running. */
#include "workload.h"

#include <omp.h>
#include <sys/resource.h>

static double cpu_s(void)
{
    struct rusage r;
    if (getrusage(RUSAGE_SELF, &r)) die("getrusage failed");
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) + 1e-6 * (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

int main(int argc, char **argv)
{
    opt_check(argc, argv, "--chunks --us --from --until --after --loops-per-us");
    long chunks = opt_long(argc, argv, "--chunks", 4);
    uint64_t loops = (uint64_t)(opt_num(argc, argv, "--us", 250) * work_speed(argc, argv));
    double now = now_s(), from = opt_num(argc, argv, "--from", now), until = opt_num(argc, argv, "--until", from + 0.1);
    double after = opt_num(argc, argv, "--after", 0.2);
    if (chunks < 1 || until <= from) die("--chunks must be positive, and --until later than --from");
    begin_line("share", (double)chunks, "chunk");

    double begun = 0, ended = 0, cpu0 = 0, cpu1 = 0;
    uint64_t done = 0, regions = 0, sum = 0;
    int width = 0;
    for (;;) {
        now = now_s();
        if (!begun && now >= from) begun = now, cpu0 = cpu_s();
        if (begun && !ended && now >= until) ended = now, cpu1 = cpu_s();
        if (now >= until + after && ended) break;
        long finished = 0;
#pragma omp parallel reduction(+ : finished) reduction(^ : sum)
        {
#pragma omp single nowait
            width = omp_get_num_threads();
#pragma omp for schedule(static)
            for (long i = 0; i < chunks; i++) {
                sum ^= work_chain((uint64_t)i, loops);
                finished++;
            }
        }
        if (begun && !ended) done += (uint64_t)finished, regions++;
    }
    char more[160];
    snprintf(more, sizeof more, "cpu=%.6f width=%d regions=%llu sum=%llx", cpu1 - cpu0, width, (unsigned long long)regions,
             (unsigned long long)sum);
    return result_line("share", (double)done, ended - begun, "chunk", done == regions * (uint64_t)chunks, more);
}
