/* tests/nosv/headers.c - one header, alone and twice, and every name that it must have.  SPDX-License-Identifier: Apache-2.0
 *
 * Compiled once for each header (-DHEADER=<...>) and language standard, with all warnings as errors. */
#include HEADER
#include HEADER

/* Functions and types that programs use, by header; a missing one or another signature is an error. */
#if defined(NOSV_H)
#ifndef __NOSV__
#error "__NOSV__"
#endif
static int (*const f1)(nosv_task_type_t *, nosv_task_run_callback_t, nosv_task_end_callback_t, nosv_task_completed_callback_t, const char *, void *,
    nosv_cost_function_t, nosv_flags_t) = nosv_type_init;
static int (*const f2)(nosv_task_t *, nosv_affinity_t *, const char *, nosv_flags_t) = nosv_attach;
static int (*const f3)(nosv_task_t *, void **, size_t, uint64_t) = nosv_join_all;
static int (*const f4)(nosv_task_t *, nosv_task_type_t, size_t, nosv_flags_t) = nosv_create;
static int (*const f5)(nosv_suspend_mode_t, uint64_t) = nosv_set_suspend_mode;
static uint32_t (*const f6)(void) = nosv_get_execution_id;
static nosv_flags_t flags = __ZEROBITS | __BIT(3) | NOSV_SUBMIT_INLINE;
enum nosv_suspend_mode mode = NOSV_SUSPEND_MODE_EVENT_SUBMIT;
struct nosv_task *task;
struct nosv_task_type *type;
struct nosv_affinity *place;
#endif
#if defined(NOSV_ERROR_H)
static const char *(*const e1)(int) = nosv_get_error_string;
enum nosv_err err = NOSV_ERR_TIMEOUT;
nosv_err_t err_max = NOSV_ERR_MAX;
#endif
#if defined(NOSV_AFFINITY_H)
static void (*const a1)(nosv_task_t, nosv_affinity_t *) = nosv_set_task_affinity;
static nosv_affinity_t (*const a2)(nosv_task_t) = nosv_get_task_affinity;
static nosv_affinity_t (*const a3)(void) = nosv_get_default_affinity;
static nosv_affinity_t (*const a4)(uint32_t, nosv_affinity_level_t, nosv_affinity_type_t) = nosv_affinity_get;
enum nosv_affinity_type affinity_type = NOSV_AFFINITY_TYPE_STRICT;
enum nosv_affinity_level affinity_level = NOSV_AFFINITY_LEVEL_USER_COMPLEX;
#endif
#if defined(NOSV_HWINFO_H)
static int *(*const h1)(nosv_topo_level_t, int) = nosv_get_available_cpus_in_domain;
enum nosv_topo_level topo = NOSV_TOPO_LEVEL_COUNT;
#endif
#if defined(NOSV_MEMORY_H)
static int (*const m1)(float *) = nosv_memory_get_pressure;
#endif
#if defined(NOSV_COMPAT_H)
static nosv_mutex_t mutex = NOSV_MUTEX_INITIALIZER;
static nosv_cond_t cond = NOSV_COND_INITIALIZER;
static nosv_rwlock_t rwlock = NOSV_RWLOCK_INITIALIZER;
static nosv_barrier_t barrier;
static int (*const c1)(nosv_cond_t *, nosv_mutex_t *, const struct timespec *) = nosv_cond_timedwait;
static int (*const c2)(nosv_cond_t *, pthread_mutex_t *) = nosv_cond_wait_pthread;
static int (*const c3)(nosv_barrier_t *, const nosv_barrierattr_t *, unsigned) = nosv_barrier_init;
static int (*const c4)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = nosv_pthread_create;
union nosv_mutex_ext *p1 = &mutex;
union nosv_barrier_ext *p2 = &barrier;
union nosv_cond_ext *p3 = &cond;
union nosv_rwlock_ext *p4 = &rwlock;
typedef char sizes[sizeof(nosv_mutex_t) == 64 && sizeof(nosv_rwlockattr_t) == SIZEOF_NOSV_RWLOCKATTR ? 1 : -1];
#endif
#if defined(ALPI_INTERFACE_H)
static const char *(*const i1)(alpi_error_t) = alpi_error_string;
static int (*const i2)(void (*)(void *), void *, void (*)(void *), void *, const char *, const struct alpi_attr *) = alpi_task_spawn;
static int (*const i3)(struct alpi_task *, alpi_suspend_mode_t, uint64_t) = alpi_task_suspend_mode_set;
#endif
#if defined(ALPI_DEFS_H)
typedef char features[ALPI_SUPPORTED_FEATURES == 15 ? 1 : -1];
#endif

int main(void) { return 0; }
