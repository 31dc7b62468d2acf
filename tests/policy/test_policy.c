/* tests/policy/test_policy.c - the order that built-in policies promise.  SPDX-License-Identifier: Apache-2.0
 *
 * usage: test_policy POLICY [SEED]      POLICY: a built-in one, `defaults`, or the path of an object
 * The histories of `usf policy check` (src/check), and at each choice in them: the order that the policy promises; for coop
 * also nearness, quantum and the place of yielders. */
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "check/internal.h"

static bool is_coop, is_ordered;

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
    bool aged = false;      /* a yielder (coop: of this core) that has waited for a quantum goes first */
    for (uint32_t t = 0; t < MAX_TASKS; t++)
        if (m->task[t].doing == READY && m->task[t].yielded && (!is_coop || ((m->task[t].home == core || m->task[t].home == USF_NONE) && machine_allowed(m, t, core)))
            && m->pol.now - m->task[t].since >= m->pol.quantum) aged = true;
    for (uint32_t t = 0; t < MAX_TASKS; t++) {
        if (t != task && waits_here(m, t, core, true) && (!is_coop || (mine->home != USF_NONE && m->task[t].home == mine->home)))
            CHECK(m, m->task[t].seq > mine->seq);               /* FIFO among yielders */
        if (waits_here(m, t, core, false)) CHECK(m, aged);  /* behind all ready ones */
    }
}

/* Processes that this core may serve, in the order after `from`: the first is the one to serve. */
static uint32_t next_proc(struct machine *m, uint32_t core, uint32_t from)
{
    static bool has[MAX_GROUPS];
    memset(has, 0, sizeof has);
    for (uint32_t t = 0; t < MAX_TASKS; t++)
        if (waits_here(m, t, core, false)) has[m->tasks[t].group] = true;
    for (uint32_t i = 1; i <= MAX_GROUPS; i++)
        if (has[(from + i) % MAX_GROUPS]) return (from + i) % MAX_GROUPS;
    return USF_NONE;
}

static void check_coop(struct machine *m, uint32_t core, uint32_t task)
{
    struct model_core *c = &m->core[core];
    const struct model_task *mine = &m->task[task];
    uint32_t proc = m->tasks[task].group;
    bool in_turn = c->group != USF_NONE && m->pol.now - c->since < m->pol.quantum, current_waits = false;
    for (uint32_t t = 0; t < MAX_TASKS; t++) {
        if (!waits_here(m, t, core, false)) continue;
        if (m->tasks[t].group == c->group) current_waits = true;
        if (t == task || m->tasks[t].group != proc) continue;
        if (m->task[t].home == mine->home) {
            if (mine->home != USF_NONE) CHECK(m, m->task[t].seq > mine->seq);     /* FIFO per process and core */
        } else if (m->task[t].home != USF_NONE && mine->home != USF_NONE
                   && machine_allowed(m, t, m->task[t].home)) {
            CHECK(m, nearness(m, m->task[t].home, core) <= nearness(m, mine->home, core));
        }
    }
    if (in_turn && current_waits) {     /* within the quantum: the process served */
        CHECK(m, proc == c->group);
    } else {                            /* else the round goes on where it was, whoever was served in between */
        CHECK(m, proc == next_proc(m, core, c->round));
        c->round = proc;
    }
}

static uint16_t queued_at(const struct machine *m, uint32_t task)   /* the first field of its mark */
{ uint16_t core; memcpy(&core, m->tasks[task].data, sizeof core); return core; }

/* coop: the first of the core's yielders has waited for a quantum, and the last choice was not such a one: one goes first, and begins no
 * turn of its process. */
static void note_overdue(struct machine *m, uint32_t core, uint32_t task)
{
    struct model_core *c = &m->core[core];
    uint32_t first = USF_NONE;
    for (uint32_t t = 0; t < MAX_TASKS; t++)
        if (m->task[t].doing == READY && m->task[t].yielded && queued_at(m, t) == core
            && (first == USF_NONE || m->task[t].seq < m->task[first].seq)) first = t;
    bool due = first != USF_NONE && !c->overdue && m->pol.now - m->task[first].since >= m->pol.quantum;
    c->keeps_turn = c->overdue = due && task != USF_NONE && m->task[task].yielded;
}

