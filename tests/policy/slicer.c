/* tests/policy/slicer.c - fifo with a time slice, as long as the option `slice` says.  SPDX-License-Identifier: Apache-2.0 */
#include <usf/policy.h>

struct USF_POLICY_STATE slicer { struct usf_fifo ready; };
static struct usf_fifo *ready(struct usf_pol *p) { return &((struct slicer *)(void *)p->data)->ready; }

static void enqueue(struct usf_pol *p, uint32_t task, enum usf_why why) { (void)why, usf_fifo_push(p, ready(p), task); }
static uint32_t pick(struct usf_pol *p, uint32_t core) { return usf_fifo_pop_allowed(p, ready(p), core); }
static void dequeue(struct usf_pol *p, uint32_t task) { usf_fifo_remove(p, ready(p), task); }
static void started(struct usf_pol *p, uint32_t core, uint32_t task)
{
    (void)task;
    usf_core(p, core)->give_way_at = p->now + p->slice;
}

USF_POLICY_EXPORT const struct usf_policy_ops usf_policy = {
    .api = USF_POLICY_API, .size = sizeof usf_policy, .name = "slicer", .description = "first come, first served, in time slices",
    .enqueue = enqueue, .pick = pick, .dequeue = dequeue, .started = started,
};
