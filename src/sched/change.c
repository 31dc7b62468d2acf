/* src/sched/change.c - weights, priorities, affinities and deadlines change.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A policy may order its queues by any of these.  So a queued task leaves the queues before the
 * change and comes back after it, and in between the policy is told (group_changed). */
#include "sched/core.h"

/* Ready tasks of the group leave the queues or come back. */
static void requeue(struct sched *s, uint32_t group, bool in)
{
    uint32_t hwm = atomic_load(&s->h->task_hwm);
    for (uint32_t i = 0; i < hwm && s->groups[group].pol.nr_tasks; i++) {
        struct usf_task *t = &s->tasks[i];
        if (atomic_load(&t->state) != USF_TASK_READY || t->pol.group != group) continue;
        if (in) core_enqueue(s, i, atomic_load(&t->why));
        else core_dequeue(s, i);
    }
}

void core_change_group(struct sched *s, uint32_t group, uint32_t weight, int32_t priority, uint32_t flags)
{
    struct usf_pol_group *g = &s->groups[group].pol;
    if (g->weight == weight && g->priority == priority && g->flags == flags) return;
    requeue(s, group, false);
    g->weight = weight;
    g->priority = priority;
    g->flags = flags;
    s->ops.group_changed(&s->pol, group);
    requeue(s, group, true);
}

