/* tests/sched/groups.c weights|move|own|end|full|cores|leave|ask|divide|adjust|lend|away - groups of a process.  SPDX-License-Identifier: Apache-2.0
 *
 * One thread does everything, and the clock is the test's: so all of it is the same in each run.  The build asserts at
 * each release of the scheduler lock that all records agree (core_is_sound). */
#include "groups.h"
#include "sched/watch.h"

static struct sched s, other, monitor;

/* ---- weights ----------------------------------------------------------------------------------- */

enum { STEPS = 8000, STEP_NS = 1000000, EACH = 6, CORES = 4 };

/* Two accounts of six tasks each that always want a core and reach a scheduling point each millisecond: two processes, or two groups of
 * one process.  What each has had. */
static void share_out(const char *policy, bool processes, const uint32_t weight[2], uint64_t had[2])
{
    struct sched_self me = {.task = USF_NONE};
    struct sched *view[2] = {&s, processes ? &other : &s};
    uint32_t account[2];
    make_instance(policy, CORES);
    s.weight = 0;
    join(&s);
    if (processes) join(&other);
    account[0] = first_of(&s);
    account[1] = processes ? first_of(&other) : (uint32_t)sched_group_make(&s, &me, "second", 100, 0, NULL, 0);
    for (int i = 0; i < 2; i++) {
        enter(&s);
        core_change_group(&s, account[i], weight[i], 0, s.groups[account[i]].pol.flags);
        leave(&s);
    }
    for (uint32_t i = 0; i < 2 * EACH; i++) {
        uint32_t task = add_task(view[i % 2]);
        CHECK(sched_change_group(view[i % 2], &me, task, account[i % 2]) == 0);
    }
    for (uint32_t n = 0; n < STEPS; n++) {
        now += STEP_NS;
        enter(&s);
        s.ops.tick(&s.pol);
        for (uint32_t c = 0; c < CORES; c++) switch_from(&s, c, USF_TASK_READY, USF_WHY_WAKE);
        leave(&s);
    }
    for (int i = 0; i < 2; i++) had[i] = group(&s, account[i])->busy_ns;
    end_instance();
}

/* A policy shares cores between groups of a process exactly as between processes. */
static void weights(void)
{
    static const char *const policies[] = {"coop", "fair", "equi", "gang", "batch", "fifo", "fl"};
    static const uint32_t weight[][2] = {{100, 100}, {300, 100}, {100, 200}};
    for (unsigned p = 0; p < sizeof policies / sizeof *policies; p++)
        for (unsigned w = 0; w < 3; w++) {
            uint64_t procs[2], groups[2];
            share_out(policies[p], true, weight[w], procs);
            share_out(policies[p], false, weight[w], groups);
            printf("%s, weights %u and %u: processes %lu and %lu ms, groups %lu and %lu ms\n", policies[p], weight[w][0], weight[w][1],
                   procs[0] / 1000000, procs[1] / 1000000, groups[0] / 1000000, groups[1] / 1000000);
            fflush(stdout);
            CHECK(procs[0] == groups[0] && procs[1] == groups[1]);
            CHECK(groups[0] + groups[1] == (uint64_t)STEPS * STEP_NS * CORES);
            if (p > 3) continue;        /* these go by weights */
            double is = (double)groups[0] / (double)groups[1], due = (double)weight[w][0] / weight[w][1];
            CHECK(is > 0.8 * due && is < 1.25 * due);
        }
}

/* ---- a task changes its group ------------------------------------------------------------------- */

static uint32_t make(const char *name, uint32_t weight, const uint64_t *wants)
{
    struct sched_self me = {.task = USF_NONE};
    int g = sched_group_make(&s, &me, name, weight, 0, wants, 0);
    CHECK(g >= 0 && s.groups[g].proc == s.proc && !strcmp(s.groups[g].name, name));
    return (uint32_t)g;
}

static int change(uint32_t task, uint32_t to)
{
    struct sched_self me = {.task = USF_NONE};
    return sched_change_group(&s, &me, task, to);
}

