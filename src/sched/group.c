/* src/sched/group.c - groups come and go, tasks change theirs.  SPDX-License-Identifier: Apache-2.0
 *
 * A process's first group is made when the process joins, and ends with the process's record.  Its
 * threads may make further groups and move into them.  All of this happens under the scheduler
 * lock.  If its owner dies in the middle, recovery completes the change from the records: a group
 * exists from the store of ACTIVE on, a task is in the group that its record names, and a process
 * that is LEAVING has no groups (core_mend_groups). */
#include <errno.h>

#include "sched/core.h"
#include "shm/shm.h"

/* ---- the table ----------------------------------------------------------------------------------- */

uint32_t core_next_group(struct sched *s, uint32_t proc, uint32_t from)
{
    const struct usf_proc *p = &s->procs[proc];
    if (p->nr_groups == 1) return from <= p->group ? p->group : USF_NONE;
    for (uint32_t i = from; i < s->pol.nr_groups; i++)
        if (s->groups[i].proc == proc && atomic_load(&s->groups[i].state) == USF_GROUP_ACTIVE) return i;
    return USF_NONE;
}

static bool is_further(struct sched *s, uint32_t group)
{
    uint32_t proc = atomic_load_explicit(&s->groups[group].proc, memory_order_relaxed);
    return proc < USF_MAX_PROCS && __atomic_load_n(&s->procs[proc].group, __ATOMIC_RELAXED) != group;
}

/* Without the lock: others may take it.  Further groups leave a record for each process that may
 * come. */
static int find_free(struct sched *s, bool further)
{
    uint32_t left = s->h->max_groups - s->h->max_procs, i = 0, found = USF_NONE;
    for (;;) {
        uint32_t hwm = atomic_load(&s->h->group_hwm);
        for (; i < hwm && (further || found == USF_NONE); i++) {
            if (atomic_load_explicit(&s->groups[i].state, memory_order_relaxed) != USF_GROUP_FREE) left -= further && is_further(s, i);
            else if (found == USF_NONE) found = i;
            if (!left) return -EAGAIN;
        }
        if (found != USF_NONE) return (int)found;
        int r = shm_reserve_groups(s->h, s->shm_dir, hwm + 1);
        if (r) return r;
    }
}

int core_enter_for_group(struct sched *s, struct sched_self *me, bool further)
{
    for (;;) {
        int i = find_free(s, further);
        if (i < 0) return i;
        USF_POINT("sched.group_found");
        if (!core_enter(s, me)) return -ESTALE;
        if (atomic_load(&s->groups[i].state) == USF_GROUP_FREE) return i;
        core_leave(s, me, &(struct wakes){0});
    }
}

/* The cores that other groups of its process keep to themselves; not those that it has of its
 * own. */
static void excluded(struct sched *s, uint32_t group, const uint64_t own[USF_CORE_WORDS], uint64_t out[USF_CORE_WORDS])
{
    uint32_t proc = s->groups[group].proc;
    for (uint32_t i = 0; i < s->pol.nr_groups; i++) {
        const struct usf_group *g = &s->groups[i];
        if (i == group || g->proc != proc || g->kind != USF_GROUP_EXCLUSIVE || atomic_load(&g->state) != USF_GROUP_ACTIVE) continue;
        uint64_t its[USF_CORE_WORDS];
        if (usf_cores_andnot(its, g->wants, own)) usf_cores_or(out, out, its);
    }
}

void core_cores_of(struct sched *s, uint32_t group, uint64_t cores[USF_CORE_WORDS], uint64_t own[USF_CORE_WORDS])
{
    const struct usf_group *g = &s->groups[group];
    const struct usf_proc *p = &s->procs[g->proc];
    uint64_t others[USF_CORE_WORDS] = {0}, rest[USF_CORE_WORDS];
    if (!usf_cores_and(cores, g->wants, p->cores)) usf_cores_copy(cores, p->cores);
    bool owns = g->kind != USF_GROUP_LIMITED && usf_cores_and(own, g->wants, p->cores);
    if (!owns) usf_cores_clear(own);
    if (g->kind == USF_GROUP_BORROWING) usf_cores_copy(cores, p->cores);
    if (p->nr_exclusive) excluded(s, group, own, others);
    if (usf_cores_andnot(rest, cores, others)) usf_cores_copy(cores, rest);
}

