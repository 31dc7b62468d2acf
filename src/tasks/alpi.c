/* src/tasks/alpi.c - ALPI 1.2 over nosv.h.  SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nosv/alpi.h"
#include "tasks/tasks.h"

static int translated(int err)
{
    switch (err) {
    case NOSV_ERR_NOT_INITIALIZED: return ALPI_ERR_NOT_INITIALIZED;
    case NOSV_ERR_INVALID_PARAMETER: return ALPI_ERR_PARAMETER;
    case NOSV_ERR_OUT_OF_MEMORY: return ALPI_ERR_OUT_OF_MEMORY;
    case NOSV_ERR_OUTSIDE_TASK: return ALPI_ERR_OUTSIDE_TASK;
    default: return err < 0 ? ALPI_ERR_UNKNOWN : ALPI_SUCCESS;
    }
}

static nosv_task_t task_of(struct alpi_task *t) { return (nosv_task_t)(void *)t; }

/* The handle must be the caller's own task. */
static int own(struct alpi_task *t)
{
    if (!tk_is_on()) return ALPI_ERR_NOT_INITIALIZED;
    if (!tk_my_task()) return ALPI_ERR_OUTSIDE_TASK;
    return task_of(t) == tk_my_task() ? ALPI_SUCCESS : ALPI_ERR_PARAMETER;
}

TK_API const char *alpi_error_string(alpi_error_t err)
{
    static const char *const text[] = {
        [ALPI_SUCCESS] = "success",
        [ALPI_ERR_VERSION] = "this version of ALPI is not provided",
        [ALPI_ERR_NOT_INITIALIZED] = "the runtime is not initialized",
        [ALPI_ERR_PARAMETER] = "an argument is null or out of range",
        [ALPI_ERR_OUT_OF_MEMORY] = "out of memory",
        [ALPI_ERR_OUTSIDE_TASK] = "the calling thread executes no task",
        [ALPI_ERR_UNKNOWN] = "the task cannot do that",
        [ALPI_ERR_FEATURE_UNKNOWN] = "the feature is unknown or not provided",
    };
    return (unsigned)err < ALPI_ERR_MAX ? text[err] : "not an error code of ALPI";
}

TK_API int alpi_info_get(alpi_info_t query, char *buffer, size_t max_length, int *length)
{
    static const char *const text[] = {[ALPI_INFO_RUNTIME_NAME] = "usf", [ALPI_INFO_RUNTIME_VENDOR] = "the usf project",
                                       [ALPI_INFO_VERSION] = "ALPI 1.2 (usf)"};
    if ((unsigned)query >= sizeof text / sizeof *text || !buffer || !max_length) return ALPI_ERR_PARAMETER;
    snprintf(buffer, max_length, "%s", text[query]);
    if (length) *length = (int)strlen(buffer);
    return ALPI_SUCCESS;
}

TK_API int alpi_feature_check(int feature_mask)
{ return feature_mask & ~ALPI_SUPPORTED_FEATURES ? ALPI_ERR_FEATURE_UNKNOWN : ALPI_SUCCESS; }

TK_API int alpi_version_check(int major, int minor)
{ return major == ALPI_VERSION_MAJOR && minor <= ALPI_VERSION_MINOR ? ALPI_SUCCESS : ALPI_ERR_VERSION; }

TK_API int alpi_version_get(int *major, int *minor)
{
    if (!major || !minor) return ALPI_ERR_PARAMETER;
    *major = ALPI_VERSION_MAJOR;
    *minor = ALPI_VERSION_MINOR;
    return ALPI_SUCCESS;
}

TK_API int alpi_task_self(struct alpi_task **task)
{
    if (!task) return ALPI_ERR_PARAMETER;
    *task = (struct alpi_task *)(void *)tk_my_task();
    return ALPI_SUCCESS;
}

TK_API int alpi_task_block(struct alpi_task *task)
{
    int r = own(task);
    return r ? r : translated(nosv_pause(NOSV_PAUSE_NONE));
}

TK_API int alpi_task_unblock(struct alpi_task *task) { return translated(nosv_submit(task_of(task), NOSV_SUBMIT_UNLOCKED)); }

TK_API int alpi_task_waitfor_ns(uint64_t target_ns, uint64_t *actual_ns) { return translated(nosv_waitfor(target_ns, actual_ns)); }

