/* src/policy/coop.c - SCHED_COOP, the default policy.  SPDX-License-Identifier: Apache-2.0
 *
 * Threads run until they block, yield or end.  A ready task waits in the queue of its group for the
 * core that it ran on last.  A core serves one group for a quantum, looked at only at scheduling
 * points, and then the next one (round robin over those with ready tasks).  While its own queue is
 * empty it helps out: the same group's queues of other cores, from near to far, then those of other
 * groups.  No core is left without work that it may do.
 *
 * Who yields waits for somebody else, so yielders come after all ready tasks.  They wait per core, not
 * per group: whoever they wait for may be any of them, and staying on one core keeps a yield cheap.
 * Two bounds keep this from starving anybody: a yielder that has waited for a whole quantum goes
 * first, but not twice in a row, and every so often a core takes over a yielder that waits much longer
 * elsewhere.  The round over the groups goes on where it was, whoever is served in between.
 *
 * Who is made to give way computes, or waits for something unseen.  If such threads never left their core, those at the
 * core that has more of them would get less than their share; and in an order that never changes some may never find
 * what they look for, since the same one has taken it each time.  So they change over to a core of the same cache, picked by
 * chance, unless its queue is longer; when their turn comes again, others will have had their own core's caches for so long
 * that nothing is lost.
 *
 * Wishes.  A group's turn is a quantum times its weight.  Of those with something to run on a core the ones of the highest priority are
 * served.  Within a group, tasks of higher priority go first, and of one priority those with a deadline, the earliest first: these,
 * and those that may only run at some place, wait in a list of their own, in that order (`wishes`).  A place that is only
 * preferred is where a task waits, and where it runs if a core is idle there.  None of this interrupts anybody: it says who
 * is next at a scheduling point.  Nor does it starve anybody: one choice in PATIENCE goes to whoever has
 * waited for LONG quanta, whatever its priority.  Where nobody has wishes they cost a comparison.
 *
 * A group that owns cores borrows the other cores of its process (usf_borrows).  Where its turn comes at a borrowed core, the group that owns the core
 * takes the turn if it has a ready task.  If the owner gets a ready task later, it reclaims the core.  A core on which its owner runs is borrowed when
 * that thread blocks or yields, not when it is made to give way.
 *
 * Costs: every decision is a few bitmap words, whatever the number of groups and cores; only where
 * groups are confined to some of the cores are those skipped one by one that may not run here.
 *
 * Invariants, between two calls
 *   C1  a held task is in exactly one fifo, the one that its mark names:
 *       group.ready[core] or group.wishes of its group, or core.yielded;
 *   C2  bit c of group.nonempty  <=>  group.ready[c].len > 0;
 *   C3  bit i of inst.active    <=>  group i has a bit in nonempty, or wishes;  bit w of inst.active_words <=>
 *       inst.active[w] != 0;  bit i of inst.ranked <=> active, and its priority is not 0;
 *   C4  bit c of inst.yielding  <=>  core c's fifo of yielders is not empty. */
#include "policy/common.h"

enum {
    CORES = USF_CORES_MAX, GROUPS = USF_GROUPS_MAX, CORE_WORDS = CORES / 64, GROUP_WORDS = GROUPS / 64,
    LOOK_EVERY = 16,            /* choices among yielders until one looks beyond the core's own */
    LOOK_WAIT_NS = 20000,       /* a yielder elsewhere that waits for less is being served */
    PATIENCE = 16, LONG = 10,   /* see Wishes */
    NEARBY = 8,                 /* wishes of one rank of which one is chosen that ran here last */
};

