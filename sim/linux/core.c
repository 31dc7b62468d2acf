/* sim/linux/core.c - tasks, wake-ups and switches of the Linux models.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "sim/linux/linux.h"

uint32_t lx_weight_of_nice(int nice)
{
    double w = LX_WEIGHT; /* a step of one nice level is a quarter more or less */
    for (; nice > 0; nice--) w /= 1.25;
    for (; nice < 0; nice++) w *= 1.25;
    return (uint32_t)(w + 0.5);
}

void lx_defaults(struct lx_config *cfg, enum lx_fair fair, uint32_t nr_cpus, uint32_t hz)
{
    uint64_t scale = nr_cpus >= 8 ? 4 : nr_cpus >= 4 ? 3 : nr_cpus >= 2 ? 2 : 1;
    *cfg = (struct lx_config){
        .fair = fair, .tick = 1000000000u / hz, .base_slice = 700000 * scale, .run_to_parity = true,
        .delay_dequeue = true, .latency = 6000000 * scale, .min_granularity = 750000 * scale,
        .wakeup_granularity = 1000000 * scale, .rr_slice = 100000000,
        .migration_cost = 500000, .least_idle = 10000, .near_pct = 117, .far_pct = 125, .follow_pct = 108, .balance = true,
    };
}

/* ---- Birth and death of the whole ------------------------------------------------------------ */

static uint64_t place_key(const struct lx_topo *t, int level)
{ return level == 3 ? 0 : level == 2 ? t->node : (uint64_t)t->node << 32 | (level == 1 ? t->llc : t->phys); }

static int by_place(const void *a, const void *b, void *arg)
{
    const struct lx *lx = arg;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    for (int level = 2; level >= 0; level--) {
        uint64_t kx = place_key(&lx->topo[x], level), ky = place_key(&lx->topo[y], level);
        if (kx != ky) return kx < ky ? -1 : 1;
    }
    return x < y ? -1 : x > y;
}

/* CPUs in the order of the machine, so that the domains of each level are contiguous in those
 * above.  A cache that spans nodes counts as one per node: domains nest. */
static bool init_level(struct lx *lx, int level, const uint32_t *order)
{
    uint32_t n = lx->nr_cpus, nr = 0;
    lx->span[level] = calloc(n, sizeof(uint32_t));
    lx->members[level] = calloc(n, sizeof(uint32_t));
    lx->first[level] = calloc(n + 1, sizeof(uint32_t));
    lx->dom_idle[level] = calloc(n, sizeof(uint32_t));
    lx->dom_nr[level] = calloc(n, sizeof(uint32_t));
    lx->dom_w[level] = calloc(n, sizeof(uint64_t));
    if (!lx->span[level] || !lx->members[level] || !lx->first[level] || !lx->dom_idle[level] || !lx->dom_nr[level] ||
        !lx->dom_w[level])
        return false;
    for (uint32_t i = 0; i < n; i++) {
        bool begins = i == 0;
        for (int l = level; !begins && l <= 2; l++)
            begins = place_key(&lx->topo[order[i]], l) != place_key(&lx->topo[order[i - 1]], l);
        if (begins) lx->first[level][nr++] = i;
        lx->span[level][order[i]] = nr - 1;
        lx->members[level][i] = order[i];
        lx->dom_idle[level][nr - 1]++;
    }
    lx->first[level][nr] = n;
    lx->nr_span[level] = nr;
    return true;
}

bool lx_init(struct lx *lx, const struct lx_config *cfg, const struct lx_topo *topo, uint32_t nr_cpus)
{
    *lx = (struct lx){ .cfg = *cfg, .nr_cpus = nr_cpus, .words = (nr_cpus + 63) / 64, .nr_idle = nr_cpus };
    lx->topo = calloc(nr_cpus, sizeof *lx->topo);
    lx->rq = calloc(nr_cpus, sizeof *lx->rq);
    lx->idle = calloc(lx->words, 8);
    lx->resched = calloc(lx->words, 8);
    lx->scratch = calloc(lx->words, 8);
    bool ok = lx->topo && lx->rq && lx->idle && lx->resched && lx->scratch;
    if (ok) memcpy(lx->topo, topo, nr_cpus * sizeof *topo);
    uint32_t *order = calloc(nr_cpus, sizeof *order);
    for (uint32_t c = 0; order && c < nr_cpus; c++) order[c] = c;
    if (ok && order) qsort_r(order, nr_cpus, sizeof *order, by_place, lx);
    for (int level = 0; ok && level < 4; level++) ok = order && init_level(lx, level, order);
    free(order);
    if (!ok) {
        lx_fini(lx);
        return false;
    }
    for (uint32_t c = 0; c < nr_cpus; c++) {
        lx->rq[c].cpu = c;
        lx->rq[c].curr = LX_NONE;
        lx->rq[c].mean_idle = 2 * cfg->migration_cost;
        lx_bit_set(lx->idle, c);
    }
    return true;
}