void core_set_cores(struct sched *s, uint32_t group)
{
    struct usf_pol_group *g = &s->groups[group].pol;
    uint64_t cores[USF_CORE_WORDS], own[USF_CORE_WORDS];
    core_cores_of(s, group, cores, own);
    for (unsigned w = 0; w < USF_CORE_WORDS; w++) __atomic_store_n(&g->cores[w], cores[w], __ATOMIC_RELAXED);
    usf_cores_copy(g->own, own);
    g->flags = usf_cores_any(own) ? g->flags | USF_GROUP_OWNS : g->flags & ~USF_GROUP_OWNS;
}

/* What one group has of its own has changed, so what others may use does. */
static void divide(struct sched *s, uint32_t proc)
{
    uint64_t cores[USF_CORE_WORDS];
    usf_cores_copy(cores, s->procs[proc].cores);
    core_confine(s, proc, cores);
}

static void set_wants(struct usf_group *g, const uint64_t *wants, uint32_t kind)
{
    for (unsigned w = 0; w < USF_CORE_WORDS; w++) __atomic_store_n(&g->wants[w], wants ? wants[w] : ~0ull, __ATOMIC_RELAXED);
    __atomic_store_n(&g->kind, wants ? kind : USF_GROUP_LIMITED, __ATOMIC_RELAXED);
}

void core_make_group(struct sched *s, uint32_t group, uint32_t proc, const struct group_traits *is)
{
    struct usf_group *g = &s->groups[group];
    usf_xassert(usf_lock_is_held(USF_RANK_SCHED));
    usf_dassert(proc < s->h->max_procs && atomic_load(&g->state) == USF_GROUP_FREE);
    g->proc = proc;
    usf_format(g->name, sizeof g->name, "%s", is->name);
    __builtin_memset(&g->gone, 0, sizeof g->gone);
    __builtin_memset(&g->pol, 0, sizeof g->pol);
    set_wants(g, is->wants, is->kind);
    g->borrowed = g->reclaimed = 0;
    g->pol.id = group;
    g->pol.proc = proc;
    g->pol.weight = is->weight;
    g->pol.priority = is->priority;
    g->pol.flags = is->flags;
    core_set_cores(s, group);
    USF_POINT("sched.group_written");
    atomic_store(&g->state, USF_GROUP_ACTIVE);
    s->procs[proc].nr_groups++;
    s->procs[proc].nr_exclusive += g->kind == USF_GROUP_EXCLUSIVE;
    USF_POINT("sched.group_made");
    s->ops.group_add(&s->pol, group);
    if (g->kind == USF_GROUP_EXCLUSIVE) divide(s, proc);
    usf_dassert(group_is_valid(s, group));
}

/* It has no tasks. */
static void end_group(struct sched *s, uint32_t group)
{
    struct usf_group *g = &s->groups[group];
    usf_assert(!g->pol.nr_tasks);
    usf_dassert(group_is_valid(s, group));
    s->ops.group_remove(&s->pol, group);
    USF_POINT("sched.group_ends");
    s->procs[g->proc].nr_groups--;
    s->procs[g->proc].nr_exclusive -= g->kind == USF_GROUP_EXCLUSIVE;
    atomic_store(&g->state, USF_GROUP_FREE);
}

void core_end_groups(struct sched *s, uint32_t proc, struct usf_counters *gone)
{
    struct usf_proc *p = &s->procs[proc];
    uint32_t first = p->group;
    for (uint32_t i = 0; i < s->pol.nr_groups && p->nr_groups > 1; i++) {
        if (s->groups[i].proc != proc || i == first || atomic_load(&s->groups[i].state) != USF_GROUP_ACTIVE) continue;
        core_add_counters(&s->groups[first].gone, &s->groups[i].gone);
        end_group(s, i);
    }
    *gone = s->groups[first].gone;
    end_group(s, first);
    __atomic_store_n(&p->group, USF_NONE, __ATOMIC_RELAXED);
}

