/* tests/nosv/window.c - submissions that are gathered.  SPDX-License-Identifier: Apache-2.0 */
#include "nosv_test.h"

/* All tasks are pinned to one CPU, which the submitting task keeps: what of them is ready runs in its next yield without flush. */
static int ran;
static nosv_task_type_t type;
static void run(nosv_task_t task) { (void)task; add(&ran, 1); }
static void finish(nosv_task_t task) { OK(nosv_destroy(task, NOSV_DESTROY_NONE)); }
static void submit(int n) { for (int i = 0; i < n; i++) OK(nosv_submit(pinned(task_of(type, NULL, NOSV_CREATE_NONE)), NOSV_SUBMIT_NONE)); }
static int ready(void) { OK(nosv_yield(NOSV_YIELD_NOFLUSH)); return get(&ran); }
static void begin_with(size_t size) { OK(nosv_flush_submit_window()); ready(); OK(nosv_set_submit_window_size(size)); set(&ran, 0); }

static void outside(void)
{
    CHECK_EQ(nosv_set_submit_window_size(4), NOSV_ERR_OUTSIDE_TASK);
    CHECK_EQ(nosv_flush_submit_window(), NOSV_ERR_OUTSIDE_TASK);
}

static void sizes(void)
{
    CHECK_EQ(nosv_set_submit_window_size(0), NOSV_ERR_INVALID_PARAMETER);
    OK(nosv_flush_submit_window());         /* nothing is in it */
    begin_with(1);                          /* the default: nothing is held back */
    submit(3);
    CHECK_EQ(ready(), 3);
    begin_with(8);
    for (int i = 0; i < 3; i++) {           /* the submission that fills it flushes it */
        set(&ran, 0);
        submit(7);
        CHECK_EQ(ready(), 0);
        submit(1);
        CHECK_EQ(ready(), 8);
    }
    submit(5);
    OK(nosv_flush_submit_window());
    CHECK_EQ(ready(), 13);
    OK(nosv_flush_submit_window());
    CHECK_EQ(ready(), 13);

    begin_with(2);                          /* enlarged before it is full: more is held back */
    for (size_t size = 3; size < 40; size++) {
        submit(1);
        OK(nosv_set_submit_window_size(size));
        CHECK_EQ(ready(), 0);
    }
    OK(nosv_flush_submit_window());
    CHECK_EQ(ready(), 37);

    begin_with(100);                        /* made smaller: the next submission flushes */
    submit(10);
    OK(nosv_set_submit_window_size(5));
    CHECK_EQ(ready(), 0);
    submit(1);
    CHECK_EQ(ready(), 11);
    begin_with(100);
    submit(10);
    OK(nosv_set_submit_window_size(1));
    CHECK_EQ(ready(), 0);
    submit(1);
    CHECK_EQ(ready(), 11);
    begin_with(1000);                       /* a large one */
    submit(999);
    CHECK_EQ(ready(), 0);
    submit(1);
    CHECK_EQ(ready(), 1000);
    begin_with(SIZE_MAX);
    submit(300);
    CHECK_EQ(ready(), 0);
    begin_with(1);
}

/* Each call that may block or yield flushes. */
static void flushes(void)
{
    nosv_task_t self = nosv_self(), joinable = pinned(task_of(type, NULL, NOSV_CREATE_JOINABLE)), plain = pinned(task_of(type, NULL, NOSV_CREATE_NONE));
    for (int way = 0; way < 8; way++) {
        begin_with(10);
        submit(3);
        CHECK_EQ(ready(), 0);
        switch (way) {
        case 0: OK(nosv_yield(NOSV_YIELD_NONE)); break;
        case 1: OK(nosv_waitfor(1000, NULL)); break;
        case 2: OK(nosv_schedpoint(NOSV_SCHEDPOINT_NONE)); break;
        case 3: OK(nosv_submit(self, NOSV_SUBMIT_NONE)); OK(nosv_pause(NOSV_PAUSE_NONE)); break;
        case 4: CHECK_EQ(nosv_wait(joinable, 1000), NOSV_ERR_TIMEOUT); break;
        case 5: CHECK_EQ(nosv_wait(joinable, 0), NOSV_ERR_TIMEOUT); break;
        case 6: OK(nosv_submit(plain, NOSV_SUBMIT_BLOCKING)); break;
        case 7: OK(nosv_flush_submit_window()); break;
        }
        CHECK_EQ(ready(), way == 6 ? 4 : 3);
        OK(nosv_flush_submit_window());     /* the submission of itself in case 3 has gone, too */
    }
    begin_with(1);
    OK(nosv_destroy(joinable, NOSV_DESTROY_NONE));
}

/* What is not held back: the other kinds of submission. */
static void not_held_back(void)
{
    begin_with(10);
    OK(nosv_submit(pinned(task_of(type, NULL, NOSV_CREATE_NONE)), NOSV_SUBMIT_INLINE));
    CHECK_EQ(get(&ran), 1);
    OK(nosv_submit(pinned(task_of(type, NULL, NOSV_CREATE_NONE)), NOSV_SUBMIT_IMMEDIATE));
    CHECK_EQ(ready(), 2);
    submit(1);
    CHECK_EQ(ready(), 2);
    begin_with(1);
}

