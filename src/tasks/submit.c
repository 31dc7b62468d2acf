/* src/tasks/submit.c - nosv_submit, and the window of submissions.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "tasks/tasks.h"

#define ONE_OF (NOSV_SUBMIT_BLOCKING | NOSV_SUBMIT_IMMEDIATE | NOSV_SUBMIT_INLINE | NOSV_SUBMIT_DEADLINE_WAKE)
#define ALL_OF (ONE_OF | NOSV_SUBMIT_UNLOCKED)

/* From rest; no other thread has it yet.  It completes when so many executions have ended, and its
 * events. */
static void begin_life(struct nosv_task *t, uint64_t executions)
{
    if (t == tk_completing) tk_completing = 0;
    if (t->flags & TK_F_JOINABLE) tk_joinable_begin(t);
    if (t->flags & TK_F_HAD_EVENTS) t->flags &= (uint8_t)~TK_F_HAD_EVENTS;      /* of the executions before */
    atomic_store_explicit(&t->life, TK_ACTIVE | executions * TK_EXECUTION, memory_order_relaxed);
}

/* ---- parallel tasks -------------------------------------------------------------------------- */

/* One ticket per execution, linked by next; null: no memory. */
static struct nosv_task *make_tickets(struct nosv_task *t)
{
    struct nosv_task *first = 0;
    for (int32_t i = t->degree - 1; i >= 0; i--) {
        struct nosv_task *k = tk_task_alloc(0);
        if (!k) {
            for (struct nosv_task *next; first; first = next) {
                next = first->next;
                tk_task_free(first);
            }
            return 0;
        }
        k->type = t->type;
        k->exec = 0;
        k->priority = t->priority;
        k->affinity = t->affinity;
        atomic_store_explicit(&k->flags, TK_F_TICKET, memory_order_relaxed);
        k->parent = t;
        k->execution = (uint32_t)i;
        k->next = first;
        first = k;
    }
    return first;
}

static void queue_tickets(struct tk_exec *me, struct nosv_task *first)
{
    for (struct nosv_task *next; first; first = next) {
        next = first->next;
        tk_queue(me, first);
    }
}

/* ---- ready ----------------------------------------------------------------------------------- */

/* False: it is being suspended, and the thread that suspends it queues it. */
static bool revive(struct nosv_task *t)
{
    if (t->state == TK_REST) {
        begin_life(t, 1);
    } else if (t->state == TK_SUSPENDED) {
        if (!(atomic_fetch_or(&t->life, TK_RESUMED) & TK_SET_ASIDE)) return false;
        atomic_fetch_and(&t->life, ~(TK_SET_ASIDE | TK_RESUMED));
    }
    return true;
}

void tk_make_ready(struct tk_exec *me, struct nosv_task *t)
{
    if (revive(t)) tk_queue(me, t);
}

void tk_flush(struct tk_exec *me)
{
    for (size_t i = 0; i < me->window_n; i++) tk_queue(me, me->window[i]);
    me->window_n = 0;
    if (me->window_size > 1) return;
    free(me->window);
    me->window = 0;
    me->window_room = 0;
}

void tk_end_window(struct tk_exec *me)
{
    if (USF_LIKELY(me->window_size == 1 && !me->window)) return;
    me->window_size = 1;
    tk_flush(me);
}

/* t is ready: it counts as submitted from now on.  False: no memory: it is queued at once, which is
 * never wrong. */
static bool hold_back(struct tk_exec *me, struct nosv_task *t)
{
    t->state = TK_READY;
    if (me->window_n == me->window_room) {
        size_t room = me->window_room ? 2 * me->window_room : 16;
        struct nosv_task **more = realloc(me->window, room * sizeof *more);
        if (!more) return false;
        me->window = more;
        me->window_room = room;
    }
    me->window[me->window_n++] = t;
    if (me->window_n >= me->window_size) tk_flush(me);
    return true;
}

/* ---- what is submitted how ------------------------------------------------------------------- */

static bool is_missing_none(struct nosv_task *t) { return atomic_fetch_sub(&t->blocking, 1) == 1; }

/* It is ready, and follows on this CPU. */
static void queue_next(struct tk_exec *me, struct nosv_task *t)
{
    struct tk_slot *s = me->slot;
    bool elsewhere = tk_is_strict(t->affinity) && !tk_slot_is_in(s, t->affinity);
    struct nosv_task *before = s->successor;
    if (elsewhere || !tk.successors) {
        tk_queue(me, t);
        return;
    }
    if (USF_UNLIKELY(tk.places)) tk_tell_ready(t);
    t->state = TK_READY;
    s->successor = t;
    if (before) tk_queue(me, before);
}

/* What of the thread belongs to the task that it executes. */
struct outer { struct nosv_task *task, **window; size_t size, n, room; uint32_t execution; bool parallel, suspends, inlined; uint8_t phase; };

static void begin_inner(struct tk_exec *me, struct outer *o)
{
    *o = (struct outer){me->task, me->window, me->window_size, me->window_n, me->window_room, me->execution, me->parallel, me->suspends, me->inlined,
                        me->phase};
    me->window = 0;
    me->window_size = 1;
    me->window_n = me->window_room = 0;
    me->execution = 0;
    me->parallel = me->suspends = false;
    me->inlined = true;
    me->phase = TK_IN_BODY;
}

static void end_inner(struct tk_exec *me, const struct outer *o)
{
    me->task = o->task;
    me->window = o->window;
    me->window_size = o->size;
    me->window_n = o->n;
    me->window_room = o->room;
    me->execution = o->execution;
    me->parallel = o->parallel;
    me->suspends = o->suspends;
    me->inlined = o->inlined;
    me->phase = o->phase;
}