void core_mend_groups(struct sched *s)
{
    for (uint32_t i = 0, n = atomic_load(&s->h->proc_hwm); i < n; i++) s->procs[i].nr_groups = s->procs[i].nr_exclusive = 0;
    for (uint32_t i = 0; i < s->pol.nr_groups; i++) {
        struct usf_group *g = &s->groups[i];
        if (atomic_load(&g->state) != USF_GROUP_ACTIVE) continue;
        if (g->proc >= USF_MAX_PROCS || atomic_load(&s->procs[g->proc].state) != USF_PROC_ACTIVE) {
            atomic_store(&g->state, USF_GROUP_FREE);
            continue;
        }
        s->procs[g->proc].nr_groups++;
        s->procs[g->proc].nr_exclusive += g->kind == USF_GROUP_EXCLUSIVE;
        g->pol.nr_tasks = g->pol.nr_ready = 0;      /* counted anew by the caller */
    }
    for (uint32_t i = 0; i < s->pol.nr_groups; i++)
        if (atomic_load(&s->groups[i].state) == USF_GROUP_ACTIVE) core_set_cores(s, i);
}

/* ---- what threads of the process do ---------------------------------------------------------------- */

static bool is_valid(uint32_t weight, int32_t priority, uint32_t kind)
{
    return weight >= 1 && weight <= SCHED_WEIGHT_MAX && priority >= -SCHED_PRIORITY_MAX && priority <= SCHED_PRIORITY_MAX
           && kind <= USF_GROUP_EXCLUSIVE;
}

/* holds the lock.  A task that runs where its group may not run any more gives the core up when
 * another task waits for it. */
static void send_away(struct sched *s, uint32_t proc)
{
    for (uint32_t c = 0; c < s->h->nr_cores; c++) {
        uint32_t task = s->cores[c].pol.current;
        if (task != USF_NONE && s->tasks[task].proc == proc && !usf_may_run(&s->pol, task, c)) usf_give_way(&s->cores[c].pol, s->pol.now);
    }
}

/* holds the lock.  This thread runs where its group may not. */
static bool is_outside(struct sched *s, struct sched_self *me)
{
    if (me->task == USF_NONE || atomic_load(&s->tasks[me->task].state) != USF_TASK_RUNNING) return false;
    return !usf_may_run(&s->pol, me->task, atomic_load(&s->tasks[me->task].core));
}

int sched_group_make(struct sched *s, struct sched_self *me, const char *name, uint32_t weight, int32_t priority,
                     const uint64_t wants[USF_CORE_WORDS], uint32_t kind)
{
    NO_WAKES(k);
    if (!is_valid(weight, priority, kind)) return -EINVAL;
    int group = core_enter_for_group(s, me, true);
    if (group < 0) return group;
    uint32_t proc = s->proc;
    bool moves = false;
    if (proc != USF_NONE) {
        struct group_traits is = {.name = name, .weight = weight, .priority = priority, .wants = wants, .kind = kind};
        is.flags = s->groups[s->procs[proc].group].pol.flags & USF_GROUP_NO_GANG;
        core_make_group(s, (uint32_t)group, proc, &is);
        send_away(s, proc);
        core_fill_each(s, &k);
        moves = is_outside(s, me);
    }
    core_leave(s, me, &k);
    if (moves && !s->kernel) sched_move(s, me);
    return proc != USF_NONE ? group : -ESTALE;
}

static bool is_own(struct sched *s, uint32_t group)
{
    return group < s->pol.nr_groups && atomic_load(&s->groups[group].state) == USF_GROUP_ACTIVE && s->groups[group].proc == s->proc;
}

/* The core whose word names the task, if it counts as running there. */
static uint32_t core_of(struct sched *s, uint32_t task)
{
    uint32_t core = atomic_load(&s->tasks[task].core);
    return core < s->h->nr_cores && s->cores[core].pol.current == task ? core : USF_NONE;
}

