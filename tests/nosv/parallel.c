/* tests/nosv/parallel.c - parallel tasks: degree, execution ids, cancel.  SPDX-License-Identifier: Apache-2.0 */
#include "nosv_test.h"

enum { MOST = 20000 };
static int ran, ended, completions, seen[MOST];
static void body(nosv_task_t task)
{
    uint32_t id = nosv_get_execution_id();
    CHECK(nosv_self() == task);
    CHECK(id < (uint32_t)nosv_get_task_degree(task));
    CHECK_EQ(add(&seen[id], 1), 1);
    add(&ran, 1);
}
static void ends(nosv_task_t task) { (void)task; add(&ended, 1); }
static void completed(nosv_task_t task) { (void)task; add(&completions, 1); }
static void finish(nosv_task_t task) { OK(nosv_destroy(task, NOSV_DESTROY_NONE)); add(&completions, 1); }

/* What a parallel task may not do, and what it may. */
static void context(void)
{
    CHECK_EQ(nosv_pause(NOSV_PAUSE_NONE), NOSV_ERR_INVALID_OPERATION);
    CHECK_EQ(nosv_waitfor(1000, NULL), NOSV_ERR_INVALID_OPERATION);
    CHECK_EQ(nosv_yield(NOSV_YIELD_NONE), NOSV_ERR_INVALID_OPERATION);
    CHECK_EQ(nosv_schedpoint(NOSV_SCHEDPOINT_NONE), NOSV_ERR_INVALID_OPERATION);
    CHECK_EQ(nosv_suspend(), NOSV_ERR_INVALID_OPERATION);
    CHECK_EQ(nosv_set_suspend_mode(NOSV_SUSPEND_MODE_SUBMIT, 0), NOSV_ERR_INVALID_OPERATION);
    CHECK(nosv_get_current_logical_cpu() >= 0);
    CHECK_EQ(nosv_has_events(), 0);
    OK(nosv_set_submit_window_size(1));
    OK(nosv_flush_submit_window());
}

