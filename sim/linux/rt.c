/* sim/linux/rt.c - SCHED_FIFO and SCHED_RR.  SPDX-License-Identifier: Apache-2.0
 *
 * One list per priority; the first task of the highest list runs until it blocks, yields, is
 * preempted by a higher one or, with SCHED_RR, has used up its slice while others of its priority
 * wait.  A wake-up looks for another CPU only where the last one runs an equal or higher real-time
 * task; a CPU that is about to run something lower pulls waiting real-time tasks from others. */
#include "sim/linux/linux.h"

static int prio_of(const struct lx *lx, uint32_t task)
{
    if (task == LX_NONE) return -1;
    const struct lx_task *t = lx->task[task];
    return t->cls == LX_NORMAL ? 0 : (int)t->rt_prio;
}

void lx_rt_enqueue(struct lx *lx, struct lx_queue *q, struct lx_task *t, bool head)
{
    struct lx_rt_list *l = &q->rt[t->rt_prio];
    t->next = t->prev = 0;
    if (head) {
        t->next = l->head;
        if (l->head) lx_at(lx, l->head)->prev = t->id + 1;
        else l->tail = t->id + 1;
        l->head = t->id + 1;
    } else {
        t->prev = l->tail;
        if (l->tail) lx_at(lx, l->tail)->next = t->id + 1;
        else l->head = t->id + 1;
        l->tail = t->id + 1;
    }
    lx_bit_set(q->rt_map, t->rt_prio);
}

void lx_rt_dequeue(struct lx *lx, struct lx_queue *q, struct lx_task *t)
{
    struct lx_rt_list *l = &q->rt[t->rt_prio];
    if (t->prev) lx_at(lx, t->prev)->next = t->next;
    else l->head = t->next;
    if (t->next) lx_at(lx, t->next)->prev = t->prev;
    else l->tail = t->prev;
    t->next = t->prev = 0;
    if (!l->head) lx_bit_clear(q->rt_map, t->rt_prio);
}

struct lx_task *lx_rt_first(struct lx *lx, const struct lx_queue *q)
{
    for (int w = 1; w >= 0; w--)
        if (q->rt_map[w]) {
            uint32_t p = (uint32_t)w * 64 + 63 - (uint32_t)__builtin_clzll(q->rt_map[w]);
            return lx_at(lx, q->rt[p].head);
        }
    return NULL;
}

/* A slice passes in whole ticks, as Linux counts it. */
void lx_rt_tick(struct lx *lx, struct lx_queue *q, struct lx_task *t)
{
    t->rr_used += lx->cfg.tick;
    if (t->cls != LX_RR || t->rr_used < lx->cfg.rr_slice) return;
    t->rr_used = 0;
    if (q->rt[t->rt_prio].head) {
        t->to_tail = true;
        lx_resched(lx, q->cpu);
    }
}

/* Where it may run at once: its last CPU, else the nearest CPU that runs something lower; else its
 * last one. */
uint32_t lx_rt_place(struct lx *lx, struct lx_task *t, uint32_t prev)
{
    int mine = (int)t->rt_prio;
    if (lx_may(t, prev) && prio_of(lx, lx->rq[prev].curr) < mine && lx_rt_first(lx, &lx->rq[prev]) == NULL) return prev;
    uint32_t best = LX_NONE;
    int best_prio = mine;
    for (int level = 0; level < 4; level++) {
        uint32_t d = lx->span[level][prev];
        for (uint32_t i = lx->first[level][d]; i < lx->first[level][d + 1]; i++) {
            uint32_t c = lx->members[level][i];
            int p = prio_of(lx, lx->rq[c].curr);
            const struct lx_task *w = lx_rt_first(lx, &lx->rq[c]);
            if (w && (int)w->rt_prio > p) p = (int)w->rt_prio;
            if (p < best_prio && lx_may(t, c)) { best = c; best_prio = p; }
        }
        if (best != LX_NONE) return best;
    }
    return lx_may(t, prev) ? prev : lx_any_allowed(lx, t, prev);
}

/* What queue `from` can give to a CPU: its first waiting task that may run there, unless its own
 * CPU is about to switch to it. */
static struct lx_task *to_give(struct lx *lx, const struct lx_queue *from, uint32_t to)
{
    struct lx_task *t = from->nr_rt ? lx_rt_first(lx, from) : NULL;
    while (t && !lx_may(t, to)) t = lx_at(lx, t->next);
    return t && lx_bit(lx->resched, from->cpu) && (int)t->rt_prio > prio_of(lx, from->curr) ? NULL : t;
}

/* The CPU is about to run nothing, or something lower than a real-time task that waits
 * elsewhere. */
void lx_rt_pull(struct lx *lx, struct lx_queue *q)
{
    struct lx_task *own = lx_rt_first(lx, q), *best = own;
    for (uint32_t c = 0; c < lx->nr_cpus; c++) {
        struct lx_task *t = c == q->cpu ? NULL : to_give(lx, &lx->rq[c], q->cpu);
        if (t && (!best || t->rt_prio > best->rt_prio)) best = t;
    }
    if (best == own) return;
    lx_move(lx, best, q->cpu);
    lx->stats.pulls++;
}
