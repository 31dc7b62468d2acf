/* tests/nosv/suspend.c - nosv_suspend and its modes.  SPDX-License-Identifier: Apache-2.0 */
#include "nosv_test.h"

static int ran, ended, completions;
static void ends(nosv_task_t task) { (void)task; add(&ended, 1); }
static void completed(nosv_task_t task) { (void)task; add(&completions, 1); }
static void finish(nosv_task_t task) { OK(nosv_destroy(task, NOSV_DESTROY_NONE)); add(&completions, 1); }

static const nosv_suspend_mode_t modes[] = {NOSV_SUSPEND_MODE_NONE, NOSV_SUSPEND_MODE_SUBMIT, NOSV_SUSPEND_MODE_TIMEOUT_SUBMIT, NOSV_SUSPEND_MODE_EVENT_SUBMIT};

static void parallel_body(void)
{
    CHECK_EQ(nosv_suspend(), NOSV_ERR_INVALID_OPERATION);
    for (int i = 0; i < 4; i++) CHECK_EQ(nosv_set_suspend_mode(modes[i], 0), NOSV_ERR_INVALID_OPERATION);
}
static void inside(void)
{
    CHECK_EQ(nosv_set_suspend_mode((nosv_suspend_mode_t)4, 0), NOSV_ERR_INVALID_PARAMETER);
    CHECK_EQ(nosv_set_suspend_mode((nosv_suspend_mode_t)77, 0), NOSV_ERR_INVALID_PARAMETER);
    CHECK_EQ(nosv_set_suspend_mode(NOSV_SUSPEND_MODE_SUBMIT, 2), NOSV_ERR_INVALID_PARAMETER);
    for (int i = 0; i < 4; i++) OK(nosv_set_suspend_mode(modes[i], 1));
    OK(nosv_set_suspend_mode(NOSV_SUSPEND_MODE_TIMEOUT_SUBMIT, UINT64_MAX));
}

/* The body runs `pointer` times: it suspends itself in all executions but the last. */
struct plan { nosv_suspend_mode_t mode; uint64_t args; int executions, set_once, runs; nosv_task_t task; };
static void body(nosv_task_t task)
{
    struct plan *plan = (struct plan *)pointer_of(task);
    int run = add(&plan->runs, 1);
    add(&ran, 1);
    if (run >= plan->executions) return;
    if (!plan->set_once || run == 1) OK(nosv_set_suspend_mode(plan->mode, plan->args));
    OK(nosv_suspend());
}
static nosv_task_type_t type;

static void start(struct plan *plan)
{
    set(&ran, 0);
    set(&ended, 0);
    set(&completions, 0);
    plan->runs = 0;
    plan->task = task_of(type, plan, NOSV_CREATE_NONE);
    OK(nosv_submit(plan->task, NOSV_SUBMIT_NONE));
}
static void expect(struct plan *plan)
{
    UNTIL(get(&completions) == 1);
    CHECK_EQ(get(&ran), plan->executions);
    CHECK_EQ(get(&ended), 1);           /* no end callback for the executions that were suspended */
    OK(nosv_destroy(plan->task, NOSV_DESTROY_NONE));
}

static void by_themselves(void)
{
    struct plan plans[] = {
        {NOSV_SUSPEND_MODE_SUBMIT, 0, 5, 0, 0, NULL},
        {NOSV_SUSPEND_MODE_SUBMIT, 1, 5, 0, 0, NULL},
        {NOSV_SUSPEND_MODE_SUBMIT, 0, 5, 1, 0, NULL},           /* the mode holds until it is set again */
        {NOSV_SUSPEND_MODE_TIMEOUT_SUBMIT, 1000, 5, 0, 0, NULL},
        {NOSV_SUSPEND_MODE_TIMEOUT_SUBMIT, 0, 5, 1, 0, NULL},
        {NOSV_SUSPEND_MODE_TIMEOUT_SUBMIT, 3000000, 3, 1, 0, NULL},
        {NOSV_SUSPEND_MODE_EVENT_SUBMIT, 0, 5, 0, 0, NULL},     /* without events: at once */
        {NOSV_SUSPEND_MODE_EVENT_SUBMIT, 0, 5, 1, 0, NULL},
    };
    for (unsigned i = 0; i < sizeof(plans) / sizeof(*plans); i++) {
        start(&plans[i]);
        expect(&plans[i]);
    }
}

