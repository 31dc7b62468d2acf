/* src/policy/equi.c - topology-aware equipartitioning, and its speed-up-aware variant.
 * SPDX-License-Identifier: Apache-2.0
 *
 * After Schönherr, Juurlink and Richling, "Topology-aware equipartitioning with coscheduling on
 * multicore systems" (2013): each program has a partition, a topology unit or an equal fraction of
 * one, all of one shape; the shape follows the number of programs, by thresholds with hysteresis
 * (their Listing 1; partition.h).  Programs are told their partition (usf_pol_group.share), and
 * malleable ones keep the old cores beside it until they have followed.  More programs than
 * partitions share them evenly, and a program that has been in a crowded one for long changes
 * places with one that has not.  docs/policies.md has the whole account, and what differs from the
 * paper.
 *
 * A partition is a preference: its cores serve its programs first and help others only when those
 * have nothing ready.  When a task finds all cores of its program busy and a helper's task on one,
 * that one gives way after MIN_HELP_NS.  A task that waits by yielding keeps its core against
 * helpers for PQ_SPIN_US and gets it back after PQ_HELP_NS.
 *
 * Within a partition: turns of one quantum between the programs that share it, the one with the
 * least core time per weight next; each program's tasks as queues.h has them.
 *
 * `speedup` measures each program's rate of finished parallel regions (speedup.h), has each try a
 * narrower partition once in a while, and lets those that lose least by it hand cores over to those
 * that gain most.
 *
 * Costs: an operation looks at a few words and at the programs that share the core.  A change of
 * shares looks at all programs and cores; it comes with programs that come and go (equi_review),
 * not with tasks. */
#include "policy/equi.h"
#include "policy/widths.h"

enum { MIN_HELP_NS = 200000 };

/* ---- programs come and go -------------------------------------------------------------------- */

static void link_program(struct usf_pol *p, uint32_t i)
{
    struct equi_inst *in = equi_inst_of(p);
    struct equi_group *e = equi_group_of(p, i);
    e->next = 0;
    e->prev = in->last;
    if (in->last) equi_group_of(p, in->last - 1)->next = i + 1;
    else in->first = i + 1;
    in->last = i + 1;
    e->placed = 1;
}

static void leave(struct usf_pol *p, uint32_t i)
{
    struct equi_inst *in = equi_inst_of(p);
    struct equi_group *e = equi_group_of(p, i);
    if (!e->placed) return;
    if (e->prev) equi_group_of(p, e->prev - 1)->next = e->next;
    else in->first = e->next;
    if (e->next) equi_group_of(p, e->next - 1)->prev = e->prev;
    else in->last = e->prev;
    usf_cores_clear(e->mine);
    equi_end_grace(in, e);
    e->placed = e->next = e->prev = 0;
    in->changed = 1;
}

/* The paper's set_partition(): a place on the level that is in force. */
static void join(struct usf_pol *p, uint32_t i)
{
    struct equi_inst *in = equi_inst_of(p);
    struct equi_group *e = equi_group_of(p, i);
    uint16_t load[USF_CORES_MAX];
    uint64_t granted = 0, n = 0;
    for (uint32_t j = in->first; j; j = equi_group_of(p, j - 1)->next) granted += equi_group_of(p, j - 1)->granted, n++;
    e->granted = n ? granted / n : 0;           /* no program owes it anything yet, nor it them */
    e->joined = p->now;
    equi_normal(p, i);
    equi_loads(p, load);
    if (p->flags & USF_POL_BLIND) {
        uint64_t one[USF_CORE_WORDS] = {0};
        e->units = (uint16_t)equi_units(p, i);
        /* The first has all at once: it might never call again, with a single thread that computes.
         * Others begin with one core. */
        if (!pol_own_cores(p, i, usf_group(p, i)->cores, one)) part_grow(one, usf_group(p, i)->cores, load, p->nr_cores, n ? 1 : p->nr_cores);
        equi_assign(p, i, one);
    } else {
        equi_place(p, i, load);
    }
    link_program(p, i);
    for (uint32_t c = 0; (c = usf_cores_next(e->mine, c)) < p->nr_cores; c++) {
        struct equi_core *core = equi_core_of(p, c);
        if (core->nr_owners < EQUI_OWNERS) core->owner[core->nr_owners] = (uint16_t)i;
        if (core->nr_owners <= EQUI_OWNERS) core->nr_owners++;
    }
    in->changed = 1;
    equi_due(in, p->flags & USF_POL_BLIND ? p->now : p->now + EQUI_WARM * p->quantum);
}

