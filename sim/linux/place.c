/* sim/linux/place.c - on which CPU a task wakes up.  SPDX-License-Identifier: Apache-2.0
 *
 * New tasks go down the levels of the machine to the least loaded group, then CPU.  Waking tasks
 * choose between their last CPU and the waker's, then look for an idle CPU below the same
 * last-level cache. */
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

/* Is group a (of the level) clearly roomier than b?  It has more idle CPUs, else less load per CPU,
 * by `pct`. */
static bool roomier(const struct lx *lx, int level, uint32_t a, uint32_t b, uint32_t pct)
{
    const uint32_t *idle = lx->dom_idle[level], *first = lx->first[level];
    const uint64_t *w = lx->dom_w[level];
    if (idle[a] || idle[b]) return idle[a] > idle[b];
    return w[a] * (first[b + 1] - first[b]) * pct < w[b] * (first[a + 1] - first[a]) * 100;
}

/* The roomiest group of `level` within domain d of level + 1; `near`'s own unless another is
 * clearly better.  LX_NONE: it may use none. */
static uint32_t choose_group(const struct lx *lx, const struct lx_task *t, int level, uint32_t d, uint32_t near)
{
    const uint32_t *span = lx->span[level], *cpus = lx->members[level + 1], *end = lx->first[level + 1] + d;
    uint32_t own = span[near], best = LX_NONE;
    bool home = false;
    for (uint32_t g = span[cpus[end[0]]]; g <= span[cpus[end[1] - 1]]; g++) { /* domains nest: the groups have consecutive numbers */
        if (!reaches(lx, t, level, g)) continue;
        home |= g == own;
        if (best == LX_NONE || roomier(lx, level, g, best, 100)) best = g;
    }
    return home && !roomier(lx, level, best, own, level >= LLC ? lx->cfg.far_pct : lx->cfg.near_pct) ? own : best;
}

uint32_t lx_place_new(struct lx *lx, struct lx_task *t, uint32_t near)
{
    if (t->bound != LX_NONE) return t->bound;
    if (t->cls != LX_NORMAL) return lx_rt_place(lx, t, near);
    uint32_t d = 0;
    for (int level = NODE; level >= PHYS; level--) {
        d = choose_group(lx, t, level, d, near);
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

/* Does the task leave its last CPU, which is busy, for its waker's?  If that is idle and has the
 * same cache; else if it would be less loaded, clearly so, with the task than the last one is. */
static bool follows(const struct lx *lx, const struct lx_task *t, uint32_t waker, uint32_t last)
{
    if (!lx_may(t, waker) || lx_bit(lx->idle, last)) return false;
    if (lx_bit(lx->idle, waker) && lx->span[LLC][waker] == lx->span[LLC][last]) return true;
    return (lx->rq[waker].sum_w + t->weight) * 100 < lx->rq[last].sum_w * lx->cfg.follow_pct;
}

static bool whole_core_idle(const struct lx *lx, uint32_t c)
{
    uint32_t p = lx->span[PHYS][c];
    return lx->dom_idle[PHYS][p] == lx->first[PHYS][p + 1] - lx->first[PHYS][p];
}

/* The idle CPU of that cache that comes next in the machine's order, from `start` on and around;
 * LX_NONE: there is none. */
static uint32_t next_idle(const struct lx *lx, const struct lx_task *t, uint32_t start, bool whole)
{
    uint32_t d = lx->span[LLC][start], after = LX_NONE, around = LX_NONE;
    bool passed = false;
    for (uint32_t i = lx->first[LLC][d]; i < lx->first[LLC][d + 1] && after == LX_NONE; i++) {
        uint32_t c = lx->members[LLC][i];
        bool fits = lx_bit(lx->idle, c) && lx_may(t, c) && (!whole || whole_core_idle(lx, c));
        if (c == start) passed = true;
        if (fits && passed) after = c;
        else if (fits && around == LX_NONE) around = c;
    }
    return after != LX_NONE ? after : around;
}

/* One that may be had at once if there is one: by the task's last cache contents, then by how much
 * of a core it gets. */
static uint32_t idle_near(const struct lx *lx, const struct lx_task *t, uint32_t at, uint32_t last)
{
    uint32_t d = lx->span[LLC][at], c = LX_NONE;
    if (!lx->dom_idle[LLC][d] || (lx_bit(lx->idle, at) && lx_may(t, at))) return at;
    if (lx->span[LLC][last] == d && lx_bit(lx->idle, last) && lx_may(t, last)) return last;
    for (int whole = 1; whole >= 0 && c == LX_NONE; whole--) c = next_idle(lx, t, at, whole);
    return c == LX_NONE ? at : c;
}

uint32_t lx_place_wake(struct lx *lx, struct lx_task *t, uint32_t waker)
{
    uint32_t last = t->cpu;
    if (t->bound != LX_NONE) return t->bound;
    if (t->cls != LX_NORMAL) return lx_rt_place(lx, t, last);
    if (waker == LX_NONE) waker = last;
    if (!lx_may(t, last)) last = lx_any_allowed(lx, t, last);
    return idle_near(lx, t, follows(lx, t, waker, last) ? waker : last, last);
}
