/* tests/policy/looper.c - does not return when it gets a new thread of a process of weight 777.  SPDX-License-Identifier: Apache-2.0
 * A thread is enqueued as new by itself alone: so it is that process that stays in the policy. */
#include <usf/policy.h>

struct USF_POLICY_STATE looper { struct usf_fifo ready; };
static struct usf_fifo *ready(struct usf_pol *p) { return &((struct looper *)(void *)p->data)->ready; }

static void enqueue(struct usf_pol *p, uint32_t task, enum usf_why why)
{
    if (why == USF_WHY_NEW && usf_proc(p, usf_task(p, task)->proc)->weight == 777)
        for (;;) __asm__ volatile("");
    usf_fifo_push(p, ready(p), task);
}
static uint32_t pick(struct usf_pol *p, uint32_t core) { return usf_fifo_pop_allowed(p, ready(p), core); }
static void dequeue(struct usf_pol *p, uint32_t task) { usf_fifo_remove(p, ready(p), task); }
/* All are queued: the thread that begins meets enqueue. */
static uint32_t select_core(struct usf_pol *p, uint32_t task, const uint64_t idle[4]) { (void)p, (void)task, (void)idle; return USF_NONE; }

USF_POLICY_EXPORT const struct usf_policy_ops usf_policy = {
    .api = USF_POLICY_API, .size = sizeof usf_policy, .name = "looper", .description = "does not return, now and then",
    .enqueue = enqueue, .pick = pick, .dequeue = dequeue, .select_core = select_core,
};
