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