void sched_keep_inherited(struct sched *s)
{
    const struct usf_group *first = sched_first_group(s);
    if (!first) return;                     /* it is off its instance: keep what was noted last */
    __atomic_store_n(&s->weight, __atomic_load_n(&first->pol.weight, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
    __atomic_store_n(&s->priority, __atomic_load_n(&first->pol.priority, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

void sched_set_malleable(struct sched *s, struct sched_self *me)
{
    NO_WAKES(k);
    if (!core_enter(s, me)) return;
    const struct usf_group *first = sched_first_group(s);
    if (first) core_change_group(s, first->pol.id, first->pol.weight, first->pol.priority, first->pol.flags | USF_GROUP_MALLEABLE);
    core_leave(s, me, &k);
}

static bool same(const struct usf_task *of, const struct sched_attributes *w)
{
    const struct usf_pol_task *t = &of->pol;
    return t->priority == w->priority && t->deadline == w->deadline && t->affinity == w->affinity
           && t->affinity_id == w->affinity_id && t->strict == w->strict && !__builtin_memcmp(t->mask, w->mask, sizeof w->mask);
}

void sched_attributes_of(struct sched *s, uint32_t task, struct sched_attributes *w)
{
    const struct usf_pol_task *t = &s->tasks[task].pol;
    *w = (struct sched_attributes){.priority = t->priority, .deadline = t->deadline, .affinity = t->affinity, .affinity_id = t->affinity_id,
                             .strict = t->strict};
    __builtin_memcpy(w->mask, t->mask, sizeof w->mask);
}

/* The place of the attributes, for usf_is_affine. */
static struct usf_pol_task place_of(const struct sched_attributes *w)
{
    struct usf_pol_task t = {.affinity = w->affinity, .affinity_id = w->affinity_id};
    __builtin_memcpy(t.mask, w->mask, sizeof t.mask);
    return t;
}

static bool can_be(struct sched *s, uint32_t group, const struct usf_pol_task *place)
{
    for (uint32_t c = 0; c < s->h->nr_cores; c++)
        if (usf_allowed(&s->pol, group, c) && usf_is_affine(&s->pol, place, c)) return true;
    return false;
}

bool sched_attributes_can_be(struct sched *s, const struct sched_attributes *w)
{
    const struct usf_group *first = sched_first_group(s);
    const struct usf_pol_task place = place_of(w);
    return first && can_be(s, (uint32_t)(first - s->groups), &place);
}

/* If the group has cores of its own, is one of these at the place?  On other cores its tasks would
 * wait for as long as the owners need them. */
static bool is_within_own(struct sched *s, uint32_t group, const struct usf_pol_task *place)
{
    if (!(s->groups[group].pol.flags & USF_GROUP_OWNS)) return true;
    for (uint32_t c = 0; c < s->h->nr_cores; c++)
        if (usf_owns(&s->pol, group, c) && usf_is_affine(&s->pol, place, c)) return true;
    return false;
}

void core_settle_strict(struct sched *s, uint32_t task)
{
    struct usf_task *t = &s->tasks[task];
    if (!t->pol.strict || (can_be(s, t->pol.group, &t->pol) && is_within_own(s, t->pol.group, &t->pol))) return;
    __atomic_store_n(&t->pol.strict, 0, __ATOMIC_RELAXED);
}

/* holds the lock.  The task's mask, or the cores of its strict place. */
static void set_mask(struct sched *s, uint32_t task, const struct sched_attributes *w)
{
    struct usf_task *t = &s->tasks[task];
    const struct usf_pol_task place = place_of(w);
    bool of_place = w->strict && !usf_cores_any(w->mask);
    for (unsigned i = 0; i < USF_CORE_WORDS; i++) {
        uint64_t cores = w->mask[i];
        for (uint32_t c = i * 64; of_place && c < s->h->nr_cores && c < i * 64 + 64; c++)
            if (usf_is_affine(&s->pol, &place, c)) cores |= 1ull << (c % 64);
        __atomic_store_n(&t->pol.mask[i], cores, __ATOMIC_RELAXED);
    }
    bind_forget(s, task);
}

void sched_change_task(struct sched *s, struct sched_self *me, uint32_t task, const struct sched_attributes *w)
{
    NO_WAKES(k);
    struct usf_task *t = &s->tasks[task];
    if (same(t, w) || !core_enter(s, me)) return;
    if (core_is_own(s, task)) {
        bool ready = atomic_load(&t->state) == USF_TASK_READY;
        if (ready) core_dequeue(s, task);
        t->pol.priority = w->priority;
        t->pol.deadline = w->deadline;
        t->pol.affinity = w->affinity;
        t->pol.affinity_id = w->affinity_id;
        __atomic_store_n(&t->pol.strict, w->strict, __ATOMIC_RELAXED);
        set_mask(s, task, w);
        core_settle_strict(s, task);
        s->ops.group_changed(&s->pol, t->pol.group);
        if (ready) core_enqueue(s, task, atomic_load(&t->why));
        core_fill_all(s, &k);
    }
    core_leave(s, me, &k);
}

static uint32_t cores_at(struct sched *s, uint8_t affinity, uint32_t id)
{
    const struct usf_pol_task place = {.affinity = affinity, .affinity_id = id};
    uint32_t n = 0;
    for (uint32_t c = 0; c < s->h->nr_cores; c++) n += usf_is_affine(&s->pol, &place, c);
    return n;
}

void sched_affinity_of(struct sched *s, const struct os_cpuset *cpus, struct sched_attributes *w)
{
    uint32_t n = 0, in_llc = 0, in_node = 0, all = s->h->nr_cores;
    const struct usf_pol_core *first = NULL;
    __builtin_memset(w->mask, 0, sizeof w->mask);
    for (uint32_t i = 0; i < all; i++) {
        const struct usf_pol_core *c = &s->cores[i].pol;
        if (!os_cpu_isset(cpus, c->cpu)) continue;
        if (!n++) first = c;
        w->mask[i / 64] |= 1ull << (i % 64);
        in_llc += c->llc == first->llc;
        in_node += c->node == first->node;
    }
    w->strict = 0;
    w->affinity_id = 0;
    w->affinity = USF_AFFINITY_ANY;
    if (n == all) __builtin_memset(w->mask, 0, sizeof w->mask);
    if (!n || n == all) return;
    if (n == 1) w->affinity = USF_AFFINITY_CORE, w->affinity_id = first->id;
    else if (in_llc == n && n == cores_at(s, USF_AFFINITY_LLC, first->llc)) w->affinity = USF_AFFINITY_LLC, w->affinity_id = first->llc;
    else if (in_node == n && n == cores_at(s, USF_AFFINITY_NODE, first->node)) w->affinity = USF_AFFINITY_NODE, w->affinity_id = first->node;
    else w->affinity = USF_AFFINITY_MASK;
}
