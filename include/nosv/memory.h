/* nosv/memory.h - memory of the runtime.  SPDX-License-Identifier: Apache-2.0 */
#ifndef NOSV_MEMORY_H
#define NOSV_MEMORY_H

#include <stddef.h>
#include <sys/types.h>

#include "error.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ==== nosv_memory_get_used - memory of the runtime ====
 *
 * What tasks, types and their metadata take in this process. The memory grows as tasks are created,
 * and what destroyed tasks have had is used again.
 *     nosv_memory_get_used       bytes in use; an upper bound, as other threads create and destroy
 *     nosv_memory_get_size       bytes that there can be: what the machine has, or the limit of the
 *                                process (RLIMIT_AS). Records lie in the process's own memory, so
 *                                that the key shared_memory.size has no meaning
 *     nosv_memory_get_pressure   used / size: above 0 and below 1
 *
 * Each returns 0, or
 *     NOSV_ERR_INVALID_PARAMETER   the pointer is NULL
 *     NOSV_ERR_NOT_INITIALIZED     no nosv_init is in force; nothing is written
 *
 * Context: any thread. Not scheduling points. */

int nosv_memory_get_used(size_t *used);
int nosv_memory_get_size(size_t *size);
int nosv_memory_get_pressure(float *pressure);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