struct USF_POLICY_STATE inst {
    uint64_t active[GROUP_WORDS];
    uint64_t yielding[CORE_WORDS];
    uint64_t ranked[GROUP_WORDS];
    uint32_t active_words;
    uint32_t nr_ranked;
    uint32_t dice;
};
struct USF_POLICY_STATE core {
    uint64_t since;             /* ns, when `group` began its turn here */
    struct usf_fifo yielded;
    uint32_t group;             /* group served, + 1; 0 = none yet */
    uint32_t looks;             /* choices among yielders, modulo LOOK_EVERY */
    uint16_t round;             /* group from which the round goes on */
    uint16_t overdue;           /* the last choice was a yielder that had waited too long, */
    uint16_t keeps_turn;        /* ... and is to be started */
    uint16_t yields;            /* pick is asked for one that yields */
    uint32_t choices;           /* while groups had priorities */
    uint64_t same_llc[CORE_WORDS], same_node[CORE_WORDS];
};
struct USF_POLICY_STATE group {
    struct usf_fifo ready[CORES];
    uint64_t nonempty[CORE_WORDS];
    struct usf_fifo wishes;     /* who is to run first comes first */
    uint32_t next_core;         /* where the next task without a last core goes */
    uint32_t choices;           /* while there were wishes */
};
struct USF_POLICY_STATE mark {
    uint16_t core;              /* whose queue */
    uint8_t yielded;
    uint8_t wish;               /* in group.wishes, or would be if it had not yielded */
};
_Static_assert(sizeof(struct inst) <= USF_POL_DATA - 64, "instance data");
_Static_assert(sizeof(struct core) <= USF_POL_CORE_DATA, "core data");
_Static_assert(sizeof(struct group) <= USF_POL_GROUP_DATA, "group data");
_Static_assert(sizeof(struct mark) <= USF_POL_TASK_DATA, "task data");

static struct inst *inst_of(struct usf_pol *p) { return (struct inst *)(void *)p->data; }
static struct core *core_of(struct usf_pol *p, uint32_t c) { return (struct core *)(void *)usf_core(p, c)->data; }
static struct group *group_of(struct usf_pol *p, uint32_t i) { return (struct group *)(void *)usf_group(p, i)->data; }
static struct mark *mark_of(struct usf_pol *p, uint32_t t) { return (struct mark *)(void *)usf_task(p, t)->data; }
static uint64_t waits(struct usf_pol *p, uint32_t t) { return p->now - usf_task(p, t)->ready_since; }

static void set(uint64_t *m, uint32_t b) { m[b / 64] |= 1ull << (b % 64); }
static void clear(uint64_t *m, uint32_t b) { m[b / 64] &= ~(1ull << (b % 64)); }

static bool any(const uint64_t *m)
{
    uint64_t all = 0;
    for (int w = 0; w < CORE_WORDS; w++) all |= m[w];
    return all != 0;
}

/* The set bit of a & b that is nearest to `core`, itself first; USF_NONE: a & b is empty. */
static uint32_t nearest(struct usf_pol *p, const uint64_t *a, const uint64_t *b, uint32_t core)
{
    const struct core *c = core_of(p, core);
    uint64_t both[CORE_WORDS], any = 0;
    if ((a[core / 64] & b[core / 64]) >> (core % 64) & 1) return core;
    for (int w = 0; w < CORE_WORDS; w++) any |= both[w] = a[w] & b[w];
    if (!any) return USF_NONE;
    return usf_nearest_core(both, c->same_llc, c->same_node, core);
}

/* First group at or after `from`, going around, that has ready tasks; USF_NONE: none. */
static uint32_t next_active(const struct inst *in, uint32_t from) { return pol_next_group(in->active, in->active_words, from); }

static int init(struct usf_pol *p)
{
    if (p->nr_cores > CORES || p->nr_groups > GROUPS) return -1;
    for (uint32_t i = 0; i < p->nr_cores; i++) pol_neighbours(p, i, false, core_of(p, i)->same_llc, core_of(p, i)->same_node);
    return 0;
}

/* Does it matter to the task where it runs? */
static bool is_placed(struct usf_pol *p, const struct usf_pol_task *t)
{ return t->affinity != USF_AFFINITY_ANY || usf_group(p, t->group)->flags & USF_GROUP_OWNS; }

/* The cores of `set` where the group may run and the task has to, or would like to.  False: there are none. */
static bool wanted(struct usf_pol *p, const struct usf_pol_task *t, const uint64_t *set, uint64_t out[CORE_WORDS])
{
    const uint64_t *may = usf_group(p, t->group)->cores;
    uint64_t any = 0;
    if (t->affinity == USF_AFFINITY_ANY) return pol_own_cores(p, t->group, set, out);
    for (uint32_t w = 0; w < CORE_WORDS; w++) {
        out[w] = set[w] & may[w];
        for (uint64_t m = out[w]; m; m &= m - 1) {
            uint32_t c = w * 64 + (uint32_t)__builtin_ctzll(m);
            if (c >= p->nr_cores || !usf_is_affine(p, t, c)) out[w] &= ~(m & -m);
        }
        any |= out[w];
    }
    return any != 0;
}

