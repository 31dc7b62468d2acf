/* sim/linux/place.c - on which CPU a task wakes up.  SPDX-License-Identifier: Apache-2.0
 *
 * New tasks go down the levels of the machine to the least loaded group, then CPU.  Waking tasks choose between their
 * last CPU and the waker's (wake-affine), then look for an idle CPU below the same last-level cache. */
#include "sim/linux/linux.h"

enum { PHYS, LLC, NODE, SYSTEM };

uint32_t lx_any_allowed(struct lx *lx, const struct lx_task *t, uint32_t near)
{
    uint32_t best = LX_NONE;
    for (int level = PHYS; level <= SYSTEM; level++) {
        uint32_t d = lx->span[level][near];
        for (uint32_t i = lx->first[level][d]; i < lx->first[level][d + 1]; i++) {
            uint32_t c = lx->members[level][i];
            if (!lx_may(t, c)) continue;
            if (lx_bit(lx->idle, c)) return c;
            if (best == LX_NONE || lx->rq[c].nr < lx->rq[best].nr) best = c;
        }
        if (best != LX_NONE && level >= LLC) break;
    }
    return best == LX_NONE ? near : best;
}

/* ---- New tasks ------------------------------------------------------------------------------------------ */

static bool reaches(const struct lx *lx, const struct lx_task *t, int level, uint32_t d)
{
    if (!t->allowed && t->bound == LX_NONE) return true;
    for (uint32_t i = lx->first[level][d]; i < lx->first[level][d + 1]; i++)
        if (lx_may(t, lx->members[level][i])) return true;
    return false;
}

/* Is group a (of the level) better for a new task than b?  More idle CPUs, else less load per CPU. */
static bool idler(const struct lx *lx, int level, uint32_t a, uint32_t b, uint32_t pct)
{
    if (lx->dom_idle[level][a] != lx->dom_idle[level][b]) return lx->dom_idle[level][a] > lx->dom_idle[level][b];
    if (lx->dom_idle[level][a]) return false;
    uint64_t na = lx->first[level][a + 1] - lx->first[level][a], nb = lx->first[level][b + 1] - lx->first[level][b];
    return lx->dom_w[level][a] * nb * pct < lx->dom_w[level][b] * na * 100;
}

/* The group of `level` within domain d of level + 1 that is idlest; `near`'s own unless another is clearly better. */
static uint32_t idlest_group(const struct lx *lx, const struct lx_task *t, int level, uint32_t up, uint32_t near)
{
    uint32_t local = lx->span[level + 1][near] == up ? lx->span[level][near] : LX_NONE, best = LX_NONE, seen = LX_NONE;
    for (uint32_t i = lx->first[level + 1][up]; i < lx->first[level + 1][up + 1]; i++) {
        uint32_t d = lx->span[level][lx->members[level + 1][i]];
        if (d == seen) continue;
        seen = d;
        if (d == local || !reaches(lx, t, level, d)) continue;
        if (best == LX_NONE || idler(lx, level, d, best, 100)) best = d;
    }
    if (local == LX_NONE || !reaches(lx, t, level, local)) return best;
    if (best == LX_NONE) return local;
    return idler(lx, level, best, local, level >= LLC ? lx->cfg.numa_pct : lx->cfg.imbalance_pct) ? best : local;
}

uint32_t lx_place_new(struct lx *lx, struct lx_task *t, uint32_t near)
{
    if (t->bound != LX_NONE) return t->bound;
    if (t->cls != LX_NORMAL) return lx_rt_place(lx, t, near);
    uint32_t d = 0;
    for (int level = NODE; level >= PHYS; level--) {
        d = idlest_group(lx, t, level, d, near);
        if (d == LX_NONE) return lx_any_allowed(lx, t, near);
    }
    uint32_t best = LX_NONE;
    for (uint32_t i = lx->first[PHYS][d]; i < lx->first[PHYS][d + 1]; i++) {
        uint32_t c = lx->members[PHYS][i];
        if (!lx_may(t, c)) continue;
        if (best == LX_NONE || lx->rq[c].sum_w + lx->rq[c].nr_rt < lx->rq[best].sum_w + lx->rq[best].nr_rt) best = c;
    }
    return best;
}

