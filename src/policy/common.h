/* src/policy/common.h - what several policies do alike.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_POLICY_COMMON_H
#define USF_POLICY_COMMON_H

#include <usf/policy.h>

/* Sets of groups: bit i of all words is group i. */
enum { POL_GROUP_WORDS = USF_GROUPS_MAX / 64 };
static inline bool pol_has_group(const uint64_t *set, uint32_t i) { return set[i / 64] >> (i % 64) & 1; }
static inline void pol_add_group(uint64_t *set, uint32_t i) { set[i / 64] |= 1ull << (i % 64); }
static inline void pol_remove_group(uint64_t *set, uint32_t i) { set[i / 64] &= ~(1ull << (i % 64)); }

/* For usf_nearest_core: the cores of this one's last-level cache, and of its node; all, for a
 * policy that is blind to them. */
static inline void pol_neighbours(struct usf_pol *p, uint32_t core, bool blind, uint64_t same_llc[USF_CORE_WORDS],
                                  uint64_t same_node[USF_CORE_WORDS])
{
    const struct usf_pol_core *c = usf_core(p, core);
    for (uint32_t i = 0; i < p->nr_cores; i++) {
        const struct usf_pol_core *other = usf_core(p, i);
        if (blind || other->llc == c->llc) usf_cores_add(same_llc, i);
        if (blind || other->node == c->node) usf_cores_add(same_node, i);
    }
}

/* First group at or after `from`, going around, that is in the set; USF_NONE: it is empty.  Bit w
 * of `words` <=> set[w] != 0. */
static inline uint32_t pol_next_group(const uint64_t set[POL_GROUP_WORDS], uint32_t words, uint32_t from)
{
    if (!words) return USF_NONE;
    uint32_t w = from / 64 % POL_GROUP_WORDS;
    uint64_t m = set[w] & ~0ull << (from % 64);
    if (!m) {
        uint32_t after = words & ~0u << w << 1;     /* words behind this one, else from the front */
        w = (uint32_t)__builtin_ctz(after ? after : words);
        m = set[w];
    }
    return w * 64 + (uint32_t)__builtin_ctzll(m);
}

/* ---- cores that groups own (usf_borrows) --------------------------------------------------------------- */

enum { POL_BORROW_NS = 200000 };     /* a borrowed core is not reclaimed before its task has run for so long */

/* It is group i's turn at a core that it borrows.  First group at or after `from`, going around, of
 * those in the set that own the core; USF_NONE: there is none. */
static inline uint32_t pol_next_owner(struct usf_pol *p, const uint64_t set[POL_GROUP_WORDS], uint32_t words, uint32_t i, uint32_t core, uint32_t from)
{
    uint32_t first = pol_next_group(set, words, from), owner = first;
    while (owner != USF_NONE && !usf_may_reclaim(p, owner, i, core))
        if ((owner = pol_next_group(set, words, (owner + 1) % USF_GROUPS_MAX)) == first) return USF_NONE;
    return owner;
}

/* The cores where a task of the group that has no affinity of its own should be: its own ones among
 * `cores`.  False: there are none. */
static inline bool pol_own_cores(struct usf_pol *p, uint32_t i, const uint64_t cores[USF_CORE_WORDS], uint64_t out[USF_CORE_WORDS])
{
    const struct usf_pol_group *g = usf_group(p, i);
    return g->flags & USF_GROUP_OWNS && usf_cores_and(out, cores, g->own);
}

/* A task has come to wait.  If tasks of other groups borrow cores of its group, one of these is
 * reclaimed. */
static inline void pol_reclaim_for(struct usf_pol *p, uint32_t task)
{
    uint32_t i = usf_task(p, task)->group;
    const struct usf_pol_group *g = usf_group(p, i);
    if (!(g->flags & USF_GROUP_OWNS)) return;
    for (uint32_t c = 0; (c = usf_cores_next(g->own, c)) != USF_NONE; c++) {
        struct usf_pol_core *core = usf_core(p, c);
        if (core->current == USF_NONE || !usf_may_reclaim(p, i, usf_task(p, core->current)->group, c) || !usf_may_run(p, task, c)) continue;
        uint64_t at = core->since + POL_BORROW_NS;
        if (at < p->now) at = p->now;
        if (core->give_way_at && core->give_way_at <= at) continue;     /* for another task */
        usf_give_way(core, at);
        return;
    }
}

/* For a policy's tick: the same for all groups of the set.  Where groups have cores in common, a
 * core that was reclaimed for a task of one may have gone to a task of another. */
static inline void pol_reclaim_all(struct usf_pol *p, const uint64_t set[POL_GROUP_WORDS], uint32_t words)
{
    for (uint32_t c = 0; words && c < p->nr_cores; c++) {
        struct usf_pol_core *core = usf_core(p, c);
        if (core->current == USF_NONE || core->give_way_at) continue;
        uint32_t i = usf_task(p, core->current)->group;
        if (!usf_borrows(p, i, c) || pol_next_owner(p, set, words, i, c, 0) == USF_NONE) continue;
        uint64_t at = core->since + POL_BORROW_NS;
        usf_give_way(core, at > p->now ? at : p->now);
    }
}

/* The core's task runs on a core that its group owns, and that a task of group i would borrow. */
static inline bool pol_is_at_home(struct usf_pol *p, uint32_t core, uint32_t i)
{
    uint32_t task = usf_core(p, core)->current;
    return task != USF_NONE && usf_may_reclaim(p, usf_task(p, task)->group, i, core);
}

/* It is group i's turn at the core: a task of a group of the set that owns the core, if i would
 * borrow it, or else of i, as `choose` finds them.  None while the core's task is at home there,
 * unless that yields. */
typedef uint32_t pol_choose_of(struct usf_pol *p, uint32_t group, uint32_t core);
static inline __attribute__((always_inline)) uint32_t pol_choose(struct usf_pol *p, const uint64_t set[POL_GROUP_WORDS], uint32_t words, uint32_t i, uint32_t core,
                                                                 bool yields, pol_choose_of *choose)
{
    if (pol_is_at_home(p, core, i) && !yields) return USF_NONE;
    uint32_t task, first = USF_NONE, owner = usf_borrows(p, i, core) ? pol_next_owner(p, set, words, i, core, 0) : USF_NONE;
    for (; owner != USF_NONE && owner != first; owner = pol_next_owner(p, set, words, i, core, (owner + 1) % USF_GROUPS_MAX)) {
        if ((task = choose(p, owner, core)) != USF_NONE) return task;
        if (first == USF_NONE) first = owner;
    }
    return choose(p, i, core);
}

/* Into the fifo behind `before` (id + 1), or in front (0). */
static inline void pol_insert_behind(struct usf_pol *p, struct usf_fifo *f, uint32_t before, uint32_t task)
{
    struct usf_pol_task *t = usf_task(p, task);
    uint32_t next = before ? usf_task(p, before - 1)->next : f->head;
    t->prev = before;
    t->next = next;
    t->queued = 1;
    if (before) usf_task(p, before - 1)->next = task + 1;
    else f->head = task + 1;
    if (next) usf_task(p, next - 1)->prev = task + 1;
    else f->tail = task + 1;
    f->len++;
}

/* One of `sides`, by chance. */
static inline uint32_t pol_throw_dice(uint32_t *dice, uint32_t sides)
{
    *dice = *dice * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)*dice * sides >> 32);
}

#endif
