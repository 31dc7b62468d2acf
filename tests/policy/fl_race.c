/* tests/policy/fl_race.c - the policy fl without the scheduler lock.  SPDX-License-Identifier: Apache-2.0
 *
 * usage: fl_race [SEED]
 * Threads act as cores: they pick and enqueue at the same time, to their own queues and to others', some tasks confined.  Now and
 * then all stop, and under a lock, as dequeue is promised, one looks whether every core finds what there is for it, and takes
 * tasks out of the middle.  Every task is in one place at any time, none is lost, and one consumer finds each producer's in order.
 * Built twice: as it is, and under ThreadSanitizer. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "policy/policy.h"

enum { THREADS = 4, CORES = 8, TASKS = 160, ROUNDS = 120, BATCH = 40, PRODUCERS = 3, SEQUENCE = 400, NR = 2048 };
enum where { QUEUED = -1, OUT = -2 };       /* else the thread that has it */

static struct usf_pol_task tasks[NR];
static _Alignas(64) struct { struct usf_pol_core c; char pad[8]; } cores[CORES];
static struct usf_pol_group groups[2];
static uint8_t data[USF_POL_DATA] __attribute__((aligned(64)));
static struct usf_pol pol;
static struct usf_policy_ops ops;
static _Atomic int where[NR];
static uint64_t seed;
static pthread_rwlock_t alone = PTHREAD_RWLOCK_INITIALIZER;

static _Noreturn void fail(const char *what, uint32_t task)
{
    printf("FAILED: %s (task %u, seed %lu)\n", what, task, seed);
    _exit(1);
}

static uint32_t below(uint64_t *rng, uint32_t n)
{
    uint64_t x = *rng += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    return (uint32_t)((x ^ x >> 27) * 0x94d049bb133111ebull >> 33) % n;
}

static void begin(void)
{
    memset(tasks, 0, sizeof tasks);
    memset(cores, 0, sizeof cores);
    memset(data, 0, sizeof data);
    pol = (struct usf_pol){
        .now = 1, .quantum = 20000000, .slice = 10000000, .nr_cores = CORES, .nr_tasks = NR, .nr_groups = 2,
        .task_stride = sizeof *tasks, .core_stride = sizeof *cores, .group_stride = sizeof *groups,
        .tasks = (char *)tasks, .cores = (char *)cores, .groups = (char *)groups, .data = data,
    };
    for (uint32_t c = 0; c < CORES; c++) cores[c].c = (struct usf_pol_core){.id = c, .llc = c / 2, .node = c / 4};
    groups[0] = (struct usf_pol_group){.id = 0, .weight = 100, .cores = {0xff}};
    groups[1] = (struct usf_pol_group){.id = 1, .weight = 100, .cores = {0x5a}};
    policy_resolve(&usf_policy_fl, &ops);
    if (ops.init(&pol)) fail("init", 0);
}

static void put(uint32_t task, uint32_t last_core)
{
    tasks[task].last_core = last_core;
    atomic_store_explicit(&where[task], QUEUED, memory_order_relaxed);     /* the policy's own order must do */
    ops.enqueue(&pol, task, USF_WHY_WAKE);
}

static uint32_t get(uint32_t core, int me)
{
    uint32_t task = ops.pick(&pol, core);
    if (task == USF_NONE) return task;
    if (task >= NR || !usf_may_run(&pol, task, core)) fail("picked where it may not run", task);
    if (atomic_exchange_explicit(&where[task], me, memory_order_relaxed) != QUEUED) fail("picked twice", task);
    return task;
}

/* Nothing else happens meanwhile. */
static void look_around(uint64_t *rng, int me)
{
    static uint32_t taken[TASKS];
    uint32_t n = 0, core = below(rng, CORES), task;
    for (uint32_t i = 0; i < TASKS / 4; i++) {
        task = below(rng, TASKS);
        if (where[task] != QUEUED) continue;
        ops.dequeue(&pol, task);
        where[task] = OUT;
        taken[n++] = task;
    }
    for (uint32_t t = 0, c = core; t < TASKS; t++) {
        if (where[t] != QUEUED || !usf_may_run(&pol, t, c)) continue;
        if ((task = get(c, me)) == USF_NONE) fail("a core finds nothing although it could", t);
        put(task, below(rng, CORES));
        break;
    }
    for (uint32_t i = 0; i < n; i++) put(taken[i], below(rng, CORES));
}

