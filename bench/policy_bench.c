/* bench/policy_bench.c - what a decision costs.  SPDX-License-Identifier: Apache-2.0
 *
 * ns per enqueue + pick for each built-in policy, on machines of 2 to 256 cores with 1 to 512
 * processes that have something ready. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "policy/policy.h"

static uint64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static double measure(const struct usf_policy_ops *policy, uint32_t cores, uint32_t procs, enum usf_why why)
{
    enum { TASKS = 1024, ROUNDS = 300000 };
    struct usf_policy_ops ops;
    struct usf_pol_task *tasks = calloc(TASKS, sizeof *tasks);
    struct usf_pol_core *core = calloc(cores, sizeof *core);
    struct usf_pol_proc *proc = calloc(procs, sizeof *proc);
    struct usf_pol p = {
        .now = 1000000000, .quantum = 20000000, .nr_cores = cores, .nr_tasks = TASKS, .nr_procs = procs,
        .task_stride = sizeof *tasks, .core_stride = sizeof *core, .proc_stride = sizeof *proc,
        .tasks = (char *)tasks, .cores = (char *)core, .procs = (char *)proc, .data = calloc(1, USF_POL_DATA),
    };
    for (uint32_t c = 0; c < cores; c++) core[c] = (struct usf_pol_core){.id = c, .cpu = c, .llc = c / 8, .node = c / 64};
    policy_resolve(policy, &ops);
    if (ops.init(&p)) exit(1);
    for (uint32_t i = 0; i < procs; i++)
        for (int w = 0; w < 4; w++) proc[i].cores[w] = ~0ull;
    for (uint32_t t = 0; t < TASKS; t++) {
        tasks[t] = (struct usf_pol_task){.id = t, .proc = t % procs, .last_core = t % cores};
        tasks[t].ready_since = p.now;
        ops.enqueue(&p, t, why);
    }
    uint64_t best = UINT64_MAX;
    for (int rep = 0; rep < 5; rep++) {
        uint64_t begin = now_ns();
        for (uint32_t i = 0; i < ROUNDS; i++) {
            uint32_t c = i % (cores < 8 ? cores : 8);
            p.now += 100;
            uint32_t t = ops.pick(&p, c);
            ops.started(&p, c, t);
            tasks[t].last_core = c;
            tasks[t].ready_since = p.now;
            ops.enqueue(&p, t, why);
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

int main(void)
{
    static const uint32_t cores[] = {2, 64, 256}, procs[] = {1, 8, 512};
    for (const struct usf_policy_ops *const *o = usf_builtin_policies; *o; o++) {
        if ((*o)->flags & USF_POLICY_KERNEL) continue;
        for (unsigned c = 0; c < 3; c++)
            for (unsigned i = 0; i < 3; i++)
                printf("%-6s %3u cores %3u processes: ready %5.1f ns, yielding %5.1f ns per pick and enqueue\n",
                       (*o)->name, cores[c], procs[i], measure(*o, cores[c], procs[i], USF_WHY_WAKE),
                       measure(*o, cores[c], procs[i], USF_WHY_YIELD));
    }
    return 0;
}
