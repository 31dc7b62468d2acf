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

int nosv_memory_get_used(size_t *used);
int nosv_memory_get_size(size_t *size);
int nosv_memory_get_pressure(float *pressure);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
