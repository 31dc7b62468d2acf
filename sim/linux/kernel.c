/* sim/linux/kernel.c - the Linux baselines behind sim/kernel.h.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each operation tells the data structures of linux.h what the engine did.  Both keep queues: a
 * task of linux.h is RUNNABLE exactly while the engine has its thread QUEUED, and is moved by
 * sim_kmove alone (lx.mover), except that pick may take one out of another CPU's queue. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/linux/kernel.h"
#include "sim/linux/part.h"

struct variant { enum lx_fair fair; uint32_t hz; bool forfeit; enum lx_class cls; bool part, lend, busy; };

struct state {
    struct lx lx;
    struct lx_part part;
    struct variant v;
    uint64_t *spare;          /* dlb-busy: CPUs whose running thread busy-waits */
};

static struct state *state(struct sim *s) { return sim_kdata(s); }

/* The first word of a thread's data is the number of its task, + 1. */
static struct lx_task *task_of(struct sim *s, struct sim_kthread *t)
{
    uint32_t id;
    memcpy(&id, t->data, sizeof id);
    struct lx_task *l = state(s)->lx.task[id - 1];
    l->bound = t->bound == SIM_NONE ? LX_NONE : t->bound;
    return l;
}

static uint32_t prog_of(const struct state *st, const struct sim_kthread *t) { return t->program % st->part.nr_progs; }

static void move(void *arg, uint32_t task, uint32_t cpu)
{
    struct sim *s = arg;
    sim_kmove(s, sim_kthread(s, (uint32_t)state(s)->lx.task[task]->user), cpu);
}

/* It may be in the middle of choosing for another CPU. */
static void settle(void *arg, uint32_t cpu)
{
    struct lx *lx = &state(arg)->lx;
    uint64_t now = lx->now;
    bool scheduling = lx->scheduling;
    sim_ksettle(arg, cpu);
    lx->now = now;
    lx->scheduling = scheduling;
}

/* ---- Birth and death ------------------------------------------------------------------------- */

static int init(struct sim *s, const struct variant *v, char *why, unsigned cap)
{
    const struct sim_machine *m = sim_machine_of(s);
    struct state *st = state(s);
    struct lx_config cfg;
    struct lx_topo *topo = calloc(m->nr_cpus, sizeof *topo);
    st->v = *v;
    lx_defaults(&cfg, v->fair, m->nr_cpus, v->hz);
    cfg.yield_forfeits = v->forfeit;
    for (uint32_t c = 0; topo && c < m->nr_cpus; c++)
        topo[c] = (struct lx_topo){ m->cpu[c].phys, m->cpu[c].llc, m->cpu[c].node, m->cpu[c].package };
    bool ok = topo && lx_init(&st->lx, &cfg, topo, m->nr_cpus);
    free(topo);
    if (ok && v->part) ok = lx_part_init(&st->part, &st->lx, sim_nr_programs(s));
    if (ok && v->lend && st->part.nr_progs > m->nr_cpus) {
        snprintf(why, cap, "lending needs a CPU per program at least: %u programs, %u CPUs", st->part.nr_progs, m->nr_cpus);
        return -EINVAL;
    }
    if (ok) ok = (st->spare = calloc(st->lx.words, 8)) != NULL;
    if (!ok) {
        snprintf(why, cap, "no memory for the run queues of %u CPUs", m->nr_cpus);
        return -ENOMEM;
    }
    st->lx.mover = move;
    st->lx.visit = settle;
    st->lx.arg = s;
    return 0;
}

static void fini(struct sim *s)
{
    struct state *st = state(s);
    if (st->v.part) lx_part_fini(&st->part);
    lx_fini(&st->lx);
    free(st->spare);
    st->spare = NULL;
}

static void add(struct sim *s, struct sim_kthread *t)
{
    struct state *st = state(s);
    enum lx_class cls = t->kclass == SIM_FIFO ? LX_FIFO : t->kclass == SIM_RR ? LX_RR : st->v.cls;
    uint32_t id = lx_task_new(&st->lx, t->program, cls, lx_weight_of_nice(t->nice), t->priority > 0 ? (uint32_t)t->priority : 1, t->cpu) + 1;
    if (!id) {
        fprintf(stderr, "usf sim: no memory for another thread\n");
        abort();
    }
    memcpy(t->data, &id, sizeof id);
    st->lx.task[id - 1]->user = t->id;
    st->lx.task[id - 1]->allowed = t->allowed || !st->v.part ? t->allowed : lx_part_set(&st->part, t->program);
}

