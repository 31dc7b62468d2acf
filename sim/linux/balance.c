/* sim/linux/balance.c - load balancing between CPUs.  SPDX-License-Identifier: Apache-2.0
 *
 * Domains are nested: hardware threads of a core, cores of a cache, caches of a node, nodes of the
 * machine.  A CPU that takes tasks from others looks at one domain at a time: which of its parts
 * (the domains one level below; CPUs at the lowest) is the most crowded, how much that has too much
 * compared with the taker's own part, and which of its queues gives it.  A CPU that falls idle
 * takes one task; at ticks busy CPUs take now and then, for themselves and on behalf of the idle
 * ones.  Running tasks stay where they are. */
#include "sim/linux/linux.h"

enum { LEVELS = 4 }; /* level l spreads the domains l - 1 of one domain l; below level 0 are the CPUs */
enum { LOOK_AT = 32 }; /* tasks of a queue at most */
enum occasion { FALLS_IDLE, IS_IDLE, IS_BUSY };

/* A part of a domain: `cpus` places of the level's list from `first` on. */
struct part { uint32_t first, cpus, tasks, idle; uint64_t weight; };
/* How much is to be taken: tasks, or (tasks == 0) weight. */
struct share { uint32_t tasks; uint64_t weight; };

static bool crowded(const struct part *p) { return p->tasks > p->cpus; }

/* The part that CPU c belongs to, its first place being `at`. */
static struct part part_of(const struct lx *lx, int level, uint32_t c, uint32_t at)
{
    if (level == 0) return (struct part){ at, 1, lx_runnable(&lx->rq[c]), lx_bit(lx->idle, c), lx->rq[c].sum_w };
    uint32_t below = (uint32_t)level - 1, d = lx->span[below][c];
    uint32_t cpus = lx->first[below][d + 1] - lx->first[below][d];
    return (struct part){ at, cpus, lx->dom_nr[below][d], lx->dom_idle[below][d], lx->dom_w[below][d] };
}

static bool more_crowded(const struct part *a, const struct part *b)
{
    if (crowded(a) && crowded(b)) return a->weight * b->cpus > b->weight * a->cpus;
    if (crowded(a) || crowded(b)) return crowded(a);
    return a->idle < b->idle || (a->idle == b->idle && a->tasks > b->tasks);
}

/* What parts with room should pass on so that both have as much of it: whole tasks. */
static uint32_t evens_out(const struct part *own, const struct part *other)
{
    uint32_t more = other->cpus == 1 ? other->tasks : own->idle, less = other->cpus == 1 ? own->tasks : other->idle;
    return more > less + 1 ? (more - less) / 2 : 0;
}

/* What a part has beyond its CPUs' share of the domain's weight (below 0: lacks). */
static int64_t beyond_share(const struct part *p, const struct part *all)
{ return (int64_t)p->weight - (int64_t)(all->weight * p->cpus / all->cpus); }

/* What the CPU is to take, and from which part of its domain of the level.  False: nothing. */
static bool survey(const struct lx *lx, uint32_t cpu, int level, enum occasion when, struct part *from, struct share *take)
{
    struct part own = { 0 }, all = { 0 }, p;
    uint32_t d = lx->span[level][cpu], end = lx->first[level][d + 1];
    *from = (struct part){ 0 };
    *take = (struct share){ 0 };
    for (uint32_t i = lx->first[level][d]; i < end; i += p.cpus) {
        uint32_t c = lx->members[level][i];
        p = part_of(lx, level, c, i);
        all.cpus += p.cpus;
        all.weight += p.weight;
        if (level == 0 ? c == cpu : lx->span[level - 1][c] == lx->span[level - 1][cpu]) own = p;
        else if (!from->cpus || more_crowded(&p, from)) *from = p;
    }
    if (from->tasks < 2) return false;
    if (!crowded(from)) { /* neither is: only a CPU that has nothing else to do spreads them */
        take->tasks = when == IS_BUSY ? 0 : evens_out(&own, from);
        return take->tasks > 0;
    }
    if (own.idle || own.tasks < own.cpus) {
        take->tasks = 1;
        return true;
    }
    uint32_t pct = level >= 2 ? lx->cfg.far_pct : lx->cfg.near_pct;
    int64_t excess = beyond_share(from, &all), lack = -beyond_share(&own, &all), least = excess < lack ? excess : lack;
    if (least <= 0 || from->weight * own.cpus * 100 <= own.weight * from->cpus * pct) return false;
    take->weight = (uint64_t)least;
    return true;
}

/* The queue of the part with the most weight, of those with two tasks at least.  (Real-time tasks
 * are pulled by rt.c.) */
static struct lx_queue *giver(struct lx *lx, int level, const struct part *p)
{
    struct lx_queue *best = NULL;
    for (uint32_t i = p->first; i < p->first + p->cpus; i++) {
        struct lx_queue *q = &lx->rq[lx->members[level][i]];
        bool gives = lx_runnable(q) >= 2 && q->nr_rt < lx_runnable(q);
        if (gives && (!best || q->sum_w > best->sum_w)) best = q;
    }
    return best;
}

/* The more often the CPU came away with nothing, the less it minds: that a task's cache is warm,
 * that it is more than was to be taken. */