/* Turns within a partition begin where those are that it shares the core with. */
static void catch_up(struct usf_pol *p, uint32_t i)
{
    struct equi_group *e = equi_group_of(p, i);
    uint32_t c = usf_cores_next(e->mine, 0);
    uint64_t low = UINT64_MAX;
    if (c >= p->nr_cores) return;
    const struct equi_core *core = equi_core_of(p, c);
    for (uint32_t k = 0; k < core->nr_owners && k < EQUI_OWNERS; k++) {
        const struct equi_group *other = equi_group_of(p, core->owner[k]);
        if (core->owner[k] != i && (other->running || other->queued) && other->vtime < low) low = other->vtime;
    }
    if (low != UINT64_MAX && e->vtime + p->quantum < low) e->vtime = low - p->quantum;
    if (low != UINT64_MAX && e->vtime > low + 2 * p->quantum) e->vtime = low + 2 * p->quantum;
}

/* A group with nothing to do has something again. */
static void awake(struct usf_pol *p, uint32_t i)
{
    const struct equi_group *e = equi_group_of(p, i);
    if (e->running || e->queued) return;
    if (!e->placed) join(p, i);
    catch_up(p, i);
}

static void asleep(struct usf_pol *p, uint32_t i)
{
    struct equi_group *e = equi_group_of(p, i);
    if (e->running || e->queued) return;
    e->idle_since = p->now;
    equi_due(equi_inst_of(p), p->now + EQUI_AWAY * p->quantum);
}

/* ---- the review: thresholds, graces, turns --------------------------------------------------- */

/* Programs, and how many of them count (by weight); those that have had nothing to do for long
 * leave. */
static uint32_t count_programs(struct usf_pol *p)
{
    struct equi_inst *in = equi_inst_of(p);
    uint64_t away = EQUI_AWAY * p->quantum, warm = EQUI_WARM * p->quantum;
    uint32_t units = 0, next;
    for (uint32_t i = in->first; i; i = next) {
        struct equi_group *e = equi_group_of(p, i - 1);
        next = e->next;
        bool idle = !e->running && !e->queued;
        if (idle && p->now - e->idle_since >= away) {
            leave(p, i - 1);
            continue;
        }
        if (idle) equi_due(in, e->idle_since + away);
        if (p->now - e->joined < warm) equi_due(in, e->joined + warm);
        else units += equi_units(p, i - 1);
    }
    return units;
}

/* Listing 1, with a short-term hysteresis: at a threshold for EQUI_SETTLE quanta, or beyond it. */
static bool follow_thresholds(struct usf_pol *p, uint32_t units)
{
    struct equi_inst *in = equi_inst_of(p);
    uint32_t before = in->level, settled;
    if (!units) {
        in->crossed = 0;
        if (!in->first) in->level = 0;          /* no program is left: the next one has the machine */
        return false;
    }
    in->level = part_next_level(&in->map, before, units, false);
    settled = part_next_level(&in->map, in->level, units, true);
    if (settled == in->level) {
        in->crossed = 0;
    } else {
        if (!in->crossed || in->settled != settled) in->crossed = p->now, in->settled = settled;
        if (p->now - in->crossed >= EQUI_SETTLE * p->quantum) in->level = settled, in->crossed = 0;
        else equi_due(in, in->crossed + EQUI_SETTLE * p->quantum);
    }
    if (in->level == before) return false;
    for (uint32_t i = in->first; i; i = equi_group_of(p, i - 1)->next) equi_normal(p, i - 1);
    return true;
}

/* Grace periods that are over: the program has followed (its latest team fits), or has had its
 * time. */
static bool end_graces(struct usf_pol *p)
{
    struct equi_inst *in = equi_inst_of(p);
    bool ended = false;
    for (uint32_t i = in->nr_graces ? in->first : 0; i; i = equi_group_of(p, i - 1)->next) {
        struct equi_group *e = equi_group_of(p, i - 1);
        uint32_t width = usf_group(p, i - 1)->width;
        if (!usf_cores_any(e->old)) continue;
        if (p->now < e->grace_until && (!width || width > usf_cores_count(e->mine))) continue;
        equi_end_grace(in, e);
        speedup_restart(&e->measured);
        ended = true;
    }
    if (in->nr_graces) equi_due(in, p->now + 1000000);
    return ended;
}

