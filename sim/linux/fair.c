/* sim/linux/fair.c - EEVDF and CFS on one CPU.  SPDX-License-Identifier: Apache-2.0
 *
 * Virtual time passes for a task at LX_WEIGHT / weight of real time.  The queue's average V, weighted, is what each
 * would have under ideal sharing; a task's lag is V - vruntime.
 *   EEVDF runs, among the eligible (lag >= 0), the one with the earliest deadline (start of its request + slice).
 *   CFS runs the one with the least vruntime, and switches at ticks and wake-ups by thresholds. */
#include "sim/linux/linux.h"

static int64_t vslice(const struct lx_task *t) { return lx_virtual(t->slice, t->weight); }
static bool eevdf(const struct lx *lx) { return lx->cfg.fair == LX_EEVDF; }

/* The running task if it is a fair one that goes on. */
static struct lx_task *running(const struct lx *lx, const struct lx_queue *q)
{
    if (q->curr == LX_NONE) return NULL;
    struct lx_task *t = lx->task[q->curr];
    return t->cls == LX_NORMAL && t->state == LX_RUNNING ? t : NULL;
}

bool lx_eligible(const struct lx_queue *q, int64_t vruntime)
{ return (lx_wide)vruntime * (lx_wide)q->sum_w <= q->sum_wv; }

int64_t lx_average(const struct lx_queue *q)
{
    if (!q->sum_w) return q->min_v;
    lx_wide w = (lx_wide)q->sum_w, v = q->sum_wv / w;
    return (int64_t)(v - (q->sum_wv % w < 0)); /* round down */
}

static void weigh(struct lx_queue *q, const struct lx_task *t, int sign)
{
    q->sum_wv += (lx_wide)sign * t->weight * t->vruntime;
    q->sum_w = sign > 0 ? q->sum_w + t->weight : q->sum_w - t->weight;
}

/* CFS: the least vruntime of those here, which never goes back. */
static void cfs_advance(struct lx *lx, struct lx_queue *q)
{
    const struct lx_task *t = running(lx, q), *first = lx_tree_first(lx, q);
    if (!t && !first) return;
    int64_t v = t ? t->vruntime : first->vruntime;
    if (first && first->vruntime < v) v = first->vruntime;
    if (v > q->min_v) q->min_v = v;
}

void lx_fair_account(struct lx *lx, struct lx_queue *q)
{
    struct lx_task *t = running(lx, q);
    if (!t || lx->now <= t->exec_start) return;
    uint64_t ns = lx->now - t->exec_start;
    t->exec_start = lx->now;
    t->sum_exec += ns;
    int64_t dv = lx_virtual(ns, t->weight);
    t->vruntime += dv;
    q->sum_wv += (lx_wide)t->weight * dv;
    if (!eevdf(lx)) {
        cfs_advance(lx, q);
        return;
    }
    if (t->vruntime < t->deadline) return;
    t->deadline = t->vruntime + vslice(t); /* the request is served: the next one */
    if (lx_runnable(q) > 1) lx_resched(lx, q->cpu);
}

/* The lag a task leaves with, bounded so that a long sleep neither earns nor costs more than two slices. */
static int64_t lag_of(const struct lx *lx, const struct lx_queue *q, const struct lx_task *t)
{
    uint64_t ns = 2 * t->slice > lx->cfg.tick ? 2 * t->slice : lx->cfg.tick;
    int64_t limit = lx_virtual(ns, t->weight), lag = lx_average(q) - t->vruntime;
    return lag > limit ? limit : lag < -limit ? -limit : lag;
}

static void eevdf_place(struct lx_queue *q, struct lx_task *t, enum lx_why why)
{
    int64_t lag = t->fresh ? 0 : t->lag;
    /* Joining moves the average towards the newcomer: stretch its lag so that it is the same afterwards. */
    if (q->sum_w) lag = (int64_t)((lx_wide)lag * (lx_wide)(q->sum_w + t->weight) / (lx_wide)q->sum_w);
    else lag = 0;
    t->vruntime = lx_average(q) - lag;
    if (why == LX_FOR_MOVE) t->deadline += t->vruntime; /* made relative when it left */
    else t->deadline = t->vruntime + (t->fresh ? vslice(t) / 2 : vslice(t));
}

