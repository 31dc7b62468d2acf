/* tests/sched/probe.c - which of the tasks that busy-wait is next: cores and tasks without threads.  SPDX-License-Identifier: Apache-2.0 */
#include "groups.h"
#include "sched/times.h"

static struct sched s;
static struct sched_spin spins[USF_MAX_TASKS];
static bool over[USF_MAX_TASKS];                /* what the task waits for has come */
static unsigned probes;

static bool probe(uint32_t place, const void *regs)
{
    probes++;
    CHECK(regs == &over[place]);
    return *(const bool *)regs;
}

static uint32_t running(uint32_t core) { return s.cores[core].pol.current; }

static void spin(uint32_t task)
{
    spins[task].place = task;
    atomic_store(&spins[task].regs, &over[task]);
}

/* As give_way in wait.c: what runs on the core yields.  The task that runs there now. */
static uint32_t yield(uint32_t core, enum core_need need)
{
    uint32_t old = running(core), next;
    struct wakes k = {0};
    enter(&s);
    if ((next = core_pick(&s, core, need)) != USF_NONE) {
        core_set_state(&s, old, ST(USF_TASK_RUNNING), USF_TASK_READY);
        core_give(&s, core, old, next, &k);
        probe_gives_way(&s, old);
        core_enqueue(&s, old, USF_WHY_YIELD);
    }
    now += 1000;
    leave(&s);
    return running(core);
}

static bool is_enough(void)
{
    enter(&s);
    bool enough = probe_is_enough(&s);
    leave(&s);
    return enough;
}

/* Tasks 0 to n - 1 of one process, on two cores; all have given way in a busy-wait. */
static void begin(const char *policy, uint32_t n)
{
    make_instance(policy, 2);
    join(&s);
    memset(spins, 0, sizeof spins);
    memset(over, 0, sizeof over);
    s.spins = spins;
    s.probe = probe;
    for (uint32_t i = 0; i < n; i++) CHECK(add_task(&s) == i);
    for (uint32_t i = 0; i < 2 * n; i++) {      /* each has a turn */
        spin(running(i % 2));
        yield(i % 2, CORE_ANY);
    }
    for (uint32_t i = 0; i < n; i++) spin(i);
}

static void end(uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) end_task(&s, i);
    end_instance();
}

/* A ready task that last ran on this core, or not: of those that give way in a spin the last one, or the first. */
static uint32_t waits_at(uint32_t core, bool here)
{
    uint32_t found = USF_NONE;
    for (uint32_t i = 0; i < s.nr_spinners; i++) {
        uint32_t task = s.spinners[i].task;
        if (state_of(&s, task) == USF_TASK_READY && (s.tasks[task].pol.last_core == core) == here && (here || found == USF_NONE)) found = task;
    }
    return found;
}

/* ... of either kind. */
static uint32_t waits(void) { return waits_at(0, true) != USF_NONE ? waits_at(0, true) : waits_at(0, false); }

static void nobody_is_next(const char *policy)
{
    begin(policy, 8);
    CHECK(is_enough());
    probes = 0;
    uint32_t was = running(0);
    CHECK(yield(0, CORE_NEAR) == was && yield(0, CORE_USEFUL) == was);
    CHECK(probes == 2 * 6);                     /* each ready task once */
    uint32_t ready = waits();
    atomic_store(&spins[ready].regs, 0);        /* a handler is about to run on top of its wait */
    CHECK(yield(s.tasks[ready].pol.last_core, CORE_NEAR) == ready);
    CHECK(yield(0, CORE_ANY) != was);           /* if need be, one that only waits on */
    end(8);
}

static void one_is_next(const char *policy)
{
    begin(policy, 8);
    for (int i = 0; i < 100; i++) {
        uint32_t core = (uint32_t)i % 2, here = waits_at(core, true), there = waits_at(core, false);
        if (there != USF_NONE) {                /* it waits for another core's thread, which may work for long */
            over[there] = true;
            if (here != USF_NONE) {
                over[here] = true;
                CHECK(yield(core, CORE_NEAR) == here);
                over[here] = false;
            }
            CHECK(yield(core, CORE_NEAR) == there);
            over[there] = false;
        }
        CHECK(is_enough());
        here = waits_at(core, true);
        if (here == USF_NONE) continue;
        over[here] = true;
        CHECK(yield(core, CORE_NEAR) == here);
        over[here] = false;
    }
    end(8);
}