void lx_fini(struct lx *lx)
{
    for (uint32_t i = 0; i < lx->nr_tasks; i++) free(lx->task[i]);
    for (uint32_t c = 0; lx->rq && c < lx->nr_cpus; c++) free(lx->rq[c].rt);
    for (int l = 0; l < 4; l++) {
        free(lx->span[l]); free(lx->members[l]); free(lx->first[l]);
        free(lx->dom_idle[l]); free(lx->dom_nr[l]); free(lx->dom_w[l]);
    }
    free(lx->task); free(lx->topo); free(lx->rq); free(lx->idle); free(lx->resched); free(lx->scratch);
    *lx = (struct lx){ 0 };
}

uint32_t lx_task_new(struct lx *lx, uint32_t prog, enum lx_class cls, uint32_t weight, uint32_t rt_prio, uint32_t cpu)
{
    if (lx->nr_tasks == lx->cap_tasks) {
        uint32_t cap = lx->cap_tasks ? 2 * lx->cap_tasks : 64;
        struct lx_task **bigger = realloc(lx->task, cap * sizeof *bigger);
        if (!bigger) return LX_NONE;
        lx->task = bigger;
        lx->cap_tasks = cap;
    }
    struct lx_task *t = calloc(1, sizeof *t);
    if (!t) return LX_NONE;
    for (uint32_t c = 0; cls != LX_NORMAL && c < lx->nr_cpus; c++)
        if (!lx->rq[c].rt && !(lx->rq[c].rt = calloc(100, sizeof(struct lx_rt_list)))) { free(t); return LX_NONE; }
    *t = (struct lx_task){ .id = lx->nr_tasks, .prog = prog, .cls = cls, .weight = weight ? weight : 1,
        .rt_prio = rt_prio < 1 ? 1 : rt_prio > 99 ? 99 : rt_prio, .cpu = cpu == LX_NONE ? 0 : cpu,
        .slice = lx->cfg.base_slice, .fresh = true, .bound = LX_NONE };
    if (cls != LX_NORMAL) lx->nr_rt++;
    lx->task[lx->nr_tasks++] = t;
    return t->id;
}

/* ---- Queues ---------------------------------------------------------------------------------- */

void lx_resched(struct lx *lx, uint32_t cpu)
{
    if (lx_bit(lx->resched, cpu)) return;
    lx_bit_set(lx->resched, cpu);
    if (lx->on_resched) lx->on_resched(lx->arg, cpu);
}

static void set_idle(struct lx *lx, uint32_t cpu, bool idle)
{
    if (lx_bit(lx->idle, cpu) == idle) return;
    int d = idle ? 1 : -1;
    if (idle) lx_bit_set(lx->idle, cpu);
    else lx_bit_clear(lx->idle, cpu);
    lx->nr_idle += (uint32_t)d;
    for (int l = 0; l < 4; l++) lx->dom_idle[l][lx->span[l][cpu]] += (uint32_t)d;
}

void lx_count(struct lx *lx, struct lx_queue *q, int nr, int64_t weight)
{
    uint32_t after = lx_runnable(q), was = after - (uint32_t)nr;
    lx->nr_overloaded += (uint32_t)((after >= 2) - (was >= 2));
    for (int l = 0; l < 4; l++) {
        uint32_t d = lx->span[l][q->cpu];
        lx->dom_nr[l][d] += (uint32_t)nr;
        lx->dom_w[l][d] += (uint64_t)weight;
    }
    if (after) set_idle(lx, q->cpu, false);
}

uint64_t lx_charge(const struct lx *lx, struct lx_task *t)
{
    uint64_t ns = lx->now > t->counted ? lx->now - t->counted : 0;
    t->ran += ns;
    t->counted += ns;
    return ns;
}

