/* src/sched/sound.c - what holds whenever the scheduler lock is released.
 * SPDX-License-Identifier: Apache-2.0
 *
 * S1, S4 and S6 (sched.h), and L1 to L5 (shm/layout.h).  Single records are checked where they
 * change, all of them before each release of the lock (expensive asserts).  The monitor and the
 * tools check what only damage would break. */
#include "sched/core.h"
#include "sched/owner.h"

/* ---- one record -------------------------------------------------------------------------------- */

bool core_is_rightly_held(struct sched *s, uint32_t core, uint64_t word)
{
    uint32_t t = core_task(word);
    if (t >= atomic_load(&s->h->task_hwm)) return false;
    return atomic_load(&s->tasks[t].state) == USF_TASK_RUNNING && atomic_load(&s->tasks[t].core) == core;
}

#if USF_ASSERTS >= 1
bool core_is_valid(struct sched *s, uint32_t core)
{
    if (core >= s->h->nr_cores) return false;
    uint64_t w = atomic_load(&s->cores[core].word);
    uint32_t task = core_task(w), current = s->cores[core].pol.current;
    if (core_state(w) == USF_CORE_IDLE) return current == USF_NONE;
    return core_state(w) <= USF_CORE_RELEASED && task < atomic_load(&s->h->task_hwm) && current == task && atomic_load(&s->tasks[task].core) == core;
}

bool group_is_valid(struct sched *s, uint32_t group)
{
    if (group >= atomic_load(&s->h->group_hwm)) return false;
    const struct usf_group *g = &s->groups[group];
    bool active = atomic_load(&g->state) == USF_GROUP_ACTIVE && g->proc < s->h->max_procs;
    bool named = g->pol.id == group && g->pol.proc == g->proc;                                  /* L5 */
    bool counted = active && s->procs[g->proc].nr_groups && s->procs[g->proc].nr_exclusive <= s->procs[g->proc].nr_groups;
    return counted && named && g->kind <= USF_GROUP_EXCLUSIVE && g->pol.nr_ready <= g->pol.nr_tasks;
}
#endif

/* ---- all of them, for any thread that looks ---------------------------------------------------- */

bool sched_is_valid(struct sched *s, char *why, unsigned cap)
{
    uint32_t ready = 0, hwm = atomic_load(&s->h->task_hwm);
    if (hwm > s->h->max_tasks) return usf_format(why, cap, "task high-water mark %u is out of range", hwm), false;
    for (uint32_t i = 0; i < s->h->nr_cores; i++) {
        uint64_t w = atomic_load(&s->cores[i].word);
        unsigned st = core_state(w);
        uint32_t t = core_task(w);
        if (st > USF_CORE_RELEASED) return usf_format(why, cap, "core %u has state %u", i, st), false;
        if (s->cores[i].lease.nr_tasks > USF_LEASE_TASKS) return usf_format(why, cap, "core %u has a lease of %u tasks", i, s->cores[i].lease.nr_tasks), false;
        if (st == USF_CORE_IDLE) continue;
        if (t >= hwm) return usf_format(why, cap, "core %u names task %u, which does not exist", i, t), false;
        if (atomic_load(&s->tasks[t].core) != i)
            return usf_format(why, cap, "core %u names task %u, which names another core", i, t), false;
    }
    for (uint32_t i = 0; i < hwm; i++) {
        unsigned st = atomic_load(&s->tasks[i].state);
        if (st > USF_TASK_GONE) return usf_format(why, cap, "task %u has state %u", i, st), false;
        if (!usf_task_is_known(st)) continue;
        if (s->tasks[i].proc >= s->h->max_procs)
            return usf_format(why, cap, "task %u names process %u", i, s->tasks[i].proc), false;
        const struct usf_pol_task *t = &s->tasks[i].pol;
        if (s->tasks[i].thread >= s->h->max_tasks) return usf_format(why, cap, "task %u names thread %u", i, s->tasks[i].thread), false;
        if (t->group >= s->h->max_groups) return usf_format(why, cap, "task %u names group %u", i, t->group), false;
        if (t->affinity > USF_AFFINITY_MASK || (t->affinity == USF_AFFINITY_CORE && t->affinity_id >= s->h->nr_cores))
            return usf_format(why, cap, "task %u is to run on core %u", i, t->affinity_id), false;
        if (st == USF_TASK_READY) ready++;
    }
    for (uint32_t i = 0, n = atomic_load(&s->h->group_hwm); i < n && i < s->h->max_groups; i++) {
        const struct usf_pol_group *g = &s->groups[i].pol;
        if (atomic_load(&s->groups[i].state) != USF_GROUP_ACTIVE || (g->weight >= 1 && g->weight <= SCHED_WEIGHT_MAX)) continue;
        return usf_format(why, cap, "group %u has weight %u", i, g->weight), false;
    }
    if (ready != atomic_load(&s->h->nr_ready))
        return usf_format(why, cap, "%u tasks are ready, %u are counted", ready, atomic_load(&s->h->nr_ready)), false;
    return true;
}