static bool has(uint32_t g, uint32_t tasks, uint32_t ready) { return group(&s, g)->nr_tasks == tasks && group(&s, g)->nr_ready == ready; }

/* One core: the first task runs, the second waits for the core, the third is blocked. */
static void move(void)
{
    for (unsigned p = 0; usf_builtin_policies[p]; p++) {
        if (usf_builtin_policies[p]->flags & USF_POLICY_KERNEL) continue;
        make_instance(usf_builtin_policies[p]->name, 1);
        join(&s);
        uint32_t first = first_of(&s), second = make("second", 200, NULL), blocks = add_task(&s);
        enter(&s);
        switch_from(&s, 0, USF_TASK_BLOCKED, USF_WHY_WAKE);
        leave(&s);
        uint32_t runs = add_task(&s), waits = add_task(&s);
        CHECK(state_of(&s, runs) == USF_TASK_RUNNING && state_of(&s, waits) == USF_TASK_READY && state_of(&s, blocks) == USF_TASK_BLOCKED);
        CHECK(has(first, 3, 1) && has(second, 0, 0));
        uint64_t word = atomic_load(&s.cores[0].word), switches = s.tasks[runs].n.switches;
        CHECK(change(runs, second) == 0 && has(first, 2, 1) && has(second, 1, 0));
        CHECK(atomic_load(&s.cores[0].word) == word && s.cores[0].pol.current == runs && s.tasks[runs].n.switches == switches);
        CHECK(change(waits, second) == 0 && has(first, 1, 0) && has(second, 2, 1) && state_of(&s, waits) == USF_TASK_READY);
        CHECK(change(blocks, second) == 0 && has(first, 0, 0) && has(second, 3, 1) && state_of(&s, blocks) == USF_TASK_BLOCKED);
        uint64_t before = group(&s, first)->busy_ns, mine = group(&s, second)->busy_ns;
        now += 5000000;
        enter(&s);
        CHECK(switch_from(&s, 0, USF_TASK_BLOCKED, USF_WHY_WAKE) == waits);
        leave(&s);
        CHECK(group(&s, first)->busy_ns == before && group(&s, second)->busy_ns == mine + 5000000);
        CHECK(has(second, 3, 0) && change(waits, first) == 0 && has(second, 2, 0) && has(first, 1, 0));
        end_instance();
    }
}

/* Errors; and the calling thread itself, which goes to where its group may run. */
static void own(void)
{
    struct sched_self me = {.task = USF_NONE};
    const uint64_t third[USF_CORE_WORDS] = {4}, none[USF_CORE_WORDS] = {0};
    struct sched_attributes w;
    make_instance("coop", 4);
    join(&s);
    join(&other);
    uint32_t g = make("third core", 100, third), all = make("all", 100, none), foreign = first_of(&other);
    CHECK(group(&s, all)->cores[0] == 15 && group(&s, g)->cores[0] == 4);
    CHECK(sched_attach(&s, &me, (int32_t)getpid(), "own") == 0);
    CHECK(atomic_load(&s.tasks[me.task].core) == 0);
    CHECK(sched_change_group(&s, &me, me.task, g) == 0 && atomic_load(&s.tasks[me.task].core) == 2);
    sched_attributes_of(&s, me.task, &w);
    w.affinity = USF_AFFINITY_CORE, w.affinity_id = 1, w.strict = 1;
    sched_change_task(&s, &me, me.task, &w);
    CHECK(!s.tasks[me.task].pol.strict);        /* its group may not run there: a preference */
    CHECK(sched_change_group(&s, &me, me.task, foreign) == -ESRCH && sched_change_group(&s, &me, me.task, 5) == -ESRCH);
    CHECK(sched_change_group(&s, &me, me.task, USF_NONE) == -ESRCH && sched_change_group(&s, &me, me.task, USF_MAX_GROUPS - 1) == -ESRCH);
    CHECK(sched_change_group(&s, &me, USF_NONE, g) == -ESRCH && sched_change_group(&s, &me, me.task + 1, g) == -ESRCH);
    CHECK(sched_change_group(&other, &(struct sched_self){.task = USF_NONE}, me.task, foreign) == -ESRCH);
    CHECK(sched_group_end(&s, &me, first_of(&s)) == -EINVAL && sched_group_end(&s, &me, foreign) == -ESRCH);
    CHECK(sched_group_end(&s, &me, USF_NONE) == -ESRCH);
    CHECK(sched_group_make(&s, &me, "g", 0, 0, NULL, 0) == -EINVAL && sched_group_make(&s, &me, "g", SCHED_WEIGHT_MAX + 1, 0, NULL, 0) == -EINVAL);
    CHECK(sched_group_make(&s, &me, "g", 1, SCHED_PRIORITY_MAX + 1, NULL, 0) == -EINVAL);
    CHECK(sched_group_end(&s, &me, g) == 0 && sched_group_end(&s, &me, g) == -ESRCH && s.tasks[me.task].pol.group == first_of(&s));
    sched_detach(&s, &me, false);
    uint32_t proc = other.proc;
    sched_proc_remove(&other, proc, true);
    sched_left(&other, proc, true);
    CHECK(sched_group_make(&other, &me, "g", 100, 0, NULL, 0) == -ESTALE);
    end_instance();
}

