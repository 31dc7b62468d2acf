/* sim/speed.c - how fast a CPU computes: hardware threads, memory bandwidth, distance, cold caches.  SPDX-License-Identifier: Apache-2.0
 *
 * Who works with a share m of its time in memory takes, for a piece that takes 1 alone and near its
 * memory,
 *     (1 - m) + m * distance / 10 * max(1, demand on the node / its bandwidth)
 * and all that by the core's speed for as many hardware threads as are busy. */
#include "sim/internal.h"

uint32_t sim_speed_of(struct sim *s, uint32_t cpu)
{
    const struct sim_thread *t = sim_thread(s, s->cpu[cpu].current);
    const struct sim_cpu *place = &s->m->cpu[cpu];
    uint32_t busy = s->cpu[cpu].smt ? s->phys_busy[place->phys] : 1;
    uint64_t speed = SIM_SPEED;
    if (busy > 1) speed = speed * s->m->smt_speed[busy < SIM_SMT_MAX ? busy : SIM_SMT_MAX] / 1000;
    if (t->mode == SIM_MODE_WORK && t->memory && t->home != SIM_NONE) {
        uint64_t far = (uint64_t)sim_distance(s->m, t->home, place->node) * 100;     /* per mille */
        uint64_t slow = 1000 - t->memory + t->memory * far / 1000 * s->node[t->home].factor / 1000;
        speed = speed * 1000 / (slow ? slow : 1);
    }
    return speed ? (uint32_t)speed : 1;
}

/* Some of a core's hardware threads begin or cease to be busy. */
static void siblings_change(struct sim *s, uint32_t cpu, int by)
{
    if (!s->cpu[cpu].smt) return;
    uint32_t p = s->m->cpu[cpu].phys;
    s->phys_busy[p] += (uint32_t)by;
    for (uint32_t i = s->phys_first[p]; i < s->phys_first[p + 1]; i++)
        if (s->phys_cpus[i] != cpu && s->cpu[s->phys_cpus[i]].current != SIM_NONE) sim_retime(s, s->phys_cpus[i]);
}

void sim_speed_start(struct sim *s, uint32_t cpu) { siblings_change(s, cpu, 1); }
void sim_speed_stop(struct sim *s, uint32_t cpu) { siblings_change(s, cpu, -1); }

static void demand_changed(struct sim *s, uint32_t node, uint32_t but)
{
    struct sim_node_state *n = &s->node[node];
    uint64_t has = s->m->bandwidth ? s->m->bandwidth[node] : 0;
    uint32_t factor = has && n->demand > has ? (uint32_t)(n->demand * 1000 / has) : 1000;
    if (factor == n->factor) return;
    n->factor = factor;
    for (uint32_t i = 0; i < n->nr; i++)
        if (n->cpu[i] != but) sim_retime(s, n->cpu[i]);
}

/* The CPU's thread begins or ends a piece of work with a demand for bandwidth. */
void sim_speed_demand(struct sim *s, uint32_t cpu, bool on)
{
    struct sim_cpu_state *c = &s->cpu[cpu];
    const struct sim_thread *t = sim_thread(s, c->current);
    if (on == (c->demand_at != 0) || (on && (!t->mbps || t->home == SIM_NONE || t->mode != SIM_MODE_WORK))) return;
    struct sim_node_state *n = &s->node[t->home];
    if (on) {
        n->cpu[n->nr++] = cpu;
        c->demand_at = n->nr;
        n->demand += t->mbps;
    } else {
        uint32_t last = n->cpu[--n->nr];
        n->cpu[c->demand_at - 1] = last;
        s->cpu[last].demand_at = c->demand_at;
        c->demand_at = 0;
        n->demand -= t->mbps;
    }
    demand_changed(s, t->home, cpu);
}

uint64_t sim_cold(struct sim *s, struct sim_thread *t, uint32_t cpu)
{
    const struct sim_costs *cost = &s->m->cost;
    uint64_t ns = 0;
    if (t->last_cpu == SIM_NONE) return 0;
    const struct sim_cpu *a = &s->m->cpu[t->last_cpu], *b = &s->m->cpu[cpu];
    if (t->last_cpu == cpu) ns = s->cpu[cpu].last == t->k.id ? 0 : cost->cold_same_ns;
    else if (a->phys == b->phys) ns = cost->cold_same_ns;
    else if (a->llc == b->llc) ns = cost->cold_core_ns;
    else if (a->node == b->node) ns = cost->cold_llc_ns;
    else ns = cost->cold_node_ns;
    return ns * t->inst->p->working_set / 100;
}
