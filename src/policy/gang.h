/* src/policy/gang.h - gang's records, and which program has which partition and slot.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of gang.c, whose head says what this is about; no other file includes it. */
#ifndef USF_POLICY_GANG_H
#define USF_POLICY_GANG_H

#include <usf/policy.h>
#include "policy/common.h"
#include "policy/partition.h"
#include "policy/switches.h"

#define SLICE_MAX_NS 10000000000ull

enum {
    COMMON = 0xffff,                /* owner: the programs that are not coscheduled */
    LINGER_NS = 100000000,          /* without anything to run: no program any more, as far as partitions go */
    SETTLE_NS = 200000000,          /* the number of programs stays the same: see part_next_level */
    FAR_EVERY = 8,                  /* picks of a group until one looks beyond the nearest queue */
    PLAN_NS = 50000000,             /* threads, widths and weights change unseen: plan anew so often */
    LAG_SLICES = 4,                 /* of the whole machine: no program is made up for more, nor pays more back */
};

struct USF_POLICY_STATE inst {
    struct gang_switches switched;  /* first: `usf policy show` reads it */
    uint64_t switch_due;            /* ns: a turn-over that was due then is not done yet; 0: none */
    uint64_t waiting_since;         /* ns: since then some task has been in the queues all the time */
    uint32_t nr_queued;
    struct part_map map;
    uint64_t programs[POL_GROUP_WORDS];  /* that have had something to run lately */
    uint64_t active[POL_GROUP_WORDS];
    uint64_t strangers[USF_CORE_WORDS];
    uint64_t slot_end, planned, settled_since;
    uint64_t served;                /* slots so far */
    uint64_t poorest;               /* least time that any of those had had that waited at the last turn-over */
    uint64_t floor;                 /* `used` of the one in the common slot that was picked last */
    uint16_t first[PART_LEVELS + 2];    /* number of the first slot of a level; behind the last level: the common slot, then the end */
    uint16_t programs_then;         /* when last planned */
    uint16_t level;                 /* the smallest partitions' */
    uint16_t widest;                /* least number of partitions of a level in use */
    uint16_t slot;
    uint16_t dirty;
};
struct USF_POLICY_STATE core {
    uint64_t same_llc[USF_CORE_WORDS], same_node[USF_CORE_WORDS];
    uint64_t began;                 /* ns: since when the running task has it under this policy */
    uint16_t owner;                 /* group + 1, COMMON, or 0 */
    uint16_t round;                 /* group from which the round of strangers goes on */
    uint64_t yielded_at;            /* ns: its task yielded, and may be replaced by a stranger: pick is asked at that same time */
};
struct USF_POLICY_STATE group {
    struct usf_fifo ready[USF_CORES_MAX];
    uint64_t nonempty[USF_CORE_WORDS], any[USF_CORE_WORDS];
    uint64_t node[USF_CORE_WORDS];           /* its partition */
    struct usf_fifo strict;
    uint32_t queued, running;
    uint64_t idle_since, served;
    uint16_t level, index, slot;
    uint16_t goal;                  /* level, while planning */
    uint16_t is_placed;
    uint16_t turn, picks;           /* see pick_of */
    uint64_t used;                  /* core time that it has had, as if the weight were 100; tasks that run not counted */
    uint64_t starts;                /* sum of the start times of those, modulo 2^64 */
};
struct USF_POLICY_STATE mark { uint16_t core; uint8_t yielded, strict, running; };
_Static_assert(sizeof(struct inst) <= USF_POL_DATA - 64, "instance data");
_Static_assert(sizeof(struct core) <= USF_POL_CORE_DATA, "core data");
_Static_assert(sizeof(struct group) <= USF_POL_GROUP_DATA, "group data");
_Static_assert(sizeof(struct mark) <= USF_POL_TASK_DATA, "task data");

