/* src/policy/gang.c - coscheduling: programs take turns on partitions, all cores of one together.
 * SPDX-License-Identifier: Apache-2.0
 *
 * After Schönherr et al., "Topology-aware equipartitioning with coscheduling on multicore systems"
 * (2013): partition.h cuts the machine into equal partitions, more of them the more programs there
 * are, with thresholds and hysteresis (II-A).  Where there are more programs than partitions
 * several take turns on one: in its slot a program has all cores of its partition.
 *
 * Slots.  Programs are spread evenly over the partitions of a level; those that are left over go to
 * the next wider level, down to the whole machine (II-B).  Time goes to one level at a time: a slot
 * is a level and a turn; in it every partition of this level runs one program.  A program of a
 * level with k partitions gets 1/k of the machine in its slot, which is k times as long as one of
 * the whole machine: so each program gets the same share, times its weight.  Who still got less has
 * longer slots later (made_up_for).  The shortest slot takes usf_pol.slice.  The slot that has not
 * been served for longest is next; one whose programs have nothing to run is skipped, or ends at
 * the next tick.
 *
 * A program that does not follow its share (it is not USF_GROUP_MALLEABLE) is not given a partition
 * with less cores than it has threads: it goes to a wider level.  Those that are not to be
 * coscheduled (II-C, USF_GROUP_NO_GANG) have a slot together, with as much time as their number and
 * weights are due, in which their threads run as they come, on all cores.
 *
 * A core is *owned* in a slot by a program, by those of the common slot (COMMON), or by none.
 * Owners' tasks first.  While none of them waits, the core takes any program's (backfill): then it
 * runs a *stranger*, which gives way when an owner's task gets ready.  Who yields waits for others
 * of its gang, which run at this very time: it keeps the core rather than let strangers in.
 *
 * Switching together: each running task has give_way_at = the slot's end.  What comes first then,
 * the tick or the first core to ask, turns the slot over for all cores: those that run tasks of the
 * new owner go on, the others are due at once.
 *
 * Invariants, between two calls
 *   G1  a held task is in exactly one fifo of its group: ready[core] or, if its affinity is strict,
 *       strict;
 *   G2  in ready[core] yielders come last; bit c of `nonempty` <=> the head of ready[c] is no
 *       yielder, of `any` <=> it is not empty;
 *   G3  bit i of inst.active <=> group i has a task in its fifos; queued is their number, running
 *       that of its cores;
 *   G4  bit c of inst.strangers <=> core c has an owner and runs another program's task. */
#include "policy/gang.h"

/* ---- slots ----------------------------------------------------------------------------------- */

static uint32_t slot_of(struct usf_pol *p, uint32_t i)
{
    const struct inst *in = inst_of(p);
    const struct group *group = group_of(p, i);
    return is_common(p, i) ? in->first[in->map.nr_levels] : in->first[group->level] + group->slot;
}

/* The slot that is due: of the programs with anything to run, one that has been served longest ago.
 * None: USF_NONE. */
static uint32_t next_slot(struct usf_pol *p)
{
    const struct inst *in = inst_of(p);
    uint32_t best = USF_GROUPS_MAX;
    for (uint32_t i = next_group(in->programs, 0); i < USF_GROUPS_MAX; i = next_group(in->programs, i + 1))
        if (has_work(p, i) && (best == USF_GROUPS_MAX || group_of(p, i)->served < group_of(p, best)->served)) best = i;
    return best == USF_GROUPS_MAX ? USF_NONE : slot_of(p, best);
}

static bool is_owner(struct usf_pol *p, uint32_t core, uint32_t i)
{
    uint32_t owner = core_of(p, core)->owner;
    return owner == i + 1 || !owner || (owner == COMMON && is_common(p, i));
}

/* Does a task of an owner wait that may run here? */
static bool owner_waits(struct usf_pol *p, uint32_t core)
{
    const struct inst *in = inst_of(p);
    uint32_t owner = core_of(p, core)->owner;
    if (!owner) return false;
    if (owner != COMMON) return group_of(p, owner - 1)->queued && usf_allowed(p, owner - 1, core);
    for (uint32_t i = next_group(in->active, 0); i < USF_GROUPS_MAX; i = next_group(in->active, i + 1))
        if (is_common(p, i) && usf_allowed(p, i, core)) return true;
    return false;
}

/* Has the group, a stranger at its core, had so much that another is to fill in? */
static bool is_rich(struct usf_pol *p, uint32_t i) { return used_now(p, i) > inst_of(p)->poorest + slice(p); }

