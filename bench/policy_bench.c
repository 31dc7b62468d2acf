/* bench/policy_bench.c - what a decision costs.  SPDX-License-Identifier: Apache-2.0
 *
 * usage: policy-bench [POLICY]           ns per stopped, enqueue, pick and started together, all that a policy is asked for when a core changes
 *                                        tasks, for each built-in policy or one, on machines of 2 to 256 cores with 1 to 512
 *                                        processes that have something ready
 *        policy-bench scale [THREADS]    fl by so many threads at the same time, without a lock, and each under the scheduler's */
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "policy/policy.h"
#include "sched/lock.h"
#include "shm/layout.h"

static uint64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void start(struct usf_pol *p, const struct usf_policy_ops *ops, uint32_t c)
{
    struct usf_pol_core *core = usf_core(p, c);
    uint32_t t = ops->pick(p, c);
    if (t == USF_NONE) abort();
    core->current = t;
    core->since = p->now;
    core->give_way_at = 0;
    usf_task(p, t)->last_core = c;
    ops->started(p, c, t);
}

static double measure(const struct usf_policy_ops *policy, uint32_t cores, uint32_t procs, enum usf_why why)
{
    enum { TASKS = 1024, ROUNDS = 300000 };
    struct usf_policy_ops ops;
    struct usf_pol_task *tasks = calloc(TASKS, sizeof *tasks);
    struct usf_pol_core *core = calloc(cores, sizeof *core);
    struct usf_pol_group *proc = calloc(procs, sizeof *proc);
    struct usf_pol p = {
        .now = 1000000000, .quantum = 20000000, .nr_cores = cores, .nr_tasks = TASKS, .nr_groups = procs, .slice = 10000000,
        .task_stride = sizeof *tasks, .core_stride = sizeof *core, .group_stride = sizeof *proc,
        .tasks = (char *)tasks, .cores = (char *)core, .groups = (char *)proc, .data = calloc(1, USF_POL_DATA),
    };
    for (uint32_t c = 0; c < cores; c++) core[c] = (struct usf_pol_core){.id = c, .cpu = c, .phys = c, .llc = c / 8, .node = c / 64, .package = c / 64, .current = USF_NONE};
    policy_resolve(policy, &ops);
    if (ops.init(&p)) exit(1);
    for (uint32_t i = 0; i < procs; i++) {
        proc[i].id = i;
        proc[i].weight = 100;
        usf_cores_fill(proc[i].cores, USF_CORES_MAX);
        ops.group_add(&p, i);
    }
    for (uint32_t t = 0; t < TASKS; t++) {
        tasks[t] = (struct usf_pol_task){.id = t, .group = t % procs, .last_core = t % cores};
        tasks[t].ready_since = p.now;
        ops.enqueue(&p, t, why);
    }
    for (uint32_t c = 0; c < cores; c++) start(&p, &ops, c);        /* all are busy */
    uint64_t best = UINT64_MAX;
    for (int rep = 0; rep < 5; rep++) {
        uint64_t begin = now_ns();
        for (uint32_t i = 0; i < ROUNDS; i++) {
            uint32_t c = i % cores, t = core[c].current;     /* so each answers soon if it is to give way */
            p.now += 100;
            core[c].current = USF_NONE;
            ops.stopped(&p, c, t);
            tasks[t].ready_since = p.now;
            ops.enqueue(&p, t, why);
            start(&p, &ops, c);
        }
        uint64_t spent = now_ns() - begin;
        if (spent < best) best = spent;
    }
    free(p.data);
    free(tasks);
    free(core);
    free(proc);
    return (double)best / ROUNDS;
}

/* ---- fl without the scheduler lock --------------------------------------------------------------- */
/* So many threads, each the core of its own queue: what one pick and enqueue takes of its own CPU time, and all of them together in a second.
 * With a thread per CPU the first stays the same, and the second rises with their number, as long as no cache line is shared.  Under the
 * scheduler's lock, taken for each pick and each enqueue as core.c does, they take turns: what is lost so is what the lock costs. */

enum { OWN_TASKS = 4, SCALE_NS = 200000000, MAX_THREADS = 256 };

static struct usf_pol shared;
static struct usf_policy_ops fl;
static pthread_barrier_t begin;
static struct usf_lock lock;
static bool locked;
static struct { _Alignas(64) uint64_t rounds, cpu_ns, wall_ns; } result[MAX_THREADS];

