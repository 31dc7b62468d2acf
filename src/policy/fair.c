/* src/policy/fair.c - equal virtual time per group and weight, within cooperation.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A group's virtual time is the core time that its tasks have had, divided by its weight (100: as
 * it is).  A core that asks gets a task of the group that has had least, of those with ready tasks
 * that may run there; which task, the queues of queues.h say, by last core and nearness.  So groups
 * share the machine by weight, whatever the number of their threads.
 *
 * Cooperation: threads run until they block, yield or end, and a core stays with the group that it
 * serves while that is ahead by less than a quantum.  Only when the group that has had least is
 * more than a quantum behind one that runs, that one's core is made to give way.
 *
 * Lag: no group gets more than a quantum, in virtual time, plus one uninterrupted run of a thread
 * ahead of who is ready.
 *   - Who joins starts at the least virtual time of those that are ready or run.
 *   - Who slept starts there as well, or up to a quantum before it, if it was behind then: so who
 *     sleeps often and briefly keeps its share, and none saves up an hour's.
 *   - Who is so far ahead because others could not use the cores that it had (too few threads,
 *     confined to others) owes them MAX_AHEAD quanta at most.
 *
 * Where the group that has had least would borrow the core (usf_borrows), the process's group that
 * owns the core goes before it, and does not give way to it.
 *
 * Costs: pick compares the groups with ready tasks; the least virtual time is looked up at most
 * once in FLOOR_NS.
 *
 * Invariants beside those of queues.h
 *   V1  group.queued == tasks of the group in the queues, yielders included;  group.running == its
 *       tasks on cores;
 *   V2  group.starts == sum of the start times of those, modulo 2^64. */
#include "policy/queues.h"

enum {
    MAX_AHEAD = 10,             /* quanta, see above */
    FLOOR_NS = 1000000,         /* between two looks at all for the least virtual time, */
    LOOK_NS = 20000,            /* ... and at all cores for one to call back: the tick looks as well */
    MIN_RUN_NS = 1000000,       /* no task is called back before */
};

struct USF_POLICY_STATE inst {
    struct pq_inst q;
    uint64_t floor;             /* virtual ns, least of the groups that are ready or run, as of */
    uint64_t floor_at;          /* ns; 0: never */
    uint64_t looked;            /* ns, last look for a core to call back */
};
struct USF_POLICY_STATE core {
    struct pq_core q;
    uint32_t group;             /* group served, + 1 */
};
struct USF_POLICY_STATE group {
    struct pq_group q;
    uint64_t vtime;             /* virtual ns that its tasks have had, those that run not counted */
    uint64_t starts;
    uint32_t running, queued;
    uint32_t joined;            /* 1: vtime has been set */
};
struct USF_POLICY_STATE mark {
    struct pq_mark q;
    uint16_t picked;            /* named by pick, not started yet */
    uint16_t on;                /* started and not stopped: counted in `running` */
};
_Static_assert(sizeof(struct inst) <= USF_POL_DATA - 64 && sizeof(struct core) <= USF_POL_CORE_DATA
               && sizeof(struct group) <= USF_POL_GROUP_DATA && sizeof(struct mark) <= USF_POL_TASK_DATA, "our state fits the data areas");

static struct inst *inst_of(struct usf_pol *p) { return (struct inst *)(void *)p->data; }
static struct core *core_of(struct usf_pol *p, uint32_t c) { return (struct core *)(void *)usf_core(p, c)->data; }
static struct group *group_of(struct usf_pol *p, uint32_t i) { return (struct group *)(void *)usf_group(p, i)->data; }
static struct mark *mark_of(struct usf_pol *p, uint32_t t) { return (struct mark *)(void *)usf_task(p, t)->data; }

static uint64_t virtual(struct usf_pol *p, uint32_t i, uint64_t ns)
{
    uint32_t weight = usf_group(p, i)->weight;
    return weight == 100 || !weight ? ns : ns / weight * 100 + ns % weight * 100 / weight;
}