/* What becomes of the task that runs on the core. */
static void judge(struct usf_pol *p, uint32_t core, bool begun)
{
    struct inst *in = inst_of(p);
    struct usf_pol_core *c = usf_core(p, core);
    usf_cores_remove(in->strangers, core);
    if (c->current == USF_NONE) return;
    uint32_t i = usf_task(p, c->current)->group;
    bool stays = is_owner(p, core, i);
    if (!stays) usf_cores_add(in->strangers, core);
    usf_give_way(c, stays || !begun || (!owner_waits(p, core) && !is_rich(p, i)) ? in->slot_end : p->now);
}

/* Of those that wait, the one that has had the least. */
static void find_poorest(struct usf_pol *p)
{
    struct inst *in = inst_of(p);
    in->poorest = UINT64_MAX / 2;
    for (uint32_t i = next_group(in->active, 0); i < USF_GROUPS_MAX; i = next_group(in->active, i + 1))
        if (used_now(p, i) < in->poorest) in->poorest = used_now(p, i);
}

/* What the programs with anything to run have had, in the mean. */
static uint64_t mean_used(struct usf_pol *p)
{
    const struct inst *in = inst_of(p);
    uint64_t sum = 0, n = 0;
    for (uint32_t i = next_group(in->programs, 0); i < USF_GROUPS_MAX; i = next_group(in->programs, i + 1))
        if (has_work(p, i)) sum += used_now(p, i), n++;
    return n ? sum / n : 0;
}

/* Slots of one length are no equal shares where a program has fewer threads than its partition has
 * cores, comes late, or fills in elsewhere.  So a slot takes up to twice as long if all of its
 * programs have had less than the mean, and down to half as long if one has had more.  Up to what
 * one turn gives there is nothing to make up for: one program is always next.  part: the partitions
 * of its level, times the programs' weight. */
static uint64_t made_up_for(struct usf_pol *p, uint32_t slot, uint64_t length, uint64_t part)
{
    const struct inst *in = inst_of(p);
    uint64_t mean = mean_used(p), most = 0, bound = LAG_SLICES * slice(p) * p->nr_cores;
    for (uint32_t i = next_group(in->programs, 0); i < USF_GROUPS_MAX; i = next_group(in->programs, i + 1)) {
        struct group *group = group_of(p, i);
        if (slot_of(p, i) != slot || !has_work(p, i)) continue;
        uint64_t used = used_now(p, i);
        if (used + bound < mean) group->used += mean - bound - used, used = mean - bound;
        if (used > mean + bound && group->used >= used - mean - bound) group->used -= used - mean - bound, used = mean + bound;
        if (used > most) most = used;
    }
    uint64_t turn = length * 100 * p->nr_cores / part, off = most < mean ? mean - most : most - mean;
    if (!most || off <= turn) return length;
    uint64_t time = (off - turn) * part / (100 * p->nr_cores);
    if (most < mean) return length + (time < length ? time : length);
    return length - (time < length / 2 ? time : length / 2);
}

/* Programs of one slot have one level; the slot is as long as their mean weight says. */
static uint64_t length_of(struct usf_pol *p, uint32_t slot)
{
    const struct inst *in = inst_of(p);
    uint64_t weights = 0, nr = 0, count = 1;
    bool common = slot == in->first[in->map.nr_levels];
    for (uint32_t i = next_group(in->programs, 0); i < USF_GROUPS_MAX; i = next_group(in->programs, i + 1)) {
        if (slot_of(p, i) != slot) continue;
        weights += usf_group(p, i)->weight;
        if (!common) count = in->map.count[group_of(p, i)->level];
        nr++;
    }
    if (common) nr = 1;             /* each of them is due its own time */
    uint64_t length = slice(p) * count * weights / (100 * (nr ? nr : 1) * (in->widest ? in->widest : 1));
    if (count * weights >= nr && nr && !common) length = made_up_for(p, slot, length, count * weights / nr);
    return length > slice(p) / 10 ? length : slice(p) / 10;
}

/* ---- how long a change of slots takes: switches.h -------------------------------------------- */

/* The slot is over: since when could others have run? */
static uint64_t due_since(struct usf_pol *p)
{
    const struct inst *in = inst_of(p);
    if (p->now < in->slot_end) return p->now;
    uint64_t since = in->nr_queued ? in->waiting_since : p->now;
    return since > in->slot_end ? since : in->slot_end;
}

