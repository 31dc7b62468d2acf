/* tests/policy/broken.c - objects that the loader must refuse, one per -DBROKEN_x.  SPDX-License-Identifier: Apache-2.0 */
#include <usf/policy.h>

static void enqueue(struct usf_pol *p, uint32_t task, enum usf_why why) { (void)p, (void)task, (void)why; }
static uint32_t pick(struct usf_pol *p, uint32_t core) { (void)p, (void)core; return USF_NONE; }
static void dequeue(struct usf_pol *p, uint32_t task) { (void)p, (void)task; }

#ifdef BROKEN_symbol
#define usf_policy another_name
#endif
USF_POLICY_EXPORT const struct usf_policy_ops usf_policy = {
    .api = USF_POLICY_API,
    .size = sizeof(struct usf_policy_ops),
    .name = "broken",
    .enqueue = enqueue,
    .pick = pick,
    .dequeue = dequeue,
#ifdef BROKEN_api
    .api = USF_POLICY_API_VERSION + 1,
#endif
#ifdef BROKEN_size
    .size = sizeof(struct usf_policy_ops) - 8,
#endif
#ifdef BROKEN_name
    .name = "Not a name",
#endif
#ifdef BROKEN_noname
    .name = NULL,
#endif
#ifdef BROKEN_taken
    .name = "coop",
#endif
#ifdef BROKEN_flags
    .flags = 1u << 7,
#endif
#ifdef BROKEN_kernel
    .flags = USF_POLICY_KERNEL,
#endif
#ifdef BROKEN_lacks
    .pick = NULL,
    .dequeue = NULL,
#endif
#ifdef BROKEN_empty
    .enqueue = NULL,
    .pick = NULL,
    .dequeue = NULL,
#endif
};
