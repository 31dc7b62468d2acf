/* sim/linux/balance.c - load balancing between CPUs.  SPDX-License-Identifier: Apache-2.0
 *
 * Domains are nested: hardware threads of a core, cores of a cache, caches of a node, nodes of the machine.  Within a
 * domain, its groups (the domains one level below; CPUs at the lowest) are compared; the busiest queue of the busiest
 * group gives waiting tasks.  A CPU that falls idle takes one; ticks of busy CPUs balance now and then, for themselves
 * and on behalf of the idle ones.  Running tasks are never moved (Linux does so rarely, after several failures). */
#include "sim/linux/linux.h"

enum { LEVELS = 4 }; /* level l spreads the domains l - 1 of one domain l; below level 0 are the CPUs */

struct group { uint32_t first, n, nr, idle; uint64_t w; }; /* members of the domain's list, tasks to run, idle CPUs, weight */

static bool overloaded(const struct group *g) { return g->nr > g->n; }

static struct group group_at(const struct lx *lx, int level, uint32_t i)
{
    uint32_t c = lx->members[level][i];
    if (level == 0) {
        const struct lx_queue *q = &lx->rq[c];
        return (struct group){ i, 1, lx_runnable(q), lx_bit(lx->idle, c), q->sum_w };
    }
    uint32_t d = lx->span[level - 1][c];
    return (struct group){ i, lx->first[level - 1][d + 1] - lx->first[level - 1][d], lx->dom_nr[level - 1][d],
        lx->dom_idle[level - 1][d], lx->dom_w[level - 1][d] };
}

static bool busier(const struct group *a, const struct group *b)
{
    if (overloaded(a) != overloaded(b)) return overloaded(a);
    if (overloaded(a)) return a->w * b->n > b->w * a->n;
    return a->idle != b->idle ? a->idle < b->idle : a->nr > b->nr;
}

/* Groups are contiguous in the members list as domains nest; false where they do not, or there is one group only. */
static bool find_groups(const struct lx *lx, uint32_t cpu, int level, struct group *local, struct group *busiest, uint64_t *w, uint32_t *n)
{
    uint32_t d = lx->span[level][cpu], end = lx->first[level][d + 1];
    bool found = false;
    *w = *n = 0;
    for (uint32_t i = lx->first[level][d]; i < end;) {
        struct group g = group_at(lx, level, i);
        uint32_t c = lx->members[level][i];
        bool mine = level == 0 ? c == cpu : lx->span[level - 1][c] == lx->span[level - 1][cpu];
        if (mine) {
            *local = g;
        } else if (!found || busier(&g, busiest)) {
            *busiest = g;
            found = true;
        }
        *w += g.w;
        *n += g.n;
        i += g.n;
    }
    return found;
}

/* What to move from busiest to local: tasks, or weight.  False: balanced. */
struct plan { uint32_t tasks; uint64_t weight; };

static bool decide(const struct lx *lx, int level, bool idle, const struct group *l, const struct group *b, uint64_t w, uint32_t n, struct plan *p)
{
    *p = (struct plan){ 0, 0 };
    if (b->nr < 2) return false;
    if (overloaded(b) && (l->idle || l->nr < l->n)) {
        p->tasks = 1;
        return true;
    }
    if (!overloaded(b)) { /* room on both sides: spread */
        if (!idle) return false;
        if (b->n == 1) p->tasks = b->nr > l->nr + 1 ? (b->nr - l->nr) / 2 : 0;
        else p->tasks = l->idle > b->idle + 1 ? (l->idle - b->idle) / 2 : 0;
        return p->tasks > 0;
    }
    uint64_t pct = level >= 2 ? lx->cfg.numa_pct : lx->cfg.imbalance_pct;
    if (b->w * l->n * 100 <= l->w * b->n * pct || l->w * n >= w * l->n) return false;
    uint64_t give = b->w * n > w * b->n ? b->w - w * b->n / n : 0, take = w * l->n / n - l->w;
    p->weight = give < take ? give : take;
    return p->weight > 0;
}

/* The queue of the group with the most to run, two at least. */
static struct lx_queue *busiest_queue(struct lx *lx, int level, const struct group *g)
{
    struct lx_queue *best = NULL;
    for (uint32_t i = g->first; i < g->first + g->n; i++) {
        struct lx_queue *q = &lx->rq[lx->members[level][i]];
        if (lx_runnable(q) < 2 || q->nr_rt == lx_runnable(q)) continue; /* real-time tasks are pulled by rt.c */
        if (!best || q->sum_w > best->sum_w) best = q;
    }
    return best;
}

static bool movable(const struct lx *lx, const struct lx_task *t, uint32_t to, bool hot_too)
{
    if (t->state != LX_RUNNABLE || !lx_may(t, to)) return false;
    return hot_too || lx->now - t->last_ran >= lx->cfg.migration_cost || !t->last_ran;
}