/* Its threads go back to the first group, and what those that had ended did is not lost. */
static void end(void)
{
    struct sched_self me = {.task = USF_NONE};
    make_instance("fair", 2);
    join(&s);
    uint32_t first = first_of(&s), g = make("ends", 300, NULL), task[5];
    for (int i = 0; i < 5; i++) {
        task[i] = add_task(&s);
        CHECK(change(task[i], g) == 0);
    }
    CHECK(has(first, 0, 0) && has(g, 5, 3));
    enter(&s);
    switch_from(&s, 0, USF_TASK_BLOCKED, USF_WHY_WAKE);
    leave(&s);
    end_task(&s, task[1]);
    uint64_t switches = s.groups[g].gone.switches;
    CHECK(switches == 1 && s.groups[first].gone.switches == 0);
    CHECK(sched_group_end(&s, &me, g) == 0 && atomic_load(&s.groups[g].state) == USF_GROUP_FREE);
    CHECK(has(first, 4, 1) && s.groups[first].gone.switches == switches && s.procs[s.proc].nr_groups == 1);
    CHECK(make("again", 100, NULL) == g);
    end_instance();
}

/* Many groups of one process leave room for other processes. */
static void full(void)
{
    struct sched_self me = {.task = USF_NONE};
    int g;
    uint32_t n = 0;
    make_instance("coop", 2);
    join(&s);
    bind_view(&monitor);
    while ((g = sched_group_make(&s, &me, "many", 100, 0, NULL, 0)) >= 0) n++;
    CHECK(g == -EAGAIN && n == USF_MAX_GROUPS - USF_MAX_PROCS);
    join(&other);
    CHECK(count_groups(&s, s.proc) == n + 1 && count_groups(&s, other.proc) == 1);
    CHECK(sched_group_make(&other, &me, "one more", 100, 0, NULL, 0) == -EAGAIN);
    CHECK(sched_group_end(&s, &me, first_of(&s) + 1) == 0);
    CHECK(sched_group_make(&other, &me, "one more", 100, 0, NULL, 0) == (int)first_of(&s) + 1);
    sched_proc_remove(&monitor, s.proc, false);
    CHECK(count_groups(&other, s.proc) == 0 && count_groups(&other, other.proc) == 2);
    end_instance();
}