static void note_switched(struct usf_pol *p)
{
    struct inst *in = inst_of(p);
    if (!in->switch_due) return;
    for (uint32_t c = 0; (c = usf_cores_next(in->strangers, c)) < p->nr_cores; c++)
        if (owner_waits(p, c)) return;
    gang_switch_add(&in->switched, p->now > in->switch_due ? p->now - in->switch_due : 0);
    in->switch_due = 0;
}

static void note_change(struct usf_pol *p, uint64_t due)
{
    struct inst *in = inst_of(p);
    if (in->switch_due) gang_switch_add(&in->switched, p->now - in->switch_due);     /* it took longer than the slot */
    in->switch_due = due;
    note_switched(p);
}

static void turn_over(struct usf_pol *p)
{
    struct inst *in = inst_of(p);
    uint64_t due = due_since(p);
    uint32_t before = in->slot;
    if (in->dirty || p->now - in->planned >= PLAN_NS) plan(p);
    uint32_t slot = next_slot(p);
    for (uint32_t c = 0; c < p->nr_cores; c++) core_of(p, c)->owner = 0;
    in->slot_end = p->now + slice(p);
    in->slot = (uint16_t)slot;
    if (slot != USF_NONE) {
        in->slot_end = p->now + length_of(p, slot);
        in->served++;
        for (uint32_t i = next_group(in->programs, 0); i < USF_GROUPS_MAX; i = next_group(in->programs, i + 1)) {
            struct group *group = group_of(p, i);
            if (slot_of(p, i) != slot) continue;
            group->served = in->served;
            for (uint32_t c = 0; (c = usf_cores_next(group->node, c)) < p->nr_cores; c++)
                core_of(p, c)->owner = (uint16_t)(is_common(p, i) ? COMMON : i + 1);
        }
    }
    find_poorest(p);
    for (uint32_t c = 0; c < p->nr_cores; c++) judge(p, c, true);
    if (slot != USF_NONE && before != in->slot && in->nr_queued) note_change(p, due);
}

static bool slot_is_idle(struct usf_pol *p)
{
    const struct inst *in = inst_of(p);
    for (uint32_t i = next_group(in->programs, 0); i < USF_GROUPS_MAX; i = next_group(in->programs, i + 1))
        if (has_work(p, i) && slot_of(p, i) == in->slot) return false;
    return true;
}

static void keep_time(struct usf_pol *p)
{
    if (p->now >= inst_of(p)->slot_end) turn_over(p);
}

/* The group has something to run. */
static void join(struct usf_pol *p, uint32_t i)
{
    struct inst *in = inst_of(p);
    struct group *group = group_of(p, i);
    if (pol_has_group(in->programs, i)) return;
    uint64_t least = is_common(p, i) ? in->floor : mean_used(p);
    if (group->used < least) group->used = least;
    pol_add_group(in->programs, i);
    in->dirty = 1;
    group->is_placed = 0;
    group->level = group->slot = 0;
    group->served = in->served;      /* behind all that wait now */
    usf_cores_fill(group->node, USF_CORES_MAX);
    if (in->slot_end > p->now + slice(p)) in->slot_end = p->now + slice(p);
}

static void note_idle(struct usf_pol *p, uint32_t i)
{
    if (!has_work(p, i)) group_of(p, i)->idle_since = p->now;
}

/* ---- queues ---------------------------------------------------------------------------------- */

static uint32_t nearest(struct usf_pol *p, const uint64_t *set, uint32_t core)
{
    const struct core *c = core_of(p, core);
    return usf_nearest_core(set, c->same_llc, c->same_node, core);
}

/* The core whose queue a task waits in: its last, if that is of the partition, else one that is,
 * else any where it may run. */
static uint32_t home(struct usf_pol *p, uint32_t task)
{
    const struct usf_pol_task *t = usf_task(p, task);
    const uint64_t *may = usf_group(p, t->group)->cores, *node = group_of(p, t->group)->node;
    if (t->last_core < p->nr_cores && usf_cores_has(may, t->last_core) && usf_cores_has(node, t->last_core)) return t->last_core;
    uint32_t c = usf_next_core(may, node, task % p->nr_cores);
    if (c >= p->nr_cores) c = usf_next_core(may, may, task % p->nr_cores);
    return c < p->nr_cores ? c : 0;
}

/* Who is made to give way goes on where fewest of its group wait. */
static uint32_t shortest(struct usf_pol *p, uint32_t i, uint32_t best)
{
    const struct group *group = group_of(p, i);
    for (uint32_t c = 0; (c = usf_cores_next(group->node, c)) < p->nr_cores; c++)
        if (usf_allowed(p, i, c) && group->ready[c].len < group->ready[best].len) best = c;
    return best;
}

