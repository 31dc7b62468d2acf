/* tests/policy/test_own.c POLICY [SEED] - groups of a process that have cores of their own.  SPDX-License-Identifier: Apache-2.0
 *
 * Idle cores may be borrowed.  When a task comes to wait that may run on a core that its group owns, and another group borrows that core, the borrower
 * has left after POL_BORROW_NS: that is checked in each step of each test.  Cores are borrowed only while none of the owner's tasks waits. */
#include <time.h>
#include <unistd.h>
#include "policy/common.h"
#include "turns.h"

static struct turns t;
static uint64_t rng;

/* own: bit per core; 0: none. */
static uint32_t group(uint32_t proc, uint64_t own, uint32_t weight)
{
    uint32_t i = turns_group(&t, weight, 0, 0);
    t.groups[i].proc = proc;
    if (own) t.groups[i].flags |= USF_GROUP_OWNS;
    t.groups[i].own[0] = own;
    t.ops.group_changed(&t.pol, i);
    return i;
}

static void wake_new(uint32_t group, uint32_t n, uint64_t burst, uint64_t sleep)
{
    while (n--) turns_wake(&t, turns_task(&t, group, burst, sleep));
}

static unsigned long in_ms(uint32_t g) { return (unsigned long)(t.ran[g] / MS); }

static bool in_common;          /* groups have cores in common: the policy's tick may have to call one back */

static void no_borrower_stays(struct turns *m)
{
    for (uint32_t c = 0; c < m->pol.nr_cores; c++) {
        uint32_t borrower = m->cores[c].current;
        for (uint32_t i = 0; i < m->nr_tasks && borrower != USF_NONE; i++) {
            if (m->task[i].state != QUEUED || !usf_may_run(&m->pol, i, c)) continue;
            if (!usf_may_reclaim(&m->pol, m->tasks[i].group, m->tasks[borrower].group, c)) continue;
            CHECK(m->pol.now - m->tasks[i].ready_since <= POL_BORROW_NS + 2 * TURNS_STEP + (in_common ? MS : 0));
        }
    }
}

static void begin(const char *what, const struct usf_policy_ops *ops, uint32_t cores, uint32_t nodes)
{
    turns_begin(&t, what, ops, cores, nodes);
    t.each_step = no_borrower_stays;
    in_common = false;
}

static uint32_t runs(uint32_t g, uint64_t cores)
{
    uint32_t n = 0;
    for (uint32_t c = 0; c < t.pol.nr_cores; c++)
        if (cores >> c & 1 && t.cores[c].current != USF_NONE) n += t.tasks[t.cores[c].current].group == g;
    return n;
}

/* Threads that never reach a scheduling point: those of the second group have their cores back at once. */
static void borrowed_and_reclaimed(const struct usf_policy_ops *ops)
{
    begin("borrowed and reclaimed", ops, 4, 2);
    uint32_t a = group(0, 3, 100), b = group(0, 12, 100);
    wake_new(a, 6, 0, 0);
    turns_run(&t, 100 * MS);
    CHECK(runs(a, 15) == 4);
    CHECK(t.ran[a] >= 4 * 99 * MS);         /* borrowed */
    uint32_t first = turns_task(&t, b, 0, 50 * MS), second = turns_task(&t, b, 0, 50 * MS);
    turns_wake(&t, first);
    turns_run(&t, POL_BORROW_NS + TURNS_STEP);
    CHECK(t.task[first].state == RUNS && runs(b, 12) == 1 && runs(a, 15) == 3);
    turns_wake(&t, second);
    turns_run(&t, POL_BORROW_NS + TURNS_STEP);
    CHECK(runs(b, 12) == 2 && runs(a, 3) == 2 && runs(a, 12) == 0);
    memset(t.ran, 0, sizeof t.ran);
    turns_run(&t, 1000 * MS);                   /* the progress guarantee does not let borrowers in */
    CHECK(t.ran[b] == 2 * 1000 * MS && t.ran[a] == 2 * 1000 * MS);
    for (uint32_t c = 2; c < 4; c++) {
        uint32_t task = t.cores[c].current;
        if (task != USF_NONE && t.tasks[task].group == b) turns_sleep(&t, c);
    }
    turns_run(&t, 30 * MS);
    CHECK(runs(a, 15) == 4);                /* borrowed again */
    turns_run(&t, 30 * MS);
    CHECK(runs(b, 12) >= 1);
}

/* A group that owns no cores borrows none; and another process has its turns as ever. */
static void others_are_not_starved(const struct usf_policy_ops *ops)
{
    begin("others", ops, 2, 1);
    uint32_t main = group(0, 0, 100), a = group(0, 1, 100), b = group(0, 2, 100), other = group(1, 0, 100);
    for (uint32_t i = 0; i < 4; i++) wake_new(a, 1, MS, 0), wake_new(b, 1, MS, 0), wake_new(other, 1, MS, 0), wake_new(main, 1, MS, 0);
    turns_run(&t, 8000 * MS);
    printf("%s: main %lu, own %lu and %lu, another process %lu ms\n", ops->name, in_ms(main), in_ms(a), in_ms(b), in_ms(other));
    CHECK(t.ran[main] >= 1000 * MS && t.ran[other] >= 2000 * MS && t.ran[a] >= 2000 * MS && t.ran[b] >= 2000 * MS);
    CHECK(t.longest_wait <= 400 * MS);
}

