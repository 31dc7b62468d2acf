/* src/policy/queues.h - queues per group and core, for policies that choose a group first.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A policy that shares cores between groups (coop, equi, fair, batch) decides which group a core
 * serves; which of its tasks, these queues say.  A ready task waits in its group's queue of the
 * core that it ran on last, as long as that is one of the `preferred` cores that the policy gives
 * it, else of one of those in turn.  A core takes from its own queue, then from near to far.
 * Within a group tasks of higher priority go first, then earlier deadlines.  Strict affinity is
 * kept, a preferred one decides where a task waits and which idle core it gets.  Now and then a
 * core takes a task over that is neglected at another one.
 *
 * A thread that yields waits for another one, so yielders wait per core and come after ready tasks;
 * one that has waited for longer than a bound goes first, but not twice in a row, and now and then
 * a core takes over one that waits much longer elsewhere, or one of several if it has none.
 *
 * Where a group would borrow the core (usf_borrows), the process's group that owns the core goes
 * before it, and the owner's running task does not give way to it.
 *
 * Costs: a few bitmap words for each operation.  Tasks that are confined to cores are looked at one
 * by one, and where a group has ready tasks with a priority or deadline, the heads of all its
 * queues are compared.
 *
 * Invariants, between two calls
 *   Q1  a held task is in exactly one fifo, the one that its mark names: group.ready[core] or
 *       core.yielded (coop.c has one more);
 *   Q2  bit c of group.nonempty  <=>  group.ready[c].len > 0;  group.nr_ranked == ready tasks whose
 *       mark says `ranked`;
 *   Q3  bit i of inst.active    <=>  group i has a ready task: a bit in nonempty, or nr_ranked;
 *       bit w of inst.active_words <=> inst.active[w] != 0;
 *   Q4  bit c of inst.yielding  <=>  core c's fifo of yielders is not empty;
 *   Q5  no task of a fifo of ready ones has a higher rank than the one before it.
 *
 * The four structs are the first members of the policy's own in the data areas. */
#ifndef USF_POLICY_QUEUES_H
#define USF_POLICY_QUEUES_H

#include "policy/common.h"

enum {
    PQ_LOOK_EVERY = 16,         /* choices among yielders until one looks beyond the core's own */
    PQ_LOOK_WAIT_NS = 20000,    /* a yielder elsewhere that waits for less is being served */
    PQ_NEGLECT_EVERY = 4,       /* choices among a group's tasks until one looks at another core's queue */
    PQ_SPIN_US = 1000,          /* who waits by yielding keeps a core of its own program against strangers for so long, */
    PQ_HELP_NS = 1000000,       /* ... and comes back after so long of theirs */
};

struct USF_POLICY_STATE pq_inst {
    uint64_t active[POL_GROUP_WORDS];
    uint64_t yielding[USF_CORE_WORDS];
    uint32_t active_words;
    uint32_t dice;
};
struct USF_POLICY_STATE pq_core {
    struct usf_fifo yielded;
    uint16_t looks;             /* choices among yielders, modulo a power of two */
    uint8_t overdue;            /* the last choice was a yielder that had waited too long */
    uint8_t yields;             /* pick is asked for one that yields */
    uint32_t spin_begin, spin_last;     /* us, modulo 2^32: first and latest of a row of yields */
    uint64_t same_llc[USF_CORE_WORDS], same_node[USF_CORE_WORDS];
};
struct USF_POLICY_STATE pq_group {
    struct usf_fifo ready[USF_CORES_MAX];
    uint64_t nonempty[USF_CORE_WORDS];
    uint32_t next_core;         /* where the next task without a place of its own goes */
    uint32_t nr_ranked;
    uint16_t looks, look_from;  /* for neglected queues: choices, modulo a power of two; the core at which the next look begins */
};
struct USF_POLICY_STATE pq_mark {
    uint16_t core;              /* whose queue */
    uint8_t yielded;
    uint8_t ranked;             /* has a priority or a deadline */
};

