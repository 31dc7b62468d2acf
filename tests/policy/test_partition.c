/* tests/policy/test_partition.c - the partitioning algorithm by itself.  SPDX-License-Identifier: Apache-2.0
 *
 * usage: test_partition [SEED]
 * The examples of the equipartitioning paper (Schönherr et al. 2013): levels of its machine of 4 nodes with 6 cores, thresholds with
 * programs rising and falling, hysteresis, balance; then the invariants of partition.h on random machines. */
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "policy/partition.h"
#include "policy/speedup.h"
#include "check/machine.h"

static struct machine m;        /* for its records of cores; no policy runs here */

static void shape(uint32_t packages, uint32_t nodes, uint32_t llcs, uint32_t cores, uint32_t threads)
{
    uint32_t n = packages * nodes * llcs * cores * threads;
    machine_init(&m, policy_find("fifo"), 1, n, 1, 1);
    for (uint32_t i = 0; i < n; i++) {
        m.cores[i].phys = i / threads;
        m.cores[i].llc = i / threads / cores;
        m.cores[i].node = i / threads / cores / llcs;
        m.cores[i].package = i / threads / cores / llcs / nodes;
    }
}

static void levels_are(const struct part_map *map, uint32_t n, const uint16_t *counts)
{
    CHECK(&m, map->nr_levels == n);
    for (uint32_t l = 0; l < n; l++) CHECK(&m, map->count[l] == counts[l]);
}
#define LEVELS(map, ...) levels_are(map, sizeof (uint16_t[]){__VA_ARGS__} / 2, (uint16_t[]){__VA_ARGS__})

static void levels_of_machines(void)
{
    struct part_map map;
    shape(4, 1, 1, 6, 1);               /* the paper's: 24, 12, 6, 3, 2 and 1 cores */
    part_build(&m.pol, &map, false);
    LEVELS(&map, 1, 2, 4, 8, 12, 24);
    part_build(&m.pol, &map, true);     /* with coscheduling: "supporting 2 and 3 at the same time is not possible" */
    LEVELS(&map, 1, 2, 4, 8, 24);
    machine_free(&m);
    shape(2, 1, 1, 2, 1);               /* its figure 1: system, processor, core */
    part_build(&m.pol, &map, false);
    LEVELS(&map, 1, 2, 4);
    machine_free(&m);
    shape(1, 1, 1, 1, 1);
    part_build(&m.pol, &map, false);
    LEVELS(&map, 1);
    machine_free(&m);
    shape(2, 4, 1, 7, 2);               /* 112 hardware threads; 7 cores cannot be halved, hardware threads are not parted */
    part_build(&m.pol, &map, false);
    LEVELS(&map, 1, 2, 4, 8, 56);
    machine_free(&m);
    shape(1, 1, 3, 4, 1);               /* three caches under one node */
    part_build(&m.pol, &map, false);
    LEVELS(&map, 1, 3, 6, 12);
    machine_free(&m);
    shape(1, 1, 1, 8, 1);               /* a machine that is not regular: caches of 5 and 3 cores */
    for (uint32_t i = 5; i < 8; i++) m.cores[i].llc = 1;
    part_build(&m.pol, &map, false);
    LEVELS(&map, 1, 2, 8);
    uint64_t mask[USF_CORE_WORDS];
    part_mask(&map, 1, 0, 1, mask);
    CHECK(&m, mask[0] == 0x1f);
    part_mask(&map, 1, 1, 1, mask);
    CHECK(&m, mask[0] == 0xe0);
    machine_free(&m);
}

/* Cores are numbered across the nodes, as Linux often does: a partition is still within one. */
static void interleaved_numbers(void)
{
    struct part_map map;
    uint64_t mask[USF_CORE_WORDS];
    shape(4, 1, 1, 6, 1);
    for (uint32_t i = 0; i < 24; i++) m.cores[i].package = m.cores[i].node = m.cores[i].llc = i % 4;
    part_build(&m.pol, &map, false);
    for (uint32_t l = 2; l < map.nr_levels; l++)
        for (uint32_t i = 0; i < map.count[l]; i++) {
            part_mask(&map, l, i, 1, mask);
            uint32_t first = part_next(mask, 0, 0);
            for (uint32_t c = 0; c < 24; c++) if (usf_cores_has(mask, c)) CHECK(&m, c % 4 == first % 4);
        }
    machine_free(&m);
}

