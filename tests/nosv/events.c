/* tests/nosv/events.c - event counters.  SPDX-License-Identifier: Apache-2.0 */
#include "nosv_test.h"

static int ran, ended, completions;
static pid_t completed_by;
static nosv_task_t self_in_completed;
static void ends(nosv_task_t task) { (void)task; add(&ended, 1); }
static void completed(nosv_task_t task)
{
    (void)task;
    __atomic_store_n(&completed_by, thread_id(), __ATOMIC_SEQ_CST);
    __atomic_store_n(&self_in_completed, nosv_self(), __ATOMIC_SEQ_CST);
    add(&completions, 1);
}

static void outside(void)
{
    CHECK_EQ(nosv_increase_event_counter(1), NOSV_ERR_OUTSIDE_TASK);
    CHECK_EQ(nosv_has_events(), NOSV_ERR_OUTSIDE_TASK);
    CHECK_EQ(nosv_decrease_event_counter(NULL, 1), NOSV_ERR_INVALID_PARAMETER);
    CHECK_EQ(nosv_task_had_events(NULL), NOSV_ERR_INVALID_PARAMETER);
}

static void inside(void)
{
    nosv_task_t self = nosv_self();
    CHECK_EQ(nosv_increase_event_counter(0), NOSV_ERR_INVALID_PARAMETER);
    CHECK_EQ(nosv_has_events(), 0);
    CHECK_EQ(nosv_task_had_events(self), 0);
    CHECK_EQ(nosv_decrease_event_counter(self, 0), NOSV_ERR_INVALID_PARAMETER);
    CHECK_EQ(nosv_decrease_event_counter(self, 1), NOSV_ERR_INVALID_PARAMETER);
    CHECK_EQ(nosv_decrease_event_counter(NULL, 1), NOSV_ERR_INVALID_PARAMETER);
    OK(nosv_increase_event_counter(5));
    CHECK_EQ(nosv_has_events(), 1);
    CHECK_EQ(nosv_task_had_events(self), 1);
    CHECK_EQ(nosv_decrease_event_counter(self, 6), NOSV_ERR_INVALID_PARAMETER);
    CHECK_EQ(nosv_decrease_event_counter(self, UINT64_MAX), NOSV_ERR_INVALID_PARAMETER);
    OK(nosv_decrease_event_counter(self, 2));
    CHECK_EQ(nosv_has_events(), 1);
    OK(nosv_decrease_event_counter(self, 3));
    CHECK_EQ(nosv_has_events(), 0);
    CHECK_EQ(nosv_task_had_events(self), 1);
    OK(nosv_increase_event_counter(1));         /* 0 within the body completes nothing: it may rise again */
    OK(nosv_decrease_event_counter(self, 1));
}

