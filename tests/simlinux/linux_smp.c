/* tests/simlinux/linux_smp.c - placement, balancing and real-time classes of the Linux models.  SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "bench.h"

static struct bench b;

static uint32_t awake(enum lx_class cls, uint64_t burst, uint64_t sleep, uint32_t waker)
{
    uint32_t t = bench_thread(&b, cls, LX_WEIGHT, burst, sleep);
    bench_wake(&b, t, waker);
    bench_kicks(&b);
    return t;
}

/* New tasks go to idle CPUs, spread over nodes and caches, whole cores first. */
static void spread(void)
{
    bench_init(&b, LX_EEVDF, 16, 8, 4, 2);
    uint32_t nodes[2] = { 0 }, phys[8] = { 0 };
    for (int i = 0; i < 8; i++) {
        uint32_t t = awake(LX_NORMAL, FOREVER, 0, 0), c = b.lx.task[t]->cpu;
        nodes[c / 8]++;
        phys[c / 2]++;
    }
    CHECK_EQ(nodes[0], 4);
    for (int i = 0; i < 8; i++) CHECK_EQ(phys[i], 1);
    for (int i = 0; i < 8; i++) awake(LX_NORMAL, FOREVER, 0, 0);
    CHECK_EQ(b.lx.nr_idle, 0);
    lx_fini(&b.lx);
}

/* Waking: the last CPU if idle; else an idle one below its cache, by preference a whole idle core; else where the waker or it was. */
static void wake(void)
{
    bench_init(&b, LX_EEVDF, 8, 8, 4, 2);
    uint32_t t = bench_thread(&b, LX_NORMAL, LX_WEIGHT, FOREVER, 0);
    struct lx_task *p = b.lx.task[t];
    p->cpu = 1;
    CHECK_EQ(lx_select(&b.lx, t, LX_NONE, LX_FOR_WAKE, 0), 1);
    CHECK_EQ(lx_select(&b.lx, t, 7, LX_FOR_WAKE, 0), 1);    /* another cache: prev is idle */
    uint32_t hog[4];
    for (uint32_t c = 0; c < 2; c++) { /* CPUs 1 and 0 get busy, in this order */
        hog[c] = bench_thread(&b, LX_NORMAL, LX_WEIGHT, FOREVER, 0);
        lx_arrive(&b.lx, hog[c], 1 - c, LX_FOR_NEW, 0);
        lx_resched(&b.lx, 1 - c);
        bench_kicks(&b);
        CHECK_EQ(lx_select(&b.lx, t, 1 - c, LX_FOR_WAKE, 0), 2); /* not 0 when 1 is busy: CPU 2's core is idle as a whole */
    }
    for (uint32_t c = 2; c < 4; c++) {
        hog[c] = bench_thread(&b, LX_NORMAL, LX_WEIGHT, FOREVER, 0);
        lx_arrive(&b.lx, hog[c], c, LX_FOR_NEW, 0);
        lx_resched(&b.lx, c);
        bench_kicks(&b);
    }
    CHECK_EQ(lx_select(&b.lx, t, LX_NONE, LX_FOR_WAKE, 0), 1);  /* all of the cache are busy */
    CHECK_EQ(lx_select(&b.lx, t, 6, LX_FOR_WAKE, 0), 6);        /* the waker's CPU has less load */
    uint64_t set[1] = { 1 << 5 };
    p->allowed = set;
    CHECK_EQ(lx_select(&b.lx, t, 0, LX_FOR_WAKE, 0), 5);
    p->allowed = NULL;
    p->bound = 3;
    CHECK_EQ(lx_select(&b.lx, t, 0, LX_FOR_WAKE, 0), 3);
    lx_fini(&b.lx);
}

/* A CPU that falls idle pulls; nothing is idle while tasks wait. */
static void newidle(void)
{
    bench_init(&b, LX_EEVDF, 4, 4, 4, 1);
    uint64_t one[1] = { 1 };
    uint32_t t[6];
    for (int i = 0; i < 6; i++) {
        t[i] = bench_thread(&b, LX_NORMAL, LX_WEIGHT, 10 * MS, 1000 * SEC);
        b.lx.task[t[i]]->allowed = one;
        bench_wake(&b, t[i], 0);
    }
    uint32_t idler = bench_thread(&b, LX_NORMAL, LX_WEIGHT, 1 * MS, 1000 * SEC);
    bench_wake(&b, idler, 3);
    bench_kicks(&b);
    CHECK(b.lx.task[idler]->cpu != 0);
    CHECK_EQ(b.lx.rq[0].nr, 6);
    for (int i = 0; i < 6; i++) b.lx.task[t[i]]->allowed = NULL; /* nobody moves by itself yet */
    bench_run(&b, 1 * MS + 1);
    CHECK_EQ(b.lx.rq[0].nr, 5); /* the idler's CPU took one at once */
    bench_run(&b, 40 * MS);
    for (int i = 0; i < 6; i++) CHECK(b.th[t[i]].ran == 10 * MS); /* and the ticks woke the other CPUs */
    lx_fini(&b.lx);
}

/* Three hogs on two CPUs share them evenly in the long run, as balancing rotates who is alone. */
static void rotation(enum lx_fair fair)
{
    bench_init(&b, fair, 2, 2, 2, 1);
    for (int i = 0; i < 3; i++) awake(LX_NORMAL, FOREVER, 0, 0);
    bench_run(&b, 30 * SEC);
    for (int i = 0; i < 3; i++) CHECK_NEAR(b.th[i].ran, 20 * SEC, 10);
    CHECK(b.lx.stats.pulls > 10);
    lx_fini(&b.lx);
}