/* Brings the running task up to now. */
static void account(struct lx *lx, struct lx_queue *q)
{
    if (q->curr == LX_NONE) return;
    if (lx->task[q->curr]->cls == LX_NORMAL) lx_fair_account(lx, q);
    else lx_charge(lx, lx->task[q->curr]);
}

void lx_enqueue(struct lx *lx, struct lx_task *t, enum lx_why why)
{
    struct lx_queue *q = &lx->rq[t->cpu];
    if (!q->nr && lx_bit(lx->idle, q->cpu)) { /* the idle time ends: a running mean over eight, bounded */
        uint64_t most = 2 * lx->cfg.migration_cost, mean = (7 * q->mean_idle + (lx->now - q->idle_since)) / 8;
        q->mean_idle = mean < most ? mean : most;
    }
    if (t->cls == LX_NORMAL) {
        lx_fair_enqueue(lx, q, t, why);
    } else {
        lx_rt_enqueue(lx, q, t, false);
        q->nr_rt++;
        lx->rt_waiting++;
    }
    t->state = LX_RUNNABLE;
    q->nr++;
    lx_count(lx, q, 1, t->weight);
}

void lx_dequeue(struct lx *lx, struct lx_task *t)
{
    struct lx_queue *q = &lx->rq[t->cpu];
    bool runs = q->curr == t->id;
    if (t->cls == LX_NORMAL) {
        lx_fair_dequeue(lx, q, t);
    } else {
        account(lx, q);
        if (!runs) {
            lx_rt_dequeue(lx, q, t);
            lx->rt_waiting--;
        }
        q->nr_rt--;
    }
    q->nr--;
    lx_count(lx, q, -1, -(int64_t)t->weight);
}

void lx_move(struct lx *lx, struct lx_task *t, uint32_t to)
{
    if (lx->mover && !lx->scheduling) {
        lx->mover(lx->arg, t->id, to);
        return;
    }
    lx_dequeue(lx, t);
    t->cpu = to;
    lx_enqueue(lx, t, LX_FOR_MOVE);
    lx->stats.migrations++;
}

void lx_compete(struct lx *lx, struct lx_task *t)
{
    struct lx_queue *q = &lx->rq[t->cpu];
    const struct lx_task *curr = q->curr == LX_NONE ? NULL : lx->task[q->curr];
    if (!curr) {
        lx_resched(lx, q->cpu);
    } else if (t->cls != LX_NORMAL) {
        if (curr->cls == LX_NORMAL || t->rt_prio > curr->rt_prio) {
            lx->stats.preemptions++;
            lx_resched(lx, q->cpu);
        }
    } else if (curr->cls == LX_NORMAL) {
        lx_fair_wakeup(lx, q, t);
    }
}

/* ---- What happens to tasks ------------------------------------------------------------------- */

uint32_t lx_select(struct lx *lx, uint32_t task, uint32_t waker, enum lx_why why, uint64_t now)
{
    struct lx_task *t = lx->task[task];
    lx->now = now;
    if (why == LX_FOR_NEW) return lx_place_new(lx, t, waker == LX_NONE ? t->cpu : waker);
    if (t->state == LX_DELAYED && lx_may(t, t->cpu)) return t->cpu; /* still queued: it stays where it is */
    return lx_place_wake(lx, t, waker);
}

void lx_arrive(struct lx *lx, uint32_t task, uint32_t cpu, enum lx_why why, uint64_t now)
{
    struct lx_task *t = lx->task[task];
    lx->now = now;
    if (why != LX_FOR_MOVE) lx->stats.wakes++;
    if (t->state == LX_DELAYED) {
        lx_fair_undelay(lx, &lx->rq[t->cpu], t);
        if (cpu == t->cpu) return;
        lx_dequeue(lx, t);
        why = LX_FOR_MOVE;
    }
    if (cpu != t->cpu) {
        if (why != LX_FOR_NEW) lx->stats.migrations++;
        /* CFS keeps a sleeper's vruntime in terms of its queue; what it has relative to that one's
         * least moves along. */
        if (lx->cfg.fair == LX_CFS && t->cls == LX_NORMAL && why == LX_FOR_WAKE) {
            if (lx->visit) lx->visit(lx->arg, t->cpu);
            t->vruntime += lx->rq[cpu].min_v - lx->rq[t->cpu].min_v;
        }
    }
    t->cpu = cpu;
    t->left_queue = false;
    lx_enqueue(lx, t, why);
}

