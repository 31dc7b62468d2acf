/* tests/policy/test_share.c - what programs get under equi, speedup, fair and batch.  SPDX-License-Identifier: Apache-2.0
 *
 * A machine without a kernel whose clock moves by milliseconds.  Threads compute until they are made to give way: by give_way_at, or
 * after PROGRESS_NS while others wait, as the progress guarantee has it.  Everything is deterministic. */
#include <string.h>
#include <unistd.h>
#include "policy/partition.h"
#include "check/machine.h"

enum { MS = 1000000, PROGRESS_NS = 20 * MS, WIDTH = 24, PROGRAMS = 64 };

static struct machine m;
static const char *test_name;
static uint64_t ran[MAX_GROUPS];             /* ms of core time */
static uint32_t threads[MAX_GROUPS];         /* of program i: tasks i * WIDTH ... */
static double work[MAX_GROUPS], serial[MAX_GROUPS];       /* pieces finished; serial part */
static bool follows[MAX_GROUPS];             /* its team is as large as its share, a while later */

#define HOLDS(c, ...) do { if (!(c)) { printf("%s, at %lu ms: ", test_name, m.pol.now / MS); printf(__VA_ARGS__); printf("\n"); \
                                       machine_fail(&m, CHECK_ORDER, #c); } } while (0)

static void begin(const char *name, const char *policy, uint32_t nodes, uint32_t cores_each, uint32_t flags)
{
    test_name = name;
    memset(ran, 0, sizeof ran);
    memset(threads, 0, sizeof threads);
    memset(work, 0, sizeof work);
    memset(serial, 0, sizeof serial);
    memset(follows, 0, sizeof follows);
    machine_init(&m, policy_find(policy), 1, nodes * cores_each, nodes, 1);
    for (uint32_t c = 0; c < m.pol.nr_cores; c++) m.cores[c].phys = c;
    m.pol.flags = flags;
    machine_restarts = true;
    machine_restart(&m);
}

static void arrive(uint32_t proc, uint32_t n, uint32_t weight)
{
    uint64_t all[USF_CORE_WORDS];
    usf_cores_fill(all, USF_CORES_MAX);
    machine_add_group(&m, proc, all);
    m.groups[proc].weight = weight;
    threads[proc] = n;
    for (uint32_t t = 0; t < n; t++) machine_add_task(&m, proc * WIDTH + t, proc);
    for (uint32_t t = 0; t < n; t++) machine_wake(&m, proc * WIDTH + t, USF_WHY_NEW);
}

static bool anybody_waits(void)
{
    for (uint32_t i = 0; i < PROGRAMS; i++) if (m.group[i] && m.groups[i].nr_ready) return true;
    return false;
}

/* Teams follow shares; work gets done. */
static void programs_step(void)
{
    for (uint32_t i = 0; i < PROGRAMS; i++) {
        if (!m.group[i]) continue;
        uint32_t team = threads[i], on = 0;
        if (follows[i] && usf_cores_any(m.groups[i].share)) team = usf_cores_count(m.groups[i].share);
        for (uint32_t t = 0; t < threads[i]; t++) {
            const struct model_task *task = &m.task[i * WIDTH + t];
            if (t >= team && task->doing == RUNNING) machine_switch(&m, task->core, BLOCKED, USF_WHY_WAKE);
            else if (t < team && task->doing == BLOCKED && follows[i]) machine_wake(&m, i * WIDTH + t, USF_WHY_WAKE);
            on += task->doing == RUNNING;
        }
        ran[i] += on;
        if (follows[i]) m.groups[i].width = team;
        const struct model_task *first = &m.task[i * WIDTH];
        if (follows[i] && m.pol.now / MS % 5 == 0 && first->doing == RUNNING) {     /* the end of a region, and the next */
            machine_switch(&m, first->core, BLOCKED, USF_WHY_WAKE);
            machine_wake(&m, i * WIDTH, USF_WHY_WAKE);
        }
        if (!on || !follows[i]) continue;
        work[i] += on / (1 + serial[i] * (on - 1));
        m.groups[i].progress = 1 + (uint64_t)work[i];
    }
}

static void run_for(uint64_t ms)
{
    for (; ms; ms--) {
        m.pol.now += MS;
        if (anybody_waits() || m.pol.now / MS % 10 == 0) m.ops.tick(&m.pol);       /* as src/sched/watch.c does */
        for (uint32_t c = 0; c < m.pol.nr_cores; c++) {
            const struct usf_pol_core *core = &m.cores[c];
            if (!anybody_waits()) break;
            if (m.core[c].task == USF_NONE) continue;
            bool due = core->give_way_at && m.pol.now >= core->give_way_at;
            if (due || m.pol.now - core->since >= PROGRESS_NS) machine_switch(&m, c, READY, USF_WHY_PREEMPT);
        }
        programs_step();
    }
}

static uint32_t size_of_share(uint32_t proc) { return usf_cores_count(m.groups[proc].share); }

static double jain(uint32_t n, const uint64_t *before)
{
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < n; i++) {
        double had = (double)(ran[i] - before[i]) / m.groups[i].weight;
        sum += had;
        squares += had * had;
    }
    return sum * sum / (n * squares);
}