/* A quota is the process's; each group gets what it wants of it. */
static void cores(void)
{
    static struct sched_watcher memory;
    const uint64_t low[USF_CORE_WORDS] = {3}, high[USF_CORE_WORDS] = {12};
    make_instance("equi", 4);
    uint32_t proc = join(&s), first = first_of(&s), a = make("low", 100, low), b = make("high", 100, high);
    bind_view(&monitor);
    monitor.watch = &memory;
    uint32_t runs = add_task(&s);
    CHECK(change(runs, b) == 0 && group(&s, a)->cores[0] == 3 && group(&s, b)->cores[0] == 12 && group(&s, first)->cores[0] == 15);
    sched_set_quota(&monitor, proc, getpid(), 2, 1);
    uint64_t gets = s.procs[proc].cores[0];
    CHECK(__builtin_popcountll(gets) == 2 && group(&s, first)->cores[0] == gets);
    CHECK(group(&s, a)->cores[0] == (gets & 3 ? gets & 3 : gets) && group(&s, b)->cores[0] == (gets & 12 ? gets & 12 : gets));
    sched_set_quota(&monitor, proc, getpid(), USF_NONE, 1);
    CHECK(s.procs[proc].cores[0] == 15 && group(&s, a)->cores[0] == 3 && group(&s, b)->cores[0] == 12);
    end_instance();
}

/* A process that leaves, dies, or is replaced takes all its groups with it; another comes to have the records. */
static void leaves(void)
{
    for (int dead = 0; dead < 2; dead++) {
        make_instance("gang", 2);
        uint32_t proc = join(&s);
        join(&other);
        bind_view(&monitor);
        add_task(&other);
        for (int i = 0; i < 6; i++) {
            uint32_t task = add_task(&s);
            CHECK(change(task, i % 2 ? make("one of many", 100 + (uint32_t)i, NULL) : first_of(&s)) == 0);
        }
        CHECK(count_groups(&s, proc) == 4 && s.procs[proc].nr_groups == 4);
        if (dead) sched_proc_remove(&monitor, proc, false);
        else sched_proc_remove(&s, proc, true);
        CHECK(count_groups(&other, proc) == 0 && count_groups(&other, other.proc) == 1 && s.procs[proc].group == USF_NONE);
        CHECK(s.h->nr_ready == 0);
        end_instance();
    }
}

/* `usf policy weight` and `priority` change all groups; another policy is told of all; children begin with what the first has. */
static void ask(void)
{
    char why[160];
    make_instance("coop", 2);
    join(&s);
    bind_view(&monitor);
    uint32_t first = first_of(&s), g = make("asked", 300, NULL), tasks[6];
    for (int i = 0; i < 6; i++) CHECK(change(tasks[i] = add_task(&s), i % 2 ? g : first) == 0);
    struct usf_policy_ask *a = &shm.h->policy_ask;
    a->kind = USF_ASK_PRIORITY, a->pid = getpid(), a->value = 7;
    atomic_fetch_add(&a->asked, 1);
    sched_answer(&monitor);
    CHECK(!a->refused && group(&s, first)->priority == 7 && group(&s, g)->priority == 7);
    CHECK(group(&s, first)->weight == 100 && group(&s, g)->weight == 300);
    a->kind = USF_ASK_WEIGHT, a->value = 50;
    atomic_fetch_add(&a->asked, 1);
    sched_answer(&monitor);
    CHECK(!a->refused && group(&s, first)->weight == 50 && group(&s, g)->weight == 50);
    enter(&monitor);
    CHECK(core_set_policy(&monitor, "fair", why, sizeof why));
    leave(&monitor);
    for (int n = 0; n < 6; n++) {
        enter(&s);
        switch_from(&s, 0, USF_TASK_BLOCKED, USF_WHY_WAKE);
        leave(&s);
    }
    CHECK(has(first, 3, 0) && has(g, 3, 0) && s.h->nr_ready == 0);
    sched_keep_inherited(&s);
    CHECK(s.weight == 50 && s.priority == 7);
    end_instance();
}

/* ---- cores of a group's own ----------------------------------------------------------------------- */

static uint32_t make_own(const char *name, uint64_t cores, uint32_t kind)
{
    struct sched_self me = {.task = USF_NONE};
    const uint64_t wants[USF_CORE_WORDS] = {cores};
    int g = sched_group_make(&s, &me, name, 100, 0, wants, kind);
    CHECK(g >= 0);
    return (uint32_t)g;
}

