/* src/policy/fifo.c - the reference policy: first come, first served.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The shortest policy that is worth running, here to be read.  One queue for the whole instance;
 * the first task in it that may run on the core that asks is the next to run.  Start a policy of
 * your own from a copy of this file; docs/policy.md walks through it. */
#include <usf/policy.h>

/* A policy has no variables of its own: many processes run this code at the same time, one after
 * the other under the scheduler lock, and what they must agree on lies in the shared segment.
 * The data area of the instance is ours, zeroed before the first call, and a zeroed usf_fifo is
 * empty. */
struct USF_POLICY_STATE fifo {
    struct usf_fifo ready;      /* every ready task that has no core, oldest first */
    struct usf_fifo yielded;    /* those that gave their core up by themselves */
    uint32_t overdue;           /* 1: the last choice was a yielder that had waited too long */
};
_Static_assert(sizeof(struct fifo) <= USF_POL_DATA - 64, "our state fits the instance's data area");

static struct fifo *fifo(struct usf_pol *p) { return (struct fifo *)(void *)p->data; }

/* The fifo that holds a queued task must be found again in dequeue: remembered in the task's
 * data. */
struct USF_POLICY_STATE mark { uint32_t yielded; };
static struct mark *mark(struct usf_pol *p, uint32_t task)
{ return (struct mark *)(void *)usf_task(p, task)->data; }

/* A task became ready and no idle core took it.  Why matters once: a thread that yields says that
 * it waits for another thread, so threads that have work go first. */
static void enqueue(struct usf_pol *p, uint32_t task, enum usf_why why)
{
    struct fifo *f = fifo(p);
    mark(p, task)->yielded = why == USF_WHY_YIELD;
    usf_fifo_push(p, why == USF_WHY_YIELD ? &f->yielded : &f->ready, task);
}

/* A core asks for work.  Processes may be confined to some cores, so the head of the queue is not
 * always a legal answer: usf_fifo_pop_allowed takes the first task that is.  A thread that yields
 * may hold what all the others look for.  So a yielder that has waited for a whole quantum goes
 * first, but not twice in a row: neither the yielders nor the others can keep the cores for
 * themselves. */
static uint32_t pick(struct usf_pol *p, uint32_t core)
{
    struct fifo *f = fifo(p);
    uint32_t first = f->yielded.head;       /* an id + 1, or 0 */
    f->overdue = first && !f->overdue && p->now - usf_task(p, first - 1)->ready_since >= p->quantum;
    uint32_t task = usf_fifo_pop_allowed(p, f->overdue ? &f->yielded : &f->ready, core);
    return task != USF_NONE ? task : usf_fifo_pop_allowed(p, f->overdue ? &f->ready : &f->yielded, core);
}

/* A queued task has to leave: its process was killed, or its thread ended otherwise. */
static void dequeue(struct usf_pol *p, uint32_t task)
{
    struct fifo *f = fifo(p);
    usf_fifo_remove(p, mark(p, task)->yielded ? &f->yielded : &f->ready, task);
}

/* Everything else is left to the defaults: a woken task goes to an idle core near the last one, and
 * a yield always switches. */
const struct usf_policy_ops usf_policy_fifo = {
    .api = USF_POLICY_API,
    .size = sizeof(struct usf_policy_ops),
    .name = "fifo",

    .description = "first come, first served; the reference to start a policy from",
    .enqueue = enqueue,
    .pick = pick,
    .dequeue = dequeue,
};
