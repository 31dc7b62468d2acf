/* src/tasks/place.c - what the instance is told where the process takes part in one.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Then the instance places them, and masks are the program's own.  A thread tells the CPU of its
 * slot as the place that it prefers; with a task of strict affinity the place is strict.  Each
 * thread tells it itself, before it executes the task.  Nothing else of a task is shared, so a
 * process that is killed between any two steps leaves threads of the instance behind, as any
 * program does, and the monitor clears them. */
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
#define SUMMARY_NS 10000000u    /* between two summaries: one reads each slot's queues, which are in use by others */

static void add_heap(struct usf_work *w, struct tk_heap *h)
{
    uint32_t n = atomic_load_explicit(&h->n, memory_order_relaxed);
    uint64_t due = atomic_load_explicit(&h->due, memory_order_relaxed);
    int32_t top = atomic_load_explicit(&h->top, memory_order_relaxed);
    if (!n) return;
    if (!w->ready || top > w->priority) w->priority = top;
    if (due && (!w->deadline || due < w->deadline)) w->deadline = due;
    w->ready += n;
}

static void add_plain(struct usf_work *w, uint32_t n)
{
    if (n && (!w->ready || w->priority < 0)) w->priority = 0;
    w->ready += n;
}

static void add_list(struct usf_work *w, struct tk_list *l) { add_plain(w, atomic_load_explicit(&l->n, memory_order_relaxed)); }

static void add_slot(struct usf_work *w, struct tk_slot *s)
{
    uint32_t tail = atomic_load_explicit(&s->ring.tail, memory_order_relaxed), n = tail - atomic_load_explicit(&s->ring.head, memory_order_relaxed);
    add_plain(w, n <= TK_RING ? n : 0);     /* the two were read one after the other */
    add_list(w, &s->spill);
    add_list(w, &s->yielded);
    add_heap(w, &s->preferred);
    if (s->cpu < 64 * sizeof w->strict / sizeof *w->strict && atomic_load_explicit(&s->strict.n, memory_order_relaxed))
        w->strict[s->cpu / 64] |= 1ull << (s->cpu % 64);
    add_heap(w, &s->strict);
}

/* One thread at a time, and if `always` is not set only when the last one is SUMMARY_NS old. */
static void tell_summary(bool always)
{
    uint64_t now = os_now(), due = atomic_load_explicit(&tk.next_summary, memory_order_relaxed);
    struct usf_work w = {0};
    if (!always && now < due) return;
    if (!atomic_compare_exchange_strong(&tk.next_summary, &due, now + SUMMARY_NS)) return;
    for (uint32_t i = 0; i < tk.nr_slots; i++) add_slot(&w, &tk.slots[i]);
    for (uint32_t i = 0; i < tk.nr_nodes; i++) add_heap(&w, &tk.nodes[i].strict), add_heap(&w, &tk.nodes[i].preferred);
    for (uint32_t i = 0; i < tk.nr_complexes; i++) add_heap(&w, &tk.complexes[i].strict), add_heap(&w, &tk.complexes[i].preferred);
    add_heap(&w, &tk.global);
    add_list(&w, &tk.inbox);
    usf_tell_queued_work(&w);
    atomic_store_explicit(&tk.told_ready, w.ready != 0, memory_order_relaxed);
}

static void tell_counts(struct tk_slot *s)
{
    struct usf_work_counts n = {s->n.executed, s->n.paused, s->n.stolen, s->n.wait_ns};
    usf_count_work(&n);
    s->n.executed = s->n.paused = s->n.stolen = 0;
    s->n.wait_ns = 0;
    bool recorded = usf_is_recorded() == 0;
    if (recorded != atomic_load_explicit(&tk.recorded, memory_order_relaxed)) atomic_store_explicit(&tk.recorded, recorded, memory_order_relaxed);
}

void tk_tell_counts(struct tk_slot *s)
{
    if (!tk.places || !(s->n.executed | s->n.paused)) return;
    tell_counts(s);
    tell_summary(false);
}

/* The last summary named tasks, and none are found: then another one, at once. */
void tk_tell_idle(struct tk_slot *s)
{
    if (!tk.places) return;
    if (s->n.executed | s->n.paused) tell_counts(s);
    if (atomic_load_explicit(&tk.told_ready, memory_order_relaxed)) tell_summary(true);
}

/* How long tasks are ready before they run.  A look at the clock takes as long as an empty task, so
 * it is measured for the first tasks that a thread queues, and for one of TIME_EVERY after these,
 * which stands for as many. */
#define TIME_FIRST 64u
#define TIME_EVERY 64u
static __thread uint32_t queued __attribute__((tls_model("initial-exec")));

static uint32_t clock_1024(void) { return (uint32_t)(os_now() / 1024) & ~1u; }

void tk_tell_ready(struct nosv_task *t)
{
    bool first = queued < TIME_FIRST;
    if (first || queued % TIME_EVERY == 0) {
        t->queued = clock_1024() | !first;
        atomic_fetch_or_explicit(&t->flags, TK_F_TIMED, memory_order_relaxed);
    }
    queued = queued + 1 ? queued + 1 : TIME_FIRST;
    if (tk_is_recorded()) usf_ready_work((uintptr_t)t);
}

/* t runs from now on. */
static void end_wait(struct tk_slot *s, struct nosv_task *t)
{
    if (USF_LIKELY(!(t->flags & TK_F_TIMED))) return;
    atomic_fetch_and_explicit(&t->flags, (uint8_t)~TK_F_TIMED, memory_order_relaxed);
    s->n.wait_ns += 1024ull * (clock_1024() - (t->queued & ~1u)) * (t->queued & 1 ? TIME_EVERY : 1);
}

void tk_begin_execution(struct tk_exec *me, const struct nosv_task *t, struct nosv_task *taken)
{
    end_wait(me->slot, taken);
    if (++me->slot->n.executed >= TELL_EVERY) tk_tell_counts(me->slot);
    tk_place(me, t);
    if (tk_is_recorded()) usf_begin_work(t->type->label, me->inlined ? 0 : (uintptr_t)taken);   /* in line: it was never ready */
}

void tk_end_execution(void)
{
    if (tk_is_recorded()) usf_end_work();
}

void tk_tell_pause(void) { usf_pause_work(); }

void tk_tell_resume(struct tk_exec *me)
{
    end_wait(me->slot, me->task);
    tk_place(me, me->task);
    if (tk_is_recorded()) usf_resume_work((uintptr_t)me->task);
}

void tk_end_place(struct tk_exec *me)
{
    if (me->place) usf_task_set_affinity(USF_PLACE_ANY, 0, 0);
    me->place = 0;
}
