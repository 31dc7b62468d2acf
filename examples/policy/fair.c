/* examples/policy/fair.c - an example of a policy of your own.  SPDX-License-Identifier: Apache-2.0
 *
 * Processes share the cores by weight: whoever has had the least core time so far is served first,
 * whatever the number of its threads.  Within a process the oldest ready task goes first.
 *
 *   make -C examples/policy
 *   usf run --policy ./examples/policy/fair.so -- ./program
 *
 * docs/policy.md explains it line by line. */
#include <usf/policy.h>

enum { PROC_WORDS = 1024 / 64 };

struct USF_POLICY_STATE inst {
    uint64_t waiting[PROC_WORDS];   /* bit i: process i has ready tasks */
    uint64_t floor;                 /* ns, the least `used` that was served last */
    struct usf_fifo yielded;        /* tasks of all processes that gave their core up */
};
struct USF_POLICY_STATE proc {
    struct usf_fifo ready;
    uint64_t used;                  /* ns of core time, as if the weight were 100 */
};
struct USF_POLICY_STATE mark { uint32_t yielded; };
_Static_assert(sizeof(struct inst) <= USF_POL_DATA - 64 && sizeof(struct proc) <= USF_POL_PROC_DATA
               && sizeof(struct mark) <= USF_POL_TASK_DATA, "our state fits the data areas");

static struct inst *inst_of(struct usf_pol *p) { return (struct inst *)(void *)p->data; }
static struct proc *proc_of(struct usf_pol *p, uint32_t i) { return (struct proc *)(void *)usf_proc(p, i)->data; }
static struct mark *mark_of(struct usf_pol *p, uint32_t t) { return (struct mark *)(void *)usf_task(p, t)->data; }

static int init(struct usf_pol *p) { return p->nr_procs > PROC_WORDS * 64; }

/* A newcomer starts where the others are: it need not catch up with hours of their computing, and the
 * data area of a process is zeroed when it joins. */
static void proc_add(struct usf_pol *p, uint32_t i) { proc_of(p, i)->used = inst_of(p)->floor; }

static void enqueue(struct usf_pol *p, uint32_t task, enum usf_why why)
{
    struct inst *in = inst_of(p);
    uint32_t i = usf_task(p, task)->proc;
    struct proc *proc = proc_of(p, i);
    mark_of(p, task)->yielded = why == USF_WHY_YIELD;
    if (why == USF_WHY_YIELD) {
        usf_fifo_push(p, &in->yielded, task);
        return;
    }
    /* Who has slept may not save its share up and then keep everybody else off the cores. */
    if (!proc->ready.len && proc->used < in->floor) proc->used = in->floor;
    usf_fifo_push(p, &proc->ready, task);
    in->waiting[i / 64] |= 1ull << (i % 64);
}

static void take(struct usf_pol *p, uint32_t i, uint32_t task)
{
    struct proc *proc = proc_of(p, i);
    usf_fifo_remove(p, &proc->ready, task);
    if (!proc->ready.len) inst_of(p)->waiting[i / 64] &= ~(1ull << (i % 64));
}

static void dequeue(struct usf_pol *p, uint32_t task)
{
    if (mark_of(p, task)->yielded) usf_fifo_remove(p, &inst_of(p)->yielded, task);
    else take(p, usf_task(p, task)->proc, task);
}

static uint32_t pick(struct usf_pol *p, uint32_t core)
{
    struct inst *in = inst_of(p);
    uint32_t best = USF_NONE;
    for (uint32_t w = 0; w < PROC_WORDS; w++)
        for (uint64_t m = in->waiting[w]; m; m &= m - 1) {
            uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(m);
            if (usf_allowed(p, i, core) && (best == USF_NONE || proc_of(p, i)->used < proc_of(p, best)->used)) best = i;
        }
    if (best == USF_NONE) return usf_fifo_pop_allowed(p, &in->yielded, core);
    uint32_t task = proc_of(p, best)->ready.head - 1;
    if (proc_of(p, best)->used > in->floor) in->floor = proc_of(p, best)->used;
    take(p, best, task);
    return task;
}

static void stopped(struct usf_pol *p, uint32_t core, uint32_t task)
{
    uint32_t i = usf_task(p, task)->proc;
    uint64_t ran = p->now - usf_core(p, core)->since;
    uint32_t weight = usf_proc(p, i)->weight;
    proc_of(p, i)->used += ran * 100 / (weight ? weight : 100);
}

USF_POLICY_EXPORT const struct usf_policy_ops usf_policy = {
    .api = USF_POLICY_API,
    .size = sizeof(struct usf_policy_ops),
    .name = "fairshare",
    .description = "processes share the cores by weight; an example",
    .init = init,
    .proc_add = proc_add,
    .enqueue = enqueue,
    .pick = pick,
    .dequeue = dequeue,
    .stopped = stopped,
};