/* This yielder (id + 1) and those before it. */
static void be_ready(struct usf_pol *p, uint32_t yielder)
{
    for (uint32_t i = yielder; i && mark_of(p, i - 1)->yielded; i = usf_task(p, i - 1)->prev) mark_of(p, i - 1)->yielded = 0;
}

static void push(struct usf_pol *p, uint32_t task, enum usf_why why)
{
    bool yielded = why == USF_WHY_YIELD;
    const struct usf_pol_task *t = usf_task(p, task);
    struct group *group = group_of(p, t->group);
    struct mark *m = mark_of(p, task);
    m->core = (uint16_t)home(p, task);
    if (why == USF_WHY_PREEMPT) m->core = (uint16_t)shortest(p, t->group, m->core);
    m->yielded = yielded;
    m->strict = t->strict;
    group->queued++;
    if (!inst_of(p)->nr_queued++) inst_of(p)->waiting_since = p->now;
    pol_add_group(inst_of(p)->active, t->group);
    if (m->strict) {
        usf_fifo_push(p, &group->strict, task);
        return;
    }
    struct usf_fifo *f = &group->ready[m->core];
    usf_cores_add(group->any, m->core);
    if (!yielded) usf_cores_add(group->nonempty, m->core);
    uint32_t before = f->tail;
    while (!yielded && before && mark_of(p, before - 1)->yielded) {
        if (p->now - usf_task(p, before - 1)->ready_since >= p->quantum) be_ready(p, before);       /* has waited for long */
        else before = usf_task(p, before - 1)->prev;
    }
    pol_insert_behind(p, f, before, task);
}

static void take_out(struct usf_pol *p, uint32_t task)
{
    uint32_t i = usf_task(p, task)->group;
    const struct mark *m = mark_of(p, task);
    struct group *group = group_of(p, i);
    struct usf_fifo *f = m->strict ? &group->strict : &group->ready[m->core];
    usf_fifo_remove(p, f, task);
    if (!m->strict && !f->head) usf_cores_remove(group->any, m->core);
    if (!m->strict && (!f->head || mark_of(p, f->head - 1)->yielded)) usf_cores_remove(group->nonempty, m->core);
    inst_of(p)->nr_queued--;
    if (!--group->queued) pol_remove_group(inst_of(p)->active, i);
}

/* First task with strict affinity that may run on the core, or USF_NONE. */
static uint32_t first_strict(struct usf_pol *p, const struct group *group, uint32_t core, bool yielded)
{
    for (uint32_t i = group->strict.head; i; i = usf_task(p, i - 1)->next)
        if (usf_may_run(p, i - 1, core) && mark_of(p, i - 1)->yielded <= yielded) return i - 1;
    return USF_NONE;
}

/* The group's next task for the core, taken out; yielded: one that yielded will do.  It is the
 * first of the nearest queue; but now and then that of the next queue in turn, yielder or not: else
 * those in queues of cores that others have, and yielders, would wait for ever. */
static uint32_t pick_of(struct usf_pol *p, uint32_t i, uint32_t core, bool yielded)
{
    struct group *group = group_of(p, i);
    if (!usf_allowed(p, i, core)) return USF_NONE;
    bool far = ++group->picks % FAR_EVERY == 0;
    const uint64_t *waiting = yielded || far ? group->any : group->nonempty;
    uint32_t at = far ? usf_next_core(waiting, waiting, group->turn) : nearest(p, waiting, core), task = USF_NONE;
    if (at != USF_NONE) task = group->ready[at].head - 1;
    if (far && at != USF_NONE) group->turn = (uint16_t)((at + 1) % USF_CORES_MAX);
    if (group->strict.head) {
        uint32_t strict = first_strict(p, group, core, yielded || far);
        bool older = task == USF_NONE || usf_task(p, strict == USF_NONE ? task : strict)->ready_since < usf_task(p, task)->ready_since;
        if (strict != USF_NONE && older) task = strict;
    }
    if (task != USF_NONE) take_out(p, task);
    return task;
}