static uint64_t cpu_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void *act(void *arg)
{
    uint32_t core = (uint32_t)(uintptr_t)arg;
    uint64_t rounds = 0;
    pthread_barrier_wait(&begin);
    uint64_t cpu = cpu_ns(), wall = now_ns();
    while (now_ns() - wall < SCALE_NS)
        for (int i = 0; i < 1000; i++, rounds++) {
            if (locked) lock_acquire(&lock, core + 1);
            uint32_t t = fl.pick(&shared, core);
            if (locked) lock_release(&lock, core + 1);
            if (t == USF_NONE || t / OWN_TASKS != core) abort();
            if (locked) lock_acquire(&lock, core + 1);
            fl.enqueue(&shared, t, USF_WHY_WAKE);
            if (locked) lock_release(&lock, core + 1);
        }
    result[core].rounds = rounds;
    result[core].cpu_ns = cpu_ns() - cpu;
    result[core].wall_ns = now_ns() - wall;
    return NULL;
}

static void *zeroed(size_t size)
{
    void *p = aligned_alloc(4096, (size + 4095) & ~4095ul);
    if (!p) exit(1);
    return memset(p, 0, size);
}

static void scale(uint32_t threads, bool with_lock)
{
    locked = with_lock;
    lock = (struct usf_lock){0};
    pthread_t thread[MAX_THREADS];
    double each = 0, all = 0;
    /* records as far apart as in the segment */
    shared = (struct usf_pol){
        .now = 1000000000, .quantum = 20000000, .slice = 10000000, .nr_cores = threads, .nr_tasks = threads * OWN_TASKS,
        .nr_groups = 1, .task_stride = sizeof(struct usf_task), .core_stride = sizeof(struct usf_core),
        .group_stride = sizeof(struct usf_group), .data = zeroed(USF_POL_DATA),
    };
    char *tasks = zeroed(shared.nr_tasks * sizeof(struct usf_task)), *cores = zeroed(threads * sizeof(struct usf_core));
    char *groups = zeroed(sizeof(struct usf_group));
    shared.tasks = tasks + offsetof(struct usf_task, pol);
    shared.cores = cores + offsetof(struct usf_core, pol);
    shared.groups = groups + offsetof(struct usf_group, pol);
    for (uint32_t c = 0; c < threads; c++) *usf_core(&shared, c) = (struct usf_pol_core){.id = c, .cpu = c, .llc = c / 8};
    usf_cores_fill(usf_group(&shared, 0)->cores, USF_CORES_MAX);
    policy_resolve(&usf_policy_fl, &fl);
    if (fl.init(&shared)) exit(1);
    for (uint32_t t = 0; t < shared.nr_tasks; t++) {
        *usf_task(&shared, t) = (struct usf_pol_task){.id = t, .last_core = t / OWN_TASKS};
        fl.enqueue(&shared, t, USF_WHY_WAKE);
    }
    pthread_barrier_init(&begin, NULL, threads);
    for (uint32_t c = 0; c < threads; c++)
        if (pthread_create(&thread[c], NULL, act, (void *)(uintptr_t)c)) exit(1);
    for (uint32_t c = 0; c < threads; c++) {
        pthread_join(thread[c], NULL);
        each += (double)result[c].cpu_ns / (double)result[c].rounds / threads;
        all += (double)result[c].rounds * 1e3 / (double)result[c].wall_ns;
    }
    printf("fl     %3u threads, %s: %5.1f ns of CPU time per pick and enqueue, %6.1f million per second\n", threads,
           locked ? "with the lock" : "without a lock", each, all);
    free(shared.data);
    free(tasks);
    free(cores);
    free(groups);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "scale")) {
        uint32_t most = argc > 2 ? (uint32_t)atoi(argv[2]) : 16;
        if (!most || most > MAX_THREADS) return fprintf(stderr, "policy-bench: scale takes 1 to %u threads\n", MAX_THREADS), 2;
        for (uint32_t n = 1; n < most; n *= 2) scale(n, false), scale(n, true);
        scale(most, false);
        scale(most, true);
        return 0;
    }
    const struct usf_policy_ops *only = argc > 1 ? policy_find(argv[1]) : NULL;
    if (argc > 2 || (argc > 1 && !only)) return fprintf(stderr, "usage: policy-bench [POLICY | scale [THREADS]]\n"), 2;
    static const uint32_t cores[] = {2, 64, 256}, procs[] = {1, 8, 512};
    for (const struct usf_policy_ops *const *o = usf_builtin_policies; *o; o++) {
        if ((*o)->flags & USF_POLICY_KERNEL || (only && *o != only)) continue;
        for (unsigned c = 0; c < 3; c++)
            for (unsigned i = 0; i < 3; i++)
                printf("%-6s %3u cores %3u processes: ready %5.1f ns, yielding %5.1f ns per switch\n",
                       (*o)->name, cores[c], procs[i], measure(*o, cores[c], procs[i], USF_WHY_WAKE),
                       measure(*o, cores[c], procs[i], USF_WHY_YIELD));
    }
    return 0;
}
