/* tests/policy/ticks.c - a policy whose tick, which the monitor calls, does not return after a while.  SPDX-License-Identifier: Apache-2.0 */
#include <usf/policy.h>

struct USF_POLICY_STATE inst { struct usf_fifo ready; uint32_t ticks; };
static struct inst *inst(struct usf_pol *p) { return (struct inst *)(void *)p->data; }

static void enqueue(struct usf_pol *p, uint32_t task, enum usf_why why) { (void)why; usf_fifo_push(p, &inst(p)->ready, task); }
static void dequeue(struct usf_pol *p, uint32_t task) { usf_fifo_remove(p, &inst(p)->ready, task); }
static uint32_t pick(struct usf_pol *p, uint32_t core) { return usf_fifo_pop_allowed(p, &inst(p)->ready, core); }
static void tick(struct usf_pol *p)
{
    if (++inst(p)->ticks > 20) for (;;) __asm__ volatile("");
}

USF_POLICY_EXPORT const struct usf_policy_ops usf_policy = {
    .api = USF_POLICY_API, .size = sizeof(struct usf_policy_ops), .name = "ticks",
    .enqueue = enqueue, .pick = pick, .dequeue = dequeue, .tick = tick,
};