/* Cores that helpers have, while a program to which they belong has ready tasks. */
static void reclaim_all(struct usf_pol *p)
{
    const struct equi_inst *in = equi_inst_of(p);
    for (uint32_t c = 0; (c = usf_cores_next(in->borrowed, c)) < p->nr_cores; c++) {
        const struct equi_core *core = equi_core_of(p, c);
        for (uint32_t k = 0; k < core->nr_owners && k < EQUI_OWNERS; k++)
            if (pq_is_active(&in->q, core->owner[k]) && !usf_core(p, c)->give_way_at) usf_give_way(usf_core(p, c), p->now + MIN_HELP_NS);
    }
}

static void equi_review(struct usf_pol *p)
{
    struct equi_inst *in = equi_inst_of(p);
    uint32_t rates[USF_CORES_MAX];
    bool uneven = false, moved = false, changed;
    in->due = UINT64_MAX;
    equi_rates(p, rates);
    equi_account(p, rates);
    uint32_t units = count_programs(p);
    changed = in->changed;
    in->changed = 0;
    if (p->flags & USF_POL_BLIND) {
        if (changed) equi_divide_all(p), moved = true;
    } else {
        bool crossed = follow_thresholds(p, units);
        if (in->measures && widths_choose(p, units, crossed || changed)) crossed = true;
        if (crossed) equi_place_all(p), moved = true;
        else if (changed) equi_even_out(p);
    }
    moved |= end_graces(p);
    if (moved || changed) equi_rates(p, rates);
    if (equi_take_turns(p, rates, &uneven)) moved = true;
    if (uneven) equi_due(in, p->now + p->quantum);
    if (!moved && !changed) return;
    equi_note_owners(p);
    reclaim_all(p);
}

static void review_if_due(struct usf_pol *p)
{ if (__builtin_expect(p->now >= equi_inst_of(p)->due, 0)) equi_review(p); }

/* ---- the operations -------------------------------------------------------------------------- */

static int init(struct usf_pol *p)
{
    if (pq_init(p)) return -1;
    struct equi_inst *in = equi_inst_of(p);
    part_build(p, &in->map, false);
    in->due = UINT64_MAX;
    in->accounted = p->now;
    return 0;
}

static int init_speedup(struct usf_pol *p)
{
    if (init(p)) return -1;
    part_build(p, &equi_inst_of(p)->map, true);
    equi_inst_of(p)->measures = 1;
    return 0;
}

static void group_remove(struct usf_pol *p, uint32_t i)
{
    leave(p, i);
    equi_review(p);
}

/* Another weight: another multiple.  Other cores: another place. */
static void group_changed(struct usf_pol *p, uint32_t i)
{
    struct equi_inst *in = equi_inst_of(p);
    struct equi_group *e = equi_group_of(p, i);
    uint16_t load[USF_CORES_MAX];
    if (!e->placed) return;
    in->changed = 1;
    in->due = 0;
    if (p->flags & USF_POL_BLIND) return;
    equi_normal(p, i);
    equi_loads(p, load);
    for (uint32_t c = 0; (c = usf_cores_next(e->mine, c)) != USF_NONE; c++) load[c]--;
    equi_place(p, i, load);
    equi_note_owners(p);
}

static uint32_t select_core(struct usf_pol *p, uint32_t task, const uint64_t idle[USF_CORE_WORDS])
{
    uint32_t i = usf_task(p, task)->group;
    review_if_due(p);
    awake(p, i);
    return pq_select(p, task, idle, equi_group_of(p, i)->preferred);
}

/* No core of its own is idle: send a helper away. */
static void reclaim(struct usf_pol *p, uint32_t i, uint32_t task)
{
    uint64_t m[USF_CORE_WORDS];
    uint32_t last = usf_task(p, task)->last_core, c;
    if (!usf_cores_and(m, equi_inst_of(p)->borrowed, equi_group_of(p, i)->preferred)) return;
    while ((c = last < p->nr_cores ? pq_nearest(p, m, last) : usf_cores_next(m, 0)) != USF_NONE) {
        struct usf_pol_core *core = usf_core(p, c);
        if (!core->give_way_at && usf_may_run(p, task, c)) {
            uint64_t at = core->since + MIN_HELP_NS;
            usf_give_way(core, at > p->now ? at : p->now);
            return;
        }
        usf_cores_remove(m, c);
    }
}

