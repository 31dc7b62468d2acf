/* tests/policy/test_gang.c - gang: equal shares, and all cores of a partition switch together.  SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>
#include "policy/switches.h"
#include "policy/partition.h"
#include "turns.h"

static struct turns t;

/* A program of so many threads that compute for ever. */
static uint32_t program(uint32_t threads, uint32_t weight, uint32_t flags)
{
    uint32_t p = turns_group(&t, weight, 0, flags);
    for (uint32_t i = 0; i < threads; i++) turns_wake(&t, turns_task(&t, p, 0, 0));
    return p;
}

/* ---- together ----------------------------------------------------------------------------------- */

static uint64_t mixed, mixed_for, longest_mixed, changes;
static uint32_t last_proc, partition;

/* How long do cores of one partition run different programs? */
static void watch(struct turns *m)
{
    bool same = true;
    for (uint32_t first = 0; first < m->pol.nr_cores; first += partition)
        for (uint32_t c = first + 1; c < first + partition; c++)
            same &= m->cores[c].current != USF_NONE
                    && m->tasks[m->cores[c].current].group == m->tasks[m->cores[first].current].group;
    mixed += !same;
    mixed_for = same ? 0 : mixed_for + TURNS_STEP;
    if (mixed_for > longest_mixed) longest_mixed = mixed_for;
    uint32_t now = m->tasks[m->cores[0].current].group;
    changes += same && now != last_proc;
    if (same) last_proc = now;
}

static void switch_together(uint32_t cores, uint32_t programs, uint32_t threads)
{
    turns_begin(&t, "all cores switch together", &usf_policy_gang, cores, 1);
    for (uint32_t i = 0; i < programs; i++) program(threads + i, 100, 0);
    turns_run(&t, 200 * MS);                /* all have come */
    partition = cores;
    mixed = longest_mixed = changes = 0;
    t.each_step = watch;
    turns_run(&t, 1000 * MS);
    CHECK(longest_mixed <= 1 * MS);     /* within a millisecond of the slice's end */
    CHECK(changes >= 90 && changes <= 101);     /* slices of 10 ms */
    CHECK(mixed <= 1000 * MS / TURNS_STEP / 50);
    /* ... as it counts itself: also the changes of the first 200 ms */
    const struct gang_switches *s = (const struct gang_switches *)(const void *)t.data;
    uint64_t counted = 0;
    for (unsigned k = 0; k < GANG_SWITCH_BUCKETS; k++) counted += s->within[k];
    CHECK(s->count >= changes && s->count <= changes + 25 && counted == s->count);
    CHECK(s->longest_ns <= 1 * MS && !s->late && s->sum_ns <= s->count * s->longest_ns);
    CHECK(gang_switch_quantile(s, 990) <= 1024 && gang_switch_quantile(s, 0) <= gang_switch_quantile(s, 990));
}

/* More programs than partitions, each partition's cores switch as one. */
static void partitions_switch_together(void)
{
    turns_begin(&t, "each partition switches together", &usf_policy_gang, 8, 2);
    for (uint32_t i = 0; i < 4; i++) program(4, 100, 0);    /* too many threads for less than a node */
    turns_run(&t, 600 * MS);
    partition = 4;
    mixed = longest_mixed = changes = 0;
    t.each_step = watch;
    turns_run(&t, 1000 * MS);
    CHECK(longest_mixed <= 1 * MS);
    CHECK(changes >= 45);
    for (uint32_t i = 0; i < 4; i++) CHECK(t.groups[i].share[0] == 0x0f || t.groups[i].share[0] == 0xf0);
}

/* ---- shares ------------------------------------------------------------------------------------- */