static void degrees(void)
{
    static const int32_t degree[] = {1, 2, 3, 7, 64, 1000, MOST};
    nosv_task_type_t type = type_of(body, ends, completed);
    nosv_task_t task = task_of(type, NULL, NOSV_CREATE_PARALLEL);
    for (unsigned i = 0; i < 2 * sizeof(degree) / sizeof(*degree); i++) {       /* the same task, again and again */
        int32_t n = degree[i % 7];
        nosv_set_task_degree(task, n);
        CHECK_EQ(nosv_get_task_degree(task), n);
        set(&ran, 0);
        set(&ended, 0);
        set(&completions, 0);
        memset(seen, 0, sizeof(seen));
        OK(nosv_submit(task, NOSV_SUBMIT_NONE));
        UNTIL(get(&completions));
        CHECK_EQ(get(&ran), n);
        CHECK_EQ(get(&ended), n);
        for (int k = 0; k < MOST; k++) CHECK_EQ(seen[k], k < n);
        CHECK_EQ(get(&completions), 1);
    }
    OK(nosv_destroy(task, NOSV_DESTROY_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* Executions run at once where CPUs are free: each waits for the others. */
static int arrived;
static void meets(nosv_task_t task)
{
    add(&arrived, 1);
    while (get(&arrived) < nosv_get_task_degree(task)) sched_yield();
}
static void at_once(void)
{
    nosv_task_type_t type = type_of(meets, NULL, finish);
    for (int i = 0; i < 20; i++) {
        nosv_task_t task = task_of(type, NULL, NOSV_CREATE_PARALLEL);
        nosv_set_task_degree(task, nosv_get_num_cpus());
        set(&arrived, 0);
        set(&completions, 0);
        OK(nosv_submit(task, NOSV_SUBMIT_NONE));
        UNTIL(get(&completions) == 1);
    }
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* Cancel: executions that have not begun are dropped; a second cancel of this submission is refused. */
static int refused, dropped_after;
static void cancels(nosv_task_t task)
{
    (void)task;
    add(&ran, 1);
    int r = nosv_cancel(NOSV_CANCEL_NONE);
    CHECK(r == NOSV_SUCCESS || r == NOSV_ERR_INVALID_OPERATION);
    if (r == NOSV_SUCCESS) {
        add(&dropped_after, 1);
        CHECK_EQ(nosv_cancel(NOSV_CANCEL_NONE), NOSV_ERR_INVALID_OPERATION);
    } else {
        add(&refused, 1);
    }
}
static void cancelled(void)
{
    nosv_task_type_t type = type_of(cancels, ends, completed);
    nosv_task_t task = task_of(type, NULL, NOSV_CREATE_PARALLEL);
    for (int i = 0; i < 200; i++) {
        int32_t degree = i % 2 ? 2 * nosv_get_num_cpus() + 1 : 5000;
        nosv_set_task_degree(task, degree);
        set(&ran, 0);
        set(&ended, 0);
        set(&completions, 0);
        set(&refused, 0);
        set(&dropped_after, 0);
        OK(nosv_submit(task, NOSV_SUBMIT_NONE));
        UNTIL(get(&completions) == 1);
        CHECK(get(&ran) < degree);
        CHECK_EQ(get(&ended), get(&ran));
        CHECK_EQ(get(&dropped_after), 1);
        CHECK_EQ(get(&refused), get(&ran) - 1);
    }
    OK(nosv_destroy(task, NOSV_DESTROY_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}
static void not_parallel(void) { CHECK_EQ(nosv_cancel(NOSV_CANCEL_NONE), NOSV_ERR_INVALID_OPERATION); }

/* Each way to submit one from a task; destroyed in its completed callback; beside tasks that yield. */
static void count(nosv_task_t task) { (void)task; add(&ran, 1); }
static int stop;
static void yields(nosv_task_t task) { (void)task; while (!get(&stop)) OK(nosv_yield(NOSV_YIELD_NONE)); }
static void submitted_by_task(void)
{
    static const nosv_flags_t flags[] = {NOSV_SUBMIT_NONE, NOSV_SUBMIT_UNLOCKED, NOSV_SUBMIT_BLOCKING, NOSV_SUBMIT_IMMEDIATE,
        NOSV_SUBMIT_IMMEDIATE | NOSV_SUBMIT_UNLOCKED};
    nosv_task_type_t type = type_of(count, NULL, finish), yielders = type_of(yields, NULL, finish);
    for (int i = 0; i < 50; i++) {
        nosv_task_t task = task_of(type, NULL, NOSV_CREATE_PARALLEL);
        nosv_set_task_degree(task, 10);
        nosv_set_task_priority(task, i % 3 - 1);
        if (i % 4 == 3) pinned(task);
        set(&ran, 0);
        set(&completions, 0);
        OK(nosv_submit(task, flags[i % 5]));
        if (flags[i % 5] & NOSV_SUBMIT_BLOCKING) CHECK_EQ(get(&completions), 1);
        UNTIL(get(&completions) == 1);
        CHECK_EQ(get(&ran), 10);
    }
    set(&stop, 0);
    set(&ran, 0);
    set(&completions, 0);
    for (int i = 0; i < 4 * nosv_get_num_cpus(); i++) OK(nosv_submit(task_of(yielders, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    nosv_task_t task = task_of(type, NULL, NOSV_CREATE_PARALLEL);
    nosv_set_task_degree(task, 100);
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    UNTIL(get(&ran) == 100);
    set(&stop, 1);
    UNTIL(get(&completions) == 4 * nosv_get_num_cpus() + 1);
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
    OK(nosv_type_destroy(yielders, NOSV_TYPE_DESTROY_NONE));
}

int main(void)
{
    begin();
    OK(nosv_init());
    CHECK_EQ(nosv_cancel(NOSV_CANCEL_NONE), NOSV_ERR_OUTSIDE_TASK);
    CHECK_EQ(nosv_get_execution_id(), (uint32_t)NOSV_ERR_OUTSIDE_TASK);
    in_task(context, NOSV_CREATE_PARALLEL);
    in_task(not_parallel, NOSV_CREATE_NONE);
    degrees();
    at_once();
    cancelled();
    in_task(submitted_by_task, NOSV_CREATE_NONE);
    attach();
    degrees();
    not_parallel();
    OK(nosv_detach(NOSV_DETACH_NONE));
    OK(nosv_shutdown());
    return 0;
}