static struct inst *inst_of(struct usf_pol *p) { return (struct inst *)(void *)p->data; }
static struct core *core_of(struct usf_pol *p, uint32_t c) { return (struct core *)(void *)usf_core(p, c)->data; }
static struct group *group_of(struct usf_pol *p, uint32_t i) { return (struct group *)(void *)usf_group(p, i)->data; }
static struct mark *mark_of(struct usf_pol *p, uint32_t t) { return (struct mark *)(void *)usf_task(p, t)->data; }
static bool is_common(struct usf_pol *p, uint32_t i) { return usf_group(p, i)->flags & USF_GROUP_NO_GANG; }
static bool has_work(struct usf_pol *p, uint32_t i) { return group_of(p, i)->queued || group_of(p, i)->running; }

/* The same, with what its running tasks have had since they were started. */
static uint64_t used_now(struct usf_pol *p, uint32_t i)
{
    const struct group *group = group_of(p, i);
    uint64_t weight = usf_group(p, i)->weight, ran = group->running * p->now - group->starts;
    return group->used + (ran >> 63 ? 0 : ran * 100 / (weight ? weight : 100));
}

static uint64_t slice(struct usf_pol *p) { return p->slice - 1 < SLICE_MAX_NS ? p->slice : SLICE_MAX_NS; }    /* 0: not set */

/* The groups of a set, one after the other: for (i = next_group(set, 0); i < USF_GROUPS_MAX; i =
 * next_group(set, i + 1)) */
static uint32_t next_group(const uint64_t *set, uint32_t from)
{
    for (uint32_t w = from / 64; w < POL_GROUP_WORDS; w++) {
        uint64_t m = w == from / 64 ? set[w] & ~0ull << (from % 64) : set[w];
        if (m) return w * 64 + (uint32_t)__builtin_ctzll(m);
    }
    return USF_GROUPS_MAX;
}

/* ---- planning: which program has which partition and slot ------------------------------------ */

/* The smallest partitions that will do for a program. */
static uint32_t finest_for(struct usf_pol *p, uint32_t i)
{
    const struct inst *in = inst_of(p);
    const struct usf_pol_group *r = usf_group(p, i);
    uint32_t need = r->flags & USF_GROUP_MALLEABLE ? 1 : r->width ? r->width : r->nr_tasks, level = in->level;
    while (level && p->nr_cores / in->map.count[level] < need) level--;
    return level;
}

/* The number of programs on a level shall be a multiple of its partitions: the rest goes to the
 * next wider one. */
static void move_odd(struct usf_pol *p, uint32_t nr[PART_LEVELS])
{
    const struct inst *in = inst_of(p);
    for (uint32_t level = in->level; level; level--) {
        uint32_t odd = nr[level] % in->map.count[level];
        nr[level] -= odd;
        nr[level - 1] += odd;
        for (int pass = 0; pass < 2; pass++)        /* those first that were there before: they stay */
            for (uint32_t i = next_group(in->programs, 0); odd && i < USF_GROUPS_MAX; i = next_group(in->programs, i + 1)) {
                struct group *group = group_of(p, i);
                if (group->goal != level || is_common(p, i) || (!pass && !(group->is_placed && group->level < level))) continue;
                group->goal = (uint16_t)(level - 1);
                odd--;
            }
    }
}

/* Not elsewhere than where it has cores of its own, if it has some. */
static bool fits(struct usf_pol *p, uint32_t i, uint32_t level, uint32_t index)
{
    const struct usf_pol_group *g = usf_group(p, i);
    uint64_t mask[USF_CORE_WORDS];
    part_mask(&inst_of(p)->map, level, index, 1, mask);
    return usf_cores_common(mask, g->flags & USF_GROUP_OWNS ? g->own : g->cores) != 0;
}

static void settle_at(struct usf_pol *p, uint32_t i, uint32_t index, uint16_t *load)
{
    struct inst *in = inst_of(p);
    struct group *group = group_of(p, i);
    struct usf_pol_group *r = usf_group(p, i);
    uint64_t share[USF_CORE_WORDS];
    group->level = group->goal;
    group->goal = PART_LEVELS;       /* done */
    group->index = (uint16_t)index;
    group->slot = load[index]++;
    group->is_placed = 1;
    part_mask(&in->map, group->level, index, 1, group->node);
    if (!usf_cores_and(share, group->node, r->cores) || usf_cores_same(share, r->share)) return;
    usf_cores_copy(r->share, share);
    r->share_gen++;
}

