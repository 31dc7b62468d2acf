/* src/check/machine.c - see machine.h.  SPDX-License-Identifier: Apache-2.0 */
#include "check/machine.h"
#include "sched/turn.h"
#include <string.h>

uint64_t machine_random(struct machine *m)
{
    uint64_t x = m->rng += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

static void say_failure(struct machine *m, enum check_property property, const char *what)
{
    printf("FAILED: %s: %s (policy %s, %s, seed %lu, step %lu)\n", check_properties[property].name, what, m->real.name,
           check_ops[machine_op()], m->seed, m->step);
    fflush(stdout);
    _Exit(1);
}
void (*machine_on_failure)(struct machine *m, enum check_property property, const char *what) = say_failure;

void machine_fail(struct machine *m, enum check_property property, const char *what)
{
    machine_on_failure(m, property, what);
    abort();
}

void machine_init(struct machine *m, const struct usf_policy_ops *ops, uint64_t seed, uint32_t cores, uint32_t nodes,
                  uint32_t llcs)
{
    char why[200];
    memset(m, 0, sizeof *m);
    m->rng = m->seed = seed;
    m->real.name = ops->name;
    machine_map(m);
    m->pol = (struct usf_pol){
        .now = 1000000000, .quantum = 20000000, .slice = 20000000, .nr_cores = cores, .nr_tasks = MAX_TASKS, .nr_groups = MAX_GROUPS,
        .task_stride = sizeof *m->tasks, .core_stride = sizeof *m->cores, .group_stride = sizeof *m->groups,
        .tasks = (char *)m->tasks, .cores = (char *)m->cores, .groups = (char *)m->groups, .data = m->data,
    };
    uint32_t packages = nodes > 4 ? 2 : 1, smt = cores >= 8 ? 2 : 1;
    for (uint32_t i = 0; i < cores; i++) {
        uint32_t node = i * nodes / cores, llc = i * (nodes * llcs) / cores;
        m->cores[i] = (struct usf_pol_core){.id = i, .cpu = i, .node = node, .llc = llc, .package = node * packages / nodes,
                                            .phys = i / smt, .current = USF_NONE};
        m->core[i] = (struct model_core){.task = USF_NONE, .group = USF_NONE, .round = MAX_GROUPS - 1};
    }
    if (!policy_ops_is_valid(ops, why, sizeof why)) machine_fail(m, CHECK_LOADS, why);
    machine_wrap(m, ops);
    REQUIRE(m, CHECK_LOADS, m->ops.init(&m->pol) == 0, "init refuses this machine");
}

void machine_free(struct machine *m) { machine_unmap(m); }

bool machine_allowed(const struct machine *m, uint32_t task, uint32_t core)
{ return usf_may_run((struct usf_pol *)(uintptr_t)&m->pol, task, core); }

bool machine_is_waited_for(const struct machine *m, uint32_t core)
{
    for (uint32_t w = 0; w < MAX_TASKS / 64; w++)
        for (uint64_t held = m->held[w]; held; held &= held - 1)
            if (machine_allowed(m, w * 64 + (uint32_t)__builtin_ctzll(held), core)) return true;
    return false;
}

void machine_add_group(struct machine *m, uint32_t group, const uint64_t cores[USF_CORE_WORDS])
{
    memset(&m->groups[group], 0, sizeof *m->groups);
    m->groups[group].id = group;
    m->groups[group].proc = group / 2;
    m->groups[group].weight = 100;
    usf_cores_copy(m->groups[group].cores, cores);
    m->group[group] = true;
    m->ops.group_add(&m->pol, group);
}

void machine_add_task(struct machine *m, uint32_t task, uint32_t group)
{
    memset(&m->tasks[task], 0, sizeof *m->tasks);
    m->tasks[task].id = task;
    m->tasks[task].group = group;
    m->tasks[task].last_core = USF_NONE;
    m->groups[group].nr_tasks++;
    m->task[task] = (struct model_task){.doing = BLOCKED, .core = USF_NONE, .home = USF_NONE};
    m->ops.task_add(&m->pol, task);
}

static void start(struct machine *m, uint32_t task, uint32_t core)
{
    struct usf_pol_task *t = &m->tasks[task];
    REQUIRE(m, CHECK_LEGAL, m->core[core].task == USF_NONE, "a core that is busy was given a task");
    m->task[task].doing = RUNNING;
    m->task[task].core = core;
    m->core[core].task = task;
    if (m->core[core].group != t->group && !m->core[core].keeps_turn) m->core[core].group = t->group, m->core[core].since = m->pol.now;
    m->core[core].keeps_turn = false;
    t->last_core = core;
    t->ready_since = 0;
    m->cores[core].current = task;
    m->cores[core].since = m->pol.now;
    usf_give_way(&m->cores[core], 0);
    usf_keep(&m->cores[core], 0);
    m->ops.started(&m->pol, core, task);
}

static void stop(struct machine *m, uint32_t core, enum doing to)
{
    uint32_t task = m->core[core].task;
    m->groups[m->tasks[task].group].busy_ns += m->pol.now - m->cores[core].since;
    m->cores[core].current = USF_NONE;
    m->core[core].task = USF_NONE;
    m->task[task].doing = to;
    m->task[task].core = USF_NONE;
    m->ops.stopped(&m->pol, core, task);
}

/* Where coop would queue it; USF_NONE: it chooses. */
static uint32_t home_of(const struct machine *m, uint32_t task)
{
    uint32_t last = m->tasks[task].last_core;
    return last != USF_NONE && machine_allowed(m, task, last) ? last : USF_NONE;
}

static void queue(struct machine *m, uint32_t task, enum usf_why why)
{
    m->task[task].doing = READY;
    m->task[task].home = why == USF_WHY_PREEMPT ? USF_NONE : home_of(m, task);
    m->task[task].since = m->pol.now;
    m->task[task].seq = ++m->seq;
    m->task[task].yielded = why == USF_WHY_YIELD;
    m->task[task].why = why;
    m->held[task / 64] |= 1ull << (task % 64);
    policy_enqueue(&m->pol, &m->ops, task, why);
    m->groups[m->tasks[task].group].nr_ready++;
}

void machine_queue(struct machine *m, uint32_t task, enum usf_why why)
{
    m->tasks[task].ready_since = m->pol.now;
    queue(m, task, why);
}

void machine_put_back(struct machine *m, uint32_t task, uint32_t core, bool near)
{
    enum usf_why why = m->task[task].why;
    if (!near || !turn_is_anothers(&m->tasks[task], core, why, m->pol.now)) m->tasks[task].ready_since = m->pol.now;
    queue(m, task, USF_WHY_YIELD);
    m->task[task].why = why;
    machine_settle(m);
}

void machine_unqueue(struct machine *m, uint32_t task)
{
    policy_dequeue(&m->pol, &m->ops, task);
    m->held[task / 64] &= ~(1ull << (task % 64));
    m->groups[m->tasks[task].group].nr_ready--;
    m->task[task].doing = BLOCKED;
}

/* Is the core one that the scheduler names to the policy as idle for this task? */
static bool is_offered(const struct machine *m, uint32_t task, uint32_t core)
{ return m->core[core].task == USF_NONE && usf_allowed((struct usf_pol *)(uintptr_t)&m->pol, m->tasks[task].group, core); }

void machine_wake(struct machine *m, uint32_t task, enum usf_why why)
{
    uint64_t idle[USF_CORE_WORDS] = {0};
    const char *bad;
    REQUIRE(m, CHECK_LEGAL, m->task[task].doing == BLOCKED, "the history is wrong");
    for (uint32_t c = 0; c < m->pol.nr_cores; c++)
        if (is_offered(m, task, c)) usf_cores_add(idle, c);
    while (usf_cores_any(idle)) {
        uint32_t core = policy_select(&m->pol, &m->ops, task, idle, &bad);
        if (bad) machine_fail(m, CHECK_LEGAL, bad);
        if (core == USF_NONE) break;
        if (machine_below(m, 16)) {
            start(m, task, core);
            return;
        }
        usf_cores_remove(idle, core);       /* its owner has just come back to it: another */
    }
    machine_queue(m, task, why);
    machine_settle(m);
}

/* Take a task from the policy; it is the caller's to start. */
uint32_t machine_pick(struct machine *m, uint32_t core)
{
    const char *bad;
    uint32_t task = policy_pick(&m->pol, &m->ops, core, &bad);
    if (bad) machine_fail(m, CHECK_LEGAL, bad);
    m->seq++;
    if (task == USF_NONE) {
        /* (with a current one it is asked whether that is to give way: it goes on) */
        REQUIRE(m, CHECK_CONSERVING, m->core[core].task != USF_NONE || !machine_is_waited_for(m, core),
                "pick named no task although one waits that may run on the core");
        return USF_NONE;
    }
    REQUIRE(m, CHECK_LEGAL, m->task[task].doing == READY, "pick named a task that is not ready");
    m->held[task / 64] &= ~(1ull << (task % 64));
    m->groups[m->tasks[task].group].nr_ready--;
    return task;
}

static uint32_t choose(struct machine *m, uint32_t core)
{
    uint32_t task = machine_pick(m, core);
    if (m->on_choice) m->on_choice(m, core, task);
    return task;
}

uint32_t machine_switch(struct machine *m, uint32_t core, enum doing to, enum usf_why why)
{
    uint32_t old = m->core[core].task;
    if (old != USF_NONE) {
        stop(m, core, to);
        if (to == READY) machine_queue(m, old, why);
    }
    uint32_t task = choose(m, core);
    if (task != USF_NONE) start(m, task, core);
    return task;
}

uint32_t machine_give_way(struct machine *m, uint32_t core, enum usf_why why)
{
    uint32_t old = m->core[core].task, task;
    if (old == USF_NONE || !machine_is_waited_for(m, core)) return old;
    if ((task = choose(m, core)) == USF_NONE) return old;
    stop(m, core, READY);
    m->task[old].doing = BLOCKED;
    start(m, task, core);
    machine_queue(m, old, why);
    machine_settle(m);
    return task;
}

void machine_overtake(struct machine *m, uint32_t task, uint32_t core)
{
    uint32_t old = m->core[core].task;
    machine_unqueue(m, task);
    stop(m, core, BLOCKED);
    start(m, task, core);
    machine_queue(m, old, USF_WHY_YIELD);
    machine_settle(m);
}

bool machine_yields(struct machine *m, uint32_t core)
{
    if (!machine_is_waited_for(m, core)) return false;
    const struct usf_pol_core *c = &m->cores[core];
    bool keeps = turn_is_kept(c, m->pol.now, m->pol.now);
    uint64_t pause = keeps && machine_below(m, 4) ? 0 : USF_ROW_NS + 1;      /* since the yield before this one */
    if (turn_is_kept(c, m->pol.now, m->pol.now - pause)) return false;
    bool gives_way = m->ops.yield(&m->pol, core, m->core[core].task);
    REQUIRE(m, CHECK_LEGAL, !keeps || !gives_way, "yield lets a task go that was to keep its core until later (usf_keep)");
    return gives_way;
}

uint32_t machine_take(struct machine *m, uint32_t core) { return machine_give_way(m, core, USF_WHY_PREEMPT); }

void machine_settle(struct machine *m)
{
    for (uint32_t c = 0; c < m->pol.nr_cores; c++)
        if (m->core[c].task == USF_NONE && machine_is_waited_for(m, c)) machine_switch(m, c, BLOCKED, USF_WHY_WAKE);
}

void machine_tick(struct machine *m)
{
    m->ops.tick(&m->pol);
    for (uint32_t c = 0; c < m->pol.nr_cores; c++)
        if (m->core[c].task != USF_NONE && turn_is_due(&m->cores[c], m->pol.now)) machine_take(m, c);
}

/* ---- changes from outside -------------------------------------------------------------------- */

/* A task that runs where it may no longer run has its core taken. */
static void take_lost_cores(struct machine *m)
{
    for (uint32_t c = 0; c < m->pol.nr_cores; c++) {
        uint32_t task = m->core[c].task;
        if (task == USF_NONE || machine_allowed(m, task, c)) continue;
        stop(m, c, BLOCKED);
        machine_queue(m, task, USF_WHY_PREEMPT);
    }
    machine_settle(m);
}

void machine_confine(struct machine *m, uint32_t group, const uint64_t cores[USF_CORE_WORDS])
{
    static bool was_ready[MAX_TASKS];
    for (uint32_t t = 0; t < MAX_TASKS; t++) {
        was_ready[t] = m->task[t].doing == READY && m->tasks[t].group == group;
        if (was_ready[t]) machine_unqueue(m, t);
    }
    usf_cores_copy(m->groups[group].cores, cores);
    m->ops.group_changed(&m->pol, group);
    for (uint32_t t = 0; t < MAX_TASKS; t++)
        if (was_ready[t]) machine_queue(m, t, m->task[t].why);
    take_lost_cores(m);
}

void machine_change_task(struct machine *m, uint32_t task, const struct usf_pol_task *like)
{
    struct usf_pol_task *t = &m->tasks[task];
    bool was_ready = m->task[task].doing == READY;
    if (was_ready) machine_unqueue(m, task);
    t->priority = like->priority;
    t->deadline = like->deadline;
    t->affinity = like->affinity;
    t->affinity_id = like->affinity_id;
    t->strict = like->strict;
    memcpy(t->mask, like->mask, sizeof t->mask);
    m->ops.group_changed(&m->pol, t->group);
    if (was_ready) machine_queue(m, task, m->task[task].why);
    take_lost_cores(m);
}

/* To the policy it ends and begins anew.  One that runs stays on its core, even if the new group
 * may not use that. */
void machine_change_group(struct machine *m, uint32_t task, uint32_t group)
{
    struct usf_pol_task *t = &m->tasks[task];
    struct model_task was = m->task[task];
    if (was.doing == RUNNING) stop(m, was.core, BLOCKED);
    if (was.doing == READY) machine_unqueue(m, task);
    m->ops.task_remove(&m->pol, task);
    m->groups[t->group].nr_tasks--;
    memset(t->data, 0, sizeof t->data);
    t->group = group;
    m->groups[group].nr_tasks++;
    m->ops.task_add(&m->pol, task);
    if (was.doing == RUNNING) start(m, task, was.core);
    if (was.doing == READY) machine_queue(m, task, was.why);
    machine_settle(m);
}

void machine_remove_task(struct machine *m, uint32_t task)
{
    struct usf_pol_group *group = &m->groups[m->tasks[task].group];
    if (m->task[task].doing == RUNNING) stop(m, m->task[task].core, BLOCKED);
    if (m->task[task].doing == READY) machine_unqueue(m, task);
    m->task[task].doing = NOTHING;
    m->ops.task_remove(&m->pol, task);
    group->nr_tasks--;
}

void machine_remove_group(struct machine *m, uint32_t group)
{
    for (uint32_t t = 0; t < MAX_TASKS; t++)
        if (m->task[t].doing != NOTHING && m->tasks[t].group == group) machine_remove_task(m, t);
    m->ops.group_remove(&m->pol, group);
    m->group[group] = false;
    machine_settle(m);
}

bool machine_restarts = true;

/* As after the death of a process inside an operation, or a change of policies: queues are built
 * anew from the records. */
void machine_restart(struct machine *m)
{
    if (!machine_restarts) return;
    for (uint32_t i = 0; i < m->pol.nr_cores; i++) memset(m->cores[i].data, 0xa5, USF_POL_CORE_DATA);     /* half changed */
    memset(m->data, 0x5a, USF_POL_DATA);
    policy_wipe(&m->pol, MAX_GROUPS, MAX_TASKS);
    REQUIRE(m, CHECK_WIPE, m->ops.init(&m->pol) == 0, "init refuses to begin anew");
    for (uint32_t i = 0; i < MAX_GROUPS; i++)
        if (m->group[i]) m->ops.group_add(&m->pol, i);
    for (uint32_t c = 0; c < m->pol.nr_cores; c++) m->core[c].group = USF_NONE, m->core[c].round = MAX_GROUPS - 1, m->core[c].overdue = false;
    for (uint32_t t = 0; t < MAX_TASKS; t++) {
        if (m->task[t].doing == NOTHING) continue;
        m->ops.task_add(&m->pol, t);
        if (m->task[t].doing != READY) continue;
        m->task[t].yielded = false;
        m->task[t].home = home_of(m, t);
        m->task[t].seq = ++m->seq;
        m->task[t].why = USF_WHY_WAKE;
        policy_enqueue(&m->pol, &m->ops, t, USF_WHY_WAKE);
    }
    for (uint32_t c = 0; c < m->pol.nr_cores; c++) {
        if (m->core[c].task == USF_NONE) continue;
        m->core[c].group = m->tasks[m->core[c].task].group;
        m->core[c].since = m->pol.now;
        m->ops.started(&m->pol, c, m->core[c].task);
    }
    machine_settle(m);
}
