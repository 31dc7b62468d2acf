/* sim/kernel_plain.c - the least that a kernel does: what runs below usf.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A queue per CPU, in order; slices while there are more than one; a thread that wakes by itself (a
 * timer, a device), or is new, runs at once, one that another wakes when the CPU is free.  Nothing
 * is balanced but wakers' choices: the nearest idle CPU, else the last one.  For usf that is all
 * that matters: its threads are bound, and seldom are two of them runnable on one CPU.
 *
 * Invariant: a CPU's queue is a list through the threads' data, first .. last, ids + 1. */
#include "sim/internal.h"

#define SLICE_NS 3000000u

struct queue { uint32_t first, last; };
struct link { uint32_t next, prev; };

static struct queue *queue_of(struct sim *s, uint32_t cpu) { return sim_kcpu_data(s, cpu); }
static struct link *link_of(struct sim_kthread *t) { return (struct link *)(void *)t->data; }
static struct link *link_at(struct sim *s, uint32_t id1) { return link_of(sim_kthread(s, id1 - 1)); }

static void push(struct sim *s, uint32_t cpu, struct sim_kthread *t, bool front)
{
    struct queue *q = queue_of(s, cpu);
    struct link *l = link_of(t);
    uint32_t id = t->id + 1;
    l->next = front ? q->first : 0;
    l->prev = front ? 0 : q->last;
    if (l->next) link_at(s, l->next)->prev = id;
    else q->last = id;
    if (l->prev) link_at(s, l->prev)->next = id;
    else q->first = id;
}

static void dequeue(struct sim *s, uint32_t cpu, struct sim_kthread *t)
{
    struct queue *q = queue_of(s, cpu);
    struct link *l = link_of(t);
    if (l->prev) link_at(s, l->prev)->next = l->next;
    else q->first = l->next;
    if (l->next) link_at(s, l->next)->prev = l->prev;
    else q->last = l->prev;
}

static bool is_idle(struct sim *s, uint32_t cpu) { return sim_kcurrent(s, cpu) == SIM_NONE && !queue_of(s, cpu)->first; }

static uint32_t select(struct sim *s, struct sim_kthread *t, uint32_t waker, enum sim_kwhy why)
{
    const struct sim_machine *m = sim_machine_of(s);
    uint32_t from = t->cpu != SIM_NONE ? t->cpu : waker != SIM_NONE ? waker : 0, allowed = SIM_NONE;
    for (uint32_t i = 0; i < m->nr_cpus; i++) {
        uint32_t cpu = (from + i) % m->nr_cpus;
        if (!sim_kallowed(s, t, cpu)) continue;
        if (allowed == SIM_NONE) allowed = cpu;
        if (is_idle(s, cpu)) return cpu;
        if (i >= 64) break;     /* on a large machine that is full one does not look at all of it */
    }
    if (allowed != SIM_NONE) return allowed;
    for (allowed = 0; allowed < m->nr_cpus && !sim_kallowed(s, t, allowed);) allowed++;
    return allowed;
}

static void enqueue(struct sim *s, uint32_t cpu, struct sim_kthread *t, enum sim_kwhy why)
{ push(s, cpu, t, s->waker == SIM_NONE || why == SIM_K_WAKE_NEW); }

static uint32_t pick(struct sim *s, uint32_t cpu)
{
    uint32_t first = queue_of(s, cpu)->first;
    if (!first) return SIM_NONE;
    dequeue(s, cpu, sim_kthread(s, first - 1));
    return first - 1;
}

/* Preempted by one that came in front of it: it goes on after that.  At its slice's end it goes
 * behind the others. */
static void put(struct sim *s, uint32_t cpu, struct sim_kthread *t, enum sim_kput why)
{
    struct queue *q = queue_of(s, cpu);
    bool again = why == SIM_K_PREEMPTED && q->first && s->cpu[cpu].tick_at > sim_now(s);
    if (!again) {
        push(s, cpu, t, false);
        return;
    }
    struct sim_kthread *newcomer = sim_kthread(s, q->first - 1);
    dequeue(s, cpu, newcomer);
    push(s, cpu, t, true);
    push(s, cpu, newcomer, true);
}

static bool preempts(struct sim *s, uint32_t cpu, struct sim_kthread *t) { return queue_of(s, cpu)->first == t->id + 1 && (s->waker == SIM_NONE || t->ran_ns == 0); }

static uint64_t slice(struct sim *s, uint32_t cpu, struct sim_kthread *t) { return queue_of(s, cpu)->first ? SLICE_NS : UINT64_MAX; }
static bool tick(struct sim *s, uint32_t cpu) { return queue_of(s, cpu)->first != 0; }

const struct sim_kernel_ops sim_kernel_plain = {
    .name = "plain", .description = "queues per CPU in order, slices, no balancing: what usf needs below it",
    .select = select, .enqueue = enqueue, .dequeue = dequeue, .pick = pick, .put = put, .preempts = preempts, .slice = slice, .tick = tick,
};