void lx_leave(struct lx *lx, uint32_t task, uint64_t now)
{
    struct lx_task *t = lx->task[task];
    lx->now = now;
    lx_dequeue(lx, t);
    t->state = LX_SLEEPING;
    t->left_queue = true;
}

bool lx_preempts(struct lx *lx, uint32_t task, uint64_t now)
{
    struct lx_task *t = lx->task[task];
    lx->now = now;
    lx_compete(lx, t);
    return lx_bit(lx->resched, t->cpu);
}

uint32_t lx_wake_new(struct lx *lx, uint32_t task, uint32_t waker, uint64_t now)
{
    uint32_t cpu = lx_select(lx, task, waker, LX_FOR_NEW, now);
    lx_arrive(lx, task, cpu, LX_FOR_NEW, now);
    lx_compete(lx, lx->task[task]);
    return cpu;
}

uint32_t lx_wake(struct lx *lx, uint32_t task, uint32_t waker, uint64_t now)
{
    uint32_t cpu = lx_select(lx, task, waker, LX_FOR_WAKE, now);
    lx_arrive(lx, task, cpu, LX_FOR_WAKE, now);
    lx_compete(lx, lx->task[task]);
    return cpu;
}

void lx_block(struct lx *lx, uint32_t cpu, uint64_t now)
{
    struct lx_queue *q = &lx->rq[cpu];
    struct lx_task *t = lx->task[q->curr];
    lx->now = now;
    account(lx, q);
    t->last_ran = now;
    lx_bit_set(lx->resched, cpu);
    if (t->cls == LX_NORMAL && lx_fair_delay(lx, q, t)) return;
    lx_dequeue(lx, t);
    t->state = LX_SLEEPING;
    q->curr = LX_NONE;
}

void lx_exit(struct lx *lx, uint32_t cpu, uint64_t now)
{
    struct lx_queue *q = &lx->rq[cpu];
    struct lx_task *t = lx->task[q->curr];
    lx->now = now;
    account(lx, q);
    lx_dequeue(lx, t);
    t->state = LX_DEAD;
    q->curr = LX_NONE;
    if (t->cls != LX_NORMAL) lx->nr_rt--;
    lx_bit_set(lx->resched, cpu);
}

void lx_yield(struct lx *lx, uint32_t cpu, uint64_t now)
{
    struct lx_queue *q = &lx->rq[cpu];
    struct lx_task *t = lx->task[q->curr];
    lx->now = now;
    lx->stats.yields++;
    if (t->cls == LX_NORMAL) lx_fair_yield(lx, q, t);
    else t->to_tail = true;
    lx_bit_set(lx->resched, cpu);
}

void lx_kill(struct lx *lx, uint32_t task, uint64_t now)
{
    struct lx_task *t = lx->task[task];
    lx->now = now;
    struct lx_queue *q = &lx->rq[t->cpu];
    if (t->state == LX_RUNNABLE) {
        lx_dequeue(lx, t);
    } else if (t->state == LX_DELAYED) {
        q->nr_delayed--;
        q->nr--;
        lx_fair_dequeue(lx, q, t);
    }
    t->state = LX_DEAD;
    if (t->cls != LX_NORMAL) lx->nr_rt--;
}

/* ---- Switching ------------------------------------------------------------------------------- */

/* The task that ran goes into its queue; returns it if it is to be sent to another CPU. */
static struct lx_task *requeue(struct lx *lx, struct lx_queue *q)
{
    struct lx_task *t = lx->task[q->curr];
    t->state = LX_RUNNABLE;
    t->last_ran = lx->now;
    q->curr = LX_NONE;
    if (t->cls == LX_NORMAL) {
        lx_fair_put(lx, q, t);
    } else {
        lx_rt_enqueue(lx, q, t, !t->to_tail);
        t->to_tail = false;
        lx->rt_waiting++;
    }
    return lx_may(t, q->cpu) ? NULL : t;
}

static void dispatch(struct lx *lx, struct lx_queue *q, struct lx_task *t)
{
    if (t->cls == LX_NORMAL) {
        lx_fair_set(lx, q, t);
    } else {
        lx_rt_dequeue(lx, q, t);
        lx->rt_waiting--;
    }
    t->counted = lx->now;
    t->ran_before = t->ran;
    t->state = LX_RUNNING;
    q->curr = t->id;
}