static int adjust_own(uint32_t g, uint64_t cores, uint32_t kind)
{
    struct sched_self me = {.task = USF_NONE};
    const uint64_t wants[USF_CORE_WORDS] = {cores};
    return sched_group_adjust(&s, &me, g, 100, 0, wants, kind);
}

static bool uses(uint32_t g, uint64_t cores, uint64_t own)
{
    const struct usf_pol_group *p = group(&s, g);
    return p->cores[0] == cores && p->own[0] == own && !(p->flags & USF_GROUP_OWNS) == !own;
}

/* What the groups of a process leave to each other. */
static void divides(void)
{
    struct sched_self me = {.task = USF_NONE};
    static struct sched_watcher memory;
    make_instance("coop", 4);
    uint32_t proc = join(&s), first = first_of(&s);
    join(&other);
    bind_view(&monitor);
    monitor.watch = &memory;
    uint32_t limited = make_own("limited", 6, USF_GROUP_LIMITED), a = make_own("a", 3, USF_GROUP_BORROWING), b = make_own("b", 12, USF_GROUP_BORROWING);
    CHECK(uses(first, 15, 0) && uses(limited, 6, 0) && uses(a, 15, 3) && uses(b, 15, 12));
    uint32_t c = make_own("c", 6, USF_GROUP_EXCLUSIVE);
    CHECK(s.procs[proc].nr_exclusive == 1);
    CHECK(uses(first, 9, 0) && uses(a, 11, 3) && uses(b, 13, 12) && uses(c, 6, 6));
    CHECK(uses(limited, 6, 0));                 /* it would have none */
    CHECK(uses(first_of(&other), 15, 0));       /* another process's affair */
    sched_set_quota(&monitor, proc, getpid(), 2, 1);
    uint64_t gets = s.procs[proc].cores[0];
    CHECK(__builtin_popcountll(gets) == 2);
    CHECK(uses(c, gets & 6 ? gets & 6 : gets, gets & 6));
    CHECK(uses(a, gets & ~(6 & ~3u) ? gets & ~(6 & ~3ull) : gets, gets & 3));
    sched_set_quota(&monitor, proc, getpid(), USF_NONE, 1);
    CHECK(uses(first, 9, 0) && uses(a, 11, 3) && uses(b, 13, 12) && uses(c, 6, 6));
    CHECK(sched_group_end(&s, &me, c) == 0 && !s.procs[proc].nr_exclusive);
    CHECK(uses(first, 15, 0) && uses(limited, 6, 0) && uses(a, 15, 3) && uses(b, 15, 12));
    CHECK(sched_group_make(&s, &me, "g", 100, 0, NULL, USF_GROUP_EXCLUSIVE + 1) == -EINVAL);
    CHECK(uses(make_own("all", 15, USF_GROUP_EXCLUSIVE), 15, 15) && uses(first, 15, 0) && uses(a, 3, 3) && uses(b, 12, 12));
    end_instance();
}

