/* bench/nosv-omp/around_omp.c - a parallel region of OpenMP whose threads submit tasks.  SPDX-License-Identifier: Apache-2.0 */
#include <nosv.h>
#include <omp.h>

#include "../workloads/workload.h"
#include "around.h"

const char around_name[] = "omp";

/* A thread that waits at OpenMP's barrier is no task: it would keep its CPU from the others. */
static void attached_round(void (*round)(int me))
{
    nosv_task_t task;
    if (nosv_attach(&task, NULL, "around", NOSV_ATTACH_NONE) != NOSV_SUCCESS) die("nosv_attach failed");
    round(omp_get_thread_num());
    if (nosv_detach(NOSV_DETACH_NONE) != NOSV_SUCCESS) die("nosv_detach failed");
}

void around_run(int threads, long rounds, bool attached, void (*round)(int me))
{
    #pragma omp parallel num_threads(threads)
    for (long r = 0; r < rounds; r++) {
        if (attached) attached_round(round);
        else round(omp_get_thread_num());
        #pragma omp barrier
    }
}
