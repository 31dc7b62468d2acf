/* sim/linux/unproductive.c - queues of fair tasks that do nothing but yield (sim/unproductive.c).  SPDX-License-Identifier: Apache-2.0
 *
 * `id`: the yielders; the others of the queue wait for their turn and stay where they are
 * meanwhile.  Both questions are answered with lower bounds: how long is surely none of the others
 * chosen; how often will the same yielders surely take the same turns.
 *   EEVDF chooses the earliest deadline of those that are eligible.  Each yield moves the yielder's deadline by a whole request, so that who has
 *   waited so for long may come after everybody else for long, even when it has something to do (Linux 6.6 to 6.17 are like that).
 *   CFS chooses the least virtual runtime, the one that has just yielded counting as having had `bias` more. */
#include "sim/linux/linux.h"

enum { MARGIN_NS = 10000 };

static bool yields(const uint32_t *id, uint32_t nr, uint32_t task)
{
    for (uint32_t i = 0; i < nr; i++)
        if (id[i] == task) return true;
    return false;
}

/* ns that a task of that weight runs while its virtual runtime grows by v. */
static uint64_t real(lx_wide v, uint64_t weight)
{
    lx_wide ns = v <= 0 ? 0 : v * (lx_wide)weight / LX_WEIGHT;
    return ns > INT64_MAX ? INT64_MAX : (uint64_t)ns;
}

/* ---- for how long ------------------------------------------------------------------------------------------ */

/* EEVDF: until `other` is eligible, if it is not: the sum grows by LX_WEIGHT a ns at most, whoever
 * runs. */
static uint64_t until_eligible(const struct lx_queue *q, const struct lx_task *other)
{ return real((lx_wide)other->vruntime * (lx_wide)q->sum_w - q->sum_wv, 1); }

/* EEVDF: for so long yielder t, if nobody else runs, stays eligible and comes before `other`.  (If
 * another runs, for longer.)  Running moves it by LX_WEIGHT / weight a ns, and the average by
 * LX_WEIGHT / sum_w. */
static uint64_t comes_before(const struct lx_queue *q, const struct lx_task *t, const struct lx_task *other, uint64_t yield_ns)
{
    lx_wide room = q->sum_wv - (lx_wide)t->vruntime * (lx_wide)q->sum_w;       /* (average - vruntime) * sum_w */
    int64_t ahead = other->deadline - t->deadline;
    uint64_t rest = q->sum_w - t->weight, turns = ahead > 0 ? (uint64_t)(ahead / lx_virtual(t->slice, t->weight)) : 0;
    uint64_t eligible = !rest ? INT64_MAX : real(room / (lx_wide)rest, t->weight);
    if (turns > INT64_MAX / 1000000000) turns = INT64_MAX / 1000000000;
    return room < 0 ? 0 : eligible < turns * yield_ns ? eligible : turns * yield_ns;
}

static uint64_t eevdf_ns(const struct lx *lx, const struct lx_queue *q, const uint32_t *id, uint32_t nr, const struct lx_task *other, uint64_t yield_ns)
{
    uint64_t most = until_eligible(q, other);
    for (uint32_t i = 0; i < nr; i++) {
        uint64_t ns = comes_before(q, lx->task[id[i]], other, yield_ns);
        if (ns > most) most = ns;
    }
    return most;
}

/* CFS: as long as two yielders have had less than `other`, as one of them has no bias; or a single
 * one, bias included.  The one with the largest gap may be the one that is left. */
static uint64_t cfs_ns(const struct lx *lx, const uint32_t *id, uint32_t nr, const struct lx_task *other)
{
    uint64_t sum = 0, largest = 0, alone = 0;
    for (uint32_t i = 0; i < nr; i++) {
        const struct lx_task *t = lx->task[id[i]];
        int64_t gap = other->vruntime - t->vruntime;
        uint64_t ns = real(gap, t->weight), one = real(gap - lx_virtual(lx->cfg.wakeup_granularity, t->weight), t->weight);
        sum += ns;
        if (ns > largest) largest = ns;
        if (one > alone) alone = one;
    }
    return sum - largest > alone ? sum - largest : alone;
}

/* yield_ns: what a yield takes at least. */
uint64_t lx_unproductive_ns(const struct lx *lx, uint32_t cpu, const uint32_t *id, uint32_t nr, uint64_t yield_ns)
{
    const struct lx_queue *q = &lx->rq[cpu];
    uint64_t least = UINT64_MAX / 4;
    if (q->nr_rt || !nr || (lx->cfg.yield_forfeits && q->nr > nr)) return 0;    /* (what is forfeited is time, too, that nobody runs) */
    for (const struct lx_task *t = lx_tree_first(lx, q); t; t = lx_tree_next(lx, t)) {
        if (yields(id, nr, t->id)) continue;
        uint64_t ns = lx->cfg.fair == LX_EEVDF ? eevdf_ns(lx, q, id, nr, t, yield_ns) : cfs_ns(lx, id, nr, t);
        if (ns < least) least = ns;
        if (least <= MARGIN_NS) return 0;
    }
    return least - MARGIN_NS;
}