/* The best of the queue, the running task included.  A fair task that goes on stays out of the
 * tree. */
static struct lx_task *choose(struct lx *lx, struct lx_queue *q)
{
    struct lx_task *curr = q->curr == LX_NONE ? NULL : lx->task[q->curr], *rt;
    if (curr && curr->cls != LX_NORMAL) {
        requeue(lx, q);
        curr = NULL;
    }
    if (lx->rt_waiting) {
        lx_rt_pull(lx, q);
        if ((rt = lx_rt_first(lx, q)) != NULL) return rt;
    }
    return q->nr ? lx_fair_pick(lx, q) : NULL;
}

void lx_put(struct lx *lx, uint32_t cpu, uint64_t now)
{
    struct lx_queue *q = &lx->rq[cpu];
    lx->now = now;
    account(lx, q);
    requeue(lx, q);
}

uint32_t lx_schedule(struct lx *lx, uint32_t cpu, uint64_t now)
{
    struct lx_queue *q = &lx->rq[cpu];
    lx->now = now;
    account(lx, q);
    uint32_t prev = q->curr;
    if (prev != LX_NONE && !lx_may(lx->task[prev], cpu)) {
        struct lx_task *away = requeue(lx, q);
        lx_move(lx, away, lx_any_allowed(lx, away, cpu));
        lx_compete(lx, away);
    }
    lx->scheduling = true;
    struct lx_task *next = choose(lx, q);
    if (!next && lx->cfg.balance && lx_pull_one(lx, cpu)) next = choose(lx, q);
    lx->scheduling = false;
    lx_bit_clear(lx->resched, cpu);
    if (!next) {
        set_idle(lx, cpu, true);
        q->idle_since = now;
        return LX_NONE;
    }
    if (q->curr != next->id) {
        if (q->curr != LX_NONE) requeue(lx, q);
        dispatch(lx, q, next);
    }
    if (prev != next->id) lx->stats.switches++;
    return next->id;
}

void lx_tick_running(struct lx *lx, uint32_t cpu, uint64_t now)
{
    struct lx_queue *q = &lx->rq[cpu];
    lx->now = now;
    if (q->curr != LX_NONE) {
        struct lx_task *t = lx->task[q->curr];
        if (t->cls == LX_NORMAL) {
            lx_fair_tick(lx, q);
        } else {
            account(lx, q);
            lx_rt_tick(lx, q, t);
        }
    }
}

void lx_tick(struct lx *lx, uint32_t cpu, uint64_t now)
{
    lx_tick_running(lx, cpu, now);
    lx_balance(lx, cpu, now);
}

void lx_balance(struct lx *lx, uint32_t cpu, uint64_t now)
{
    lx->now = now;
    if (lx->cfg.balance) lx_periodic(lx, cpu);
}

bool lx_tick_needed(const struct lx *lx, uint32_t cpu)
{ return lx->rq[cpu].curr != LX_NONE && lx->nr_overloaded > 0; }

/* ---- Validity -------------------------------------------------------------------------------- */

bool lx_valid(const struct lx *lx)
{
    uint32_t overloaded = 0, idle = 0;
    for (uint32_t c = 0; c < lx->nr_cpus; c++) {
        const struct lx_queue *q = &lx->rq[c];
        uint32_t nr = 0, delayed = 0, rt = 0;
        uint64_t w = 0;
        lx_wide wv = 0;
        for (uint32_t i = 0; i < lx->nr_tasks; i++) {
            const struct lx_task *t = lx->task[i];
            if (t->cpu != c || t->state == LX_SLEEPING || t->state == LX_DEAD) continue;
            nr++;
            delayed += t->state == LX_DELAYED;
            rt += t->cls != LX_NORMAL;
            if ((t->state == LX_RUNNING) != (q->curr == i)) return false;
            if (t->cls != LX_NORMAL) continue;
            w += t->weight;
            wv += (lx_wide)t->weight * t->vruntime;
        }
        if (nr != q->nr || delayed != q->nr_delayed || rt != q->nr_rt || w != q->sum_w || wv != q->sum_wv) return false;
        overloaded += lx_runnable(q) >= 2;
        idle += lx_bit(lx->idle, c);
        if (lx_bit(lx->idle, c) && nr > delayed) return false;
    }
    return overloaded == lx->nr_overloaded && idle == lx->nr_idle && lx->dom_idle[3][0] == idle;
}
