/* bench/workloads/storm.c - storms of pthread_create and pthread_join.  SPDX-License-Identifier: Apache-2.0
 * Round after round: start --threads threads that each work --us microseconds, join them all. */
#include "workload.h"

#include <pthread.h>
#include <stdatomic.h>

static uint64_t loops;
static atomic_long done;

static void *run(void *arg)
{
    uint64_t x = work_chain((uint64_t)(uintptr_t)arg, loops);
    atomic_fetch_add(&done, 1);
    return (void *)(uintptr_t)(x | 1);
}

int main(int argc, char **argv)
{
    opt_check(argc, argv, "--threads --us --seconds --loops-per-us");
    long threads = opt_long(argc, argv, "--threads", 8), created = 0;
    double limit = opt_num(argc, argv, "--seconds", 0.5);
    loops = (uint64_t)(opt_num(argc, argv, "--us", 200) * work_speed(argc, argv));
    if (threads < 1) die("--threads must be positive");
    pthread_t *t = calloc((size_t)threads, sizeof *t);
    if (!t) die("out of memory");
    begin_line("storm", (double)threads, "thread");

    int ok = 1;
    double t0 = now_s(), s = 0;
    do {
        for (long i = 0; i < threads; i++)
            if (pthread_create(&t[i], NULL, run, (void *)i)) die("pthread_create failed");
        for (long i = 0; i < threads; i++) {
            void *ret = NULL;
            ok &= !pthread_join(t[i], &ret) && ret;
        }
        created += threads;
        s = now_s() - t0;
    } while (s < limit);
    char more[60];
    snprintf(more, sizeof more, "threads=%ld created=%ld", threads, created);
    return result_line("storm", (double)created, s, "thread", ok && atomic_load(&done) == created, more);
}