static void equal_shares(uint32_t cores, uint32_t nodes, uint32_t programs, const uint32_t *threads, uint32_t flags)
{
    turns_begin(&t, "equal shares", &usf_policy_gang, cores, nodes);
    for (uint32_t i = 0; i < programs; i++) program(threads[i], 100, flags);
    turns_run(&t, 500 * MS);
    memset(t.ran, 0, sizeof t.ran);
    turns_run(&t, 4000 * MS);
    printf("%u cores, %u programs%s: fairness %.4f, longest wait %lu ms\n", cores, programs,
           flags & USF_GROUP_MALLEABLE ? ", malleable" : "", turns_fairness(&t), (unsigned long)(t.longest_wait / MS));
    CHECK(turns_fairness(&t) >= 0.99);
    uint64_t all = 0;
    for (uint32_t i = 0; i < programs; i++) all += t.ran[i];
    CHECK(all == 4000 * MS * cores);                    /* no core was idle */
    for (uint32_t i = 0; i < programs; i++) CHECK(t.ran[i] * programs >= all * 9 / 10);
}

static void weights_count(void)
{
    turns_begin(&t, "weights", &usf_policy_gang, 4, 1);
    program(4, 100, 0);
    program(5, 200, 0);
    program(8, 300, 0);
    turns_run(&t, 6000 * MS);
    printf("weights 1, 2, 3: fairness %.4f\n", turns_fairness(&t));
    CHECK(turns_fairness(&t) >= 0.995);
}

/* Two that are not coscheduled have a slot together, twice as long as that of the one that is. */
static void opted_out(void)
{
    turns_begin(&t, "opt-out", &usf_policy_gang, 4, 1);
    program(4, 100, 0);
    program(4, 100, USF_GROUP_NO_GANG);
    program(4, 100, USF_GROUP_NO_GANG);
    turns_run(&t, 6000 * MS);
    printf("one coscheduled, two not: fairness %.4f\n", turns_fairness(&t));
    CHECK(turns_fairness(&t) >= 0.98);
    CHECK(!t.groups[1].share[0] && t.groups[0].share[0]);
}

/* ---- backfill ----------------------------------------------------------------------------------- */

static uint64_t owner_waits, foreign;
static void watch_owner(struct turns *m)
{
    /* process 0 has one thread that runs for long; while it runs, others must have the other cores */
    for (uint32_t c = 0; c < m->pol.nr_cores; c++) foreign += m->cores[c].current != USF_NONE;
}

static void others_fill_in(void)
{
    turns_begin(&t, "backfill", &usf_policy_gang, 4, 1);
    program(1, 100, 0);
    program(4, 100, 0);
    foreign = 0;
    t.each_step = watch_owner;
    turns_run(&t, 2000 * MS);
    CHECK(foreign == 2000 * MS / TURNS_STEP * 4);       /* no core is idle in the slot of the one with one thread */
    CHECK(t.ran[0] >= 2000 * MS * 45 / 100);
}

/* In its slot a program whose thread gets ready has a stranger's core at once. */
static void strangers_give_way(void)
{
    turns_begin(&t, "strangers give way", &usf_policy_gang, 2, 1);
    uint32_t a = turns_group(&t, 100, 0, 0), one = turns_task(&t, a, 0, 0), two = turns_task(&t, a, 0, 0);
    turns_wake(&t, one);
    program(2, 100, 0);
    turns_run(&t, 300 * MS);
    owner_waits = 0;
    for (uint32_t i = 0; i < 40 * MS / TURNS_STEP; i++) {   /* until the slot of a has just begun */
        turns_run(&t, TURNS_STEP);
        owner_waits = t.task[one].state == RUNS ? owner_waits + 1 : 0;
        if (owner_waits == 20) break;
    }
    CHECK(owner_waits == 20 && t.task[one].state == RUNS);
    turns_wake(&t, two);
    CHECK(t.task[two].state == QUEUED);
    turns_run(&t, 2 * TURNS_STEP);
    CHECK(t.task[two].state == RUNS && t.task[one].state == RUNS);
}

