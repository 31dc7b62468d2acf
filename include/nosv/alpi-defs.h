/* nosv/alpi-defs.h - the features of ALPI that the library has.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ALPI_DEFS_H
#define ALPI_DEFS_H

/* Features, one bit each. ALPI without any of them has errors, versions, alpi_task_self and
 * alpi_task_spawn. Other copies of alpi.h may define them first, with the same values. */
#ifndef ALPI_FEATURE_BLOCKING
#define ALPI_FEATURE_BLOCKING 1  /* alpi_task_block, alpi_task_unblock, alpi_task_waitfor_ns */
#define ALPI_FEATURE_EVENTS 2    /* alpi_task_events_increase, _decrease, _test */
#define ALPI_FEATURE_RESOURCES 4 /* alpi_cpu_count, alpi_cpu_logical_id, alpi_cpu_system_id */
#define ALPI_FEATURE_SUSPEND 8   /* alpi_task_suspend_mode_set, alpi_task_suspend */
#endif

/* The library has all of them. */
#ifndef ALPI_SUPPORTED_FEATURES
#define ALPI_SUPPORTED_FEATURES \
    (ALPI_FEATURE_BLOCKING | ALPI_FEATURE_EVENTS | ALPI_FEATURE_RESOURCES | ALPI_FEATURE_SUSPEND)
#endif

#endif