static void check_choice(struct machine *m, uint32_t core, uint32_t task)
{
    if (!is_ordered) return;
    if (is_coop) note_overdue(m, core, task);
    if (task == USF_NONE) return;
    if (m->task[task].yielded) {
        check_yielder(m, core, task);
    } else if (is_coop) {
        check_coop(m, core, task);
    } else {
        for (uint32_t t = 0; t < MAX_TASKS; t++)
            if (t != task && waits_here(m, t, core, false)) CHECK(m, m->task[t].seq > m->task[task].seq);
    }
}

/* ---- coop: what a scheduling paper would promise ------------------------------------------------ */

static void two_processes_take_turns(const struct usf_policy_ops *ops)
{
    static struct machine m;
    machine_init(&m, ops, 1, 1, 1, 1);
    const uint64_t all[USF_CORE_WORDS] = {1};
    for (uint32_t p = 0; p < 2; p++) {
        machine_add_group(&m, p, all);
        for (uint32_t i = 0; i < 3; i++) machine_add_task(&m, p * 3 + i, p), machine_wake(&m, p * 3 + i, USF_WHY_NEW);
    }
    /* every task runs 1 ms and is ready again at once: 20 slices for one process, 20 for the other */
    uint32_t changes = 0, ran[2] = {0};
    for (uint32_t ms = 0, last = 0; ms < 400; ms++) {
        m.pol.now += 1000000;
        uint32_t proc = m.tasks[machine_switch(&m, 0, READY, USF_WHY_RETURN)].group;
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
    const uint64_t all[USF_CORE_WORDS] = {3};
    machine_add_group(&m, 0, all);
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

/* Three yield to each other on core 0 each microsecond, so that none waits for long, and one on core 1. */
static void one_of_several_yielders_is_taken_over(const struct usf_policy_ops *ops)
{
    static struct machine m;
    machine_init(&m, ops, 1, 2, 1, 1);
    const uint64_t all[USF_CORE_WORDS] = {3};
    const char *why = 0;
    machine_add_group(&m, 0, all);
    for (uint32_t i = 0; i < 4; i++) machine_add_task(&m, i, 0), machine_wake(&m, i, USF_WHY_NEW);
    machine_switch(&m, 0, READY, USF_WHY_YIELD);
    machine_switch(&m, 0, READY, USF_WHY_YIELD);
    uint32_t alone = m.core[1].task, task = USF_NONE, rounds = 0;
    while (task == USF_NONE && rounds++ < 1000) {
        m.pol.now += 1000;
        machine_switch(&m, 0, READY, USF_WHY_YIELD);
        if (m.ops.yield(&m.pol, 1, alone)) task = policy_pick(&m.pol, &m.ops, 1, &why);
    }
    CHECK(&m, !why && rounds < 100 && task != alone && m.task[task].doing == READY);
    policy_enqueue(&m.pol, &m.ops, task, USF_WHY_YIELD);
    machine_free(&m);
}

/* A pair wakes each other on core 0, where a yielder waits; core 1 looks at it again and again and puts it back, as one does that does
 * not fetch yielders from afar.  It has waited all the time. */
static void passed_over_yielder_has_waited(const struct usf_policy_ops *ops)
{
    static struct machine m;
    machine_init(&m, ops, 1, 2, 1, 1);
    const uint64_t all[USF_CORE_WORDS] = {3};
    const char *why;
    machine_add_group(&m, 0, all);
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
    enum { READY_GROUPS = 3 };
    uint32_t ran[READY_GROUPS + 1] = {0};
    machine_init(&m, ops, 1, 1, 1, 1);
    const uint64_t all[USF_CORE_WORDS] = {1};
    for (uint32_t p = 0; p <= READY_GROUPS; p++) machine_add_group(&m, p, all);
    for (uint32_t i = 0; i < 2 * READY_GROUPS + yielders; i++) {
        machine_add_task(&m, i, i < 2 * READY_GROUPS ? i / 2 : READY_GROUPS);
        machine_wake(&m, i, USF_WHY_NEW);
    }
    for (uint32_t ms = 0; ms < 2000; ms++) {
        m.pol.now += 1000000;
        uint32_t proc = m.tasks[m.core[0].task].group;
        ran[proc]++;
        machine_switch(&m, 0, READY, proc == READY_GROUPS ? USF_WHY_YIELD : USF_WHY_RETURN);
    }
    for (uint32_t p = 0; p <= READY_GROUPS; p++) CHECK(&m, ran[p] >= 2000 / 20 / (READY_GROUPS + 1));
    machine_free(&m);
}

/* Threads that compute for ever, on two cores: each gets its share, and runs after each other one some time. */
static void computers_share_alike(const struct usf_policy_ops *ops, uint32_t tasks)
{
    static struct machine m;
    enum { TURNS = 4000, MAX = 16 };
    uint32_t ran[MAX] = {0}, after[MAX][MAX] = {{0}}, waited[MAX] = {0};
    machine_init(&m, ops, 1, 2, 1, 1);
    const uint64_t all[USF_CORE_WORDS] = {3};
    machine_add_group(&m, 0, all);
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

/* ---- batch ---------------------------------------------------------------------------------------- */

/* Who was to keep its core has worked for longer than that.  It is asked again then, as no other core has one of its program any more: that
 * is no yield of its own, and where it waits next, it keeps the core for as long as at any wait. */
static void keeps_its_core_after_work(const struct usf_policy_ops *ops)
{
    static struct machine m;
    machine_init(&m, ops, 1, 2, 1, 1);
    const uint64_t all[USF_CORE_WORDS] = {3};
    for (uint32_t p = 0; p < 2; p++) {
        machine_add_group(&m, p, all);
        for (uint32_t i = 2 * p; i < 2 * p + 2; i++) machine_add_task(&m, i, p), machine_wake(&m, i, USF_WHY_NEW);
    }
    m.pol.now += 1000000;
    CHECK(&m, !machine_yields(&m, 0) && m.cores[0].keeps_until > m.pol.now);
    m.pol.now += 10 * m.pol.quantum;
    uint32_t next = machine_switch(&m, 1, BLOCKED, USF_WHY_WAKE);
    CHECK(&m, m.tasks[next].group == 1);
    m.pol.now += USF_ROW_NS / 2;
    CHECK(&m, !machine_yields(&m, 0));
    machine_free(&m);
}

int main(int argc, char **argv)
{
    char why[256];
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL) * 1000003u + (uint64_t)getpid();
    alarm(120);
    if (argc < 2) return fprintf(stderr, "usage: test_policy POLICY|OBJECT [SEED]\n"), 2;
    printf("policy %s, seed %lu\n", argv[1], seed);
    const struct usf_policy_ops *ops = check_find(argv[1], why, sizeof why);
    if (!ops) return printf("FAILED: %s\n", why), 1;
    is_coop = !strcmp(ops->name, "coop");
    is_ordered = is_coop || !strcmp(ops->name, "fifo") || !strcmp(ops->name, "defaults");

    for (const struct check_history *h = check_histories; h->name; h++)
        for (uint32_t round = 0; round < 3; round++) check_history(h, ops, seed + round, check_choice);
    if (is_coop) {
        two_processes_take_turns(ops);
        neglected_yielder_is_taken_over(ops);
        one_of_several_yielders_is_taken_over(ops);
        passed_over_yielder_has_waited(ops);
        yielders_starve_nobody(ops, 1);
        yielders_starve_nobody(ops, 50);
        for (uint32_t tasks = 3; tasks <= 12; tasks++) computers_share_alike(ops, tasks);
    }
    if (!strcmp(ops->name, "batch")) keeps_its_core_after_work(ops);
    printf("ok\n");
    return 0;
}