static uint32_t select_core(struct usf_pol *p, uint32_t task, const uint64_t idle[USF_CORE_WORDS])
{
    const struct usf_pol_task *t = usf_task(p, task);
    const uint64_t *may = usf_group(p, t->group)->cores;
    uint64_t there[CORE_WORDS];
    if (is_placed(p, t)) {
        if (wanted(p, t, idle, there)) idle = there;
        else if (t->strict) return USF_NONE;
    }
    if (t->last_core < p->nr_cores) return nearest(p, idle, may, t->last_core);
    return usf_next_core(idle, may, group_of(p, t->group)->next_core);
}

/* The core whose queue a ready task waits in. */
static uint32_t home(struct usf_pol *p, const struct usf_pol_task *t)
{
    struct group *group = group_of(p, t->group);
    const uint64_t *may = usf_group(p, t->group)->cores;
    uint64_t there[CORE_WORDS];
    if (is_placed(p, t) && wanted(p, t, may, there)) {
        uint32_t from = t->last_core < p->nr_cores ? t->last_core : group->next_core;
        return nearest(p, there, may, from);
    }
    if (t->last_core < p->nr_cores && usf_allowed(p, t->group, t->last_core)) return t->last_core;
    uint32_t c = usf_next_core(may, may, group->next_core);
    if (c >= p->nr_cores) c = 0;                /* allowed nowhere: it waits, and whoever picks checks */
    group->next_core = (c + 1) % p->nr_cores;
    return c;
}

/* Where a task goes on waiting that was made to give way at core c, whose next task has been chosen already. */
static uint32_t change_over(struct usf_pol *p, uint32_t group, uint32_t c)
{
    const struct usf_fifo *ready = group_of(p, group)->ready;
    uint64_t own[CORE_WORDS];
    const uint64_t *there = pol_own_cores(p, group, usf_group(p, group)->cores, own) ? own : usf_group(p, group)->cores;
    uint32_t other = usf_next_core(there, core_of(p, c)->same_llc, pol_throw_dice(&inst_of(p)->dice, p->nr_cores));
    return other < p->nr_cores && ready[other].len <= ready[c].len + 1 ? other : c;
}

static void set_active(struct usf_pol *p, uint32_t i)
{
    struct inst *in = inst_of(p);
    if (in->active[i / 64] >> (i % 64) & 1) return;
    set(in->active, i);
    in->active_words |= 1u << (i / 64);
    if (!usf_group(p, i)->priority) return;
    set(in->ranked, i);
    in->nr_ranked++;
}

static void unrank(struct inst *in, uint32_t i)
{
    if (!(in->ranked[i / 64] >> (i % 64) & 1)) return;
    clear(in->ranked, i);
    in->nr_ranked--;
}

/* After something was taken out. */
static void note_removal(struct usf_pol *p, uint32_t i)
{
    struct inst *in = inst_of(p);
    const struct group *group = group_of(p, i);
    if (group->wishes.head || any(group->nonempty)) return;
    clear(in->active, i);
    if (!in->active[i / 64]) in->active_words &= ~(1u << (i / 64));
    unrank(in, i);
}

/* > 0: a goes before b; 0: the one that came first does. */
static int rank(const struct usf_pol_task *a, const struct usf_pol_task *b)
{
    if (a->priority != b->priority) return a->priority > b->priority ? 1 : -1;
    if (a->deadline == b->deadline) return 0;
    return a->deadline - 1 < b->deadline - 1 ? 1 : -1;     /* none (0) is later than any */
}

/* Into the list, behind those that go first: from the end, since those that come last most often go last. */
static void add_wish(struct usf_pol *p, struct usf_fifo *f, uint32_t task)
{
    const struct usf_pol_task *t = usf_task(p, task);
    uint32_t before = f->tail;
    while (before && rank(t, usf_task(p, before - 1)) > 0) before = usf_task(p, before - 1)->prev;
    pol_insert_behind(p, f, before, task);
}

