/* sim/linux/fair.c - EEVDF and CFS on one CPU.  SPDX-License-Identifier: Apache-2.0
 *
 * Virtual time passes for a task at LX_WEIGHT / weight of real time.  The queue's average V,
 * weighted, is what each would have under ideal sharing; a task's lag is V - vruntime.
 *   EEVDF runs, among the eligible (lag >= 0), the one with the earliest deadline (start of its request + slice).
 *   CFS runs the one with the least vruntime, and switches at ticks and wake-ups by thresholds. */
#include "sim/linux/linux.h"

/* A whole request of the task, in virtual time. */
static int64_t request(const struct lx_task *t) { return lx_virtual(t->slice, t->weight); }
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

/* The least vruntime of those that wait; `otherwise` if none does. */
static int64_t least_waiting(const struct lx *lx, const struct lx_queue *q, int64_t otherwise)
{ return q->root ? lx_at(lx, q->root)->min_v : otherwise; }

/* CFS: the queue's virtual time is the least of those here and never goes back. */
void lx_cfs_advance(const struct lx *lx, struct lx_queue *q)
{
    const struct lx_task *t = running(lx, q);
    int64_t v = least_waiting(lx, q, t ? t->vruntime : q->min_v);
    if (t && t->vruntime < v) v = t->vruntime;
    if (v > q->min_v) q->min_v = v;
}

void lx_fair_account(struct lx *lx, struct lx_queue *q)
{
    struct lx_task *t = running(lx, q);
    uint64_t ns = t ? lx_charge(lx, t) : 0;
    if (!ns) return;
    int64_t dv = lx_virtual(ns, t->weight);
    t->vruntime += dv;
    q->sum_wv += (lx_wide)t->weight * dv;
    if (!eevdf(lx)) {
        lx_cfs_advance(lx, q);
    } else if (t->vruntime >= t->deadline) { /* the request is served: the next one begins, and others may come first */
        t->deadline = t->vruntime + request(t);
        if (lx_runnable(q) > 1) lx_resched(lx, q->cpu);
    }
}

/* ---- Joining and leaving -------------------------------------------------------------------------------- */

/* EEVDF: the lag a task leaves with, bounded so that a long sleep neither earns nor costs more than
 * two slices (a tick at least). */
static int64_t bounded_lag(const struct lx *lx, const struct lx_queue *q, const struct lx_task *t)
{
    int64_t lag = lx_average(q) - t->vruntime, most = 2 * request(t), tick = lx_virtual(lx->cfg.tick, t->weight);
    if (most < tick) most = tick;
    if (lag < -most) return -most;
    return lag < most ? lag : most;
}

/* The average A of weight W moves towards a newcomer of weight w.  For its lag to be l once it is
 * in, it has to join at A - x with x - x w / (W + w) = l, that is x = l (W + w) / W. */
static void eevdf_join(const struct lx_queue *q, struct lx_task *t, enum lx_why why)
{
    int64_t length = why == LX_FOR_MOVE ? t->rest : t->fresh ? request(t) / 2 : request(t);
    lx_wide x = 0;
    if (q->sum_w && !t->fresh) x = (lx_wide)t->lag * (lx_wide)(q->sum_w + t->weight) / (lx_wide)q->sum_w;
    t->vruntime = lx_average(q) - (int64_t)x;
    t->deadline = t->vruntime + length;
}

/* CFS: the task's part of the period, among `nr` tasks of weight `sum`.  The period is stretched
 * when there are too many to give each the least granularity. */
static uint64_t cfs_turn(const struct lx *lx, const struct lx_task *t, uint64_t nr, uint64_t sum)
{
    uint64_t least = nr * lx->cfg.min_granularity, period = least > lx->cfg.latency ? least : lx->cfg.latency;
    return (uint64_t)((lx_wide)period * t->weight / (lx_wide)sum);
}

static void cfs_join(const struct lx *lx, const struct lx_queue *q, struct lx_task *t, enum lx_why why)
{
    int64_t asleep = q->min_v - (int64_t)(lx->cfg.latency / 2); /* sleepers get at most half a period */
    if (why == LX_FOR_MOVE)
        t->vruntime = q->min_v - t->lag;
    else if (t->fresh) /* begins with a debt of one turn */
        t->vruntime = q->min_v + lx_virtual(cfs_turn(lx, t, lx_runnable(q) + 1, q->sum_w + t->weight), t->weight);
    else if (t->vruntime < asleep)
        t->vruntime = asleep;
}

void lx_fair_enqueue(struct lx *lx, struct lx_queue *q, struct lx_task *t, enum lx_why why)
{
    lx_fair_account(lx, q);
    if (eevdf(lx)) eevdf_join(q, t, why);
    else cfs_join(lx, q, t, why);
    t->fresh = false;
    weigh(q, t, 1);
    lx_tree_add(lx, q, t);
}

