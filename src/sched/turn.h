/* src/sched/turn.h - when a core's turn ends, as the policy has said.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Functions of the policy's records and the time: the scheduler, per-user helpers, the simulator
 * and the conformance suite decide by the same ones.  The fields are written under the scheduler
 * lock and read without it: one word, and to give way too early or a little late does no harm. */
#ifndef USF_SCHED_TURN_H
#define USF_SCHED_TURN_H

#include "policy/policy.h"
#include "sched/times.h"

/* The core's task is to give way now, if others wait (usf_give_way). */
static inline bool turn_is_due(const struct usf_pol_core *c, uint64_t now)
{
    uint64_t at = __atomic_load_n(&c->give_way_at, __ATOMIC_RELAXED);
    return at && now >= at;
}

/* The core's task, which yields, keeps the core without the policy being asked (usf_keep).
 * yielded: its yield before this one; after a pause it waits for something else. */
static inline bool turn_is_kept(const struct usf_pol_core *c, uint64_t now, uint64_t yielded)
{ return now < __atomic_load_n(&c->keeps_until, __ATOMIC_RELAXED) && now - yielded <= USF_ROW_NS; }

/* A task that yielded (why), and was picked for another core than its own, is left to its own. */
static inline bool turn_is_anothers(const struct usf_pol_task *t, uint32_t core, enum usf_why why, uint64_t now)
{ return t->last_core != core && why == USF_WHY_YIELD && now - t->ready_since < YIELD_LEFT_NS; }

#endif
