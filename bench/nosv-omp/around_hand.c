/* bench/nosv-omp/around_hand.c - a team of attached threads that waits by nosv.h alone.  SPDX-License-Identifier: Apache-2.0 */
#include <nosv.h>
#include <nosv/compat.h>
#include <pthread.h>

#include "../workloads/workload.h"
#include "around.h"

const char around_name[] = "hand";

static nosv_barrier_t barrier;
static void (*body)(int me);
static long rounds_each;

static void *run_thread(void *arg)
{
    nosv_task_t task;
    if (nosv_attach(&task, NULL, "around", NOSV_ATTACH_NONE) != NOSV_SUCCESS) die("nosv_attach failed");
    for (long r = 0; r < rounds_each; r++) {
        body((int)(long)arg);
        nosv_barrier_wait(&barrier);
    }
    if (nosv_detach(NOSV_DETACH_NONE) != NOSV_SUCCESS) die("nosv_detach failed");
    return NULL;
}

void around_run(int threads, long rounds, bool attached, void (*round)(int me))
{
    (void)attached;
    body = round;
    rounds_each = rounds;
    pthread_t *others = calloc((size_t)threads, sizeof *others);
    if (!others || nosv_barrier_init(&barrier, NULL, (unsigned)threads)) die("no memory for a team");
    for (long i = 1; i < threads; i++)
        if (pthread_create(&others[i], NULL, run_thread, (void *)i)) die("pthread_create failed");
    run_thread((void *)0);
    for (int i = 1; i < threads; i++) pthread_join(others[i], NULL);
    nosv_barrier_destroy(&barrier);
    free(others);
}