static void enqueue(struct usf_pol *p, uint32_t task, enum usf_why why)
{
    struct usf_pol_task *t = usf_task(p, task);
    struct mark *m = mark_of(p, task);
    uint32_t c = home(p, t);
    if (why == USF_WHY_PREEMPT && t->affinity == USF_AFFINITY_ANY) c = change_over(p, t->group, c);
    m->core = (uint16_t)c;
    m->yielded = why == USF_WHY_YIELD;
    m->wish = t->strict || t->priority || t->deadline;
    if (m->yielded) {
        usf_fifo_push(p, &core_of(p, c)->yielded, task);
        set(inst_of(p)->yielding, c);
        return;
    }
    struct group *group = group_of(p, t->group);
    if (m->wish) {
        add_wish(p, &group->wishes, task);
    } else {
        usf_fifo_push(p, &group->ready[c], task);
        set(group->nonempty, c);
    }
    set_active(p, t->group);
    pol_reclaim_for(p, task);
}

static void remove_ready(struct usf_pol *p, uint32_t i, uint32_t c, uint32_t task)
{
    struct group *group = group_of(p, i);
    usf_fifo_remove(p, &group->ready[c], task);
    if (group->ready[c].len) return;
    clear(group->nonempty, c);
    note_removal(p, i);
}

static void remove_wish(struct usf_pol *p, uint32_t i, uint32_t task)
{
    usf_fifo_remove(p, &group_of(p, i)->wishes, task);
    note_removal(p, i);
}

static void remove_yielder(struct usf_pol *p, uint32_t c, uint32_t task)
{
    struct usf_fifo *f = &core_of(p, c)->yielded;
    usf_fifo_remove(p, f, task);
    if (!f->len) clear(inst_of(p)->yielding, c);
}

static void dequeue(struct usf_pol *p, uint32_t task)
{
    const struct mark *m = mark_of(p, task);
    if (m->yielded) remove_yielder(p, m->core, task);
    else if (m->wish) remove_wish(p, usf_task(p, task)->group, task);
    else remove_ready(p, usf_task(p, task)->group, m->core, task);
}

/* First yielder that waits at core `at` and may run on `core`; USF_NONE: none. */
static uint32_t first_yielder(struct usf_pol *p, uint32_t at, uint32_t core)
{
    for (uint32_t i = core_of(p, at)->yielded.head; i; i = usf_task(p, i - 1)->next)
        if (usf_allowed(p, usf_task(p, i - 1)->group, core) && (!mark_of(p, i - 1)->wish || usf_may_run(p, i - 1, core))) return i - 1;
    return USF_NONE;
}

/* A yielder elsewhere that has waited much longer than `waited` ns, or USF_NONE.  One other core is
 * looked at each time, in turn. */
static uint32_t look_elsewhere(struct usf_pol *p, uint32_t core, uint64_t waited)
{
    const struct inst *in = inst_of(p);
    if (p->nr_cores < 2) return USF_NONE;
    uint32_t turn = core_of(p, core)->looks / LOOK_EVERY % (p->nr_cores - 1);
    uint64_t others[CORE_WORDS];
    usf_cores_copy(others, in->yielding);
    clear(others, core);
    uint32_t at = usf_next_core(others, others, (core + 1 + turn) % p->nr_cores);
    if (at == USF_NONE) return USF_NONE;
    uint32_t task = first_yielder(p, at, core);
    if (task == USF_NONE || waits(p, task) < 2 * waited + LOOK_WAIT_NS) return USF_NONE;
    return task;
}

static uint32_t pick_yielder(struct usf_pol *p, uint32_t core)
{
    const struct inst *in = inst_of(p);
    struct core *c = core_of(p, core);
    uint32_t task = first_yielder(p, core, core);
    if (task != USF_NONE) {
        if (c->looks++ % LOOK_EVERY == 0) {
            uint32_t other = look_elsewhere(p, core, waits(p, task));
            if (other != USF_NONE) task = other;
        }
    } else {
        uint64_t at[CORE_WORDS];
        usf_cores_copy(at, in->yielding);
        for (uint32_t near; task == USF_NONE && (near = nearest(p, at, at, core)) != USF_NONE; clear(at, near))
            task = first_yielder(p, near, core);
    }
    if (task != USF_NONE) remove_yielder(p, mark_of(p, task)->core, task);
    return task;
}

