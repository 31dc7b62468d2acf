/* src/spin/flow.c - cycles, reaching definitions, dependences. 
 * SPDX-License-Identifier: Apache-2.0 */
#include "spin/internal.h"

static bool open_node(const struct spin_scratch *s, int i, int a, int b)
{
    return i >= a && i <= b && !s->gone[i];
}

/* mark |= 1: reachable from pc;  mark |= 2: reaches pc.  Both by sweeping until nothing changes:
 * the code is nearly in order, so a few sweeps do. */
static void mark_forward(struct spin_scratch *s, int pc, int a, int b)
{
    bool again = true;
    const struct node *n = &s->node[pc];
    if (open_node(s, n->next, a, b)) s->mark[n->next] |= 1;
    if (open_node(s, n->taken, a, b)) s->mark[n->taken] |= 1;
    while (again) {
        again = false;
        for (int i = a; i <= b; i++) {
            if (!(s->mark[i] & 1)) continue;
            int to[2] = { s->node[i].next, s->node[i].taken };
            for (int k = 0; k < 2; k++)
                if (open_node(s, to[k], a, b) && !(s->mark[to[k]] & 1)) {
                    s->mark[to[k]] |= 1;
                    again |= to[k] <= i;
                }
        }
    }
}
static void mark_backward(struct spin_scratch *s, int pc, int a, int b)
{
    bool again = true;
    s->mark[pc] |= 2;
    while (again) {
        again = false;
        for (int i = b; i >= a; i--) {
            if (s->gone[i] || s->mark[i] & 2) continue;
            int to[2] = { s->node[i].next, s->node[i].taken };
            for (int k = 0; k < 2; k++)
                if (open_node(s, to[k], a, b) && s->mark[to[k]] & 2) {
                    s->mark[i] |= 2;
                    again = true;
                }
        }
    }
}

bool spin_cycle(struct spin_scratch *s, int pc, int a, int b, bool *big)
{
    *big = false;
    for (uint32_t i = 0; i < s->nr_nodes; i++) {
        s->mark[i] = 0;
        s->local[i] = -1;
    }
    if (s->gone[pc]) return false;
    mark_forward(s, pc, a, b);
    if (!(s->mark[pc] & 1)) return false;
    mark_backward(s, pc, a, b);
    s->n = 0;
    for (int i = a; i <= b; i++) {
        if (s->mark[i] != 3) continue;
        if (s->n == SPIN_MAX_INSNS) {
            *big = true;
            return false;
        }
        s->local[i] = (int16_t)s->n;
        s->at[s->n++] = (int16_t)i;
    }
    for (unsigned k = 0; k < s->n; k++) s->succ[k] = s->pred[k] = 0;
    for (unsigned k = 0; k < s->n; k++) {
        int to[2] = { s->node[s->at[k]].next, s->node[s->at[k]].taken };
        for (int j = 0; j < 2; j++)
            if (open_node(s, to[j], a, b) && s->local[to[j]] >= 0) {
                s->succ[k] |= 1ull << s->local[to[j]];
                s->pred[s->local[to[j]]] |= 1ull << k;
            }
    }
    return true;
}

static unsigned take_lowest(uint64_t *m)
{
    unsigned i = (unsigned)__builtin_ctzll(*m);
    *m &= *m - 1;
    return i;
}

static uint64_t reaching_part(const struct spin_scratch *s, unsigned k, regset part)
{
    uint64_t todo = s->pred[k], seen = todo, defs = 0;
    while (todo) {
        unsigned i = take_lowest(&todo);
        if (s->node[s->at[i]].wr & part) {
            defs |= 1ull << i;
            continue;
        }
        uint64_t more = s->pred[i] & ~seen;
        seen |= more;
        todo |= more;
    }
    return defs;
}
uint64_t spin_reaching(const struct spin_scratch *s, unsigned k, regset v)
{
    uint64_t defs = 0;
    for (int half = 0; half < 2; half++) {
        uint64_t w = (uint64_t)(v >> (64 * half));
        while (w) defs |= reaching_part(s, k, RS(64 * half + (int)take_lowest(&w)));
    }
    return defs;
}

void spin_dependences(struct spin_scratch *s)
{
    for (unsigned k = 0; k < s->n; k++) {
        const struct node *n = &s->node[s->at[k]];
        s->clo[k] = s->dep[k] = spin_reaching(s, k, n->rd | n->addr);
    }
    for (unsigned via = 0; via < s->n; via++)
        for (unsigned k = 0; k < s->n; k++)
            if (s->clo[k] >> via & 1) s->clo[k] |= s->clo[via];
}

void spin_liveness(struct spin_scratch *s)
{
    bool again = true;
    for (unsigned k = 0; k < s->n; k++) s->live[k] = 0;
    while (again) {
        again = false;
        for (unsigned k = s->n; k-- > 0;) {
            const struct node *n = &s->node[s->at[k]];
            uint64_t next = s->succ[k];
            regset after = 0;
            while (next) after |= s->live[take_lowest(&next)];
            regset before = n->rd | n->addr | n->sink | (after & ~n->wr);
            again |= before != s->live[k];
            s->live[k] = before;
        }
    }
}

bool spin_reaches(const struct spin_scratch *s, unsigned u, unsigned v, uint64_t mask)
{
    uint64_t todo = s->succ[u] & mask, seen = todo;
    while (todo) {
        unsigned i = take_lowest(&todo);
        if (i == v) return true;
        uint64_t more = s->succ[i] & mask & ~seen;
        seen |= more;
        todo |= more;
    }
    return false;
}
