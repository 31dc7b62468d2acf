/* src/policy/coop.c - SCHED_COOP, the default policy.  SPDX-License-Identifier: Apache-2.0
 *
 * Threads run until they block, yield or end.  A ready task waits in the queue of its group for the
 * core that it ran on last.  A core serves one group for a quantum, looked at only at scheduling
 * points, and then the next one (round robin over those with ready tasks).  While its own queue is
 * empty it helps out: the same group's queues of other cores, from near to far, then those of other
 * groups.  No core is left without work that it may do.
 *
 * A thread that yields waits for another one, so yielders come after all ready tasks.  They wait
 * per core, not per group: the thread that they wait for may be in any of them, and staying on one
 * core keeps a yield cheap.  Two bounds keep this from starving a thread: a yielder that has waited
 * for a whole quantum goes first, but not twice in a row, and every so often a core takes over a
 * yielder that waits much longer elsewhere.  The round over the groups goes on where it was,
 * whatever is served in between.
 *
 * Who is made to give way computes, or waits for something unseen.  If such threads never left
 * their core, those at the core that has more of them would get less than their share; and in an
 * order that never changes some may never find what they look for, since the same one has taken it
 * each time.  So they change over to a core of the same cache, picked by chance, unless its queue
 * is longer; when their turn comes again, others will have had their own core's caches for so long
 * that nothing is lost.
 *
 * Scheduling attributes.  A group's turn is a quantum times its weight.  Of the groups with
 * something to run on a core one of the highest priority is served.  Within a group, tasks of
 * higher priority go first, and of one priority those with a deadline, the earliest first: these
 * tasks, and those of hard affinity, wait in a fifo of their own, in that order (`ranked`).  A
 * preferred place is where a task waits, and where it runs if a core is idle there.  None of this
 * interrupts a task: it decides who is next at a scheduling point.  None of it starves a task: one
 * choice in PATIENCE goes to the task that has waited for LONG quanta, whatever its priority.
 * Tasks without attributes pay a comparison.
 *
 * A group that owns cores borrows the other cores of its process (usf_borrows).  Where its turn
 * comes at a borrowed core, the group that owns the core takes the turn if it has a ready task.  If
 * the owner gets a ready task later, it reclaims the core.  A core on which its owner runs is
 * borrowed when that thread blocks or yields, not when it is made to give way.
 *
 * Costs: every decision is a few bitmap words, whatever the number of groups and cores; only where
 * groups are confined to some of the cores are those skipped one by one that may not run here.
 *
 * Invariants beside those of queues.h
 *   C1  a held task whose mark says `ranked` is in group.ranked of its group;
 *   C2  bit i of inst.prior  <=>  group i is active, and its priority is not 0;  inst.nr_prior
 *       counts those. */
#include "policy/queues.h"

enum {
    PATIENCE = 16, LONG = 10,   /* see Scheduling attributes */
    NEARBY = 8,                 /* ranked tasks of one rank of which one is chosen that ran here last */
};

struct USF_POLICY_STATE inst {
    struct pq_inst q;
    uint64_t prior[POL_GROUP_WORDS];
    uint32_t nr_prior;
};
struct USF_POLICY_STATE core {
    struct pq_core q;
    uint64_t since;             /* ns, when `group` began its turn here */
    uint32_t group;             /* group served, + 1; 0 = none yet */
    uint32_t choices;           /* while groups had priorities */
    uint16_t round;             /* group from which the round goes on */
    uint16_t keeps_turn;        /* the last choice was a yielder that had waited too long; it has not been started yet */
};
struct USF_POLICY_STATE group {
    struct pq_group q;
    struct usf_fifo ranked;     /* who is to run first comes first */
    uint32_t choices;           /* while there were ranked tasks */
};
_Static_assert(sizeof(struct inst) <= USF_POL_DATA - 64 && sizeof(struct core) <= USF_POL_CORE_DATA
               && sizeof(struct group) <= USF_POL_GROUP_DATA, "our state fits the data areas");

