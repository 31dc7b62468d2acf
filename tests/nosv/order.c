/* tests/nosv/order.c - what comes first when a task reaches a scheduling point; what others take.  SPDX-License-Identifier: Apache-2.0 */
#include "nosv_test.h"

static int at, ran, go, done;
static void runs(nosv_task_t task) { (void)task; add(&ran, 1); }

static void busy_for_ms(int ms)
{
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < ms);
}

/* The quantum counts from the attach and from the last wait, not from the first scheduling point. */
static void quantum(void)
{
    nosv_task_type_t type = type_of(runs, NULL, NULL);
    attach_pinned();
    for (int i = 1; i <= 3; i++) {
        OK(nosv_submit(pinned(task_of(type, NULL, NOSV_CREATE_NONE)), NOSV_SUBMIT_NONE));
        busy_for_ms(40);
        CHECK_EQ(get(&ran), i - 1);
        OK(nosv_schedpoint(NOSV_SCHEDPOINT_NONE));
        CHECK_EQ(get(&ran), i);
    }
    OK(nosv_detach(NOSV_DETACH_NONE));
}

/* ---- waitfor ------------------------------------------------------------------------------------------- */

static struct record order;
static void noted(nosv_task_t task) { note(&order, (int)(intptr_t)pointer_of(task)); }

struct sleeper { uint64_t ns; int tid, name; };
static void sleeps(nosv_task_t task)
{
    struct sleeper *s = pointer_of(task);
    set(&s->tid, thread_id());
    OK(nosv_waitfor(s->ns, NULL));
    note(&order, s->name);
}

/* How often a thread has slept, if it sleeps now in a futex, with a time limit or without one; else -1. */
static long sleeps_of(int tid, bool timed)
{
    char path[64], line[256] = "", state = 0;
    unsigned long nr = 0, limit = 0;
    long n = -1;
    snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
    FILE *f = fopen(path, "r");
    CHECK(f);
    bool in_futex = fgets(line, sizeof(line), f) && sscanf(line, "%lu %*x %*x %*x %lx", &nr, &limit) == 2 && nr == SYS_futex;
    fclose(f);
    if (!in_futex || (limit != 0) != timed) return -1;
    snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
    f = fopen(path, "r");
    CHECK(f);
    while (fgets(line, sizeof(line), f)) {
        sscanf(line, "State: %c", &state);
        sscanf(line, "voluntary_ctxt_switches: %ld", &n);
    }
    fclose(f);
    return state == 'S' ? n : -1;
}

enum { SLEEPERS = 3, STEP = 100000000 };        /* ns between two deadlines, if all begin at once */

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Each is asleep.  False: another program has had the CPU for so long that their deadlines are in another order. */
static bool begin_sleepers(nosv_task_type_t type, struct sleeper *s, long *slept)
{
    uint64_t start = now();
    clear(&order);
    for (int i = 0; i < SLEEPERS; i++) {
        OK(nosv_submit(pinned(task_of(type, &s[i], NOSV_CREATE_NONE)), NOSV_SUBMIT_NONE));
        while (!get(&s[i].tid)) OK(nosv_yield(NOSV_YIELD_NONE));
        while (get(&order.n) == 0 && (slept[i] = sleeps_of(s[i].tid, true)) < 0) sched_yield();
    }
    return now() - start < STEP;
}

/* Strict tasks whose wait is over come before others of their CPU, whatever their priority, in the order of their deadlines; a scheduling
 * point lets them run at once.  When a thread's time is over it wakes, queues its task and sleeps again. */
static void deadlines(void)
{
    enum { N = SLEEPERS };
    static const struct sleeper all[N] = {{3 * STEP, 0, 3}, {STEP, 0, 1}, {2 * STEP, 0, 2}};
    struct sleeper s[N];
    nosv_task_type_t type = type_of(sleeps, NULL, NULL), other = type_of(noted, NULL, NULL);
    attach_pinned();
    long slept[N];
    for (memcpy(s, all, sizeof s); !begin_sleepers(type, s, slept); memcpy(s, all, sizeof s)) UNTIL(get(&order.n) == N);
    for (int i = 0; i < 5; i++) {
        nosv_task_t task = pinned(task_of(other, (void *)(intptr_t)(10 + i), NOSV_CREATE_NONE));
        nosv_set_task_priority(task, 10 - i);
        OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    }
    for (int i = 0; i < N; i++)
        while (sleeps_of(s[i].tid, false) <= slept[i]) sched_yield();
    for (int i = 0; i < N; i++) {       /* each lets one run, or more if the quantum is over */
        OK(nosv_schedpoint(NOSV_SCHEDPOINT_NONE));
        CHECK(get(&order.n) > i);
    }
    UNTIL(get(&order.n) == N + 5);
    for (int i = 0; i < N; i++) CHECK_EQ(order.what[i], i + 1);
    for (int i = 0; i < 5; i++) CHECK_EQ(order.what[N + i], 10 + i);
    OK(nosv_detach(NOSV_DETACH_NONE));
}

