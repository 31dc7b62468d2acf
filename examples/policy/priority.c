/* examples/policy/priority.c - an example of a policy of your own.  SPDX-License-Identifier: Apache-2.0
 *
 * Who has the higher priority runs first: its group's and its own added up, cut to eight levels.  Within a level the oldest
 * goes first.  Who waits too long goes first whatever its level, so nobody waits for ever.
 *
 *   make -C examples/policy
 *   usf policy check ./examples/policy/priority.so
 *   usf run --policy ./examples/policy/priority.so -- ./program
 *
 * docs/policy.md comes to it step by step from the built-in `fifo`. */
#include <usf/policy.h>

enum { LEVELS = 8, NORMAL = 3, PATIENCE = 8 };      /* level of priority 0; quanta until a task has waited too long */

struct USF_POLICY_STATE inst {
    struct usf_fifo level[LEVELS];
    struct usf_fifo yielded;        /* those that gave their core up by themselves, of all levels */
    uint32_t nonempty;              /* bit l: level l has tasks */
    uint32_t overdue;               /* 1: the last choice was one that had waited too long */
};
struct USF_POLICY_STATE mark { uint32_t yielded, level; };
_Static_assert(sizeof(struct inst) <= USF_POL_DATA - 64 && sizeof(struct mark) <= USF_POL_TASK_DATA, "our state fits the data areas");

static struct inst *inst_of(struct usf_pol *p) { return (struct inst *)(void *)p->data; }
static struct mark *mark_of(struct usf_pol *p, uint32_t t) { return (struct mark *)(void *)usf_task(p, t)->data; }

static uint32_t level_of(struct usf_pol *p, uint32_t task)
{
    const struct usf_pol_task *t = usf_task(p, task);
    int64_t l = (int64_t)NORMAL + t->priority + usf_group(p, t->group)->priority;     /* 64 bits: the sum may be any number */
    return l < 0 ? 0 : l >= LEVELS ? LEVELS - 1 : (uint32_t)l;
}

/* Somebody of a lower level gives its core up for the newcomer, now instead of after a quantum: the one of the lowest level. */
static void make_room(struct usf_pol *p, uint32_t task, uint32_t level)
{
    uint32_t lowest = level, victim = USF_NONE;
    for (uint32_t c = 0; c < p->nr_cores; c++) {
        const struct usf_pol_core *core = usf_core(p, c);
        if (core->current == USF_NONE || core->give_way_at || !usf_may_run(p, task, c)) continue;
        uint32_t its = level_of(p, core->current);
        if (its < lowest) lowest = its, victim = c;
    }
    if (victim != USF_NONE) usf_give_way(usf_core(p, victim), p->now);
}

static void enqueue(struct usf_pol *p, uint32_t task, enum usf_why why)
{
    struct inst *in = inst_of(p);
    struct mark *m = mark_of(p, task);
    m->yielded = why == USF_WHY_YIELD;
    m->level = level_of(p, task);
    if (m->yielded) {
        usf_fifo_push(p, &in->yielded, task);
        return;
    }
    usf_fifo_push(p, &in->level[m->level], task);
    in->nonempty |= 1u << m->level;
    make_room(p, task, m->level);
}

/* The level is looked up in the mark: the priority may have changed since. */
static void dequeue(struct usf_pol *p, uint32_t task)
{
    struct inst *in = inst_of(p);
    const struct mark *m = mark_of(p, task);
    struct usf_fifo *f = m->yielded ? &in->yielded : &in->level[m->level];
    usf_fifo_remove(p, f, task);
    if (!m->yielded && !f->len) in->nonempty &= ~(1u << m->level);
}

static uint32_t pop(struct usf_pol *p, uint32_t level, uint32_t core)
{
    struct inst *in = inst_of(p);
    uint32_t task = usf_fifo_pop_allowed(p, &in->level[level], core);
    if (!in->level[level].len) in->nonempty &= ~(1u << level);
    return task;
}

static bool waits_too_long(struct usf_pol *p, const struct usf_fifo *f, uint64_t limit)
{ return f->head && p->now - usf_task(p, f->head - 1)->ready_since >= limit; }

/* Of those that have waited too long, or USF_NONE.  A yielder may hold what all others look for: its patience is shorter. */
static uint32_t pick_overdue(struct usf_pol *p, uint32_t core)
{
    struct inst *in = inst_of(p);
    uint32_t task = USF_NONE;
    if (waits_too_long(p, &in->yielded, p->quantum)) task = usf_fifo_pop_allowed(p, &in->yielded, core);
    for (uint32_t l = 0; l < LEVELS && task == USF_NONE; l++)
        if (waits_too_long(p, &in->level[l], PATIENCE * p->quantum)) task = pop(p, l, core);
    return task;
}

static uint32_t pick(struct usf_pol *p, uint32_t core)
{
    struct inst *in = inst_of(p);
    uint32_t task = in->overdue ? USF_NONE : pick_overdue(p, core);     /* not twice in a row */
    in->overdue = task != USF_NONE;
    for (uint32_t m = in->nonempty; m && task == USF_NONE; m &= ~(1u << (31 - __builtin_clz(m))))
        task = pop(p, 31u - (uint32_t)__builtin_clz(m), core);
    return task != USF_NONE ? task : usf_fifo_pop_allowed(p, &in->yielded, core);
}

USF_POLICY_EXPORT const struct usf_policy_ops usf_policy = {
    .api = USF_POLICY_API,
    .size = sizeof(struct usf_policy_ops),
    .name = "priority",
    .description = "higher priorities first; an example",
    .enqueue = enqueue,
    .pick = pick,
    .dequeue = dequeue,
};
