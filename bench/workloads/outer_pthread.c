/* bench/workloads/outer_pthread.c - outer level: a plain pthread pool.  SPDX-License-Identifier: Apache-2.0 */
#include "outer.h"
#include "workload.h"

#include <pthread.h>
#include <stdatomic.h>

const char outer_name[] = "pthread";

/* Protects all fields but `next`. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work_cond = PTHREAD_COND_INITIALIZER, done_cond = PTHREAD_COND_INITIALIZER;
static unsigned generation; /* bumped for each loop */
static int nr_workers, nr_busy, stopping;
static pthread_t *workers;

static outer_fn loop_fn;
static void *loop_arg;
static long loop_n;
static atomic_long next;

static void take_iterations(void)
{
    for (long i; (i = atomic_fetch_add(&next, 1)) < loop_n;) loop_fn(i, loop_arg);
}

static void *worker(void *unused)
{
    unsigned seen = 0;
    (void)unused;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (generation == seen && !stopping) pthread_cond_wait(&work_cond, &lock);
        if (stopping) break;
        seen = generation;
        pthread_mutex_unlock(&lock);
        take_iterations();
        pthread_mutex_lock(&lock);
        if (--nr_busy == 0) pthread_cond_signal(&done_cond);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

void outer_start(int threads)
{
    nr_workers = threads - 1;
    workers = calloc((size_t)threads, sizeof *workers);
    if (!workers) die("out of memory");
    for (int i = 0; i < nr_workers; i++)
        if (pthread_create(&workers[i], NULL, worker, NULL)) die("pthread_create failed");
}

void outer_for(long n, outer_fn fn, void *arg)
{
    pthread_mutex_lock(&lock);
    loop_fn = fn;
    loop_arg = arg;
    loop_n = n;
    atomic_store(&next, 0);
    nr_busy = nr_workers;
    generation++;
    pthread_cond_broadcast(&work_cond);
    pthread_mutex_unlock(&lock);
    take_iterations();
    pthread_mutex_lock(&lock);
    while (nr_busy) pthread_cond_wait(&done_cond, &lock);
    pthread_mutex_unlock(&lock);
}

void outer_stop(void)
{
    pthread_mutex_lock(&lock);
    stopping = 1;
    pthread_cond_broadcast(&work_cond);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < nr_workers; i++) pthread_join(workers[i], NULL);
    free(workers);
}
