/* src/policy/switches.h - how long gang takes to change programs.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Kept by gang at the beginning of the instance's data area, read by `usf policy show`.  A
 * change begins when a slot's time is over, or, if no task waited then, when one comes to wait;
 * it is done when no core of the new slot runs a stranger while a task of its owner waits: all
 * have been put on their cores.  (The kernel takes some microseconds more to run a thread that
 * it has to wake.) */
#ifndef USF_POLICY_SWITCHES_H
#define USF_POLICY_SWITCHES_H

#include <usf/policy.h>

enum { GANG_SWITCH_BUCKETS = 16, GANG_SWITCH_LATE_NS = 1000000 };

struct USF_POLICY_STATE gang_switches {
    uint64_t count, late;       /* late: took more than GANG_SWITCH_LATE_NS */
    uint64_t sum_ns, longest_ns;
    uint64_t within[GANG_SWITCH_BUCKETS];   /* [0]: less than 1 us, [k]: 2^(k-1) us to less than 2^k, the last: all longer ones */
};

static inline void gang_switch_add(struct gang_switches *s, uint64_t ns)
{
    uint64_t us = ns / 1000;
    uint32_t k = us ? 64 - (uint32_t)__builtin_clzll(us) : 0;
    s->within[k < GANG_SWITCH_BUCKETS ? k : GANG_SWITCH_BUCKETS - 1]++;
    s->count++;
    s->late += ns > GANG_SWITCH_LATE_NS;
    s->sum_ns += ns;
    if (ns > s->longest_ns) s->longest_ns = ns;
}

/* So many of a thousand changes took less than this, in us: a power of two; UINT64_MAX: longer than
 * the buckets tell. */
static inline uint64_t gang_switch_quantile(const struct gang_switches *s, uint32_t per_mille)
{
    uint64_t seen = 0;
    for (uint32_t k = 0; k + 1 < GANG_SWITCH_BUCKETS; k++) {
        seen += s->within[k];
        if (seen * 1000 >= s->count * per_mille) return 1ull << k;
    }
    return UINT64_MAX;
}

#endif