static void enqueue(struct usf_pol *p, uint32_t task, enum usf_why why)
{
    uint32_t i = usf_task(p, task)->group;
    struct equi_group *e = equi_group_of(p, i);
    review_if_due(p);
    equi_mark_of(p, task)->picked = 0;
    awake(p, i);
    e->queued++;
    pq_enqueue(p, task, why, e->preferred);
    if (why != USF_WHY_YIELD) reclaim(p, i, task);
}

static void dequeue(struct usf_pol *p, uint32_t task)
{
    uint32_t i = usf_task(p, task)->group;
    equi_group_of(p, i)->queued--;
    pq_dequeue(p, task);
    asleep(p, i);
}

/* The active program, of those to which the core belongs, that has had least of its partition;
 * USF_NONE: none. */
static uint32_t next_owner(struct usf_pol *p, uint32_t core, const uint64_t *seen)
{
    const struct equi_inst *in = equi_inst_of(p);
    const struct equi_core *c = equi_core_of(p, core);
    uint32_t best = USF_NONE;
    if (c->nr_owners <= EQUI_OWNERS) {
        for (uint32_t k = 0; k < c->nr_owners; k++) {
            uint32_t i = c->owner[k];
            if (!pq_is_active(&in->q, i) || pol_has_group(seen, i)) continue;
            if (best == USF_NONE || equi_group_of(p, i)->vtime < equi_group_of(p, best)->vtime) best = i;
        }
        return best;
    }
    for (uint32_t words = in->q.active_words; words; words &= words - 1) {
        uint32_t w = (uint32_t)__builtin_ctz(words);
        for (uint64_t m = in->q.active[w] & ~seen[w]; m; m &= m - 1) {
            uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(m);
            if (!equi_owns(p, i, core)) continue;
            if (best == USF_NONE || equi_group_of(p, i)->vtime < equi_group_of(p, best)->vtime) best = i;
        }
    }
    return best;
}

/* In a grace period old and new owner take turns at the core, whatever time they have had
 * elsewhere: the new one may have had so little that by time alone it would be served on and on,
 * and the old one, which has not followed yet, would wait. */
static uint32_t next_in_grace(struct usf_pol *p, uint32_t core, uint32_t least)
{
    struct equi_core *c = equi_core_of(p, core);
    uint64_t seen[POL_GROUP_WORDS] = {0};
    if (c->group != least + 1 || p->now - c->since < p->quantum) return least;
    pol_add_group(seen, least);
    uint32_t other = next_owner(p, core, seen);
    if (other == USF_NONE) return least;
    bool grace = usf_cores_has(equi_group_of(p, least)->old, core) || usf_cores_has(equi_group_of(p, other)->old, core);
    return grace ? other : least;
}

/* The core's programs have nothing: those of others in turn. */
static uint32_t help(struct usf_pol *p, uint32_t core)
{
    const struct equi_inst *in = equi_inst_of(p);
    struct equi_core *c = equi_core_of(p, core);
    uint32_t first = pq_next_active(&in->q, c->round), i = first, task;
    while (i != USF_NONE) {
        if ((task = pq_take(p, i, core)) != USF_NONE) {
            c->round = (uint16_t)((i + 1) % USF_GROUPS_MAX);
            return task;
        }
        if ((i = pq_next_active(&in->q, (i + 1) % USF_GROUPS_MAX)) == first) break;
    }
    return USF_NONE;
}

static uint32_t choose(struct usf_pol *p, uint32_t core)
{
    struct equi_core *c = equi_core_of(p, core);
    uint64_t seen[POL_GROUP_WORDS] = {0};
    uint32_t i = next_owner(p, core, seen), yielder = c->q.yielded.head, task;
    bool own = yielder && equi_owns(p, usf_task(p, yielder - 1)->group, core);
    if ((task = pq_take_overdue(p, core, i == USF_NONE && own ? PQ_HELP_NS : p->quantum)) != USF_NONE) return task;
    if (i != USF_NONE && c->group && c->group - 1 != i && p->now - c->since < p->quantum && equi_owns(p, c->group - 1, core)
        && pq_is_active(&equi_inst_of(p)->q, c->group - 1) && (task = pq_take(p, c->group - 1, core)) != USF_NONE) return task;
    if (i != USF_NONE && equi_inst_of(p)->nr_graces) i = next_in_grace(p, core, i);
    for (; i != USF_NONE; i = next_owner(p, core, seen)) {
        if ((task = pq_take(p, i, core)) != USF_NONE) return task;
        pol_add_group(seen, i);        /* its tasks are confined to other cores */
    }
    if (own && pq_spun_briefly(p, core) && (task = pq_take_yielder(p, core)) != USF_NONE) return task;
    if ((task = help(p, core)) != USF_NONE) return task;
    return pq_take_yielder(p, core);
}

