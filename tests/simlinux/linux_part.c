/* tests/simlinux/linux_part.c - static partitions and lending.
 * SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"
#include "sim/linux/part.h"

static struct bench b;
static struct lx_part p;

static uint32_t owned(uint32_t prog)
{
    uint32_t n = 0;
    for (uint32_t c = 0; c < b.lx.nr_cpus; c++) n += p.owner[c] == prog;
    return n;
}

/* Equal, and neighbours: hardware threads of a core are never split while there are cores
 * enough. */
static void equal(void)
{
    bench_init(&b, LX_EEVDF, 24, 12, 6, 2);
    for (uint32_t n = 1; n <= 12; n++) {
        CHECK(lx_part_init(&p, &b.lx, n));
        for (uint32_t k = 0; k < n; k++) CHECK(owned(k) == 24 / n || owned(k) == 24 / n + 1);
        for (uint32_t c = 0; 12 % n == 0 && c < 24; c += 2) CHECK_EQ(p.owner[c], p.owner[c + 1]);
        CHECK(lx_part_valid(&p));
        lx_part_fini(&p);
    }
    CHECK(lx_part_init(&p, &b.lx, 50));
    for (uint32_t k = 0; k < 50; k++) {
        uint32_t n = 0;
        for (uint32_t c = 0; c < 24; c++) n += lx_bit(lx_part_set(&p, k), c);
        CHECK(n >= 1);
    }
    lx_part_fini(&p);
    lx_fini(&b.lx);
}

/* A program that wants more gets what idles, by its owner's leave; the owner gets it back when it
 * wants it, no other's. */
static void lending(void)
{
    bench_init(&b, LX_EEVDF, 4, 4, 4, 1);
    CHECK(lx_part_init(&p, &b.lx, 2)); /* program 0: CPUs 0, 1; program 1: 2, 3 */
    uint32_t c = lx_part_want(&p, 0, NULL);
    CHECK(c == 2 && p.user[2] == 0 && lx_bit(lx_part_set(&p, 0), 2) && !lx_bit(lx_part_set(&p, 1), 2));
    CHECK(lx_part_valid(&p));
    CHECK_EQ(lx_part_want(&p, 1, NULL), 2);
    CHECK(p.user[2] == 1 && p.reclaimed == 1);
    p.waiting[1] = 1; /* its owner has work for what idles: not to be lent */
    CHECK_EQ(lx_part_want(&p, 0, NULL), LX_NONE);
    p.waiting[1] = 0;
    lx_bit_clear(b.lx.idle, 2);
    lx_bit_clear(b.lx.idle, 3);
    CHECK_EQ(lx_part_want(&p, 0, NULL), LX_NONE); /* busy */
    uint64_t waiters[1] = { 1 << 3 };
    CHECK_EQ(lx_part_want(&p, 0, waiters), 3);    /* ... with a task that only busy-waits */
    CHECK(lx_part_valid(&p));
    lx_part_fini(&p);
    lx_fini(&b.lx);
}

/* A CPU that falls idle: its owner first, then who has most waiting, and nobody's is its owner's
 * again. */
static void spare(void)
{
    bench_init(&b, LX_EEVDF, 6, 6, 6, 1);
    CHECK(lx_part_init(&p, &b.lx, 3));
    p.waiting[1] = 2;
    p.waiting[2] = 5;
    CHECK_EQ(lx_part_spare(&p, 0), 2);
    p.waiting[0] = 1;
    CHECK_EQ(lx_part_spare(&p, 0), 0);
    p.waiting[0] = p.waiting[2] = 0;
    CHECK_EQ(lx_part_spare(&p, 0), 1);
    p.waiting[1] = 0;
    CHECK_EQ(lx_part_spare(&p, 0), 0);
    CHECK_EQ(p.borrowed, 2);
    CHECK_EQ(p.reclaimed, 2);
    CHECK(lx_part_valid(&p));
    lx_part_fini(&p);
    lx_fini(&b.lx);
}

int main(void)
{
    equal();
    lending();
    spare();
    return 0;
}
