/* tests/policy/turns.c - see turns.h.  SPDX-License-Identifier: Apache-2.0 */
#include "turns.h"

#define PROGRESS (20 * MS)

static const struct turns *begun;       /* the last */

void check_describe(void)
{
    const struct turns *t = begun;
    if (!t) return;
    fprintf(stderr, "%s: policy %s, after %lu us\n", t->what, t->ops.name, (unsigned long)(t->pol.now / 1000));
    for (uint32_t i = 0; i < t->nr_groups; i++) fprintf(stderr, "  group %u: %lu us\n", i, (unsigned long)(t->ran[i] / 1000));
}

void turns_begin(struct turns *t, const char *what, const struct usf_policy_ops *ops, uint32_t cores, uint32_t nodes)
{
    memset(t, 0, sizeof *t);
    begun = t;
    t->what = what;
    t->pol = (struct usf_pol){
        .now = 1000 * MS, .quantum = 20 * MS, .slice = 10 * MS, .nr_cores = cores, .nr_tasks = TURNS_TASKS,
        .nr_groups = TURNS_GROUPS, .task_stride = sizeof *t->tasks, .core_stride = sizeof *t->cores,
        .group_stride = sizeof *t->groups, .tasks = (char *)t->tasks, .cores = (char *)t->cores, .groups = (char *)t->groups,
        .data = t->data,
    };
    for (uint32_t c = 0; c < cores; c++) {
        uint32_t node = c * nodes / cores;
        t->cores[c] = (struct usf_pol_core){.id = c, .cpu = c, .phys = c, .node = node, .llc = node, .package = node, .current = USF_NONE};
    }
    policy_resolve(ops, &t->ops);
    CHECK(t->ops.init(&t->pol) == 0);
}

uint32_t turns_group(struct turns *t, uint32_t weight, int32_t priority, uint32_t flags)
{
    uint32_t i = t->nr_groups++;
    t->groups[i] = (struct usf_pol_group){.id = i, .weight = weight, .priority = priority, .flags = flags};
    usf_cores_fill(t->groups[i].cores, t->pol.nr_cores);
    t->ops.group_add(&t->pol, i);
    return i;
}

static void start(struct turns *t, uint32_t core, uint32_t task)
{
    struct usf_pol_core *c = &t->cores[core];
    CHECK(c->current == USF_NONE && usf_may_run(&t->pol, task, core));
    c->current = task;
    c->since = t->pol.now;
    c->give_way_at = 0;
    t->tasks[task].last_core = core;
    t->tasks[task].ready_since = 0;
    t->task[task].state = RUNS;
    t->ops.started(&t->pol, core, task);
}

static void stop(struct turns *t, uint32_t core)
{
    uint32_t task = t->cores[core].current;
    t->cores[core].current = USF_NONE;
    t->ops.stopped(&t->pol, core, task);
}

static void queue(struct turns *t, uint32_t task, enum usf_why why)
{
    t->task[task].state = QUEUED;
    t->tasks[task].ready_since = t->pol.now;
    t->groups[t->tasks[task].group].nr_ready++;
    policy_enqueue(&t->pol, &t->ops, task, why);
}

static uint32_t take(struct turns *t, uint32_t core)
{
    const char *why;
    uint32_t task = policy_pick(&t->pol, &t->ops, core, &why);
    CHECK(!why, "%s", why);
    if (task != USF_NONE) t->groups[t->tasks[task].group].nr_ready--;
    return task;
}

static bool any_waits(struct turns *t, uint32_t core)
{
    for (uint32_t i = 0; i < t->nr_tasks; i++)
        if (t->task[i].state == QUEUED && usf_may_run(&t->pol, i, core)) return true;
    return false;
}

static void fill(struct turns *t, uint32_t core)
{
    uint32_t task = take(t, core);
    if (task == USF_NONE) CHECK(!any_waits(t, core));       /* work conservation */
    else start(t, core, task);
}

