/* nosv/hwinfo.h - the CPUs that tasks run on.  SPDX-License-Identifier: Apache-2.0 */
#ifndef NOSV_HWINFO_H
#define NOSV_HWINFO_H

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ==== nosv_get_num_cpus - the CPUs that tasks run on ====
 *
 * The machine is described as the process may use it: only CPUs on which its tasks may run count,
 * and only the domains that contain one. A domain has a logical id, 0 to count - 1, and a system
 * id. The system id of a CPU and of a NUMA node is the number that Linux gives it. The system id of
 * a complex set is its position in the configuration, or the logical id where nothing is
 * configured. Programs should treat the system ids of the other levels as opaque. The answers are
 * those of the first nosv_init and do not change while the process is initialised.
 *
 * Functions that return int return a negative error code:
 *     NOSV_ERR_NOT_INITIALIZED     no nosv_init is in force
 *     NOSV_ERR_INVALID_PARAMETER   the level is no value of the enum, or is NOSV_TOPO_LEVEL_COUNT; no
 *                                  domain has that id
 *     NOSV_ERR_OUTSIDE_TASK        nosv_get_current_* only: the calling thread is in no task
 * Functions that return a pointer return NULL instead, also when memory is exhausted.
 *
 * None of these functions is a scheduling point. Those that return int are signal-safe. */

/* Levels of the machine. Each domain of a level lies within one domain of the level before it. */
typedef enum nosv_topo_level {
    NOSV_TOPO_LEVEL_NODE = 0,        /* the machine: one domain */
    NOSV_TOPO_LEVEL_NUMA = 1,        /* NUMA nodes */
    NOSV_TOPO_LEVEL_COMPLEX_SET = 2, /* topology.complex_sets, else CPUs with one last-level cache */
    NOSV_TOPO_LEVEL_CORE = 3,        /* physical cores */
    NOSV_TOPO_LEVEL_CPU = 4,         /* CPUs, which are hardware threads */
    NOSV_TOPO_LEVEL_COUNT = 5        /* number of levels */
} nosv_topo_level_t;

/* How many domains a level has, 1 or more.
 *
 * Context: any thread. */
int nosv_get_num_domains(nosv_topo_level_t level);

/* The system ids of the domains of a level, in the order of their logical ids. The array has
 * nosv_get_num_domains(level) entries; free it with free().
 *
 * Context: any thread. */
int *nosv_get_available_domains(nosv_topo_level_t level);

/* The domain of a level in which the calling thread executes its task: logical and system id. The
 * next scheduling point may change it, unless the task has a strict affinity.
 *
 * Context: task. */
int nosv_get_current_logical_domain(nosv_topo_level_t level);
int nosv_get_current_system_domain(nosv_topo_level_t level);

/* How many CPUs a domain has, 1 or more; 0 for a set of topology.complex_sets without a CPU of the
 * process. CPUs that are in no set of it are one more set, the last.
 *
 * Context: any thread. */
int nosv_get_num_cpus_in_domain(nosv_topo_level_t level, int system_id);

/* The system ids of the CPUs of a domain, in the order of their logical ids. The array has
 * nosv_get_num_cpus_in_domain(level, system_id) entries; free it with free().
 *
 * Context: any thread. */
int *nosv_get_available_cpus_in_domain(nosv_topo_level_t level, int system_id);

/* How many CPUs the tasks of the process may run on, 1 or more: without other configuration, the
 * CPUs of its affinity mask.
 *
 * Context: any thread. */
int nosv_get_num_cpus(void);

/* The system ids of these CPUs, in the order of their logical ids. The array has
 * nosv_get_num_cpus() entries; free it with free().
 *
 * Context: any thread. */
int *nosv_get_available_cpus(void);

/* The CPU on which the calling thread executes its task: logical id, 0 to nosv_get_num_cpus() - 1,
 * and system id. The next scheduling point may change it, unless the task has a strict affinity.
 *
 * No two threads have the same logical id at a time. Under `usf run` the instance places threads,
 * so that the system id, which is that of the CPU in use, may be another one than that of the
 * logical id, unless the task has a strict affinity.
 *
 * Context: task. */
int nosv_get_current_logical_cpu(void);
int nosv_get_current_system_cpu(void);

/* How many NUMA nodes have a CPU of the process, 1 or more. A machine without NUMA has node 0.
 *
 * Context: any thread. */
int nosv_get_num_numa_nodes(void);

/* The system ids of these nodes, in the order of their logical ids. The array has
 * nosv_get_num_numa_nodes() entries; free it with free().
 *
 * Context: any thread. */
int *nosv_get_available_numa_nodes(void);

/* The NUMA node of the CPU on which the calling thread executes its task: logical and system id.
 *
 * Context: task. */
int nosv_get_current_logical_numa_node(void);
int nosv_get_current_system_numa_node(void);

/* The other id of a NUMA node.
 *
 * Context: any thread. */
int nosv_get_system_numa_id(int logical_id);
int nosv_get_logical_numa_id(int system_id);

/* How many CPUs of the process a NUMA node has, 1 or more.
 *
 * Context: any thread. */
int nosv_get_num_cpus_in_numa(int system_id);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