/* holds the lock.  For the policy the task ends and another begins, in the same state. */
static void change(struct sched *s, uint32_t task, uint32_t group)
{
    struct usf_task *t = &s->tasks[task];
    bool ready = atomic_load(&t->state) == USF_TASK_READY;
    uint32_t core = core_of(s, task);
    if (t->pol.group == group) return;
    usf_dassert(group_is_valid(s, t->pol.group) && group_is_valid(s, group));
    if (ready) core_dequeue(s, task);
    if (core != USF_NONE) core_pause(s, core, task);
    s->ops.task_remove(&s->pol, task);
    core_group(s, task)->pol.nr_tasks--;
    USF_POINT("sched.group_left");
    __builtin_memset(t->pol.data, 0, sizeof t->pol.data);
    __atomic_store_n(&t->pol.group, group, __ATOMIC_RELAXED);
    USF_POINT("sched.group_changed");
    core_group(s, task)->pol.nr_tasks++;
    s->ops.task_add(&s->pol, task);
    core_settle_strict(s, task);
    bind_forget(s, task);       /* the groups' cores may differ */
    if (core != USF_NONE) core_resume(s, core, task);
    if (ready) core_enqueue(s, task, atomic_load(&t->why));
    usf_dassert(group_is_valid(s, group));
}

int sched_group_adjust(struct sched *s, struct sched_self *me, uint32_t group, uint32_t weight, int32_t priority,
                       const uint64_t wants[USF_CORE_WORDS], uint32_t kind)
{
    NO_WAKES(k);
    bool moves = false;
    int r = -ESRCH;
    if (!is_valid(weight, priority, kind)) return -EINVAL;
    if (!core_enter(s, me)) return -ESTALE;
    if (is_own(s, group) && group != s->procs[s->proc].group) {
        struct usf_group *g = &s->groups[group];
        struct usf_proc *p = &s->procs[s->proc];
        p->nr_exclusive -= g->kind == USF_GROUP_EXCLUSIVE;
        set_wants(g, wants, kind);
        USF_POINT("sched.group_adjusted");
        p->nr_exclusive += g->kind == USF_GROUP_EXCLUSIVE;
        divide(s, s->proc);
        core_change_group(s, group, weight, priority, g->pol.flags);
        send_away(s, s->proc);
        core_fill_each(s, &k);
        moves = is_outside(s, me);
        r = 0;
        usf_dassert(group_is_valid(s, group));
    }
    core_leave(s, me, &k);
    if (moves && !s->kernel) sched_move(s, me);
    return r;
}

int sched_change_group(struct sched *s, struct sched_self *me, uint32_t task, uint32_t group)
{
    NO_WAKES(k);
    bool moves = false;
    int r = -ESRCH;
    if (!core_enter(s, me)) return -ESTALE;
    if (core_is_own(s, task) && is_own(s, group)) {
        change(s, task, group);
        core_fill_each(s, &k);
        moves = task == me->task && is_outside(s, me);
        r = 0;
    }
    core_leave(s, me, &k);
    if (moves && !s->kernel) sched_move(s, me);
    return r;
}

int sched_group_end(struct sched *s, struct sched_self *me, uint32_t group)
{
    NO_WAKES(k);
    int r = -ESRCH;
    if (!core_enter(s, me)) return -ESTALE;
    if (is_own(s, group)) {
        uint32_t first = s->procs[s->proc].group, hwm = atomic_load(&s->h->task_hwm);
        r = group == first ? -EINVAL : 0;
        for (uint32_t i = 0; !r && i < hwm && s->groups[group].pol.nr_tasks; i++) {
            unsigned st = atomic_load(&s->tasks[i].state);
            if (!usf_task_is_known(st) || s->tasks[i].pol.group != group) continue;
            change(s, i, first);
        }
        if (!r) {
            bool exclusive = s->groups[group].kind == USF_GROUP_EXCLUSIVE;
            core_add_counters(&s->groups[first].gone, &s->groups[group].gone);
            end_group(s, group);
            if (exclusive) divide(s, s->proc);
            core_fill_each(s, &k);
        }
    }
    core_leave(s, me, &k);
    return r;
}
