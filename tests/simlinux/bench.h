/* tests/simlinux/bench.h - threads on the Linux models, without the simulator's engine.  SPDX-License-Identifier: Apache-2.0
 *
 * Each thread computes for `left` ns (UINT64_MAX: for ever), then does what its `then` says.  Switches cost nothing. */
#ifndef TESTS_SIMLINUX_BENCH_H
#define TESTS_SIMLINUX_BENCH_H

#include <stdio.h>
#include <stdlib.h>

#include "../check.h"
#include "sim/linux/linux.h"

/* a within pct percent of b */
static inline bool is_near(double a, double b, double percent)
{ return a >= b * (1 - percent / 100) && a <= b * (1 + percent / 100); }
#define CHECK_NEAR(a, b, percent) \
    CHECK(is_near((double)(a), (double)(b), percent), "%g is not within %g %% of %g", (double)(a), (double)(percent), (double)(b))

#define US 1000ull
#define MS 1000000ull
#define SEC 1000000000ull
#define FOREVER UINT64_MAX
#define THREADS 512
#define CPUS 256

struct bench;
struct thread {
    uint64_t left, burst, sleep; /* to go; per turn; then sleeps so long (0: yields) */
    uint64_t wake_at, woken, worst; /* worst: longest from waking to running */
    uint32_t cpu;                /* runs there, or LX_NONE */
    uint64_t since, ran, switches;
    void (*then)(struct bench *b, uint32_t t); /* null: sleep or yield, as above */
};
struct bench {
    struct lx lx;
    struct thread th[THREADS];
    uint64_t now, ticks;
};

static inline void bench_schedule(struct bench *b, uint32_t cpu);

static inline void bench_kicks(struct bench *b)
{
    for (uint32_t c = 0; c < b->lx.nr_cpus; c++)
        if (lx_bit(b->lx.resched, c)) {
            bench_schedule(b, c);
            c = UINT32_MAX; /* it may have asked others */
        }
}

static inline void charge(struct bench *b, struct thread *t)
{
    if (t->cpu == LX_NONE) return;
    uint64_t ns = b->now - t->since;
    t->ran += ns;
    if (t->left != FOREVER) t->left -= ns;
    t->since = b->now;
}

static inline void bench_schedule(struct bench *b, uint32_t cpu)
{
    uint32_t next = lx_schedule(&b->lx, cpu, b->now);
    for (uint32_t i = 0; i < b->lx.nr_tasks; i++) {
        struct thread *t = &b->th[i];
        if (t->cpu != cpu || i == next) continue;
        charge(b, t);
        t->cpu = LX_NONE;
    }
    if (next == LX_NONE || b->th[next].cpu == cpu) return;
    struct thread *t = &b->th[next];
    t->cpu = cpu;
    t->since = b->now;
    t->switches++;
    if (t->woken != FOREVER && b->now - t->woken > t->worst) t->worst = b->now - t->woken;
    t->woken = FOREVER;
}

static inline void bench_wake(struct bench *b, uint32_t i, uint32_t waker)
{
    b->th[i].wake_at = FOREVER;
    b->th[i].woken = b->now;
    if (b->lx.task[i]->fresh) lx_wake_new(&b->lx, i, waker, b->now);
    else lx_wake(&b->lx, i, waker, b->now);
}

/* The turn of thread i, which runs, is over. */
static inline void bench_turn(struct bench *b, uint32_t i)
{
    struct thread *t = &b->th[i];
    uint32_t cpu = t->cpu;
    charge(b, t);
    if (t->then) {
        t->then(b, i);
        return;
    }
    t->left = t->burst;
    if (t->sleep) {
        t->wake_at = b->now + t->sleep;
        t->cpu = LX_NONE;
        lx_block(&b->lx, cpu, b->now);
    } else {
        lx_yield(&b->lx, cpu, b->now);
    }
}

static inline void bench_run(struct bench *b, uint64_t until)
{
    while (b->now < until) {
        bench_kicks(b);
        uint64_t at = until, tick = (b->now / b->lx.cfg.tick + 1) * b->lx.cfg.tick;
        if (tick < at) at = tick;
        for (uint32_t i = 0; i < b->lx.nr_tasks; i++) {
            struct thread *t = &b->th[i];
            if (t->cpu != LX_NONE && t->left != FOREVER && t->since + t->left < at) at = t->since + t->left;
            if (t->wake_at < at) at = t->wake_at;
        }
        b->now = at;
        for (uint32_t i = 0; i < b->lx.nr_tasks; i++) {
            struct thread *t = &b->th[i];
            if (t->cpu != LX_NONE && t->left != FOREVER && t->since + t->left <= at) bench_turn(b, i);
        }
        for (uint32_t i = 0; i < b->lx.nr_tasks; i++)
            if (b->th[i].wake_at <= at) bench_wake(b, i, LX_NONE);
        if (at == tick)
            for (uint32_t c = 0; c < b->lx.nr_cpus; c++)
                if (lx_tick_needed(&b->lx, c)) {
                    lx_tick(&b->lx, c, at);
                    b->ticks++;
                }
        bench_kicks(b);
    }
    for (uint32_t i = 0; i < b->lx.nr_tasks; i++) charge(b, &b->th[i]);
    CHECK(lx_valid(&b->lx));
}

/* CPUs: nodes of `per_node`, caches of `per_llc`, cores of `smt`. */
static inline void bench_init(struct bench *b, enum lx_fair fair, uint32_t cpus, uint32_t per_node, uint32_t per_llc, uint32_t smt)
{
    struct lx_topo topo[CPUS];
    struct lx_config cfg;
    for (uint32_t c = 0; c < cpus; c++) topo[c] = (struct lx_topo){ c / smt, c / per_llc, c / per_node, c / per_node };
    lx_defaults(&cfg, fair, cpus, 250);
    *b = (struct bench){ .now = 0 };
    CHECK(lx_init(&b->lx, &cfg, topo, cpus));
}

static inline uint32_t bench_thread(struct bench *b, enum lx_class cls, uint32_t weight, uint64_t burst, uint64_t sleep)
{
    uint32_t i = lx_task_new(&b->lx, 0, cls, weight, 1, 0);
    CHECK(i < THREADS);
    b->th[i] = (struct thread){ .left = burst, .burst = burst, .sleep = sleep, .wake_at = FOREVER, .woken = FOREVER, .cpu = LX_NONE };
    return i;
}

#endif
