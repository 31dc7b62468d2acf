/* tests/simlinux/linux_fair.c - EEVDF and CFS models on one CPU.  SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "bench.h"

static struct bench b;

/* Shares follow weights: 3 : 1 and by nice levels, whoever comes first. */
static void weights(enum lx_fair fair)
{
    bench_init(&b, fair, 1, 1, 1, 1);
    uint32_t w[4] = { lx_weight_of_nice(0), lx_weight_of_nice(5), lx_weight_of_nice(-5), 512 };
    uint64_t sum = 0;
    for (int i = 0; i < 4; i++) {
        sum += w[i];
        bench_wake(&b, bench_thread(&b, LX_NORMAL, w[i], FOREVER, 0), LX_NONE);
    }
    bench_run(&b, 60 * SEC);
    for (int i = 0; i < 4; i++) CHECK_NEAR(b.th[i].ran, (double)(60 * SEC) * w[i] / (double)sum, 2);
    lx_fini(&b.lx);
}

/* By hand, one CPU, slice 0.7 ms, tick 4 ms: equal tasks take turns of one tick; each switch is at a tick. */
static void eevdf_turns(void)
{
    bench_init(&b, LX_EEVDF, 1, 1, 1, 1);
    for (int i = 0; i < 3; i++) bench_wake(&b, bench_thread(&b, LX_NORMAL, LX_WEIGHT, FOREVER, 0), LX_NONE);
    bench_run(&b, 12 * MS);
    for (int i = 0; i < 3; i++) CHECK_EQ(b.th[i].ran, 4 * MS);
    CHECK_EQ(b.lx.stats.switches, 4); /* at 0, 4, 8 and just now */
    lx_fini(&b.lx);
}

/* A slice longer than the tick: 10 ms, two tasks: switches at 12 ms, then whenever a request is served. */
static void eevdf_slice(void)
{
    bench_init(&b, LX_EEVDF, 1, 1, 1, 1);
    b.lx.cfg.base_slice = 10 * MS;
    for (int i = 0; i < 2; i++) bench_wake(&b, bench_thread(&b, LX_NORMAL, LX_WEIGHT, FOREVER, 0), LX_NONE);
    bench_run(&b, 4 * MS);
    CHECK_EQ(b.th[0].ran, 4 * MS); /* a new task's first request is half a slice: 5 ms */
    bench_run(&b, 8 * MS);
    CHECK_EQ(b.th[0].ran, 8 * MS);
    bench_run(&b, 16 * MS);
    CHECK_EQ(b.th[0].ran, 8 * MS);
    CHECK_EQ(b.th[1].ran, 8 * MS);
    lx_fini(&b.lx);
}

/* The eligible one with the earliest deadline runs: not the one with the earliest deadline of all. */
static void eevdf_eligible(void)
{
    bench_init(&b, LX_EEVDF, 1, 1, 1, 1);
    for (int i = 0; i < 3; i++) bench_thread(&b, LX_NORMAL, LX_WEIGHT, FOREVER, 0);
    struct lx_queue *q = &b.lx.rq[0];
    int64_t v[3] = { 300, 100, 200 }, d[3] = { 310, 900, 800 };
    for (int i = 0; i < 3; i++) {
        struct lx_task *t = b.lx.task[i];
        t->vruntime = v[i];
        t->deadline = d[i];
        t->weight = LX_WEIGHT;
        q->sum_w += LX_WEIGHT;
        q->sum_wv += (lx_wide)LX_WEIGHT * v[i];
        lx_tree_add(&b.lx, q, t);
    }
    CHECK_EQ(lx_average(q), 200);
    CHECK(!lx_eligible(q, 201) && lx_eligible(q, 200));
    CHECK_EQ(lx_tree_pick(&b.lx, q)->id, 2);
    lx_tree_del(&b.lx, q, b.lx.task[2]);
    q->sum_w -= LX_WEIGHT;
    q->sum_wv -= (lx_wide)LX_WEIGHT * 200;
    CHECK_EQ(lx_tree_pick(&b.lx, q)->id, 1);
    CHECK_EQ(lx_tree_first(&b.lx, q)->id, 0);
    lx_fini(&b.lx);
}

