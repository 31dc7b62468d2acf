/* src/policy/equi.h - programs and their partitions.  SPDX-License-Identifier: Apache-2.0
 *
 * The records of equi and speedup, and the slow half of both: which groups count as programs, which
 * level is in force, which cores each program gets and may keep for a while, and which program is
 * next to move to an emptier partition.  equi.c has the fast half, the operations.  Pure:
 * usf/policy.h and headers beside this one.
 *
 * A group is a program.  It has a partition from its first ready task on, and counts for the
 * thresholds when it has been there for WARM quanta, so that `sed` in a shell's pipeline changes no
 * program's share.  When it has had nothing to do for AWAY quanta (a shell that waits for its
 * child) it neither counts nor has a partition until it is back.  A group that has cores of its own
 * (USF_GROUP_OWNS) has these for its partition.
 *
 * Invariants, between two calls
 *   E1  group.placed  <=>  it is linked in the list of programs, in order of arrival;  `mine` is
 *       empty if not;
 *   E2  a core belongs to the programs that have it in `mine` or `old`: they are core.owner[0 ..
 *       nr_owners-1], or nr_owners > EQUI_OWNERS and they are not written down;
 *   E3  bit c of inst.borrowed  <=>  core c runs a task of a program that it does not belong to;
 *   E4  group.queued == its tasks in the queues, yielders included;  group.running == its tasks on
 *       cores;
 *   E5  `old` is not empty  <=>  a grace period runs, until grace_until;  inst.nr_graces counts
 *       those. */
#ifndef USF_POLICY_EQUI_H
#define USF_POLICY_EQUI_H

#include "policy/partition.h"
#include "policy/queues.h"
#include "policy/speedup.h"

enum {                          /* in quanta */
    EQUI_WARM = 1,              /* a group that is younger does not count for the thresholds yet */
    EQUI_AWAY = 25,             /* one without anything to do for so long is no program any more */
    EQUI_SETTLE = 5,            /* exactly at a threshold for so long: it is crossed */
    EQUI_GRACE = 25,            /* a malleable program keeps its old cores for so long at most */
    EQUI_TURN_NEAR = 5,         /* so much less in a crowded partition: change places within a NUMA node, */
    EQUI_TURN_FAR = 50,         /* ... or with one of another node */
    EQUI_OWNERS = 10,
    EQUI_FULL = 1024,           /* rate of a program of weight 100 that has its cores for itself */
};

struct USF_POLICY_STATE equi_inst {
    struct pq_inst q;
    struct part_map map;
    uint64_t borrowed[USF_CORE_WORDS];
    uint64_t due;               /* ns, when equi_review has something to do; 0: now */
    uint64_t crossed;           /* ns, since when the programs are exactly at a threshold, that to the level `settled`; 0: they are not */
    uint64_t accounted;         /* ns, until when `granted` has been counted */
    uint32_t first, last;       /* list of programs, id + 1 */
    uint32_t level, settled;
    uint32_t nr_graces;
    uint32_t measures;          /* 1: the policy is speedup */
    uint32_t changed;           /* a program came, left or changed since the last review */
};
struct USF_POLICY_STATE equi_core {
    struct pq_core q;
    uint64_t since;             /* ns, when `group` began its turn here */
    uint32_t group;             /* group served, + 1; 0 = none yet */
    uint16_t round;             /* group from which help goes on */
    uint16_t nr_owners;
    uint16_t owner[EQUI_OWNERS];
};
struct USF_POLICY_STATE equi_group {
    struct pq_group q;
    uint64_t mine[USF_CORE_WORDS], old[USF_CORE_WORDS], preferred[USF_CORE_WORDS]; /* its partition; that before, in a grace period; both */
    uint64_t vtime;             /* ns on its own cores, by weight: for turns within a partition */
    uint64_t granted;           /* ns x EQUI_FULL, what its partition gave it, by weight: for turns between partitions */
    uint64_t joined, idle_since, grace_until;
    uint32_t next, prev;        /* list of programs, id + 1 */
    uint32_t running, queued;
    uint16_t units, level;      /* partitions that it has, of which level */
    uint32_t placed;
    struct speedup measured;
};
struct USF_POLICY_STATE equi_mark {
    struct pq_mark q;
    uint16_t picked;            /* named by pick, not started yet */
    uint16_t on;                /* started and not stopped: counted in `running` */
};
_Static_assert(sizeof(struct equi_inst) <= USF_POL_DATA - 64, "instance data");
_Static_assert(sizeof(struct equi_core) <= USF_POL_CORE_DATA, "core data");
_Static_assert(sizeof(struct equi_group) <= USF_POL_GROUP_DATA, "group data");
_Static_assert(sizeof(struct equi_mark) <= USF_POL_TASK_DATA, "task data");