/* ---- equi ------------------------------------------------------------------------------------------------------------- */

static void shares_are_sound(uint32_t programs, uint32_t size)
{
    uint32_t load[MAX_CORES] = {0}, low = UINT32_MAX, high = 0;
    for (uint32_t i = 0; i < PROGRAMS; i++) {
        if (!m.group[i]) continue;
        HOLDS(size_of_share(i) == size, "program %u of %u has %u cores instead of %u", i, programs, size_of_share(i), size);
        uint32_t first = part_next(m.groups[i].share, 0, 0);
        HOLDS(first % size == 0 && usf_cores_has(m.groups[i].share, first + size - 1), "program %u has %u cores that are no unit", i, size);
        for (uint32_t c = 0; c < m.pol.nr_cores; c++) load[c] += usf_cores_has(m.groups[i].share, c);
    }
    for (uint32_t c = 0; c < m.pol.nr_cores; c++) {
        if (load[c] < low) low = load[c];
        if (load[c] > high) high = load[c];
    }
    HOLDS(high - low <= 1, "a core belongs to %u programs, another to %u", low, high);
}

static uint32_t ta_size(uint32_t programs)
{ return programs < 2 ? 24 : programs < 4 ? 12 : programs < 8 ? 6 : programs < 12 ? 3 : programs < 24 ? 2 : 1; }

/* The paper's machine, programs coming and going: sizes, shapes, balance, and no reconfiguration but at thresholds. */
static void programs_come_and_go(void)
{
    begin("programs come and go", "equi", 4, 6, 0);
    uint32_t gen[PROGRAMS];
    for (uint32_t n = 1; n <= 13; n++) {
        for (uint32_t i = 0; i < n - 1; i++) gen[i] = m.groups[i].share_gen;
        arrive(n - 1, WIDTH, 100);
        run_for(130);           /* less than a turn between partitions takes */
        shares_are_sound(n, ta_size(n));
        for (uint32_t i = 0; i < n - 1; i++)
            if (ta_size(n) == ta_size(n - 1)) HOLDS(m.groups[i].share_gen == gen[i], "program %u of %u was moved for nothing", i, n);
    }
    for (uint32_t n = 12; n >= 1; n--) {
        machine_remove_group(&m, n);
        run_for(300);
        shares_are_sound(n, ta_size(n));
    }
    arrive(1, WIDTH, 100);
    run_for(300);
    machine_remove_group(&m, 0), machine_remove_group(&m, 1);
    arrive(0, WIDTH, 100);
    HOLDS(size_of_share(0) == 24, "who comes after all have left has %u cores", size_of_share(0));
    machine_free(&m);
}

