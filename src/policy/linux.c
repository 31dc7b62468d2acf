/* src/policy/linux.c - let the kernel schedule.  SPDX-License-Identifier: Apache-2.0
 *
 * Of usf only the spin-waits remain in force: each round of one gives the CPU away with the
 * kernel's own sched_yield.  Users often patch the barriers of their libraries this way.  This
 * policy is the fallback where nothing else is allowed, and the baseline of the benchmarks.  There
 * is nothing to decide. */
#include <usf/policy.h>
#include "policy/policy.h"

const struct usf_policy_ops usf_policy_linux = {
    .api = USF_POLICY_API,
    .size = sizeof(struct usf_policy_ops),
    .name = "linux",
    .description = "the kernel schedules; spin-waits are turned into sched_yield",
    .flags = USF_POLICY_KERNEL,
};