/* NONE: nosv_submit alone resumes it, and it may be destroyed instead. */
static void by_submission(void)
{
    struct plan plan = {NOSV_SUSPEND_MODE_NONE, 0, 4, 0, 0, NULL};
    start(&plan);
    for (int i = 1; i < plan.executions; i++) {
        UNTIL(get(&ran) == i);
        settle();           /* without: the submission may come before the body has returned */
        CHECK_EQ(get(&ran), i);
        CHECK_EQ(get(&completions), 0);
        OK(nosv_submit(plan.task, NOSV_SUBMIT_NONE));
    }
    expect(&plan);
}
static void remembered(void)
{
    for (int i = 0; i < 200; i++) {
        struct plan plan = {NOSV_SUSPEND_MODE_NONE, 0, 2, 0, 0, NULL};
        start(&plan);
        UNTIL(get(&ran) >= 1);
        OK(nosv_submit(plan.task, NOSV_SUBMIT_NONE));
        expect(&plan);
    }
}
static void destroyed(void)
{
    for (int i = 0; i < 200; i++) {
        struct plan plan = {NOSV_SUSPEND_MODE_NONE, 0, 2, 0, 0, NULL};
        start(&plan);
        UNTIL(get(&ran) == 1);
        if (i % 10 == 0) settle();
        OK(nosv_destroy(plan.task, NOSV_DESTROY_NONE));
        if (i % 10 < 2) settle();
        CHECK_EQ(get(&ran), 1);
        CHECK_EQ(get(&ended), 0);
        CHECK_EQ(get(&completions), 0);
    }
}

/* EVENT_SUBMIT with an event: resumed by the decrease to 0. */
static void with_event(nosv_task_t task)
{
    struct plan *plan = (struct plan *)pointer_of(task);
    if (add(&plan->runs, 1) == 1) {
        OK(nosv_increase_event_counter(2));
        OK(nosv_set_suspend_mode(NOSV_SUSPEND_MODE_EVENT_SUBMIT, 0));
        OK(nosv_suspend());
    } else {
        CHECK_EQ(nosv_has_events(), 0);
    }
    add(&ran, 1);
}
static void by_event(void)
{
    nosv_task_type_t events = type_of(with_event, ends, completed);
    for (int i = 0; i < 100; i++) {
        struct plan plan = {NOSV_SUSPEND_MODE_EVENT_SUBMIT, 0, 2, 0, 0, task_of(events, &plan, NOSV_CREATE_NONE)};
        set(&ran, 0);
        set(&ended, 0);
        set(&completions, 0);
        OK(nosv_submit(plan.task, NOSV_SUBMIT_NONE));
        UNTIL(get(&ran) == 1);
        if (i % 10 == 0) settle();
        CHECK_EQ(get(&ran), 1);
        OK(nosv_decrease_event_counter(plan.task, 1));
        if (i % 10 == 0) settle();
        CHECK_EQ(get(&ran), 1);
        OK(nosv_decrease_event_counter(plan.task, 1));
        expect(&plan);
    }
    OK(nosv_type_destroy(events, NOSV_TYPE_DESTROY_NONE));
}

/* Others run while a task is suspended: it has given its worker back. */
static int flag;
static void until_flag(nosv_task_t task) { (void)task; if (!get(&flag)) { OK(nosv_set_suspend_mode(NOSV_SUSPEND_MODE_SUBMIT, 1)); OK(nosv_suspend()); } }
static void sets_flag(nosv_task_t task) { (void)task; set(&flag, 1); }
static void gives_way(void)
{
    nosv_task_type_t pollers = type_of(until_flag, NULL, finish), setter = type_of(sets_flag, NULL, finish);
    set(&flag, 0);
    set(&completions, 0);
    for (int i = 0; i < 20; i++) OK(nosv_submit(pinned(task_of(pollers, NULL, NOSV_CREATE_NONE)), NOSV_SUBMIT_NONE));
    OK(nosv_submit(pinned(task_of(setter, NULL, NOSV_CREATE_NONE)), NOSV_SUBMIT_NONE));
    UNTIL(get(&completions) == 21);
    OK(nosv_type_destroy(pollers, NOSV_TYPE_DESTROY_NONE));
    OK(nosv_type_destroy(setter, NOSV_TYPE_DESTROY_NONE));
}

static void inline_body(nosv_task_t task) { (void)task; CHECK_EQ(nosv_suspend(), NOSV_ERR_INVALID_OPERATION); }

int main(void)
{
    begin();
    OK(nosv_init());
    type = type_of(body, ends, completed);
    CHECK_EQ(nosv_suspend(), NOSV_ERR_OUTSIDE_TASK);
    CHECK_EQ(nosv_set_suspend_mode(NOSV_SUSPEND_MODE_NONE, 0), NOSV_ERR_OUTSIDE_TASK);
    in_task(parallel_body, NOSV_CREATE_PARALLEL);
    in_task(inside, NOSV_CREATE_NONE);
    by_themselves();
    by_submission();
    remembered();
    destroyed();
    by_event();
    gives_way();
    attach();
    CHECK_EQ(nosv_suspend(), NOSV_ERR_INVALID_OPERATION);
    CHECK_EQ(nosv_set_suspend_mode(NOSV_SUSPEND_MODE_SUBMIT, 0), NOSV_ERR_INVALID_OPERATION);
    nosv_task_type_t inlined = type_of(inline_body, NULL, finish);
    OK(nosv_submit(task_of(inlined, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_INLINE));
    OK(nosv_type_destroy(inlined, NOSV_TYPE_DESTROY_NONE));
    by_themselves();
    by_submission();
    OK(nosv_detach(NOSV_DETACH_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
    OK(nosv_shutdown());
    return 0;
}