static void renamed(struct sim *s, struct sim_kthread *t) { task_of(s, t)->user = t->id; }

static void remove_(struct sim *s, struct sim_kthread *t)
{ lx_kill(&state(s)->lx, task_of(s, t)->id, sim_now(s)); }

/* ---- Queues ---------------------------------------------------------------------------------- */

static bool lends(const struct state *st, const struct lx_task *l, const struct sim_kthread *t)
{ return st->v.lend && !t->allowed && l->bound == LX_NONE; }

static void waits(struct state *st, const struct sim_kthread *t, int n)
{ if (st->v.part) st->part.waiting[prog_of(st, t)] += (uint32_t)n; }

/* dlb-busy: CPUs that run a thread which only waits. */
static const uint64_t *spare_cpus(struct sim *s)
{
    struct state *st = state(s);
    if (!st->v.busy) return NULL;
    memset(st->spare, 0, st->lx.words * 8);
    for (uint32_t c = 0; c < st->lx.nr_cpus; c++) {
        uint32_t id = sim_kcurrent(s, c);
        if (id != SIM_NONE && sim_kthread(s, id)->waits) lx_bit_set(st->spare, c);
    }
    return st->spare;
}

static uint32_t select_(struct sim *s, struct sim_kthread *t, uint32_t waker, enum sim_kwhy why)
{
    struct state *st = state(s);
    struct lx_task *l = task_of(s, t);
    uint32_t cpu = lx_select(&st->lx, l->id, waker == SIM_NONE ? LX_NONE : waker, why == SIM_K_WAKE_NEW ? LX_FOR_NEW : LX_FOR_WAKE, sim_now(s));
    if (!lends(st, l, t) || (lx_may(l, cpu) && lx_bit(st->lx.idle, cpu))) return cpu;
    uint32_t more = lx_part_want(&st->part, prog_of(st, t), spare_cpus(s));
    return more == LX_NONE ? cpu : more;
}

static void enqueue(struct sim *s, uint32_t cpu, struct sim_kthread *t, enum sim_kwhy why)
{
    struct state *st = state(s);
    struct lx_task *l = task_of(s, t);
    enum lx_why w = why == SIM_K_WAKE_NEW ? LX_FOR_NEW : why == SIM_K_MOVED && l->left_queue ? LX_FOR_MOVE : LX_FOR_WAKE;
    lx_arrive(&st->lx, l->id, cpu, w, sim_now(s));
    waits(st, t, 1);
}

static void dequeue(struct sim *s, uint32_t cpu, struct sim_kthread *t)
{
    struct state *st = state(s);
    lx_leave(&st->lx, task_of(s, t)->id, sim_now(s));
    waits(st, t, -1);
}

/* Tasks of a program that no longer uses the CPU go to where it may run. */
static void send_away(struct sim *s, uint32_t cpu)
{
    struct state *st = state(s);
    struct lx_task *l = lx_tree_first(&st->lx, &st->lx.rq[cpu]);
    while (l) {
        if (l->state == LX_RUNNABLE && !lx_may(l, cpu)) {
            uint32_t to = lx_any_allowed(&st->lx, l, cpu);
            if (!lx_may(l, to)) to = lx_part_want(&st->part, l->prog % st->part.nr_progs, NULL); /* others have borrowed all of its own */
            if (to != LX_NONE && to != cpu) {
                move(s, l->id, to);
                l = lx_tree_first(&st->lx, &st->lx.rq[cpu]);
                continue;
            }
        }
        l = lx_tree_next(&st->lx, l);
    }
}

static uint32_t pick(struct sim *s, uint32_t cpu)
{
    struct state *st = state(s);
    if (st->v.lend) {
        send_away(s, cpu);
        if (sim_kcurrent(s, cpu) != SIM_NONE) return SIM_NONE; /* moving them has filled this CPU */
    }
    uint32_t id = lx_schedule(&st->lx, cpu, sim_now(s));
    if (id == LX_NONE && st->v.lend) {
        uint32_t was = st->part.user[cpu];
        if (lx_part_spare(&st->part, cpu) != was) id = lx_schedule(&st->lx, cpu, sim_now(s));
    }
    if (id == LX_NONE) return SIM_NONE;
    struct sim_kthread *t = sim_kthread(s, (uint32_t)st->lx.task[id]->user);
    waits(st, t, -1);
    return t->id;
}

