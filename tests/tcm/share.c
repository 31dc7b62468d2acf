/* tests/tcm/share.c - CPUs are divided among processes whose masks differ.  SPDX-License-Identifier: Apache-2.0
 *
 * Random machines of up to ten CPUs: nobody gets more than it asks for; what is given can be had by the masks; and nobody could
 * have another CPU, or one of a process with two more. */
#include "tcm_test.h"

#define MOST 5u

static uint64_t state;
static uint32_t pick(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

/* Can these numbers of CPUs be had?  By Hall's theorem: for each set of processes, as many as their masks have together. */
static bool can_be_had(const struct tcm_asker *a, const uint32_t *numbers, uint32_t n)
{
    for (uint32_t set = 1; set < 1u << n; set++) {
        uint32_t sum = 0;
        uint64_t cpus = 0;
        for (uint32_t i = 0; i < n; i++) {
            if (!(set >> i & 1)) continue;
            sum += numbers[i];
            cpus |= a[i].cpus.w[0];
        }
        if (sum > (uint32_t)__builtin_popcountll(cpus)) return false;
    }
    return true;
}

static void look(const struct tcm_asker *a, uint32_t n)
{
    uint32_t give[MOST];
    for (uint32_t i = 0; i < n; i++) {
        give[i] = a[i].give;
        CHECK(give[i] <= a[i].demand.max);
    }
    CHECK(can_be_had(a, give, n));
    for (uint32_t i = 0; i < n; i++) {
        if (give[i] == a[i].demand.max) continue;
        give[i]++;
        CHECK(!can_be_had(a, give, n));
        for (uint32_t j = 0; j < n; j++) {
            if (j == i || a[j].give < a[i].give + 2 || a[j].give <= a[j].demand.min) continue;
            give[j]--;
            CHECK(!can_be_had(a, give, n));
            give[j]++;
        }
        give[i]--;
    }
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : (uint64_t)getpid();
    printf("seed %llu\n", (unsigned long long)seed);
    alarm(60);
    state = seed;
    for (int round = 0; round < 20000; round++) {
        struct tcm_asker a[MOST];
        uint32_t n = 1 + pick(MOST), cpus = 1 + pick(10);
        memset(a, 0, sizeof(a));
        for (uint32_t i = 0; i < n; i++) {
            a[i].cpus.w[0] = pick(3) ? (1ull << cpus) - 1 : 1 + pick((1u << cpus) - 1);
            uint32_t there = (uint32_t)__builtin_popcountll(a[i].cpus.w[0]);
            a[i].demand.max = pick(there + 1);
            a[i].demand.min = pick(3) ? 0 : pick(a[i].demand.max + 1);
        }
        tcm_share(a, n);
        look(a, n);
    }
    /* What nobody asks for goes to idle permits. */
    struct tcm_asker two[2] = {{.cpus.w[0] = 15, .demand = {0, 1, 3}}, {.cpus.w[0] = 15, .demand = {1, 2, 0}}};
    tcm_share(two, 2);
    CHECK_EQ(two[0].give, 2);
    CHECK_EQ(two[1].give, 2);
    return 0;
}
