/* src/sched/probe.c - predicate probes: of the threads that busy-wait, which one can go on?
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thread that gives way in a busy-wait leaves its registers in struct sched_spin.  Any thread of
 * its process can execute one round of that loop with them: then it is known whether the wait is
 * over (docs/design.md, section 8).
 *
 * While all ready tasks busy-wait in this process, the policy has nothing to choose between: it
 * would name them one after another, and all but a few would be put back.  So they are in a list of
 * the process's own, in the order in which they gave way, and the first whose wait is over is taken
 * out of the policy's queues.  One that waits for another core comes after those of the own core,
 * but at once: its core's thread may work for long, and a ticket lock or a barrier stands still
 * meanwhile.
 *
 * All of this happens under the scheduler lock.  An entry counts while its task is READY, and has
 * not given way again since.  Entries that do not count are dropped when another process, or the
 * policy, may have dispatched one of the tasks. */
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
           && atomic_load_explicit(&t->state, memory_order_relaxed) == USF_TASK_READY && t->pol.held /* not leased */
           && atomic_load_explicit(&t->proc, memory_order_relaxed) == s->proc;      /* not a parent's, after a fork */
}

/* Has the task the rank of those in the list?  To the policy it makes no difference then which is
 * next. */
static bool is_equal(const struct sched *s, uint32_t task)
{
    const struct usf_pol_task *t = &s->tasks[task].pol;
    return t->group == s->spin_group && t->priority == s->spin_priority && t->deadline == s->spin_deadline;
}

static void drop_others(struct sched *s)
{
    uint32_t n = 0;
    if (s->spinners_sure) return;
    for (uint32_t i = 0; i < s->nr_spinners; i++) {
        struct sched_spinner e = s->spinners[i];
        if (still_spins(s, &e) && is_equal(s, e.task)) s->spinners[n++] = e;
    }
    s->nr_spinners = n;
    s->spinners_sure = true;
}

void probe_gives_way(struct sched *s, uint32_t task)
{
    const struct usf_pol_task *t = &s->tasks[task].pol;
    usf_dassert(atomic_load_explicit(&s->tasks[task].state, memory_order_relaxed) == USF_TASK_READY);
    if (!s->spins || !atomic_load_explicit(&s->spins[task].regs, memory_order_relaxed)) return;
    if (atomic_load_explicit(&s->tasks[task].proc, memory_order_relaxed) != s->proc) return;     /* a parent's, after a fork */
    uint32_t turn = ++s->spins[task].turn;      /* its earlier entry counts no more */
    if (s->nr_spinners && (s->nr_spinners == SCHED_SPINNERS_MAX || !is_equal(s, task))) drop_others(s);
    if (!s->nr_spinners) {
        s->spin_group = t->group;
        s->spin_priority = t->priority;
        s->spin_deadline = t->deadline;
    }
    if (s->nr_spinners < SCHED_SPINNERS_MAX && is_equal(s, task)) s->spinners[s->nr_spinners++] = (struct sched_spinner){task, turn};
}

bool probe_is_enough(struct sched *s)
{
    uint32_t ready = atomic_load_explicit(&s->h->nr_ready, memory_order_relaxed);
    if (!ready || s->nr_spinners < ready) return false;
    drop_others(s);
    usf_dassert(s->nr_spinners <= ready);
    return s->nr_spinners == ready;
}

uint32_t probe_pick(struct sched *s, uint32_t core)
{
    uint32_t n = s->nr_spinners, found = n, probes = 0, looked = 0;
    for (bool here = false; looked < n && probes < PROBES_MAX && !here; looked++) {
        uint32_t i = (s->next_spinner + looked) % n, task = s->spinners[i].task;
        here = s->tasks[task].pol.last_core == core;
        bool may = (here || found == n) && usf_may_run(&s->pol, task, core);
        if (may && core_is_unproductive(s, task)) {
            probes++;
            may = false;
        }
        if (may) found = i;
        else here = false;
    }
    s->next_spinner = found == n && looked < n ? (s->next_spinner + looked) % n : 0;
    if (found == n) return USF_NONE;
    uint32_t task = s->spinners[found].task;
    usf_assert(atomic_load_explicit(&s->tasks[task].state, memory_order_relaxed) == USF_TASK_READY);
    s->nr_spinners--;
    for (uint32_t i = found; i < s->nr_spinners; i++) s->spinners[i] = s->spinners[i + 1];
    core_dequeue(s, task);
    s->spinners_sure = true;        /* the task is off the list, too */
    return task;
}

void probe_forget(struct sched *s)
{
    s->nr_spinners = s->next_spinner = 0;
    s->spinners_sure = false;
}