/* Lag survives a short sleep: who slept neither gains nor loses beyond two slices. */
static void eevdf_lag(void)
{
    bench_init(&b, LX_EEVDF, 1, 1, 1, 1);
    uint32_t hog = bench_thread(&b, LX_NORMAL, LX_WEIGHT, FOREVER, 0);
    uint32_t light = bench_thread(&b, LX_NORMAL, LX_WEIGHT, 100 * US, 10 * MS);
    bench_wake(&b, hog, LX_NONE);
    bench_wake(&b, light, LX_NONE);
    bench_run(&b, 20 * SEC);
    /* It asks for 1 % and gets it, each time within about the others' slice, rounded up to the tick. */
    CHECK_NEAR(b.th[light].ran, 20 * SEC * 100 / (10000 + 100 + 2000), 25);
    CHECK(b.th[light].worst <= 2 * b.lx.cfg.tick);
    struct lx_task *t = b.lx.task[light];
    CHECK(t->lag <= (int64_t)(2 * b.lx.cfg.tick) && t->lag >= -(int64_t)(2 * b.lx.cfg.tick));
    lx_fini(&b.lx);
}

/* Who blocks while it has had too much stays queued until it has paid, and then is gone. */
static void eevdf_delay(void)
{
    bench_init(&b, LX_EEVDF, 1, 1, 1, 1);
    uint32_t hog = bench_thread(&b, LX_NORMAL, LX_WEIGHT, FOREVER, 0);
    uint32_t other = bench_thread(&b, LX_NORMAL, LX_WEIGHT, 1 * MS, 1 * SEC);
    bench_wake(&b, other, LX_NONE);
    bench_wake(&b, hog, LX_NONE);
    bench_run(&b, 1 * MS);
    CHECK_EQ(b.lx.task[other]->state, LX_DELAYED);
    CHECK_EQ(b.lx.rq[0].nr, 2);
    CHECK_EQ(lx_runnable(&b.lx.rq[0]), 1);
    CHECK_EQ(b.lx.rq[0].curr, hog);
    bench_wake(&b, other, LX_NONE); /* woken while it pays: still behind */
    CHECK_EQ(b.lx.task[other]->state, LX_RUNNABLE);
    CHECK(!lx_bit(b.lx.resched, 0));
    b.lx.cfg.delay_dequeue = false;
    bench_run(&b, 100 * MS);
    CHECK_EQ(b.lx.task[other]->state, LX_SLEEPING);
    lx_fini(&b.lx);
}

/* sched_yield pushes the deadline: another who is eligible runs; if the yielder alone is, it runs on. */
static void eevdf_yield(void)
{
    bench_init(&b, LX_EEVDF, 1, 1, 1, 1);
    uint32_t x = bench_thread(&b, LX_NORMAL, LX_WEIGHT, FOREVER, 0), y = bench_thread(&b, LX_NORMAL, LX_WEIGHT, FOREVER, 0);
    bench_wake(&b, x, LX_NONE);
    bench_wake(&b, y, LX_NONE);
    bench_run(&b, 100 * US);
    CHECK_EQ(b.lx.rq[0].curr, x);
    int64_t d = b.lx.task[x]->deadline;
    lx_yield(&b.lx, 0, b.now);
    CHECK_EQ(b.lx.task[x]->deadline - d, (int64_t)b.lx.cfg.base_slice);
    bench_kicks(&b);
    CHECK_EQ(b.lx.rq[0].curr, y); /* it has run less */
    bench_run(&b, 150 * US);
    lx_yield(&b.lx, 0, b.now);
    bench_kicks(&b);
    CHECK_EQ(b.lx.rq[0].curr, y); /* 50 us against 100 us: only y is eligible, its yield is in vain */
    bench_run(&b, 300 * US);
    lx_yield(&b.lx, 0, b.now);
    bench_kicks(&b);
    CHECK_EQ(b.lx.rq[0].curr, x);
    /* The variant that forfeits the rest of the request: after it the other one alone is eligible. */
    b.lx.cfg.yield_forfeits = true;
    bench_run(&b, 400 * US);
    uint32_t now = b.lx.rq[0].curr;
    lx_yield(&b.lx, 0, b.now);
    bench_kicks(&b);
    CHECK_EQ(b.lx.rq[0].curr, x + y - now);
    lx_fini(&b.lx);
}

