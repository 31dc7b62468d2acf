/* tests/sched/race/liars.c - policies that work for a while.  SPDX-License-Identifier: Apache-2.0 */
#include "race.h"

struct USF_POLICY_STATE liar { struct usf_fifo ready; uint32_t answers; };
static struct liar *liar(struct usf_pol *p) { return (struct liar *)(void *)p->data; }
static bool lies(struct usf_pol *p) { return ++liar(p)->answers > 100; }
static void liar_enqueue(struct usf_pol *p, uint32_t task, enum usf_why why)
{ (void)why; usf_fifo_push(p, &liar(p)->ready, task); }
static void liar_dequeue(struct usf_pol *p, uint32_t task) { usf_fifo_remove(p, &liar(p)->ready, task); }
static uint32_t pick_rightly(struct usf_pol *p, uint32_t core) { return usf_fifo_pop_allowed(p, &liar(p)->ready, core); }
static uint32_t pick_running(struct usf_pol *p, uint32_t core)
{
    uint32_t current = usf_core(p, core)->current;
    if (!lies(p)) return pick_rightly(p, core);
    return current != USF_NONE ? current : p->nr_tasks + 7;
}
static uint32_t pick_queued(struct usf_pol *p, uint32_t core)
{ return lies(p) && liar(p)->ready.head ? liar(p)->ready.head - 1 : pick_rightly(p, core); }
static uint32_t select_wrongly(struct usf_pol *p, uint32_t task, const uint64_t idle[USF_CORE_WORDS])
{ return lies(p) ? p->nr_cores + 3 : usf_policy_defaults.select_core(p, task, idle); }
#define LIAR(n, pick_, select_) static const struct usf_policy_ops n = {.api = USF_POLICY_API, .size = sizeof n, \
    .name = #n, .enqueue = liar_enqueue, .dequeue = liar_dequeue, .pick = pick_, .select_core = select_}
LIAR(liar_running, pick_running, 0);
LIAR(liar_queued, pick_queued, 0);
LIAR(liar_core, pick_rightly, select_wrongly);

const struct usf_policy_ops *const liars[3] = {&liar_running, &liar_queued, &liar_core};