/* Events delay completion; the last decrease completes, on its thread, in no task. */
static void three_events(nosv_task_t task) { (void)task; OK(nosv_increase_event_counter(3)); add(&ran, 1); }
static void from_outside(void)
{
    nosv_task_type_t type = type_of(three_events, ends, completed);
    nosv_task_t task = task_of(type, NULL, NOSV_CREATE_NONE);
    for (int round = 0; round < 20; round++) {      /* the task is submitted again each time */
        set(&ended, 0);
        set(&completions, 0);
        OK(nosv_submit(task, NOSV_SUBMIT_NONE));
        UNTIL(get(&ended) == 1);
        if (round % 4 == 0) settle();
        CHECK_EQ(get(&completions), 0);
        CHECK_EQ(nosv_task_had_events(task), 1);
        OK(nosv_decrease_event_counter(task, 1));
        CHECK_EQ(get(&completions), 0);
        OK(nosv_decrease_event_counter(task, 2));
        UNTIL(get(&completions) == 1);              /* the end callback may still be about to return */
        if (round % 4 == 0) {                       /* it has returned long ago */
            CHECK_EQ(completed_by, thread_id());
            CHECK(self_in_completed == nosv_self());
        }
    }
    OK(nosv_destroy(task, NOSV_DESTROY_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* In the end callback, too. */
static void nothing(nosv_task_t task) { (void)task; }
static void event_at_the_end(nosv_task_t task) { (void)task; OK(nosv_increase_event_counter(1)); add(&ended, 1); }
static void in_end_callback(void)
{
    nosv_task_type_t type = type_of(nothing, event_at_the_end, completed);
    nosv_task_t task = task_of(type, NULL, NOSV_CREATE_NONE);
    set(&ended, 0);
    set(&completions, 0);
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    UNTIL(get(&ended) == 1);
    settle();
    CHECK_EQ(get(&completions), 0);
    OK(nosv_decrease_event_counter(task, 1));
    UNTIL(get(&completions) == 1);
    OK(nosv_destroy(task, NOSV_DESTROY_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* Without events: had_events is 0 after completion, also where the submission before had some. */
static int with_events;
static void sometimes(nosv_task_t task)
{
    if (!get(&with_events)) return;
    OK(nosv_increase_event_counter(1));
    OK(nosv_decrease_event_counter(task, 1));
}
static int had;
static void asks(nosv_task_t task) { set(&had, nosv_task_had_events(task)); add(&completions, 1); }
static void had_events(void)
{
    nosv_task_type_t type = type_of(sometimes, NULL, asks);
    nosv_task_t task = task_of(type, NULL, NOSV_CREATE_NONE);
    CHECK_EQ(nosv_task_had_events(task), 0);
    for (int i = 0; i < 6; i++) {
        set(&with_events, i % 2);
        set(&completions, 0);
        OK(nosv_submit(task, NOSV_SUBMIT_NONE));
        UNTIL(get(&completions) == 1);
        CHECK_EQ(get(&had), i % 2);
        CHECK_EQ(nosv_task_had_events(task), i % 2);
    }
    OK(nosv_destroy(task, NOSV_DESTROY_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* Threads and the end of the body race to be last: completed is called once, and may destroy the task. */
enum { THREADS = 4, MANY = 300 };
static nosv_task_t published[MANY];
static void many_events(nosv_task_t task)
{
    OK(nosv_increase_event_counter(THREADS));
    __atomic_store_n((nosv_task_t *)pointer_of(task), task, __ATOMIC_SEQ_CST);
}
static void destroys(nosv_task_t task) { OK(nosv_destroy(task, NOSV_DESTROY_NONE)); add(&completions, 1); }
static void *decreaser(void *arg)
{
    for (int i = 0; i < MANY; i++) {
        nosv_task_t task;
        while (!(task = __atomic_load_n(&published[i], __ATOMIC_SEQ_CST))) sched_yield();
        OK(nosv_decrease_event_counter(task, 1));
    }
    return arg;
}
static void races(void)
{
    nosv_task_type_t type = type_of(many_events, NULL, destroys);
    pthread_t threads[THREADS];
    set(&completions, 0);
    memset(published, 0, sizeof(published));
    for (int i = 0; i < THREADS; i++) CHECK_EQ(pthread_create(&threads[i], NULL, decreaser, NULL), 0);
    for (int i = 0; i < MANY; i++) OK(nosv_submit(task_of(type, &published[i], NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    UNTIL(get(&completions) == MANY);
    for (int i = 0; i < THREADS; i++) CHECK_EQ(pthread_join(threads[i], NULL), 0);
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* One counter for all executions of a parallel task; a task decreases that of another. */
static nosv_task_t parallel;
static void each_one(nosv_task_t task) { (void)task; OK(nosv_increase_event_counter(1)); add(&ran, 1); }
static void decreases(nosv_task_t task) { (void)task; OK(nosv_decrease_event_counter(parallel, 1)); add(&ended, 1); }
static void in_parallel(void)
{
    nosv_task_type_t type = type_of(each_one, NULL, completed), other = type_of(decreases, NULL, NULL);
    nosv_task_t task = task_of(other, NULL, NOSV_CREATE_NONE);
    parallel = task_of(type, NULL, NOSV_CREATE_PARALLEL);
    nosv_set_task_degree(parallel, 10);
    set(&ran, 0);
    set(&ended, 0);
    set(&completions, 0);
    OK(nosv_submit(parallel, NOSV_SUBMIT_NONE));
    UNTIL(get(&ran) == 10);
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(get(&completions), 0);
        OK(nosv_submit(task, NOSV_SUBMIT_NONE));
        UNTIL(get(&ended) == i + 1);
    }
    UNTIL(get(&completions) == 1);
    OK(nosv_destroy(parallel, NOSV_DESTROY_NONE));
    OK(nosv_destroy(task, NOSV_DESTROY_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
    OK(nosv_type_destroy(other, NOSV_TYPE_DESTROY_NONE));
}

int main(void)
{
    begin();
    OK(nosv_init());
    outside();
    in_task(inside, NOSV_CREATE_NONE);
    from_outside();
    in_end_callback();
    had_events();
    races();
    in_parallel();
    attach();
    inside();
    from_outside();
    in_end_callback();
    OK(nosv_detach(NOSV_DETACH_NONE));
    OK(nosv_shutdown());
    return 0;
}
