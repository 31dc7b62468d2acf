/* src/sched/ring.c - write and read event rings.  SPDX-License-Identifier: Apache-2.0
 *
 * Runs inside programs: no libc call, no vector registers, async-signal-safe. */
#include "sched/ring.h"

void trace_put(struct trace_ring *r, uint32_t n, const struct trace_event *e)
{
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    /* The reader is done with what it has counted: acquire. */
    if (USF_UNLIKELY(head - atomic_load_explicit(&r->tail, memory_order_acquire) >= n)) {
        atomic_store_explicit(&r->lost, atomic_load_explicit(&r->lost, memory_order_relaxed) + 1, memory_order_relaxed);
        return;
    }
    r->event[head & (n - 1)] = *e;
    USF_POINT("trace.written");
    atomic_store_explicit(&r->head, head + 1, memory_order_release);
}

uint32_t trace_get(struct trace_ring *r, uint32_t n, struct trace_event *out, uint32_t max, uint64_t *lost)
{
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    uint64_t head = atomic_load_explicit(&r->head, memory_order_acquire), there = head - tail;
    if (USF_UNLIKELY(there > n)) {
        *lost += head > tail ? there : 1;
        atomic_store_explicit(&r->tail, head, memory_order_release);
        return 0;
    }
    if (there > max) there = max;
    for (uint64_t i = 0; i < there; i++) out[i] = r->event[(tail + i) & (n - 1)];
    atomic_store_explicit(&r->tail, tail + there, memory_order_release);
    return (uint32_t)there;
}

void trace_locked(struct sched *s, enum trace_kind kind, uint32_t aux, uint32_t task, uint64_t a, uint64_t b)
{
    struct trace_map *m = s->trace;
    if (!m) return;             /* another thread has just found the recording ended */
    struct trace_event e = {s->pol.now, (uint16_t)kind, (uint16_t)aux, task, a, b};
    trace_put(trace_lock_ring(m), TRACE_LOCK_EVENTS, &e);
}

static void name(struct sched *s, enum trace_kind kind, uint32_t aux, uint32_t task, const char *text)
{
    uint64_t w[2];
    __builtin_memcpy(w, text, sizeof w);
    trace_locked(s, kind, aux, task, w[0], w[1]);
}

void trace_thread(struct sched *s, const struct sched_self *me)
{
    const struct usf_task *t = &s->tasks[me->task];
    const struct usf_proc *p = &s->procs[t->proc];
    trace_locked(s, TRACE_THREAD, 0, me->task, (uint32_t)p->pid | (uint64_t)(uint32_t)sched_thread_of(s, me->task)->tid << 32, t->proc | (uint64_t)me->maker << 32);
    if (me->born) trace_locked(s, TRACE_BORN, 0, me->task, me->born, 0);
    const struct usf_pol_group *g = &s->groups[t->pol.group].pol;
    name(s, TRACE_PROCESS, g->weight, me->task, p->comm);
    name(s, TRACE_NAME, (uint32_t)g->priority, me->task, t->name);
}

void trace_own(struct sched *s, struct sched_self *me, uint64_t ns, enum trace_kind kind, uint32_t aux, uint64_t a, uint64_t b)
{
    sched_crit_enter(me);       /* no handler of this thread writes meanwhile */
    struct trace_map *m = s->trace;
    uint32_t task = me->task;
    if (m && task != USF_NONE) {
        struct trace_event e = {ns ? ns : trace_now(m), (uint16_t)kind, (uint16_t)aux, task, a, b};
        if (task < atomic_load_explicit(&m->nr_rings, memory_order_acquire)) trace_put(trace_task_ring(m, task), TRACE_TASK_EVENTS, &e);
        else atomic_fetch_add_explicit(&m->homeless, 1, memory_order_relaxed);
    }
    sched_crit_leave(s, me);
}

void trace_call(struct sched *s, struct sched_self *me)
{
    uint64_t began = me->called;
    struct trace_map *m = s->trace;
    me->called = 0;
    if (!began || !m || me->task == USF_NONE) return;
    uint64_t took = os_cycles() - began;
    if (took < m->call_cycles) return;
    const struct usf_task *t = &s->tasks[me->task];
    trace_own(s, me, 0, TRACE_CALL, atomic_load_explicit(&((struct usf_task *)t)->wait_kind, memory_order_relaxed),
              atomic_load_explicit(&((struct usf_task *)t)->wait_addr, memory_order_relaxed), took);
}