/* A barrier's thread that yields, in its program's own slot: a stranger's core is better than to wait for the one that it waits for. */
static void strangers_give_way_to_yielders(void)
{
    turns_begin(&t, "strangers give way to yielders", &usf_policy_gang, 2, 1);
    uint32_t a = turns_group(&t, 100, 0, 0), one = turns_task(&t, a, 0, 0), two = turns_task(&t, a, 0, 0), on = USF_NONE;
    turns_wake(&t, one);
    program(2, 100, 0);
    turns_run(&t, 300 * MS);
    for (uint32_t i = 0, held = 0; i < 40 * MS / TURNS_STEP && held < 20; i++) {
        turns_run(&t, TURNS_STEP);
        held = t.task[one].state == RUNS ? held + 1 : 0;
    }
    for (uint32_t c = 0; c < 2; c++) if (t.cores[c].current != one) on = c;
    CHECK(t.task[one].state == RUNS && t.cores[on].current != USF_NONE && t.cores[on].give_way_at > t.pol.now);
    t.tasks[two].ready_since = t.pol.now;
    t.tasks[two].held = 1;
    t.ops.enqueue(&t.pol, two, USF_WHY_YIELD);
    CHECK(t.cores[on].give_way_at == t.pol.now);
    CHECK(t.ops.pick(&t.pol, on) == two);
}

/* A program that is alone, or comes and goes, costs nobody a slot. */
static void idle_programs_have_no_slot(void)
{
    turns_begin(&t, "idle programs", &usf_policy_gang, 2, 1);
    program(2, 100, 0);
    for (uint32_t i = 0; i < 5; i++) turns_wake(&t, turns_task(&t, turns_group(&t, 100, 0, 0), 100000, 50 * MS));
    turns_run(&t, 2000 * MS);
    CHECK(t.ran[0] >= 2 * 2000 * MS * 97 / 100);
    for (uint32_t i = 1; i < 6; i++) CHECK(t.ran[i] >= 20 * 100000);
}

/* Groups that have cores of their own: each has the partition where these are, and when its threads wake, no others there. */
static void own_cores(void)
{
    static const uint64_t own[] = {0xe0, 0x03, 0x08, 0x10};
    turns_begin(&t, "cores of their own", &usf_policy_gang, 8, 2);
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t p = turns_group(&t, 100, 0, 0);
        t.groups[p].own[0] = own[i];
        t.groups[p].flags = USF_GROUP_OWNS;
        for (uint32_t n = 0; n < 2; n++) turns_wake(&t, turns_task(&t, p, MS, i ? 0 : 3 * MS));
    }
    turns_run(&t, 600 * MS);
    for (uint32_t n = 0; n < 400; n++) {
        turns_run(&t, MS);
        for (uint32_t i = 0; i < 4; i++) CHECK(t.groups[i].share[0] & own[i] && usf_cores_count(t.groups[i].share) == 2);
    }
    for (uint32_t i = 1; i < 4; i++)
        CHECK(t.ran[i] >= 2 * 900 * MS);        /* never in another's partition while that has use for it */
}

int main(void)
{
    alarm(100);
    switch_together(2, 2, 2);
    switch_together(2, 4, 2);
    switch_together(4, 3, 4);
    partitions_switch_together();
    for (uint32_t n = 2; n <= 4; n++) {
        equal_shares(2, 1, n, (uint32_t[]){2, 3, 8, 4}, 0);
        equal_shares(2, 1, n, (uint32_t[]){2, 2, 2, 2}, USF_GROUP_MALLEABLE);
        equal_shares(4, 2, n, (uint32_t[]){4, 5, 16, 7}, 0);
        equal_shares(8, 2, n, (uint32_t[]){8, 8, 8, 8}, USF_GROUP_MALLEABLE);
    }
    equal_shares(2, 1, 4, (uint32_t[]){2, 1, 1, 1}, 0);      /* fewer threads than the partition of the slot has cores */
    equal_shares(2, 1, 3, (uint32_t[]){1, 2, 1}, 0);
    for (uint32_t n = 1; n <= 9; n++) {
        static const uint32_t threads[9] = {24, 24, 24, 24, 24, 24, 24, 24, 24};
        equal_shares(24, 4, n, threads, USF_GROUP_MALLEABLE);
    }
    weights_count();
    opted_out();
    own_cores();
    others_fill_in();
    strangers_give_way();
    strangers_give_way_to_yielders();
    idle_programs_have_no_slot();
    printf("ok\n");
    return 0;
}
