/* src/tasks/pause.c - what a task does to its own execution: pause, wait, yield, suspend, cancel.
 * SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>

#include "tasks/tasks.h"

/* May the caller block?  NOSV_SUCCESS with the calling thread, or why not. */
static int may_block(struct tk_exec **me)
{
    int r = tk_in_task(me);
    if (USF_UNLIKELY(r)) return r;
    return USF_UNLIKELY((*me)->parallel) ? NOSV_ERR_INVALID_OPERATION : NOSV_SUCCESS;
}

TK_API int nosv_pause(nosv_flags_t flags)
{
    struct tk_exec *me;
    int r = may_block(&me);
    if (r) return r;
    if (flags) return NOSV_ERR_INVALID_PARAMETER;
    if (me->phase == TK_IN_COMPLETED) return NOSV_ERR_INVALID_OPERATION;    /* a submission would begin another execution */
    struct nosv_task *t = me->task;
    tk_flush_if_any(me);
    t->state = TK_PAUSED;
    USF_POINT("tasks.pausing");
    if (atomic_fetch_add(&t->blocking, 1) + 1 > 0) tk_block(me);
    else t->state = TK_RUNNING;     /* a submit has come before */
    return NOSV_SUCCESS;
}

/* Others go first, whatever waits.  False: there are none. */
static bool give_way(struct tk_exec *me)
{
    struct tk_slot *s = me->slot;
    struct nosv_task *next = tk_take(s);
    if (!next) return false;
    tk_stand_in(me);
    struct nosv_task *t = me->task;
    nosv_affinity_t place = t->affinity;        /* once queued, the task may run and be gone */
    me->slot = 0;
    if (USF_UNLIKELY(tk.places)) tk_tell_ready(t);
    tk_queue_yielded(s, t);
    tk_wake_for(place, s->cpu);         /* another slot may be idle, where `next` may not run */
    do {
        if (tk_hand_over(s, next)) {
            tk_park(me);
            break;
        }
        next = tk_take(s);
        if (next == t) me->slot = s;
    } while (next && next != t);
    if (!next) {        /* another slot has taken the task */
        tk_pass_on(s);
        tk_park(me);
    }
    tk_resumed(me);
    tk_step_back(me);
    return true;
}

void tk_go_home(struct tk_exec *me)
{
    struct tk_slot *s = me->slot;
    tk_stand_in(me);
    if (!tk_may_run(me->task, s)) {
        me->slot = 0;
        tk_queue(me, me->task);
        tk_pass_on(s);
        tk_park(me);
        tk_resumed(me);
    }
    tk_step_back(me);
}

TK_API int nosv_yield(nosv_flags_t flags)
{
    struct tk_exec *me;
    int r = may_block(&me);
    if (r) return r;
    if (flags & ~NOSV_YIELD_NOFLUSH) return NOSV_ERR_INVALID_PARAMETER;
    if (!(flags & NOSV_YIELD_NOFLUSH)) tk_flush_if_any(me);
    if (give_way(me)) return NOSV_SUCCESS;
    sched_yield();
    tk_go_home(me);
    return NOSV_SUCCESS;
}

/* Under `usf run` a thread whose time is over needs a core before it can say so (go_on_late): a
 * yield lets it have this one. */
#define LOOK_FOR_LATE_NS 50000u

static bool is_late_one(struct tk_exec *me, uint64_t now)
{
    if (USF_UNLIKELY(tk.places) && atomic_load_explicit(&tk.nr_timed, memory_order_relaxed) && now - me->looked >= LOOK_FOR_LATE_NS) {
        me->looked = now;
        sched_yield();
    }
    return tk_is_late_work(me->slot);
}

TK_API int nosv_schedpoint(nosv_flags_t flags)
{
    struct tk_exec *me;
    int r = may_block(&me);
    if (r) return r;
    if (flags) return NOSV_ERR_INVALID_PARAMETER;
    tk_flush_if_any(me);
    /* A task whose waitfor is over does not wait for the end of a quantum. */
    uint64_t now = os_now();
    if (is_late_one(me, now)) {
        give_way(me);
        return NOSV_SUCCESS;
    }
    if (now - me->since < tk.quantum_ns) return NOSV_SUCCESS;
    if (!give_way(me)) {
        me->since = now;
        sched_yield();
        tk_go_home(me);
    }
    return NOSV_SUCCESS;
}

TK_API int nosv_waitfor(uint64_t target_ns, uint64_t *actual_ns)
{
    struct tk_exec *me;
    int r = may_block(&me);
    if (r) return r;
    uint64_t start = os_now(), deadline = target_ns > UINT64_MAX - start ? UINT64_MAX : start + target_ns;
    tk_flush_if_any(me);
    if (tk_begin_sleep(me, TK_FOR_TIME)) tk_sleep(me, deadline);
    if (actual_ns) *actual_ns = os_now() - start;
    return NOSV_SUCCESS;
}

TK_API int nosv_cancel(nosv_flags_t flags)
{
    struct tk_exec *me;
    int r = tk_in_task(&me);
    if (r) return r;
    if (flags) return NOSV_ERR_INVALID_PARAMETER;
    if (!me->parallel) return NOSV_ERR_INVALID_OPERATION;
    return atomic_exchange(&me->task->cancelled, 1) ? NOSV_ERR_INVALID_OPERATION : NOSV_SUCCESS;
}

/* The body must be one that can be called again.  `until`: the last callback that may do it. */
static int may_suspend(struct tk_exec **me, enum tk_phase until)
{
    int r = may_block(me);
    if (r) return r;
    if ((*me)->inlined || (*me)->phase > until) return NOSV_ERR_INVALID_OPERATION;
    return (*me)->task->flags & TK_F_ATTACHED ? NOSV_ERR_INVALID_OPERATION : NOSV_SUCCESS;
}

TK_API int nosv_suspend(void)
{
    struct tk_exec *me;
    int r = may_suspend(&me, TK_IN_BODY);
    if (r) return r;
    me->suspends = true;
    return NOSV_SUCCESS;
}

TK_API int nosv_set_suspend_mode(nosv_suspend_mode_t mode, uint64_t args)
{
    struct tk_exec *me;
    int r = may_suspend(&me, TK_IN_END);
    if (r) return r;
    if ((unsigned)mode > NOSV_SUSPEND_MODE_EVENT_SUBMIT) return NOSV_ERR_INVALID_PARAMETER;
    if (mode == NOSV_SUSPEND_MODE_SUBMIT && args > 1) return NOSV_ERR_INVALID_PARAMETER;
    me->task->suspend_mode = (uint8_t)mode;
    me->task->suspend_args = args;
    return NOSV_SUCCESS;
}