/* Cores that a group gets or loses while its tasks and those of others run and wait. */
static void adjusts(void)
{
    struct sched_self me = {.task = USF_NONE};
    make_instance("coop", 2);
    join(&s);
    join(&other);
    uint32_t first = first_of(&s), g = make_own("g", 1, USF_GROUP_BORROWING), task[4];
    CHECK(adjust_own(first, 1, USF_GROUP_BORROWING) == -ESRCH && adjust_own(first_of(&other), 1, 0) == -ESRCH && adjust_own(USF_NONE, 1, 0) == -ESRCH);
    CHECK(adjust_own(g, 1, USF_GROUP_EXCLUSIVE + 1) == -EINVAL && uses(g, 3, 1));
    CHECK(sched_group_adjust(&s, &me, g, 0, 0, NULL, 0) == -EINVAL);
    CHECK(sched_group_adjust(&s, &me, g, 100, SCHED_PRIORITY_MAX + 1, NULL, 0) == -EINVAL);
    for (int i = 0; i < 4; i++) CHECK(change(task[i] = add_task(&s), i < 2 ? g : first) == 0);
    CHECK(state_of(&s, task[0]) == USF_TASK_RUNNING && atomic_load(&s.tasks[task[1]].core) == 1 && has(g, 2, 0) && has(first, 2, 2));
    CHECK(adjust_own(g, 1, USF_GROUP_EXCLUSIVE) == 0 && uses(g, 1, 1) && uses(first, 2, 0));
    CHECK(state_of(&s, task[1]) == USF_TASK_RUNNING && s.cores[1].pol.give_way_at == now && !s.cores[0].pol.give_way_at);     /* it is to leave */
    enter(&s);
    CHECK(switch_from(&s, 1, USF_TASK_READY, USF_WHY_PREEMPT) == task[2]);
    CHECK(switch_from(&s, 1, USF_TASK_READY, USF_WHY_YIELD) == task[3]);
    CHECK(switch_from(&s, 0, USF_TASK_READY, USF_WHY_WAKE) == task[1]);
    leave(&s);
    CHECK(adjust_own(g, 2, USF_GROUP_EXCLUSIVE) == 0 && uses(g, 2, 2) && uses(first, 1, 0) && has(g, 2, 1) && has(first, 2, 1));
    CHECK(s.cores[0].pol.give_way_at == now && s.cores[1].pol.give_way_at == now);
    enter(&s);
    CHECK(switch_from(&s, 0, USF_TASK_READY, USF_WHY_PREEMPT) == task[2]);
    CHECK(switch_from(&s, 1, USF_TASK_READY, USF_WHY_PREEMPT) == task[0]);
    leave(&s);
    CHECK(sched_group_adjust(&s, &me, g, 300, 5, NULL, USF_GROUP_EXCLUSIVE) == 0);      /* no cores: none of its own */
    CHECK(uses(g, 3, 0) && uses(first, 3, 0) && group(&s, g)->weight == 300 && group(&s, g)->priority == 5);
    sched_group_end(&s, &me, g);
    /* The calling thread goes at once. */
    g = make_own("g", 1, USF_GROUP_EXCLUSIVE);
    for (int i = 0; i < 4; i++) end_task(&s, task[i]);
    CHECK(sched_attach(&s, &me, (int32_t)getpid(), "adjusts") == 0 && atomic_load(&s.tasks[me.task].core) == 1);
    CHECK(sched_group_adjust(&s, &me, g, 100, 0, (const uint64_t[USF_CORE_WORDS]){2}, USF_GROUP_EXCLUSIVE) == 0);
    CHECK(atomic_load(&s.tasks[me.task].core) == 0 && state_of(&s, me.task) == USF_TASK_RUNNING);
    sched_detach(&s, &me, false);
    end_instance();
}

/* Threads that compute: the monitor's signal reaches them at once, and they give way if they are due. */
static void signal_comes(void *arg, uint32_t task)
{
    struct sched_self me = {.task = task};
    (void)arg;
    if (state_of(&s, task) != USF_TASK_RUNNING || !sched_is_due(&s, &me)) return;
    enter(&s);
    switch_from(&s, atomic_load(&s.tasks[task].core), USF_TASK_READY, USF_WHY_PREEMPT);
    leave(&s);
}
static char computes(void *arg, uint32_t task) { return (void)arg, (void)task, 'R'; }

/* Cores of the set that run the group's tasks. */
static uint32_t runs_on(uint32_t g, uint64_t cores)
{
    uint32_t n = 0;
    for (uint32_t c = 0; c < s.h->nr_cores; c++)
        if (cores >> c & 1 && s.cores[c].pol.current != USF_NONE) n += s.tasks[s.cores[c].pol.current].pol.group == g;
    return n;
}

/* One group computes on all cores, those of the other among them, and never reaches a scheduling point.  When a task of the other wakes, at any
 * time between two looks of the monitor, it has a core of its own at the monitor's next look, or once the borrower has run for as long as it may. */