static struct inst *inst_of(struct usf_pol *p) { return (struct inst *)(void *)p->data; }
static struct core *core_of(struct usf_pol *p, uint32_t c) { return (struct core *)(void *)usf_core(p, c)->data; }
static struct group *group_of(struct usf_pol *p, uint32_t i) { return (struct group *)(void *)usf_group(p, i)->data; }

static uint32_t select_core(struct usf_pol *p, uint32_t task, const uint64_t idle[USF_CORE_WORDS]) { return pq_select(p, task, idle, NULL); }

/* Does it matter to the task where it runs? */
static bool is_placed(struct usf_pol *p, const struct usf_pol_task *t)
{ return t->affinity != USF_AFFINITY_ANY || usf_group(p, t->group)->flags & USF_GROUP_OWNS; }

/* The core whose queue a ready task waits in. */
static uint32_t home(struct usf_pol *p, const struct usf_pol_task *t)
{
    struct pq_group *group = pq_group_of(p, t->group);
    const uint64_t *may = usf_group(p, t->group)->cores;
    uint64_t there[USF_CORE_WORDS];
    if (is_placed(p, t) && pq_affine(p, t, may, there)) return pq_nearest(p, there, t->last_core < p->nr_cores ? t->last_core : group->next_core);
    if (t->last_core < p->nr_cores && usf_allowed(p, t->group, t->last_core)) return t->last_core;
    uint32_t c = usf_next_core(may, may, group->next_core);
    if (c >= p->nr_cores) c = 0;                /* allowed nowhere: it waits, and a pick checks */
    group->next_core = (c + 1) % p->nr_cores;
    return c;
}

/* ---- in and out ------------------------------------------------------------------------------ */

/* Group i has ready tasks or none, a priority or none: keep C2. */
static void note_priority(struct usf_pol *p, uint32_t i)
{
    struct inst *in = inst_of(p);
    bool is = pq_is_active(&in->q, i) && usf_group(p, i)->priority, was = pol_has_group(in->prior, i);
    if (is == was) return;
    if (is) pol_add_group(in->prior, i), in->nr_prior++;
    else pol_remove_group(in->prior, i), in->nr_prior--;
}

static bool add_ranked(struct usf_pol *p, uint32_t task, uint32_t c)
{
    uint32_t i = usf_task(p, task)->group;
    *pq_mark_of(p, task) = (struct pq_mark){.core = (uint16_t)c, .ranked = 1};
    group_of(p, i)->q.nr_ranked++;
    pq_insert(p, &group_of(p, i)->ranked, task, true);
    return pq_note_added(&inst_of(p)->q, i);
}

static void enqueue(struct usf_pol *p, uint32_t task, enum usf_why why)
{
    const struct usf_pol_task *t = usf_task(p, task);
    uint32_t c = home(p, t);
    if (why == USF_WHY_PREEMPT) c = pq_change_over(p, t, c, NULL);
    if (why == USF_WHY_YIELD) {
        pq_add_yielder(p, task, c);
        return;
    }
    bool ranked = t->strict || t->priority || t->deadline;
    if (ranked ? add_ranked(p, task, c) : pq_add_ready(p, task, c)) note_priority(p, t->group);
    pol_reclaim_for(p, task);
}

static bool remove_ranked(struct usf_pol *p, uint32_t i, uint32_t task)
{
    usf_fifo_remove(p, &group_of(p, i)->ranked, task);
    group_of(p, i)->q.nr_ranked--;
    return pq_note_removed(p, i);
}

static void dequeue(struct usf_pol *p, uint32_t task)
{
    uint32_t i = usf_task(p, task)->group;
    const struct pq_mark *m = pq_mark_of(p, task);
    if (m->yielded) pq_remove_yielder(p, task);
    else if (m->ranked ? remove_ranked(p, i, task) : pq_remove_ready(p, i, task)) note_priority(p, i);
}

/* ---- choices --------------------------------------------------------------------------------- */

