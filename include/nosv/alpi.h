/* nosv/alpi.h - ALPI 1.2, the asynchronous low-level programming interface.  SPDX-License-Identifier: Apache-2.0 */
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

typedef enum alpi_error {
    ALPI_SUCCESS = 0,
    ALPI_ERR_VERSION = 1,
    ALPI_ERR_NOT_INITIALIZED = 2,
    ALPI_ERR_PARAMETER = 3,
    ALPI_ERR_OUT_OF_MEMORY = 4,
    ALPI_ERR_OUTSIDE_TASK = 5,
    ALPI_ERR_UNKNOWN = 6,
    ALPI_ERR_FEATURE_UNKNOWN = 7,
    ALPI_ERR_MAX = 8
} alpi_error_t;

typedef enum alpi_info {
    ALPI_INFO_RUNTIME_NAME = 0,
    ALPI_INFO_RUNTIME_VENDOR = 1,
    ALPI_INFO_VERSION = 2
} alpi_info_t;

typedef enum alpi_suspend_mode {
    ALPI_SUSPEND_NONE = 0,
    ALPI_SUSPEND_SUBMIT = 1,
    ALPI_SUSPEND_TIMEOUT_SUBMIT = 2,
    ALPI_SUSPEND_EVENT_SUBMIT = 3
} alpi_suspend_mode_t;

struct alpi_task;
struct alpi_attr;

const char *alpi_error_string(alpi_error_t err);
int alpi_info_get(alpi_info_t query, char *buffer, size_t max_length, int *length);
int alpi_feature_check(int feature_mask);
int alpi_version_check(int major, int minor);
int alpi_version_get(int *major, int *minor);

int alpi_task_self(struct alpi_task **task);
int alpi_task_block(struct alpi_task *task);
int alpi_task_unblock(struct alpi_task *task);
int alpi_task_waitfor_ns(uint64_t target_ns, uint64_t *actual_ns);
int alpi_task_events_increase(struct alpi_task *task, uint64_t increment);
int alpi_task_events_decrease(struct alpi_task *task, uint64_t decrement);
int alpi_task_events_test(struct alpi_task *task, uint64_t *has_events);
int alpi_task_spawn(void (*body)(void *), void *body_args, void (*completed)(void *), void *completed_args,
    const char *label, const struct alpi_attr *attr);
int alpi_task_suspend_mode_set(struct alpi_task *task, alpi_suspend_mode_t mode, uint64_t args);
int alpi_task_suspend(struct alpi_task *task);

int alpi_attr_create(struct alpi_attr **attr);
int alpi_attr_destroy(struct alpi_attr *attr);
int alpi_attr_init(struct alpi_attr *attr);
int alpi_attr_size(uint64_t *size);

int alpi_cpu_count(uint64_t *count);
int alpi_cpu_logical_id(uint64_t *logical_id);
int alpi_cpu_system_id(uint64_t *system_id);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