static inline struct equi_inst *equi_inst_of(struct usf_pol *p) { return (struct equi_inst *)(void *)p->data; }
static inline struct equi_core *equi_core_of(struct usf_pol *p, uint32_t c) { return (struct equi_core *)(void *)usf_core(p, c)->data; }
static inline struct equi_group *equi_group_of(struct usf_pol *p, uint32_t i) { return (struct equi_group *)(void *)usf_group(p, i)->data; }
static inline struct equi_mark *equi_mark_of(struct usf_pol *p, uint32_t t) { return (struct equi_mark *)(void *)usf_task(p, t)->data; }

static inline bool equi_owns(struct usf_pol *p, uint32_t i, uint32_t core) { return usf_cores_has(equi_group_of(p, i)->preferred, core); }
static inline void equi_due(struct equi_inst *in, uint64_t at) { if (at < in->due) in->due = at; }

/* An integer multiple of the normal share. */
static inline uint32_t equi_units(struct usf_pol *p, uint32_t i)
{
    uint32_t units = (usf_group(p, i)->weight + 50) / 100;
    return units ? units : 1;
}

/* ---- shares ---------------------------------------------------------------------------------- */

static inline void equi_publish(struct usf_pol *p, uint32_t i)
{
    struct usf_pol_group *group = usf_group(p, i);
    const struct equi_group *e = equi_group_of(p, i);
    if (usf_cores_same(group->share, e->mine)) return;
    usf_cores_copy(group->share, e->mine);
    __atomic_store_n(&group->share_gen, group->share_gen + 1, __ATOMIC_RELEASE);
}

static inline void equi_end_grace(struct equi_inst *in, struct equi_group *e)
{
    if (usf_cores_any(e->old)) in->nr_graces--;
    usf_cores_clear(e->old);
    usf_cores_copy(e->preferred, e->mine);
}

/* New cores for a program.  One that follows by itself, but later, keeps its old ones beside them
 * until it has. */
static inline void equi_assign(struct usf_pol *p, uint32_t i, const uint64_t *mask)
{
    struct equi_inst *in = equi_inst_of(p);
    struct equi_group *e = equi_group_of(p, i);
    if (usf_cores_same(e->mine, mask)) return;
    bool loses = usf_cores_any(e->mine) && usf_cores_common(e->mine, mask) < usf_cores_count(e->mine);
    bool smaller = usf_cores_count(mask) < usf_cores_count(e->mine);
    uint64_t before[USF_CORE_WORDS];
    usf_cores_copy(before, e->mine);
    usf_cores_copy(e->mine, mask);
    equi_end_grace(in, e);
    if (loses && smaller && usf_group(p, i)->flags & USF_GROUP_MALLEABLE) {
        usf_cores_or(e->preferred, mask, before);
        usf_cores_copy(e->old, before);
        e->grace_until = p->now + EQUI_GRACE * p->quantum;
        in->nr_graces++;
    }
    equi_publish(p, i);
    speedup_restart(&e->measured);
}

/* Programs per core. */
static inline void equi_loads(struct usf_pol *p, uint16_t load[USF_CORES_MAX])
{
    for (uint32_t c = 0; c < USF_CORES_MAX; c++) load[c] = 0;
    for (uint32_t i = equi_inst_of(p)->first; i; i = equi_group_of(p, i - 1)->next) {
        const uint64_t *mine = equi_group_of(p, i - 1)->mine;
        for (uint32_t c = 0; (c = usf_cores_next(mine, c)) != USF_NONE; c++) load[c]++;
    }
}

/* The shape that all have: one partition of the level in force, or as many as the weight says. */
static inline void equi_normal(struct usf_pol *p, uint32_t i)
{
    const struct equi_inst *in = equi_inst_of(p);
    struct equi_group *e = equi_group_of(p, i);
    uint32_t units = equi_units(p, i), all = in->map.count[in->level];
    e->level = (uint16_t)in->level;
    e->units = (uint16_t)(units < all ? units : all);
}

/* The cores that are its own among the groups of its process are its partition, whatever the
 * shape. */
static inline bool equi_is_fixed(struct usf_pol *p, uint32_t i) { return usf_group(p, i)->flags & USF_GROUP_OWNS; }

