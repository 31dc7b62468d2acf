/* tests/nosv/yield.c - nosv_yield and nosv_schedpoint.  SPDX-License-Identifier: Apache-2.0 */
#include "nosv_test.h"

static struct record order;
static int completions, stop;
static void finish(nosv_task_t task) { OK(nosv_destroy(task, NOSV_DESTROY_NONE)); add(&completions, 1); }

static void parallel_body(void)
{
    CHECK_EQ(nosv_yield(NOSV_YIELD_NONE), NOSV_ERR_INVALID_OPERATION);
    CHECK_EQ(nosv_yield(NOSV_YIELD_NOFLUSH), NOSV_ERR_INVALID_OPERATION);
    CHECK_EQ(nosv_schedpoint(NOSV_SCHEDPOINT_NONE), NOSV_ERR_INVALID_OPERATION);
}

static void nothing_else_is_ready(void)
{
    for (int i = 0; i < 1000; i++) {
        OK(nosv_yield(i % 2 ? NOSV_YIELD_NOFLUSH : NOSV_YIELD_NONE));
        OK(nosv_schedpoint(NOSV_SCHEDPOINT_NONE));
    }
}

/* Tasks of one CPU take turns. */
enum { TASKS = 4, ROUNDS = 20 };
static void rounds(nosv_task_t task)
{
    for (int i = 0; i < ROUNDS; i++) {
        note(&order, (int)(intptr_t)pointer_of(task));
        OK(nosv_yield(NOSV_YIELD_NONE));
    }
}
static void round_robin(void)
{
    nosv_task_type_t type = type_of(rounds, NULL, finish);
    attach_pinned();
    clear(&order);
    set(&completions, 0);
    for (intptr_t i = 0; i < TASKS; i++) OK(nosv_submit(pinned(task_of(type, (void *)i, NOSV_CREATE_NONE)), NOSV_SUBMIT_NONE));
    CHECK_EQ(get(&order.n), 0);
    UNTIL(get(&completions) == TASKS);
    CHECK_EQ(get(&order.n), TASKS * ROUNDS);
    for (int i = 0; i < TASKS * ROUNDS; i++) CHECK_EQ(order.what[i], i % TASKS);
    OK(nosv_detach(NOSV_DETACH_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* When a yield returns, what was ready before has run, whatever its priority. */
static void noted(nosv_task_t task) { note(&order, (int)(intptr_t)pointer_of(task)); }
static void all_before(void)
{
    nosv_task_type_t type = type_of(noted, NULL, finish);
    attach_pinned();
    for (int flags = 0; flags < 2; flags++) {
        clear(&order);
        for (intptr_t i = 0; i < 30; i++) {
            nosv_task_t task = pinned(task_of(type, (void *)i, NOSV_CREATE_NONE));
            nosv_set_task_priority(task, (int)(i % 3) - 1);
            OK(nosv_submit(task, NOSV_SUBMIT_NONE));
        }
        CHECK_EQ(get(&order.n), 0);
        OK(nosv_yield(flags ? NOSV_YIELD_NOFLUSH : NOSV_YIELD_NONE));
        CHECK_EQ(get(&order.n), 30);
    }
    OK(nosv_detach(NOSV_DETACH_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* Tasks that become ready after a yield do not hold it up: one that submits itself without end. */
static void nothing(nosv_task_t task) { (void)task; }
static void endless(nosv_task_t task)
{
    if (!get(&stop)) OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    else add(&completions, 1);
}
static void not_held_up(void)
{
    nosv_task_type_t type = type_of(nothing, NULL, endless);
    attach_pinned();
    set(&stop, 0);
    set(&completions, 0);
    nosv_task_t task = pinned(task_of(type, NULL, NOSV_CREATE_NONE));
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    for (int i = 0; i < 500; i++) OK(nosv_yield(NOSV_YIELD_NONE));
    set(&stop, 1);
    UNTIL(get(&completions) == 1);
    OK(nosv_destroy(task, NOSV_DESTROY_NONE));
    OK(nosv_detach(NOSV_DETACH_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* A task that reaches scheduling points gives way in the end; before its quantum is over it goes on. */
static void schedpoints(void)
{
    nosv_task_type_t type = type_of(noted, NULL, finish);
    attach_pinned();
    for (int i = 0; i < 3; i++) {
        clear(&order);
        OK(nosv_submit(pinned(task_of(type, NULL, NOSV_CREATE_NONE)), NOSV_SUBMIT_NONE));
        while (!get(&order.n)) OK(nosv_schedpoint(NOSV_SCHEDPOINT_NONE));
    }
    OK(nosv_detach(NOSV_DETACH_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* A task that spins until another of the same CPU has run needs a yield that lets it run. */
static int flag;
static void sets_flag(nosv_task_t task) { (void)task; set(&flag, 1); }
static void spins(nosv_task_t task) { (void)task; while (!get(&flag)) OK(nosv_yield(NOSV_YIELD_NONE)); }
static void others_run(void)
{
    nosv_task_type_t spinner = type_of(spins, NULL, finish), setter = type_of(sets_flag, NULL, finish);
    set(&flag, 0);
    set(&completions, 0);
    for (int i = 0; i < 8; i++) OK(nosv_submit(pinned(task_of(spinner, NULL, NOSV_CREATE_NONE)), NOSV_SUBMIT_NONE));
    nosv_task_t task = pinned(task_of(setter, NULL, NOSV_CREATE_NONE));
    nosv_set_task_priority(task, -5);           /* the lowest of all */
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    UNTIL(get(&completions) == 9);
    OK(nosv_type_destroy(spinner, NOSV_TYPE_DESTROY_NONE));
    OK(nosv_type_destroy(setter, NOSV_TYPE_DESTROY_NONE));
}

int main(void)
{
    begin();
    OK(nosv_init());
    CHECK_EQ(nosv_yield(NOSV_YIELD_NONE), NOSV_ERR_OUTSIDE_TASK);
    CHECK_EQ(nosv_yield(NOSV_YIELD_NOFLUSH), NOSV_ERR_OUTSIDE_TASK);
    CHECK_EQ(nosv_schedpoint(NOSV_SCHEDPOINT_NONE), NOSV_ERR_OUTSIDE_TASK);
    in_task(parallel_body, NOSV_CREATE_PARALLEL);
    in_task(nothing_else_is_ready, NOSV_CREATE_NONE);
    round_robin();
    all_before();
    not_held_up();
    schedpoints();
    others_run();
    OK(nosv_shutdown());
    return 0;
}
