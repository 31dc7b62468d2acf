/* sim/program.c - are programs well formed?  SPDX-License-Identifier: Apache-2.0 */
#include "sim/program.h"
#include "base/base.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct check {
    const struct sim_workload *w;
    const struct sim_program *p;
    char *why;
    unsigned cap;
    uint8_t *depth;             /* [codes] 0: not yet looked at, 255: being looked at, else how deep calls nest below, + 1 */
};

static bool bad(struct check *c, uint32_t code, uint32_t op, const char *what)
{
    usf_format(c->why, c->cap, "program %s, code %u, operation %u: %s", c->p->name, code, op, what);
    return false;
}

static bool bad_program(struct check *c, const char *what, uint32_t which)
{
    usf_format(c->why, c->cap, "program %s: %s (%u)", c->p->name, what, which);
    return false;
}

static const char *object_fault(const struct sim_program *p, const struct sim_op *op)
{
    switch ((enum sim_op_kind)op->kind) {
    case SIM_OP_CALL:
    case SIM_OP_SPAWN:
    case SIM_OP_SUBMIT:
    case SIM_OP_PARALLEL: return op->object < p->nr_codes ? 0 : "there is no such code";
    case SIM_OP_BARRIER: return op->object < p->nr_barriers ? 0 : "there is no such barrier";
    case SIM_OP_LOCK:
    case SIM_OP_UNLOCK: return op->object < p->nr_locks ? 0 : "there is no such lock";
    case SIM_OP_GRAPH: return op->object < p->nr_graphs ? 0 : "there is no such graph";
    case SIM_OP_SEND:
    case SIM_OP_PAUSE:
    case SIM_OP_RECV: return op->object < p->nr_channels ? 0 : "there is no such channel";
    default: return op->kind < SIM_NR_OPS ? 0 : "there is no such operation";
    }
}

static bool check_code(struct check *c, uint32_t code);

/* How deep do calls nest below this operation? */
static bool check_below(struct check *c, const struct sim_op *op, uint32_t *deepest)
{
    uint32_t first = op->object, n = 1;
    const struct sim_graph_def *g = 0;
    if (op->kind == SIM_OP_GRAPH) {
        g = &c->p->graph[op->object];
        n = g->nr_tasks;
    } else if (op->kind != SIM_OP_CALL && op->kind != SIM_OP_PARALLEL) {
        return true;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t code = g ? g->task[i].code : first;
        if (g && code == SIM_NO_CODE) continue;
        if (code >= c->p->nr_codes) return bad_program(c, "a task's code does not exist", code);
        if (!check_code(c, code)) return false;
        if (c->depth[code] > *deepest) *deepest = c->depth[code];
    }
    return true;
}

static bool check_code(struct check *c, uint32_t code)
{
    const struct sim_code *s = &c->p->code[code];
    uint32_t loops = 0, deepest = 0;
    if (c->depth[code] == 255) return bad(c, code, 0, "it calls itself");
    if (c->depth[code]) return true;
    if (!s->nr || s->op[s->nr - 1].kind != SIM_OP_END) return bad(c, code, s->nr, "the code has no end");
    c->depth[code] = 255;
    for (uint32_t i = 0; i < s->nr; i++) {
        const struct sim_op *op = &s->op[i];
        const char *fault = object_fault(c->p, op);
        if (fault) return bad(c, code, i, fault);
        if (op->wait > SIM_WAIT_YIELD_BLOCK) return bad(c, code, i, "there is no such way to wait");
        if (op->kind == SIM_OP_COMPUTE && op->memory > 1000) return bad(c, code, i, "more than all of the time goes to memory");
        if (op->spread > 1000 && op->spread != 0xffff) return bad(c, code, i, "the spread is more than 1000 per mille");
        if (op->kind == SIM_OP_LOOP && ++loops > SIM_NEST) return bad(c, code, i, "loops nest too deep");
        if (op->kind == SIM_OP_NEXT && !loops--) return bad(c, code, i, "a loop ends that has not begun");
        if (op->kind == SIM_OP_END && (loops || i != s->nr - 1)) return bad(c, code, i, "the code ends within, or has more behind its end");
        if (!check_below(c, op, &deepest)) return false;
    }
    if (deepest + 1 > 4 * SIM_NEST) return bad(c, code, 0, "calls and regions nest too deep");
    c->depth[code] = (uint8_t)(deepest + 1);
    return true;
}