/* ---- how often --------------------------------------------------------------------------------------------- */

struct movers { int64_t had, due, dv, dd; uint64_t weight; };       /* the most that one has had, the latest deadline; what a period adds */

static uint64_t times(lx_wide room, lx_wide each)
{
    lx_wide n = room > 2 * each ? room / each - 2 : 0;
    return n > INT64_MAX ? INT64_MAX : (uint64_t)n;
}

/* So many periods without `other` being chosen, and one more. */
static uint64_t before_other(const struct lx *lx, const struct lx_queue *q, const struct movers *m, uint32_t nr, const struct lx_task *other)
{
    if (lx->cfg.fair != LX_EEVDF) {
        int64_t bias = nr == 1 ? lx_virtual(lx->cfg.wakeup_granularity, (uint32_t)m->weight) : 0;
        return times((lx_wide)other->vruntime - m->had - bias, m->dv);
    }
    uint64_t eligible = times((lx_wide)other->vruntime * (lx_wide)q->sum_w - q->sum_wv, (lx_wide)m->dv * (lx_wide)m->weight);
    uint64_t later = times((lx_wide)other->deadline - m->due, m->dd);
    return eligible > later ? eligible : later;
}

uint64_t lx_unproductive_most(const struct lx *lx, uint32_t cpu, const uint32_t *id, uint32_t nr, int64_t dv, int64_t dd, uint64_t n)
{
    const struct lx_queue *q = &lx->rq[cpu];
    struct movers m = {.had = INT64_MIN, .due = INT64_MIN, .dv = dv, .dd = dd};
    bool any = false;
    if (dv <= 0 || (lx->cfg.fair == LX_EEVDF && dd < dv)) return 0;     /* (requests would end of themselves) */
    for (uint32_t i = 0; i < nr; i++) {
        const struct lx_task *t = lx->task[id[i]];
        if (t->vruntime > m.had) m.had = t->vruntime;
        if (t->deadline > m.due) m.due = t->deadline;
        m.weight += t->weight;
    }
    for (const struct lx_task *t = lx_tree_first(lx, q); t; t = lx_tree_next(lx, t)) {
        if (yields(id, nr, t->id)) continue;
        any = true;
        uint64_t most = before_other(lx, q, &m, nr, t);
        if (most < n) n = most;
    }
    if (!any || lx->cfg.fair != LX_EEVDF) return n;
    /* Deadlines alone decide between them as long as all are eligible: (had + (n + 1) dv) sum_w <=
     * sum_wv + n dv weight. */
    lx_wide room = q->sum_wv - (lx_wide)m.had * (lx_wide)q->sum_w - (lx_wide)dv * (lx_wide)q->sum_w, each = (lx_wide)dv * (lx_wide)(q->sum_w - m.weight);
    uint64_t most = room < 0 ? 0 : times(room, each);
    return most < n ? most : n;
}

void lx_unproductive_skip(struct lx *lx, uint32_t cpu, const uint32_t *id, uint32_t nr, int64_t dv, int64_t dd, const uint64_t *ran, uint64_t n, uint64_t ns)
{
    struct lx_queue *q = &lx->rq[cpu];
    uint32_t order[LX_UNPRODUCTIVE], k = 0;
    for (uint32_t i = 0; i < nr; i++) {         /* those that wait, by when they came */
        uint32_t at = k;
        if (id[i] == q->curr) continue;
        for (; at && lx->task[order[at - 1]]->seq > lx->task[id[i]]->seq; at--) order[at] = order[at - 1];
        order[at] = id[i];
        k++;
    }
    for (uint32_t i = 0; i < k; i++) lx_tree_del(lx, q, lx->task[order[i]]);
    for (uint32_t i = 0; i < nr; i++) {
        struct lx_task *t = lx->task[id[i]];
        t->vruntime += (int64_t)n * dv;
        t->deadline += (int64_t)n * dd;
        t->shield += (int64_t)n * (id[i] == q->curr ? dd : dv);
        q->sum_wv += (lx_wide)t->weight * (lx_wide)dv * (lx_wide)n;
        t->ran += n * ran[i];
        t->ran_before += n * ran[i];
        t->counted += ns;
        t->last_ran += ns;
    }
    for (uint32_t i = 0; i < k; i++) lx_tree_add(lx, q, lx->task[order[i]]);
    if (lx->cfg.fair == LX_CFS) lx_cfs_advance(lx, q);
}