static void short_visits_change_nothing(void)
{
    begin("short visits change nothing", "equi", 4, 6, 0);
    for (uint32_t i = 0; i < 2; i++) arrive(i, WIDTH, 100);
    run_for(300);
    uint32_t gen = m.groups[0].share_gen + m.groups[1].share_gen;
    for (uint32_t visit = 0; visit < 20; visit++) {     /* two at a time would be four programs: at the threshold */
        arrive(2, 1, 100), arrive(3, 1, 100);
        run_for(60);
        machine_remove_group(&m, 2), machine_remove_group(&m, 3);
        run_for(60);
    }
    for (uint32_t visit = 0; visit < 20; visit++) {     /* far beyond it, but too short to count */
        for (uint32_t i = 2; i < 20; i++) arrive(i, 1, 100);
        run_for(10);
        for (uint32_t i = 2; i < 20; i++) machine_remove_group(&m, i);
        run_for(50);
    }
    HOLDS(m.groups[0].share_gen + m.groups[1].share_gen == gen, "shares changed %u times", m.groups[0].share_gen + m.groups[1].share_gen - gen);
    HOLDS(size_of_share(0) == 12 && size_of_share(1) == 12, "%u and %u cores", size_of_share(0), size_of_share(1));
    machine_free(&m);
}

/* From one threshold to another of the same level: each has to last by itself. */
static void one_threshold_after_another(void)
{
    begin("one threshold after another", "equi", 4, 6, 0);
    for (uint32_t i = 0; i < 4; i++) arrive(i, WIDTH, 100);
    run_for(300);
    machine_remove_group(&m, 3);         /* a partition is free */
    run_for(65);
    for (uint32_t i = 3; i < 8; i++) arrive(i, WIDTH, 100);
    run_for(85);                        /* there are enough for all of the next level, since these count */
    for (uint32_t i = 0; i < 8; i++) HOLDS(size_of_share(i) == 6, "program %u has %u cores too soon", i, size_of_share(i));
    run_for(65);
    shares_are_sound(8, 3);
    machine_free(&m);
}

static void sleepers_do_not_count(void)
{
    begin("sleepers do not count", "equi", 4, 6, 0);
    for (uint32_t i = 0; i < 4; i++) arrive(i, i < 2 ? WIDTH : 1, 100);
    run_for(300);
    shares_are_sound(4, 6);
    for (uint32_t i = 2; i < 4; i++) machine_switch(&m, m.task[i * WIDTH].core, BLOCKED, USF_WHY_WAKE);
    run_for(400);
    HOLDS(size_of_share(0) == 6, "it has %u cores", size_of_share(0));      /* they may come back any moment */
    run_for(800);
    HOLDS(size_of_share(0) == 12 && size_of_share(1) == 12, "they have %u and %u cores", size_of_share(0), size_of_share(1));
    for (uint32_t i = 2; i < 4; i++) machine_wake(&m, i * WIDTH, USF_WHY_WAKE);
    run_for(300);
    shares_are_sound(4, 6);
    machine_free(&m);
}

/* A core whose program has nothing helps, and is given back. */
static void helpers_give_way(const char *policy)
{
    begin("helpers give way", policy, 1, 2, 0);
    arrive(0, 2, 100);
    arrive(1, 2, 100);
    run_for(300);
    for (uint32_t t = WIDTH; t < WIDTH + 2; t++) {      /* program 1 goes to sleep, soon for long enough not to own anything */
        while (m.task[t].doing != RUNNING) run_for(1);
        machine_switch(&m, m.task[t].core, BLOCKED, USF_WHY_WAKE);
    }
    run_for(100);
    for (uint32_t c = 0; c < 2; c++) HOLDS(m.core[c].task < 2, "core %u does not help", c);
    uint64_t since[2] = {m.cores[0].since, m.cores[1].since};
    machine_wake(&m, WIDTH, USF_WHY_WAKE);
    HOLDS(m.cores[0].give_way_at || m.cores[1].give_way_at, "no core is called back (since %lu and %lu)", since[0], since[1]);
    run_for(2);
    HOLDS(m.task[WIDTH].doing == RUNNING, "it has no core after 2 ms");
    machine_free(&m);
}

