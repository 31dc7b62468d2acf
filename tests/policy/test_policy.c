/* tests/policy/test_policy.c - random histories for every policy.  SPDX-License-Identifier: Apache-2.0
 *
 * usage: test_policy POLICY [SEED]      POLICY: a built-in one, `defaults`, or the path of an object
 * Checked at every step: work conservation, no lost task, no double dispatch, affinity; the order that
 * the policy promises; for coop also nearness, quantum and the place of yielders. */
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "machine.h"

static bool is_coop, is_ordered, keeps_yielders;    /* the last: `yield` may answer false while tasks are ready */

/* ---- what a choice must fulfil ------------------------------------------------------------------ */

static bool waits_here(struct machine *m, uint32_t t, uint32_t core, bool yielded)
{ return m->task[t].doing == READY && m->task[t].yielded == yielded && machine_allowed(m, t, core); }

static int nearness(struct machine *m, uint32_t a, uint32_t b)
{
    if (a == b) return 3;
    return m->cores[a].llc == m->cores[b].llc ? 2 : m->cores[a].node == m->cores[b].node;
}

static void check_yielder(struct machine *m, uint32_t core, uint32_t task)
{
    const struct model_task *mine = &m->task[task];
    bool aged = false;      /* coop: a yielder of this core that has waited for a quantum goes first */
    for (uint32_t t = 0; t < MAX_TASKS; t++)
        if (waits_here(m, t, core, true) && m->task[t].home == core
            && m->pol.now - m->task[t].since >= m->pol.quantum) aged = true;
    for (uint32_t t = 0; t < MAX_TASKS; t++) {
        if (t != task && waits_here(m, t, core, true) && (!is_coop || m->task[t].home == mine->home))
            CHECK(m, m->task[t].seq > mine->seq);               /* FIFO among yielders */
        if (waits_here(m, t, core, false)) CHECK(m, is_coop && aged);   /* behind all ready ones */
    }
}

/* Processes that this core may serve, in the order after `from`: the first is the one to serve. */
static uint32_t next_proc(struct machine *m, uint32_t core, uint32_t from)
{
    static bool has[MAX_PROCS];
    memset(has, 0, sizeof has);
    for (uint32_t t = 0; t < MAX_TASKS; t++)
        if (waits_here(m, t, core, false)) has[m->tasks[t].proc] = true;
    for (uint32_t i = 1; i <= MAX_PROCS; i++)
        if (has[(from + i) % MAX_PROCS]) return (from + i) % MAX_PROCS;
    return USF_NONE;
}

static void check_coop(struct machine *m, uint32_t core, uint32_t task)
{
    struct model_core *c = &m->core[core];
    const struct model_task *mine = &m->task[task];
    uint32_t proc = m->tasks[task].proc;
    bool in_turn = c->proc != USF_NONE && m->pol.now - c->since < m->pol.quantum, current_waits = false;
    for (uint32_t t = 0; t < MAX_TASKS; t++) {
        if (!waits_here(m, t, core, false)) continue;
        if (m->tasks[t].proc == c->proc) current_waits = true;
        if (t == task || m->tasks[t].proc != proc) continue;
        if (m->task[t].home == mine->home) {
            if (mine->home != USF_NONE) CHECK(m, m->task[t].seq > mine->seq);     /* FIFO per process and core */
        } else if (m->task[t].home != USF_NONE && mine->home != USF_NONE
                   && machine_allowed(m, t, m->task[t].home)) {
            CHECK(m, nearness(m, m->task[t].home, core) <= nearness(m, mine->home, core));
        }
    }
    if (in_turn && current_waits) {     /* within the quantum: the process served */
        CHECK(m, proc == c->proc);
    } else {                            /* else the round goes on where it was, whoever was served in between */
        CHECK(m, proc == next_proc(m, core, c->round));
        c->round = proc;
    }
}

void check_choice(struct machine *m, uint32_t core, uint32_t task)
{
    if (!is_ordered) return;
    if (m->task[task].yielded) {
        check_yielder(m, core, task);
    } else if (is_coop) {
        check_coop(m, core, task);
    } else {
        for (uint32_t t = 0; t < MAX_TASKS; t++)
            if (t != task && waits_here(m, t, core, false)) CHECK(m, m->task[t].seq > m->task[task].seq);
    }
}