/* A place for a program of its shape; load[] gets it. */
static inline void equi_place(struct usf_pol *p, uint32_t i, uint16_t load[USF_CORES_MAX])
{
    const struct equi_inst *in = equi_inst_of(p);
    struct equi_group *e = equi_group_of(p, i);
    const uint64_t *may = usf_group(p, i)->cores;
    uint64_t mask[USF_CORE_WORDS], part[USF_CORE_WORDS];
    bool fixed = pol_own_cores(p, i, may, mask);
    uint32_t at = fixed ? USF_NONE : part_choose(&in->map, e->level, load, e->units, may, e->mine);
    if (!fixed) usf_cores_copy(mask, may);
    if (at != USF_NONE) {
        part_mask(&in->map, e->level, at, e->units, part);
        usf_cores_and(mask, mask, part);
    }
    equi_assign(p, i, mask);
    for (uint32_t c = 0; (c = usf_cores_next(mask, c)) != USF_NONE; c++) load[c]++;
}

static inline uint32_t equi_size(const struct equi_inst *in, const struct equi_group *e)
{ return (uint32_t)in->map.nr_cores * e->units / in->map.count[e->level]; }

/* All programs anew: those with the widest partitions first, which must find room; then in order of
 * arrival. */
static inline void equi_place_all(struct usf_pol *p)
{
    struct equi_inst *in = equi_inst_of(p);
    uint16_t load[USF_CORES_MAX] = {0};
    for (uint32_t size = UINT32_MAX, smaller; size; size = smaller) {
        smaller = 0;
        for (uint32_t i = in->first; i; i = equi_group_of(p, i - 1)->next) {
            uint32_t its = equi_size(in, equi_group_of(p, i - 1));
            if (its == size) equi_place(p, i - 1, load);
            if (its < size && its > smaller) smaller = its;
        }
    }
}

/* EQ, the option topology-blind: the cores divided by the number of programs, whatever they share;
 * who has too many keeps the first of them, who has too few gets what is free. */
static inline void equi_divide_all(struct usf_pol *p)
{
    struct equi_inst *in = equi_inst_of(p);
    uint16_t load[USF_CORES_MAX] = {0};
    uint32_t units = 0, rest, cap;
    for (uint32_t i = in->first; i; i = equi_group_of(p, i - 1)->next) units += equi_units(p, i - 1);
    if (!units) return;
    cap = (units + p->nr_cores - 1) / p->nr_cores;
    for (int pass = 0; pass < 2; pass++) {
        rest = p->nr_cores > units ? p->nr_cores % units : 0;
        for (uint32_t i = in->first; i; i = equi_group_of(p, i - 1)->next) {
            struct equi_group *e = equi_group_of(p, i - 1);
            const uint64_t *may = usf_group(p, i - 1)->cores;
            uint32_t u = equi_units(p, i - 1), more = u < rest ? u : rest;
            uint32_t n = p->nr_cores > units ? p->nr_cores / units * u + more : u;
            uint64_t own[USF_CORE_WORDS];
            e->units = (uint16_t)u;
            rest -= more;
            if (pol_own_cores(p, i - 1, may, own)) {
                for (uint32_t c = 0; pass == 0 && (c = usf_cores_next(own, c)) != USF_NONE; c++) load[c]++;
                if (pass) equi_assign(p, i - 1, own);
                continue;
            }
            if (pass == 0) {
                usf_cores_copy(e->preferred, e->mine); /* `preferred` is set anew below */
                part_keep(e->preferred, may, load, cap, n);
                continue;
            }
            uint64_t mask[USF_CORE_WORDS];
            usf_cores_copy(mask, e->preferred);
            part_grow(mask, may, load, p->nr_cores, n);
            usf_cores_or(e->preferred, e->mine, e->old);
            equi_assign(p, i - 1, mask);
        }
    }
}

/* The most programs that any of these cores belongs to. */
static inline uint32_t equi_crowd(const uint64_t *mask, const uint16_t load[USF_CORES_MAX])
{
    uint32_t most = 0;
    for (uint32_t c = 0; (c = usf_cores_next(mask, c)) != USF_NONE; c++) if (load[c] > most) most = load[c];
    return most;
}

static inline void equi_move(struct usf_pol *p, uint32_t i, const uint64_t *to, uint16_t load[USF_CORES_MAX])
{
    const uint64_t *mine = equi_group_of(p, i)->mine;
    for (uint32_t c = 0; (c = usf_cores_next(mine, c)) != USF_NONE; c++) load[c]--;
    for (uint32_t c = 0; (c = usf_cores_next(to, c)) != USF_NONE; c++) load[c]++;
    equi_assign(p, i, to);
}