static bool has_waited_long(struct usf_pol *p, uint32_t task)
{ return task != USF_NONE && waits(p, task) >= LONG * p->quantum; }

/* Of the wishes the first that may run on the core; of the first few of its rank rather one that ran there last. */
static uint32_t first_wish(struct usf_pol *p, const struct usf_fifo *f, uint32_t core)
{
    uint32_t first = USF_NONE, n = 0;
    for (uint32_t i = f->head; i && n < NEARBY; i = usf_task(p, i - 1)->next) {
        const struct usf_pol_task *t = usf_task(p, i - 1);
        if (first != USF_NONE && (n++, rank(usf_task(p, first), t))) break;
        if (!usf_may_run(p, i - 1, core)) continue;
        if (t->last_core == core) return i - 1;
        if (first == USF_NONE) first = i - 1;
    }
    return first;
}

static uint32_t oldest_wish(struct usf_pol *p, const struct usf_fifo *f, uint32_t core)
{
    uint32_t oldest = USF_NONE;
    for (uint32_t i = f->head; i; i = usf_task(p, i - 1)->next)
        if (usf_may_run(p, i - 1, core) && (oldest == USF_NONE || waits(p, i - 1) > waits(p, oldest))) oldest = i - 1;
    return oldest;
}

/* Which of the group's tasks this core is to run: `plain`, the next of those without wishes, or one with. */
static uint32_t choose_wish(struct usf_pol *p, struct group *group, uint32_t core, uint32_t plain)
{
    if (++group->choices % PATIENCE == 0) {
        uint32_t oldest = oldest_wish(p, &group->wishes, core);
        if (oldest == USF_NONE || (plain != USF_NONE && waits(p, plain) > waits(p, oldest))) oldest = plain;
        if (has_waited_long(p, oldest)) return oldest;
    }
    uint32_t wish = first_wish(p, &group->wishes, core);
    if (wish == USF_NONE || plain == USF_NONE) return wish == USF_NONE ? plain : wish;
    int before = rank(usf_task(p, wish), usf_task(p, plain));
    return before > 0 || (!before && waits(p, wish) > waits(p, plain)) ? wish : plain;
}

/* The group's next task for the core, still in its queue: head of the queue that is nearest, or one with wishes. */
static uint32_t choose_of(struct usf_pol *p, uint32_t i, uint32_t core)
{
    struct group *group = group_of(p, i);
    if (!usf_allowed(p, i, core)) return USF_NONE;
    uint32_t at = nearest(p, group->nonempty, group->nonempty, core);
    uint32_t task = at == USF_NONE ? USF_NONE : group->ready[at].head - 1;
    return group->wishes.head ? choose_wish(p, group, core, task) : task;
}