static void *act(void *arg)
{
    int me = (int)(long)arg;
    uint64_t rng = seed * 31 + (uint64_t)me;
    uint32_t have[8], n = 0;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_rwlock_rdlock(&alone);
        for (int i = 0; i < BATCH; i++) {
            uint32_t core = (uint32_t)me * 2 + below(&rng, 2);
            if (n < 8 && below(&rng, 2)) {
                if ((have[n] = get(core, me)) != USF_NONE) n++;
            } else if (n) {
                uint32_t k = below(&rng, n), task = have[k];
                have[k] = have[--n];
                put(task, below(&rng, 4) ? core : below(&rng, CORES));
            }
        }
        pthread_rwlock_unlock(&alone);
        if (below(&rng, 4)) continue;
        pthread_rwlock_wrlock(&alone);
        look_around(&rng, me);
        pthread_rwlock_unlock(&alone);
    }
    pthread_rwlock_rdlock(&alone);
    for (uint32_t i = 0; i < n; i++) put(have[i], below(&rng, CORES));
    pthread_rwlock_unlock(&alone);
    return NULL;
}

static void hammer(void)
{
    pthread_t thread[THREADS];
    uint64_t rng = seed;
    uint32_t found = 0;
    begin();
    for (uint32_t t = 0; t < TASKS; t++) {
        tasks[t] = (struct usf_pol_task){.id = t, .group = t % 4 == 0};
        if (t % 7 == 0) {       /* where all of its process may */
            tasks[t].strict = 1;
            tasks[t].affinity = t % 2 ? USF_AFFINITY_LLC : USF_AFFINITY_CORE;
            tasks[t].affinity_id = t % 2 ? below(&rng, 4) : (uint32_t[]){1, 3, 4, 6}[below(&rng, 4)];
        }
        put(t, below(&rng, 2) ? USF_NONE : below(&rng, CORES));
    }
    for (long i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, act, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    for (uint32_t c = 0; c < CORES; c++)
        while (get(c, THREADS) != USF_NONE) found++;
    for (uint32_t t = 0; t < TASKS; t++)
        if (where[t] != THREADS) fail("lost", t);
    printf("%u tasks, all found\n", found);
}

/* ---- one consumer: each producer's tasks come in order ------------------------------------------- */

static void *produce(void *arg)
{
    uint32_t first = (uint32_t)(long)arg * SEQUENCE;
    for (uint32_t i = 0; i < SEQUENCE; i++) put(first + i, 3);
    return NULL;
}

static void in_order(void)
{
    pthread_t thread[PRODUCERS];
    uint32_t next[PRODUCERS] = {0}, n = 0;
    begin();
    for (uint32_t t = 0; t < NR; t++) tasks[t] = (struct usf_pol_task){.id = t};
    for (long i = 0; i < PRODUCERS; i++) pthread_create(&thread[i], NULL, produce, (void *)i);
    while (n < PRODUCERS * SEQUENCE) {
        uint32_t task = get(3, 0);
        if (task == USF_NONE) continue;
        if (task % SEQUENCE != next[task / SEQUENCE]++) fail("out of order", task);
        n++;
    }
    for (int i = 0; i < PRODUCERS; i++) pthread_join(thread[i], NULL);
    if (get(3, 0) != USF_NONE) fail("more than there were", 0);
}

int main(int argc, char **argv)
{
    seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL) * 1000003u + (uint64_t)getpid();
    printf("seed %lu\n", seed);
    fflush(stdout);
    alarm(100);
    for (int i = 0; i < 5; i++, seed++) {
        hammer();
        in_order();
    }
    printf("ok\n");
    return 0;
}
