/* src/check/history.c - random histories.  SPDX-License-Identifier: Apache-2.0
 *
 * What may happen to an instance, in any order: threads come, block, wake alone or many at once,
 * yield, are preempted, end, change their group; processes come, with one group or two, and are
 * killed in any state; a group ends; cores, weights and priorities of groups change, as do their
 * threads' priorities, deadlines and affinities; a pick is taken back; all state is wiped and built
 * anew. */
#include "check/internal.h"
#include <string.h>

const struct check_history check_histories[] = {
    {"one-core",     1,   1, 1, 3,    20,   3000, .moves = false, .watched = true,  .extreme = false},
    {"two-cores",    2,   1, 1, 2,    40,   3000, .moves = false, .watched = true,  .extreme = true},
    {"moved",        3,   1, 1, 3,    24,   1000, .moves = true,  .watched = false, .extreme = false},
    {"eight-cores",  8,   2, 2, 4,    60,   4000, .moves = false, .watched = true,  .extreme = false},
    {"extreme",      12,  2, 3, 8,    80,   3000, .moves = false, .watched = false, .extreme = true},
    {"two-sockets",  96,  4, 3, 16,   300,  4000, .moves = false, .watched = false, .extreme = false},
    {"largest",      256, 8, 4, 2048, 2000, 4000, .moves = false, .watched = false, .extreme = true},
    {0},
};

static void random_mask(struct machine *m, uint64_t mask[USF_CORE_WORDS])
{
    uint32_t cores = m->pol.nr_cores;
    usf_cores_clear(mask);
    bool all = machine_below(m, 3) != 0;
    for (uint32_t c = 0; c < cores; c++)
        if (all || machine_below(m, 2)) usf_cores_add(mask, c);
    usf_cores_add(mask, machine_below(m, cores));
}

static uint32_t random_task(struct machine *m, enum doing doing, uint32_t limit)
{
    uint32_t from = machine_below(m, limit);
    for (uint32_t i = 0; i < limit; i++)
        if (m->task[(from + i) % limit].doing == doing) return (from + i) % limit;
    return USF_NONE;
}

/* Small numbers, so that many are equal; or, in an extreme history, the ends of the range. */
static int32_t random_priority(struct machine *m, bool extreme)
{
    static const int32_t ends[] = {INT32_MIN, INT32_MIN + 1, -1, 0, 1, INT32_MAX - 1, INT32_MAX};
    return extreme ? ends[machine_below(m, 7)] : (int32_t)machine_below(m, 5) - 2;
}

static uint32_t random_weight(struct machine *m, bool extreme)
{
    static const uint32_t ends[] = {0, 1, 100, 10000, UINT32_MAX};
    return extreme ? ends[machine_below(m, 5)] : 1 + machine_below(m, 400);
}

static void random_attributes(struct machine *m, struct usf_pol_task *t, bool extreme)
{
    static const uint64_t ends[] = {0, 1, UINT64_MAX};
    memset(t, 0, sizeof *t);
    if (machine_below(m, 3) == 0) t->priority = random_priority(m, extreme);
    if (machine_below(m, 3) == 0) t->deadline = extreme ? ends[machine_below(m, 3)] : m->pol.now + machine_below(m, 50000000);
    if (machine_below(m, 2)) return;
    t->affinity = (uint8_t)machine_below(m, USF_AFFINITY_MASK + 1);
    t->strict = (uint8_t)machine_below(m, 2);
    const struct usf_pol_core *c = &m->cores[machine_below(m, m->pol.nr_cores)];
    t->affinity_id = t->affinity == USF_AFFINITY_CORE ? c->id : t->affinity == USF_AFFINITY_LLC ? c->llc : c->node;
    if (extreme && machine_below(m, 4) == 0) t->affinity_id = machine_below(m, 2) ? USF_CORES_MAX : USF_NONE;     /* nowhere */
    if (t->affinity == USF_AFFINITY_MASK && !(extreme && machine_below(m, 4) == 0)) random_mask(m, t->mask);
}

static void add_somebody(struct machine *m, const struct check_history *h)
{
    uint32_t group = machine_below(m, h->groups), task = random_task(m, NOTHING, h->tasks);
    uint64_t mask[USF_CORE_WORDS];
    if (!m->group[group]) random_mask(m, mask), machine_add_group(m, group, mask);
    if (task == USF_NONE) return;
    machine_add_task(m, task, group);
    machine_wake(m, task, USF_WHY_NEW);
}