/* A malleable program keeps its old cores until it has followed. */
static void grace(bool in_time)
{
    begin(in_time ? "grace, used" : "grace, run out", "equi", 2, 4, 0);
    arrive(0, 8, 100);
    m.groups[0].flags = USF_GROUP_MALLEABLE;
    m.groups[0].width = 8;
    run_for(100);
    arrive(1, 8, 100);
    run_for(150);       /* warm, settled */
    shares_are_sound(2, 4);
    uint64_t before = ran[1];
    run_for(200);
    double had = (double)(ran[1] - before) / 200 / 4;
    HOLDS(had > 0.4 && had < 0.6, "in the grace period the newcomer has %.2f of its partition instead of half", had);
    if (in_time) {      /* it resizes */
        for (uint32_t t = 4; t < 8; t++) {
            for (int i = 0; i < 100 && m.task[t].doing != RUNNING; i++) run_for(1);
            HOLDS(m.task[t].doing == RUNNING, "thread %u does not run any more", t);
            machine_switch(&m, m.task[t].core, BLOCKED, USF_WHY_WAKE);
        }
        m.groups[0].width = 4;
    } else {
        run_for(400);
    }
    run_for(50);
    before = ran[1];
    run_for(200);
    had = (double)(ran[1] - before) / 200 / 4;
    HOLDS(had > 0.98, "after it the newcomer has %.2f of its partition", had);
    machine_free(&m);
}

static void weights_are_multiples(void)
{
    begin("weights are multiples", "equi", 4, 6, 0);
    arrive(0, WIDTH, 200);
    arrive(1, WIDTH, 100);
    arrive(2, WIDTH, 100);
    run_for(300);
    HOLDS(size_of_share(0) == 12 && size_of_share(1) == 6 && size_of_share(2) == 6, "%u, %u and %u cores", size_of_share(0), size_of_share(1), size_of_share(2));
    uint64_t before[3] = {ran[0], ran[1], ran[2]};
    run_for(1000);
    HOLDS(jain(3, before) > 0.99, "Jain's index by weight is %.4f", jain(3, before));
    m.groups[0].weight = 100;
    m.ops.group_changed(&m.pol, 0);
    run_for(300);
    shares_are_sound(3, 12);
    machine_free(&m);
}

/* Where partitions are shared weights count exactly: a program with two partitions is not paid for both and for its weight. */
static void shared_by_weight(uint32_t cores, uint32_t n, const uint32_t *weight)
{
    begin("shared by weight", "equi", 1, cores, 0);
    uint64_t before[PROGRAMS];
    for (uint32_t i = 0; i < n; i++) arrive(i, 2 * cores, weight[i]);
    run_for(500);
    memcpy(before, ran, sizeof before);
    run_for(5000);
    HOLDS(jain(n, before) > 0.99, "%u programs on %u cores: Jain's index by weight is %.4f", n, cores, jain(n, before));
    machine_free(&m);
}

/* Both programs of a socket end: those of the others spread out again. */
static void evened_out(void)
{
    begin("evened out", "equi", 4, 6, 0);
    for (uint32_t i = 0; i < 7; i++) arrive(i, WIDTH, 100);
    run_for(120);
    shares_are_sound(7, 6);
    uint32_t first = part_next(m.groups[0].share, 0, 0);
    for (uint32_t i = 0; i < 7; i++)
        if (usf_cores_has(m.groups[i].share, first)) machine_remove_group(&m, i);
    run_for(50);
    shares_are_sound(5, 6);
    machine_free(&m);
}

/* More programs than partitions, or a number that does not divide: over a while all have had the same. */
static void turns_are_fair(const char *policy, uint32_t nodes, uint32_t each, uint32_t programs, uint32_t flags)
{
    begin("turns are fair", policy, nodes, each, flags);
    uint64_t before[PROGRAMS];
    for (uint32_t i = 0; i < programs; i++) arrive(i, nodes * each < WIDTH ? nodes * each : WIDTH, 100);
    run_for(500);
    memcpy(before, ran, sizeof before);
    run_for(nodes > 1 ? 20000 : 3000);
    double index = jain(programs, before);
    HOLDS(index >= 0.99, "%s: Jain's index of %u programs on %u cores is %.4f", policy, programs, nodes * each, index);
    machine_free(&m);
}

