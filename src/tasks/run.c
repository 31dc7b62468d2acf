/* src/tasks/run.c - a task is executed, ends and completes.  SPDX-License-Identifier: Apache-2.0 */
#include "tasks/tasks.h"

/* True: the task is still at rest, and not destroyed, as far as this thread knows. */
static bool call_completed(struct nosv_task *t, nosv_task_completed_callback_t completed)
{
    struct tk_exec *me = tk_me();
    struct nosv_task *outer = tk_completing;
    bool own = me && me->task == t;
    tk_completing = t;
    if (own) me->phase = TK_IN_COMPLETED;
    completed(t);
    if (own) me->phase = TK_IN_BODY;
    bool at_rest = tk_completing == t && !(own && tk_is_orphan(me));
    tk_completing = outer;
    return at_rest;
}

/* The completed callback has returned.  Other threads may have destroyed the task meanwhile, or
 * have submitted it again, and the record may have a second life by now, or be another task's.
 * `life` has then another round, or no TK_COMPLETED, so that this thread leaves it alone. */
static void end_completion(struct nosv_task *t, uint64_t life, bool joinable)
{
    uint64_t is = life;
    if (!atomic_compare_exchange_strong(&t->life, &is, joinable ? TK_COMPLETED : 0)) {
        if (is == (life | TK_DESTROYED)) tk_task_end(t);
        return;
    }
    if (joinable) tk_joinable_done(t);
}

/* All its work has ended.  Until the completed callback has returned the task is active, so that
 * nosv_destroy by another thread leaves it to this one. */
static void complete(struct nosv_task *t)
{
    nosv_task_completed_callback_t completed = t->type->completed;
    struct nosv_task *waiter = atomic_load_explicit(&t->waiter, memory_order_relaxed);
    bool joinable = t->flags & TK_F_JOINABLE;
    uint64_t life = completed || joinable ? TK_ACTIVE | TK_COMPLETED | (++t->round & TK_MAX_DEGREE) * TK_EXECUTION : 0;
    if (waiter) atomic_store_explicit(&t->waiter, 0, memory_order_relaxed);
    t->state = TK_REST;
    if (t->flags & TK_F_PARALLEL) atomic_store_explicit(&t->cancelled, 0, memory_order_relaxed);
    atomic_store_explicit(&t->waiting, TK_AWAKE, memory_order_relaxed);
    atomic_store_explicit(&t->blocking, 1, memory_order_relaxed);
    bool destroyed = atomic_exchange(&t->life, life) & TK_DESTROYED;
    bool at_rest = !completed || call_completed(t, completed);
    if (at_rest && destroyed) tk_task_end(t);
    else if (at_rest && life) end_completion(t, life, joinable);
    for (struct nosv_task *next; waiter; waiter = next) {
        next = waiter->next;
        tk_wake(waiter, TK_FOR_OTHERS);
    }
}

/* It was suspended until its events are 0.  Its execution goes on. */
static void resume(struct nosv_task *t)
{
    uint64_t life = atomic_load(&t->life);
    t->flags &= (uint8_t)~TK_F_TO_EVENTS;
    while (!atomic_compare_exchange_strong(&t->life, &life, (life & TK_DESTROYED) | TK_ACTIVE | TK_EXECUTION)) continue;
    tk_queue(tk_me(), t);
}

void tk_end_work(struct nosv_task *t, uint64_t n)
{
    /* One piece of work left, and it is the caller's: no other thread can add one. */
    uint64_t left = atomic_load_explicit(&t->life, memory_order_acquire) & TK_COUNT;
    if (left != n) left = atomic_fetch_sub(&t->life, n) & TK_COUNT;
    if (left != n) return;
    if (USF_UNLIKELY(t->flags & TK_F_TO_EVENTS)) resume(t);
    else complete(t);
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
    if (before & TK_RESUMED) {
        atomic_fetch_and(&t->life, ~(TK_SET_ASIDE | TK_RESUMED));
        tk_queue(me, t);
    } else if (before & TK_DESTROYED) {
        tk_task_end(t);
    }
}

/* nosv_suspend: the body has returned and will be called again. */
static void suspend(struct tk_exec *me, struct nosv_task *t)
{
    struct tk_slot *s = me->slot;
    uint64_t now;
    t->exec = 0;
    t->state = TK_SUSPENDED;
    me->task = 0;
    switch (t->suspend_mode) {
    case NOSV_SUSPEND_MODE_SUBMIT:
        if (t->suspend_args) {
            nosv_affinity_t place = t->affinity;        /* once queued, the task may run and be gone */
            if (USF_UNLIKELY(tk.places)) tk_tell_ready(t);
            tk_queue_yielded(s, t);
            tk_wake_for(place, s->cpu);
        } else {
            tk_queue(me, t);
        }
        return;
    case NOSV_SUSPEND_MODE_TIMEOUT_SUBMIT:
        now = os_now();
        if (t->suspend_args > UINT64_MAX - now) set_aside(me, t);       /* such a time never comes */
        else if (!tk_queue_at(t, now + t->suspend_args)) tk_queue(me, t);
        return;
    case NOSV_SUSPEND_MODE_EVENT_SUBMIT:
        t->flags |= TK_F_TO_EVENTS;
        tk_end_work(t, TK_EXECUTION);
        return;
    default:
        set_aside(me, t);
    }
}

/* False: the end callback has forked, and this is the child. */
static bool call_end(struct tk_exec *me, struct nosv_task *t)
{
    if (!t->type->end) return true;
    me->phase = TK_IN_END;
    t->type->end(t);
    me->phase = TK_IN_BODY;
    return !tk_is_orphan(me);
}

/* The completed callback may have submitted tasks, too. */
static void end(struct tk_exec *me)
{
    if (tk_is_orphan(me)) return;
    tk_end_window(me);
    me->task = 0;
}

static void run_ticket(struct tk_exec *me, struct nosv_task *ticket)
{
    struct nosv_task *t = ticket->parent;
    uint32_t before = me->execution;
    me->task = t;       /* of a dropped execution, too: its completed callback is a task's */
    if (!atomic_load_explicit(&t->cancelled, memory_order_relaxed)) {
        me->execution = ticket->execution;
        me->parallel = true;
        if (USF_UNLIKELY(tk.places)) tk_begin_execution(me, t, ticket);
        t->type->run(t);
        if (tk_is_orphan(me)) return;
        if (USF_UNLIKELY(tk.places)) tk_end_execution();
        if (!call_end(me, t)) return;
        tk_end_window(me);
        me->parallel = false;
        me->execution = before;
    }
    tk_task_free(ticket);
    tk_end_work(t, TK_EXECUTION);
    end(me);
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
    if (USF_UNLIKELY(tk.places)) tk_begin_execution(me, t, t);
    t->type->run(t);
    if (tk_is_orphan(me)) return;
    if (USF_UNLIKELY(tk.places)) tk_end_execution();
    if (USF_UNLIKELY(me->suspends)) {
        me->suspends = false;
        tk_end_window(me);
        suspend(me, t);
        return;
    }
    if (!call_end(me, t)) return;
    tk_end_window(me);
    t->exec = 0;
    t->state = TK_ENDED;
    tk_end_work(t, TK_EXECUTION);
    end(me);
}