static void wake_many(struct machine *m, const struct check_history *h)
{
    uint32_t n = 1 + machine_below(m, 8), t;
    for (uint32_t i = 0; i < n && (t = random_task(m, BLOCKED, h->tasks)) != USF_NONE; i++) machine_queue(m, t, USF_WHY_WAKE);
    machine_settle(m);
}

static void change_group(struct machine *m, const struct check_history *h)
{
    uint32_t group = machine_below(m, h->groups), what = m->on_choice ? 4 : machine_below(m, 5);
    struct usf_pol_group *p = &m->groups[group];
    uint64_t mask[USF_CORE_WORDS];
    if (!m->group[group]) return;
    switch (what) {
    case 0: p->priority = random_priority(m, h->extreme); break;
    case 1: p->weight = random_weight(m, h->extreme); break;
    case 2: p->flags = machine_below(m, 4); break;
    case 3: p->progress += machine_below(m, 10), p->width = machine_below(m, 300); return;     /* the policy is not told */
    default:
        random_mask(m, mask);
        machine_confine(m, group, mask);
        return;
    }
    m->ops.group_changed(&m->pol, group);
    machine_settle(m);
}

static void change_task(struct machine *m, const struct check_history *h)
{
    struct usf_pol_task like;
    uint32_t task = random_task(m, (enum doing)(BLOCKED + machine_below(m, 3)), h->tasks);
    if (task == USF_NONE || m->on_choice) return;
    random_attributes(m, &like, h->extreme);
    machine_change_task(m, task, &like);
}

/* The other group of its process: one that is there, or is made. */
static uint32_t other_group(struct machine *m, const struct check_history *h, uint32_t group)
{
    uint32_t other = group ^ 1;
    uint64_t mask[USF_CORE_WORDS];
    if (other >= h->groups) return USF_NONE;
    if (!m->group[other]) random_mask(m, mask), machine_add_group(m, other, mask);
    return other;
}

static void move_task(struct machine *m, const struct check_history *h)
{
    uint32_t task = random_task(m, (enum doing)(BLOCKED + machine_below(m, 3)), h->tasks);
    if (task == USF_NONE || m->on_choice) return;
    uint32_t other = other_group(m, h, m->tasks[task].group);
    if (other != USF_NONE) machine_change_group(m, task, other);
}

/* Its tasks go to the other group. */
static void end_group(struct machine *m, const struct check_history *h)
{
    uint32_t group = machine_below(m, h->groups), other = m->group[group] && !m->on_choice ? other_group(m, h, group) : USF_NONE;
    for (uint32_t t = 0; t < h->tasks && other != USF_NONE; t++)
        if (m->task[t].doing != NOTHING && m->tasks[t].group == group) machine_change_group(m, t, other);
    if (other != USF_NONE) machine_remove_group(m, group);
}

static void end_process(struct machine *m, const struct check_history *h)
{
    uint32_t group = machine_below(m, h->groups);
    for (uint32_t g = group & ~1u; g <= (group | 1) && g < h->groups; g++)
        if (m->group[g]) machine_remove_group(m, g);
}

/* A busy-waiting task whose wait is not over is put back. */
static void pick_unproductive(struct machine *m, uint32_t core)
{
    if (m->on_choice || !machine_is_waited_for(m, core)) return;
    uint32_t task = machine_pick(m, core);
    if (task != USF_NONE) machine_put_back(m, task, core, machine_below(m, 2));      /* else its current one goes on */
}

/* One whose wait is over comes before those that the policy would name.  All that are queued are of
 * one rank then; to the policy that is no other case, so here they need not be. */
static void overtake(struct machine *m, const struct check_history *h, uint32_t core)
{
    uint32_t task = random_task(m, READY, h->tasks);
    if (m->on_choice || task == USF_NONE || m->tasks[task].group != m->tasks[m->core[core].task].group || !machine_allowed(m, task, core)) return;
    if (machine_yields(m, core)) machine_overtake(m, task, core);
}

