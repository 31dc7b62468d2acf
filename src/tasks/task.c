/* src/tasks/task.c - tasks come, have attributes, and go.  SPDX-License-Identifier: Apache-2.0 */
#include "tasks/tasks.h"

#define CREATE_FLAGS (NOSV_CREATE_PARALLEL | NOSV_CREATE_JOINABLE)
_Static_assert(NOSV_CREATE_PARALLEL == TK_F_PARALLEL && NOSV_CREATE_JOINABLE == TK_F_JOINABLE, "one numbering");

void tk_task_init(struct nosv_task *t, struct nosv_task_type *type, size_t metadata_size, uint8_t flags)
{
    /* Field by field: to clear the record first costs a tenth of a task's life.  seq, child and
     * sibling are set by heaps and lists; round goes on. */
    t->type = type;
    t->exec = 0;
    atomic_store_explicit(&t->life, 0, memory_order_relaxed);
    atomic_store_explicit(&t->blocking, 1, memory_order_relaxed);
    t->priority = 0;
    t->affinity = tk.default_affinity;
    t->state = TK_REST;
    atomic_store_explicit(&t->flags, flags, memory_order_relaxed);
    atomic_store_explicit(&t->waiter, 0, memory_order_relaxed);
    atomic_store_explicit(&t->waiting, TK_AWAKE, memory_order_relaxed);
    atomic_store_explicit(&t->cancelled, 0, memory_order_relaxed);
    atomic_store_explicit(&t->joiner, 0, memory_order_relaxed);
    t->result = 0;
    t->suspend_args = 0;
    t->degree = 1;
    t->metadata_size = (uint16_t)metadata_size;
    t->suspend_mode = 0;
}

void tk_task_end(struct nosv_task *t)
{
    if (USF_UNLIKELY(t->flags & TK_F_ATTACHED)) {
        tk_free_attached(t);
        return;
    }
    tk_type_count(t->type, -1);
    tk_task_free(t);
}

TK_API int nosv_create(nosv_task_t *out, nosv_task_type_t type, size_t metadata_size, nosv_flags_t flags)
{
    if (USF_UNLIKELY(!tk_is_on())) return NOSV_ERR_NOT_INITIALIZED;
    if (USF_UNLIKELY(!out || !type || flags & ~CREATE_FLAGS)) return NOSV_ERR_INVALID_PARAMETER;
    if (USF_UNLIKELY(metadata_size > NOSV_MAX_METADATA_SIZE)) return NOSV_ERR_INVALID_METADATA_SIZE;
    if (USF_UNLIKELY(type->external)) return NOSV_ERR_INVALID_OPERATION;
    struct nosv_task *t = tk_task_alloc(metadata_size);
    if (USF_UNLIKELY(!t)) return NOSV_ERR_OUT_OF_MEMORY;
    tk_task_init(t, type, metadata_size, (uint8_t)flags);
    tk_type_count(type, 1);
    *out = t;
    return NOSV_SUCCESS;
}

TK_API int nosv_destroy(nosv_task_t t, nosv_flags_t flags)
{
    if (USF_UNLIKELY(!tk_is_on())) return NOSV_ERR_NOT_INITIALIZED;
    if (USF_UNLIKELY(!t || flags)) return NOSV_ERR_INVALID_PARAMETER;
    if (USF_UNLIKELY(t->flags & (TK_F_JOINABLE | TK_F_ATTACHED))) {
        if (t->flags & TK_F_ATTACHED || tk_is_own(tk_me(), t) || tk_has_waiter(t)) return NOSV_ERR_INVALID_OPERATION;
    }
    if (t == tk_completing && !(t->flags & TK_F_JOINABLE)) {    /* by its own completed callback */
        tk_completing = 0;
        tk_task_end(t);
        return NOSV_SUCCESS;
    }
    /* The task may have announced its end before its callbacks have returned: the thread that
     * completes it frees it. */
    uint64_t life = atomic_load(&t->life);
    if (life & TK_ACTIVE) {
        life = atomic_fetch_or(&t->life, TK_DESTROYED);
        if ((life & (TK_ACTIVE | TK_SET_ASIDE)) == TK_ACTIVE) return NOSV_SUCCESS;
    }
    while (life & TK_COMPLETED && !tk_is_joined(t)) os_sched_yield();    /* for a few instructions of who completes it */
    tk_task_end(t);
    return NOSV_SUCCESS;
}

TK_API void *nosv_get_task_metadata(nosv_task_t t) { return t && t->metadata_size ? t->metadata : 0; }
TK_API nosv_task_type_t nosv_get_task_type(nosv_task_t t) { return t ? t->type : 0; }
TK_API int nosv_get_task_priority(nosv_task_t t) { return t ? t->priority : 0; }
TK_API void nosv_set_task_priority(nosv_task_t t, int priority) { if (t) t->priority = priority; }
TK_API int32_t nosv_get_task_degree(nosv_task_t t) { return t ? t->degree : 0; }
TK_API void nosv_set_task_degree(nosv_task_t t, int32_t degree) { if (t && degree > 0 && degree <= TK_MAX_DEGREE && t->flags & TK_F_PARALLEL) t->degree = degree; }
TK_API nosv_task_t nosv_self(void) { return tk_my_task(); }

TK_API uint32_t nosv_get_execution_id(void)
{
    struct tk_exec *me = tk_me();
    return me && me->task ? me->execution : (uint32_t)NOSV_ERR_OUTSIDE_TASK;
}

TK_API nosv_affinity_t nosv_get_default_affinity(void) { return tk_is_on() ? tk.default_affinity : (nosv_affinity_t){0}; }
TK_API nosv_affinity_t nosv_get_task_affinity(nosv_task_t t) { return t ? t->affinity : (nosv_affinity_t){0}; }
TK_API void nosv_set_task_affinity(nosv_task_t t, nosv_affinity_t *affinity)
{ if (t && affinity && tk_is_place(*affinity)) t->affinity = *affinity; }