/* 64 CPUs, 256 hogs that began on one node: about four each in the end. */
static void even(void)
{
    bench_init(&b, LX_EEVDF, 64, 16, 8, 2);
    uint64_t node[1] = { 0xffff };
    uint32_t t[256];
    for (int i = 0; i < 256; i++) {
        t[i] = bench_thread(&b, LX_NORMAL, LX_WEIGHT, FOREVER, 0);
        b.lx.task[t[i]]->allowed = node;
        bench_wake(&b, t[i], 0);
    }
    for (int i = 0; i < 256; i++) b.lx.task[t[i]]->allowed = NULL;
    bench_run(&b, 20 * SEC);
    uint64_t sum = 0;
    for (uint32_t c = 0; c < 64; c++) {
        CHECK(b.lx.rq[c].nr >= 3 && b.lx.rq[c].nr <= 5);
        sum += b.lx.rq[c].nr;
    }
    CHECK_EQ(sum, 256);
    lx_fini(&b.lx);
}

/* SCHED_RR: equals take turns of 100 ms (in ticks); a higher one preempts; FIFO ones run until they block or yield. */
static void realtime(void)
{
    bench_init(&b, LX_EEVDF, 1, 1, 1, 1);
    uint32_t normal = awake(LX_NORMAL, FOREVER, 0, LX_NONE);
    bench_run(&b, 10 * MS);
    CHECK_EQ(b.th[normal].ran, 10 * MS);
    uint32_t x = awake(LX_RR, FOREVER, 0, LX_NONE), y = awake(LX_RR, FOREVER, 0, LX_NONE);
    bench_run(&b, 410 * MS);
    CHECK_EQ(b.th[normal].ran, 10 * MS);
    CHECK_NEAR(b.th[x].ran, 200 * MS, 4);
    CHECK_NEAR(b.th[y].ran, 200 * MS, 4);
    CHECK(b.th[x].switches <= 3);
    uint32_t high = lx_task_new(&b.lx, 0, LX_FIFO, LX_WEIGHT, 50, 0);
    b.th[high] = (struct thread){ .left = 30 * MS, .burst = 30 * MS, .sleep = 70 * MS, .wake_at = FOREVER, .woken = FOREVER, .cpu = LX_NONE };
    bench_wake(&b, high, LX_NONE);
    bench_run(&b, 1405 * MS);
    CHECK_EQ(b.th[high].ran, 300 * MS);
    CHECK_EQ(b.th[high].worst, 0);
    lx_yield(&b.lx, 0, b.now);
    uint32_t was = b.lx.rq[0].curr;
    bench_kicks(&b);
    CHECK_EQ(b.lx.rq[0].curr, x + y - was);
    lx_fini(&b.lx);

    bench_init(&b, LX_CFS, 1, 1, 1, 1);
    x = awake(LX_FIFO, FOREVER, 0, LX_NONE), y = awake(LX_FIFO, FOREVER, 0, LX_NONE);
    bench_run(&b, 5 * SEC);
    CHECK_EQ(b.th[x].ran, 5 * SEC);
    CHECK_EQ(b.th[y].ran, 0);
    lx_fini(&b.lx);
}

/* Real-time tasks find CPUs that run something lower, and idle ones pull them. */
static void realtime_smp(void)
{
    bench_init(&b, LX_EEVDF, 4, 4, 4, 1);
    for (int i = 0; i < 4; i++) awake(LX_NORMAL, FOREVER, 0, 0);
    uint32_t t[6];
    for (int i = 0; i < 4; i++) t[i] = awake(LX_FIFO, FOREVER, 0, 0);
    for (uint32_t c = 0; c < 4; c++) CHECK(b.lx.rq[c].curr != LX_NONE && b.lx.task[b.lx.rq[c].curr]->cls == LX_FIFO);
    t[4] = awake(LX_FIFO, FOREVER, 0, 0);
    CHECK_EQ(b.lx.task[t[4]]->state, LX_RUNNABLE);
    uint32_t cpu = 3;
    uint32_t stops = b.lx.rq[cpu].curr;
    b.th[stops].left = 1 * MS;
    b.th[stops].burst = b.th[stops].sleep = 1000 * SEC;
    b.th[stops].since = b.now;
    bench_run(&b, 2 * MS);
    CHECK_EQ(b.lx.rq[cpu].curr, t[4]);
    lx_fini(&b.lx);
}

/* The same calls give the same schedule. */
static uint64_t once(void)
{
    bench_init(&b, LX_EEVDF, 8, 4, 4, 2);
    for (uint32_t i = 0; i < 40; i++)
        bench_wake(&b, bench_thread(&b, LX_NORMAL, 200 + 100 * (i % 20), 50 * US * (i + 1), i % 5 ? 70 * US * i : 0), i % 8);
    bench_run(&b, 2 * SEC);
    uint64_t sum = 14695981039346656037u;
    for (uint32_t i = 0; i < 40; i++) sum = (sum ^ b.th[i].ran ^ b.th[i].switches << 40) * 1099511628211u;
    lx_fini(&b.lx);
    return sum;
}

int main(void)
{
    spread();
    wake();
    newidle();
    rotation(LX_EEVDF);
    rotation(LX_CFS);
    even();
    realtime();
    realtime_smp();
    CHECK(once() == once());
    return 0;
}