void turns_wake(struct turns *t, uint32_t task)
{
    uint64_t idle[USF_CORE_WORDS] = {0};
    const char *why;
    for (uint32_t c = 0; c < t->pol.nr_cores; c++)
        if (t->cores[c].current == USF_NONE) usf_cores_add(idle, c);
    uint32_t core = policy_select(&t->pol, &t->ops, task, idle, &why);
    CHECK(!why, "%s", why);
    t->task[task].left = t->task[task].burst;
    if (core != USF_NONE) start(t, core, task);
    else queue(t, task, USF_WHY_WAKE);
}

uint32_t turns_task(struct turns *t, uint32_t group, uint64_t burst, uint64_t sleep)
{
    uint32_t i = t->nr_tasks++;
    t->tasks[i] = (struct usf_pol_task){.id = i, .group = group, .last_core = USF_NONE};
    t->task[i].burst = burst;
    t->task[i].sleep = sleep;
    t->task[i].state = ASLEEP;
    t->task[i].wakes_at = UINT64_MAX;
    t->groups[group].nr_tasks++;
    t->ops.task_add(&t->pol, i);
    return i;
}

void turns_sleep(struct turns *t, uint32_t core)
{
    uint32_t task = t->cores[core].current;
    stop(t, core);
    t->task[task].state = ASLEEP;
    t->task[task].wakes_at = t->task[task].sleep ? t->pol.now + t->task[task].sleep : UINT64_MAX;
    fill(t, core);
}

/* `current` goes on if nobody is named, as in src/sched. */
static void give_way(struct turns *t, uint32_t core, enum usf_why why)
{
    uint32_t old = t->cores[core].current, next = take(t, core);
    t->task[old].left = t->task[old].burst;
    if (next == USF_NONE) return;
    stop(t, core);
    start(t, core, next);
    queue(t, old, why);
}

static void step(struct turns *t, uint32_t core)
{
    struct usf_pol_core *c = &t->cores[core];
    uint32_t task = c->current;
    if (task == USF_NONE) {
        if (any_waits(t, core)) fill(t, core);
        return;
    }
    t->ran[t->tasks[task].group] += TURNS_STEP;
    t->task[task].ran += TURNS_STEP;
    if (t->task[task].burst && (t->task[task].left -= TURNS_STEP) == 0) {
        if (t->task[task].sleep) turns_sleep(t, core);
        else give_way(t, core, USF_WHY_RETURN);
    } else if (any_waits(t, core) && ((c->give_way_at && t->pol.now >= c->give_way_at)
                                      || (t->pol.now - c->since) % PROGRESS >= PROGRESS - TURNS_STEP)) {
        give_way(t, core, USF_WHY_PREEMPT);
    }
}

void turns_run(struct turns *t, uint64_t ns)
{
    for (uint64_t end = t->pol.now + ns; t->pol.now < end;) {
        t->pol.now += TURNS_STEP;
        for (uint32_t i = 0; i < t->nr_tasks; i++) {
            if (t->task[i].state == ASLEEP && t->pol.now >= t->task[i].wakes_at) turns_wake(t, i);
            uint64_t waits = t->task[i].state == QUEUED ? t->pol.now - t->tasks[i].ready_since : 0;
            if (waits > t->longest_wait) t->longest_wait = waits;
        }
        bool waits = false;
        for (uint32_t c = 0; c < t->pol.nr_cores && !waits; c++) waits = any_waits(t, c);
        if (t->pol.now % (waits ? MS : 10 * MS) == 0) t->ops.tick(&t->pol);      /* as src/sched/watch.c does */
        for (uint32_t c = 0; c < t->pol.nr_cores; c++) step(t, c);
        if (t->each_step) t->each_step(t);
    }
}

double turns_fairness(const struct turns *t)
{
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < t->nr_groups; i++) {
        double x = (double)t->ran[i] / t->groups[i].weight;
        sum += x;
        squares += x * x;
    }
    return sum * sum / (t->nr_groups * squares);
}
