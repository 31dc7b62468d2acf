/* sim/lang/lower_graph.c - tasks with dependences: who waits for whom.
 * SPDX-License-Identifier: Apache-2.0
 *
 * As in OpenMP and OmpSs: a task that reads a datum waits for the last one before it that writes
 * it; one that writes, for the last writer and for all that have read since.  "Before" is the order
 * in which the statements name them. */
#include "sim/lang/lower_in.h"
#include <stdlib.h>
#include <string.h>

struct datum { int64_t key[4]; uint32_t writer, readers; };     /* task + 1; readers: index + 1 in `reader`; key[0]: name + 1, 0 = free */
struct reader { uint32_t task, next; };
struct edge { uint32_t from, to; };

struct graph {
    struct sim_graph_task *task;
    uint32_t *mark;             /* per task: the last one that waits for it, + 1 */
    struct datum *datum;        /* open addressing */
    struct reader *reader;
    struct edge *edge;
    uint32_t nr_tasks, tasks_cap, marks_cap, nr_data, data_cap, nr_readers, readers_cap, nr_edges, edges_cap;
};

static uint64_t hash(const int64_t key[4])
{
    uint64_t h = 0x9e3779b97f4a7c15;
    for (int i = 0; i < 4; i++) h = (h ^ (uint64_t)key[i]) * 0xff51afd7ed558ccd, h ^= h >> 32;
    return h;
}

static struct datum *place(struct datum *table, uint32_t cap, const int64_t key[4])
{
    uint32_t i = (uint32_t)hash(key) & (cap - 1);
    while (table[i].key[0] && memcmp(table[i].key, key, sizeof table[i].key)) i = (i + 1) & (cap - 1);
    return &table[i];
}

static struct datum *find(struct lower *l, struct graph *g, const int64_t key[4])
{
    if (g->nr_data * 2 >= g->data_cap) {
        uint32_t cap = g->data_cap ? g->data_cap * 2 : 256;
        struct datum *n = lower_alloc(l, cap, sizeof *n);
        for (uint32_t i = 0; i < g->data_cap; i++)
            if (g->datum[i].key[0]) *place(n, cap, g->datum[i].key) = g->datum[i];
        free(g->datum);
        g->datum = n;
        g->data_cap = cap;
    }
    struct datum *d = place(g->datum, g->data_cap, key);
    if (!d->key[0]) {
        memcpy(d->key, key, sizeof d->key);
        g->nr_data++;
    }
    return d;
}

static void depend(struct lower *l, struct graph *g, uint32_t on, uint32_t task, struct lang_pos pos)
{
    if (on == task || g->mark[on] == task + 1) return;
    if (g->nr_edges == LOWER_EDGES_MAX) lower_fail(l, pos, "a graph of more than %u dependences", LOWER_EDGES_MAX);
    g->mark[on] = task + 1;
    g->edge = lower_grow(l, g->edge, &g->edges_cap, g->nr_edges + 1, sizeof *g->edge);
    g->edge[g->nr_edges++] = (struct edge){on, task};
    g->task[task].deps++;
    g->task[on].nr++;
}

static void access_datum(struct lower *l, struct graph *g, uint32_t task, const struct lang_dep *d, struct lang_pos pos)
{
    int64_t key[4] = {d->name + 1};
    for (unsigned i = 0; i < d->nr; i++) key[i + 1] = (int64_t)lower_count(l, d->index[i], "an index", 0, 1u << 30) + 1;
    struct datum *x = find(l, g, key);
    if (x->writer) depend(l, g, x->writer - 1, task, pos);
    if (d->access == ACC_IN) {
        g->reader = lower_grow(l, g->reader, &g->readers_cap, g->nr_readers + 1, sizeof *g->reader);
        g->reader[g->nr_readers] = (struct reader){task, x->readers};
        x->readers = ++g->nr_readers;
        return;
    }
    for (uint32_t r = x->readers; r; r = g->reader[r - 1].next) depend(l, g, g->reader[r - 1].task, task, pos);
    x->readers = 0;
    x->writer = task + 1;
}

void lower_task(struct lower *l, const struct lang_stmt *s)
{
    struct graph *g = l->graph;
    if (g->nr_tasks == LOWER_TASKS_MAX) lower_fail(l, s->pos, "a graph of more than %u tasks", LOWER_TASKS_MAX);
    uint32_t i = g->nr_tasks;
    g->task = lower_grow(l, g->task, &g->tasks_cap, i + 1, sizeof *g->task);
    g->mark = lower_grow(l, g->mark, &g->marks_cap, i + 1, sizeof *g->mark);
    g->mark[i] = 0;
    g->task[i] = (struct sim_graph_task){.code = SIM_NO_CODE};
    g->nr_tasks++;
    /* what it waits for, first: a task that reads and writes the same waits for those before it,
     * not for itself */
    for (const struct lang_dep *d = s->deps; d; d = d->next) access_datum(l, g, i, d, s->pos);
    unsigned teams = l->teams;
    l->teams = 0;               /* each task has its own code: what is drawn there is its own */
    l->graph = NULL;
    if (s->body && s->body->kind == ST_COMPUTE && !s->body->next) {
        l->steps++;
        if (++l->ops > LOWER_OPS_MAX) lower_fail(l, s->pos, "the workload comes to more than %u operations", LOWER_OPS_MAX);
        g->task[i].work = lower_compute(l, s->body);
    } else {
        lower_begin(l);
        lower_statements(l, s->body);
        g->task[i].code = lower_end(l);
    }
    l->graph = g;
    l->teams = teams;
}

void lower_graph_free(struct lower *l)
{
    struct graph *g = l->graph;
    if (!g) return;
    free(g->task);
    free(g->mark);
    free(g->datum);
    free(g->reader);
    free(g->edge);
    free(g);
    l->graph = NULL;
}

uint32_t lower_graph(struct lower *l, const struct lang_stmt *s)
{
    struct graph *g = l->graph = lower_alloc(l, 1, sizeof *g);
    lower_statements(l, s->body);
    if (!g->nr_tasks) lower_fail(l, s->pos, "a taskgraph without tasks");
    struct sim_program *p = l->prog;
    p->graph = lower_grow(l, p->graph, &l->graphs_cap, p->nr_graphs + 1, sizeof *p->graph);
    struct sim_graph_def *d = &p->graph[p->nr_graphs];
    *d = (struct sim_graph_def){.nr_tasks = g->nr_tasks, .nr_succ = g->nr_edges};
    d->succ = lower_alloc(l, g->nr_edges, sizeof *d->succ);
    uint32_t at = 0;
    for (uint32_t i = 0; i < g->nr_tasks; i++) {
        g->task[i].first = at;
        at += g->task[i].nr;
        g->task[i].nr = 0;
    }
    for (uint32_t i = 0; i < g->nr_edges; i++) {
        struct sim_graph_task *t = &g->task[g->edge[i].from];
        d->succ[t->first + t->nr++] = g->edge[i].to;
    }
    d->task = g->task;
    g->task = NULL;
    lower_graph_free(l);
    return p->nr_graphs++;
}