/* ---- random histories --------------------------------------------------------------------------- */

static void random_mask(struct machine *m, uint64_t mask[4])
{
    uint32_t cores = m->pol.nr_cores;
    memset(mask, 0, 32);
    bool all = machine_below(m, 3) != 0;
    for (uint32_t c = 0; c < cores; c++)
        if (all || machine_below(m, 2)) mask[c / 64] |= 1ull << c % 64;
    uint32_t one = machine_below(m, cores);
    mask[one / 64] |= 1ull << one % 64;
}

static uint32_t random_task(struct machine *m, enum doing doing, uint32_t limit)
{
    uint32_t from = machine_below(m, limit);
    for (uint32_t i = 0; i < limit; i++)
        if (m->task[(from + i) % limit].doing == doing) return (from + i) % limit;
    return USF_NONE;
}

static void add_somebody(struct machine *m, uint32_t procs, uint32_t tasks)
{
    uint32_t proc = machine_below(m, procs), task = random_task(m, NOTHING, tasks);
    uint64_t mask[4];
    if (!m->proc[proc]) random_mask(m, mask), machine_add_proc(m, proc, mask);
    if (task == USF_NONE) return;
    machine_add_task(m, task, proc);
    machine_wake(m, task, USF_WHY_NEW);
}

static void scheduling_point(struct machine *m)
{
    uint32_t core = machine_below(m, m->pol.nr_cores), task = m->core[core].task, r = machine_below(m, 10);
    if (task == USF_NONE) return;
    if (r < 5) {
        machine_switch(m, core, BLOCKED, USF_WHY_WAKE);
    } else if (r < 9) {
        if (m->ops.yield(&m->pol, core, task)) machine_switch(m, core, READY, USF_WHY_YIELD);
        else CHECK(m, random_task(m, READY, MAX_TASKS) == USF_NONE || keeps_yielders);
    } else {
        machine_switch(m, core, READY, USF_WHY_PREEMPT);
    }
}

static void drain(struct machine *m)
{
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t c = 0; c < m->pol.nr_cores; c++)
            moved |= machine_switch(m, c, BLOCKED, USF_WHY_WAKE) != USF_NONE;
    }
    CHECK(m, random_task(m, READY, MAX_TASKS) == USF_NONE);     /* no lost task */
}

static void history(const struct usf_policy_ops *ops, uint64_t seed, uint32_t cores, uint32_t nodes, uint32_t llcs,
                    uint32_t procs, uint32_t tasks, uint32_t steps)
{
    static struct machine m;
    machine_init(&m, ops, seed, cores, nodes, llcs);
    for (uint32_t i = 0; i < steps; i++) {
        uint32_t r = machine_below(&m, 100), t;
        m.pol.now += machine_below(&m, 10) ? machine_below(&m, 100000) : machine_below(&m, 30000000);
        if (r < 10) add_somebody(&m, procs, tasks);
        else if (r == 10 && m.proc[t = machine_below(&m, procs)]) machine_remove_proc(&m, t);
        else if (r < 50 && (t = random_task(&m, BLOCKED, tasks)) != USF_NONE)
            machine_wake(&m, t, machine_below(&m, 4) ? USF_WHY_WAKE : USF_WHY_RETURN);
        else scheduling_point(&m);
        if (machine_below(&m, 50) == 0) m.ops.tick(&m.pol);
    }
    drain(&m);
    machine_free(&m);
}

/* ---- coop: what a scheduling paper would promise ------------------------------------------------ */