/* Virtual time now, with what its running tasks have had since they were started. */
static uint64_t vtime(struct usf_pol *p, uint32_t i)
{
    const struct group *group = group_of(p, i);
    uint64_t runs = group->running * p->now - group->starts;
    return group->vtime + (runs >> 63 ? 0 : virtual(p, i, runs));
}

/* The active group that has had least and may use the core; USF_NONE: none. */
static uint32_t least(struct usf_pol *p, uint32_t core, uint64_t *v, const uint64_t *seen)
{
    const struct pq_inst *in = pq_inst_of(p);
    uint32_t best = USF_NONE;
    for (uint32_t words = in->active_words; words; words &= words - 1) {
        uint32_t w = (uint32_t)__builtin_ctz(words);
        for (uint64_t m = in->active[w] & ~seen[w]; m; m &= m - 1) {
            uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(m);
            if (core != USF_NONE && !usf_allowed(p, i, core)) continue;
            uint64_t had = vtime(p, i);
            if (best == USF_NONE || had < *v) best = i, *v = had;
        }
    }
    return best;
}

static const uint64_t no_groups[POL_GROUP_WORDS];

static uint64_t floor_now(struct usf_pol *p)
{
    struct inst *in = inst_of(p);
    uint64_t low = UINT64_MAX, v;
    if (in->floor_at && p->now - in->floor_at < FLOOR_NS) return in->floor;
    if (least(p, USF_NONE, &v, no_groups) != USF_NONE) low = v;
    for (uint32_t c = 0; c < p->nr_cores; c++) {
        uint32_t task = usf_core(p, c)->current;
        if (task == USF_NONE || !group_of(p, usf_task(p, task)->group)->running) continue;
        if ((v = vtime(p, usf_task(p, task)->group)) < low) low = v;
    }
    if (low != UINT64_MAX && low > in->floor) in->floor = low;
    in->floor_at = p->now;
    return in->floor;
}

/* A group with nothing to do has something again. */
static void awake(struct usf_pol *p, uint32_t i)
{
    struct group *group = group_of(p, i);
    if (group->running || group->queued) return;
    uint64_t floor = floor_now(p), keeps = group->joined ? p->quantum : 0;
    uint64_t low = floor > keeps ? floor - keeps : 0;
    if (!group->joined || group->vtime < low) group->vtime = low;
    group->joined = 1;
}

static uint32_t select_core(struct usf_pol *p, uint32_t task, const uint64_t idle[USF_CORE_WORDS]) { return pq_select(p, task, idle, NULL); }

/* Group i has ready tasks.  Of the cores where `task` (USF_NONE: any of i's) may run, the one whose
 * group has had most is made to give way, if that is more than a quantum ahead of i. */
static void reclaim(struct usf_pol *p, uint32_t i, uint32_t task)
{
    uint64_t most = vtime(p, i) + p->quantum;
    uint32_t found = USF_NONE;
    inst_of(p)->looked = p->now;
    for (uint32_t c = 0; c < p->nr_cores; c++) {
        const struct usf_pol_core *core = usf_core(p, c);
        if (core->current == USF_NONE || core->give_way_at || pol_is_at_home(p, c, i)) continue;
        if (task == USF_NONE ? !usf_allowed(p, i, c) : !usf_may_run(p, task, c)) continue;
        uint64_t v = vtime(p, usf_task(p, core->current)->group);
        if (v > most) most = v, found = c;
    }
    if (found == USF_NONE) return;
    uint64_t at = usf_core(p, found)->since + MIN_RUN_NS;
    usf_give_way(usf_core(p, found), at > p->now ? at : p->now);
}

static void enqueue(struct usf_pol *p, uint32_t task, enum usf_why why)
{
    uint32_t i = usf_task(p, task)->group;
    mark_of(p, task)->picked = 0;
    awake(p, i);
    group_of(p, i)->queued++;
    pq_enqueue(p, task, why, NULL);
    if (why != USF_WHY_YIELD) pol_reclaim_for(p, task);
    if (why != USF_WHY_YIELD && why != USF_WHY_PREEMPT && p->now - inst_of(p)->looked >= LOOK_NS) reclaim(p, i, task);
}

