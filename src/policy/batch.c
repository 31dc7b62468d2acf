/* src/policy/batch.c - BP: programs one after another.  SPDX-License-Identifier: Apache-2.0
 *
 * The base line of the equipartitioning paper (Schönherr et al. 2013, section III-B d): groups have
 * the machine in the order in which they arrived.  A core serves the first group that has a ready
 * task which may run there; so the second gets what the first leaves without work, the third what
 * those leave, and no group gets a core of an earlier one for longer than until that one has use
 * for it (give_way_at, not before MIN_HELP_NS of running).  A group of higher priority goes before
 * those of lower, whenever they arrived.  Weights mean nothing here.
 *
 * Where a group would borrow the core (usf_borrows), the process's group that owns the core goes
 * before it, whichever came first.
 *
 * A group arrives with its first ready task, not with its record, and keeps its place until it
 * leaves the instance.
 *
 * Starvation: only the first group is sure of its turn.  A yielder of the group that the core
 * serves, or of an earlier one, goes before tasks of later ones after it has waited for PQ_HELP_NS,
 * or a quantum among its own; a group that never ends keeps later ones waiting for ever if it never
 * leaves a core without work.  That is what batch processing means.
 *
 * Costs: pick looks at the groups with ready tasks in turn until it has the first (a comparison
 * each).
 *
 * Invariants beside those of queues.h
 *   B1  group.arrival != 0  <=>  the group has had a ready task;  arrivals differ;
 *   B2  bit c of group.on  <=>  a task of the group was started on core c and has not been stopped;
 *   B3  inst.last is unknown, or no group with a bit in `on` comes after it, and it has one itself;
 *   B4  bit c of inst.keeping  <=>  core c's task is not asked before keeps_until;  till then
 *       nothing is ready for the core of its group or an earlier one, and no yielder of these waits
 *       there: who comes has it asked (ask). */
#include "policy/queues.h"

enum {
    MIN_HELP_NS = 200000,       /* a later program's task is not sent away before that */
    LOOK_NS = 20000,            /* from one look at all cores for one to call back to the next: the tick looks as well, */
    TICK_LOOKS = 8,             /* ... for so many of the groups with ready tasks, in order, until one gets a core */
};
#define LAST_UNKNOWN UINT32_MAX

struct USF_POLICY_STATE inst {
    struct pq_inst q;
    uint64_t arrivals;
    uint64_t looked;            /* ns, last look at all cores */
    uint32_t last;              /* the latest of the groups that run, + 1; 0: none does; LAST_UNKNOWN */
    uint64_t keeping[USF_CORE_WORDS];
};
struct USF_POLICY_STATE core { struct pq_core q; };
struct USF_POLICY_STATE group {
    struct pq_group q;
    uint64_t arrival;
    uint64_t on[USF_CORE_WORDS]; /* cores that run its tasks */
};
struct USF_POLICY_STATE mark {
    struct pq_mark q;
    uint16_t on;                /* started and not stopped */
};
_Static_assert(sizeof(struct inst) <= USF_POL_DATA - 64 && sizeof(struct core) <= USF_POL_CORE_DATA
               && sizeof(struct group) <= USF_POL_GROUP_DATA && sizeof(struct mark) <= USF_POL_TASK_DATA, "our state fits the data areas");

static struct inst *inst_of(struct usf_pol *p) { return (struct inst *)(void *)p->data; }
static struct group *group_of(struct usf_pol *p, uint32_t i) { return (struct group *)(void *)usf_group(p, i)->data; }
static struct mark *mark_of(struct usf_pol *p, uint32_t t) { return (struct mark *)(void *)usf_task(p, t)->data; }

/* Does group a go before group b? */
static bool precedes(struct usf_pol *p, uint32_t a, uint32_t b)
{
    int32_t x = usf_group(p, a)->priority, y = usf_group(p, b)->priority;
    return x != y ? x > y : group_of(p, a)->arrival < group_of(p, b)->arrival;
}

static void arrive(struct usf_pol *p, uint32_t task)
{
    struct group *group = group_of(p, usf_task(p, task)->group);
    if (group->arrival) return;
    group->arrival = ++inst_of(p)->arrivals;
    if (usf_cores_any(group->on)) inst_of(p)->last = LAST_UNKNOWN;
}

