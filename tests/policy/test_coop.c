/* tests/policy/test_coop.c - coop: weights, priorities, deadlines and places.  SPDX-License-Identifier: Apache-2.0
 *
 * usage: test_coop [SEED] */
#include <time.h>
#include <unistd.h>
#include "turns.h"

static struct turns t;
static uint64_t rng;

/* Threads that compute for a millisecond between two scheduling points. */
static uint32_t program(uint32_t threads, uint32_t weight, int32_t priority)
{
    uint32_t p = turns_group(&t, weight, priority, 0);
    for (uint32_t i = 0; i < threads; i++) turns_wake(&t, turns_task(&t, p, MS, 0));
    return p;
}

static void weights_give_shares(uint32_t cores)
{
    turns_begin(&t, "weights", &usf_policy_coop, cores, 1);
    program(3 * cores, 100, 0);
    program(2 * cores, 200, 0);
    program(4 * cores, 300, 0);
    turns_run(&t, 12000 * MS);
    printf("weights 1, 2, 3 on %u cores: fairness %.4f\n", cores, turns_fairness(&t));
    CHECK(turns_fairness(&t) >= 0.99);
}

/* The higher one has all that it can use; the other is not starved. */
static void process_priorities(void)
{
    turns_begin(&t, "process priorities", &usf_policy_coop, 2, 1);
    program(4, 100, 0);
    program(4, 100, 5);
    program(4, 100, -5);
    turns_run(&t, 4000 * MS);
    CHECK(t.ran[1] >= 2 * 4000 * MS * 90 / 100);
    CHECK(t.ran[0] && t.ran[2]);
    CHECK(t.longest_wait <= 1000 * MS);
    t.groups[1].priority = 0;
    t.ops.group_changed(&t.pol, 1);
    t.groups[2].priority = 0;
    t.ops.group_changed(&t.pol, 2);
    memset(t.ran, 0, sizeof t.ran);
    turns_run(&t, 4000 * MS);
    CHECK(turns_fairness(&t) >= 0.99);          /* equals again */
}

/* A core that does nothing but ask, while all tasks of one process wait: they come by rank. */
static void ranks(void)
{
    enum { N = 60 };
    turns_begin(&t, "ranks", &usf_policy_coop, 2, 1);
    uint32_t p = turns_group(&t, 100, 0, 0), order[N];
    for (uint32_t i = 0; i < N; i++) {
        turns_task(&t, p, 0, 0);
        t.tasks[i].priority = (int32_t)turns_below(&rng, 5) - 2;
        if (turns_below(&rng, 2)) t.tasks[i].deadline = t.pol.now + turns_below(&rng, 1000);
        t.tasks[i].last_core = 0;
        t.tasks[i].ready_since = t.pol.now += 1000;
        policy_enqueue(&t.pol, &t.ops, i, USF_WHY_WAKE);
    }
    const char *why;
    for (uint32_t i = 0; i < N; i++) {
        order[i] = policy_pick(&t.pol, &t.ops, 0, &why);
        CHECK(order[i] != USF_NONE && !why);
        if (!i) continue;
        const struct usf_pol_task *a = &t.tasks[order[i - 1]], *b = &t.tasks[order[i]];
        CHECK(a->priority >= b->priority);
        if (a->priority > b->priority) continue;
        CHECK(a->deadline ? !b->deadline || a->deadline <= b->deadline : !b->deadline);
        if (a->deadline == b->deadline) CHECK(a->ready_since < b->ready_since);
    }
    CHECK(policy_pick(&t.pol, &t.ops, 0, &why) == USF_NONE);
}

/* Threads of low priority, behind some of high priority that always want to run, have a turn now and then. */
static void low_ones_are_not_starved(void)
{
    turns_begin(&t, "starvation bound", &usf_policy_coop, 2, 1);
    uint32_t p = turns_group(&t, 100, 0, 0);
    for (uint32_t i = 0; i < 8; i++) {
        uint32_t task = turns_task(&t, p, MS, 0);
        t.tasks[task].priority = i < 5 ? 10 : i == 5 ? 0 : -3;
        turns_wake(&t, task);
    }
    turns_run(&t, 4000 * MS);
    uint64_t high = 0;
    for (uint32_t i = 0; i < 5; i++) high += t.task[i].ran;
    CHECK(high >= 2 * 4000 * MS * 90 / 100);
    for (uint32_t i = 5; i < 8; i++) CHECK(t.task[i].ran >= 5 * MS);
    CHECK(t.longest_wait <= 500 * MS);
}

/* start() in turns.c checks each time that the task may run where it is put, turns_run that no core is idle in vain. */
static void strict_places_are_kept(void)
{
    turns_begin(&t, "strict places", &usf_policy_coop, 8, 2);
    uint32_t p = turns_group(&t, 100, 0, 0), q = turns_group(&t, 100, 1, 0);
    for (uint32_t i = 0; i < 40; i++) {
        uint32_t task = turns_task(&t, i % 4 ? p : q, 100000 * (1 + turns_below(&rng, 10)), turns_below(&rng, 3) ? 0 : 100000 * (1 + turns_below(&rng, 20)));
        t.tasks[task].affinity = (uint8_t)turns_below(&rng, 5);
        t.tasks[task].mask[0] = 1 + turns_below(&rng, 255);
        t.tasks[task].strict = (uint8_t)turns_below(&rng, 2);
        t.tasks[task].affinity_id = turns_below(&rng, t.tasks[task].affinity == USF_AFFINITY_CORE ? 8 : 2);
        t.tasks[task].priority = (int32_t)turns_below(&rng, 3) - 1;
        turns_wake(&t, task);
    }
    turns_run(&t, 2000 * MS);
    for (uint32_t i = 0; i < t.nr_tasks; i++) CHECK(t.task[i].ran > 0);
}

static uint64_t there, elsewhere;
static void watch_places(struct turns *m)
{
    for (uint32_t c = 0; c < m->pol.nr_cores; c++) {
        uint32_t task = m->cores[c].current;
        if (task == USF_NONE) continue;
        bool preferred = m->tasks[task].affinity == USF_AFFINITY_CORE ? c == m->tasks[task].affinity_id
                                                                    : m->cores[c].node == m->tasks[task].affinity_id;
        if (preferred) there++;
        else elsewhere++;
    }
}

/* As many as there are cores: each finds its place, and is back there after each sleep. */
static void preferred_places_are_found(void)
{
    turns_begin(&t, "preferred places", &usf_policy_coop, 8, 2);
    uint32_t p = turns_group(&t, 100, 0, 0);
    for (uint32_t i = 0; i < 6; i++) {
        uint32_t task = turns_task(&t, p, MS, 2 * MS);
        t.tasks[task].affinity = i < 3 ? USF_AFFINITY_CORE : USF_AFFINITY_NODE;
        t.tasks[task].affinity_id = i < 3 ? 7 - i : 0;
        turns_wake(&t, task);
    }
    t.each_step = watch_places;
    turns_run(&t, 1000 * MS);
    CHECK(there > 0 && elsewhere == 0);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL) * 1000003u + (uint64_t)getpid();
    rng = seed;
    printf("seed %lu\n", seed);
    alarm(100);
    weights_give_shares(1);
    weights_give_shares(2);
    process_priorities();
    for (int i = 0; i < 20; i++) ranks();
    low_ones_are_not_starved();
    for (int i = 0; i < 5; i++) strict_places_are_kept();
    preferred_places_are_found();
    printf("ok\n");
    return 0;
}