/* Programs have left: those that came last move from where there are two more than elsewhere.  A
 * bounded number each time; turns make up for the rest. */
static inline void equi_even_out(struct usf_pol *p)
{
    struct equi_inst *in = equi_inst_of(p);
    uint16_t load[USF_CORES_MAX];
    uint32_t low = UINT32_MAX, tries = 64;
    equi_loads(p, load);
    for (uint32_t c = 0; c < p->nr_cores; c++) if (load[c] < low) low = load[c];
    for (uint32_t i = in->last; i && tries; i = equi_group_of(p, i - 1)->prev) {
        struct equi_group *e = equi_group_of(p, i - 1);
        const uint64_t *may = usf_group(p, i - 1)->cores;
        uint64_t part[USF_CORE_WORDS];
        uint32_t here = equi_crowd(e->mine, load);
        if (here < low + 2 || equi_is_fixed(p, i - 1)) continue;
        tries--;
        uint32_t at = part_choose(&in->map, e->level, load, e->units, may, e->mine);
        if (at == USF_NONE) continue;
        part_mask(&in->map, e->level, at, e->units, part);
        usf_cores_and(part, part, may);
        if (equi_crowd(part, load) + 2 <= here) equi_move(p, i - 1, part, load);
    }
}

/* ---- turns between crowded and emptier partitions -------------------------------------------- */

/* What each core gives a program that it belongs to, for each 100 of weight in a partition:
 * EQUI_FULL divided by all their weights. */
static inline void equi_rates(struct usf_pol *p, uint32_t rates[USF_CORES_MAX])
{
    for (uint32_t c = 0; c < USF_CORES_MAX; c++) rates[c] = 0;
    for (uint32_t i = equi_inst_of(p)->first; i; i = equi_group_of(p, i - 1)->next) {
        const struct equi_group *e = equi_group_of(p, i - 1);
        uint32_t weight = usf_group(p, i - 1)->weight / (e->units ? e->units : 1);
        for (uint32_t c = 0; (c = usf_cores_next(e->mine, c)) != USF_NONE; c++) rates[c] += weight ? weight : 1;
    }
    for (uint32_t c = 0; c < USF_CORES_MAX; c++) rates[c] = EQUI_FULL * 100 / (rates[c] ? rates[c] : 1);
}

/* What a program gets of its partition, for each 100 of weight; EQUI_FULL: all of it, at its normal
 * weight. */
static inline uint32_t equi_rate(struct usf_pol *p, uint32_t i, const uint32_t rates[USF_CORES_MAX])
{
    const uint64_t *mine = equi_group_of(p, i)->mine;
    uint32_t n = usf_cores_count(mine);
    uint64_t rate = 0;
    for (uint32_t c = 0; (c = usf_cores_next(mine, c)) != USF_NONE; c++) rate += rates[c];
    return n ? (uint32_t)(rate / n) : 0;
}

/* Count what each has been granted since the last time; no program falls behind the best by more
 * than can be made up for. */
static inline void equi_account(struct usf_pol *p, const uint32_t rates[USF_CORES_MAX])
{
    struct equi_inst *in = equi_inst_of(p);
    uint64_t passed = p->now - in->accounted, most = 0, least = UINT64_MAX, behind = 2 * EQUI_TURN_FAR * p->quantum * EQUI_FULL;
    for (uint32_t i = in->first; i; i = equi_group_of(p, i - 1)->next) {
        struct equi_group *e = equi_group_of(p, i - 1);
        uint64_t rate = equi_rate(p, i - 1, rates), part = rate * usf_group(p, i - 1)->weight / (100 * (e->units ? e->units : 1));
        e->granted += passed * rate;
        if (e->granted > most) most = e->granted;
        e->measured.time += passed * (part < EQUI_FULL ? part : EQUI_FULL) / EQUI_FULL;
    }
    for (uint32_t i = in->first; i; i = equi_group_of(p, i - 1)->next) {
        struct equi_group *e = equi_group_of(p, i - 1);
        if (most - e->granted > behind) e->granted = most - behind;
        if (e->granted < least) least = e->granted;
    }
    for (uint32_t i = in->first; i; i = equi_group_of(p, i - 1)->next) equi_group_of(p, i - 1)->granted -= least;
    in->accounted = p->now;
}

static inline bool equi_fits(const uint64_t *mask, const uint64_t *may)
{ return usf_cores_common(mask, may) == usf_cores_count(mask); }