static uint32_t select_core(struct usf_pol *p, uint32_t task, const uint64_t idle[USF_CORE_WORDS])
{
    arrive(p, task);
    return pq_select(p, task, idle, NULL);
}

static uint32_t latest_that_runs(struct usf_pol *p)
{
    struct inst *in = inst_of(p);
    if (in->last != LAST_UNKNOWN) return in->last;
    in->last = 0;
    for (uint32_t i = 0; i < p->nr_cores; i++) {
        uint32_t task = usf_core(p, i)->current, runs;
        if (task == USF_NONE || !mark_of(p, task)->on) continue;
        runs = usf_task(p, task)->group;
        if (!in->last || precedes(p, in->last - 1, runs)) in->last = runs + 1;
    }
    return in->last;
}

/* May the running task lose the core to this task, or to any ready task of the group? */
static bool may_reclaim(struct usf_pol *p, uint32_t group, uint32_t task, uint32_t core)
{
    const struct pq_group *q = pq_group_of(p, group);
    if (usf_core(p, core)->current == USF_NONE || usf_core(p, core)->give_way_at || pol_is_at_home(p, core, group)) return false;
    if (task != USF_NONE) return usf_may_run(p, task, core);
    for (uint32_t c = 0; (c = usf_cores_next(q->nonempty, c)) != USF_NONE; c++)
        if (pq_first(p, &q->ready[c], core) != USF_NONE) return true;
    return false;
}

/* Every core is busy: have the one with the latest program that this one precedes give way.  One
 * core for one task. */
static bool reclaim(struct usf_pol *p, uint32_t group, uint32_t task)
{
    uint32_t last = latest_that_runs(p), found = USF_NONE;
    if (!last || !precedes(p, group, last - 1)) return false;
    const uint64_t *on = group_of(p, --last)->on;
    for (uint32_t c = 0; found == USF_NONE && (c = usf_cores_next(on, c)) != USF_NONE; c++)
        if (may_reclaim(p, group, task, c)) found = c;
    if (found == USF_NONE) {            /* all of these have been told, or are of no use: the others', but not at each call */
        struct inst *in = inst_of(p);
        if (task != USF_NONE && p->now - in->looked < LOOK_NS) return false;
        in->looked = p->now;
        last = group;
        for (uint32_t i = 0; i < p->nr_cores; i++) {
            uint32_t current = usf_core(p, i)->current;
            if (current == USF_NONE || !precedes(p, last, usf_task(p, current)->group) || !may_reclaim(p, group, task, i)) continue;
            last = usf_task(p, current)->group;
            found = i;
        }
    }
    if (found == USF_NONE) return false;
    struct usf_pol_core *c = usf_core(p, found);
    uint64_t at = c->since + MIN_HELP_NS;
    usf_give_way(c, at > p->now ? at : p->now);
    return true;
}

/* If the core's task keeps it (B4), that ends: the task is asked again. */
static void ask(struct usf_pol *p, uint32_t core)
{
    struct inst *in = inst_of(p);
    if (!usf_cores_has(in->keeping, core)) return;
    usf_cores_remove(in->keeping, core);
    pq_ask(p, core);
}

static void ask_all(struct usf_pol *p)
{
    for (uint32_t i = 0; i < p->nr_cores; i++) ask(p, i);
}

/* A task of group i has become ready.  Running tasks of that group and of later ones may lose their
 * cores to it. */
static void ask_for(struct usf_pol *p, uint32_t i)
{
    uint64_t keeping[USF_CORE_WORDS];
    if (!usf_cores_and(keeping, inst_of(p)->keeping, usf_group(p, i)->cores)) return;
    for (uint32_t c = 0; (c = usf_cores_next(keeping, c)) != USF_NONE; c++) {
        uint32_t current = usf_core(p, c)->current;
        if (current != USF_NONE && !precedes(p, usf_task(p, current)->group, i)) ask(p, c);
    }
}

