/* src/tasks/place.c - what the instance is told where the process takes part in one.  SPDX-License-Identifier: Apache-2.0
 *
 * Then the instance places them, and masks are the program's own.  A thread tells the CPU of its slot as the place that it prefers; with a
 * task of strict affinity the place is strict.  Each thread tells it itself, before it executes the task.  Nothing else of a task is shared, so a
 * process that is killed between any two steps leaves threads of the instance behind, as any program does, and the monitor clears them. */
#include "tasks/tasks.h"
#include "usf/usf.h"

static enum usf_place strict_place(nosv_affinity_t a) { return a.level == NOSV_AFFINITY_LEVEL_NUMA ? USF_PLACE_NODE : USF_PLACE_CORE; }

void tk_place(struct tk_exec *me, const struct nosv_task *t)
{
    bool strict = tk_is_strict(t->affinity);
    enum usf_place place = strict ? strict_place(t->affinity) : USF_PLACE_CORE;
    uint64_t told = 1 + ((uint64_t)me->slot->cpu << 3 | (uint64_t)place << 1 | strict);
    if (told == me->place) return;
    me->place = told;
    usf_task_set_affinity(place, me->slot->cpu, strict ? USF_STRICT : 0);
}

#define TELL_EVERY 256u         /* executions */

void tk_tell_counts(struct tk_slot *s)
{
    if (!tk.places || !(s->n.executed | s->n.paused)) return;
    usf_count_work(s->n.executed, s->n.paused, s->n.stolen);
    s->n.executed = s->n.paused = s->n.stolen = 0;
    bool recorded = usf_is_recorded() == 0;
    if (recorded != atomic_load_explicit(&tk.recorded, memory_order_relaxed)) atomic_store_explicit(&tk.recorded, recorded, memory_order_relaxed);
}

void tk_begin_execution(struct tk_exec *me, const struct nosv_task *t, const struct nosv_task *taken)
{
    if (++me->slot->n.executed >= TELL_EVERY) tk_tell_counts(me->slot);
    tk_place(me, t);
    if (tk_is_recorded()) usf_begin_work(t->type->label, me->inlined ? 0 : (uintptr_t)taken);   /* in line: it was never ready */
}

void tk_end_execution(void)
{
    if (tk_is_recorded()) usf_end_work();
}

void tk_tell_ready(const struct nosv_task *t) { usf_ready_work((uintptr_t)t); }
void tk_tell_pause(void) { usf_pause_work(); }
void tk_tell_resume(const struct nosv_task *t) { usf_resume_work((uintptr_t)t); }

void tk_end_place(struct tk_exec *me)
{
    if (me->place) usf_task_set_affinity(USF_PLACE_ANY, 0, 0);
    me->place = 0;
}
