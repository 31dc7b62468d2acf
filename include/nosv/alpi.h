/* nosv/alpi.h - ALPI 1.2, the asynchronous low-level programming interface.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ALPI_INTERFACE_H
#define ALPI_INTERFACE_H

#include <stddef.h>
#include <stdint.h>

#include "alpi-defs.h"

#define ALPI_VERSION_MAJOR 1
#define ALPI_VERSION_MINOR 2

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ==== alpi - the asynchronous low-level programming interface, 1.2 ====
 *
 * Libraries for communication and accelerators (TAMPI, TAGASPI, TACUDA, TASYCL) use tasks through
 * ALPI, whichever runtime provides it. They find its symbols at run time, with
 * dlsym(RTLD_DEFAULT, name): the library exports them. A struct alpi_task is a task of <nosv.h>:
 * each pointer to one is the nosv_task_t of that task.
 *
 * All functions but alpi_error_string return 0 or a positive error code. "Any thread" and "task"
 * mean what nosv(3) says. All functions are thread-safe. */

/* What went wrong. */
typedef enum alpi_error {
    ALPI_SUCCESS = 0,             /* nothing */
    ALPI_ERR_VERSION = 1,         /* the version asked for is not provided */
    ALPI_ERR_NOT_INITIALIZED = 2, /* no nosv_init of this process is in force */
    ALPI_ERR_PARAMETER = 3,       /* a null pointer, or a value out of range */
    ALPI_ERR_OUT_OF_MEMORY = 4,   /* memory or threads are exhausted */
    ALPI_ERR_OUTSIDE_TASK = 5,    /* the calling thread is in no task */
    ALPI_ERR_UNKNOWN = 6,         /* no other code fits: the task cannot do that */
    ALPI_ERR_FEATURE_UNKNOWN = 7, /* a feature that is unknown or not provided */
    ALPI_ERR_MAX = 8              /* one above the last code */
} alpi_error_t;

/* What alpi_info_get is asked. */
typedef enum alpi_info {
    ALPI_INFO_RUNTIME_NAME = 0,   /* the name of the runtime */
    ALPI_INFO_RUNTIME_VENDOR = 1, /* who provides it */
    ALPI_INFO_VERSION = 2         /* "ALPI 1.2", followed by the name of the runtime */
} alpi_info_t;

/* What makes a suspended task ready again: as enum nosv_suspend_mode, with the same arguments. */
typedef enum alpi_suspend_mode {
    ALPI_SUSPEND_NONE = 0,           /* alpi_task_unblock alone */
    ALPI_SUSPEND_SUBMIT = 1,         /* at once */
    ALPI_SUSPEND_TIMEOUT_SUBMIT = 2, /* time */
    ALPI_SUSPEND_EVENT_SUBMIT = 3    /* an event counter of 0 */
} alpi_suspend_mode_t;

struct alpi_task; /* a task */
struct alpi_attr; /* attributes of a new task; there are none in this version */

/* Text that describes an error code, in English, without a newline. Never NULL; codes that do not
 * exist have a text as well. Do not free or change it.
 *
 * Context: any thread, initialised or not. Signal-safe. */
const char *alpi_error_string(alpi_error_t err);

/* Copy a text about the runtime into buffer, which has max_length bytes. It is cut to fit, and ends
 * with a zero byte. *length, unless length is NULL, receives the number of characters stored,
 * without that byte.
 *
 * Returns 0, or
 *     ALPI_ERR_PARAMETER   query is no value of the enum, buffer is NULL, or max_length is 0
 *
 * Context: any thread, initialised or not. */
int alpi_info_get(alpi_info_t query, char *buffer, size_t max_length, int *length);

/* Ask whether all features of a mask (ALPI_FEATURE_* of <nosv/alpi-defs.h>) are provided.
 *
 * Returns 0, or
 *     ALPI_ERR_FEATURE_UNKNOWN   a bit of the mask is no feature of this library
 *
 * Context: any thread, initialised or not. Signal-safe. */
int alpi_feature_check(int feature_mask);

/* Ask whether a version of ALPI is provided: the major number must be equal, the minor one not
 * above that of the library.
 *
 * Returns 0, or
 *     ALPI_ERR_VERSION   it is not
 *
 * Context: any thread, initialised or not. Signal-safe. */
int alpi_version_check(int major, int minor);

/* The version of ALPI that the library provides: 1 and 2.
 *
 * Returns 0, or
 *     ALPI_ERR_PARAMETER   a pointer is NULL; nothing is written
 *
 * Context: any thread, initialised or not. Signal-safe. */
int alpi_version_get(int *major, int *minor);

/* The task that the calling thread executes. *task is NULL outside of tasks, which is no error.
 *
 * Returns 0, or
 *     ALPI_ERR_PARAMETER   task is NULL
 *
 * Context: any thread, initialised or not. Signal-safe. */
int alpi_task_self(struct alpi_task **task);

/* Block the calling task until alpi_task_unblock; as nosv_pause. An unblock that came before makes
 * it return at once.
 *
 * Returns 0, or
 *     ALPI_ERR_OUTSIDE_TASK      the calling thread is in no task
 *     ALPI_ERR_PARAMETER         task is not the calling task
 *     ALPI_ERR_UNKNOWN           the task is parallel
 *     ALPI_ERR_NOT_INITIALIZED   no nosv_init is in force
 *
 * Context: task. Scheduling point. */
int alpi_task_block(struct alpi_task *task);

/* Unblock a task, or let its next alpi_task_block return at once.
 *
 * Returns 0, or
 *     ALPI_ERR_PARAMETER         task is NULL
 *     ALPI_ERR_NOT_INITIALIZED   no nosv_init is in force
 *
 * Context: any thread. Not a scheduling point. */
