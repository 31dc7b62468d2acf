/* tests/nosv/pause.c - nosv_pause.  SPDX-License-Identifier: Apache-2.0 */
#include "nosv_test.h"

static int completions, ran;
static void finish(nosv_task_t task) { OK(nosv_destroy(task, NOSV_DESTROY_NONE)); add(&completions, 1); }

static void parallel_body(void) { CHECK_EQ(nosv_pause(NOSV_PAUSE_NONE), NOSV_ERR_INVALID_OPERATION); }

static void flags(void)
{
    CHECK_EQ(nosv_pause(UINT64_C(1)), NOSV_ERR_INVALID_PARAMETER);
    CHECK_EQ(nosv_yield(UINT64_C(2)), NOSV_ERR_INVALID_PARAMETER);
    CHECK_EQ(nosv_schedpoint(UINT64_C(1)), NOSV_ERR_INVALID_PARAMETER);
}

/* n submissions ahead let n pauses pass; then one more is needed. */
static void pauses(nosv_task_t task)
{
    intptr_t n = (intptr_t)pointer_of(task);
    for (intptr_t i = 0; i < n; i++) OK(nosv_pause(NOSV_PAUSE_NONE));
    add(&ran, 1);
    OK(nosv_pause(NOSV_PAUSE_NONE));
    add(&ran, 1);
}
static void remembered(void)
{
    nosv_task_type_t type = type_of(pauses, NULL, finish);
    for (intptr_t n = 0; n <= 32; n = n * 2 + !n) {
        nosv_task_t task = task_of(type, (void *)n, NOSV_CREATE_NONE);
        set(&ran, 0);
        set(&completions, 0);
        for (intptr_t i = 0; i < n + 1; i++) OK(nosv_submit(task, NOSV_SUBMIT_NONE));      /* the first one starts it */
        UNTIL(get(&ran) == 1);
        settle();
        CHECK_EQ(get(&ran), 1);
        CHECK_EQ(get(&completions), 0);
        OK(nosv_submit(task, NOSV_SUBMIT_NONE));
        UNTIL(get(&completions) == 1);
        CHECK_EQ(get(&ran), 2);
    }
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* A task that waits for each submission has its thread, with its thread-local storage and stack. */
static __thread int mine;
static int turn;
static void keeps_thread(nosv_task_t task)
{
    pid_t thread = thread_id();
    int on_stack = 4711;
    mine = 17;
    for (int i = 0; i < 100; i++) {
        set(&turn, 1);
        OK(nosv_pause(NOSV_PAUSE_NONE));
        CHECK_EQ(thread_id(), thread);
        CHECK_EQ(mine, 17);
        CHECK_EQ(on_stack, 4711);
        CHECK(nosv_self() == task);
    }
    mine = 0;
}
static void thread_stays(void)
{
    nosv_task_type_t type = type_of(keeps_thread, NULL, finish);
    nosv_task_t task = task_of(type, NULL, NOSV_CREATE_NONE);
    set(&completions, 0);
    set(&turn, 0);
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    for (int i = 0; i < 100; i++) {
        UNTIL(get(&turn));
        set(&turn, 0);
        OK(nosv_submit(task, i % 2 ? NOSV_SUBMIT_UNLOCKED : NOSV_SUBMIT_NONE));
    }
    UNTIL(get(&completions) == 1);
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* Two tasks resume each other in turn. */
struct pair { nosv_task_t a, b; int rounds, balance; };
static void ping(nosv_task_t task)
{
    struct pair *pair = (struct pair *)pointer_of(task);
    nosv_task_t other = task == pair->a ? pair->b : pair->a;
    for (int i = 0; i < pair->rounds; i++) {
        if (task == pair->b) OK(nosv_pause(NOSV_PAUSE_NONE));
        CHECK_EQ(add(&pair->balance, 1), 1);    /* one of them at a time */
        add(&pair->balance, -1);
        OK(nosv_submit(other, NOSV_SUBMIT_NONE));
        if (task == pair->a) OK(nosv_pause(NOSV_PAUSE_NONE));
    }
}
static void ping_pong(void)
{
    nosv_task_type_t type = type_of(ping, NULL, finish);
    for (int strict = 0; strict < 2; strict++) {
        struct pair pair = {NULL, NULL, 1000, 0};
        pair.a = task_of(type, &pair, NOSV_CREATE_NONE);
        pair.b = task_of(type, &pair, NOSV_CREATE_NONE);
        if (strict) pinned(pair.a), pinned(pair.b);
        set(&completions, 0);
        OK(nosv_submit(pair.b, NOSV_SUBMIT_NONE));
        OK(nosv_submit(pair.a, NOSV_SUBMIT_NONE));
        UNTIL(get(&completions) == 2);
    }
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* Many are paused at once; cores are free for others meanwhile. */
enum { MANY = 300 };
static void once(nosv_task_t task) { (void)task; add(&ran, 1); OK(nosv_pause(NOSV_PAUSE_NONE)); }
static void many(void)
{
    static nosv_task_t tasks[MANY];
    nosv_task_type_t type = type_of(once, NULL, finish);
    set(&ran, 0);
    set(&completions, 0);
    for (int i = 0; i < MANY; i++) OK(nosv_submit(tasks[i] = task_of(type, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    UNTIL(get(&ran) == MANY);
    CHECK_EQ(get(&completions), 0);
    for (int i = 0; i < MANY; i++) OK(nosv_submit(tasks[i], NOSV_SUBMIT_NONE));
    UNTIL(get(&completions) == MANY);
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* An attached thread pauses as any task does. */
static nosv_task_t main_task;
static void wakes_main(nosv_task_t task) { (void)task; add(&ran, 1); OK(nosv_submit(main_task, NOSV_SUBMIT_NONE)); }
static void attached(void)
{
    nosv_task_type_t type = type_of(wakes_main, NULL, finish);
    main_task = attach();
    set(&ran, 0);
    for (int i = 0; i < 200; i++) {
        OK(nosv_submit(task_of(type, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
        OK(nosv_pause(NOSV_PAUSE_NONE));
        CHECK_EQ(get(&ran), i + 1);
    }
    OK(nosv_detach(NOSV_DETACH_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

int main(void)
{
    begin();
    OK(nosv_init());
    CHECK_EQ(nosv_pause(NOSV_PAUSE_NONE), NOSV_ERR_OUTSIDE_TASK);
    in_task(parallel_body, NOSV_CREATE_PARALLEL);
    in_task(flags, NOSV_CREATE_NONE);
    remembered();
    thread_stays();
    ping_pong();
    many();
    attached();
    attach();
    remembered();
    thread_stays();
    OK(nosv_detach(NOSV_DETACH_NONE));
    OK(nosv_shutdown());
    return 0;
}