/* EQ: sizes as equal as can be; who stays keeps cores, new ones are added to them or some taken away. */
static void equal_fractions(void)
{
    begin("equal fractions", "equi", 4, 6, USF_POL_BLIND);
    uint64_t old[PROGRAMS][USF_CORE_WORDS];
    for (uint32_t n = 1; n <= 7; n++) {
        for (uint32_t i = 0; i < n - 1; i++) usf_cores_copy(old[i], m.groups[i].share);
        arrive(n - 1, WIDTH, 100);
        run_for(100);
        uint64_t seen[USF_CORE_WORDS] = {0};
        for (uint32_t i = 0; i < n; i++) {
            uint32_t size = size_of_share(i);
            HOLDS(size == 24 / n || size == 24 / n + (24 % n != 0), "program %u of %u has %u cores", i, n, size);
            HOLDS(!usf_cores_common(seen, m.groups[i].share), "program %u of %u has another's cores", i, n);
            usf_cores_or(seen, seen, m.groups[i].share);
            if (i < n - 1) HOLDS(usf_cores_common(old[i], m.groups[i].share) == size, "program %u was moved, not cut", i);
        }
        HOLDS(usf_cores_count(seen) == 24, "%u of 24 cores are given out", usf_cores_count(seen));
    }
    for (uint32_t i = 0; i < 6; i++) usf_cores_copy(old[i], m.groups[i].share);
    machine_remove_group(&m, 6);
    run_for(100);
    for (uint32_t i = 0; i < 6; i++) {
        HOLDS(size_of_share(i) == 4, "program %u of 6 has %u cores", i, size_of_share(i));
        HOLDS(usf_cores_common(old[i], m.groups[i].share) == usf_cores_count(old[i]), "program %u lost cores when another left", i);
    }
    machine_free(&m);
}

/* ---- speedup ---------------------------------------------------------------------------------------------------------------- */

static void wide_ones_get_more(void)
{
    begin("who uses cores gets them", "speedup", 4, 6, 0);
    for (uint32_t i = 0; i < 4; i++) {
        arrive(i, WIDTH, 100);
        follows[i] = true;
        m.groups[i].flags = USF_GROUP_MALLEABLE;
        serial[i] = i == 2 ? 0 : 0.5;
    }
    run_for(20000);
    HOLDS(size_of_share(2) == 12, "the scalable one has %u cores (others %u, %u, %u)", size_of_share(2), size_of_share(0), size_of_share(1), size_of_share(3));
    uint32_t sum = 0, narrow = 0;
    for (uint32_t i = 0; i < 4; i++) sum += size_of_share(i), narrow += size_of_share(i) == 3;
    HOLDS(sum == 24 && narrow == 2, "%u cores given out, %u programs have three", sum, narrow);
    double before = work[2];
    uint32_t gen = 0;
    for (uint32_t i = 0; i < 4; i++) gen -= m.groups[i].share_gen;
    run_for(5000);
    for (uint32_t i = 0; i < 4; i++) gen += m.groups[i].share_gen;
    HOLDS(work[2] - before > 5000 * 11, "it does %.1f pieces per ms", (work[2] - before) / 5000);
    HOLDS(gen == 0, "shares still change: %u times in 5 s", gen);
    machine_free(&m);
}

static void all_alike_stay_equal(double part, bool known)
{
    begin(known ? "alike: equal" : "unknown: equal", "speedup", 4, 6, 0);
    for (uint32_t i = 0; i < 4; i++) {
        arrive(i, WIDTH, 100);
        follows[i] = known;
        serial[i] = part;
    }
    run_for(25000);
    shares_are_sound(4, 6);
    machine_free(&m);
}

/* ---- fair and batch ----------------------------------------------------------------------------------------------------------- */

static void shares_by_weight(void)
{
    begin("shares by weight", "fair", 1, 4, 0);
    const uint32_t weight[] = {100, 200, 50, 150}, n[] = {4, 8, 12, 5};
    uint64_t before[PROGRAMS] = {0};
    for (uint32_t i = 0; i < 4; i++) arrive(i, n[i], weight[i]);
    run_for(10000);
    HOLDS(jain(4, before) > 0.99, "Jain's index of virtual time is %.4f", jain(4, before));
    memcpy(before, ran, sizeof before);
    arrive(4, 4, 100);          /* a joiner begins where the others are */
    before[4] = 0;
    run_for(5000);
    HOLDS(jain(5, before) > 0.99, "with a joiner it is %.4f", jain(5, before));
    machine_free(&m);
}

