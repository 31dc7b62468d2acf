/* nosv/hwinfo.h - the CPUs that tasks run on.  SPDX-License-Identifier: Apache-2.0 */
#ifndef NOSV_HWINFO_H
#define NOSV_HWINFO_H

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef enum nosv_topo_level {
    NOSV_TOPO_LEVEL_NODE = 0,
    NOSV_TOPO_LEVEL_NUMA = 1,
    NOSV_TOPO_LEVEL_COMPLEX_SET = 2,
    NOSV_TOPO_LEVEL_CORE = 3,
    NOSV_TOPO_LEVEL_CPU = 4,
    NOSV_TOPO_LEVEL_COUNT = 5
} nosv_topo_level_t;

int nosv_get_num_domains(nosv_topo_level_t level);
int *nosv_get_available_domains(nosv_topo_level_t level);
int nosv_get_current_logical_domain(nosv_topo_level_t level);
int nosv_get_current_system_domain(nosv_topo_level_t level);
int nosv_get_num_cpus_in_domain(nosv_topo_level_t level, int system_id);
int *nosv_get_available_cpus_in_domain(nosv_topo_level_t level, int system_id);

int nosv_get_num_cpus(void);
int *nosv_get_available_cpus(void);
int nosv_get_current_logical_cpu(void);
int nosv_get_current_system_cpu(void);

int nosv_get_num_numa_nodes(void);
int *nosv_get_available_numa_nodes(void);
int nosv_get_current_logical_numa_node(void);
int nosv_get_current_system_numa_node(void);
int nosv_get_system_numa_id(int logical_id);
int nosv_get_logical_numa_id(int system_id);
int nosv_get_num_cpus_in_numa(int system_id);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
