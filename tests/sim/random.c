/* tests/sim/random.c - random machines and workloads that cannot deadlock.  SPDX-License-Identifier: Apache-2.0
 *
 * Locks are taken one at a time, barriers are met by whole teams at the same place, semaphores are given back: whatever the order, all
 * threads can end. */
#include "random.h"
#include <stdlib.h>
#include <string.h>

static uint64_t state;
static uint64_t next(void)
{
    uint64_t x = state += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}
static uint32_t below(uint32_t n) { return (uint32_t)(next() % n); }

static void finish_machine(bool exact, struct sim_machine *m)
{
    if (exact) {
        m->cost.cold_same_ns = m->cost.cold_core_ns = m->cost.cold_llc_ns = m->cost.cold_node_ns = 0;
        m->distance = malloc(m->nr_nodes * m->nr_nodes * sizeof *m->distance);
        for (uint32_t i = 0; i < m->nr_nodes * m->nr_nodes; i++) m->distance[i] = 10;
        return;
    }
    if (below(2)) return;
    m->bandwidth = malloc(m->nr_nodes * sizeof *m->bandwidth);
    for (uint32_t i = 0; i < m->nr_nodes; i++) m->bandwidth[i] = 1000 + below(20000);
}

void random_machine(uint64_t seed, bool exact, struct sim_machine *m)
{
    state = seed * 77 + 5;
    sim_machine_regular(m, 1 + below(2), 1 + below(2), 1 + below(2), 1 + below(4), exact ? 1 : 1 + below(2));
    finish_machine(exact, m);
}

void random_machine_of(uint64_t seed, bool exact, uint32_t cpus, struct sim_machine *m)
{
    state = seed * 77 + 5;
    uint32_t llcs = cpus % 64 ? 5 : 4, smt = exact ? 1 : 2;
    sim_machine_regular(m, 1, 2, llcs, cpus / (2 * llcs * smt), smt);
    finish_machine(exact, m);
}

struct code { struct sim_op op[64]; uint32_t nr; };

static void add(struct code *c, struct sim_op op) { if (c->nr < 60) c->op[c->nr++] = op; }
static bool blocks;
static uint8_t wait_kind(void) { return (uint8_t)(below(5) * !blocks); }

static struct sim_op work(uint32_t most)
{
    return (struct sim_op){.kind = SIM_OP_COMPUTE, .ns = 1 + below(most), .spread = below(3) ? (uint16_t)below(1001) : 0xffff,
                           .memory = (uint16_t)below(1001), .mbps = below(3) ? below(8000) : 0};
}

/* A few operations that any thread may execute at any time. */
static void add_some(struct code *c, const struct sim_program *p, uint32_t n)
{
    for (; n; n--) {
        uint32_t o;
        uint8_t how = wait_kind();
        switch (below(7)) {
        case 0:
        case 1: add(c, work(200000)); break;
        case 2:
            o = below(p->nr_locks);
            add(c, (struct sim_op){.kind = SIM_OP_LOCK, .wait = how, .object = o});
            add(c, work(5000));
            if (!below(4)) add(c, (struct sim_op){.kind = SIM_OP_SLEEP, .ns = below(20000), .flags = SIM_OP_CERTAIN});
            add(c, (struct sim_op){.kind = SIM_OP_UNLOCK, .object = o});
            break;
        case 3:
            add(c, (struct sim_op){.kind = SIM_OP_SLEEP, .ns = below(300000), .spread = 500, .flags = below(2) ? SIM_OP_CERTAIN : 0});
            break;
        case 4: if (!blocks) add(c, (struct sim_op){.kind = SIM_OP_YIELD}); break;
        case 5:
            add(c, (struct sim_op){.kind = SIM_OP_RECV, .object = 0, .count = 1, .wait = how});
            add(c, work(20000));
            add(c, (struct sim_op){.kind = SIM_OP_SEND, .object = 0, .count = 1, .wait = how});
            break;
        default: add(c, (struct sim_op){.kind = SIM_OP_PROGRESS}); break;
        }
    }
}

static void finish(struct sim_program *p, uint32_t i, struct code *c)
{
    add(c, (struct sim_op){.kind = SIM_OP_END});
    p->code[i].nr = c->nr;
    p->code[i].op = malloc(c->nr * sizeof *c->op);
    memcpy(p->code[i].op, c->op, c->nr * sizeof *c->op);
}