static void two_processes_take_turns(const struct usf_policy_ops *ops)
{
    static struct machine m;
    machine_init(&m, ops, 1, 1, 1, 1);
    const uint64_t all[4] = {1};
    for (uint32_t p = 0; p < 2; p++) {
        machine_add_proc(&m, p, all);
        for (uint32_t i = 0; i < 3; i++) machine_add_task(&m, p * 3 + i, p), machine_wake(&m, p * 3 + i, USF_WHY_NEW);
    }
    /* every task runs 1 ms and is ready again at once: 20 slices for one process, 20 for the other */
    uint32_t changes = 0, ran[2] = {0};
    for (uint32_t ms = 0, last = 0; ms < 400; ms++) {
        m.pol.now += 1000000;
        uint32_t proc = m.tasks[machine_switch(&m, 0, READY, USF_WHY_RETURN)].proc;
        changes += proc != last;
        last = proc;
        ran[proc]++;
    }
    CHECK(&m, changes >= 18 && changes <= 20);
    CHECK(&m, ran[0] >= 190 && ran[1] >= 190);
    machine_free(&m);
}

static void neglected_yielder_is_taken_over(const struct usf_policy_ops *ops)
{
    static struct machine m;
    machine_init(&m, ops, 1, 2, 1, 1);
    const uint64_t all[4] = {3};
    machine_add_proc(&m, 0, all);
    for (uint32_t i = 0; i < 4; i++) machine_add_task(&m, i, 0), machine_wake(&m, i, USF_WHY_NEW);
    machine_switch(&m, 1, READY, USF_WHY_YIELD);        /* 2 or 3 takes core 1, which computes from now on */
    machine_switch(&m, 1, READY, USF_WHY_YIELD);
    uint32_t stuck = USF_NONE, rounds = 0;
    for (uint32_t t = 0; t < 4; t++)
        if (m.task[t].doing == READY && m.task[t].home == 1) stuck = t;
    CHECK(&m, stuck != USF_NONE);
    while (m.task[stuck].doing != RUNNING && rounds++ < 1000) {     /* core 0 yields every microsecond */
        m.pol.now += 1000;
        if (m.ops.yield(&m.pol, 0, m.core[0].task)) machine_switch(&m, 0, READY, USF_WHY_YIELD);
    }
    CHECK(&m, rounds < 100);
    machine_free(&m);
}

/* A pair wakes each other on core 0, where a yielder waits; core 1 looks at it again and again and puts it back, as one does that does
 * not fetch yielders from afar.  It has waited all the time. */
static void passed_over_yielder_has_waited(const struct usf_policy_ops *ops)
{
    static struct machine m;
    machine_init(&m, ops, 1, 2, 1, 1);
    const uint64_t all[4] = {3};
    const char *why;
    machine_add_proc(&m, 0, all);
    for (uint32_t i = 0; i < 4; i++) machine_add_task(&m, i, 0);
    for (uint32_t i = 0; i < 3; i++) machine_wake(&m, i, USF_WHY_NEW);      /* 1 computes on core 1, 2 is ready */
    machine_switch(&m, 0, READY, USF_WHY_YIELD);
    CHECK(&m, m.core[0].task == 2 && m.task[0].doing == READY && m.task[0].home == 0);
    uint64_t begin = m.pol.now;
    while (m.task[0].doing == READY && m.pol.now < begin + 2 * m.pol.quantum) {
        m.pol.now += 1000;
        uint32_t task = policy_pick(&m.pol, &m.ops, 1, &why);
        CHECK(&m, task == 0);
        policy_enqueue(&m.pol, &m.ops, task, USF_WHY_YIELD);
        machine_queue(&m, m.core[0].task == 2 ? 3 : 2, USF_WHY_WAKE);
        machine_switch(&m, 0, BLOCKED, USF_WHY_WAKE);
    }
    CHECK(&m, m.task[0].doing == RUNNING);
    machine_free(&m);
}

/* Whoever yields gets overdue, while others are always ready: all have their turns. */
static void yielders_starve_nobody(const struct usf_policy_ops *ops, uint32_t yielders)
{
    static struct machine m;
    enum { READY_PROCS = 3 };
    uint32_t ran[READY_PROCS + 1] = {0};
    machine_init(&m, ops, 1, 1, 1, 1);
    const uint64_t all[4] = {1};
    for (uint32_t p = 0; p <= READY_PROCS; p++) machine_add_proc(&m, p, all);
    for (uint32_t i = 0; i < 2 * READY_PROCS + yielders; i++) {
        machine_add_task(&m, i, i < 2 * READY_PROCS ? i / 2 : READY_PROCS);
        machine_wake(&m, i, USF_WHY_NEW);
    }
    for (uint32_t ms = 0; ms < 2000; ms++) {
        m.pol.now += 1000000;
        uint32_t proc = m.tasks[m.core[0].task].proc;
        ran[proc]++;
        machine_switch(&m, 0, READY, proc == READY_PROCS ? USF_WHY_YIELD : USF_WHY_RETURN);
    }
    for (uint32_t p = 0; p <= READY_PROCS; p++) CHECK(&m, ran[p] >= 2000 / 20 / (READY_PROCS + 1));
    machine_free(&m);
}