static void put(struct sim *s, uint32_t cpu, struct sim_kthread *t, enum sim_kput why)
{
    struct state *st = state(s);
    task_of(s, t);
    if (why == SIM_K_YIELDED) lx_yield(&st->lx, cpu, sim_now(s));
    lx_put(&st->lx, cpu, sim_now(s));
    waits(st, t, 1);
}

static void block(struct sim *s, uint32_t cpu, struct sim_kthread *t)
{
    task_of(s, t);
    lx_block(&state(s)->lx, cpu, sim_now(s));
}

static bool preempts(struct sim *s, uint32_t cpu, struct sim_kthread *t)
{
    struct state *st = state(s);
    uint32_t curr = st->lx.rq[cpu].curr;
    if (curr != LX_NONE && st->v.part && !lx_may(st->lx.task[curr], cpu)) return true; /* the CPU has been reclaimed */
    return lx_preempts(&st->lx, task_of(s, t)->id, sim_now(s));
}

/* Until the next timer tick, while there is anything to decide. */
static uint64_t slice(struct sim *s, uint32_t cpu, struct sim_kthread *t)
{
    struct lx *lx = &state(s)->lx;
    if (lx_runnable(&lx->rq[cpu]) < 2) return UINT64_MAX;
    return lx->cfg.tick - sim_now(s) % lx->cfg.tick;
}

static bool tick(struct sim *s, uint32_t cpu)
{
    struct lx *lx = &state(s)->lx;
    struct lx_queue *q = &lx->rq[cpu];
    lx_tick_running(lx, cpu, sim_now(s));
    return lx_bit(lx->resched, q->cpu);
}

/* dlb-busy: who was preempted while it waited is not missed, but once its wait has ended its
 * program wants a CPU back. */
static void reclaim(struct sim *s)
{
    struct state *st = state(s);
    for (uint32_t i = 0; i < st->lx.nr_tasks; i++) {
        struct lx_task *l = st->lx.task[i];
        if (l->state != LX_RUNNABLE) continue;
        struct sim_kthread *t = sim_kthread(s, (uint32_t)l->user);
        if (t->waits || !lends(st, l, t)) continue;
        uint32_t cpu = lx_part_want(&st->part, prog_of(st, t), spare_cpus(s));
        if (cpu == LX_NONE) continue;
        if (l->cpu != cpu) move(s, i, cpu);
        else sim_kresched(s, cpu);
    }
}

static void balance(struct sim *s)
{
    struct state *st = state(s);
    if (st->v.busy) reclaim(s);
    for (uint32_t c = 0; c < st->lx.nr_cpus; c++)
        if (lx_tick_needed(&st->lx, c)) lx_balance(&st->lx, c, sim_now(s));
}

/* ---- Yields in one step (sim/unproductive.c) ------------------------------------------------- */

static uint64_t unproductive(struct sim *s, uint32_t cpu, uint32_t *id, uint32_t cap, uint32_t *nr, uint64_t *until)
{
    struct state *st = state(s);
    const struct lx_queue *q = &st->lx.rq[cpu];
    uint32_t tasks[SIM_KSPINS];
    *nr = 0;
    if (st->v.lend || q->curr == LX_NONE) return 0;     /* idle CPUs serve other programs: a task that waits there concerns all */
    for (const struct lx_task *t = lx_tree_first(&st->lx, q), *l = st->lx.task[q->curr]; l; l = t, t = t ? lx_tree_next(&st->lx, t) : NULL) {
        const struct sim_kthread *k = sim_kthread(s, (uint32_t)l->user);
        bool does = l->state != LX_DELAYED && l->cls == LX_NORMAL && lx_may(l, cpu) && sim_kyields(s, k, until);
        if (!does && l->id == q->curr) return *nr = 0;
        if (!does) continue;
        if (*nr == cap || *nr == SIM_KSPINS) return *nr = 0;
        tasks[*nr] = l->id;
        id[(*nr)++] = k->id;
    }
    return lx_unproductive_ns(&st->lx, cpu, tasks, *nr, sim_machine_of(s)->cost.yield_ns);
}

_Static_assert(SIM_KSPINS <= LX_UNPRODUCTIVE, "room for all");