enum { LOOK = 1000000, BORROW = 200000, PHASE = 50000 };
static void lend(void)
{
    static const char *const policies[] = {"coop", "fair", "equi", "speedup", "batch"};
    static struct sched_watcher memory;
    for (unsigned p = 0; p < sizeof policies / sizeof *policies; p++) {
        uint64_t most = 0;
        for (uint64_t phase = 0; phase <= LOOK + PHASE; phase += PHASE) {
            struct sched_self me = {.task = USF_NONE};
            uint32_t owner[2];
            make_instance(policies[p], 4);
            shm.h->progress_ns = 20000000;
            join(&s);
            bind_view(&monitor);
            memset(&memory, 0, sizeof memory);
            monitor.watch = &memory;
            sched_watch_begin(&monitor);
            uint32_t a = make_own("a", 3, USF_GROUP_BORROWING), b = make_own("b", 12, USF_GROUP_BORROWING);
            for (int i = 0; i < 2; i++) {
                CHECK(change(owner[i] = add_task(&s), b) == 0);
                enter(&s);
                switch_from(&s, atomic_load(&s.tasks[owner[i]].core), USF_TASK_BLOCKED, USF_WHY_WAKE);
                leave(&s);
            }
            for (int i = 0; i < 6; i++) CHECK(change(add_task(&s), a) == 0);
            CHECK(runs_on(a, 15) == 4);
            uint64_t next = now, woken = 0, waited[2] = {0}, end = now + 60000000;
            for (uint64_t start = now + 30000000 + phase; now < end; now += PHASE) {
                if (now == start) sched_wake(&s, &me, owner, 1), woken = now;
                if (now == start + LOOK / 2) sched_wake(&s, &me, owner + 1, 1);
                if (now >= next) next = now + sched_watch(&monitor, signal_comes, computes, NULL);
                for (int i = 0; i < 2 && woken; i++)
                    if (state_of(&s, owner[i]) == USF_TASK_READY) waited[i] += PHASE;
            }
            for (int i = 0; i < 2; i++)
                if (waited[i] > most) most = waited[i];
            if (waited[0] > LOOK + BORROW + PHASE || waited[1] > LOOK + BORROW + PHASE) {
                printf("%s, phase %lu: waited %lu and %lu us\n", policies[p], phase / 1000, waited[0] / 1000, waited[1] / 1000);
                exit(1);
            }
            CHECK(runs_on(b, 12) == 2 && runs_on(a, 3) == 2 && s.groups[a].borrowed && !s.groups[b].borrowed);
            end_instance();
        }
        printf("%s: a task waits for a core of its own for %lu us at most\n", policies[p], most / 1000);
        CHECK(most);
    }
}

/* A thread blocks in a call.  Its core is another task's, whose own ever it is and whatever slot it has. */
static void away(void)
{
    for (unsigned p = 0; usf_builtin_policies[p]; p++) {
        if (usf_builtin_policies[p]->flags & USF_POLICY_KERNEL) continue;
        make_instance(usf_builtin_policies[p]->name, 2);
        join(&s);
        uint32_t a = make_own("a", 1, USF_GROUP_BORROWING), b = make_own("b", 2, USF_GROUP_BORROWING), task[4];
        for (int i = 0; i < 4; i++) CHECK(change(task[i] = add_task(&s), i == 1 ? b : a) == 0);
        CHECK(atomic_load(&s.tasks[task[1]].core) == 1 && has(a, 3, 2) && has(b, 1, 0));
        struct sched_self me = {.task = task[1]};
        sched_leave_core(&s, &me, true);
        CHECK(has(a, 3, 1) && s.cores[1].pol.current != task[1] && state_of(&s, task[1]) == USF_TASK_IN_KERNEL);
        end_instance();
    }
}

static const struct { const char *name; void (*run)(void); } all[] = {
    {"weights", weights}, {"move", move}, {"own", own}, {"end", end}, {"full", full}, {"cores", cores}, {"leave", leaves}, {"ask", ask},
    {"divide", divides}, {"adjust", adjusts}, {"lend", lend}, {"away", away},
};

int main(int argc, char **argv)
{
    alarm(60);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (argc == 2 && !strcmp(all[i].name, argv[1])) return all[i].run(), 0;
    printf("no such test\n");
    return 1;
}