static bool wanted(const struct lx *lx, const struct lx_task *t, uint32_t cpu, const struct share *s, uint32_t failed)
{
    bool warm = t->last_ran && lx->now - t->last_ran < lx->cfg.migration_cost;
    if (t->state != LX_RUNNABLE || !lx_may(t, cpu)) return false;
    return (!warm || failed > 1) && (s->tasks || t->weight <= s->weight * (failed + 1));
}

/* Takes from one queue until the share is used up; answers with how many. */
static uint32_t take_from(struct lx *lx, struct lx_queue *q, uint32_t cpu, struct share s, uint32_t failed)
{
    uint32_t taken = 0, looked = 0;
    if (lx->visit) lx->visit(lx->arg, q->cpu);
    struct lx_task *t = lx_tree_first(lx, q);
    while (t && t->cpu == q->cpu && looked++ < LOOK_AT && lx_runnable(q) >= 2 && (s.tasks || s.weight)) {
        struct lx_task *next = lx_tree_next(lx, t);
        if (wanted(lx, t, cpu, &s, failed)) {
            lx_move(lx, t, cpu);
            taken++;
            if (s.tasks) s.tasks--;
            else s.weight -= t->weight < s.weight ? t->weight : s.weight;
        }
        t = next;
    }
    lx->stats.pulls += taken;
    return taken;
}

static uint32_t take(struct lx *lx, uint32_t cpu, int level, enum occasion when)
{
    struct part from;
    struct share s;
    uint32_t *failed = &lx->rq[cpu].failed[level];
    lx->stats.balances++;
    bool any = survey(lx, cpu, level, when, &from, &s);
    struct lx_queue *q = any ? giver(lx, level, &from) : NULL;
    if (any && !q) return 0;
    if (when == FALLS_IDLE) s = (struct share){ .tasks = 1 }; /* (lx_schedule answers with it: no more than this one) */
    uint32_t taken = any ? take_from(lx, q, cpu, s, *failed) : 0;
    if (taken || (!any && when != FALLS_IDLE)) *failed = 0;
    else if (when != FALLS_IDLE) ++*failed;
    return taken;
}

/* Levels whose domains have more than one part; on machines without hardware threads level 0 has
 * none, and so on. */
static bool useful(const struct lx *lx, int level)
{ return level == 0 ? lx->nr_span[0] < lx->nr_cpus : lx->nr_span[level] < lx->nr_span[level - 1]; }

bool lx_pull_one(struct lx *lx, uint32_t cpu)
{
    if (!lx->nr_overloaded || lx->rq[cpu].mean_idle < lx->cfg.least_idle) return false;
    for (int level = 0; level < LEVELS; level++)
        if (useful(lx, level) && take(lx, cpu, level, FALLS_IDLE)) return true;
    return false;
}

/* One CPU takes for the whole of its part: the first idle one, the first of all if none is. */
static bool takes_for_part(const struct lx *lx, uint32_t cpu, int level)
{
    if (level == 0) return true;
    uint32_t d = lx->span[level - 1][cpu];
    const uint32_t *c = lx->members[level - 1] + lx->first[level - 1][d];
    if (!lx->dom_idle[level - 1][d]) return *c == cpu;
    while (!lx_bit(lx->idle, *c)) c++;
    return *c == cpu;
}

/* How long until the CPU looks at its domain again: a ms for each CPU of it, and 16 where there is
 * something else to do (less a tick: levels do not come due together).  A tick at least. */
static uint64_t pause_after(const struct lx *lx, uint32_t cpu, int level, enum occasion when)
{
    uint32_t d = lx->span[level][cpu];
    uint64_t ns = (uint64_t)(lx->first[level][d + 1] - lx->first[level][d]) * 1000000u, tick = lx->cfg.tick;
    if (when == IS_BUSY) ns = 16 * ns > 2 * tick ? 16 * ns - tick : tick;
    return ns > tick ? ns : tick;
}

static void take_where_due(struct lx *lx, uint32_t cpu, enum occasion when)
{
    struct lx_queue *q = &lx->rq[cpu];
    for (int level = 0; level < LEVELS; level++) {
        if (!useful(lx, level) || q->next_balance[level] > lx->now) continue;
        q->next_balance[level] = lx->now + pause_after(lx, cpu, level, when);
        if (takes_for_part(lx, cpu, level) && take(lx, cpu, level, when) && q->curr == LX_NONE) lx_resched(lx, cpu);
    }
}

void lx_periodic(struct lx *lx, uint32_t cpu)
{
    if (!lx->nr_overloaded) return;
    take_where_due(lx, cpu, lx_bit(lx->idle, cpu) ? IS_IDLE : IS_BUSY);
    bool for_idle = lx_runnable(&lx->rq[cpu]) >= 2 && lx->nr_idle && lx->now >= lx->next_for_idle;
    if (!for_idle) return;
    lx->next_for_idle = lx->now + lx->cfg.tick;
    for (uint32_t w = 0; w < lx->words; w++)
        for (uint64_t left = lx->idle[w]; left; left &= left - 1)
            take_where_due(lx, w * 64 + (uint32_t)__builtin_ctzll(left), IS_IDLE);
}