bool sched_check(struct sched *s, char *why, unsigned cap)
{
    struct sched_self me = {.task = USF_NONE};
    NO_WAKES(k);
    if (s->kernel || !core_enter(s, &me)) return true;
    bool valid = sched_is_valid(s, why, cap);
    core_leave(s, &me, &k);
    return valid;
}

/* ---- before a release of the lock -------------------------------------------------------------- */

#if USF_ASSERTS >= 2

/* S1 from the core's side: it is rightly held or free, and the policy was told the same. */
static bool core_agrees(struct sched *s, uint32_t core)
{
    uint64_t w = atomic_load(&s->cores[core].word);
    return core_is_valid(s, core) && (core_state(w) == USF_CORE_IDLE || core_is_rightly_held(s, core, w));
}

/* S1, S4 and L2 from the task's side. */
static bool task_agrees(struct sched *s, uint32_t task, unsigned state)
{
    struct usf_task *t = &s->tasks[task];
    const struct usf_group *g = core_group(s, task);
    if (t->pol.held != (state == USF_TASK_READY)) return false;
    if (atomic_load(&g->state) != USF_GROUP_ACTIVE || g->proc != t->proc) return false;      /* L2 */
    if (state != USF_TASK_RUNNING || s->kernel) return true;
    uint32_t core = atomic_load(&t->core);
    uint64_t w = core < s->h->nr_cores ? atomic_load(&s->cores[core].word) : 0;
    return core_state(w) != USF_CORE_IDLE && core_task(w) == task;
}

/* What the groups' records count of their tasks. */
static bool counts_agree(struct sched *s, uint32_t tasks, uint32_t ready)
{
    for (uint32_t i = 0, n = atomic_load(&s->h->group_hwm); i < n; i++) {
        if (atomic_load(&s->groups[i].state) != USF_GROUP_ACTIVE) continue;
        tasks -= s->groups[i].pol.nr_tasks;
        ready -= s->groups[i].pol.nr_ready;
    }
    return !tasks && !ready;
}

/* L1, L4, L5. */
static bool group_agrees(struct sched *s, uint32_t group)
{
    const struct usf_group *g = &s->groups[group];
    uint64_t cores[USF_CORE_WORDS], own[USF_CORE_WORDS];
    if (!group_is_valid(s, group) || atomic_load(&s->procs[g->proc].state) != USF_PROC_ACTIVE) return false;
    core_cores_of(s, group, cores, own);
    return usf_cores_same(cores, g->pol.cores) && usf_cores_same(own, g->pol.own);
}

static bool says(const char *what, uint32_t which)
{
    usf_warn("%s %u is not what it should be", what, which);
    return false;
}

bool core_is_sound(struct sched *s, uint32_t name)
{
    char why[160];
    uint32_t tasks = 0, ready = 0, hwm = atomic_load(&s->h->task_hwm);
    /* A thread that was taken for dead does not own the lock any more. */
    if (lock_owner(&s->h->lock) != name) return true;
    if (usf_cores_any(s->h->lock.leases)) return true;      /* leased tasks change without the lock */
    if (!sched_is_valid(s, why, sizeof why)) return usf_warn("%s", why), false;
    for (uint32_t i = 0; i < s->h->nr_cores; i++)
        if (!core_agrees(s, i)) return says("core", i);
    for (uint32_t i = 0; i < hwm; i++) {
        unsigned st = atomic_load(&s->tasks[i].state);
        if (!usf_task_is_known(st)) continue;       /* others change these */
        if (!task_agrees(s, i, st)) return says("task", i);
        tasks++;
        ready += st == USF_TASK_READY;
    }
    for (uint32_t i = 0, n = atomic_load(&s->h->group_hwm); i < n; i++)
        if (atomic_load(&s->groups[i].state) == USF_GROUP_ACTIVE && !group_agrees(s, i)) return says("group", i);
    if (ready && !sched_is_bound(s)) return says("the binding,", USF_UNBOUND);     /* S6 */
    return counts_agree(s, tasks, ready) || says("number of tasks,", tasks);
}
#endif