/* Threads that compute for ever, on two cores: each gets its share, and runs after each other one some time. */
static void computers_share_alike(const struct usf_policy_ops *ops, uint32_t tasks)
{
    static struct machine m;
    enum { TURNS = 4000, MAX = 16 };
    uint32_t ran[MAX] = {0}, after[MAX][MAX] = {{0}}, waited[MAX] = {0};
    machine_init(&m, ops, 1, 2, 1, 1);
    const uint64_t all[4] = {3};
    machine_add_proc(&m, 0, all);
    for (uint32_t i = 0; i < tasks; i++) machine_add_task(&m, i, 0), machine_wake(&m, i, USF_WHY_NEW);
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        m.pol.now += 10000000;
        uint32_t before = m.core[turn % 2].task, next = machine_switch(&m, turn % 2, READY, USF_WHY_PREEMPT);
        after[before][next]++;
        ran[next]++;
        for (uint32_t i = 0; i < tasks; i++) CHECK(&m, m.task[i].doing != READY || ++waited[i] <= 2 * tasks);
        waited[next] = 0;
    }
    for (uint32_t i = 0; i < tasks; i++) {
        CHECK(&m, ran[i] >= TURNS / tasks * 9 / 10);
        for (uint32_t j = 0; j < tasks; j++) CHECK(&m, i == j || after[i][j]);
    }
    machine_free(&m);
}

static const struct usf_policy_ops nothing_of_its_own = {
    .api = USF_POLICY_API, .size = sizeof(struct usf_policy_ops), .name = "defaults",
};

int main(int argc, char **argv)
{
    char why[256];
    const struct usf_policy_ops *ops = NULL;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL) * 1000003u + (uint64_t)getpid();
    alarm(120);
    if (argc < 2) return fprintf(stderr, "usage: test_policy POLICY|OBJECT [SEED]\n"), 2;
    printf("policy %s, seed %lu\n", argv[1], seed);
    if (argv[1][0] == '/') ops = policy_load(argv[1], why, sizeof why);
    else if (!strcmp(argv[1], "defaults")) ops = &nothing_of_its_own;
    else ops = policy_find(argv[1]);
    if (!ops) return printf("FAILED: %s\n", argv[1][0] == '/' ? why : "no such policy"), 1;
    is_coop = !strcmp(ops->name, "coop");
    for (const char *const *n = (const char *const[]){"coop", "equi", "speedup", "batch", "fair", NULL}; *n; n++)
        keeps_yielders |= !strcmp(ops->name, *n);
    is_ordered = is_coop || !strcmp(ops->name, "fifo") || !strcmp(ops->name, "defaults");

    for (uint32_t round = 0; round < 6; round++) {
        history(ops, seed + round, 1, 1, 1, 3, 20, 4000);
        history(ops, seed + round, 2, 1, 1, 2, 40, 4000);
        history(ops, seed + round, 8, 2, 2, 4, 60, 6000);
        history(ops, seed + round, 96, 4, 3, 16, 300, 6000);
        history(ops, seed + round, 256, 8, 4, 1024, 2000, 6000);
    }
    if (is_coop) {
        two_processes_take_turns(ops);
        neglected_yielder_is_taken_over(ops);
        passed_over_yielder_has_waited(ops);
        yielders_starve_nobody(ops, 1);
        yielders_starve_nobody(ops, 50);
        for (uint32_t tasks = 3; tasks <= 12; tasks++) computers_share_alike(ops, tasks);
    }
    printf("ok\n");
    return 0;
}
