/* src/sched/probe.c - predicate probes: of the threads that busy-wait, which one can go on?  SPDX-License-Identifier: Apache-2.0
 *
 * A thread that gives way in a busy-wait leaves its registers in struct sched_spin.  Any thread of
 * its process can execute one round of that loop with them: then it is known whether the wait is
 * over (docs/design.md, section 8).
 *
 * While all ready tasks busy-wait in this process, the policy has nothing to choose between: it
 * would name them one after another, and all but a few would be put back.  So they are in a list
 * of the process's own, in the order in which they gave way, and the first whose wait is over is
 * taken out of the policy's queues.  One that waits for another core comes after those of the own
 * core, but at once: its core's thread may work for long, and a ticket lock or a barrier stands
 * still meanwhile.
 *
 * All of this happens under the scheduler lock.  The list is a hint.  An entry counts while its task is
 * READY, and has not given way again since. */
#include "sched/core.h"
#include "sched/times.h"

bool core_is_unproductive(struct sched *s, uint32_t task)
{
    if (!s->spins || task == USF_NONE) return false;    /* none: it has just been taken off */
    if (atomic_load_explicit(&s->tasks[task].proc, memory_order_relaxed) != s->proc) return false;
    const void *regs = atomic_load_explicit(&s->spins[task].regs, memory_order_acquire);
    return regs && !s->probe(s->spins[task].place, regs);
}

static bool still_spins(struct sched *s, const struct sched_spinner *e)
{
    const struct usf_task *t = &s->tasks[e->task];
    const struct sched_spin *spin = &s->spins[e->task];
    return spin->turn == e->turn && atomic_load_explicit(&spin->regs, memory_order_relaxed)
           && atomic_load_explicit(&t->state, memory_order_relaxed) == USF_TASK_READY
           && atomic_load_explicit(&t->proc, memory_order_relaxed) == s->proc;      /* not a parent's, after a fork */
}

static void drop_others(struct sched *s)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->nr_spinners; i++)
        if (still_spins(s, &s->spinners[i])) s->spinners[n++] = s->spinners[i];
    s->nr_spinners = n;
}

void probe_gives_way(struct sched *s, uint32_t task)
{
    if (!s->spins || !atomic_load_explicit(&s->spins[task].regs, memory_order_relaxed)) return;
    if (s->nr_spinners == SCHED_SPINNERS_MAX) drop_others(s);
    if (s->nr_spinners == SCHED_SPINNERS_MAX) return;       /* the policy chooses */
    s->spinners[s->nr_spinners++] = (struct sched_spinner){task, ++s->spins[task].turn};
}

/* Are they equal to the policy? */
static bool are_equal(struct sched *s)
{
    const struct usf_pol_task *first = &s->tasks[s->spinners[0].task].pol;
    for (uint32_t i = 1; i < s->nr_spinners; i++) {
        const struct usf_pol_task *t = &s->tasks[s->spinners[i].task].pol;
        if (t->group != first->group || t->priority != first->priority || t->deadline != first->deadline) return false;
    }
    return true;
}

bool probe_is_enough(struct sched *s)
{
    uint32_t ready = atomic_load_explicit(&s->h->nr_ready, memory_order_relaxed);
    if (!ready || s->nr_spinners < ready) return false;
    drop_others(s);
    return s->nr_spinners == ready && are_equal(s);
}

uint32_t probe_pick(struct sched *s, uint32_t core)
{
    uint32_t elsewhere = USF_NONE, probes = 0;
    for (uint32_t i = 0; i < s->nr_spinners && probes < PROBES_MAX; i++) {
        uint32_t task = s->spinners[i].task;
        bool here = s->tasks[task].pol.last_core == core;
        if ((!here && elsewhere != USF_NONE) || !usf_may_run(&s->pol, task, core)) continue;
        probes++;
        if (core_is_unproductive(s, task)) continue;
        if (here) return task;
        elsewhere = task;
    }
    return elsewhere;
}
