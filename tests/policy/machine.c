/* tests/policy/machine.c - see machine.h.  SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include "machine.h"

uint64_t machine_random(struct machine *m)
{
    uint64_t x = m->rng += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

void machine_fail(struct machine *m, const char *what)
{
    printf("FAILED: %s (policy %s, seed %lu, step %lu)\n", what, m->ops.name, m->seed, m->seq);
    exit(1);
}

void machine_init(struct machine *m, const struct usf_policy_ops *ops, uint64_t seed, uint32_t cores, uint32_t nodes,
                  uint32_t llcs)
{
    char why[160];
    memset(m, 0, sizeof *m);
    m->rng = m->seed = seed;
    m->tasks = calloc(MAX_TASKS, sizeof *m->tasks);
    m->cores = calloc(MAX_CORES, sizeof *m->cores);
    m->procs = calloc(MAX_PROCS, sizeof *m->procs);
    m->data = calloc(1, USF_POL_DATA);
    m->pol = (struct usf_pol){
        .now = 1000000000, .quantum = 20000000, .nr_cores = cores, .nr_tasks = MAX_TASKS, .nr_procs = MAX_PROCS,
        .task_stride = sizeof *m->tasks, .core_stride = sizeof *m->cores, .proc_stride = sizeof *m->procs,
        .tasks = (char *)m->tasks, .cores = (char *)m->cores, .procs = (char *)m->procs, .data = m->data,
    };
    for (uint32_t i = 0; i < cores; i++) {
        uint32_t node = i * nodes / cores, llc = i * (nodes * llcs) / cores;
        m->cores[i] = (struct usf_pol_core){.id = i, .cpu = i, .node = node, .llc = llc, .package = node, .phys = i, .current = USF_NONE};
        m->core[i] = (struct model_core){.task = USF_NONE, .proc = USF_NONE, .round = MAX_PROCS - 1};
    }
    m->ops.name = ops->name;
    if (!policy_ops_is_valid(ops, why, sizeof why)) machine_fail(m, why);
    policy_resolve(ops, &m->ops);
    CHECK(m, m->ops.init(&m->pol) == 0);
}

void machine_free(struct machine *m)
{
    free(m->tasks);
    free(m->cores);
    free(m->procs);
    free(m->data);
}

bool machine_allowed(const struct machine *m, uint32_t task, uint32_t core)
{ return m->procs[m->tasks[task].proc].cores[core / 64] >> core % 64 & 1; }

void machine_add_proc(struct machine *m, uint32_t proc, const uint64_t cores[4])
{
    memset(&m->procs[proc], 0, sizeof *m->procs);
    m->procs[proc].id = proc;
    m->procs[proc].weight = 100;
    memcpy(m->procs[proc].cores, cores, 32);
    m->proc[proc] = true;
    m->ops.proc_add(&m->pol, proc);
}

void machine_add_task(struct machine *m, uint32_t task, uint32_t proc)
{
    memset(&m->tasks[task], 0, sizeof *m->tasks);
    m->tasks[task].id = task;
    m->tasks[task].proc = proc;
    m->tasks[task].last_core = USF_NONE;
    m->procs[proc].nr_tasks++;
    m->task[task] = (struct model_task){.doing = BLOCKED, .core = USF_NONE, .home = USF_NONE};
    m->ops.task_add(&m->pol, task);
}

static void start(struct machine *m, uint32_t task, uint32_t core)
{
    struct usf_pol_task *t = &m->tasks[task];
    CHECK(m, m->core[core].task == USF_NONE);
    m->task[task].doing = RUNNING;
    m->task[task].core = core;
    m->core[core].task = task;
    if (m->core[core].proc != t->proc) m->core[core].proc = t->proc, m->core[core].since = m->pol.now;
    t->last_core = core;
    m->cores[core].current = task;
    m->cores[core].since = m->pol.now;
    m->cores[core].give_way_at = 0;
    m->tasks[task].ready_since = 0;
    m->ops.started(&m->pol, core, task);
}

static void stop(struct machine *m, uint32_t core, enum doing to)
{
    uint32_t task = m->core[core].task;
    m->cores[core].current = USF_NONE;
    m->core[core].task = USF_NONE;
    m->task[task].doing = to;
    m->task[task].core = USF_NONE;
    m->ops.stopped(&m->pol, core, task);
}

void machine_queue(struct machine *m, uint32_t task, enum usf_why why)
{
    m->tasks[task].ready_since = m->pol.now;
    m->task[task].doing = READY;
    m->task[task].home = why == USF_WHY_PREEMPT ? USF_NONE : m->tasks[task].last_core;     /* coop may send it elsewhere */
    m->task[task].since = m->pol.now;
    m->task[task].seq = ++m->seq;
    m->task[task].yielded = why == USF_WHY_YIELD;
    m->procs[m->tasks[task].proc].nr_ready++;
    policy_enqueue(&m->pol, &m->ops, task, why);
}

