/* tests/policy/broken.c - objects that the loader must refuse, one per -DBROKEN_x, or load (-DGOOD_x).  SPDX-License-Identifier: Apache-2.0 */
#include <usf/policy.h>

static void enqueue(struct usf_pol *p, uint32_t task, enum usf_why why) { (void)p, (void)task, (void)why; }
static uint32_t pick(struct usf_pol *p, uint32_t core) { (void)p, (void)core; return USF_NONE; }
static void dequeue(struct usf_pol *p, uint32_t task) { (void)p, (void)task; }

#ifdef BROKEN_symbol
#define usf_policy another_name
#endif
/* A later version's table: one operation more. */
#if defined(BROKEN_longer) || defined(GOOD_longer)
struct later { struct usf_policy_ops known; void (*more)(struct usf_pol *p); };
#ifdef BROKEN_longer
static void more(struct usf_pol *p) { (void)p; }
#define MORE more
#else
#define MORE NULL
#endif
USF_POLICY_EXPORT const struct later usf_policy = {.more = MORE, .known = {
    .size = sizeof(struct later),
#define END }}
#else
USF_POLICY_EXPORT const struct usf_policy_ops usf_policy = {
#define END }
#endif
#ifdef GOOD_shorter     /* an earlier one's: group_changed, set to what would crash, lies behind its end */
    .group_changed = (void (*)(struct usf_pol *, uint32_t))(uintptr_t)8,
    .size = USF_POLICY_SIZE_MIN,
#endif
    .api = USF_POLICY_API,
#if !defined(GOOD_shorter) && !defined(BROKEN_longer) && !defined(GOOD_longer)
    .size = sizeof(struct usf_policy_ops),
#endif
    .name = "broken",
    .enqueue = enqueue,
    .pick = pick,
    .dequeue = dequeue,
#ifdef BROKEN_api
    .api = USF_POLICY_API_VERSION + 1,
#endif
#ifdef BROKEN_api1
    .api = 1,
#endif
#ifdef BROKEN_api3
    .api = 3,
#endif
#ifdef BROKEN_size
    .size = USF_POLICY_SIZE_MIN - 8,
#endif
#ifdef BROKEN_odd
    .size = sizeof(struct usf_policy_ops) - 4,
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
END;
