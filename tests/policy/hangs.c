/* tests/policy/hangs.c - a policy whose pick does not return once two processes take part.  SPDX-License-Identifier: Apache-2.0 */
#include <usf/policy.h>

struct USF_POLICY_STATE inst { struct usf_fifo ready; uint32_t procs, picks; };
static struct inst *inst(struct usf_pol *p) { return (struct inst *)(void *)p->data; }

static void group_add(struct usf_pol *p, uint32_t proc) { (void)proc; inst(p)->procs++; }
static void enqueue(struct usf_pol *p, uint32_t task, enum usf_why why) { (void)why; usf_fifo_push(p, &inst(p)->ready, task); }
static void dequeue(struct usf_pol *p, uint32_t task) { usf_fifo_remove(p, &inst(p)->ready, task); }
static uint32_t pick(struct usf_pol *p, uint32_t core)
{
    if (inst(p)->procs > 1 && ++inst(p)->picks > 50) for (;;) __asm__ volatile("");
    return usf_fifo_pop_allowed(p, &inst(p)->ready, core);
}

USF_POLICY_EXPORT const struct usf_policy_ops usf_policy = {
    .api = USF_POLICY_API, .size = sizeof(struct usf_policy_ops), .name = "hangs",
    .group_add = group_add, .enqueue = enqueue, .pick = pick, .dequeue = dequeue,
};