void lx_fair_dequeue(struct lx *lx, struct lx_queue *q, struct lx_task *t)
{
    lx_fair_account(lx, q);
    if (q->curr != t->id) lx_tree_del(lx, q, t);
    if (q->biased == t->id + 1) q->biased = 0;
    if (eevdf(lx)) {
        t->lag = bounded_lag(lx, q, t);
        t->rest = t->deadline - t->vruntime;
        q->min_v = lx_average(q); /* where virtual time stands if nobody is left */
    }
    weigh(q, t, -1);
    if (!eevdf(lx)) {
        lx_cfs_advance(lx, q);
        t->lag = q->min_v - t->vruntime;
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
static void let_sleep(struct lx *lx, struct lx_queue *q, struct lx_task *t)
{
    q->nr_delayed--;
    q->nr--;
    lx_fair_dequeue(lx, q, t);
    if (t->lag > 0) t->lag = 0;
    t->state = LX_SLEEPING;
}

void lx_fair_undelay(struct lx *lx, struct lx_queue *q, struct lx_task *t)
{
    lx_fair_account(lx, q);
    q->nr_delayed--;
    t->state = LX_RUNNABLE;
    lx_count(lx, q, 1, t->weight);
    if (t->vruntime >= lx_average(q)) return;
    lx_fair_dequeue(lx, q, t); /* it has paid, and earns nothing while it sleeps: as if it had left in time and came now */
    t->lag = 0;
    lx_fair_enqueue(lx, q, t, LX_FOR_WAKE);
}

/* ---- Who runs ------------------------------------------------------------------------------------------- */

/* EEVDF's choice: of the waiting task and the running one, which is in no tree, if both may run. */
static struct lx_task *eevdf_best(const struct lx *lx, const struct lx_queue *q)
{
    struct lx_task *mine = running(lx, q), *other = lx_tree_pick(lx, q);
    if (!mine || !lx_eligible(q, mine->vruntime)) return other;
    bool shielded = lx->cfg.run_to_parity && mine->vruntime < mine->shield;
    return !other || shielded || mine->deadline < other->deadline ? mine : other;
}

/* CFS: one task of a queue may have a bias: the last that yielded counts as one that has had more,
 * the last that a wake-up preempted as one that has had less. */
static int64_t cfs_rank(const struct lx_queue *q, const struct lx_task *t)
{ return t->vruntime + (q->biased == t->id + 1 ? q->bias : 0); }

/* The least rank: of two that wait one is without bias, and those behind them have more. */
static struct lx_task *cfs_best(const struct lx *lx, const struct lx_queue *q)
{
    struct lx_task *first = lx_tree_first(lx, q), *best = first;
    struct lx_task *rival[3] = { first ? lx_tree_next(lx, first) : NULL, running(lx, q), lx_at(lx, q->biased) };
    for (int i = 0; i < 3; i++)
        if (rival[i] && (!best || cfs_rank(q, rival[i]) < cfs_rank(q, best))) best = rival[i];
    return best;
}

struct lx_task *lx_fair_pick(struct lx *lx, struct lx_queue *q)
{
    lx_fair_account(lx, q);
    if (!eevdf(lx)) return cfs_best(lx, q);
    struct lx_task *t;
    while ((t = eevdf_best(lx, q)) != NULL && t->state == LX_DELAYED) let_sleep(lx, q, t);
    return t;
}

void lx_fair_set(struct lx *lx, struct lx_queue *q, struct lx_task *t)
{
    lx_tree_del(lx, q, t);
    if (q->biased == t->id + 1) q->biased = 0;
    t->shield = t->deadline;
}

void lx_fair_put(struct lx *lx, struct lx_queue *q, struct lx_task *t)
{ lx_tree_add(lx, q, t); }

void lx_fair_wakeup(struct lx *lx, struct lx_queue *q, struct lx_task *t)
{
    lx_fair_account(lx, q);
    struct lx_task *mine = running(lx, q);
    if (mine && eevdf(lx)) {
        if (eevdf_best(lx, q) != t) return;
    } else if (mine) {
        int64_t least = lx_virtual(lx->cfg.wakeup_granularity, t->weight);
        if (mine->vruntime - t->vruntime <= least) return;
        if (q->nr * lx->cfg.min_granularity >= lx->cfg.latency) { /* many wait: it goes on soon, its cache is warm */
            q->biased = mine->id + 1;
            q->bias = -least;
        }
    }
    if (mine) lx->stats.preemptions++;
    lx_resched(lx, q->cpu);
}

/* CFS: a turn lasts as long as the task's part of the period, or the least granularity if it is
 * more than such a part ahead of another. (EEVDF's requests end in lx_fair_account.) */
void lx_fair_tick(struct lx *lx, struct lx_queue *q)
{
    lx_fair_account(lx, q);
    const struct lx_task *t = running(lx, q);
    if (eevdf(lx) || !t || q->nr < 2) return;
    uint64_t turn = cfs_turn(lx, t, lx_runnable(q), q->sum_w);
    if (t->vruntime - least_waiting(lx, q, t->vruntime) > (int64_t)turn) turn = lx->cfg.min_granularity;
    if (t->ran - t->ran_before <= turn) return;
    q->biased = 0;
    lx_resched(lx, q->cpu);
}

void lx_fair_yield(struct lx *lx, struct lx_queue *q, struct lx_task *t)
{
    lx_fair_account(lx, q);
    if (q->nr < 2) return;
    if (!eevdf(lx)) {
        q->biased = t->id + 1;
        q->bias = lx_virtual(lx->cfg.wakeup_granularity, t->weight);
        return;
    }
    int64_t left = t->deadline - t->vruntime;
    if (lx->cfg.yield_forfeits && left > 0 && lx_eligible(q, t->vruntime)) {
        t->vruntime += left;
        q->sum_wv += (lx_wide)t->weight * left;
    }
    t->deadline += request(t);
    t->shield = t->vruntime; /* nothing protects a yielder from whoever is eligible */
}