/* Tasks depend on some of those before them. */
static void make_graph(struct sim_graph_def *g)
{
    uint32_t n = 1 + below(20);
    *g = (struct sim_graph_def){.nr_tasks = n, .task = calloc(n, sizeof *g->task), .succ = malloc(n * n * sizeof(uint32_t))};
    for (uint32_t i = 0; i < n; i++) {
        g->task[i].code = SIM_NO_CODE;
        g->task[i].work = work(50000);
        g->task[i].first = g->nr_succ;
        for (uint32_t j = i + 1; j < n; j++) {
            if (below(4)) continue;
            g->succ[g->nr_succ++] = j;
            g->task[i].nr++;
            g->task[j].deps++;
        }
    }
}

enum { MAIN, BODY, INNER, WORKER, NR_CODES };

static void make_program(struct sim_program *p, const struct sim_machine *m)
{
    struct code c[NR_CODES] = {0};
    uint32_t cpus = m->nr_cpus;
    *p = (struct sim_program){.name = "random", .start_ns = below(3) ? below(1000000) : 0, .weight = 50 + below(200), .working_set = below(200),
                              .width = below(2) ? 1 + below(2 * cpus) : 0, .spin_ns = below(100000), .nr_codes = NR_CODES, .main = MAIN,
                              .nr_locks = 1 + below(3), .nr_barriers = 1, .nr_channels = 1, .nr_graphs = 1};
    p->code = calloc(NR_CODES, sizeof *p->code);
    p->barrier = calloc(1, sizeof *p->barrier);
    p->channel = calloc(1, sizeof *p->channel);
    p->graph = calloc(1, sizeof *p->graph);
    p->channel[0].initial = 1 + below(3);
    make_graph(&p->graph[0]);
    add_some(&c[INNER], p, 2);
    add_some(&c[WORKER], p, 4);
    add(&c[BODY], (struct sim_op){.kind = SIM_OP_LOOP, .count = 1 + below(3)});
    add_some(&c[BODY], p, 2);
    if (below(2)) add(&c[BODY], (struct sim_op){.kind = SIM_OP_BARRIER, .object = 0, .wait = wait_kind()});
    add(&c[BODY], (struct sim_op){.kind = SIM_OP_COMPUTE, .ns = below(300000), .flags = SIM_OP_DIVIDED});
    add(&c[BODY], (struct sim_op){.kind = SIM_OP_NEXT});
    if (below(2)) add(&c[BODY], (struct sim_op){.kind = SIM_OP_GRAPH, .object = 0, .wait = wait_kind()});
    if (!below(3)) add(&c[BODY], (struct sim_op){.kind = SIM_OP_PARALLEL, .object = INNER, .count = 1 + below(4), .wait = wait_kind()});
    add_some(&c[MAIN], p, 2);
    if (below(2)) add(&c[MAIN], (struct sim_op){.kind = SIM_OP_SPAWN, .object = WORKER, .count = below(2 * cpus + 2)});
    add(&c[MAIN], (struct sim_op){.kind = SIM_OP_LOOP, .count = below(4)});
    add(&c[MAIN], (struct sim_op){.kind = SIM_OP_PARALLEL, .object = BODY, .count = below(2) ? below(2 * cpus + 1) : 0, .wait = wait_kind()});
    add_some(&c[MAIN], p, 1);
    add(&c[MAIN], (struct sim_op){.kind = SIM_OP_NEXT});
    add(&c[MAIN], (struct sim_op){.kind = SIM_OP_JOIN, .wait = wait_kind()});
    for (uint32_t i = 0; i < NR_CODES; i++) finish(p, i, &c[i]);
}

void random_workload(uint64_t seed, const struct sim_machine *m, bool blocking, struct sim_workload *w)
{
    blocks = blocking;
    state = seed * 1234567 + 99;
    *w = (struct sim_workload){.nr_programs = 1 + below(4)};
    w->program = calloc(w->nr_programs, sizeof *w->program);
    for (uint32_t i = 0; i < w->nr_programs; i++) make_program(&w->program[i], m);
}