/* The period is stretched when there are too many to give each the least granularity. */
static uint64_t cfs_slice(const struct lx *lx, const struct lx_queue *q, const struct lx_task *t, bool joins)
{
    uint64_t nr = lx_runnable(q) + joins, sum = q->sum_w + (joins ? t->weight : 0);
    uint64_t period = nr * lx->cfg.min_granularity;
    if (period < lx->cfg.latency) period = lx->cfg.latency;
    uint64_t slice = (uint64_t)((lx_wide)period * t->weight / (lx_wide)(sum ? sum : 1));
    return slice;
}

static void cfs_place(struct lx *lx, struct lx_queue *q, struct lx_task *t, enum lx_why why)
{
    if (why == LX_FOR_MOVE) {
        t->vruntime += q->min_v; /* made relative when it left */
        return;
    }
    int64_t v = q->min_v;
    if (t->fresh) v += lx_virtual(cfs_slice(lx, q, t, true), t->weight); /* begins with a debt of one turn */
    else v -= (int64_t)(lx->cfg.latency / 2);                            /* sleepers get at most half a period */
    if (t->fresh || v > t->vruntime) t->vruntime = v;
}

void lx_fair_enqueue(struct lx *lx, struct lx_queue *q, struct lx_task *t, enum lx_why why)
{
    lx_fair_account(lx, q);
    if (eevdf(lx)) eevdf_place(q, t, why);
    else cfs_place(lx, q, t, why);
    t->fresh = false;
    weigh(q, t, 1);
    lx_tree_add(lx, q, t);
}

void lx_fair_dequeue(struct lx *lx, struct lx_queue *q, struct lx_task *t, bool sleeps)
{
    lx_fair_account(lx, q);
    bool in_tree = q->curr != t->id;
    t->lag = eevdf(lx) ? lag_of(lx, q, t) : 0;
    if (in_tree) lx_tree_del(lx, q, t);
    int64_t average = lx_average(q);
    weigh(q, t, -1);
    if (eevdf(lx)) q->min_v = average; /* where virtual time stands if nobody is left */
    if (!sleeps && eevdf(lx)) t->deadline -= t->vruntime;
    if (q->skip == t->id + 1) q->skip = 0;
    if (q->last == t->id + 1) q->last = 0;
    if (!eevdf(lx)) {
        cfs_advance(lx, q);
        if (!sleeps) t->vruntime -= q->min_v;
    }
}

bool lx_fair_delay(struct lx *lx, struct lx_queue *q, struct lx_task *t)
{
    if (!eevdf(lx) || !lx->cfg.delay_dequeue || lx_eligible(q, t->vruntime)) return false;
    t->state = LX_DELAYED;
    q->curr = LX_NONE;
    lx_tree_add(lx, q, t);
    q->nr_delayed++;
    lx_count(lx, q, -1, -(int64_t)t->weight);
    return true;
}

/* A DELAYED task that has been picked has paid: now it sleeps. */
static void finish_delay(struct lx *lx, struct lx_queue *q, struct lx_task *t)
{
    q->nr_delayed--;
    q->nr--;
    lx_fair_dequeue(lx, q, t, true);
    if (t->lag > 0) t->lag = 0;
    t->state = LX_SLEEPING;
}

void lx_fair_undelay(struct lx *lx, struct lx_queue *q, struct lx_task *t)
{
    lx_fair_account(lx, q);
    q->nr_delayed--;
    t->state = LX_RUNNABLE;
    lx_count(lx, q, 1, t->weight);
    if (lag_of(lx, q, t) <= 0) return;
    lx_tree_del(lx, q, t); /* it earns nothing while it sleeps */
    weigh(q, t, -1);
    t->lag = 0;
    eevdf_place(q, t, LX_FOR_WAKE);
    weigh(q, t, 1);
    lx_tree_add(lx, q, t);
}

/* EEVDF's choice; the running task competes.  No side effects. */
static struct lx_task *eevdf_best(const struct lx *lx, struct lx_queue *q)
{
    struct lx_task *curr = running(lx, q);
    if (curr && q->nr == 1) return curr;
    if (curr && !lx_eligible(q, curr->vruntime)) curr = NULL;
    if (curr && lx->cfg.run_to_parity && curr->vruntime < curr->protect) return curr;
    struct lx_task *t = lx_tree_pick((struct lx *)lx, q);
    if (!t || (curr && curr->deadline < t->deadline)) t = curr;
    /* Someone is always at or below the average; rounding cannot hide him as the test is exact. */
    return t;
}