static bool has_waited_long(struct usf_pol *p, uint32_t task)
{ return task != USF_NONE && pq_waits(p, task) >= LONG * p->quantum; }

/* Of the ranked tasks the first that may run on the core; of the first few of its rank rather one
 * that ran there last. */
static uint32_t first_ranked(struct usf_pol *p, const struct usf_fifo *f, uint32_t core)
{
    uint32_t first = USF_NONE, n = 0;
    for (uint32_t i = f->head; i && n < NEARBY; i = usf_task(p, i - 1)->next) {
        const struct usf_pol_task *t = usf_task(p, i - 1);
        if (first != USF_NONE && (n++, pq_outranks(usf_task(p, first), t))) break;
        if (!usf_may_run(p, i - 1, core)) continue;
        if (t->last_core == core) return i - 1;
        if (first == USF_NONE) first = i - 1;
    }
    return first;
}

static uint32_t oldest_ranked(struct usf_pol *p, const struct usf_fifo *f, uint32_t core)
{
    uint32_t oldest = USF_NONE;
    for (uint32_t i = f->head; i; i = usf_task(p, i - 1)->next)
        if (usf_may_run(p, i - 1, core) && (oldest == USF_NONE || pq_waits(p, i - 1) > pq_waits(p, oldest))) oldest = i - 1;
    return oldest;
}

/* Which of the group's tasks this core is to run: `plain`, the next of those without attributes, or
 * a ranked one. */
static uint32_t choose_ranked(struct usf_pol *p, struct group *group, uint32_t core, uint32_t plain)
{
    if (++group->choices % PATIENCE == 0) {
        uint32_t oldest = oldest_ranked(p, &group->ranked, core);
        if (oldest == USF_NONE || (plain != USF_NONE && pq_waits(p, plain) > pq_waits(p, oldest))) oldest = plain;
        if (has_waited_long(p, oldest)) return oldest;
    }
    uint32_t ranked = first_ranked(p, &group->ranked, core);
    if (ranked == USF_NONE || plain == USF_NONE) return ranked == USF_NONE ? plain : ranked;
    const struct usf_pol_task *a = usf_task(p, ranked), *b = usf_task(p, plain);
    return pq_outranks(a, b) || (!pq_outranks(b, a) && pq_waits(p, ranked) > pq_waits(p, plain)) ? ranked : plain;
}

/* The group's next task for the core, still in its queue: head of the queue that is nearest, or a
 * ranked one. */
static uint32_t choose_of(struct usf_pol *p, uint32_t i, uint32_t core)
{
    struct group *group = group_of(p, i);
    if (!usf_allowed(p, i, core)) return USF_NONE;
    uint32_t at = pq_nearest(p, group->q.nonempty, core);
    uint32_t task = at == USF_NONE ? USF_NONE : group->q.ready[at].head - 1;
    return group->ranked.head ? choose_ranked(p, group, core, task) : task;
}

/* The same for a turn of group i (pol_choose). */
static uint32_t choose_for(struct usf_pol *p, uint32_t i, uint32_t core)
{
    const struct pq_inst *in = pq_inst_of(p);
    return pol_choose(p, in->active, in->active_words, i, core, pq_core_of(p, core)->yields, choose_of);
}

static uint32_t pick_of(struct usf_pol *p, uint32_t i, uint32_t core)
{
    uint32_t task = choose_for(p, i, core);
    if (task != USF_NONE) dequeue(p, task);
    return task;
}

/* A group's turn. */
static uint64_t turn_of(struct usf_pol *p, uint32_t i)
{
    uint32_t weight = usf_group(p, i)->weight;
    return weight == 100 || !weight ? p->quantum : p->quantum * weight / 100;
}

/* Some have priorities: of those with something to run here, one of the highest.  Among equals it
 * is as without: the one whose turn it is, then the next in the round. */
