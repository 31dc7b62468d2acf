/* tests/nosv/waitfor.c - nosv_waitfor.  SPDX-License-Identifier: Apache-2.0 */
#include "nosv_test.h"

#define MS UINT64_C(1000000)
#define MINUTES (600000 * MS)

static int completions, ran;
static void finish(nosv_task_t task) { OK(nosv_destroy(task, NOSV_DESTROY_NONE)); add(&completions, 1); }

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void parallel_body(void)
{
    uint64_t actual = 17;
    CHECK_EQ(nosv_waitfor(MS, NULL), NOSV_ERR_INVALID_OPERATION);
    CHECK_EQ(nosv_waitfor(MS, &actual), NOSV_ERR_INVALID_OPERATION);
    CHECK_EQ(nosv_waitfor(0, NULL), NOSV_ERR_INVALID_OPERATION);
}

/* It waits at least so long, and says for how long. */
static void waits(void)
{
    static const uint64_t targets[] = {0, 1, 1000, 50000, MS, 5 * MS};
    for (unsigned i = 0; i < sizeof(targets) / sizeof(*targets); i++) {
        uint64_t actual = UINT64_MAX, before = now();
        OK(nosv_waitfor(targets[i], &actual));
        uint64_t took = now() - before;
        CHECK(took >= targets[i]);
        CHECK(actual >= targets[i] && actual <= took);
        OK(nosv_waitfor(targets[i], NULL));
    }
}

/* DEADLINE_WAKE ends a wait early; one that comes before it, even before the first execution, is remembered, once. */
static int waiting;
static void long_wait(nosv_task_t task)
{
    uint64_t actual = 0;
    (void)task;
    set(&waiting, 1);
    OK(nosv_waitfor(MINUTES, &actual));
    CHECK(actual < MINUTES);
    add(&ran, 1);
}
static void endless_wait(nosv_task_t task) { (void)task; OK(nosv_waitfor(UINT64_MAX, NULL)); add(&ran, 1); }
static void woken(void)
{
    nosv_task_type_t type = type_of(long_wait, NULL, finish), endless = type_of(endless_wait, NULL, finish);
    set(&completions, 0);
    for (int i = 0; i < 100; i++) {
        nosv_task_t task = task_of(i % 2 ? type : endless, NULL, NOSV_CREATE_NONE);
        if (i % 4 < 2) OK(nosv_submit(task, NOSV_SUBMIT_DEADLINE_WAKE));
        OK(nosv_submit(task, NOSV_SUBMIT_NONE));
        if (i % 4 >= 2) OK(nosv_submit(task, NOSV_SUBMIT_DEADLINE_WAKE));      /* races with the start of the task */
    }
    UNTIL(get(&completions) == 100);
    for (int i = 0; i < 10; i++) {
        nosv_task_t task = task_of(type, NULL, NOSV_CREATE_NONE);
        set(&completions, 0);
        set(&waiting, 0);
        OK(nosv_submit(task, NOSV_SUBMIT_NONE));
        UNTIL(get(&waiting));
        for (int k = 0; k < i; k++) rest();
        CHECK_EQ(get(&completions), 0);
        OK(nosv_submit(task, NOSV_SUBMIT_DEADLINE_WAKE | (i % 2 ? NOSV_SUBMIT_UNLOCKED : 0)));
        UNTIL(get(&completions) == 1);
    }
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
    OK(nosv_type_destroy(endless, NOSV_TYPE_DESTROY_NONE));
}

