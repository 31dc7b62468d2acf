/* tests/policy/turns.h - who gets how much of a machine without a kernel.  SPDX-License-Identifier: Apache-2.0
 *
 * Threads compute in bursts, with a scheduling point after each, and sleep in between if they are told so.  A core whose
 * give_way_at is due, or whose thread has computed for the time of the progress guarantee, asks for another if any waits, as
 * src/sched does: `current` is then the one that goes on if there is none.  Time goes in steps; nothing is left to chance. */
#ifndef USF_TEST_TURNS_H
#define USF_TEST_TURNS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../check.h"
#include "policy/policy.h"

enum { TURNS_CORES = 32, TURNS_GROUPS = 1024, TURNS_TASKS = 256 };
#define TURNS_STEP 50000ull         /* ns */
#define MS 1000000ull
enum turns_state { NONE, ASLEEP, QUEUED, RUNS };

struct turns {
    struct usf_pol pol;
    struct usf_policy_ops ops;
    struct usf_pol_task tasks[TURNS_TASKS];
    struct usf_pol_core cores[TURNS_CORES];
    struct usf_pol_group groups[TURNS_GROUPS];
    uint8_t data[USF_POL_DATA] __attribute__((aligned(64)));
    struct { enum turns_state state; uint64_t burst, sleep, left, wakes_at, ran; } task[TURNS_TASKS];
    uint64_t ran[TURNS_GROUPS];      /* core time of each group */
    uint64_t longest_wait;          /* of a queued task */
    uint32_t nr_tasks, nr_groups;
    const char *what;               /* of the test, for its failure */
    void (*each_step)(struct turns *);      /* or null */
};

/* A random number below n; the seed goes on. */
static inline uint32_t turns_below(uint64_t *rng, uint32_t n)
{
    uint64_t x = *rng += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    return (uint32_t)((x ^ x >> 27) * 0x94d049bb133111ebull >> 33) % n;
}

void turns_begin(struct turns *t, const char *what, const struct usf_policy_ops *ops, uint32_t cores, uint32_t nodes);
uint32_t turns_group(struct turns *t, uint32_t weight, int32_t priority, uint32_t flags);
/* burst: ns to the next scheduling point, 0: never; sleep: ns there. */
uint32_t turns_task(struct turns *t, uint32_t group, uint64_t burst, uint64_t sleep);
void turns_run(struct turns *t, uint64_t ns);
void turns_wake(struct turns *t, uint32_t task);
void turns_sleep(struct turns *t, uint32_t core);       /* what runs there */
/* Jain's index of the groups' times, each divided by its weight: 1: all alike. */
double turns_fairness(const struct turns *t);

#endif
