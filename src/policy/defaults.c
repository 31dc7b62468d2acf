/* src/policy/defaults.c - the operations a policy may leave out.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two FIFOs for the whole instance: ready tasks, and behind them those that yielded.  A task that
 * has waited for a quantum goes first, but not twice in a row: no task waits for ever.  They lie in
 * the last 64 bytes of the instance's data area, so that a policy with state of its own can still
 * use them. Which of the two a task is in is told by its `queued` mark: 1 ready, 2 yielded. */
#include <usf/policy.h>
#include "policy/policy.h"

struct USF_POLICY_STATE queues { struct usf_fifo ready, yielded; uint32_t overdue; };
_Static_assert(sizeof(struct queues) <= 64, "the default queues fit their reserve");
enum { READY = 1, YIELDED = 2 };

static struct queues *queues(struct usf_pol *p)
{ return (struct queues *)(void *)(p->data + USF_POL_DATA - 64); }

static int init(struct usf_pol *p) { (void)p; return 0; }
static void no_record(struct usf_pol *p, uint32_t id) { (void)p, (void)id; }
static void no_switch(struct usf_pol *p, uint32_t core, uint32_t task) { (void)p, (void)core, (void)task; }
static void tick(struct usf_pol *p) { (void)p; }

/* 3 the same core .. 0 another node.  Nearer is warmer: the task's data is in that cache. */
static int nearness(struct usf_pol *p, uint32_t from, uint32_t to)
{
    if (from == to) return 3;
    const struct usf_pol_core *a = usf_core(p, from), *b = usf_core(p, to);
    return a->llc == b->llc ? 2 : a->node == b->node ? 1 : 0;
}

static uint32_t select_core(struct usf_pol *p, uint32_t task, const uint64_t idle[USF_CORE_WORDS])
{
    const struct usf_pol_task *t = usf_task(p, task);
    uint32_t best = USF_NONE;
    int best_nearness = -1;
    for (uint32_t core = 0; (core = usf_cores_next(idle, core)) < p->nr_cores; core++) {
        if (!usf_may_run(p, task, core)) continue;
        if (t->last_core >= p->nr_cores) return core;
        int near = nearness(p, t->last_core, core);
        if (near > best_nearness) best = core, best_nearness = near;
    }
    return best;
}

static void enqueue(struct usf_pol *p, uint32_t task, enum usf_why why)
{
    struct queues *q = queues(p);
    bool yielded = why == USF_WHY_YIELD;
    usf_fifo_push(p, yielded ? &q->yielded : &q->ready, task);
    usf_task(p, task)->queued = yielded ? YIELDED : READY;
}

static uint32_t pick(struct usf_pol *p, uint32_t core)
{
    struct queues *q = queues(p);
    uint32_t first = q->yielded.head;
    q->overdue = first && !q->overdue && p->now - usf_task(p, first - 1)->ready_since >= p->quantum;
    uint32_t task = usf_fifo_pop_allowed(p, q->overdue ? &q->yielded : &q->ready, core);
    return task != USF_NONE ? task : usf_fifo_pop_allowed(p, q->overdue ? &q->ready : &q->yielded, core);
}

static void dequeue(struct usf_pol *p, uint32_t task)
{
    struct queues *q = queues(p);
    usf_fifo_remove(p, usf_task(p, task)->queued == YIELDED ? &q->yielded : &q->ready, task);
}

static bool yield(struct usf_pol *p, uint32_t core, uint32_t task) { (void)p, (void)core, (void)task; return true; }

const struct usf_policy_ops usf_policy_defaults = {
    .api = USF_POLICY_API, .size = sizeof(struct usf_policy_ops), .name = "defaults",
    .description = "what a policy gets for the operations it leaves out",
    .init = init, .group_add = no_record, .group_remove = no_record, .task_add = no_record, .task_remove = no_record,
    .select_core = select_core, .enqueue = enqueue, .pick = pick, .dequeue = dequeue, .yield = yield,
    .started = no_switch, .stopped = no_switch, .tick = tick, .group_changed = no_record,
};