/* The least loaded partition at or after `from` where the program may run. */
static uint32_t find_room(struct usf_pol *p, uint32_t i, uint32_t level, uint32_t from, uint32_t most, const uint16_t *load)
{
    uint32_t count = inst_of(p)->map.count[level], best = USF_NONE;
    for (uint32_t n = 0, at = from; n < count; n++, at = (at + 1) % count) {
        if (best != USF_NONE && load[at] >= load[best]) continue;
        if (fits(p, i, level, at)) best = at;
        if (best == at && load[at] < most) break;
    }
    return best == USF_NONE ? from : best;
}

/* Spread the level's programs over its partitions.  Returns the number of slots. */
static uint32_t place(struct usf_pol *p, uint32_t level, uint32_t nr)
{
    const struct inst *in = inst_of(p);
    uint32_t count = in->map.count[level], most = (nr + count - 1) / count, slots = 0, at = 0;
    uint16_t load[USF_CORES_MAX];
    for (uint32_t n = 0; n < count; n++) load[n] = 0;
    for (int pass = 0; pass < 2; pass++)        /* those first that stay where they are */
        for (uint32_t i = next_group(in->programs, 0); i < USF_GROUPS_MAX; i = next_group(in->programs, i + 1)) {
            const struct group *group = group_of(p, i);
            if (group->goal != level || is_common(p, i)) continue;
            bool stays = group->is_placed && group->level == level && load[group->index] < most && fits(p, i, level, group->index);
            if (stays) {
                settle_at(p, i, group->index, load);
            } else if (pass) {
                at = find_room(p, i, level, at, most, load);
                settle_at(p, i, at, load);
            }
        }
    for (uint32_t n = 0; n < count; n++)
        if (load[n] > slots) slots = load[n];
    return slots;
}

static void make_common(struct usf_pol *p, uint32_t i)
{
    struct group *group = group_of(p, i);
    struct usf_pol_group *r = usf_group(p, i);
    group->is_placed = 0;
    usf_cores_fill(group->node, USF_CORES_MAX);
    if (!usf_cores_any(r->share)) return;
    usf_cores_clear(r->share);
    r->share_gen++;
}

static void plan(struct usf_pol *p)
{
    struct inst *in = inst_of(p);
    uint32_t n = 0, common = 0, nr[PART_LEVELS] = {0}, slot = 0;
    for (uint32_t i = next_group(in->programs, 0); i < USF_GROUPS_MAX; i = next_group(in->programs, i + 1)) {
        if (!has_work(p, i) && p->now - group_of(p, i)->idle_since > LINGER_NS) pol_remove_group(in->programs, i);
        else if (is_common(p, i)) make_common(p, i), common++;
        else n++;
    }
    if (n != in->programs_then) in->settled_since = p->now;
    in->programs_then = (uint16_t)n;
    bool settled = p->now - in->settled_since >= SETTLE_NS;
    in->level = p->flags & USF_POL_BLIND ? 0 : (uint16_t)part_next_level(&in->map, in->level, n, settled);
    for (uint32_t i = next_group(in->programs, 0); i < USF_GROUPS_MAX; i = next_group(in->programs, i + 1)) {
        if (is_common(p, i)) continue;
        group_of(p, i)->goal = (uint16_t)finest_for(p, i);
        nr[group_of(p, i)->goal]++;
    }
    move_odd(p, nr);
    in->widest = common ? 1 : 0;
    for (uint32_t level = 0; level < in->map.nr_levels; level++) {
        in->first[level] = (uint16_t)slot;
        if (level > in->level || !nr[level]) continue;
        if (!in->widest) in->widest = in->map.count[level];
        slot += place(p, level, nr[level]);
    }
    in->first[in->map.nr_levels] = (uint16_t)slot;
    in->planned = p->now;
    in->dirty = 0;
}

#endif