/* Several before a wait count as one, and it is used up by that wait. */
static void waits_twice(nosv_task_t task)
{
    (void)task;
    OK(nosv_waitfor(MINUTES, NULL));
    add(&ran, 1);
    OK(nosv_waitfor(MINUTES, NULL));
    add(&ran, 1);
}
static void counts_once(void)
{
    nosv_task_type_t type = type_of(waits_twice, NULL, finish);
    nosv_task_t task = task_of(type, NULL, NOSV_CREATE_NONE);
    set(&ran, 0);
    set(&completions, 0);
    for (int i = 0; i < 5; i++) OK(nosv_submit(task, NOSV_SUBMIT_DEADLINE_WAKE));
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    UNTIL(get(&ran) == 1);
    settle();
    CHECK_EQ(get(&ran), 1);
    OK(nosv_submit(task, NOSV_SUBMIT_DEADLINE_WAKE));
    UNTIL(get(&completions) == 1);
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* A submission during a wait does not end it: it is for the next pause. */
static void waits_and_pauses(nosv_task_t task)
{
    (void)task;
    set(&waiting, 1);
    OK(nosv_waitfor(MINUTES, NULL));
    add(&ran, 1);
    OK(nosv_pause(NOSV_PAUSE_NONE));
}
static void submission_is_for_pause(void)
{
    nosv_task_type_t type = type_of(waits_and_pauses, NULL, finish);
    nosv_task_t task = task_of(type, NULL, NOSV_CREATE_NONE);
    set(&ran, 0);
    set(&completions, 0);
    set(&waiting, 0);
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    UNTIL(get(&waiting));
    settle();
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    settle();
    CHECK_EQ(get(&ran), 0);
    OK(nosv_submit(task, NOSV_SUBMIT_DEADLINE_WAKE));
    UNTIL(get(&completions) == 1);
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* On one CPU, waits end in the order of their deadlines: these lie so far apart that a busy machine does not change it. */
static struct record order;
static void sleeps(nosv_task_t task)
{
    int i = (int)(intptr_t)pointer_of(task);
    OK(nosv_waitfor((uint64_t)(1300 - 400 * i) * MS, NULL));
    note(&order, i);
}
static void by_deadline(void)
{
    nosv_task_type_t type = type_of(sleeps, NULL, finish);
    set(&completions, 0);
    clear(&order);
    for (int i = 0; i < 4; i++) OK(nosv_submit(pinned(task_of(type, (void *)(intptr_t)i, NOSV_CREATE_NONE)), NOSV_SUBMIT_NONE));
    UNTIL(get(&completions) == 4);
    for (int i = 0; i < 4; i++) CHECK_EQ(order.what[i], 3 - i);
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* A wait ends though tasks that reach scheduling points hold every CPU. */
static int stop;
static void busy(nosv_task_t task) { (void)task; while (!get(&stop)) OK(nosv_schedpoint(NOSV_SCHEDPOINT_NONE)); }
static void short_wait(nosv_task_t task) { (void)task; for (int i = 0; i < 5; i++) OK(nosv_waitfor(MS, NULL)); set(&stop, 1); }
static void among_busy(void)
{
    nosv_task_type_t hog = type_of(busy, NULL, finish), type = type_of(short_wait, NULL, finish);
    int hogs = 2 * nosv_get_num_cpus();
    set(&stop, 0);
    set(&completions, 0);
    for (int i = 0; i < hogs; i++) OK(nosv_submit(task_of(hog, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    OK(nosv_submit(task_of(type, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    UNTIL(get(&completions) == hogs + 1);
    OK(nosv_type_destroy(hog, NOSV_TYPE_DESTROY_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* Tasks that wait for no time, again and again, keep no other ready task from its turn for ever. */
static int turn_done, nr_turning;
static void turns(nosv_task_t task)
{
    (void)task;
    while (!get(&turn_done)) OK(nosv_waitfor(0, NULL));
    add(&nr_turning, -1);
}
static void ends_turns(nosv_task_t task) { (void)task; OK(nosv_yield(NOSV_YIELD_NONE)); set(&turn_done, 1); }
static void starves_none(void)
{
    nosv_task_type_t turning = type_of(turns, NULL, NULL), ending = type_of(ends_turns, NULL, NULL);
    set(&nr_turning, 200);
    set(&turn_done, 0);
    for (int i = 0; i < 200; i++) OK(nosv_submit(task_of(turning, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    OK(nosv_submit(task_of(ending, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    while (get(&nr_turning)) usleep(100);
}

int main(void)
{
    begin();
    OK(nosv_init());
    CHECK_EQ(nosv_waitfor(MS, NULL), NOSV_ERR_OUTSIDE_TASK);
    in_task(parallel_body, NOSV_CREATE_PARALLEL);
    in_task(waits, NOSV_CREATE_NONE);
    woken();
    counts_once();
    submission_is_for_pause();
    by_deadline();
    among_busy();
    attach();
    waits();
    woken();
    OK(nosv_detach(NOSV_DETACH_NONE));
    starves_none();
    OK(nosv_shutdown());
    return 0;
}