static uint32_t *tasks_of(struct sim *s, const uint32_t *id, uint32_t nr, uint32_t *tasks)
{
    for (uint32_t i = 0; i < nr; i++) tasks[i] = task_of(s, sim_kthread(s, id[i]))->id;
    return tasks;
}

static void unproductive_look(struct sim *s, uint32_t cpu, const uint32_t *id, uint32_t nr, struct sim_kspin *out)
{
    for (uint32_t i = 0; i < nr; i++) {
        const struct lx_task *l = task_of(s, sim_kthread(s, id[i]));
        out->t[i].time = l->vruntime;
        out->t[i].due = l->deadline;
        out->t[i].ran = l->ran;
    }
}

static uint64_t unproductive_most(struct sim *s, uint32_t cpu, const uint32_t *id, uint32_t nr, const struct sim_kspin *a, const struct sim_kspin *b, uint64_t n)
{
    uint32_t tasks[SIM_KSPINS];
    return lx_unproductive_most(&state(s)->lx, cpu, tasks_of(s, id, nr, tasks), nr, b->t[0].time - a->t[0].time, b->t[0].due - a->t[0].due, n);
}

static void unproductive_skip(struct sim *s, uint32_t cpu, const uint32_t *id, uint32_t nr, const struct sim_kspin *a, const struct sim_kspin *b, uint64_t n,
                      uint64_t ns)
{
    uint32_t tasks[SIM_KSPINS];
    uint64_t ran[SIM_KSPINS];
    for (uint32_t i = 0; i < nr; i++) ran[i] = b->t[i].ran - a->t[i].ran;
    lx_unproductive_skip(&state(s)->lx, cpu, tasks_of(s, id, nr, tasks), nr, b->t[0].time - a->t[0].time, b->t[0].due - a->t[0].due, ran, n, ns);
}

/* ---- The variants ---------------------------------------------------------------------------- */

/* The names are those of sim/linux/kernel.h. */
#define VARIANT(ident, text, rate, about, ...) \
    static int init_##ident(struct sim *s, char *why, unsigned cap) \
    { static const struct variant v = { .hz = rate, __VA_ARGS__ }; return init(s, &v, why, cap); } \
    const struct sim_kernel_ops sim_kernel_##ident = { \
        .name = text, .description = about, .init = init_##ident, .fini = fini, .add = add, .remove = remove_, \
        .select = select_, .enqueue = enqueue, .dequeue = dequeue, .pick = pick, .put = put, .block = block, .renamed = renamed, .preempts = preempts, \
        .slice = slice, .tick = tick, .balance = balance, .balance_ns = 1000000000u / (rate), \
        .unproductive = unproductive, .unproductive_look = unproductive_look, .unproductive_most = unproductive_most, .unproductive_skip = unproductive_skip, \
        .inst_size = sizeof(struct state) };

VARIANT(eevdf, "eevdf", 250, "Linux from 6.6 on, 250 Hz", .fair = LX_EEVDF)
VARIANT(eevdf_1000, "eevdf-1000hz", 1000, "Linux from 6.6 on, 1000 Hz", .fair = LX_EEVDF)
VARIANT(eevdf_forfeit, "eevdf-forfeit", 250, "Linux with the sched_yield of 6.18, 250 Hz", .fair = LX_EEVDF, .forfeit = true)
VARIANT(cfs, "cfs", 250, "Linux until 6.5, 250 Hz", .fair = LX_CFS)
VARIANT(cfs_1000, "cfs-1000hz", 1000, "Linux until 6.5, 1000 Hz", .fair = LX_CFS)
VARIANT(rr, "sched-rr", 250, "all threads SCHED_RR", .fair = LX_EEVDF, .cls = LX_RR)
VARIANT(fifo, "sched-fifo", 250, "all threads SCHED_FIFO", .fair = LX_EEVDF, .cls = LX_FIFO)
VARIANT(static, "static", 250, "equal static partitions, EEVDF within", .fair = LX_EEVDF, .part = true)
VARIANT(dlb, "dlb", 250, "partitions that lend idle CPUs, EEVDF within", .fair = LX_EEVDF, .part = true, .lend = true)
VARIANT(dlb_busy, "dlb-busy", 250, "... and CPUs whose thread busy-waits", .fair = LX_EEVDF, .part = true, .lend = true, .busy = true)