/* The window is a task's own: another one has size 1; it goes with its task, flushed. */
static int completions;
static void opens(nosv_task_t task) { (void)task; OK(nosv_set_submit_window_size(50)); submit(7); }
static void uses_default(nosv_task_t task) { (void)task; int before = get(&ran); submit(1); CHECK_EQ(ready(), before + 1); }
static void ended(nosv_task_t task) { OK(nosv_destroy(task, NOSV_DESTROY_NONE)); add(&completions, 1); }
static void owners(void)
{
    nosv_task_type_t openers = type_of(opens, NULL, ended), others = type_of(uses_default, NULL, ended);
    for (int i = 0; i < 5; i++) {
        begin_with(1);
        set(&completions, 0);
        OK(nosv_submit(pinned(task_of(openers, NULL, NOSV_CREATE_NONE)), NOSV_SUBMIT_NONE));
        UNTIL(get(&completions) == 1);
        OK(nosv_submit(pinned(task_of(others, NULL, NOSV_CREATE_NONE)), NOSV_SUBMIT_NONE));
        UNTIL(get(&completions) == 2);
        CHECK_EQ(ready(), 8);
        OK(nosv_set_submit_window_size(10));        /* an inline task has its own, too */
        submit(2);
        OK(nosv_submit(pinned(task_of(openers, NULL, NOSV_CREATE_NONE)), NOSV_SUBMIT_INLINE));
        CHECK_EQ(ready(), 15);
        OK(nosv_flush_submit_window());
        CHECK_EQ(ready(), 17);
    }
    begin_with(1);
    OK(nosv_type_destroy(openers, NOSV_TYPE_DESTROY_NONE));
    OK(nosv_type_destroy(others, NOSV_TYPE_DESTROY_NONE));
}

/* Detach flushes. */
static void detach(void)
{
    attach_pinned();
    begin_with(10);
    submit(4);
    OK(nosv_detach(NOSV_DETACH_NONE));
    UNTIL(get(&ran) == 4);
}

/* Held back: submissions of paused tasks, and of parallel ones. */
static nosv_task_t sleeper;
static void pauses(nosv_task_t task) { (void)task; OK(nosv_pause(NOSV_PAUSE_NONE)); add(&ran, 1); }
static void other_kinds(void)
{
    nosv_task_type_t pausers = type_of(pauses, NULL, finish);
    begin_with(1);
    OK(nosv_submit(sleeper = pinned(task_of(pausers, NULL, NOSV_CREATE_NONE)), NOSV_SUBMIT_NONE));
    CHECK_EQ(ready(), 0);
    OK(nosv_set_submit_window_size(10));
    OK(nosv_submit(sleeper, NOSV_SUBMIT_NONE));
    CHECK_EQ(ready(), 0);
    OK(nosv_flush_submit_window());
    CHECK_EQ(ready(), 1);
    nosv_task_t parallel = pinned(task_of(type, NULL, NOSV_CREATE_PARALLEL));
    nosv_set_task_degree(parallel, 5);
    OK(nosv_submit(parallel, NOSV_SUBMIT_NONE));
    OK(nosv_flush_submit_window());
    CHECK_EQ(ready(), 6);
    begin_with(1);
    OK(nosv_type_destroy(pausers, NOSV_TYPE_DESTROY_NONE));
}

/* The window's memory goes with its task: one that is attached, one that ends inline. */
static void inner(nosv_task_t task)
{
    (void)task;
    OK(nosv_set_submit_window_size(10));
    submit(1);
}
static void attach_and_submit(void)
{
    nosv_task_type_t inners = type_of(inner, NULL, finish);
    for (int i = 0; i < 20000; i++) {
        attach_pinned();
        OK(nosv_set_submit_window_size(10));
        submit(1);
        OK(nosv_submit(task_of(inners, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_INLINE));
        OK(nosv_detach(NOSV_DETACH_NONE));
    }
    OK(nosv_type_destroy(inners, NOSV_TYPE_DESTROY_NONE));
}
static void nothing_leaks(void)
{
    attach_and_submit();
    long before = resident();
    for (int i = 0; i < 2; i++) attach_and_submit();
    CHECK(resident() - before < 4096);
}

int main(void)
{
    begin();
    OK(nosv_init());
    type = type_of(run, NULL, finish);
    outside();
    attach_pinned();
    sizes();
    not_held_back();
    owners();
    other_kinds();
    OK(nosv_detach(NOSV_DETACH_NONE));
    nothing_leaks();
    attach_pinned();
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
    type = type_of(run, NULL, NULL);
    flushes();
    OK(nosv_detach(NOSV_DETACH_NONE));
    detach();
    OK(nosv_shutdown());
    return 0;
}