static inline struct pq_inst *pq_inst_of(struct usf_pol *p) { return (struct pq_inst *)(void *)p->data; }
static inline struct pq_core *pq_core_of(struct usf_pol *p, uint32_t c) { return (struct pq_core *)(void *)usf_core(p, c)->data; }
static inline struct pq_group *pq_group_of(struct usf_pol *p, uint32_t i) { return (struct pq_group *)(void *)usf_group(p, i)->data; }
static inline struct pq_mark *pq_mark_of(struct usf_pol *p, uint32_t t) { return (struct pq_mark *)(void *)usf_task(p, t)->data; }
static inline uint64_t pq_waits(struct usf_pol *p, uint32_t t)
{
    uint64_t since = usf_task(p, t)->ready_since;
    return p->now > since ? p->now - since : 0;
}

/* The core of the set that is nearest to `core`, itself first; USF_NONE: it is empty. */
static inline uint32_t pq_nearest(struct usf_pol *p, const uint64_t *m, uint32_t core)
{
    const struct pq_core *c = pq_core_of(p, core);
    return usf_nearest_core(m, c->same_llc, c->same_node, core);
}

/* First group at or after `from`, going around, that has ready tasks; USF_NONE: none. */
static inline uint32_t pq_next_active(const struct pq_inst *in, uint32_t from) { return pol_next_group(in->active, in->active_words, from); }

/* Has this group a ready task? */
static inline bool pq_is_active(const struct pq_inst *in, uint32_t group) { return pol_has_group(in->active, group); }

/* Is any task ready of a group that may use this core? */
static inline bool pq_any_for(struct usf_pol *p, uint32_t core)
{
    const struct pq_inst *in = pq_inst_of(p);
    uint32_t first = pq_next_active(in, 0), i = first;
    while (i != USF_NONE) {
        if (usf_allowed(p, i, core)) return true;
        if ((i = pq_next_active(in, (i + 1) % USF_GROUPS_MAX)) == first) break;
    }
    return false;
}

static inline int pq_init(struct usf_pol *p)
{
    if (p->nr_cores > USF_CORES_MAX || p->nr_groups > USF_GROUPS_MAX) return -1;
    for (uint32_t i = 0; i < p->nr_cores; i++) pol_neighbours(p, i, false, pq_core_of(p, i)->same_llc, pq_core_of(p, i)->same_node);
    return 0;
}

/* ---- where a task goes ----------------------------------------------------------------------- */

/* The cores of `set` that the task's affinity names; without an affinity, those that its group
 * owns.  False: there are none.  (`set` has no cores beside those of the group.) */
static inline bool pq_affine(struct usf_pol *p, const struct usf_pol_task *t, const uint64_t *set, uint64_t out[USF_CORE_WORDS])
{
    if (t->affinity == USF_AFFINITY_ANY) return pol_own_cores(p, t->group, set, out);
    bool any = false;
    usf_cores_clear(out);
    for (uint32_t c = 0; (c = usf_cores_next(set, c)) < p->nr_cores; c++)
        if (usf_is_affine(p, t, c)) usf_cores_add(out, c), any = true;
    return any;
}

/* Narrow `cores` to those where the task wants to be: its own affinity, then those that the policy
 * prefers.  False: it may run on none. */
static inline bool pq_narrow(struct usf_pol *p, const struct usf_pol_task *t, const uint64_t *preferred, uint64_t cores[USF_CORE_WORDS])
{
    uint64_t some[USF_CORE_WORDS];
    if (pq_affine(p, t, cores, some)) usf_cores_copy(cores, some);
    else if (t->strict && t->affinity != USF_AFFINITY_ANY) return false;
    if (preferred && usf_cores_and(some, cores, preferred)) usf_cores_copy(cores, some);
    return usf_cores_any(cores);
}

