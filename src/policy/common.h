/* src/policy/common.h - what several policies do alike.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_POLICY_COMMON_H
#define USF_POLICY_COMMON_H

#include <usf/policy.h>

enum { POL_GROUPS = USF_GROUPS_MAX, POL_GROUP_WORDS = POL_GROUPS / 64 };

/* For usf_nearest_core: the cores of this one's last-level cache, and of its node; all, for a policy that is blind to them. */
static inline void pol_neighbours(struct usf_pol *p, uint32_t core, bool blind, uint64_t same_llc[USF_CORE_WORDS],
                                  uint64_t same_node[USF_CORE_WORDS])
{
    const struct usf_pol_core *c = usf_core(p, core);
    for (uint32_t i = 0; i < p->nr_cores; i++) {
        const struct usf_pol_core *other = usf_core(p, i);
        if (blind || other->llc == c->llc) same_llc[i / 64] |= 1ull << (i % 64);
        if (blind || other->node == c->node) same_node[i / 64] |= 1ull << (i % 64);
    }
}

/* First group at or after `from`, going around, that is in the set; USF_NONE: it is empty.  Bit w of `words` <=> set[w] != 0. */
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

/* ---- cores of a group's own (usf_is_guest) --------------------------------------------------------------- */

enum { POL_GUEST_NS = 200000 };     /* a guest is not sent away before it has run for so long */

/* It is group i's turn at the core, where it is a guest.  First group at or after `from`, going around, of those in the set that it is a guest of;
 * USF_NONE: there is none. */
static inline uint32_t pol_next_host(struct usf_pol *p, const uint64_t set[POL_GROUP_WORDS], uint32_t words, uint32_t i, uint32_t core, uint32_t from)
{
    uint32_t first = pol_next_group(set, words, from), host = first;
    while (host != USF_NONE && !usf_is_host(p, host, i, core))
        if ((host = pol_next_group(set, words, (host + 1) % POL_GROUPS)) == first) return USF_NONE;
    return host;
}

/* The cores where a task of the group that has no affinity of its own should be: its own ones among `cores`.  False: there are none. */
static inline bool pol_own_cores(struct usf_pol *p, uint32_t i, const uint64_t cores[USF_CORE_WORDS], uint64_t out[USF_CORE_WORDS])
{
    const struct usf_pol_group *g = usf_group(p, i);
    uint64_t any = 0;
    if (!(g->flags & USF_GROUP_OWNS)) return false;
    for (uint32_t w = 0; w < USF_CORE_WORDS; w++) any |= out[w] = cores[w] & g->own[w];
    return any != 0;
}

/* A task has come to wait.  If guests run on cores of its group's own, one of them gives way. */
static inline void pol_call_back(struct usf_pol *p, uint32_t task)
{
    uint32_t i = usf_task(p, task)->group;
    const struct usf_pol_group *g = usf_group(p, i);
    for (uint32_t w = 0; w < USF_CORE_WORDS && g->flags & USF_GROUP_OWNS; w++)
        for (uint64_t m = g->own[w]; m; m &= m - 1) {
            uint32_t c = w * 64 + (uint32_t)__builtin_ctzll(m);
            struct usf_pol_core *core = usf_core(p, c);
            if (core->current == USF_NONE || !usf_is_host(p, i, usf_task(p, core->current)->group, c) || !usf_may_run(p, task, c)) continue;
            uint64_t at = core->since + POL_GUEST_NS;
            if (at < p->now) at = p->now;
            if (core->give_way_at && core->give_way_at <= at) continue;     /* for another task */
            usf_give_way(core, at);
            return;
        }
}

/* For a policy's tick: the same for all groups of the set.  Where groups have cores in common, a core that was called back for a task of one may have
 * gone to a task of another. */
static inline void pol_call_back_all(struct usf_pol *p, const uint64_t set[POL_GROUP_WORDS], uint32_t words)
{
    for (uint32_t c = 0; words && c < p->nr_cores; c++) {
        struct usf_pol_core *core = usf_core(p, c);
        if (core->current == USF_NONE || core->give_way_at) continue;
        uint32_t i = usf_task(p, core->current)->group;
        if (!usf_is_guest(p, i, c) || pol_next_host(p, set, words, i, c, 0) == USF_NONE) continue;
        uint64_t at = core->since + POL_GUEST_NS;
        usf_give_way(core, at > p->now ? at : p->now);
    }
}

/* The core's task runs on a core of its group's own, where a task of group i would be a guest of it. */
static inline bool pol_is_at_home(struct usf_pol *p, uint32_t core, uint32_t i)
{
    uint32_t task = usf_core(p, core)->current;
    return task != USF_NONE && usf_is_host(p, usf_task(p, task)->group, i, core);
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
