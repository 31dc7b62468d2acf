/* src/tasks/event.c - a task's events: it completes when its body has ended and they are all over.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tasks/tasks.h"

TK_API int nosv_increase_event_counter(uint64_t increment)
{
    struct tk_exec *me;
    int r = tk_in_task(&me);
    if (r) return r;
    if (me->phase == TK_IN_COMPLETED) return NOSV_ERR_INVALID_OPERATION;
    struct nosv_task *t = me->task;
    if (!increment || increment > TK_EVENTS - (atomic_load(&t->life) & TK_EVENTS)) return NOSV_ERR_INVALID_PARAMETER;
    if (!(t->flags & TK_F_HAD_EVENTS)) t->flags |= TK_F_HAD_EVENTS;
    atomic_fetch_add(&t->life, increment);
    return NOSV_SUCCESS;
}

TK_API int nosv_decrease_event_counter(nosv_task_t t, uint64_t decrement)
{
    if (!tk_is_on()) return NOSV_ERR_NOT_INITIALIZED;
    if (!t || !decrement || (atomic_load(&t->life) & TK_EVENTS) < decrement) return NOSV_ERR_INVALID_PARAMETER;
    uint32_t visit = tk_me() ? 0 : tk_visit();
    if (!visit && !tk_me()) return NOSV_ERR_NOT_INITIALIZED;
    tk_end_work(t, decrement);
    if (visit) tk_end_visit(visit);
    return NOSV_SUCCESS;
}

TK_API int nosv_has_events(void)
{
    struct tk_exec *me;
    int r = tk_in_task(&me);
    if (r) return r;
    return me->phase != TK_IN_COMPLETED && (atomic_load(&me->task->life) & TK_EVENTS) != 0;
}

TK_API int nosv_task_had_events(nosv_task_t t)
{
    if (!tk_is_on()) return NOSV_ERR_NOT_INITIALIZED;
    if (!t) return NOSV_ERR_INVALID_PARAMETER;
    return (t->flags & TK_F_HAD_EVENTS) != 0;
}
