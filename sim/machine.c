/* sim/machine.c - machines: defaults, regular ones, checks.  SPDX-License-Identifier: Apache-2.0 */
#include "sim/machine.h"
#include "base/base.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Of a server of some years; `usf sim calibrate` measures those of the machine at hand. */
void sim_costs_default(struct sim_costs *c)
{
    *c = (struct sim_costs){
        .switch_ns = 800, .block_ns = 500, .wake_ns = 900, .wake_latency_ns = 500, .idle_wake_ns = 3000, .idle_after_ns = 2000, .yield_ns = 350, .float_ns = 100, .pin_ns = 400,
        .migrate_ns = 600, .signal_ns = 1500, .sched_ns = 80, .lock_ns = 60, .spin_ns = 100, .sync_ns = 40, .create_ns = 12000,
        .cold_same_ns = 2000, .cold_core_ns = 8000, .cold_llc_ns = 25000, .cold_node_ns = 60000,
    };
}

int sim_machine_regular(struct sim_machine *m, uint32_t packages, uint32_t nodes, uint32_t llcs, uint32_t cores, uint32_t smt)
{
    *m = (struct sim_machine){.nr_packages = packages, .busy_mw = 4000, .spin_mw = 3500, .idle_mw = 500};
    if (!packages || !nodes || !llcs || !cores || !smt || smt > SIM_SMT_MAX) return -EINVAL;
    uint64_t phys = (uint64_t)packages * nodes * llcs * cores;
    if (phys * smt > 1u << 20) return -EINVAL;
    m->nr_nodes = packages * nodes;
    m->nr_llcs = m->nr_nodes * llcs;
    m->nr_phys = (uint32_t)phys;
    m->nr_cpus = m->nr_phys * smt;
    m->cpu = calloc(m->nr_cpus, sizeof *m->cpu);
    if (!m->cpu) return -ENOMEM;
    for (uint32_t i = 0; i < m->nr_cpus; i++) {
        uint32_t p = i % m->nr_phys, llc = p / cores, node = llc / llcs;
        m->cpu[i] = (struct sim_cpu){.phys = p, .llc = llc, .node = node, .package = node / nodes};
    }
    usf_format(m->name, sizeof m->name, "package:%u numa:%u l3:%u core:%u pu:%u", packages, nodes, llcs, cores, smt);
    sim_costs_default(&m->cost);
    m->smt_speed[1] = 1000;
    for (uint32_t i = 2; i <= SIM_SMT_MAX; i++) m->smt_speed[i] = 1300 / i;     /* two get 650 each */
    return 0;
}

static bool bad(char *why, unsigned cap, const char *what, uint32_t which)
{
    usf_format(why, cap, "machine: %s (%u)", what, which);
    return false;
}

bool sim_machine_is_valid(const struct sim_machine *m, char *why, unsigned cap)
{
    if (!m->nr_cpus || !m->cpu) return bad(why, cap, "no CPUs", 0);
    if (m->smt_speed[1] != 1000) return bad(why, cap, "the speed of a core's only busy thread is not 1000", m->smt_speed[1]);
    uint8_t *seen = calloc(m->nr_phys + 1ul, 1);
    if (!seen) return bad(why, cap, "no memory", 0);
    uint32_t wrong = UINT32_MAX, crowded = UINT32_MAX;
    for (uint32_t i = 0; i < m->nr_cpus; i++) {
        const struct sim_cpu *c = &m->cpu[i];
        if (c->phys >= m->nr_phys || c->llc >= m->nr_llcs || c->node >= m->nr_nodes || c->package >= m->nr_packages) wrong = i;
        else if (++seen[c->phys] > SIM_SMT_MAX || !m->smt_speed[seen[c->phys]]) crowded = i;
    }
    free(seen);
    if (wrong != UINT32_MAX) return bad(why, cap, "this CPU's place is out of range", wrong);
    if (crowded != UINT32_MAX) return bad(why, cap, "this CPU's core has more hardware threads than speeds are given for", crowded);
    for (uint32_t i = 0; m->distance && i < m->nr_nodes * m->nr_nodes; i++)
        if (m->distance[i] < 10) return bad(why, cap, "a distance is less than 10", m->distance[i]);
    return true;
}

void sim_machine_free(struct sim_machine *m)
{
    free(m->cpu);
    free(m->distance);
    free(m->bandwidth);
    *m = (struct sim_machine){0};
}