/* Groups that have the same cores of their own share them as groups do that have none: to the nanosecond. */
static void weights(const struct usf_policy_ops *ops)
{
    uint64_t had[2][2];
    for (int own = 0; own < 2; own++) {
        begin("weights", ops, 2, 1);
        uint32_t a = group(0, own ? 3 : 0, 300), b = group(0, own ? 3 : 0, 100);
        wake_new(a, 4, MS, 0);
        wake_new(b, 4, MS, 0);
        turns_run(&t, 8000 * MS);
        for (uint32_t i = 0; i < 2; i++) had[own][i] = t.ran[i];
        printf("%s: weights 3 and 1%s: %lu and %lu ms\n", ops->name, own ? " on cores of their own" : "", in_ms(a), in_ms(b));
        CHECK(t.ran[a] + t.ran[b] == 2 * 8000 * MS && t.ran[a] >= 297 * t.ran[b] / 100 && t.ran[a] <= 303 * t.ran[b] / 100);
    }
    CHECK(had[0][0] == had[1][0] && had[0][1] == had[1][1]);
}

/* Tasks without a place of their own are where their group's cores are, if one of them is idle. */
static void at_home(const struct usf_policy_ops *ops)
{
    begin("at home", ops, 8, 2);
    uint32_t a = group(0, 0x0f, 100), b = group(0, 0xf0, 100);
    for (uint32_t i = 0; i < 3; i++) {
        wake_new(a, 1, 3 * MS, 2 * MS);
        wake_new(b, 1, 2 * MS, 3 * MS);
    }
    for (uint32_t n = 0; n < 400; n++) {
        turns_run(&t, MS);
        CHECK(!runs(a, 0xf0) && !runs(b, 0x0f));
    }
}

static bool is_sibling(uint32_t g, uint32_t h) { return t.groups[g].proc == t.groups[h].proc; }

/* Processes and groups of all kinds, own cores that overlap and change.  turns.c checks that no core is idle in vain. */
static void anything(const struct usf_policy_ops *ops)
{
    uint32_t cores = 1 + turns_below(&rng, 8), nr = 2 + turns_below(&rng, 6);
    begin("anything", ops, cores, 1 + turns_below(&rng, 2) % cores);
    in_common = true;
    for (uint32_t i = 0; i < nr; i++) group(turns_below(&rng, 2), turns_below(&rng, 3) ? 1 + turns_below(&rng, (1u << cores) - 1) : 0, 50 + 50 * turns_below(&rng, 5));
    for (uint32_t i = 0; i < 30; i++) {
        uint32_t task = turns_task(&t, turns_below(&rng, nr), turns_below(&rng, 3) ? TURNS_STEP * (1 + turns_below(&rng, 60)) : 0, turns_below(&rng, 2) ? 0 : TURNS_STEP * (1 + turns_below(&rng, 100)));
        if (!t.task[task].burst) t.task[task].sleep = 0;
        if (!turns_below(&rng, 4)) t.tasks[task].affinity = USF_AFFINITY_CORE, t.tasks[task].affinity_id = turns_below(&rng, cores);
        if (!turns_below(&rng, 4)) t.tasks[task].priority = (int32_t)turns_below(&rng, 3);
        turns_wake(&t, task);
    }
    for (uint32_t n = 0; n < 10; n++) {
        turns_run(&t, 60 * MS);
        uint32_t g = turns_below(&rng, nr);
        for (uint32_t i = 0; i < t.nr_tasks; i++)           /* as src/sched does */
            if (t.task[i].state == QUEUED && is_sibling(t.tasks[i].group, g)) policy_dequeue(&t.pol, &t.ops, i);
        t.groups[g].own[0] = turns_below(&rng, 3) ? 1 + turns_below(&rng, (1u << cores) - 1) : 0;
        t.groups[g].flags = t.groups[g].own[0] ? USF_GROUP_OWNS : 0;
        t.ops.group_changed(&t.pol, g);
        for (uint32_t i = 0; i < t.nr_tasks; i++)
            if (t.task[i].state == QUEUED && is_sibling(t.tasks[i].group, g)) {
                t.tasks[i].ready_since = t.pol.now;
                policy_enqueue(&t.pol, &t.ops, i, USF_WHY_WAKE);
            }
    }
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL) * 1000003u + (uint64_t)getpid();
    const struct usf_policy_ops *ops = argc > 1 ? policy_find(argv[1]) : NULL;
    if (!ops) return printf("usage: test_own POLICY [SEED]\n"), 2;
    rng = seed;
    printf("seed %lu\n", seed);
    alarm(100);
    bool in_order = ops == &usf_policy_batch;       /* of programs: no shares */
    borrowed_and_reclaimed(ops);
    at_home(ops);
    if (!in_order) others_are_not_starved(ops);
    if (!in_order) weights(ops);
    for (int i = 0; i < 200; i++) anything(ops);
    printf("ok\n");
    return 0;
}