/* An idle core for a task that became ready; preferred: cores that the policy prefers, or null. */
static inline uint32_t pq_select(struct usf_pol *p, uint32_t task, const uint64_t idle[USF_CORE_WORDS], const uint64_t *preferred)
{
    const struct usf_pol_task *t = usf_task(p, task);
    uint64_t m[USF_CORE_WORDS];
    if (!usf_cores_and(m, idle, usf_group(p, t->group)->cores) || !pq_narrow(p, t, preferred, m)) return USF_NONE;
    if (t->last_core < p->nr_cores) return pq_nearest(p, m, t->last_core);
    return usf_next_core(m, m, pq_group_of(p, t->group)->next_core);
}

/* The core whose queue a ready task waits in. */
static inline uint32_t pq_home(struct usf_pol *p, const struct usf_pol_task *t, const uint64_t *preferred)
{
    const uint64_t *may = usf_group(p, t->group)->cores;
    if (t->affinity == USF_AFFINITY_ANY && t->last_core < p->nr_cores && usf_cores_has(may, t->last_core)
        && (!preferred || usf_cores_has(preferred, t->last_core)) && !usf_borrows(p, t->group, t->last_core)) return t->last_core;
    struct pq_group *group = pq_group_of(p, t->group);
    uint64_t m[USF_CORE_WORDS];
    usf_cores_copy(m, may);
    if (!pq_narrow(p, t, preferred, m)) return 0;   /* allowed nowhere: it waits, and each pick checks */
    if (t->affinity != USF_AFFINITY_ANY && t->last_core < p->nr_cores && usf_cores_has(m, t->last_core)) return t->last_core;
    uint32_t c = usf_next_core(m, m, group->next_core);
    if (c >= p->nr_cores) return 0;
    group->next_core = (c + 1) % p->nr_cores;
    return c;
}

/* A task that was made to give way at core c goes on at a preferred core of the same cache, chosen
 * by chance, unless more tasks wait there: computing threads that never left their core would get
 * more at a core that has fewer of them. */
static inline uint32_t pq_change_over(struct usf_pol *p, const struct usf_pol_task *t, uint32_t c, const uint64_t *preferred)
{
    const struct usf_fifo *ready = pq_group_of(p, t->group)->ready;
    const uint64_t *may = usf_group(p, t->group)->cores;
    uint64_t m[USF_CORE_WORDS];
    usf_cores_copy(m, may);
    if (t->affinity != USF_AFFINITY_ANY || !pq_narrow(p, t, preferred, m)) return c;
    uint32_t other = usf_next_core(m, pq_core_of(p, c)->same_llc, pol_throw_dice(&pq_inst_of(p)->dice, p->nr_cores));
    return other < p->nr_cores && ready[other].len <= ready[c].len + 1 ? other : c;
}

/* ---- in and out ------------------------------------------------------------------------------ */

/* Does t go before u, of the same group? */
static inline bool pq_outranks(const struct usf_pol_task *t, const struct usf_pol_task *u)
{
    if (t->priority != u->priority) return t->priority > u->priority;
    return t->deadline && (!u->deadline || t->deadline < u->deadline);
}

static inline void pq_insert(struct usf_pol *p, struct usf_fifo *f, uint32_t task, bool ordered)
{
    const struct usf_pol_task *t = usf_task(p, task);
    uint32_t before = f->tail;
    while (ordered && before && pq_outranks(t, usf_task(p, before - 1))) before = usf_task(p, before - 1)->prev;
    pol_insert_behind(p, f, before, task);
}

static inline void pq_add_yielder(struct usf_pol *p, uint32_t task, uint32_t c)
{
    *pq_mark_of(p, task) = (struct pq_mark){.core = (uint16_t)c, .yielded = 1};
    usf_fifo_push(p, &pq_core_of(p, c)->yielded, task);
    usf_cores_add(pq_inst_of(p)->yielding, c);
}

/* The group has one more ready task, one less (Q3).  True: it was not active; it is no longer. */
static inline bool pq_note_added(struct pq_inst *in, uint32_t i)
{
    if (pq_is_active(in, i)) return false;
    pol_add_group(in->active, i);
    in->active_words |= 1u << (i / 64);
    return true;
}
static inline bool pq_note_removed(struct usf_pol *p, uint32_t i)
{
    struct pq_inst *in = pq_inst_of(p);
    const struct pq_group *group = pq_group_of(p, i);
    if (group->nr_ranked || usf_cores_any(group->nonempty)) return false;
    pol_remove_group(in->active, i);
    if (!in->active[i / 64]) in->active_words &= ~(1u << (i / 64));
    return true;
}