/* The policy chooses where it has a choice. */
static void others_are_next(const char *policy)
{
    enum { SPINNING = 6, COMPUTING = 3 };
    begin(policy, SPINNING);
    for (uint32_t i = 0; i < COMPUTING; i++) CHECK(add_task(&s) == SPINNING + i);
    CHECK(!is_enough());
    for (int i = 0; i < 200; i++) yield((uint32_t)i % 2, CORE_ANY);
    for (uint32_t i = SPINNING; i < SPINNING + COMPUTING; i++) {
        CHECK(state_of(&s, i) != USF_TASK_READY || !is_enough());
        end_task(&s, i);
    }
    for (int i = 0; i < 2; i++)                 /* the cores that they left are free */
        if (running((uint32_t)i) == USF_NONE) {
            struct wakes k = {0};
            enter(&s);
            core_fill(&s, (uint32_t)i, &k);
            leave(&s);
        }
    CHECK(is_enough());
    uint32_t ready = waits();
    enter(&s);
    core_dequeue(&s, ready);
    s.tasks[ready].pol.priority++;
    core_enqueue(&s, ready, USF_WHY_YIELD);
    leave(&s);
    end(SPINNING);
    begin(policy, SPINNING);
    CHECK(is_enough());
    uint32_t old = running(0), next = waits();
    s.tasks[old].pol.priority++;
    over[next] = true;
    CHECK(yield(0, CORE_NEAR) == next && !is_enough());
    end(SPINNING);
}

/* A look ends after PROBES_MAX probes, and the next one goes on from there. */
static void last_is_next(const char *policy)
{
    begin(policy, SCHED_SPINNERS_MAX);
    CHECK(is_enough());
    uint32_t was = running(0), last = USF_NONE;
    for (uint32_t i = PROBES_MAX; i < s.nr_spinners; i++)
        if (s.tasks[s.spinners[i].task].pol.last_core == 0) last = s.spinners[i].task;
    probes = 0;
    if (last != USF_NONE) over[last] = true;
    for (int i = 0; running(0) == was && i < 4; i++) yield(0, CORE_NEAR), CHECK(probes <= (i + 1u) * PROBES_MAX);
    CHECK(last == USF_NONE || running(0) == last);
    end(SCHED_SPINNERS_MAX);
}

/* A child has a copy of its parent's list.  The record of the process that had the lock last may be its own by now. */
static void child(const char *policy)
{
    begin(policy, 8);
    CHECK(is_enough() && s.nr_spinners == 6);
    struct os_cpuset cpus = {.w = {3}};
    struct sched forked = s, parent;
    end_task(&s, waits());
    parent = s;
    s = forked;
    s.proc = USF_NONE;
    s.h->lock.had_by = parent.proc + 2;         /* the record that the child gets */
    CHECK(sched_proc_join(&s, getpid(), os_start_time(getpid()), "child", &cpus, 0) == (int)parent.proc + 1);
    uint32_t task = add_task(&s);
    CHECK(state_of(&s, task) == USF_TASK_READY && !is_enough());
    end_task(&s, task);
    s = parent;
    for (uint32_t i = 0; i < 8; i++)
        if (state_of(&s, i) != USF_TASK_FREE) end_task(&s, i);
    end_instance();
}

/* More than the list has room for: the policy names them, until the one is found. */
static void many(const char *policy)
{
    const uint32_t n = SCHED_SPINNERS_MAX + 20;
    begin(policy, n);
    CHECK(!is_enough());
    uint32_t next = waits();
    over[next] = true;
    for (int i = 0; running(0) != next && running(1) != next; i++) {
        CHECK(i < 1000);
        yield((uint32_t)i % 2, CORE_USEFUL);
    }
    end(n);
}

static const struct { const char *name; void (*run)(const char *policy); } cases[] =
{ {"nobody", nobody_is_next}, {"one", one_is_next}, {"others", others_are_next}, {"last", last_is_next}, {"child", child}, {"many", many} };

int main(int argc, char **argv)
{
    for (unsigned i = 0; argc == 2 && i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(argv[1], cases[i].name)) continue;
        static const char *const policies[] = {"coop", "fifo", "fair", "fl", "equi", "batch"};
        for (unsigned p = 0; p < sizeof policies / sizeof *policies; p++) cases[i].run(policies[p]);
        return 0;
    }
    printf("usage: sched-probe nobody|one|others|last|child|many\n");
    return 2;
}
