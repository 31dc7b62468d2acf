/* tests/nosv/destroy.c - tasks that are destroyed at each point of their life.  SPDX-License-Identifier: Apache-2.0 */
#include "nosv_test.h"

static int ran, completions, said;
static void nothing(nosv_task_t task) { (void)task; add(&ran, 1); }
static void completed(nosv_task_t task) { (void)task; add(&completions, 1); }

static void never_submitted(void)
{
    nosv_task_type_t type = type_of(nothing, NULL, completed);
    static const nosv_flags_t flags[] = {NOSV_CREATE_NONE, NOSV_CREATE_PARALLEL, NOSV_CREATE_JOINABLE, NOSV_CREATE_PARALLEL | NOSV_CREATE_JOINABLE};
    for (int i = 0; i < 400; i++) OK(nosv_destroy(task_of(type, NULL, flags[i % 4]), NOSV_DESTROY_NONE));
    CHECK_EQ(get(&ran), 0);
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* The body says that its work is done, and is still executing: another thread destroys the task then. */
static void says(nosv_task_t task)
{
    (void)task;
    add(&said, 1);
    for (volatile int i = 0; i < 1000; i++) {}
    CHECK(nosv_self() == task);
    CHECK(nosv_get_task_metadata(task));
}
static void ends(nosv_task_t task) { CHECK(nosv_self() == task); add(&ran, 1); }
static void while_it_ends(nosv_flags_t flags)
{
    nosv_task_type_t type = type_of(says, ends, completed);
    set(&said, 0);
    set(&ran, 0);
    set(&completions, 0);
    for (int i = 0; i < 500; i++) {
        nosv_task_t task = task_of(type, NULL, flags);
        OK(nosv_submit(task, NOSV_SUBMIT_NONE));
        while (get(&said) != i + 1) if (!nosv_self()) sched_yield(); else OK(nosv_yield(NOSV_YIELD_NONE));
        OK(nosv_destroy(task, NOSV_DESTROY_NONE));
    }
    UNTIL(get(&completions) == 500);    /* each has ended as usual */
    CHECK_EQ(get(&ran), 500);
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* Ready: it runs first.  The type may be destroyed as well. */
static void while_ready(void)
{
    nosv_task_type_t type = type_of(nothing, NULL, completed);
    set(&ran, 0);
    set(&completions, 0);
    for (int i = 0; i < 500; i++) {
        nosv_task_t task = task_of(type, NULL, NOSV_CREATE_NONE);
        OK(nosv_submit(task, NOSV_SUBMIT_NONE));
        OK(nosv_destroy(task, NOSV_DESTROY_NONE));
    }
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
    UNTIL(get(&completions) == 500);
    CHECK_EQ(get(&ran), 500);
}

/* By its own callbacks. */
static void destroys(nosv_task_t task) { OK(nosv_destroy(task, NOSV_DESTROY_NONE)); add(&said, 1); }
static void by_itself(void)
{
    nosv_task_type_t types[] = {type_of(destroys, NULL, completed), type_of(nothing, destroys, completed), type_of(nothing, NULL, destroys)};
    set(&said, 0);
    set(&completions, 0);
    for (int i = 0; i < 600; i++) OK(nosv_submit(task_of(types[i % 3], NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    UNTIL(get(&said) == 600);
    UNTIL(get(&completions) == 400);
    for (int i = 0; i < 3; i++) OK(nosv_type_destroy(types[i], NOSV_TYPE_DESTROY_NONE));
}

/* Paused, and with pending events: its handle is good for what ends it. */
static void pauses(nosv_task_t task) { (void)task; add(&said, 1); OK(nosv_pause(NOSV_PAUSE_NONE)); add(&ran, 1); }
static void leaves_event(nosv_task_t task) { (void)task; OK(nosv_increase_event_counter(2)); add(&said, 1); }
static void before_it_completes(void)
{
    nosv_task_type_t pausers = type_of(pauses, NULL, completed), waiters = type_of(leaves_event, NULL, completed);
    for (int i = 0; i < 100; i++) {
        nosv_task_t a = task_of(pausers, NULL, NOSV_CREATE_NONE), b = task_of(waiters, NULL, NOSV_CREATE_NONE);
        set(&said, 0);
        set(&ran, 0);
        set(&completions, 0);
        OK(nosv_submit(a, NOSV_SUBMIT_NONE));
        OK(nosv_submit(b, NOSV_SUBMIT_NONE));
        UNTIL(get(&said) == 2);
        OK(nosv_destroy(a, NOSV_DESTROY_NONE));
        OK(nosv_destroy(b, NOSV_DESTROY_NONE));
        if (i % 10 == 0) settle();
        CHECK_EQ(get(&completions), 0);
        OK(nosv_decrease_event_counter(b, 1));
        OK(nosv_submit(a, NOSV_SUBMIT_NONE));
        OK(nosv_decrease_event_counter(b, 1));
        UNTIL(get(&completions) == 2);
        CHECK_EQ(get(&ran), 1);
    }
    OK(nosv_type_destroy(pausers, NOSV_TYPE_DESTROY_NONE));
    OK(nosv_type_destroy(waiters, NOSV_TYPE_DESTROY_NONE));
}

/* A parallel task while its executions run. */
static void parallel(void)
{
    nosv_task_type_t type = type_of(nothing, NULL, completed);
    set(&ran, 0);
    set(&completions, 0);
    for (int i = 0; i < 100; i++) {
        nosv_task_t task = task_of(type, NULL, NOSV_CREATE_PARALLEL);
        nosv_set_task_degree(task, 20);
        OK(nosv_submit(task, NOSV_SUBMIT_NONE));
        OK(nosv_destroy(task, NOSV_DESTROY_NONE));
    }
    UNTIL(get(&completions) == 100);
    CHECK_EQ(get(&ran), 2000);
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* After its completed callback, by whoever has seen that. */
static void after_completion(void)
{
    nosv_task_type_t type = type_of(nothing, NULL, completed);
    set(&completions, 0);
    for (int i = 0; i < 500; i++) {
        nosv_task_t task = task_of(type, NULL, NOSV_CREATE_NONE);
        OK(nosv_submit(task, NOSV_SUBMIT_NONE));
        while (get(&completions) != i + 1) if (!nosv_self()) sched_yield(); else OK(nosv_yield(NOSV_YIELD_NONE));
        OK(nosv_destroy(task, NOSV_DESTROY_NONE));
    }
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

static void churn(void)
{
    while_it_ends(NOSV_CREATE_NONE);
    while_ready();
    by_itself();
    before_it_completes();
    parallel();
    after_completion();
}

int main(void)
{
    begin();
    OK(nosv_init());
    never_submitted();
    while_it_ends(NOSV_CREATE_NONE);
    while_it_ends(NOSV_CREATE_JOINABLE);
    churn();
    attach();
    churn();
    OK(nosv_detach(NOSV_DETACH_NONE));
    churn();
    long before = resident();
    for (int i = 0; i < 5; i++) churn();
    CHECK(resident() - before < 2048);
    OK(nosv_shutdown());
    return 0;
}
