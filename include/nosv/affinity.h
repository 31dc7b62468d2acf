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

/* ==== nosv_affinity_get - where a task runs ====
 *
 * An affinity names a place: a CPU, a NUMA node, or a set of cores that the configuration defines
 * (topology.complex_sets; without that key the CPUs that share a last-level cache). It is a plain
 * value of 4 bytes; all bytes zero is no affinity. A task of level NONE runs on any CPU of its
 * process. (nOS-V paper, section 3.4) */

/* What happens if the place has no free core. */
typedef enum nosv_affinity_type {
    NOSV_AFFINITY_TYPE_PREFERRED = 0, /* the task may run elsewhere rather than wait */
    NOSV_AFFINITY_TYPE_STRICT = 1     /* the task waits; it runs nowhere else */
} nosv_affinity_type_t;

/* What kind of place the index of an affinity names. */
typedef enum nosv_affinity_level {
    NOSV_AFFINITY_LEVEL_NONE = 0,        /* none; the index means nothing */
    NOSV_AFFINITY_LEVEL_CPU = 1,         /* the CPU with that number of the operating system */
    NOSV_AFFINITY_LEVEL_NUMA = 2,        /* the NUMA node with that number of the operating system */
    NOSV_AFFINITY_LEVEL_USER_COMPLEX = 3 /* the set of cores with that position in the configuration */
} nosv_affinity_level_t;

/* Bits 0 and 1 are the level, bit 2 the type, bits 3 to 31 the index. */
struct nosv_affinity {
    nosv_affinity_level_t level : 2;
    nosv_affinity_type_t type : 1;
    uint32_t index : 29;
};

/* Put an affinity together.
 *
 * Context: any thread, initialised or not. Signal-safe. */
static inline nosv_affinity_t nosv_affinity_get(uint32_t index, nosv_affinity_level_t level,
    nosv_affinity_type_t type)
{
    nosv_affinity_t affinity;
    affinity.level = level;
    affinity.type = type;
    affinity.index = index & 0x1fffffffu;
    return affinity;
}

/* The affinity of a task. That of NULL is level NONE.
 *
 * Context: any thread. Signal-safe. Not a scheduling point. */
nosv_affinity_t nosv_get_task_affinity(nosv_task_t task);

/* Set the affinity of a task; it is copied. It takes effect when the task next becomes ready: set
 * it before nosv_submit. An affinity that names a place without a CPU of the process is ignored,
 * and so is NULL: the task keeps the affinity that it has. Should the process lose all CPUs of a
 * place later, strict affinities to it are preferred ones from then on.
 *
 * Context: any thread. Not a scheduling point. */
void nosv_set_task_affinity(nosv_task_t task, nosv_affinity_t *affinity);

/* The affinity that new tasks of the process have: level NONE, or what the configuration says
 * (task_affinity.default and task_affinity.default_policy). Level NONE while the process is not
 * initialised.
 *
 * Context: any thread, initialised or not. Not a scheduling point. */
nosv_affinity_t nosv_get_default_affinity(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