/* Every dependence is counted, and all tasks can be reached. */
static bool check_graph(struct check *c, const struct sim_graph_def *g, uint32_t which)
{
    uint32_t *deps = calloc(g->nr_tasks + 1, sizeof *deps), *ready = calloc(g->nr_tasks + 1, sizeof *ready), n = 0, done = 0;
    const char *what = deps && ready ? 0 : "no memory";
    if (!g->nr_tasks) what = "a graph has no tasks";
    for (uint32_t i = 0; !what && i < g->nr_tasks; i++) {
        const struct sim_graph_task *t = &g->task[i];
        deps[i] = t->deps;
        if ((uint64_t)t->first + t->nr > g->nr_succ) what = "a task's successors are out of range";
        if (!t->deps) ready[n++] = i;
    }
    for (uint32_t i = 0; !what && i < g->nr_succ; i++)
        if (g->succ[i] >= g->nr_tasks) what = "a successor does not exist";
    for (; !what && done < n; done++) {
        const struct sim_graph_task *t = &g->task[ready[done]];
        for (uint32_t i = 0; i < t->nr && !what; i++) {
            uint32_t next = g->succ[t->first + i];
            if (!deps[next]) what = "a task has more predecessors than it counts";
            else if (--deps[next] == 0) ready[n++] = next;
        }
    }
    if (!what && done < g->nr_tasks) what = "some tasks of a graph wait for each other, or for more than there are";
    free(deps);
    free(ready);
    return what ? bad_program(c, what, which) : true;
}

static bool check_program(struct check *c)
{
    const struct sim_program *p = c->p;
    if (p->slots > SIM_SLOTS_MAX) return bad_program(c, "it has too many slots", p->slots);
    if (p->main >= p->nr_codes) return bad_program(c, "its main code does not exist", p->main);
    for (uint32_t i = 0; i < p->nr_speedup; i++)
        if (!p->speedup[i]) return bad_program(c, "a speed-up is 0", i);
    for (uint32_t i = 0; p->link && i < p->nr_channels; i++) {
        const struct sim_link *l = &p->link[i];
        if (l->program == SIM_NO_CODE) continue;
        if (l->program >= c->w->nr_programs || l->channel >= c->w->program[l->program].nr_channels)
            return bad_program(c, "it has a link to a channel that does not exist", i);
        const struct sim_program *o = &c->w->program[l->program];
        if (o->link && o->link[l->channel].program != SIM_NO_CODE) return bad_program(c, "it has a link to a channel that is a link", i);
    }
    for (uint32_t g = 0; g < p->nr_graphs; g++)
        if (!check_graph(c, &p->graph[g], g)) return false;
    for (uint32_t i = 0; i < p->nr_codes; i++)
        if (!check_code(c, i)) return false;
    return true;
}

bool sim_workload_is_valid(const struct sim_workload *w, char *why, unsigned cap)
{
    bool ok = w->nr_programs > 0;
    if (!ok) usf_format(why, cap, "the workload has no programs");
    for (uint32_t i = 0; ok && i < w->nr_programs; i++) {
        struct check c = {.w = w, .p = &w->program[i], .why = why, .cap = cap};
        c.depth = calloc(c.p->nr_codes + 1, 1);
        ok = c.depth && check_program(&c);
        free(c.depth);
    }
    return ok;
}

static void free_program(struct sim_program *p)
{
    for (uint32_t i = 0; i < p->nr_codes; i++) free(p->code[i].op);
    for (uint32_t i = 0; i < p->nr_graphs; i++) {
        free(p->graph[i].task);
        free(p->graph[i].succ);
    }
    free(p->code);
    free(p->graph);
    free(p->speedup);
    free(p->barrier);
    free(p->channel);
    free(p->link);
}

void sim_workload_free(struct sim_workload *w)
{
    for (uint32_t i = 0; i < w->nr_programs; i++) free_program(&w->program[i]);
    free(w->program);
    *w = (struct sim_workload){0};
}

uint64_t sim_mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

uint64_t sim_drawn(uint64_t *random, const struct sim_op *op, uint64_t ns)
{
    if (!op->spread || !ns) return ns;
    uint64_t r = sim_mix(*random += 0x9e3779b97f4a7c15ull);
    if (op->spread == SIM_EXPONENTIAL) {
        double v = -log((double)((r >> 11) + 1) * 0x1p-53) * (double)ns;
        return v < 1 ? 1 : (uint64_t)v;
    }
    uint64_t range = ns * op->spread / 1000, low = ns > range ? ns - range : 0;
    return low + (uint64_t)((unsigned __int128)r * (2 * range + 1) >> 64);
}
