/* src/tcm/abi.h - the binary interface of a Thread Composability Manager.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Names, values and layouts are those that oneTBB and Intel OpenMP go by.  They load the library by
 * its name and look up its functions, so no program is compiled against this file; it is for the
 * library and its tests. */
#ifndef USF_TCM_ABI_H
#define USF_TCM_ABI_H

#include <stdint.h>

typedef enum {
    TCM_RESULT_SUCCESS = 0,
    TCM_RESULT_ERROR_INVALID_ARGUMENT = 0x78000004,
    TCM_RESULT_ERROR_UNKNOWN = 0x7ffffffe,
} tcm_result_t;

/* VOID: there is no such permit.  INACTIVE: no threads.  PENDING: waits for its minimum.  IDLE: its
 * threads have no work, and may be taken.  ACTIVE: its threads work. */
enum { TCM_PERMIT_STATE_VOID, TCM_PERMIT_STATE_INACTIVE, TCM_PERMIT_STATE_PENDING, TCM_PERMIT_STATE_IDLE, TCM_PERMIT_STATE_ACTIVE };
typedef uint8_t tcm_permit_state_t;

typedef struct {
    uint32_t stale : 1;                 /* this answer is outdated; a callback follows */
    uint32_t rigid_concurrency : 1;     /* the grant does not change while the permit is ACTIVE */
    uint32_t exclusive : 1;
    uint32_t request_as_inactive : 1;   /* make the permit, and ask for no threads yet */
    uint32_t reserved : 28;
} tcm_permit_flags_t;

typedef struct {
    uint32_t new_concurrency : 1;
    uint32_t new_state : 1;
    uint32_t reserved : 30;
} tcm_callback_flags_t;

typedef struct hwloc_bitmap_s *tcm_cpu_mask_t;
typedef uint64_t tcm_client_id_t;
typedef struct tcm_permit_rep_t *tcm_permit_handle_t;

typedef struct {
    uint32_t *concurrencies;            /* threads, one number for each constraint, or one */
    tcm_cpu_mask_t *cpu_masks;
    uint32_t size;                      /* of both arrays */
    tcm_permit_state_t state;
    tcm_permit_flags_t flags;
} tcm_permit_t;

#define TCM_AUTOMATIC (-1)
#define TCM_ANY (-2)

typedef struct {
    int32_t min_concurrency, max_concurrency;
    tcm_cpu_mask_t mask;                /* goes before the three that follow */
    int32_t numa_id, core_type_id;
    int32_t threads_per_core;
} tcm_cpu_constraints_t;

#define TCM_REQUEST_PRIORITY_LOW (INT32_MAX / 4)
#define TCM_REQUEST_PRIORITY_NORMAL (INT32_MAX / 4 * 2)
#define TCM_REQUEST_PRIORITY_HIGH (INT32_MAX / 4 * 3)

typedef struct {
    int32_t min_sw_threads, max_sw_threads;
    tcm_cpu_constraints_t *cpu_constraints;
    uint32_t constraints_size;
    int32_t priority;
    tcm_permit_flags_t flags;
    char reserved[4];
} tcm_permit_request_t;

typedef tcm_result_t (*tcm_callback_t)(tcm_permit_handle_t permit, void *arg, tcm_callback_flags_t reason);

_Static_assert(sizeof(tcm_permit_flags_t) == 4 && sizeof(tcm_callback_flags_t) == 4, "flags are words");
_Static_assert(sizeof(tcm_permit_t) == 32 && sizeof(tcm_cpu_constraints_t) == 32 && sizeof(tcm_permit_request_t) == 32, "layouts");

tcm_result_t tcmConnect(tcm_callback_t callback, tcm_client_id_t *client);
tcm_result_t tcmDisconnect(tcm_client_id_t client);
tcm_result_t tcmRequestPermit(tcm_client_id_t client, tcm_permit_request_t request, void *callback_arg, tcm_permit_handle_t *handle,
                              tcm_permit_t *permit);
tcm_result_t tcmGetPermitData(tcm_permit_handle_t handle, tcm_permit_t *permit);
tcm_result_t tcmReleasePermit(tcm_permit_handle_t handle);
tcm_result_t tcmIdlePermit(tcm_permit_handle_t handle);
tcm_result_t tcmDeactivatePermit(tcm_permit_handle_t handle);
tcm_result_t tcmActivatePermit(tcm_permit_handle_t handle);
tcm_result_t tcmRegisterThread(tcm_permit_handle_t handle);
tcm_result_t tcmUnregisterThread(void);
tcm_result_t tcmGetVersionInfo(char *buffer, uint32_t size);
unsigned tcmGetVersion(void);
const char *tcmRuntimeVersion(void);
unsigned tcmRuntimeInterfaceVersion(void);

#endif