static uint32_t pick_prior(struct usf_pol *p, uint32_t core)
{
    struct inst *in = inst_of(p);
    struct core *c = core_of(p, core);
    uint32_t current = c->group && p->now - c->since < turn_of(p, c->group - 1) ? c->group - 1 : USF_NONE, best = USF_NONE, task = USF_NONE;
    bool patient = ++c->choices % PATIENCE == 0;
    uint32_t first = pq_next_active(&in->q, c->round), i = first;
    while (i != USF_NONE) {
        uint32_t t = choose_for(p, i, core);
        if (patient && has_waited_long(p, t)) {
            best = i, task = t;
            break;
        }
        int32_t is = usf_group(p, i)->priority, was = best == USF_NONE ? 0 : usf_group(p, best)->priority;
        if (t != USF_NONE && (best == USF_NONE || is > was || (is == was && i == current))) best = i, task = t;
        if ((i = pq_next_active(&in->q, (i + 1) % USF_GROUPS_MAX)) == first) break;
    }
    if (best == USF_NONE) return USF_NONE;
    if (best != current) c->round = (uint16_t)((best + 1) % USF_GROUPS_MAX);
    dequeue(p, task);
    return task;
}

static uint32_t choose(struct usf_pol *p, uint32_t core)
{
    struct inst *in = inst_of(p);
    struct core *c = core_of(p, core);
    uint32_t current = c->group - 1, task;

    if ((task = pq_take_overdue(p, core, p->quantum)) != USF_NONE) {
        c->keeps_turn = 1;
        return task;
    }
    c->q.overdue = 0;
    c->keeps_turn = 0;
    if (in->nr_prior) return (task = pick_prior(p, core)) != USF_NONE ? task : pq_take_yielder(p, core);
    if (c->group && p->now - c->since < turn_of(p, current) && (task = pick_of(p, current, core)) != USF_NONE) return task;

    /* The next group after the last one of the round, around to itself: `first` met again ends it.
     * Not after the one that was served: that may have been a yielder's or a woken one's, and those
     * behind it in the round would wait for ever. */
    uint32_t first = pq_next_active(&in->q, c->round), i = first;
    while (i != USF_NONE) {
        if ((task = pick_of(p, i, core)) != USF_NONE) {
            c->round = (uint16_t)((i + 1) % USF_GROUPS_MAX);
            return task;
        }
        if ((i = pq_next_active(&in->q, (i + 1) % USF_GROUPS_MAX)) == first) break;
    }
    return pq_take_yielder(p, core);
}

static uint32_t pick(struct usf_pol *p, uint32_t core) { return pq_picked(p, core, choose(p, core)); }

static bool yield(struct usf_pol *p, uint32_t core, uint32_t task)
{
    (void)task;
    return pq_yields(p, core, pq_any_for(p, core) || pq_yielder_waits(p, core));
}

/* A turn begins when a core changes groups.  It is not restarted when no other group waited at its
 * end: the next one that comes need not wait for another quantum.  A yielder that went first begins
 * none: with some in every quantum the round would never go on, and the groups without yielders
 * here would wait for ever. */
static void started(struct usf_pol *p, uint32_t core, uint32_t task)
{
    struct core *c = core_of(p, core);
    uint32_t served = usf_task(p, task)->group + 1;
    bool keeps = c->keeps_turn;
    c->keeps_turn = 0;
    pq_yields(p, core, false);
    if (c->group == served || keeps) return;
    c->group = served;
    c->since = p->now;
}

static void tick(struct usf_pol *p) { pol_reclaim_all(p, pq_inst_of(p)->active, pq_inst_of(p)->active_words); }

const struct usf_policy_ops usf_policy_coop = {
    .api = USF_POLICY_API,
    .size = sizeof(struct usf_policy_ops),
    .name = "coop",
    .flags = USF_POLICY_TICK_WAITING | USF_POLICY_LEASES,
    .description = "SCHED_COOP: threads run until they block or yield; processes take turns of one quantum",
    .init = pq_init,
    .select_core = select_core,
    .enqueue = enqueue,
    .pick = pick,
    .dequeue = dequeue,
    .yield = yield,
    .started = started,
    .tick = tick,
    .group_changed = note_priority,
};
