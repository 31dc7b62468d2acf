/* src/tasks/run.c - a task is executed, ends and completes.  SPDX-License-Identifier: Apache-2.0 */
#include "tasks/tasks.h"

/* All its work has ended.  Once the completed callback has begun the record may be another's: the callback may submit the task
 * again, or destroy it. */
static void complete(struct nosv_task *t)
{
    nosv_task_completed_callback_t completed = t->type->completed;
    struct nosv_task *waiter = t->waiter;
    bool joinable = t->flags & TK_F_JOINABLE;
    t->waiter = 0;
    t->state = TK_REST;
    atomic_store_explicit(&t->cancelled, 0, memory_order_relaxed);
    atomic_store_explicit(&t->waiting, TK_AWAKE, memory_order_relaxed);
    atomic_store_explicit(&t->blocking, 1, memory_order_relaxed);
    bool destroyed = atomic_exchange(&t->life, joinable ? TK_ACTIVE : 0) & TK_DESTROYED;
    if (completed) completed(t);
    if (destroyed) tk_task_end(t);
    else if (joinable) tk_joinable_done(t);
    if (waiter) tk_wake(waiter, TK_FOR_OTHERS);
}

void tk_end_work(struct nosv_task *t, uint64_t n)
{
    /* One piece of work left, and it is the caller's: nobody else can add one. */
    uint64_t left = atomic_load_explicit(&t->life, memory_order_acquire) & TK_COUNT;
    if (left != n) left = atomic_fetch_sub(&t->life, n) & TK_COUNT;
    if (left != n) return;
    if (USF_UNLIKELY(t->flags & TK_F_TO_EVENTS)) {
        t->flags &= (uint8_t)~TK_F_TO_EVENTS;
        atomic_store(&t->life, TK_ACTIVE | TK_EXECUTION);      /* TK_DESTROYED cannot be set: it has not ended */
        tk_queue(tk_me(), t);
        return;
    }
    complete(t);
}

/* Until it is submitted again. */
static void set_aside(struct tk_exec *me, struct nosv_task *t)
{
    if (atomic_fetch_add(&t->blocking, 1) + 1 <= 0) {
        tk_queue(me, t);
        return;
    }
    USF_POINT("tasks.set_aside");
    uint64_t before = atomic_fetch_or(&t->life, TK_SET_ASIDE);
    if (before & TK_DESTROYED) {
        tk_task_end(t);
    } else if (before & TK_RESUMED) {
        atomic_fetch_and(&t->life, ~(TK_SET_ASIDE | TK_RESUMED));
        tk_queue(me, t);
    }
}

/* nosv_suspend: the body has returned and will be called again. */
static void suspend(struct tk_exec *me, struct nosv_task *t)
{
    struct tk_slot *s = me->slot;
    t->exec = 0;
    t->state = TK_SUSPENDED;
    me->task = 0;
    switch (t->suspend_mode) {
    case NOSV_SUSPEND_MODE_SUBMIT:
        if (t->suspend_args) {
            nosv_affinity_t place = t->affinity;        /* once queued, the task may run and be gone */
            tk_queue_yielded(s, t);
            tk_wake_for(place, s->cpu);
        } else {
            tk_queue(me, t);
        }
        return;
    case NOSV_SUSPEND_MODE_TIMEOUT_SUBMIT:
        if (!tk_queue_at(t, os_now() + t->suspend_args)) tk_queue(me, t);
        return;
    case NOSV_SUSPEND_MODE_EVENT_SUBMIT:
        t->flags |= TK_F_TO_EVENTS;
        tk_end_work(t, TK_EXECUTION);
        return;
    default:
        set_aside(me, t);
    }
}

/* What a task leaves in its thread. */
static void leave(struct tk_exec *me)
{
    if (USF_LIKELY(me->window_size == 1 && !me->window_n)) return;
    tk_flush(me);
    me->window_size = 1;
}

static void run_ticket(struct tk_exec *me, struct nosv_task *ticket)
{
    struct nosv_task *t = ticket->parent;
    uint32_t before = me->execution;
    if (!atomic_load_explicit(&t->cancelled, memory_order_relaxed)) {
        me->task = t;
        me->execution = ticket->execution;
        me->parallel = true;
        if (USF_UNLIKELY(tk.places)) tk_begin_execution(me, t);
        t->type->run(t);
        if (tk_is_orphan(me)) return;
        if (USF_UNLIKELY(tk.places)) tk_end_execution();
        if (t->type->end) t->type->end(t);
        leave(me);
        me->parallel = false;
        me->execution = before;
    }
    tk_task_free(ticket);
    tk_end_work(t, TK_EXECUTION);
    me->task = 0;
}

void tk_run(struct tk_exec *me, struct nosv_task *t)
{
    if (USF_UNLIKELY(t->flags & TK_F_TICKET)) {
        run_ticket(me, t);
        return;
    }
    usf_dassert(t->state == TK_READY);
    t->state = TK_RUNNING;
    t->exec = me;
    me->task = t;
    if (USF_UNLIKELY(tk.places)) tk_begin_execution(me, t);
    t->type->run(t);
    if (tk_is_orphan(me)) return;
    if (USF_UNLIKELY(tk.places)) tk_end_execution();
    if (USF_UNLIKELY(me->suspends)) {
        me->suspends = false;
        leave(me);
        suspend(me, t);
        return;
    }
    if (t->type->end) t->type->end(t);
    leave(me);
    t->exec = 0;
    t->state = TK_ENDED;
    tk_end_work(t, TK_EXECUTION);
    me->task = 0;
}