/* May these two change places?  They must be of one shape, and each allowed where the other is. */
static inline bool equi_may_swap(struct usf_pol *p, uint32_t a, uint32_t b)
{
    const struct equi_group *x = equi_group_of(p, a), *y = equi_group_of(p, b);
    return !equi_is_fixed(p, a) && !equi_is_fixed(p, b) && usf_cores_count(x->mine) == usf_cores_count(y->mine) && x->level == y->level && x->units == y->units
           && equi_fits(x->mine, usf_group(p, b)->cores) && equi_fits(y->mine, usf_group(p, a)->cores);
}

static inline bool equi_same_node(struct usf_pol *p, const uint64_t *a, const uint64_t *b)
{
    uint32_t x = part_next(a, 0, 0), y = part_next(b, 0, 0);
    return usf_core(p, x)->node == usf_core(p, y)->node;
}

static inline void equi_swap(struct usf_pol *p, uint32_t a, uint32_t b)
{
    uint64_t x[USF_CORE_WORDS], y[USF_CORE_WORDS];
    usf_cores_copy(x, equi_group_of(p, a)->mine);
    usf_cores_copy(y, equi_group_of(p, b)->mine);
    equi_assign(p, a, y);
    equi_assign(p, b, x);
}

/* Where three share two partitions, one of them has a partition for itself, and they take turns at
 * that: who has had least so far changes places with the one that has had most, of those that get
 * more.  *uneven: a program gets less now, so look again. */
static inline bool equi_take_turns(struct usf_pol *p, const uint32_t rates[USF_CORES_MAX], bool *uneven)
{
    struct equi_inst *in = equi_inst_of(p);
    uint32_t poor = 0, rich = 0, best = 0;
    for (uint32_t i = in->first; i; i = equi_group_of(p, i - 1)->next) {
        uint32_t rate = equi_rate(p, i - 1, rates);
        if (rate > best) best = rate;
    }
    for (uint32_t i = in->first; i; i = equi_group_of(p, i - 1)->next)
        if (equi_rate(p, i - 1, rates) < best && !equi_is_fixed(p, i - 1)
            && (!poor || equi_group_of(p, i - 1)->granted < equi_group_of(p, poor - 1)->granted)) poor = i;
    if (!poor) return false;
    uint32_t rate = equi_rate(p, poor - 1, rates);
    for (uint32_t i = in->first; i; i = equi_group_of(p, i - 1)->next) {
        if (i == poor || equi_rate(p, i - 1, rates) <= rate || !equi_may_swap(p, poor - 1, i - 1)) continue;
        if (!rich || equi_group_of(p, i - 1)->granted > equi_group_of(p, rich - 1)->granted) rich = i;
    }
    *uneven = rich != 0;
    if (!rich) return false;
    const struct equi_group *x = equi_group_of(p, poor - 1), *y = equi_group_of(p, rich - 1);
    uint64_t turn = equi_same_node(p, x->mine, y->mine) ? EQUI_TURN_NEAR : EQUI_TURN_FAR;
    if (y->granted < x->granted || y->granted - x->granted < turn * p->quantum * EQUI_FULL) return false;
    equi_swap(p, poor - 1, rich - 1);
    return true;
}

/* ---- who owns what --------------------------------------------------------------------------- */

static inline void equi_note_borrowed(struct usf_pol *p, uint32_t c, uint32_t task)
{
    struct equi_inst *in = equi_inst_of(p);
    if (task == USF_NONE || equi_owns(p, usf_task(p, task)->group, c)) usf_cores_remove(in->borrowed, c);
    else usf_cores_add(in->borrowed, c);
}

/* Shares have changed: write down who owns each core, and which cores are borrowed from now on. */
static inline void equi_note_owners(struct usf_pol *p)
{
    for (uint32_t c = 0; c < p->nr_cores; c++) equi_core_of(p, c)->nr_owners = 0;
    for (uint32_t i = equi_inst_of(p)->first; i; i = equi_group_of(p, i - 1)->next) {
        const uint64_t *preferred = equi_group_of(p, i - 1)->preferred;
        for (uint32_t c = 0; (c = usf_cores_next(preferred, c)) < p->nr_cores; c++) {
            struct equi_core *core = equi_core_of(p, c);
            if (core->nr_owners < EQUI_OWNERS) core->owner[core->nr_owners] = (uint16_t)(i - 1);
            if (core->nr_owners <= EQUI_OWNERS) core->nr_owners++;
        }
    }
    for (uint32_t c = 0; c < p->nr_cores; c++) equi_note_borrowed(p, c, usf_core(p, c)->current);
}

#endif