/* True: as pq_note_added and pq_note_removed. */
static inline bool pq_add_ready(struct usf_pol *p, uint32_t task, uint32_t c)
{
    const struct usf_pol_task *t = usf_task(p, task);
    struct pq_group *group = pq_group_of(p, t->group);
    struct pq_mark *m = pq_mark_of(p, task);
    *m = (struct pq_mark){.core = (uint16_t)c, .ranked = t->priority || t->deadline};
    group->nr_ranked += m->ranked;
    pq_insert(p, &group->ready[c], task, group->nr_ranked != 0);
    usf_cores_add(group->nonempty, c);
    return pq_note_added(pq_inst_of(p), t->group);
}

/* preferred: see pq_home; read during the call only. */
static inline void pq_enqueue(struct usf_pol *p, uint32_t task, enum usf_why why, const uint64_t *preferred)
{
    const struct usf_pol_task *t = usf_task(p, task);
    uint32_t c = pq_home(p, t, preferred);
    if (why == USF_WHY_PREEMPT) c = pq_change_over(p, t, c, preferred);
    if (why == USF_WHY_YIELD) pq_add_yielder(p, task, c);
    else pq_add_ready(p, task, c);
}

static inline bool pq_remove_ready(struct usf_pol *p, uint32_t i, uint32_t task)
{
    struct pq_group *group = pq_group_of(p, i);
    struct pq_mark *m = pq_mark_of(p, task);
    usf_fifo_remove(p, &group->ready[m->core], task);
    group->nr_ranked -= m->ranked;
    m->ranked = 0;
    if (group->ready[m->core].len) return false;
    usf_cores_remove(group->nonempty, m->core);
    return pq_note_removed(p, i);
}

static inline void pq_remove_yielder(struct usf_pol *p, uint32_t task)
{
    uint32_t c = pq_mark_of(p, task)->core;
    struct usf_fifo *f = &pq_core_of(p, c)->yielded;
    usf_fifo_remove(p, f, task);
    if (!f->len) usf_cores_remove(pq_inst_of(p)->yielding, c);
}

static inline void pq_dequeue(struct usf_pol *p, uint32_t task)
{
    if (pq_mark_of(p, task)->yielded) pq_remove_yielder(p, task);
    else pq_remove_ready(p, usf_task(p, task)->group, task);
}

/* First of a fifo that may run on the core; USF_NONE: none. */
static inline uint32_t pq_first(struct usf_pol *p, const struct usf_fifo *f, uint32_t core)
{
    for (uint32_t i = f->head; i; i = usf_task(p, i - 1)->next)
        if (usf_may_run(p, i - 1, core)) return i - 1;
    return USF_NONE;
}

/* Where a core always has tasks of its own, those at a core that serves other groups would wait for
 * ever: now and then it looks at one other queue, in turn, for a task that has waited for a quantum
 * and much longer than `task`. */
static inline uint32_t pq_neglected(struct usf_pol *p, struct pq_group *group, uint32_t core, uint32_t task)
{
    uint64_t others[USF_CORE_WORDS];
    usf_cores_copy(others, group->nonempty);
    if (++group->looks % PQ_NEGLECT_EVERY) return task;
    usf_cores_remove(others, pq_mark_of(p, task)->core);
    uint32_t at = usf_next_core(others, others, group->look_from % USF_CORES_MAX);
    if (at == USF_NONE) return task;
    group->look_from = (uint16_t)(at + 1);
    uint32_t other = pq_first(p, &group->ready[at], core);
    if (other == USF_NONE || pq_waits(p, other) < p->quantum || pq_waits(p, other) < 2 * pq_waits(p, task)) return task;
    return other;
}

/* The ready task of group i that this core is to run next, taken out; USF_NONE: it has none that
 * may. */
