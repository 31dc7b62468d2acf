/* tests/policy/liar.c - policies that work for a while and then answer wrongly.  SPDX-License-Identifier: Apache-2.0
 * One object per -DLIAR_x.  All must be replaced by coop while the program runs on. */
#include <usf/policy.h>

struct USF_POLICY_STATE inst { struct usf_fifo ready; uint32_t answers; };
static struct inst *inst(struct usf_pol *p) { return (struct inst *)(void *)p->data; }

static void enqueue(struct usf_pol *p, uint32_t task, enum usf_why why) { (void)why; usf_fifo_push(p, &inst(p)->ready, task); }
static void dequeue(struct usf_pol *p, uint32_t task) { usf_fifo_remove(p, &inst(p)->ready, task); }

static uint32_t pick(struct usf_pol *p, uint32_t core)
{
    bool lie = ++inst(p)->answers > 20;
    (void)lie;
#ifdef LIAR_nobody
    if (lie) return p->nr_tasks + 7;
#endif
#ifdef LIAR_running
    if (lie && usf_core(p, core)->current != USF_NONE) return usf_core(p, core)->current;
    if (lie) return 0;
#endif
#ifdef LIAR_keeps
    if (lie) return USF_NONE;
#endif
#ifdef LIAR_queued
    if (lie && inst(p)->ready.head) return inst(p)->ready.head - 1;
#endif
    return usf_fifo_pop_allowed(p, &inst(p)->ready, core);
}

#ifdef LIAR_core
static uint32_t select_core(struct usf_pol *p, uint32_t task, const uint64_t idle[USF_CORE_WORDS])
{
    (void)task, (void)idle;
    return p->nr_cores + 3;
}
#endif

USF_POLICY_EXPORT const struct usf_policy_ops usf_policy = {
    .api = USF_POLICY_API,
    .size = sizeof(struct usf_policy_ops),
    .name = "liar",
    .enqueue = enqueue,
    .pick = pick,
    .dequeue = dequeue,
#ifdef LIAR_core
    .select_core = select_core,
#endif
};