/* Listing 1: at each step the number of cores that the paper's machine gives a program. */
static void thresholds(void)
{
    struct part_map map;
    shape(4, 1, 1, 6, 1);
    part_build(&m.pol, &map, true);
    uint32_t level = 0, changes = 0;
    for (uint32_t n = 1; n <= 30; n++) {        /* "two to three applications ... on 12-core partitions, four to seven ... on sockets,
                                                   eight to 23 ... half-socket partitions, ... 24 or more ... single" */
        uint32_t before = level;
        level = part_next_level(&map, level, n, true);
        changes += level != before;
        CHECK(&m, 24u / map.count[level] == (n < 2 ? 24u : n < 4 ? 12u : n < 8 ? 6u : n < 24 ? 3u : 1u));
    }
    CHECK(&m, changes == 4);                    /* reconfigurations only where thresholds are crossed */
    for (uint32_t n = 30; n >= 1; n--) {
        level = part_next_level(&map, level, n, true);
        CHECK(&m, 24u / map.count[level] == (n < 2 ? 24u : n < 4 ? 12u : n < 8 ? 6u : n < 24 ? 3u : 1u));
    }
    part_build(&m.pol, &map, false);            /* TA has pairs of cores, too: 12 to 23 programs */
    level = part_next_level(&map, 0, 12, true);
    CHECK(&m, map.count[level] == 12);
    CHECK(&m, map.count[part_next_level(&map, level, 11, true)] == 8);
    machine_free(&m);
}

/* Exactly at a threshold nothing changes before it has settled; beyond it, at once. */
static void hysteresis(void)
{
    struct part_map map;
    shape(4, 1, 1, 6, 1);
    part_build(&m.pol, &map, false);
    uint32_t changes = 0, level = 1;
    for (uint32_t i = 0; i < 100; i++) {        /* four programs and three in turn, too fast to settle */
        uint32_t next = part_next_level(&map, level, 3 + i % 2, false);
        changes += next != level;
        level = next;
    }
    CHECK(&m, changes == 0 && map.count[level] == 2);
    CHECK(&m, map.count[part_next_level(&map, level, 4, true)] == 4);
    CHECK(&m, map.count[level = part_next_level(&map, level, 5, false)] == 4);
    CHECK(&m, part_next_level(&map, level, 3, false) == level);     /* one socket is without a program: wait and see */
    CHECK(&m, map.count[part_next_level(&map, level, 3, true)] == 2);
    CHECK(&m, map.count[part_next_level(&map, level, 2, false)] == 2);
    machine_free(&m);
}

static void balance(void)
{
    struct part_map map;
    uint16_t load[USF_CORES_MAX] = {0};
    uint64_t all[USF_CORE_WORDS] = {0xffffff}, none[USF_CORE_WORDS] = {0}, mask[USF_CORE_WORDS], few[USF_CORE_WORDS] = {0x3f << 6};
    shape(4, 1, 1, 6, 1);
    part_build(&m.pol, &map, false);
    for (uint32_t n = 0; n < 7; n++) {          /* seven on four sockets: one or two each */
        uint32_t at = part_choose(&map, 2, load, 1, n == 6 ? few : all, none);
        CHECK(&m, at != USF_NONE);
        part_mask(&map, 2, at, 1, mask);
        CHECK(&m, usf_cores_count(mask) == 6);
        for (uint32_t c = 0; c < 24; c++) load[c] += usf_cores_has(mask, c);
        for (uint32_t c = 0; c < 24; c++) CHECK(&m, n == 6 || load[c] == (n / 4) + (c / 6 <= n % 4));
        if (n == 6) CHECK(&m, at == 1);         /* it may run on the second socket alone */
    }
    memset(load, 0, sizeof load);
    part_mask(&map, 1, 1, 1, mask);             /* who had the second half gets a socket of it */
    CHECK(&m, part_choose(&map, 2, load, 1, all, mask) == 2);
    CHECK(&m, part_choose(&map, 3, load, 2, all, mask) == 4);       /* two halves of one socket, not of two */
    CHECK(&m, part_choose(&map, 2, load, 1, none, mask) == USF_NONE);
    machine_free(&m);
}

