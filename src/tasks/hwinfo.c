/* src/tasks/hwinfo.c - what the process may use: CPUs, NUMA nodes and complexes.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "nosv/hwinfo.h"
#include "tasks/tasks.h"

/* A level's domains: their number, and which one a slot belongs to.  Cores are numbered by their
 * first CPU. */
static int domains(nosv_topo_level_t level)
{
    switch (level) {
    case NOSV_TOPO_LEVEL_NODE: return 1;
    case NOSV_TOPO_LEVEL_NUMA: return (int)tk.nr_nodes;
    case NOSV_TOPO_LEVEL_COMPLEX_SET: return (int)tk.nr_complexes;
    case NOSV_TOPO_LEVEL_CORE: return (int)tk.nr_cores;
    case NOSV_TOPO_LEVEL_CPU: return (int)tk.nr_slots;
    default: return NOSV_ERR_INVALID_PARAMETER;
    }
}

static int complex_of(const struct tk_slot *s)
{
    for (uint32_t i = 0; i < tk.nr_complexes; i++)
        if (tk_complex_has(&tk.complexes[i], s->cpu)) return (int)i;
    return NOSV_ERR_UNKNOWN;
}

static int logical_of(nosv_topo_level_t level, const struct tk_slot *s)
{
    switch (level) {
    case NOSV_TOPO_LEVEL_NODE: return 0;
    case NOSV_TOPO_LEVEL_NUMA: return (int)s->node;
    case NOSV_TOPO_LEVEL_COMPLEX_SET: return complex_of(s);
    case NOSV_TOPO_LEVEL_CORE: return (int)s->core;
    case NOSV_TOPO_LEVEL_CPU: return (int)s->id;
    default: return NOSV_ERR_INVALID_PARAMETER;
    }
}

static int system_of(nosv_topo_level_t level, int logical)
{
    if (level == NOSV_TOPO_LEVEL_NUMA) return (int)tk.nodes[logical].system;
    if (level == NOSV_TOPO_LEVEL_CPU) return (int)tk.slots[logical].cpu;
    return logical;
}

static int check(nosv_topo_level_t level)
{
    if (!tk_is_on()) return NOSV_ERR_NOT_INITIALIZED;
    return (unsigned)level < NOSV_TOPO_LEVEL_COUNT ? NOSV_SUCCESS : NOSV_ERR_INVALID_PARAMETER;
}

static int find(nosv_topo_level_t level, int system)
{
    for (int i = 0; i < domains(level); i++)
        if (system_of(level, i) == system) return i;
    return NOSV_ERR_INVALID_PARAMETER;
}

static int current(nosv_topo_level_t level)
{
    struct tk_exec *me = tk_me();
    int r = check(level);
    if (r) return r;
    return me && me->task && me->slot ? logical_of(level, me->slot) : NOSV_ERR_OUTSIDE_TASK;
}

/* Of a malloc'd array, which the caller frees. */
static int *list(nosv_topo_level_t level)
{
    int n = check(level) ? 0 : domains(level), *all = n > 0 ? malloc((size_t)n * sizeof *all) : 0;
    for (int i = 0; all && i < n; i++) all[i] = system_of(level, i);
    return all;
}

static int current_system(nosv_topo_level_t level)
{
    int r = current(level);
    return r < 0 ? r : system_of(level, logical_of(level, &tk.slots[tk.slot_of[tk_cpu(tk_me())]]));
}

TK_API int nosv_get_num_domains(nosv_topo_level_t level)
{
    int r = check(level);
    return r ? r : domains(level);
}
TK_API int *nosv_get_available_domains(nosv_topo_level_t level) { return list(level); }
TK_API int nosv_get_current_logical_domain(nosv_topo_level_t level) { return current(level); }
TK_API int nosv_get_current_system_domain(nosv_topo_level_t level) { return current_system(level); }

/* all null: only count. */
static int cpus_in(nosv_topo_level_t level, int system, int *all)
{
    int r = check(level), domain = r ? r : find(level, system), n = 0;
    if (domain < 0) return domain;
    for (uint32_t i = 0; i < tk.nr_slots; i++) {
        if (logical_of(level, &tk.slots[i]) != domain) continue;
        if (all) all[n] = (int)tk.slots[i].cpu;
        n++;
    }
    return n;
}

TK_API int nosv_get_num_cpus_in_domain(nosv_topo_level_t level, int system) { return cpus_in(level, system, 0); }

TK_API int *nosv_get_available_cpus_in_domain(nosv_topo_level_t level, int system)
{
    int n = cpus_in(level, system, 0), *all = n > 0 ? malloc((size_t)n * sizeof *all) : 0;
    if (all) cpus_in(level, system, all);
    return all;
}

TK_API int nosv_get_num_cpus(void) { return nosv_get_num_domains(NOSV_TOPO_LEVEL_CPU); }
TK_API int *nosv_get_available_cpus(void) { return list(NOSV_TOPO_LEVEL_CPU); }
TK_API int nosv_get_current_logical_cpu(void) { return current(NOSV_TOPO_LEVEL_CPU); }
TK_API int nosv_get_current_system_cpu(void) { return current_system(NOSV_TOPO_LEVEL_CPU); }
TK_API int nosv_get_num_numa_nodes(void) { return nosv_get_num_domains(NOSV_TOPO_LEVEL_NUMA); }
TK_API int *nosv_get_available_numa_nodes(void) { return list(NOSV_TOPO_LEVEL_NUMA); }
TK_API int nosv_get_current_logical_numa_node(void) { return current(NOSV_TOPO_LEVEL_NUMA); }
TK_API int nosv_get_current_system_numa_node(void) { return current_system(NOSV_TOPO_LEVEL_NUMA); }

TK_API int nosv_get_system_numa_id(int logical)
{
    int r = check(NOSV_TOPO_LEVEL_NUMA);
    if (r) return r;
    return logical >= 0 && logical < (int)tk.nr_nodes ? (int)tk.nodes[logical].system : NOSV_ERR_INVALID_PARAMETER;
}

TK_API int nosv_get_logical_numa_id(int system)
{
    int r = check(NOSV_TOPO_LEVEL_NUMA);
    return r ? r : find(NOSV_TOPO_LEVEL_NUMA, system);
}

TK_API int nosv_get_num_cpus_in_numa(int system) { return cpus_in(NOSV_TOPO_LEVEL_NUMA, system, 0); }
