/* nosv.h - tasks on usf's scheduler.  SPDX-License-Identifier: Apache-2.0 */
#ifndef NOSV_H
#define NOSV_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "nosv/error.h"

#define __NOSV__

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#ifndef __ZEROBITS
#define __ZEROBITS UINT64_C(0)
#endif
#ifndef __BIT
#define __BIT(n) (UINT64_C(1) << (n))
#endif

#define NOSV_MAX_METADATA_SIZE 4096

#define NOSV_TYPE_INIT_NONE __ZEROBITS
#define NOSV_TYPE_INIT_EXTERNAL __BIT(0)
#define NOSV_TYPE_DESTROY_NONE __ZEROBITS
#define NOSV_CREATE_NONE __ZEROBITS
#define NOSV_CREATE_PARALLEL __BIT(0)
#define NOSV_CREATE_JOINABLE __BIT(1)
#define NOSV_DESTROY_NONE __ZEROBITS
#define NOSV_SUBMIT_NONE __ZEROBITS
#define NOSV_SUBMIT_UNLOCKED __BIT(0)
#define NOSV_SUBMIT_BLOCKING __BIT(1)
#define NOSV_SUBMIT_IMMEDIATE __BIT(2)
#define NOSV_SUBMIT_INLINE __BIT(3)
#define NOSV_SUBMIT_DEADLINE_WAKE __BIT(4)
#define NOSV_PAUSE_NONE __ZEROBITS
#define NOSV_CANCEL_NONE __ZEROBITS
#define NOSV_YIELD_NONE __ZEROBITS
#define NOSV_YIELD_NOFLUSH __BIT(0)
#define NOSV_SCHEDPOINT_NONE __ZEROBITS
#define NOSV_ATTACH_NONE __ZEROBITS
#define NOSV_ATTACH_INSTRUMENT __BIT(0)
#define NOSV_DETACH_NONE __ZEROBITS
#define NOSV_DETACH_NO_RESTORE_AFFINITY __BIT(0)
#define NOSV_DETACH_INSTRUMENT __BIT(1)

#define NOSV_MUTEX_NONE 0
#define NOSV_COND_NONE 0
#define NOSV_BARRIER_NONE 0

typedef uint64_t nosv_flags_t;
typedef struct nosv_task *nosv_task_t;
typedef struct nosv_task_type *nosv_task_type_t;
typedef struct nosv_affinity nosv_affinity_t;

typedef void (*nosv_task_run_callback_t)(nosv_task_t task);
typedef void (*nosv_task_end_callback_t)(nosv_task_t task);
typedef void (*nosv_task_completed_callback_t)(nosv_task_t task);
typedef uint64_t (*nosv_cost_function_t)(nosv_task_t task);

typedef enum nosv_suspend_mode {
    NOSV_SUSPEND_MODE_NONE = 0,
    NOSV_SUSPEND_MODE_SUBMIT = 1,
    NOSV_SUSPEND_MODE_TIMEOUT_SUBMIT = 2,
    NOSV_SUSPEND_MODE_EVENT_SUBMIT = 3
} nosv_suspend_mode_t;

int nosv_init(void);
int nosv_shutdown(void);
nosv_task_t nosv_self(void);

int nosv_type_init(nosv_task_type_t *type, nosv_task_run_callback_t run_callback,
    nosv_task_end_callback_t end_callback, nosv_task_completed_callback_t completed_callback,
    const char *label, void *metadata, nosv_cost_function_t cost_function, nosv_flags_t flags);
int nosv_type_destroy(nosv_task_type_t type, nosv_flags_t flags);
nosv_task_run_callback_t nosv_get_task_type_run_callback(nosv_task_type_t type);
nosv_task_end_callback_t nosv_get_task_type_end_callback(nosv_task_type_t type);
nosv_task_completed_callback_t nosv_get_task_type_completed_callback(nosv_task_type_t type);
const char *nosv_get_task_type_label(nosv_task_type_t type);
void *nosv_get_task_type_metadata(nosv_task_type_t type);

int nosv_create(nosv_task_t *task, nosv_task_type_t type, size_t metadata_size, nosv_flags_t flags);
int nosv_destroy(nosv_task_t task, nosv_flags_t flags);
void *nosv_get_task_metadata(nosv_task_t task);
nosv_task_type_t nosv_get_task_type(nosv_task_t task);
int nosv_get_task_priority(nosv_task_t task);
void nosv_set_task_priority(nosv_task_t task, int priority);
int32_t nosv_get_task_degree(nosv_task_t task);
void nosv_set_task_degree(nosv_task_t task, int32_t degree);
uint32_t nosv_get_execution_id(void);

int nosv_submit(nosv_task_t task, nosv_flags_t flags);
int nosv_set_submit_window_size(size_t submit_window_size);
int nosv_flush_submit_window(void);

int nosv_pause(nosv_flags_t flags);
int nosv_waitfor(uint64_t target_ns, uint64_t *actual_ns);
int nosv_yield(nosv_flags_t flags);
int nosv_schedpoint(nosv_flags_t flags);
int nosv_cancel(nosv_flags_t flags);

int nosv_increase_event_counter(uint64_t increment);
int nosv_decrease_event_counter(nosv_task_t task, uint64_t decrement);
int nosv_has_events(void);
int nosv_task_had_events(nosv_task_t task);

int nosv_set_suspend_mode(nosv_suspend_mode_t mode, uint64_t args);
int nosv_suspend(void);

int nosv_wait(nosv_task_t task, uint64_t timeout_ns);
int nosv_wait_all(nosv_task_t *tasks, size_t count, uint64_t timeout_ns);
int nosv_join(nosv_task_t task, void **result, uint64_t timeout_ns);
int nosv_join_all(nosv_task_t *tasks, void **results, size_t count, uint64_t timeout_ns);
int nosv_set_result(void *result);

int nosv_attach(nosv_task_t *task, nosv_affinity_t *affinity, const char *label, nosv_flags_t flags);
int nosv_detach(nosv_flags_t flags);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