static void dequeue(struct usf_pol *p, uint32_t task)
{
    group_of(p, usf_task(p, task)->group)->queued--;
    pq_dequeue(p, task);
}

static uint32_t choose(struct usf_pol *p, uint32_t core)
{
    struct core *c = core_of(p, core);
    uint64_t v = 0, seen[POL_GROUP_WORDS] = {0};
    uint32_t task = pq_take_overdue(p, core, p->quantum), i = least(p, core, &v, seen);
    if (task != USF_NONE) return task;
    if (i != USF_NONE && c->group && c->group - 1 != i && pq_is_active(&inst_of(p)->q, c->group - 1)
        && vtime(p, c->group - 1) < v + p->quantum && (task = pq_take(p, c->group - 1, core)) != USF_NONE) return task;
    for (; i != USF_NONE; i = least(p, core, &v, seen)) {
        if ((task = pq_take(p, i, core)) != USF_NONE) return task;
        pol_add_group(seen, i);       /* its tasks are confined to other cores */
    }
    return pq_take_yielder(p, core);
}

static uint32_t pick(struct usf_pol *p, uint32_t core)
{
    uint32_t task = pq_picked(p, core, choose(p, core));
    if (task == USF_NONE) return task;
    group_of(p, usf_task(p, task)->group)->queued--;
    mark_of(p, task)->picked = 1;
    return task;
}

static bool yield(struct usf_pol *p, uint32_t core, uint32_t task)
{
    (void)task;
    return pq_yields(p, core, pq_any_for(p, core) || pq_yielder_waits(p, core));
}

static void started(struct usf_pol *p, uint32_t core, uint32_t task)
{
    uint32_t i = usf_task(p, task)->group;
    struct group *group = group_of(p, i);
    if (!mark_of(p, task)->picked) awake(p, i);
    mark_of(p, task)->picked = 0;
    mark_of(p, task)->on = 1;
    group->running++;
    group->starts += p->now;
    core_of(p, core)->group = i + 1;
    pq_yields(p, core, false);
}

static void stopped(struct usf_pol *p, uint32_t core, uint32_t task)
{
    uint32_t i = usf_task(p, task)->group;
    struct group *group = group_of(p, i);
    uint64_t since = usf_core(p, core)->since, ran = p->now > since ? p->now - since : 0;
    if (!mark_of(p, task)->on) return;          /* it was on the core before this policy was in force */
    mark_of(p, task)->on = 0;
    group->running--;
    group->starts -= since;
    group->vtime += virtual(p, i, ran);
    uint64_t ahead = inst_of(p)->floor + MAX_AHEAD * p->quantum + virtual(p, i, p->quantum);
    if (group->vtime > ahead && p->now - inst_of(p)->floor_at < FLOOR_NS) group->vtime = ahead;
}

/* Keep the bound on the lag for those that came to wait before others got ahead of them. */
static void tick(struct usf_pol *p)
{
    uint64_t v = 0;
    floor_now(p);
    uint32_t i = least(p, USF_NONE, &v, no_groups);
    if (i != USF_NONE) reclaim(p, i, USF_NONE);
    pol_reclaim_all(p, pq_inst_of(p)->active, pq_inst_of(p)->active_words);
}

const struct usf_policy_ops usf_policy_fair = {
    .api = USF_POLICY_API,
    .size = sizeof(struct usf_policy_ops),
    .name = "fair",

    .description = "equal virtual time per process and weight, within cooperation",
    .init = pq_init,
    .select_core = select_core,
    .enqueue = enqueue,
    .pick = pick,
    .dequeue = dequeue,
    .yield = yield,
    .started = started,
    .stopped = stopped,
    .tick = tick,
};