int alpi_task_unblock(struct alpi_task *task);

/* Block the calling task for target_ns nanoseconds; as nosv_waitfor. *actual_ns, unless actual_ns
 * is NULL, receives how long it was blocked.
 *
 * Returns 0, or
 *     ALPI_ERR_OUTSIDE_TASK      the calling thread is in no task
 *     ALPI_ERR_UNKNOWN           the task is parallel
 *     ALPI_ERR_NOT_INITIALIZED   no nosv_init is in force
 *
 * Context: task. Scheduling point. */
int alpi_task_waitfor_ns(uint64_t target_ns, uint64_t *actual_ns);

/* Increase the event counter of the calling task; as nosv_increase_event_counter.
 *
 * Returns 0, or
 *     ALPI_ERR_OUTSIDE_TASK      the calling thread is in no task
 *     ALPI_ERR_PARAMETER         task is not the calling task, or increment is 0
 *     ALPI_ERR_NOT_INITIALIZED   no nosv_init is in force
 *
 * Context: task. Not a scheduling point. */
int alpi_task_events_increase(struct alpi_task *task, uint64_t increment);

/* Decrease the event counter of a task; as nosv_decrease_event_counter. If the task completes by
 * it, the calling thread calls its completed callback.
 *
 * Returns 0, or
 *     ALPI_ERR_PARAMETER         task is NULL; decrement is 0 or above the counter
 *     ALPI_ERR_NOT_INITIALIZED   no nosv_init is in force
 *
 * Context: any thread. Not a scheduling point. */
int alpi_task_events_decrease(struct alpi_task *task, uint64_t decrement);

/* Store in *has_events whether the calling task has pending events: 1 or 0.
 *
 * Returns 0, or
 *     ALPI_ERR_OUTSIDE_TASK      the calling thread is in no task
 *     ALPI_ERR_PARAMETER         task is not the calling task, or has_events is NULL
 *     ALPI_ERR_NOT_INITIALIZED   no nosv_init is in force
 *
 * Context: task. Not a scheduling point. */
int alpi_task_events_test(struct alpi_task *task, uint64_t *has_events);

/* Create a task and submit it. The task calls body(body_args). When that has returned and the event
 * counter of the task is 0, completed(completed_args) is called once. The task needs no further
 * care: it is destroyed after that.
 *     label   its name in traces and tools, copied; or NULL
 *     attr    NULL
 *
 * Returns 0, or
 *     ALPI_ERR_PARAMETER         body or completed is NULL
 *     ALPI_ERR_OUT_OF_MEMORY     memory or threads are exhausted
 *     ALPI_ERR_NOT_INITIALIZED   no nosv_init is in force
 *
 * Context: any thread. Not a scheduling point. */
int alpi_task_spawn(void (*body)(void *), void *body_args, void (*completed)(void *), void *completed_args,
    const char *label, const struct alpi_attr *attr);

/* Set what resumes the calling task when it suspends itself; as nosv_set_suspend_mode.
 *
 * Returns 0, or
 *     ALPI_ERR_OUTSIDE_TASK      the calling thread is in no task
 *     ALPI_ERR_PARAMETER         task is not the calling task; mode or args is out of range
 *     ALPI_ERR_UNKNOWN           the task is parallel, or that of an attached thread
 *     ALPI_ERR_NOT_INITIALIZED   no nosv_init is in force
 *
 * Context: task. Not a scheduling point. */
int alpi_task_suspend_mode_set(struct alpi_task *task, alpi_suspend_mode_t mode, uint64_t args);

/* Suspend the calling task: its body is called again from its start when it is resumed; as
 * nosv_suspend. The body must return after this call.
 *
 * Returns 0, or
 *     ALPI_ERR_OUTSIDE_TASK      the calling thread is in no task
 *     ALPI_ERR_PARAMETER         task is not the calling task
 *     ALPI_ERR_UNKNOWN           the task is parallel, inline, or that of an attached thread
 *     ALPI_ERR_NOT_INITIALIZED   no nosv_init is in force
 *
 * Context: body of a task. Not a scheduling point. */
int alpi_task_suspend(struct alpi_task *task);

/* Attributes of tasks. There are none: alpi_attr_create stores NULL in *attr, alpi_attr_init and
 * alpi_attr_destroy accept it, and the size is 0.
 *
 * Each returns 0, or
 *     ALPI_ERR_PARAMETER   alpi_attr_create: attr is NULL; alpi_attr_size: size is NULL
 *
 * Context: any thread, initialised or not. */
int alpi_attr_create(struct alpi_attr **attr);
int alpi_attr_destroy(struct alpi_attr *attr);
int alpi_attr_init(struct alpi_attr *attr);
int alpi_attr_size(uint64_t *size);

/* How many CPUs the tasks of the process may run on.
 *
 * Returns 0, or
 *     ALPI_ERR_PARAMETER         count is NULL
 *     ALPI_ERR_NOT_INITIALIZED   no nosv_init is in force
 *
 * Context: any thread. Not a scheduling point. */
int alpi_cpu_count(uint64_t *count);

/* The CPU on which the calling thread executes its task: logical id, 0 to the count - 1, and the
 * number that Linux gives it.
 *
 * Each returns 0, or
 *     ALPI_ERR_OUTSIDE_TASK      the calling thread is in no task
 *     ALPI_ERR_PARAMETER         the pointer is NULL
 *     ALPI_ERR_NOT_INITIALIZED   no nosv_init is in force
 *
 * Context: task. Not scheduling points. */
int alpi_cpu_logical_id(uint64_t *logical_id);
int alpi_cpu_system_id(uint64_t *system_id);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