static uint32_t pick(struct usf_pol *p, uint32_t core)
{
    review_if_due(p);
    uint32_t task = pq_picked(p, core, choose(p, core));
    if (task == USF_NONE) return task;
    equi_group_of(p, usf_task(p, task)->group)->queued--;
    equi_mark_of(p, task)->picked = 1;
    return task;
}

static bool yield(struct usf_pol *p, uint32_t core, uint32_t task)
{
    uint64_t seen[POL_GROUP_WORDS] = {0};
    bool brief = equi_owns(p, usf_task(p, task)->group, core) && pq_spins_briefly(p, core);
    bool others = next_owner(p, core, seen) != USF_NONE || pq_yielder_waits(p, core);
    return pq_yields(p, core, others || (pq_any_for(p, core) && !brief));
}

static void started(struct usf_pol *p, uint32_t core, uint32_t task)
{
    struct equi_inst *in = equi_inst_of(p);
    struct equi_core *c = equi_core_of(p, core);
    struct equi_mark *m = equi_mark_of(p, task);
    uint32_t i = usf_task(p, task)->group;
    if (!m->picked) awake(p, i);
    m->picked = 0;
    m->on = 1;
    equi_group_of(p, i)->running++;
    pq_yields(p, core, false);
    equi_note_borrowed(p, core, task);
    if (usf_cores_has(in->borrowed, core)) {
        uint32_t waiting = c->q.yielded.head;   /* its own program's thread only waits by yielding */
        if (waiting && equi_owns(p, usf_task(p, waiting - 1)->group, core)) usf_give_way(usf_core(p, core), p->now + PQ_HELP_NS);
    } else if (c->group != i + 1) {
        c->group = i + 1;
        c->since = p->now;
    }
}

static void stopped(struct usf_pol *p, uint32_t core, uint32_t task)
{
    struct equi_inst *in = equi_inst_of(p);
    struct equi_mark *m = equi_mark_of(p, task);
    uint32_t i = usf_task(p, task)->group, weight = usf_group(p, i)->weight;
    struct equi_group *e = equi_group_of(p, i);
    uint64_t since = usf_core(p, core)->since, ran = p->now > since ? p->now - since : 0;
    bool borrowed = usf_cores_has(in->borrowed, core);
    usf_cores_remove(in->borrowed, core);
    if (!m->on) return;         /* it was on the core before this policy was in force */
    m->on = 0;
    if (!borrowed) e->vtime += ran * 100 / (weight ? weight : 100);
    e->running--;
    asleep(p, i);
    review_if_due(p);           /* where no task waits there is no pick, and few ticks */
}

static void tick(struct usf_pol *p)
{
    review_if_due(p);
    if (usf_cores_any(equi_inst_of(p)->borrowed)) reclaim_all(p);
}

const struct usf_policy_ops usf_policy_equi = {
    .api = USF_POLICY_API, .size = sizeof(struct usf_policy_ops), .name = "equi",
    .description = "topology-aware equipartitioning: equal partitions along the topology, sized by the number of programs",
    .init = init, .group_remove = group_remove, .select_core = select_core, .enqueue = enqueue, .pick = pick, .dequeue = dequeue,
    .yield = yield, .started = started, .stopped = stopped, .tick = tick, .group_changed = group_changed,
};

const struct usf_policy_ops usf_policy_speedup = {
    .api = USF_POLICY_API, .size = sizeof(struct usf_policy_ops), .name = "speedup",
    .description = "equi with wider partitions for programs that are measured to use them",
    .init = init_speedup, .group_remove = group_remove, .select_core = select_core, .enqueue = enqueue, .pick = pick, .dequeue = dequeue,
    .yield = yield, .started = started, .stopped = stopped, .tick = tick, .group_changed = group_changed,
};