static void enqueue(struct usf_pol *p, uint32_t task, enum usf_why why)
{
    arrive(p, task);
    pq_enqueue(p, task, why, NULL);
    if (why == USF_WHY_YIELD) ask(p, pq_mark_of(p, task)->core);
    else ask_for(p, usf_task(p, task)->group);
    if (why != USF_WHY_YIELD) pol_reclaim_for(p, task);
    if (why != USF_WHY_YIELD && why != USF_WHY_PREEMPT) reclaim(p, usf_task(p, task)->group, task);
}

/* The first group in order, other than those in `seen`, with a ready task. */
static uint32_t first_in_order(struct usf_pol *p, const uint64_t *seen)
{
    const struct pq_inst *in = pq_inst_of(p);
    uint32_t best = USF_NONE;
    for (uint32_t words = in->active_words; words; words &= words - 1) {
        uint32_t w = (uint32_t)__builtin_ctz(words);
        for (uint64_t m = in->active[w] & ~seen[w]; m; m &= m - 1) {
            uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(m);
            if (best == USF_NONE || precedes(p, i, best)) best = i;
        }
    }
    return best;
}

/* The core is about to serve group i.  A yielder of i or an earlier group that has waited for too
 * long goes first; those of later groups, which wait here as well, have to wait for i. */
static uint32_t take_overdue(struct usf_pol *p, uint32_t core, uint32_t i)
{
    struct pq_core *c = pq_core_of(p, core);
    uint32_t y = c->yielded.head, of;
    for (; y; y = usf_task(p, y - 1)->next) {
        of = usf_task(p, y - 1)->group;
        if (!precedes(p, i, of) && usf_may_run(p, y - 1, core) && pq_waits(p, y - 1) >= (of == i ? p->quantum : PQ_HELP_NS)) break;
    }
    if (!y) return USF_NONE;
    c->overdue = 1;
    pq_remove_yielder(p, y - 1);
    return y - 1;
}

/* No task is ready: the first of the earliest group's tasks that have yielded here.  A task that
 * has waited for a quantum goes before it: it may be of a later group, and the others may wait for
 * it. */
static uint32_t take_yielder(struct usf_pol *p, uint32_t core)
{
    const struct pq_core *c = pq_core_of(p, core);
    uint32_t best = USF_NONE;
    if (c->yielded.head && pq_waits(p, c->yielded.head - 1) >= p->quantum) return pq_take_yielder(p, core);
    for (uint32_t y = c->yielded.head; y; y = usf_task(p, y - 1)->next)
        if (usf_may_run(p, y - 1, core) && (best == USF_NONE || precedes(p, usf_task(p, y - 1)->group, usf_task(p, best)->group))) best = y - 1;
    if (best == USF_NONE) return pq_take_yielder(p, core);
    pq_remove_yielder(p, best);
    return best;
}

static uint32_t choose(struct usf_pol *p, uint32_t core)
{
    uint64_t seen[POL_GROUP_WORDS] = {0};
    struct pq_core *c = pq_core_of(p, core);
    bool yielders = c->yielded.head && !c->overdue;     /* not twice in a row */
    c->overdue = 0;
    for (uint32_t i, task; (i = first_in_order(p, seen)) != USF_NONE; pol_add_group(seen, i)) {
        if (!usf_allowed(p, i, core)) continue;
        if (yielders && (task = take_overdue(p, core, i)) != USF_NONE) return task;
        if ((task = pq_take(p, i, core)) != USF_NONE) return task;
    }
    return take_yielder(p, core);
}

static uint32_t pick(struct usf_pol *p, uint32_t core) { return pq_picked(p, core, choose(p, core)); }

/* The group runs on so many cores.  If it runs on another one as well, the thread that one of its
 * threads waits for is running now. */
static uint32_t runs_on(struct usf_pol *p, uint32_t i) { return usf_cores_count(group_of(p, i)->on); }

/* Switch to any task of this group or an earlier one; to later ones only when this is no short
 * wait.  A thread at a barrier of its program has the core, as on a machine of its own, while
 * others of the program run; but not for ever: they may all wait for another group. */