static void scheduling_point(struct machine *m, const struct check_history *h)
{
    uint32_t core = machine_below(m, m->pol.nr_cores), task = m->core[core].task, r = machine_below(m, 20);
    if (task == USF_NONE) return;
    if (r < 9) {
        machine_switch(m, core, BLOCKED, USF_WHY_WAKE);
    } else if (r < 15) {
        if (!machine_yields(m, core)) return;
        if (machine_below(m, 2)) machine_give_way(m, core, USF_WHY_YIELD);
        else machine_switch(m, core, READY, USF_WHY_YIELD);     /* it blocked, was woken at once, and yielded */
    } else if (r < 17) {
        machine_take(m, core);
    } else if (r == 17) {
        pick_unproductive(m, core);
    } else if (r == 18) {
        overtake(m, h, core);
    } else {
        machine_remove_task(m, task);
        machine_settle(m);
    }
}

static void event(struct machine *m, const struct check_history *h)
{
    uint32_t r = machine_below(m, 208), t;
    if (r >= 207) end_group(m, h);
    else if (r >= 200) move_task(m, h);
    else if (r < 20) add_somebody(m, h);
    else if (r < 22) end_process(m, h);
    else if (r < 24 && (t = random_task(m, READY, h->tasks)) != USF_NONE) machine_remove_task(m, t);
    else if (r < 30) change_group(m, h);
    else if (r < 36) change_task(m, h);
    else if (r == 36 && machine_below(m, 4) == 0) machine_restart(m);
    else if (r < 44) wake_many(m, h);
    else if (r < 105 && (t = random_task(m, BLOCKED, h->tasks)) != USF_NONE)
        machine_wake(m, t, machine_below(m, 4) ? USF_WHY_WAKE : USF_WHY_RETURN);
    else scheduling_point(m, h);
}

/* Each core works off what it may; who is left may run nowhere, and leaves when its process
 * dies. */
static void drain(struct machine *m)
{
    uint64_t left = 0;
    for (uint32_t t = 0; t < MAX_TASKS; t++) left += m->task[t].doing != NOTHING;
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t c = 0; c < m->pol.nr_cores; c++) {
            if (machine_switch(m, c, BLOCKED, USF_WHY_WAKE) == USF_NONE) continue;
            moved = true;
            REQUIRE(m, CHECK_LEGAL, left--, "gives out more tasks than there are");
        }
    }
    for (uint32_t t = 0; t < MAX_TASKS; t++)
        for (uint32_t c = 0; m->task[t].doing == READY && c < m->pol.nr_cores; c++)
            REQUIRE(m, CHECK_LOST, !machine_allowed(m, t, c), "a task that was enqueued never came out of pick");
    for (uint32_t p = 0; p < MAX_GROUPS; p++)
        if (m->group[p]) machine_remove_group(m, p);
    for (uint32_t c = 0; c < m->pol.nr_cores; c++) machine_pick(m, c);     /* names no task, or that is illegal */
}

void check_history(const struct check_history *h, const struct usf_policy_ops *ops, uint64_t seed,
                   void (*on_choice)(struct machine *m, uint32_t core, uint32_t task))
{
    static struct machine m;
    machine_init(&m, ops, seed, h->cores, h->nodes, h->llcs);
    m.on_choice = on_choice;
    m.moves = h->moves;
    m.watch_tasks = h->watched ? h->tasks : 0;
    m.watch_groups = h->groups;
    if (h->extreme && !on_choice) m.pol.quantum = machine_below(&m, 2) ? 0 : 1, m.pol.slice = machine_below(&m, 2) ? 0 : UINT64_MAX;
    if (machine_below(&m, 4) == 0) m.pol.flags = USF_POL_BLIND;
    for (uint32_t t = 0; h->full && t < h->tasks; t++) add_somebody(&m, h);
    for (m.step = 0; m.step < h->steps; m.step++) {
        uint32_t pause = machine_below(&m, 20);
        m.pol.now += pause == 0 ? machine_below(&m, 30000000) : pause < 4 ? 0 : machine_below(&m, 100000);
        if (h->extreme && machine_below(&m, 1000) == 0) m.pol.now += 86400ull * 1000000000;     /* it was suspended for a day */
        event(&m, h);
        if (machine_below(&m, 30) == 0) machine_tick(&m);
    }
    drain(&m);
    machine_free(&m);
}