/* CFS by hand: scale 1, 6 ms of latency, 1 ms of wake-up granularity, ticks of 4 ms. */
static void cfs_wakeups(void)
{
    bench_init(&b, LX_CFS, 1, 1, 1, 1);
    uint32_t hog = bench_thread(&b, LX_NORMAL, LX_WEIGHT, FOREVER, 0), s = bench_thread(&b, LX_NORMAL, LX_WEIGHT, 100 * US, 20 * MS);
    bench_wake(&b, hog, LX_NONE);
    bench_wake(&b, s, LX_NONE);
    bench_run(&b, 10 * SEC);
    CHECK(b.th[s].worst <= 8 * MS); /* when new, it owes a turn; later it preempts at once: it is 3 ms ahead by its sleep */
    uint64_t before = b.th[s].switches;
    b.th[s].worst = 0;
    bench_run(&b, 20 * SEC);
    CHECK_EQ(b.th[s].worst, 0);
    CHECK(b.th[s].switches - before > 450);
    lx_fini(&b.lx);
}

/* CFS: a yielder is passed over only for those less than the wake-up granularity behind it. */
static void cfs_yield(void)
{
    bench_init(&b, LX_CFS, 1, 1, 1, 1);
    uint32_t x = bench_thread(&b, LX_NORMAL, LX_WEIGHT, FOREVER, 0), y = bench_thread(&b, LX_NORMAL, LX_WEIGHT, FOREVER, 0);
    bench_wake(&b, x, LX_NONE);
    bench_wake(&b, y, LX_NONE);
    bench_kicks(&b);
    CHECK_EQ(b.lx.rq[0].curr, y); /* it joined when there were two: it owes a turn of 3 ms, x one of 6 */
    uint32_t z = x;
    x = y;
    y = z;
    b.lx.task[y]->vruntime = b.lx.task[x]->vruntime; /* even */
    b.lx.rq[0].sum_wv = (lx_wide)LX_WEIGHT * (b.lx.task[x]->vruntime + b.lx.task[y]->vruntime);
    lx_yield(&b.lx, 0, b.now);
    bench_kicks(&b);
    CHECK_EQ(b.lx.rq[0].curr, y);
    bench_run(&b, 900 * US);
    lx_yield(&b.lx, 0, b.now);
    bench_kicks(&b);
    CHECK_EQ(b.lx.rq[0].curr, x);
    bench_run(&b, 950 * US); /* x is 850 us behind: within the granularity, so that y runs */
    lx_yield(&b.lx, 0, b.now);
    bench_kicks(&b);
    CHECK_EQ(b.lx.rq[0].curr, y);
    bench_run(&b, 1400 * US);
    lx_yield(&b.lx, 0, b.now);
    bench_kicks(&b);
    CHECK_EQ(b.lx.rq[0].curr, x);
    lx_yield(&b.lx, 0, b.now); /* 1300 us behind: its yield is in vain */
    bench_kicks(&b);
    CHECK_EQ(b.lx.rq[0].curr, x);
    lx_fini(&b.lx);
}

/* No task waits longer than a round: n tasks, whatever they do. */
static void bounded(enum lx_fair fair)
{
    bench_init(&b, fair, 1, 1, 1, 1);
    uint32_t n = 24;
    for (uint32_t i = 0; i < n; i++) bench_wake(&b, bench_thread(&b, LX_NORMAL, LX_WEIGHT, i % 3 ? FOREVER : 300 * US, i % 3 ? 0 : 5 * MS), LX_NONE);
    uint64_t last[24] = { 0 };
    for (uint64_t at = 200 * MS; at <= 20 * SEC; at += 200 * MS) {
        bench_run(&b, at);
        for (uint32_t i = 0; i < n; i++) {
            CHECK(b.th[i].ran > last[i]); /* each runs in every 200 ms: 24 ticks of 4 ms and to spare */
            last[i] = b.th[i].ran;
        }
    }
    lx_fini(&b.lx);
}

int main(void)
{
    CHECK_EQ(lx_weight_of_nice(0), 1024);
    CHECK_NEAR(lx_weight_of_nice(-20), 88761, 1);
    CHECK_NEAR(lx_weight_of_nice(19), 15, 5);
    weights(LX_EEVDF);
    weights(LX_CFS);
    eevdf_turns();
    eevdf_slice();
    eevdf_eligible();
    eevdf_lag();
    eevdf_delay();
    eevdf_yield();
    cfs_wakeups();
    cfs_yield();
    bounded(LX_EEVDF);
    bounded(LX_CFS);
    return 0;
}
