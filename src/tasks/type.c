/* src/tasks/type.c - what tasks have in common.  SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "tasks/tasks.h"

/* Types that are destroyed move from `all` to `dying`, where they stay until their tasks have gone.
 * Lasting types are not in `all`. */
static struct { struct tk_lock lock; struct nosv_task_type *all, *dying; size_t nr_dying, sweep_at; } types;

/* holds the lock */
static void link_type(struct nosv_task_type **list, struct nosv_task_type *type)
{
    type->prev = 0;
    type->next = *list;
    if (*list) (*list)->prev = type;
    *list = type;
}

/* holds the lock; the type is in the list. */
static void unlink_type(struct nosv_task_type **list, struct nosv_task_type *type)
{
    if (type->prev) type->prev->next = type->next;
    else *list = type->next;
    if (type->next) type->next->prev = type->prev;
}

struct nosv_task_type *tk_type_new(const char *label, bool external, bool lasts)
{
    static _Atomic uint32_t ids;
    uint32_t counts = external ? 0 : tk.nr_slots + 1;
    size_t size = (sizeof(struct nosv_task_type) + counts * sizeof(struct tk_count) + TK_LINE - 1) / TK_LINE * TK_LINE;
    struct nosv_task_type *type = aligned_alloc(TK_LINE, size);
    if (!type) return 0;
    memset(type, 0, size);
    type->label = label ? strdup(label) : 0;
    if (label && !type->label) {
        free(type);
        return 0;
    }
    type->id = atomic_fetch_add(&ids, 1) + 1;
    type->external = external;
    type->nr_counts = counts;
    type->lasts = lasts;
    if (lasts) return type;
    tk_lock(&types.lock);
    link_type(&types.all, type);
    tk_unlock(&types.lock);
    return type;
}

TK_API int nosv_type_init(nosv_task_type_t *out, nosv_task_run_callback_t run, nosv_task_end_callback_t end,
                          nosv_task_completed_callback_t completed, const char *label, void *metadata, nosv_cost_function_t cost,
                          nosv_flags_t flags)
{
    bool external = flags & NOSV_TYPE_INIT_EXTERNAL;
    if (!tk_is_on()) return NOSV_ERR_NOT_INITIALIZED;
    if (!out || flags & ~(NOSV_TYPE_INIT_EXTERNAL | NOSV_TYPE_INIT_LASTING)) return NOSV_ERR_INVALID_PARAMETER;
    if (external ? run || end || completed : !run) return NOSV_ERR_INVALID_CALLBACK;
    struct nosv_task_type *type = tk_type_new(label, external, flags & NOSV_TYPE_INIT_LASTING);
    if (!type) return NOSV_ERR_OUT_OF_MEMORY;
    type->run = run;
    type->end = end;
    type->completed = completed;
    type->cost = cost;
    type->metadata = metadata;
    *out = type;
    return NOSV_SUCCESS;
}

/* ---- destruction -------------------------------------------------------------------------------- */
/* A type that is destroyed lives on in its tasks: it is freed when the sum of its counts is 0.  No
 * task of it is created any more, so what another thread reads is that sum or more, never less.
 * The thread that ends a task of a dying type looks at the sum.  A thread that does not see yet
 * that the type is dying does not look, so that the type may stay: a sweep of all finds those.  It
 * comes when there are twice as many as the last one has left, so that each destruction pays for a
 * few looks. */

static void free_type(struct nosv_task_type *type)
{
    free(type->label);
    free(type);
}

void tk_type_free(struct nosv_task_type *type)
{
    tk_lock(&types.lock);
    if (!type->lasts) unlink_type(&types.all, type);
    tk_unlock(&types.lock);
    free_type(type);
}

static bool has_tasks(struct nosv_task_type *type)
{
    int64_t n = 0;
    for (uint32_t i = 0; i < type->nr_counts; i++) n += atomic_load(&type->count[i].n);
    return n != 0;
}

/* holds the lock; the type is dying. */
static void end_if_unused(struct nosv_task_type *type)
{
    if (has_tasks(type)) return;
    unlink_type(&types.dying, type);
    types.nr_dying--;
    free_type(type);
}

/* holds the lock */
static void sweep(void)
{
    for (struct nosv_task_type *type = types.dying, *next; type; type = next) {
        next = type->next;
        end_if_unused(type);
    }
    types.sweep_at = 2 * types.nr_dying + 16;
}

static void free_list(struct nosv_task_type *type)
{
    for (struct nosv_task_type *next; type; type = next) {
        next = type->next;
        free_type(type);
    }
}

void tk_types_drop(void)
{
    tk_lock(&types.lock);
    free_list(types.dying);
    free_list(types.all);
    types.all = types.dying = 0;
    types.nr_dying = types.sweep_at = 0;
    tk_unlock(&types.lock);
}

void tk_forget_types(void)
{
    types.all = types.dying = 0;
    types.nr_dying = types.sweep_at = 0;
    types.lock = (struct tk_lock){0};
}

static void count(struct nosv_task_type *type, int64_t n)
{
    struct tk_exec *me = tk_me();
    if (me && me->slot && me->slot->id + 1 < type->nr_counts) {
        _Atomic int64_t *own = &type->count[me->slot->id + 1].n;
        atomic_store_explicit(own, atomic_load_explicit(own, memory_order_relaxed) + n, memory_order_release);
    } else {
        atomic_fetch_add(&type->count[0].n, n);
    }
}

void tk_type_count(struct nosv_task_type *type, int64_t n)
{
    if (USF_LIKELY(n > 0 || !atomic_load(&type->dying))) {
        count(type, n);
        return;
    }
    /* Under the lock, so that no other thread frees it before this look. */
    tk_lock(&types.lock);
    count(type, n);
    end_if_unused(type);
    tk_unlock(&types.lock);
}

TK_API int nosv_type_destroy(nosv_task_type_t type, nosv_flags_t flags)
{
    if (!tk_is_on()) return NOSV_ERR_NOT_INITIALIZED;
    if (!type || flags) return NOSV_ERR_INVALID_PARAMETER;
    if (!has_tasks(type)) {
        tk_type_free(type);
        return NOSV_SUCCESS;
    }
    tk_lock(&types.lock);
    if (!type->lasts) unlink_type(&types.all, type);
    link_type(&types.dying, type);
    atomic_store(&type->dying, true);
    if (++types.nr_dying > types.sweep_at) sweep();
    else end_if_unused(type);
    tk_unlock(&types.lock);
    return NOSV_SUCCESS;
}

/* ---- what it has -------------------------------------------------------------------------------- */

TK_API nosv_task_run_callback_t nosv_get_task_type_run_callback(nosv_task_type_t type) { return type ? type->run : 0; }
TK_API nosv_task_end_callback_t nosv_get_task_type_end_callback(nosv_task_type_t type) { return type ? type->end : 0; }
TK_API nosv_task_completed_callback_t nosv_get_task_type_completed_callback(nosv_task_type_t type) { return type ? type->completed : 0; }
TK_API const char *nosv_get_task_type_label(nosv_task_type_t type) { return type ? type->label : 0; }
TK_API void *nosv_get_task_type_metadata(nosv_task_type_t type) { return type ? type->metadata : 0; }