static inline uint32_t pq_take_of(struct usf_pol *p, uint32_t i, uint32_t core)
{
    struct pq_group *group = pq_group_of(p, i);
    uint32_t best = USF_NONE, at;
    if (!usf_allowed(p, i, core)) return USF_NONE;
    uint64_t m[USF_CORE_WORDS];
    usf_cores_copy(m, group->nonempty);
    while ((at = pq_nearest(p, m, core)) != USF_NONE) {
        uint32_t task = pq_first(p, &group->ready[at], core);
        if (task != USF_NONE && (best == USF_NONE || pq_outranks(usf_task(p, task), usf_task(p, best)))) best = task;
        if (best != USF_NONE && !group->nr_ranked) break;
        usf_cores_remove(m, at);
    }
    if (best == USF_NONE) return best;
    if (!group->nr_ranked) best = pq_neglected(p, group, core, best);
    pq_remove_ready(p, i, best);
    return best;
}

/* The policy's answers to yield and pick. */
static inline bool pq_yields(struct usf_pol *p, uint32_t core, bool answer)
{
    pq_core_of(p, core)->yields = answer;
    return answer;
}
static inline uint32_t pq_picked(struct usf_pol *p, uint32_t core, uint32_t task)
{
    if (task == USF_NONE) pq_core_of(p, core)->yields = 0;
    return task;
}

/* The same for a turn of group i (pol_choose). */
static inline uint32_t pq_take(struct usf_pol *p, uint32_t i, uint32_t core)
{
    const struct pq_inst *in = pq_inst_of(p);
    return pol_choose(p, in->active, in->active_words, i, core, pq_core_of(p, core)->yields, pq_take_of);
}

/* ---- yielders -------------------------------------------------------------------------------- */

/* Several yielders wait at another core, task is the first of them.  Would it be better off here,
 * where none waits, and the running task of the same group yields?  Not if it would go home at its
 * next yield. */
static inline bool pq_shares(struct usf_pol *p, uint32_t core, const struct usf_fifo *f, uint32_t task)
{
    const struct usf_pol_task *t = usf_task(p, task);
    uint32_t running = usf_core(p, core)->current;
    return f->len > 1 && !pq_core_of(p, core)->yielded.head && running != USF_NONE && usf_task(p, running)->group == t->group
           && usf_is_affine(p, t, core) && !usf_borrows(p, t->group, core);
}

/* A yielder elsewhere that should rather run here, or USF_NONE.  It has waited much longer than
 * `waited` ns, or pq_shares.  One other core is looked at each time, in turn. */
static inline uint32_t pq_look_elsewhere(struct usf_pol *p, uint32_t core, uint64_t waited)
{
    const struct pq_inst *in = pq_inst_of(p);
    if (p->nr_cores < 2) return USF_NONE;
    uint32_t turn = pq_core_of(p, core)->looks / PQ_LOOK_EVERY % (p->nr_cores - 1);
    uint64_t others[USF_CORE_WORDS];
    usf_cores_copy(others, in->yielding);
    usf_cores_remove(others, core);
    uint32_t at = usf_next_core(others, others, (core + 1 + turn) % p->nr_cores);
    if (at == USF_NONE) return USF_NONE;
    const struct usf_fifo *f = &pq_core_of(p, at)->yielded;
    uint32_t task = pq_first(p, f, core);
    if (task == USF_NONE) return USF_NONE;
    return pq_shares(p, core, f, task) || pq_waits(p, task) >= 2 * waited + PQ_LOOK_WAIT_NS ? task : USF_NONE;
}