static void random_machines(uint64_t seed)
{
    struct part_map map;
    for (uint32_t round = 0; round < 200; round++) {
        struct machine dice = { .rng = seed + round };
        uint32_t threads = 1 + machine_below(&dice, 2), nodes = 1 + machine_below(&dice, 3), llcs = 1 + machine_below(&dice, 3);
        shape(1 + machine_below(&dice, 3), nodes, llcs, 1 + machine_below(&dice, 4), threads);
        m.seed = seed + round;
        if (machine_below(&dice, 3) == 0)       /* cores that the instance has not */
            m.pol.nr_cores = 1 + machine_below(&dice, m.pol.nr_cores);
        bool nested = machine_below(&dice, 2);
        part_build(&m.pol, &map, nested);
        CHECK(&m, map.nr_levels >= 1 && map.nr_levels <= PART_LEVELS && map.count[0] == 1 && map.nr_cores == m.pol.nr_cores);
        for (uint32_t l = 0; l < map.nr_levels; l++) {
            uint64_t seen[USF_CORE_WORDS] = {0}, mask[USF_CORE_WORDS];
            CHECK(&m, usf_cores_count(map.begins[l]) == map.count[l] && usf_cores_has(map.begins[l], 0));
            CHECK(&m, !l || map.count[l] > map.count[l - 1]);
            CHECK(&m, !l || !nested || usf_cores_common(map.begins[l - 1], map.begins[l]) == map.count[l - 1]);
            for (uint32_t i = 0; i < map.count[l]; i++) {
                part_mask(&map, l, i, 1, mask);
                CHECK(&m, usf_cores_any(mask) && !usf_cores_common(mask, seen));
                usf_cores_or(seen, seen, mask);
                for (uint32_t a = 0; a < map.nr_cores; a++)         /* no hardware thread of a core without the other */
                    for (uint32_t b = a + 1; b < map.nr_cores && b < a + 2; b++)
                        if (m.cores[a].phys == m.cores[b].phys) CHECK(&m, usf_cores_has(mask, a) == usf_cores_has(mask, b));
                uint32_t touched = 0, whole = 0;                    /* never one node and a half */
                for (uint32_t node = 0; node < 27; node++) {
                    uint32_t in = 0, of = 0;
                    for (uint32_t c = 0; c < map.nr_cores; c++)
                        if (m.cores[c].node == node) of++, in += usf_cores_has(mask, c);
                    touched += in != 0;
                    whole += in && in == of;
                }
                CHECK(&m, touched == 1 || whole == touched);
            }
            CHECK(&m, usf_cores_count(seen) == map.nr_cores);
        }
        machine_free(&m);
    }
}

/* The estimates of speedup.h, from rates as Amdahl's law gives them. */
static void speedups(void)
{
    for (uint32_t serial = 0; serial <= 50; serial += 10) {     /* percent */
        struct speedup s = {0};
        double one = 1000;
        for (int i = 0; i < 3; i++) {
            double s6 = 6 / (1 + serial / 100. * 5), s12 = 12 / (1 + serial / 100. * 11);
            speedup_add(&s, 6, (uint64_t)(one * s6 * (i == 1 ? 3 : 1)), 1000000000);       /* one period was another phase */
            speedup_add(&s, 12, (uint64_t)(one * s12), 1000000000);
        }
        double s24 = 24 / (1 + serial / 100. * 23), s12 = 12 / (1 + serial / 100. * 11);
        double got = speedup_ratio(&s, 12, 24) / 65536., want = s24 / s12;
        if (got < want * 0.97 || got > want * 1.03) {
            printf("FAILED: serial part of %u %%: 24 cores instead of 12 make it %.3f times as fast, not %.3f\n", serial, want, got);
            exit(1);
        }
    }
    struct speedup s = {0};
    speedup_add(&s, 6, 100, 1000000000);
    CHECK(&m, speedup_ratio(&s, 6, 12) == 0);                   /* one width says nothing about another */
    speedup_add(&s, 12, 90, 1000000000);                        /* slower on more: as measured, and no wonders beyond */
    CHECK(&m, speedup_ratio(&s, 6, 12) < SPEEDUP_ONE && speedup_ratio(&s, 12, 24) <= SPEEDUP_ONE);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL) * 1000003u + (uint64_t)getpid();
    alarm(60);
    printf("seed %lu\n", seed);
    levels_of_machines();
    interleaved_numbers();
    thresholds();
    hysteresis();
    balance();
    random_machines(seed);
    speedups();
    printf("ok\n");
    return 0;
}