/* A time that never comes: the last shutdown does not wait for it. */
static void waits_for_ever(nosv_task_t task) { (void)task; add(&at, 1); OK(nosv_waitfor(UINT64_MAX, NULL)); add(&ran, 100); }
static void suspends_for_ever(nosv_task_t task)
{
    (void)task;
    OK(nosv_set_suspend_mode(NOSV_SUSPEND_MODE_TIMEOUT_SUBMIT, UINT64_MAX));
    if (add(&at, 1) == 2) OK(nosv_suspend());
    else add(&ran, 1);
}
static void for_ever(void)
{
    OK(nosv_submit(task_of(type_of(waits_for_ever, NULL, NULL), NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    UNTIL(get(&at) == 1);
    nosv_task_t task = task_of(type_of(suspends_for_ever, NULL, NULL), NULL, NOSV_CREATE_NONE);
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    UNTIL(get(&at) == 2);
    settle();
    CHECK_EQ(get(&at), 2);
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    UNTIL(get(&ran) == 1);
}

/* ---- what has yielded --------------------------------------------------------------------------------- */

static nosv_task_type_t keeper;
static void until_go(nosv_task_t task) { (void)task; add(&at, 1); while (!get(&go)) sched_yield(); }
static void yields_strict(nosv_task_t task) { (void)task; add(&at, 1); while (get(&go) != -1) sched_yield(); OK(nosv_yield(NOSV_YIELD_NONE)); }
static void keeps(nosv_task_t task) { (void)task; set(&go, 1); while (!get(&done)) sched_yield(); }
static void yields_plain(nosv_task_t task)
{
    nosv_affinity_t place = nosv_affinity_get((uint32_t)nosv_get_current_system_cpu(), NOSV_AFFINITY_LEVEL_CPU, NOSV_AFFINITY_TYPE_PREFERRED);
    if (pointer_of(task)) nosv_set_task_affinity(task, &place);
    OK(nosv_submit(placed(task_of(keeper, NULL, NOSV_CREATE_NONE), 0), NOSV_SUBMIT_NONE));
    OK(nosv_yield(NOSV_YIELD_NONE));
    set(&done, 1);
}

/* On CPU 0 a strict task has yielded, and behind it one that may run anywhere; the task that runs there ends when that one has.  CPU 1
 * gets idle then, and takes it. */
static void behind_a_strict_one(void *preferred)
{
    if (nosv_get_num_cpus() < 2) return;
    nosv_task_type_t other = type_of(runs, NULL, NULL);
    keeper = type_of(keeps, NULL, NULL);
    OK(nosv_submit(placed(task_of(type_of(until_go, NULL, NULL), NULL, NOSV_CREATE_NONE), 1), NOSV_SUBMIT_NONE));
    OK(nosv_submit(placed(task_of(type_of(yields_strict, NULL, NULL), NULL, NOSV_CREATE_NONE), 0), NOSV_SUBMIT_NONE));
    UNTIL(get(&at) == 2);
    OK(nosv_submit(task_of(type_of(yields_plain, NULL, NULL), preferred, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    for (int i = 0; i < 3; i++) OK(nosv_submit(task_of(other, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    set(&go, -1);
    UNTIL(get(&done));
}
static void plain_behind(void) { behind_a_strict_one(NULL); }
static void preferred_behind(void) { behind_a_strict_one(&keeper); }

/* A task that binds itself to another CPU, and yields, goes on there. */
static void moves(nosv_task_t task)
{
    int *cpus = nosv_get_available_cpus();
    for (int i = 0; i < 20; i++) {
        int cpu = i % nosv_get_num_cpus();
        placed(task, cpu);
        OK(nosv_yield(NOSV_YIELD_NONE));
        if (get(&at)) CHECK_EQ(nosv_get_current_logical_cpu(), cpu);
    }
    free(cpus);
    set(&done, 1);
}
static nosv_task_type_t again_type;
static void stays(nosv_task_t task) { (void)task; while (!get(&done)) OK(nosv_yield(NOSV_YIELD_NONE)); add(&ran, 1); }
static void moved(void)
{
    int n = nosv_get_num_cpus();
    again_type = type_of(stays, NULL, NULL);
    for (int i = 0; i < 2 * n; i++) OK(nosv_submit(placed(task_of(again_type, NULL, NOSV_CREATE_NONE), i % n), NOSV_SUBMIT_NONE));
    set(&at, 1);        /* there is always somebody to yield to */
    OK(nosv_submit(task_of(type_of(moves, NULL, NULL), NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    UNTIL(get(&ran) == 2 * n);
}

static const struct test_case cases[] = {
    {"quantum", quantum}, {"deadlines", deadlines}, {"for-ever", for_ever}, {"plain-behind", plain_behind},
    {"preferred-behind", preferred_behind}, {"moved", moved},
};

int main(int argc, char **argv) { return run_cases(cases, sizeof(cases) / sizeof(*cases), true, argc, argv); }