TK_API int alpi_task_events_increase(struct alpi_task *task, uint64_t increment)
{
    int r = own(task);
    return r ? r : translated(nosv_increase_event_counter(increment));
}

TK_API int alpi_task_events_decrease(struct alpi_task *task, uint64_t decrement)
{ return translated(nosv_decrease_event_counter(task_of(task), decrement)); }

TK_API int alpi_task_events_test(struct alpi_task *task, uint64_t *has_events)
{
    int r = own(task);
    if (r) return r;
    if (!has_events) return ALPI_ERR_PARAMETER;
    *has_events = (uint64_t)nosv_has_events();
    return ALPI_SUCCESS;
}

/* ---- spawned tasks ------------------------------------------------------------------------------ */

struct spawned { void (*body)(void *), *body_args; void (*completed)(void *), *completed_args; };

static void run(nosv_task_t t)
{
    struct spawned *s = nosv_get_task_metadata(t);
    s->body(s->body_args);
}

static void completed(nosv_task_t t)
{
    struct spawned *s = nosv_get_task_metadata(t);
    nosv_task_type_t type = nosv_get_task_type(t);
    if (s->completed) s->completed(s->completed_args);
    nosv_destroy(t, NOSV_DESTROY_NONE);
    nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE);
}

TK_API int alpi_task_spawn(void (*body)(void *), void *body_args, void (*end)(void *), void *end_args, const char *label,
                           const struct alpi_attr *attr)
{
    nosv_task_type_t type;
    nosv_task_t t;
    (void)attr;
    if (!body || !end) return ALPI_ERR_PARAMETER;
    int r = nosv_type_init(&type, run, 0, completed, label, 0, 0, NOSV_TYPE_INIT_NONE);
    if (r) return translated(r);
    r = nosv_create(&t, type, sizeof(struct spawned), NOSV_CREATE_NONE);
    if (r == NOSV_SUCCESS) {
        *(struct spawned *)nosv_get_task_metadata(t) = (struct spawned){body, body_args, end, end_args};
        r = nosv_submit(t, NOSV_SUBMIT_NONE);
        if (r) nosv_destroy(t, NOSV_DESTROY_NONE);
    }
    if (r) nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE);
    return translated(r);
}

TK_API int alpi_task_suspend_mode_set(struct alpi_task *task, alpi_suspend_mode_t mode, uint64_t args)
{
    int r = own(task);
    return r ? r : translated(nosv_set_suspend_mode((nosv_suspend_mode_t)mode, args));
}

TK_API int alpi_task_suspend(struct alpi_task *task)
{
    int r = own(task);
    return r ? r : translated(nosv_suspend());
}

/* ---- attributes: there are none ----------------------------------------------------------------- */

TK_API int alpi_attr_create(struct alpi_attr **attr)
{
    if (!attr) return ALPI_ERR_PARAMETER;
    *attr = 0;
    return ALPI_SUCCESS;
}

TK_API int alpi_attr_destroy(struct alpi_attr *attr) { return attr ? ALPI_ERR_PARAMETER : ALPI_SUCCESS; }
TK_API int alpi_attr_init(struct alpi_attr *attr) { return attr ? ALPI_ERR_PARAMETER : ALPI_SUCCESS; }

TK_API int alpi_attr_size(uint64_t *size)
{
    if (!size) return ALPI_ERR_PARAMETER;
    *size = 0;
    return ALPI_SUCCESS;
}

/* ---- CPUs --------------------------------------------------------------------------------------- */

static int put(int value, uint64_t *out)
{
    if (value < 0) return translated(value);
    *out = (uint64_t)value;
    return ALPI_SUCCESS;
}

TK_API int alpi_cpu_count(uint64_t *count) { return count ? put(tk_is_on() ? (int)tk.nr_slots : NOSV_ERR_NOT_INITIALIZED, count) : ALPI_ERR_PARAMETER; }

static int current(bool logical, uint64_t *out)
{
    struct tk_exec *me = tk_me();
    if (!out) return ALPI_ERR_PARAMETER;
    if (!tk_is_on()) return ALPI_ERR_NOT_INITIALIZED;
    if (!me || !me->task || !me->slot) return ALPI_ERR_OUTSIDE_TASK;
    return put((int)(logical ? me->slot->id : tk_cpu(me)), out);
}

TK_API int alpi_cpu_logical_id(uint64_t *logical_id) { return current(true, logical_id); }
TK_API int alpi_cpu_system_id(uint64_t *system_id) { return current(false, system_id); }