static bool has_other(struct usf_pol *p, uint32_t core, uint32_t task)
{
    const struct pq_inst *in = pq_inst_of(p);
    uint32_t mine = usf_task(p, task)->group;
    bool others = false;
    for (uint32_t words = in->active_words; words; words &= words - 1) {
        uint32_t w = (uint32_t)__builtin_ctz(words);
        for (uint64_t m = in->active[w]; m; m &= m - 1) {
            uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(m);
            if (!usf_allowed(p, i, core)) continue;
            if (!precedes(p, mine, i)) return true;
            others = true;
        }
    }
    uint64_t keeps_us = runs_on(p, mine) > 1 && p->quantum / 1000 > PQ_SPIN_US ? p->quantum / 1000 : PQ_SPIN_US;
    bool keeps = pq_spins_for_less(p, core, keeps_us);
    for (uint32_t y = pq_core_of(p, core)->yielded.head; y; y = usf_task(p, y - 1)->next)
        if (!precedes(p, mine, usf_task(p, y - 1)->group)) return true;
    if (!keeps) return others || pq_yielder_waits(p, core);
    pq_keep(p, core, keeps_us);
    usf_cores_add(inst_of(p)->keeping, core);
    return false;
}

static bool yield(struct usf_pol *p, uint32_t core, uint32_t task) { return pq_yields(p, core, has_other(p, core, task)); }

/* Where an earlier program's thread only waits by yielding, a later one's helps for a short
 * time. */
static void started(struct usf_pol *p, uint32_t core, uint32_t task)
{
    struct inst *in = inst_of(p);
    uint32_t waiting = pq_core_of(p, core)->yielded.head, i = usf_task(p, task)->group;
    arrive(p, task);            /* it may have run before this policy was in force */
    usf_cores_remove(in->keeping, core);
    pq_yields(p, core, false);
    usf_cores_add(group_of(p, i)->on, core);
    mark_of(p, task)->on = 1;
    if (in->last != LAST_UNKNOWN && (!in->last || precedes(p, in->last - 1, i))) in->last = i + 1;
    if (waiting && precedes(p, usf_task(p, waiting - 1)->group, i)) usf_give_way(usf_core(p, core), p->now + PQ_HELP_NS);
}

static void stopped(struct usf_pol *p, uint32_t core, uint32_t task)
{
    struct inst *in = inst_of(p);
    uint32_t i = usf_task(p, task)->group;
    usf_cores_remove(in->keeping, core);
    if (!mark_of(p, task)->on) return;          /* it was on the core before this policy was in force */
    mark_of(p, task)->on = 0;
    usf_cores_remove(group_of(p, i)->on, core);
    if (runs_on(p, i) == 1) ask(p, usf_next_core(group_of(p, i)->on, group_of(p, i)->on, 0));
    if (in->last == i + 1 && !usf_cores_any(group_of(p, i)->on)) in->last = LAST_UNKNOWN;
}

/* Who came to wait before a later program's task took a core has one, too. */
static void tick(struct usf_pol *p)
{
    uint64_t seen[POL_GROUP_WORDS] = {0};
    for (uint32_t looks = 0, i; looks < TICK_LOOKS && (i = first_in_order(p, seen)) != USF_NONE && !reclaim(p, i, USF_NONE); looks++) pol_add_group(seen, i);
    pol_reclaim_all(p, pq_inst_of(p)->active, pq_inst_of(p)->active_words);
}

/* Another priority, another place in the order. */
static void group_changed(struct usf_pol *p, uint32_t i)
{
    (void)i;
    inst_of(p)->last = LAST_UNKNOWN;
    ask_all(p);
}

const struct usf_policy_ops usf_policy_batch = {
    .api = USF_POLICY_API,
    .size = sizeof(struct usf_policy_ops),
    .name = "batch",
    .flags = USF_POLICY_CAN_STARVE,
    .description = "batch processing: programs one after another, later ones where earlier ones leave cores without work",
    .init = pq_init,
    .select_core = select_core,
    .enqueue = enqueue,
    .pick = pick,
    .dequeue = pq_dequeue,
    .yield = yield,
    .started = started,
    .stopped = stopped,
    .tick = tick,
    .group_changed = group_changed,
};