/* Move what the plan says, at most 32 tasks (one when newly idle); answers with how many. */
static uint32_t detach(struct lx *lx, struct lx_queue *from, uint32_t to, int level, struct plan *p, bool newly)
{
    uint32_t moved = 0, failed = lx->rq[to].failed[level];
    struct lx_task *t = lx_tree_first(lx, from), *next;
    for (uint32_t looked = 0; t && looked < 32 && t->cpu == from->cpu; t = next, looked++) {
        next = lx_tree_next(lx, t);
        if (!movable(lx, t, to, failed > 1)) continue;
        /* One that is heavier than what is to move may go only after several failures. */
        if (p->weight && t->weight >> (failed < 16 ? failed : 16) > p->weight) continue;
        uint64_t weight = t->weight;
        lx_move(lx, t, to);
        lx->stats.pulls++;
        moved++;
        if (newly || lx_runnable(from) < 2) break;
        if (p->tasks ? --p->tasks == 0 : weight >= p->weight) break;
        if (!p->tasks) p->weight -= weight;
    }
    return moved;
}

static uint32_t balance(struct lx *lx, uint32_t cpu, int level, bool idle, bool newly)
{
    struct group l = { 0 }, b = { 0 };
    struct plan p;
    uint64_t w;
    uint32_t n, *failed = &lx->rq[cpu].failed[level];
    lx->stats.balances++;
    if (!find_groups(lx, cpu, level, &l, &b, &w, &n) || !decide(lx, level, idle, &l, &b, w, n, &p)) {
        if (!newly) *failed = 0;
        return 0;
    }
    struct lx_queue *from = busiest_queue(lx, level, &b);
    if (!from) return 0;
    uint32_t moved = detach(lx, from, cpu, level, &p, newly);
    if (moved) *failed = 0;
    else if (!newly) (*failed)++;
    return moved;
}

/* Levels whose domains have more than one group; on machines without hardware threads level 0 has none, and so on. */
static bool useful(const struct lx *lx, int level)
{ return level == 0 ? lx->nr_span[0] < lx->nr_cpus : lx->nr_span[level] < lx->nr_span[level - 1]; }

bool lx_newidle(struct lx *lx, uint32_t cpu)
{
    if (!lx->nr_overloaded || lx->rq[cpu].mean_idle < lx->cfg.newidle_cost) return false;
    for (int level = 0; level < LEVELS; level++)
        if (useful(lx, level) && balance(lx, cpu, level, true, true)) return true;
    return false;
}

/* Only one CPU of each group balances a level: its first idle one, else its first. */
static bool my_turn(const struct lx *lx, uint32_t cpu, int level)
{
    if (level == 0) return true;
    uint32_t d = lx->span[level - 1][cpu], from = lx->first[level - 1][d], end = lx->first[level - 1][d + 1];
    if (lx->dom_idle[level - 1][d])
        while (from < end && !lx_bit(lx->idle, lx->members[level - 1][from])) from++;
    return lx->members[level - 1][from] == cpu;
}

static uint64_t interval(const struct lx *lx, uint32_t cpu, int level, bool idle)
{
    uint32_t d = lx->span[level][cpu], n = lx->first[level][d + 1] - lx->first[level][d];
    uint64_t ns = (uint64_t)n * 1000000u * (idle ? 1 : 16); /* one ms per CPU of the span; busy CPUs more rarely, */
    if (!idle && ns > lx->cfg.tick) ns -= lx->cfg.tick;     /* ... and out of step with the other levels */
    return ns < lx->cfg.tick ? lx->cfg.tick : ns;
}

static void rebalance(struct lx *lx, uint32_t cpu, bool idle)
{
    struct lx_queue *q = &lx->rq[cpu];
    for (int level = 0; level < LEVELS; level++) {
        if (lx->now < q->next_balance[level] || !useful(lx, level)) continue;
        q->next_balance[level] = lx->now + interval(lx, cpu, level, idle);
        if (!my_turn(lx, cpu, level)) continue;
        if (balance(lx, cpu, level, idle, false) && lx->rq[cpu].curr == LX_NONE) lx_resched(lx, cpu);
    }
}

void lx_periodic(struct lx *lx, uint32_t cpu)
{
    if (!lx->nr_overloaded) return;
    rebalance(lx, cpu, lx_bit(lx->idle, cpu));
    if (lx_runnable(&lx->rq[cpu]) < 2 || !lx->nr_idle || lx->now < lx->next_nohz) return;
    lx->next_nohz = lx->now + lx->cfg.tick;
    for (uint32_t w = 0; w < lx->words; w++)
        for (uint64_t left = lx->idle[w]; left; left &= left - 1)
            rebalance(lx, w * 64 + (uint32_t)__builtin_ctzll(left), true);
}