/* Of those that are not coscheduled one that has had the least, by weight. */
static uint32_t pick_common(struct usf_pol *p, uint32_t core, bool yielded)
{
    struct inst *in = inst_of(p);
    uint64_t tried[POL_GROUP_WORDS] = {0};
    for (;;) {
        uint32_t best = USF_GROUPS_MAX, task;
        for (uint32_t i = next_group(in->active, 0); i < USF_GROUPS_MAX; i = next_group(in->active, i + 1))
            if (is_common(p, i) && !pol_has_group(tried, i) && (best == USF_GROUPS_MAX || group_of(p, i)->used < group_of(p, best)->used)) best = i;
        if (best == USF_GROUPS_MAX) return USF_NONE;
        if ((task = pick_of(p, best, core, yielded)) != USF_NONE) {
            if (group_of(p, best)->used > in->floor) in->floor = group_of(p, best)->used;
            return task;
        }
        pol_add_group(tried, best);
    }
}

/* The next of all groups, in turn; of those that are not rich, or of those that are. */
static uint32_t pick_next(struct usf_pol *p, uint32_t core, bool rich, bool yielded)
{
    const struct inst *in = inst_of(p);
    struct core *c = core_of(p, core);
    uint32_t i = next_group(in->active, c->round), first = i < USF_GROUPS_MAX ? i : next_group(in->active, 0), task;
    for (i = first; i < USF_GROUPS_MAX;) {
        if (is_rich(p, i) == rich && (task = pick_of(p, i, core, yielded)) != USF_NONE) {
            c->round = (uint16_t)((i + 1) % USF_GROUPS_MAX);
            return task;
        }
        i = next_group(in->active, i + 1);
        if (i >= USF_GROUPS_MAX) i = next_group(in->active, 0);
        if (i == first) break;
    }
    return USF_NONE;
}

static uint32_t pick_any(struct usf_pol *p, uint32_t core, bool yielded)
{
    uint32_t task = pick_next(p, core, false, yielded);
    return task != USF_NONE ? task : pick_next(p, core, true, yielded);
}

/* The one that runs on this core was made to give way, and no owner waits: does it go on? */
static bool stays(struct usf_pol *p, uint32_t core)
{
    const struct usf_pol_core *r = usf_core(p, core);
    if (r->current == USF_NONE || !core_of(p, core)->owner) return false;
    uint32_t mine = usf_task(p, r->current)->group;
    if (is_owner(p, core, mine) || !is_rich(p, mine)) return true;
    for (uint32_t i = next_group(inst_of(p)->active, 0); i < USF_GROUPS_MAX; i = next_group(inst_of(p)->active, i + 1))
        if (!is_rich(p, i) && usf_allowed(p, i, core)) return false;
    return true;
}

static uint32_t pick_owner(struct usf_pol *p, uint32_t core)
{
    uint32_t owner = core_of(p, core)->owner, task;
    if (!owner) return USF_NONE;
    if (owner == COMMON) {
        task = pick_common(p, core, false);
        return task != USF_NONE ? task : pick_common(p, core, true);
    }
    task = pick_of(p, owner - 1, core, false);
    return task != USF_NONE ? task : pick_of(p, owner - 1, core, true);
}

/* ---- operations ------------------------------------------------------------------------------ */

static int init(struct usf_pol *p)
{
    struct inst *in = inst_of(p);
    if (p->nr_cores > USF_CORES_MAX || p->nr_groups > USF_GROUPS_MAX) return -1;
    part_build(p, &in->map, true);
    in->dirty = 1;
    for (uint32_t i = 0; i < p->nr_cores; i++)
        pol_neighbours(p, i, p->flags & USF_POL_BLIND, core_of(p, i)->same_llc, core_of(p, i)->same_node);
    return 0;
}

static void group_remove(struct usf_pol *p, uint32_t i)
{
    struct inst *in = inst_of(p);
    pol_remove_group(in->programs, i);
    in->dirty = 1;
    for (uint32_t c = 0; c < p->nr_cores; c++)
        if (core_of(p, c)->owner == i + 1) {
            core_of(p, c)->owner = 0;
            usf_cores_remove(in->strangers, c);
        }
}

static void group_changed(struct usf_pol *p, uint32_t i)
{
    (void)i;
    inst_of(p)->dirty = 1;
}

static uint32_t select_core(struct usf_pol *p, uint32_t task, const uint64_t idle[USF_CORE_WORDS])
{
    const struct usf_pol_task *t = usf_task(p, task);
    const uint64_t *may = usf_group(p, t->group)->cores, *node = group_of(p, t->group)->node;
    uint64_t fit[USF_CORE_WORDS], own[USF_CORE_WORDS];
    uint32_t from = t->last_core < p->nr_cores ? t->last_core : home(p, task);
    usf_cores_and(fit, idle, may);
    for (uint32_t c = 0; t->strict && (c = usf_cores_next(fit, c)) != USF_NONE; c++)
        if (!usf_may_run(p, task, c)) usf_cores_remove(fit, c);
    return nearest(p, usf_cores_and(own, fit, node) ? own : fit, from);
}