/* One that sleeps a tenth of the time asks for less than its share and gets it; one that slept long gets no more than its share. */
static void sleepers_keep_their_share(void)
{
    begin("sleepers keep their share", "fair", 1, 1, 0);
    arrive(0, 1, 100);
    arrive(1, 1, 100);
    for (uint32_t i = 0; i < 5000; i++) {
        run_for(1);
        if (m.task[WIDTH].doing == RUNNING && i % 10 == 0) machine_switch(&m, 0, BLOCKED, USF_WHY_WAKE);
        else if (m.task[WIDTH].doing == BLOCKED) machine_wake(&m, WIDTH, USF_WHY_WAKE);
    }
    HOLDS(ran[1] > 5000 * 0.4, "who sleeps now and then has %lu ms of 5000", ran[1]);
    while (m.task[WIDTH].doing != RUNNING) run_for(1);
    machine_switch(&m, 0, BLOCKED, USF_WHY_WAKE);
    run_for(10000);
    uint64_t before = ran[0];
    machine_wake(&m, WIDTH, USF_WHY_WAKE);
    run_for(1000);
    HOLDS(ran[0] - before > 430, "after another has slept for 10 s it has %lu ms of 1000", ran[0] - before);
    machine_free(&m);
}

static void one_after_another(void)
{
    begin("one after another", "batch", 1, 4, 0);
    for (uint32_t i = 0; i < 3; i++) arrive(i, 4, 100);
    run_for(1000);
    HOLDS(ran[0] >= 3990 && ran[1] + ran[2] <= 10, "%lu, %lu, %lu ms", ran[0], ran[1], ran[2]);
    for (uint32_t t = 0; t < 2; t++) {          /* the first leaves two cores without work: the second has them, the third nothing */
        while (m.task[t].doing != RUNNING) run_for(1);
        machine_switch(&m, m.task[t].core, BLOCKED, USF_WHY_WAKE);
    }
    uint64_t before[3] = {ran[0], ran[1], ran[2]};
    run_for(500);
    HOLDS(ran[0] - before[0] >= 990 && ran[1] - before[1] >= 980 && ran[2] == before[2], "%lu, %lu, %lu ms", ran[0] - before[0], ran[1] - before[1], ran[2] - before[2]);
    machine_wake(&m, 0, USF_WHY_WAKE);          /* and has to give one back */
    run_for(2);
    HOLDS(m.task[0].doing == RUNNING, "the first has no core after 2 ms");
    machine_remove_group(&m, 0);
    memcpy(before, ran, sizeof before);
    run_for(500);
    HOLDS(ran[1] - before[1] >= 1950 && ran[2] - before[2] <= 40, "then %lu and %lu ms", ran[1] - before[1], ran[2] - before[2]);
    m.groups[2].priority = 1;                    /* the third becomes urgent */
    m.ops.group_changed(&m.pol, 2);
    run_for(50);
    memcpy(before, ran, sizeof before);
    run_for(500);
    HOLDS(ran[2] - before[2] >= 1990, "the urgent one has %lu ms", ran[2] - before[2]);
    machine_free(&m);
}

/* Under a new policy: the first in order cannot have the latest program's core, the second can. */
static void called_back_for_any(void)
{
    const uint64_t first[USF_CORE_WORDS] = {1};
    begin("called back for any", "batch", 1, 2, 0);
    machine_add_group(&m, 0, first);
    for (uint32_t t = 0; t < 2; t++) machine_add_task(&m, t, 0), machine_wake(&m, t, USF_WHY_NEW);
    arrive(2, 1, 100);
    arrive(1, 1, 100);
    HOLDS(m.task[2 * WIDTH].doing == RUNNING && m.task[WIDTH].doing == READY && m.task[1].doing == READY, "who runs?");
    machine_restart(&m);
    HOLDS(!m.cores[0].give_way_at && !m.cores[1].give_way_at, "called back before the tick");
    m.ops.tick(&m.pol);
    HOLDS(m.cores[1].give_way_at && !m.cores[0].give_way_at, "core 1 is not called back");
    m.pol.now += MS;
    HOLDS(machine_switch(&m, 1, READY, USF_WHY_PREEMPT) == WIDTH, "the second has not got it");
    machine_free(&m);
}

