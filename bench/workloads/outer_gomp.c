/* bench/workloads/outer_gomp.c - outer level: OpenMP tasks.  SPDX-License-Identifier: Apache-2.0 */
#include "outer.h"

#include <omp.h>

const char outer_name[] = "gomp";

static int nr_threads;

void outer_start(int threads) { nr_threads = threads; }

void outer_for(long n, outer_fn fn, void *arg)
{
#pragma omp parallel num_threads(nr_threads)
#pragma omp single
    for (long i = 0; i < n; i++) {
#pragma omp task firstprivate(i)
        fn(i, arg);
    }
}

void outer_stop(void) {}