/* The yielder that this core is to run next, taken out; USF_NONE: none may run here. */
static inline uint32_t pq_take_yielder(struct usf_pol *p, uint32_t core)
{
    const struct pq_inst *in = pq_inst_of(p);
    struct pq_core *c = pq_core_of(p, core);
    uint32_t own = pq_first(p, &c->yielded, core), task = USF_NONE;
    bool looks = own != USF_NONE || usf_core(p, core)->current != USF_NONE;     /* an idle core takes the nearest */
    if (looks && c->looks % PQ_LOOK_EVERY == 0) task = pq_look_elsewhere(p, core, own != USF_NONE ? pq_waits(p, own) : 0);
    if (task == USF_NONE) task = own;
    if (own != USF_NONE) c->looks++;        /* else pq_yielder_waits has counted */
    if (task == USF_NONE) {
        uint64_t at[USF_CORE_WORDS];
        usf_cores_copy(at, in->yielding);
        for (uint32_t near; task == USF_NONE && (near = pq_nearest(p, at, core)) != USF_NONE; usf_cores_remove(at, near))
            task = pq_first(p, &pq_core_of(p, near)->yielded, core);
    }
    if (task != USF_NONE) pq_remove_yielder(p, task);
    return task;
}

/* The yielder that has waited for `bound` ns at this core: it goes before all others, but not twice
 * in a row. */
static inline uint32_t pq_take_overdue(struct usf_pol *p, uint32_t core, uint64_t bound)
{
    struct pq_core *c = pq_core_of(p, core);
    uint32_t waiting = c->yielded.head;
    c->overdue = waiting && !c->overdue && pq_waits(p, waiting - 1) >= bound;
    return c->overdue ? pq_take_yielder(p, core) : USF_NONE;
}

/* The running task yields, and strangers alone would come: has it done so for less than `limit` us?
 * It is likely at a barrier, whose last thread comes soon; a stranger would stay.  (After pq_keep
 * spin_last is to come: who is asked sooner has paused.) */
static inline bool pq_spins_for_less(struct usf_pol *p, uint32_t core, uint64_t limit)
{
    struct pq_core *c = pq_core_of(p, core);
    uint32_t now = (uint32_t)(p->now / 1000);
    uint32_t ran = now - (uint32_t)(usf_core(p, core)->since / 1000), gap = now - c->spin_last;
    if ((ran < gap ? ran : gap) > USF_ROW_NS / 1000) c->spin_begin = now;   /* not since it came back from a stranger's turn */
    c->spin_last = now;
    return now - c->spin_begin < limit;
}
/* It does, and keeps the core for all of that. */
static inline void pq_keep(struct usf_pol *p, uint32_t core, uint64_t limit)
{
    struct pq_core *c = pq_core_of(p, core);
    uint32_t now = (uint32_t)(p->now / 1000), left = (uint32_t)limit - (now - c->spin_begin);
    c->spin_last = now + left;
    usf_keep(usf_core(p, core), p->now / 1000 * 1000 + left * 1000ull);
}
/* Ask it again: it is as if it had been asked all the time, up to now or as long as it was to keep
 * the core. */
static inline void pq_ask(struct usf_pol *p, uint32_t core)
{
    struct usf_pol_core *c = usf_core(p, core);
    if (c->keeps_until > p->now) pq_core_of(p, core)->spin_last = (uint32_t)(p->now / 1000);
    usf_keep(c, 0);
}
static inline bool pq_spins_briefly(struct usf_pol *p, uint32_t core) { return pq_spins_for_less(p, core, PQ_SPIN_US); }

/* Was the latest yield here one of such a short row? */
static inline bool pq_spun_briefly(struct usf_pol *p, uint32_t core)
{
    const struct pq_core *c = pq_core_of(p, core);
    uint32_t now = (uint32_t)(p->now / 1000);
    return now - c->spin_last <= PQ_SPIN_US && now - c->spin_begin < PQ_SPIN_US;
}

/* The running task yields: are there yielders to run instead?  Only those of other cores: leave
 * them there unless they are neglected, or several wait at one core; a multiple of PQ_LOOK_EVERY makes the look of the pick that
 * follows due. */
static inline bool pq_yielder_waits(struct usf_pol *p, uint32_t core)
{
    struct pq_core *c = pq_core_of(p, core);
    if (c->yielded.head) return true;
    return ++c->looks % PQ_LOOK_EVERY == 0 && pq_look_elsewhere(p, core, 0) != USF_NONE;
}

#endif