/* CFS: may `t` run rather than `first`, who is entitled? */
static bool close_enough(const struct lx *lx, const struct lx_task *t, const struct lx_task *first)
{ return t->vruntime - first->vruntime <= lx_virtual(lx->cfg.wakeup_granularity, first->weight); }

static struct lx_task *cfs_best(struct lx *lx, struct lx_queue *q)
{
    struct lx_task *curr = running(lx, q), *first = lx_tree_first(lx, q), *t = first;
    if (curr && (!first || curr->vruntime < first->vruntime)) t = curr;
    if (!t) return NULL;
    const struct lx_task *left = t;
    if (q->skip == t->id + 1) {
        struct lx_task *second = t == curr ? first : lx_tree_next(lx, t);
        if (t != curr && curr && (!second || curr->vruntime < second->vruntime)) second = curr;
        if (second && close_enough(lx, second, left)) t = second;
    }
    struct lx_task *last = lx_at(lx, q->last);
    if (last && close_enough(lx, last, left)) t = last;
    return t;
}

struct lx_task *lx_fair_pick(struct lx *lx, struct lx_queue *q)
{
    lx_fair_account(lx, q);
    if (!eevdf(lx)) return cfs_best(lx, q);
    for (;;) {
        struct lx_task *t = eevdf_best(lx, q);
        if (!t || t->state != LX_DELAYED) return t;
        finish_delay(lx, q, t);
    }
}

void lx_fair_set(struct lx *lx, struct lx_queue *q, struct lx_task *t)
{
    lx_tree_del(lx, q, t);
    t->exec_start = lx->now;
    t->start_exec = t->sum_exec;
    t->protect = t->deadline;
    if (q->skip == t->id + 1) q->skip = 0;
    if (q->last == t->id + 1) q->last = 0;
}

void lx_fair_put(struct lx *lx, struct lx_queue *q, struct lx_task *t)
{ lx_tree_add(lx, q, t); }

void lx_fair_wakeup(struct lx *lx, struct lx_queue *q, struct lx_task *t)
{
    lx_fair_account(lx, q);
    struct lx_task *curr = running(lx, q);
    if (!curr) {
        lx_resched(lx, q->cpu);
        return;
    }
    if (eevdf(lx)) {
        if (eevdf_best(lx, q) == t) {
            lx->stats.preemptions++;
            lx_resched(lx, q->cpu);
        }
        return;
    }
    if (curr->vruntime - t->vruntime <= lx_virtual(lx->cfg.wakeup_granularity, t->weight)) return;
    lx->stats.preemptions++;
    lx_resched(lx, q->cpu);
    if (q->nr >= 8) q->last = curr->id + 1; /* many wait: the preempted one goes on soon, its cache is warm */
}

void lx_fair_tick(struct lx *lx, struct lx_queue *q)
{
    lx_fair_account(lx, q);
    struct lx_task *curr = running(lx, q);
    if (eevdf(lx) || !curr || q->nr < 2) return;
    uint64_t ideal = cfs_slice(lx, q, curr, false), ran = curr->sum_exec - curr->start_exec;
    if (ran > ideal) {
        q->skip = q->last = 0;
        lx_resched(lx, q->cpu);
        return;
    }
    if (ran < lx->cfg.min_granularity) return;
    const struct lx_task *first = lx_tree_first(lx, q);
    if (first && curr->vruntime - first->vruntime > (int64_t)ideal) lx_resched(lx, q->cpu);
}

void lx_fair_yield(struct lx *lx, struct lx_queue *q, struct lx_task *t)
{
    lx_fair_account(lx, q);
    if (q->nr < 2) return;
    if (!eevdf(lx)) {
        q->last = 0;
        q->skip = t->id + 1;
        return;
    }
    if (lx->cfg.yield_forfeits && lx_eligible(q, t->vruntime) && t->deadline > t->vruntime) {
        q->sum_wv += (lx_wide)t->weight * (t->deadline - t->vruntime);
        t->vruntime = t->deadline;
    }
    t->deadline += vslice(t);
    t->protect = t->vruntime; /* nothing protects a yielder from whoever is eligible */
}