/* An owner's task has come to wait: one of the strangers on its cores gives way.  Also for one that
 * yields: it may be at a barrier with one that is to run on the same core, and at every barrier
 * again, for the whole slot. */
static void recall(struct usf_pol *p, uint32_t task)
{
    const struct inst *in = inst_of(p);
    const struct usf_pol_task *t = usf_task(p, task);
    uint32_t from = t->last_core < p->nr_cores ? t->last_core : 0;
    uint64_t on[USF_CORE_WORDS];
    usf_cores_and(on, in->strangers, group_of(p, t->group)->node);
    for (uint32_t c; (c = nearest(p, on, from)) != USF_NONE; usf_cores_remove(on, c)) {
        struct usf_pol_core *core = usf_core(p, c);
        if (!is_owner(p, c, t->group) || !usf_may_run(p, task, c) || core->give_way_at <= p->now) continue;
        usf_give_way(core, p->now);
        return;
    }
}

static void enqueue(struct usf_pol *p, uint32_t task, enum usf_why why)
{
    uint32_t i = usf_task(p, task)->group;
    push(p, task, why);
    join(p, i);
    keep_time(p);
    if (usf_cores_any(inst_of(p)->strangers)) recall(p, task);
}

static uint32_t pick(struct usf_pol *p, uint32_t core)
{
    struct usf_pol_core *r = usf_core(p, core);
    struct core *c = core_of(p, core);
    keep_time(p);
    uint32_t task = pick_owner(p, core);
    if (task != USF_NONE) return task;
    /* Its task is made to give way, and no task with more right to the core waits. */
    if (c->yielded_at != p->now && stays(p, core)) {
        usf_give_way(r, inst_of(p)->slot_end);
        return USF_NONE;
    }
    if ((task = pick_common(p, core, false)) != USF_NONE) return task;
    if ((task = pick_any(p, core, false)) != USF_NONE) return task;
    return pick_any(p, core, true);
}

static void dequeue(struct usf_pol *p, uint32_t task)
{
    take_out(p, task);
    note_idle(p, usf_task(p, task)->group);
}

static bool yield(struct usf_pol *p, uint32_t core, uint32_t task)
{
    struct core *c = core_of(p, core);
    keep_time(p);
    bool yields = !c->owner || !is_owner(p, core, usf_task(p, task)->group) || owner_waits(p, core);
    c->yielded_at = yields ? p->now : 0;
    return yields;
}

static void started(struct usf_pol *p, uint32_t core, uint32_t task)
{
    uint32_t i = usf_task(p, task)->group;
    mark_of(p, task)->running = 1;
    join(p, i);
    group_of(p, i)->running++;
    core_of(p, core)->began = p->now;
    group_of(p, i)->starts += p->now;
    core_of(p, core)->yielded_at = 0;
    judge(p, core, false);
    note_switched(p);
}

static void stopped(struct usf_pol *p, uint32_t core, uint32_t task)
{
    uint32_t i = usf_task(p, task)->group;
    usf_cores_remove(inst_of(p)->strangers, core);
    if (!mark_of(p, task)->running) return;         /* it ran before this policy was in force */
    mark_of(p, task)->running = 0;
    group_of(p, i)->running--;
    group_of(p, i)->starts -= core_of(p, core)->began;
    group_of(p, i)->used += (p->now - core_of(p, core)->began) * 100 / (usf_group(p, i)->weight ? usf_group(p, i)->weight : 100);
    note_idle(p, i);
}

static void tick(struct usf_pol *p)
{
    if (slot_is_idle(p)) turn_over(p);
    else keep_time(p);
    note_switched(p);
}

const struct usf_policy_ops usf_policy_gang = {
    .api = USF_POLICY_API,
    .size = sizeof(struct usf_policy_ops),
    .name = "gang",
    .description = "coscheduling: programs take turns on partitions, all cores of one switch together",
    .init = init,
    .group_remove = group_remove,
    .group_changed = group_changed,
    .select_core = select_core,
    .enqueue = enqueue,
    .pick = pick,
    .dequeue = dequeue,
    .yield = yield,
    .started = started,
    .stopped = stopped,
    .tick = tick,
};