void machine_wake(struct machine *m, uint32_t task, enum usf_why why)
{
    uint64_t idle[4] = {0}, usable = 0;
    const char *bad;
    CHECK(m, m->task[task].doing == BLOCKED);
    for (uint32_t c = 0; c < m->pol.nr_cores; c++) {
        if (m->core[c].task != USF_NONE) continue;
        idle[c / 64] |= 1ull << c % 64;
        usable |= machine_allowed(m, task, c);
    }
    uint32_t core = policy_select(&m->pol, &m->ops, task, idle, &bad);
    if (bad) machine_fail(m, bad);
    if (usable) CHECK(m, core != USF_NONE);     /* work conservation; true of every policy here */
    if (core != USF_NONE) start(m, task, core);
    else machine_queue(m, task, why);
}

/* Take a task from the policy and start it; what the choice must fulfil is checked by the caller. */
uint32_t machine_pick(struct machine *m, uint32_t core)
{
    const char *bad;
    uint32_t task = policy_pick(&m->pol, &m->ops, core, &bad);
    if (bad) machine_fail(m, bad);
    m->seq++;
    if (task == USF_NONE) {
        for (uint32_t t = 0; t < MAX_TASKS; t++)
            if (m->task[t].doing == READY) CHECK(m, !machine_allowed(m, t, core));     /* work conservation */
        return USF_NONE;
    }
    CHECK(m, m->task[task].doing == READY);     /* no double dispatch */
    CHECK(m, machine_allowed(m, task, core));
    m->procs[m->tasks[task].proc].nr_ready--;
    return task;
}

extern void check_choice(struct machine *m, uint32_t core, uint32_t task);      /* test_policy.c */

uint32_t machine_switch(struct machine *m, uint32_t core, enum doing to, enum usf_why why)
{
    uint32_t old = m->core[core].task;
    if (old != USF_NONE) {
        stop(m, core, to);
        if (to == READY) machine_queue(m, old, why);
    }
    uint32_t task = machine_pick(m, core);
    if (task == USF_NONE) return task;
    check_choice(m, core, task);
    start(m, task, core);
    return task;
}

void machine_remove_proc(struct machine *m, uint32_t proc)
{
    for (uint32_t t = 0; t < MAX_TASKS; t++) {
        if (m->task[t].doing == NOTHING || m->tasks[t].proc != proc) continue;
        if (m->task[t].doing == RUNNING) stop(m, m->task[t].core, BLOCKED);
        if (m->task[t].doing == READY) policy_dequeue(&m->pol, &m->ops, t), m->procs[proc].nr_ready--;
        m->task[t].doing = NOTHING;
        m->ops.task_remove(&m->pol, t);
        m->procs[proc].nr_tasks--;
    }
    CHECK(m, m->procs[proc].nr_ready == 0);
    m->ops.proc_remove(&m->pol, proc);
    m->proc[proc] = false;
    for (uint32_t c = 0; c < m->pol.nr_cores; c++)
        if (m->core[c].task == USF_NONE) machine_switch(m, c, BLOCKED, USF_WHY_WAKE);
}