/* ---- Waking tasks --------------------------------------------------------------------------------------- */

/* Count how often the waker switches between wakees: one that wakes many does not draw them to itself. */
static bool wakes_widely(struct lx *lx, const struct lx_task *t, uint32_t waker)
{
    struct lx_task *w = lx->rq[waker].curr == LX_NONE ? NULL : lx->task[lx->rq[waker].curr];
    if (!w) return false;
    if (lx->now > w->flip_since + 1000000000u) {
        w->wakee_flips /= 2;
        w->flip_since = lx->now;
    }
    if (w->last_wakee != t->id) {
        w->last_wakee = t->id;
        w->wakee_flips++;
    }
    uint32_t d = lx->span[LLC][waker], factor = lx->first[LLC][d + 1] - lx->first[LLC][d];
    uint32_t more = w->wakee_flips, less = t->wakee_flips;
    if (more < less) { uint32_t x = more; more = less; less = x; }
    return less >= factor && more >= less * factor;
}

/* The waker's CPU or the task's last one? */
static uint32_t affine(const struct lx *lx, const struct lx_task *t, uint32_t this, uint32_t prev)
{
    if (this == prev) return prev;
    if (lx_bit(lx->idle, this) && lx->span[LLC][this] == lx->span[LLC][prev])
        return lx_bit(lx->idle, prev) ? prev : this;
    if (lx_bit(lx->idle, prev)) return prev;
    uint64_t here = (lx->rq[this].sum_w + t->weight) * 100;
    uint64_t there = lx->rq[prev].sum_w * (100 + (lx->cfg.imbalance_pct - 100) / 2);
    return here < there ? this : prev;
}

static bool whole_core_idle(const struct lx *lx, uint32_t c)
{
    uint32_t p = lx->span[PHYS][c];
    return lx->dom_idle[PHYS][p] == lx->first[PHYS][p + 1] - lx->first[PHYS][p];
}

/* An idle CPU of the target's cache, with hardware threads a whole idle core first. */
static uint32_t idle_sibling(const struct lx *lx, const struct lx_task *t, uint32_t prev, uint32_t target)
{
    uint32_t d = lx->span[LLC][target], from = lx->first[LLC][d], n = lx->first[LLC][d + 1] - from, at = 0, any = LX_NONE;
    if (lx_may(t, target) && lx_bit(lx->idle, target)) return target;
    if (prev != target && lx->span[LLC][prev] == d && lx_may(t, prev) && lx_bit(lx->idle, prev)) return prev;
    if (!lx->dom_idle[LLC][d]) return target;
    bool smt = lx->nr_span[PHYS] < lx->nr_cpus;
    while (lx->members[LLC][from + at] != target) at++;
    for (uint32_t i = 1; i <= n; i++) {
        uint32_t c = lx->members[LLC][from + (at + i) % n];
        if (!lx_bit(lx->idle, c) || !lx_may(t, c)) continue;
        if (!smt || whole_core_idle(lx, c)) return c;
        if (any == LX_NONE) any = c;
    }
    return any == LX_NONE ? target : any;
}

uint32_t lx_place_wake(struct lx *lx, struct lx_task *t, uint32_t waker)
{
    uint32_t prev = t->cpu, this = waker == LX_NONE ? prev : waker;
    if (t->bound != LX_NONE) return t->bound;
    if (t->cls != LX_NORMAL) return lx_rt_place(lx, t, prev);
    if (!lx_may(t, prev)) prev = lx_any_allowed(lx, t, prev);
    bool wide = waker != LX_NONE && wakes_widely(lx, t, waker);
    uint32_t target = !wide && lx_may(t, this) ? affine(lx, t, this, prev) : prev;
    return idle_sibling(lx, t, prev, target);
}
