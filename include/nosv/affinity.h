/* nosv/affinity.h - where a task runs.  SPDX-License-Identifier: Apache-2.0 */
#ifndef NOSV_AFFINITY_H
#define NOSV_AFFINITY_H

#include <sched.h>
#include <stdint.h>

#include "../nosv.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef enum nosv_affinity_type {
    NOSV_AFFINITY_TYPE_PREFERRED = 0,
    NOSV_AFFINITY_TYPE_STRICT = 1
} nosv_affinity_type_t;

typedef enum nosv_affinity_level {
    NOSV_AFFINITY_LEVEL_NONE = 0,
    NOSV_AFFINITY_LEVEL_CPU = 1,
    NOSV_AFFINITY_LEVEL_NUMA = 2,
    NOSV_AFFINITY_LEVEL_USER_COMPLEX = 3
} nosv_affinity_level_t;

struct nosv_affinity {
    nosv_affinity_level_t level : 2;
    nosv_affinity_type_t type : 1;
    uint32_t index : 29;
};

static inline nosv_affinity_t nosv_affinity_get(uint32_t index, nosv_affinity_level_t level,
    nosv_affinity_type_t type)
{
    nosv_affinity_t affinity;
    affinity.level = level;
    affinity.type = type;
    affinity.index = index & 0x1fffffffu;
    return affinity;
}

nosv_affinity_t nosv_get_task_affinity(nosv_task_t task);
void nosv_set_task_affinity(nosv_task_t task, nosv_affinity_t *affinity);
nosv_affinity_t nosv_get_default_affinity(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
