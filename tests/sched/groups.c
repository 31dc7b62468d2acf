/* tests/sched/groups.c weights|move|own|end|full|cores|leave|ask - groups of a process.  SPDX-License-Identifier: Apache-2.0
 *
 * One thread does everything, and the clock is the test's: so all of it is the same in each run.  The build asserts at
 * each release of the scheduler lock that all records agree (core_is_sound). */
#include "groups.h"

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
    account[1] = processes ? first_of(&other) : (uint32_t)sched_group_make(&s, &me, "second", 100, 0, NULL);
    for (int i = 0; i < 2; i++) {
        enter(&s);
        core_change_group(&s, account[i], weight[i], 0);
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
    int g = sched_group_make(&s, &me, name, weight, 0, wants);
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
    struct sched_wish w;
    make_instance("coop", 4);
    join(&s);
    join(&other);
    uint32_t g = make("third core", 100, third), all = make("all", 100, none), foreign = first_of(&other);
    CHECK(group(&s, all)->cores[0] == 15 && group(&s, g)->cores[0] == 4);
    CHECK(sched_attach(&s, &me, (int32_t)getpid(), "own") == 0);
    CHECK(atomic_load(&s.tasks[me.task].core) == 0);
    CHECK(sched_change_group(&s, &me, me.task, g) == 0 && atomic_load(&s.tasks[me.task].core) == 2);
    sched_wish_of(&s, me.task, &w);
    w.affinity = USF_AFFINITY_CORE, w.affinity_id = 1, w.strict = 1;
    sched_change_task(&s, &me, me.task, &w);
    CHECK(!s.tasks[me.task].pol.strict);        /* its group may not run there: a wish */
    CHECK(sched_change_group(&s, &me, me.task, foreign) == -ESRCH && sched_change_group(&s, &me, me.task, 5) == -ESRCH);
    CHECK(sched_change_group(&s, &me, me.task, USF_NONE) == -ESRCH && sched_change_group(&s, &me, me.task, USF_MAX_GROUPS - 1) == -ESRCH);
    CHECK(sched_change_group(&s, &me, USF_NONE, g) == -ESRCH && sched_change_group(&s, &me, me.task + 1, g) == -ESRCH);
    CHECK(sched_change_group(&other, &(struct sched_self){.task = USF_NONE}, me.task, foreign) == -ESRCH);
    CHECK(sched_group_end(&s, &me, first_of(&s)) == -EINVAL && sched_group_end(&s, &me, foreign) == -ESRCH);
    CHECK(sched_group_end(&s, &me, USF_NONE) == -ESRCH);
    CHECK(sched_group_make(&s, &me, "g", 0, 0, NULL) == -EINVAL && sched_group_make(&s, &me, "g", SCHED_WEIGHT_MAX + 1, 0, NULL) == -EINVAL);
    CHECK(sched_group_make(&s, &me, "g", 1, SCHED_PRIORITY_MAX + 1, NULL) == -EINVAL);
    CHECK(sched_group_end(&s, &me, g) == 0 && sched_group_end(&s, &me, g) == -ESRCH && s.tasks[me.task].pol.group == first_of(&s));
    sched_detach(&s, &me, false);
    uint32_t proc = other.proc;
    sched_proc_remove(&other, NULL, proc, true);
    sched_left(&other, proc, true);
    CHECK(sched_group_make(&other, &me, "g", 100, 0, NULL) == -ESTALE);
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
    while ((g = sched_group_make(&s, &me, "many", 100, 0, NULL)) >= 0) n++;
    CHECK(g == -EAGAIN && n == USF_MAX_GROUPS - USF_MAX_PROCS);
    join(&other);
    CHECK(count_groups(&s, s.proc) == n + 1 && count_groups(&s, other.proc) == 1);
    CHECK(sched_group_make(&other, &me, "one more", 100, 0, NULL) == -EAGAIN);
    CHECK(sched_group_end(&s, &me, first_of(&s) + 1) == 0);
    CHECK(sched_group_make(&other, &me, "one more", 100, 0, NULL) == (int)first_of(&s) + 1);
    sched_proc_remove(&monitor, NULL, s.proc, false);
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
        if (dead) sched_proc_remove(&monitor, NULL, proc, false);
        else sched_proc_remove(&s, NULL, proc, true);
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
    sched_keep_standing(&s);
    CHECK(s.weight == 50 && s.priority == 7);
    end_instance();
}

static const struct { const char *name; void (*run)(void); } all[] = {
    {"weights", weights}, {"move", move}, {"own", own}, {"end", end}, {"full", full}, {"cores", cores}, {"leave", leaves}, {"ask", ask},
};

int main(int argc, char **argv)
{
    alarm(60);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (argc == 2 && !strcmp(all[i].name, argv[1])) return all[i].run(), 0;
    printf("no such test\n");
    return 1;
}