static void submit_inline(struct tk_exec *me, struct nosv_task *t)
{
    struct outer o;
    revive(t);
    t->state = TK_READY;
    begin_inner(me, &o);
    tk_run(me, t);
    if (tk_is_orphan(me)) return;
    end_inner(me, &o);
    tk_go_home(me);     /* the other one may have waited, and gone on elsewhere */
}

/* Submits t with all its executions.  The first of them may follow at once. */
static int submit_parallel(struct tk_exec *me, struct nosv_task *t, nosv_flags_t how)
{
    if (how == NOSV_SUBMIT_INLINE || t->state != TK_REST) return NOSV_ERR_INVALID_OPERATION;
    struct nosv_task *tickets = make_tickets(t);
    if (!tickets) return NOSV_ERR_OUT_OF_MEMORY;
    t->state = TK_READY;
    atomic_store_explicit(&t->blocking, 0, memory_order_relaxed);
    begin_life(t, (uint64_t)t->degree);
    if (how == NOSV_SUBMIT_IMMEDIATE) {
        struct nosv_task *first = tickets;
        tickets = first->next;
        queue_next(me, first);
    }
    queue_tickets(me, tickets);
    return NOSV_SUCCESS;
}

/* Tasks that wait for the same one are linked: one may wait since its beginning, and another since
 * it has resumed it. */
static int submit_blocking(struct tk_exec *me, struct nosv_task *t)
{
    int r = NOSV_SUCCESS;
    if (t->flags & TK_F_PARALLEL && t->state != TK_REST) return NOSV_ERR_INVALID_OPERATION;
    tk_begin_sleep(me, TK_FOR_OTHERS);
    struct nosv_task *sleeper = me->task;
    sleeper->next = atomic_load(&t->waiter);
    while (!atomic_compare_exchange_weak(&t->waiter, &sleeper->next, sleeper)) continue;
    if (t->flags & TK_F_PARALLEL) r = submit_parallel(me, t, NOSV_SUBMIT_BLOCKING);
    else if (is_missing_none(t)) tk_make_ready(me, t);
    if (r == NOSV_SUCCESS) {
        tk_sleep(me, 0);
    } else {
        atomic_store(&t->waiter, 0);    /* it is at rest: no other thread waits for it */
        tk_cancel_sleep(me);
    }
    return r;
}

static int submit(struct tk_exec *me, struct nosv_task *t, nosv_flags_t flags)
{
    nosv_flags_t how = flags & ONE_OF;
    bool in_task = me && me->task;
    if (USF_UNLIKELY(!t || flags & ~ALL_OF)) return NOSV_ERR_INVALID_PARAMETER;
    if (USF_UNLIKELY(how & (how - 1))) return NOSV_ERR_INVALID_OPERATION;
    if (how == NOSV_SUBMIT_DEADLINE_WAKE) {
        tk_wake_early(t);
        return NOSV_SUCCESS;
    }
    if (how == NOSV_SUBMIT_IMMEDIATE) {
        if (!in_task) how = NOSV_SUBMIT_NONE;       /* there is nothing that it could follow */
    } else if (USF_UNLIKELY(how != 0)) {
        if (!in_task) return NOSV_ERR_OUTSIDE_TASK;
        if (tk_is_own(me, t) || me->parallel) return NOSV_ERR_INVALID_OPERATION;
        if (how == NOSV_SUBMIT_INLINE && t->state != TK_REST) return NOSV_ERR_INVALID_OPERATION;    /* it has a stack, or has had one */
        if (how == NOSV_SUBMIT_BLOCKING) {
            tk_flush(me);
            return submit_blocking(me, t);
        }
    }
    if (USF_UNLIKELY(t->flags & TK_F_PARALLEL)) return submit_parallel(me, t, how);
    if (!is_missing_none(t)) return NOSV_SUCCESS;       /* it pauses later, and goes on at once */
    switch (how) {
    case NOSV_SUBMIT_IMMEDIATE:
        if (revive(t)) queue_next(me, t);
        break;
    case NOSV_SUBMIT_INLINE: submit_inline(me, t); break;
    default:
        if (!revive(t)) break;
        if (USF_UNLIKELY(in_task && me->window_size > 1) && hold_back(me, t)) break;
        tk_queue(me, t);
        if (USF_UNLIKELY(in_task && me->window_n)) tk_flush(me);    /* the window has been made smaller */
    }
    return NOSV_SUCCESS;
}

TK_API int nosv_submit(nosv_task_t t, nosv_flags_t flags)
{
    struct tk_exec *me = tk_me();
    if (USF_UNLIKELY(!tk_is_on())) return NOSV_ERR_NOT_INITIALIZED;
    if (USF_LIKELY(me != 0)) return submit(me, t, flags);
    uint32_t visit = tk_visit();
    if (!visit) return NOSV_ERR_NOT_INITIALIZED;
    int r = submit(0, t, flags);
    tk_end_visit(visit);
    return r;
}

TK_API int nosv_set_submit_window_size(size_t size)
{
    struct tk_exec *me;
    int r = tk_in_task(&me);
    if (r) return r;
    if (!size) return NOSV_ERR_INVALID_PARAMETER;
    me->window_size = size;
    return NOSV_SUCCESS;
}

TK_API int nosv_flush_submit_window(void)
{
    struct tk_exec *me;
    int r = tk_in_task(&me);
    if (r) return r;
    tk_flush(me);
    return NOSV_SUCCESS;
}