/* ---- queues.h: within a process ------------------------------------------------------------------------------------------------ */

/* Tasks of one process, queued at two cores: by priority, then deadline, then age; preferred affinities decide where one waits. */
static void ranks_within_a_process(const char *policy)
{
    static const struct { int32_t priority; uint64_t deadline; uint32_t at; } like[] = {
        {0, 0, 0}, {0, 9000000000, 1}, {-1, 0, 0}, {2, 0, 1}, {0, 8000000000, 1}, {2, 7000000000, 0}, {0, 0, 0},
    };
    static const uint32_t order[] = {5, 3, 4, 1, 0, 6, 2};
    begin("ranks within a process", policy, 1, 2, 0);
    arrive(0, 2, 100);          /* both cores are busy */
    for (uint32_t i = 0; i < 7; i++) {
        machine_add_task(&m, 2 + i, 0);
        m.tasks[2 + i].priority = like[i].priority;
        m.tasks[2 + i].deadline = like[i].deadline;
        m.tasks[2 + i].last_core = like[i].at;
        machine_wake(&m, 2 + i, USF_WHY_WAKE);
    }
    for (uint32_t i = 0; i < 7; i++) {
        uint32_t task = machine_switch(&m, 0, BLOCKED, USF_WHY_WAKE);
        HOLDS(task == 2 + order[i], "%s: choice %u is task %u instead of %u", policy, i, task - 2, order[i]);
    }
    for (uint32_t i = 0; i < 2; i++) {          /* of two equal ones, each core takes the one that wants to be there */
        m.tasks[2 + i] = (struct usf_pol_task){.id = 2 + i, .last_core = i, .affinity = USF_AFFINITY_CORE, .affinity_id = 1 - i};
        if (m.task[2 + i].doing == BLOCKED) machine_wake(&m, 2 + i, USF_WHY_WAKE);
    }
    HOLDS(m.task[2].doing == READY && m.task[3].doing == READY, "they have cores");
    HOLDS(machine_switch(&m, 0, BLOCKED, USF_WHY_WAKE) == 3, "%s: core 0 has not the task that wants it", policy);
    HOLDS(machine_switch(&m, 1, BLOCKED, USF_WHY_WAKE) == 2, "%s: core 1 has not the task that wants it", policy);
    machine_free(&m);
}

int main(void)
{
    alarm(120);
    programs_come_and_go();
    short_visits_change_nothing();
    one_threshold_after_another();
    sleepers_do_not_count();
    helpers_give_way("equi");
    helpers_give_way("speedup");
    grace(true);
    grace(false);
    weights_are_multiples();
    shared_by_weight(2, 3, (uint32_t[]){200, 100, 100});
    shared_by_weight(1, 3, (uint32_t[]){100, 50, 250});
    evened_out();
    equal_fractions();
    for (uint32_t n = 2; n <= 7; n++) {
        turns_are_fair("equi", 1, 2, n, 0);
        turns_are_fair("equi", 1, 2, n, USF_POL_BLIND);
        turns_are_fair("speedup", 1, 2, n, 0);
        turns_are_fair("fair", 1, 2, n, 0);
    }
    turns_are_fair("equi", 4, 6, 5, 0);
    turns_are_fair("equi", 2, 2, 3, 0);
    wide_ones_get_more();
    all_alike_stay_equal(0.1, true);
    all_alike_stay_equal(0, false);
    shares_by_weight();
    sleepers_keep_their_share();
    one_after_another();
    called_back_for_any();
    for (const char *const *n = (const char *const[]){"equi", "speedup", "fair", "batch", NULL}; *n; n++) ranks_within_a_process(*n);
    printf("ok\n");
    return 0;
}