/* The same for a turn of group i (pol_choose). */
static uint32_t choose_for(struct usf_pol *p, uint32_t i, uint32_t core)
{
    const struct inst *in = inst_of(p);
    return pol_choose(p, in->active, in->active_words, i, core, core_of(p, core)->yields, choose_of);
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

/* Some have priorities: of those with something to run here, one of the highest.  Among equals it is as without: the one whose turn it
 * is, then the next in the round. */
static uint32_t pick_ranked(struct usf_pol *p, uint32_t core)
{
    struct inst *in = inst_of(p);
    struct core *c = core_of(p, core);
    uint32_t current = c->group && p->now - c->since < turn_of(p, c->group - 1) ? c->group - 1 : USF_NONE, best = USF_NONE, task = USF_NONE;
    bool patient = ++c->choices % PATIENCE == 0;
    uint32_t first = next_active(in, c->round), i = first;
    while (i != USF_NONE) {
        uint32_t t = choose_for(p, i, core);
        if (patient && has_waited_long(p, t)) {
            best = i, task = t;
            break;
        }
        int32_t is = usf_group(p, i)->priority, was = best == USF_NONE ? 0 : usf_group(p, best)->priority;
        if (t != USF_NONE && (best == USF_NONE || is > was || (is == was && i == current))) best = i, task = t;
        if ((i = next_active(in, (i + 1) % GROUPS)) == first) break;
    }
    if (best == USF_NONE) return USF_NONE;
    if (best != current) c->round = (uint16_t)((best + 1) % GROUPS);
    dequeue(p, task);
    return task;
}

static uint32_t choose(struct usf_pol *p, uint32_t core)
{
    struct inst *in = inst_of(p);
    struct core *c = core_of(p, core);
    uint32_t current = c->group - 1, task;

    uint32_t waiting = c->yielded.head;
    c->overdue = waiting && !c->overdue && waits(p, waiting - 1) >= p->quantum;
    c->keeps_turn = c->overdue;
    if (c->overdue && (task = pick_yielder(p, core)) != USF_NONE) return task;
    c->overdue = c->keeps_turn = 0;
    if (in->nr_ranked) return (task = pick_ranked(p, core)) != USF_NONE ? task : pick_yielder(p, core);
    if (c->group && p->now - c->since < turn_of(p, current) && (task = pick_of(p, current, core)) != USF_NONE) return task;

    /* The next group after the last one of the round, around to itself: `first` met again ends it.  Not after the one that
     * was served: that may have been a yielder's or a woken one's, and those behind it in the round would wait for ever. */
    uint32_t first = next_active(in, c->round), i = first;
    while (i != USF_NONE) {
        if ((task = pick_of(p, i, core)) != USF_NONE) {
            c->round = (uint16_t)((i + 1) % GROUPS);
            return task;
        }
        if ((i = next_active(in, (i + 1) % GROUPS)) == first) break;
    }
    return pick_yielder(p, core);
}

static uint32_t pick(struct usf_pol *p, uint32_t core)
{
    uint32_t task = choose(p, core);
    if (task == USF_NONE) core_of(p, core)->yields = 0;
    return task;
}

/* Is there anything that this core may serve instead? */
static bool has_other(struct usf_pol *p, uint32_t core)
{
    const struct inst *in = inst_of(p);
    struct core *c = core_of(p, core);
    uint32_t first = next_active(in, 0), i = first;
    while (i != USF_NONE) {
        if (usf_allowed(p, i, core)) return true;
        if ((i = next_active(in, (i + 1) % GROUPS)) == first) break;
    }
    if (c->yielded.head) return true;
    /* Only yielders of other cores: leave them there unless they are neglected.  pick looks again,
     * because a multiple of LOOK_EVERY makes the look due. */
    if (++c->looks % LOOK_EVERY) return false;
    return look_elsewhere(p, core, 0) != USF_NONE;
}

static bool yield(struct usf_pol *p, uint32_t core, uint32_t task)
{
    bool others = has_other(p, core);
    (void)task;
    core_of(p, core)->yields = others;
    return others;
}

/* A turn begins when a core changes groups.  It is not restarted when nobody else waited at its
 * end: whoever comes next need not wait for another quantum.  A yielder that went first begins none: with some in
 * every quantum the round would never go on, and the groups without yielders here would wait for ever. */
static void started(struct usf_pol *p, uint32_t core, uint32_t task)
{
    struct core *c = core_of(p, core);
    uint32_t served = usf_task(p, task)->group + 1;
    bool keeps = c->keeps_turn;
    c->keeps_turn = c->yields = 0;
    if (c->group == served || keeps) return;
    c->group = served;
    c->since = p->now;
}

static void group_changed(struct usf_pol *p, uint32_t i)
{
    struct inst *in = inst_of(p);
    if (!(in->active[i / 64] >> (i % 64) & 1)) return;
    unrank(in, i);
    if (!usf_group(p, i)->priority) return;
    set(in->ranked, i);
    in->nr_ranked++;
}

static void tick(struct usf_pol *p) { pol_reclaim_all(p, inst_of(p)->active, inst_of(p)->active_words); }

const struct usf_policy_ops usf_policy_coop = {
    .api = USF_POLICY_API,
    .size = sizeof(struct usf_policy_ops),
    .name = "coop",
    .flags = USF_POLICY_SWAP | USF_POLICY_TICK_WAITING,
    .description = "SCHED_COOP: threads run until they block or yield; processes take turns of one quantum",
    .init = init,
    .select_core = select_core,
    .enqueue = enqueue,
    .pick = pick,
    .dequeue = dequeue,
    .yield = yield,
    .started = started,
    .tick = tick,
    .group_changed = group_changed,
};
