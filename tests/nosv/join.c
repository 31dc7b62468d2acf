/* tests/nosv/join.c - wait for tasks.  SPDX-License-Identifier: Apache-2.0 */
#include "nosv_test.h"

static int completions, go, ran;
static nosv_task_type_t type, gated;

static void body(nosv_task_t task) { OK(nosv_set_result(pointer_of(task))); add(&ran, 1); }
static void completed(nosv_task_t task) { (void)task; add(&completions, 1); }
/* A body that does not end before it may. */
static void waits_for_go(nosv_task_t task) { while (!get(&go)) OK(nosv_waitfor(100000, NULL)); body(task); }

static nosv_task_t joinable(nosv_task_type_t of, intptr_t result) { return task_of(of, (void *)result, NOSV_CREATE_JOINABLE); }

static void outside(void)
{
    nosv_task_t task = joinable(type, 1);
    void *result;
    CHECK_EQ(nosv_wait(task, 0), NOSV_ERR_OUTSIDE_TASK);
    CHECK_EQ(nosv_wait(task, FOREVER), NOSV_ERR_OUTSIDE_TASK);
    CHECK_EQ(nosv_join(task, &result, 1000), NOSV_ERR_OUTSIDE_TASK);
    CHECK_EQ(nosv_wait_all(&task, 1, 0), NOSV_ERR_OUTSIDE_TASK);
    CHECK_EQ(nosv_join_all(&task, &result, 1, FOREVER), NOSV_ERR_OUTSIDE_TASK);
    CHECK_EQ(nosv_set_result(NULL), NOSV_ERR_OUTSIDE_TASK);
    OK(nosv_destroy(task, NOSV_DESTROY_NONE));
}

static nosv_task_t of_parallel;
static void parallel_body(void)
{
    CHECK_EQ(nosv_wait(of_parallel, 0), NOSV_ERR_INVALID_OPERATION);
    CHECK_EQ(nosv_wait(of_parallel, FOREVER), NOSV_ERR_INVALID_OPERATION);
    CHECK_EQ(nosv_join(of_parallel, NULL, FOREVER), NOSV_ERR_INVALID_OPERATION);
    CHECK_EQ(nosv_wait_all(&of_parallel, 1, FOREVER), NOSV_ERR_INVALID_OPERATION);
    CHECK_EQ(nosv_join_all(&of_parallel, NULL, 1, FOREVER), NOSV_ERR_INVALID_OPERATION);
}

static void parameters(void)
{
    static const uint64_t timeouts[] = {0, 1000, FOREVER};
    nosv_task_t plain = task_of(type, NULL, NOSV_CREATE_NONE), ours = joinable(type, 1), twice[2] = {ours, ours}, mixed[2] = {ours, plain},
        hole[2] = {ours, NULL};
    void *results[2];
    for (int i = 0; i < 3; i++) {
        uint64_t t = timeouts[i];
        CHECK_EQ(nosv_wait(NULL, t), NOSV_ERR_INVALID_PARAMETER);
        CHECK_EQ(nosv_join(NULL, NULL, t), NOSV_ERR_INVALID_PARAMETER);
        CHECK_EQ(nosv_wait(plain, t), NOSV_ERR_INVALID_PARAMETER);
        CHECK_EQ(nosv_join(plain, results, t), NOSV_ERR_INVALID_PARAMETER);
        CHECK_EQ(nosv_wait(nosv_self(), t), NOSV_ERR_INVALID_PARAMETER);
        CHECK_EQ(nosv_join(nosv_self(), NULL, t), NOSV_ERR_INVALID_PARAMETER);
        CHECK_EQ(nosv_wait_all(NULL, 1, t), NOSV_ERR_INVALID_PARAMETER);
        CHECK_EQ(nosv_join_all(NULL, results, 2, t), NOSV_ERR_INVALID_PARAMETER);
        CHECK_EQ(nosv_wait_all(twice, 2, t), NOSV_ERR_INVALID_PARAMETER);
        CHECK_EQ(nosv_join_all(twice, results, 2, t), NOSV_ERR_INVALID_PARAMETER);
        CHECK_EQ(nosv_wait_all(mixed, 2, t), NOSV_ERR_INVALID_PARAMETER);
        CHECK_EQ(nosv_join_all(mixed, results, 2, t), NOSV_ERR_INVALID_PARAMETER);
        CHECK_EQ(nosv_wait_all(hole, 2, t), NOSV_ERR_INVALID_PARAMETER);
        CHECK_EQ(nosv_join_all(hole, NULL, 2, t), NOSV_ERR_INVALID_PARAMETER);
        OK(nosv_wait_all(NULL, 0, t));
        OK(nosv_join_all(NULL, NULL, 0, t));
    }
    /* None of these has left a mark on the task. */
    CHECK_EQ(nosv_wait(ours, 0), NOSV_ERR_TIMEOUT);
    OK(nosv_submit(ours, NOSV_SUBMIT_NONE));
    OK(nosv_wait(ours, FOREVER));
    OK(nosv_destroy(ours, NOSV_DESTROY_NONE));
    OK(nosv_destroy(plain, NOSV_DESTROY_NONE));
}

static void one(void)
{
    void *result = NULL;
    nosv_task_t task = joinable(type, 42);
    CHECK_EQ(nosv_wait(task, 0), NOSV_ERR_TIMEOUT);         /* not submitted yet */
    CHECK_EQ(nosv_join(task, &result, 1000), NOSV_ERR_TIMEOUT);
    for (int i = 0; i < 10; i++) {                          /* wait leaves the task, which may be submitted again */
        set(&completions, 0);
        OK(nosv_submit(task, NOSV_SUBMIT_NONE));
        OK(nosv_wait(task, i % 2 ? FOREVER : UINT64_C(600000000000)));
        CHECK_EQ(get(&completions), 1);                     /* the completed callback comes before */
        OK(nosv_wait(task, 0));                             /* it has ended: as often as one likes */
        OK(nosv_wait(task, FOREVER));
    }
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    OK(nosv_join(task, &result, FOREVER));
    CHECK_EQ((intptr_t)result, 42);

    task = joinable(type, 43);
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    OK(nosv_join(task, NULL, FOREVER));

    task = joinable(type, 44);                              /* it ends by polling, too */
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    int r;
    while ((r = nosv_join(task, &result, 0)) == NOSV_ERR_TIMEOUT) OK(nosv_yield(NOSV_YIELD_NONE));
    OK(r);
    CHECK_EQ((intptr_t)result, 44);
}

static void timeouts(void)
{
    void *result = NULL;
    nosv_task_t task = joinable(gated, 45);
    set(&go, 0);
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    CHECK_EQ(nosv_wait(task, 0), NOSV_ERR_TIMEOUT);
    CHECK_EQ(nosv_wait(task, 100), NOSV_ERR_TIMEOUT);
    CHECK_EQ(nosv_join(task, &result, 0), NOSV_ERR_TIMEOUT);
    CHECK_EQ(nosv_join(task, &result, 2000000), NOSV_ERR_TIMEOUT);
    CHECK_EQ(nosv_wait(task, 2000000), NOSV_ERR_TIMEOUT);
    CHECK(!result);
    set(&go, 1);
    OK(nosv_join(task, &result, FOREVER));
    CHECK_EQ((intptr_t)result, 45);
}

/* Results: the last one set, NULL without, and only in joinable tasks. */
static void sets_twice(nosv_task_t task) { OK(nosv_set_result((void *)1)); OK(nosv_set_result(pointer_of(task))); add(&ran, 1); }
static void sets_none(nosv_task_t task) { (void)task; }
static void results(void)
{
    nosv_task_type_t twice = type_of(sets_twice, NULL, completed), none = type_of(sets_none, NULL, completed);
    void *result = &result;
    nosv_task_t task = joinable(twice, 46);
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    OK(nosv_join(task, &result, FOREVER));
    CHECK_EQ((intptr_t)result, 46);
    task = joinable(none, 47);
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    OK(nosv_join(task, &result, FOREVER));
    CHECK(!result);
    task = task_of(twice, NULL, NOSV_CREATE_NONE);          /* not joinable: no effect */
    OK(nosv_submit(task, NOSV_SUBMIT_BLOCKING));
    OK(nosv_destroy(task, NOSV_DESTROY_NONE));
    OK(nosv_type_destroy(twice, NOSV_TYPE_DESTROY_NONE));
    OK(nosv_type_destroy(none, NOSV_TYPE_DESTROY_NONE));
}

/* One waiter at a time. */
static nosv_task_t waited;
static int waiting, through, gone;
static void first_waiter(nosv_task_t task) { (void)task; set(&waiting, 1); OK(nosv_wait(waited, FOREVER)); set(&through, 1); }
static void leaves(nosv_task_t task) { OK(nosv_destroy(task, NOSV_DESTROY_NONE)); set(&gone, 1); }
static void second_waiter(void)
{
    nosv_task_type_t waiters = type_of(first_waiter, NULL, leaves);
    nosv_task_t pair[2] = {joinable(type, 1), waited = joinable(gated, 2)};
    set(&go, 0);
    set(&waiting, 0);
    set(&through, 0);
    set(&gone, 0);
    OK(nosv_submit(waited, NOSV_SUBMIT_NONE));
    OK(nosv_submit(task_of(waiters, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    UNTIL(get(&waiting));
    while (nosv_wait(waited, 0) == NOSV_ERR_TIMEOUT) rest();    /* until the other one really waits */
    static const uint64_t timeouts[] = {0, 100, FOREVER};
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(nosv_wait(waited, timeouts[i]), NOSV_ERR_INVALID_PARAMETER);
        CHECK_EQ(nosv_join(waited, NULL, timeouts[i]), NOSV_ERR_INVALID_PARAMETER);
        CHECK_EQ(nosv_wait_all(pair, 2, timeouts[i]), NOSV_ERR_INVALID_PARAMETER);
        CHECK_EQ(nosv_join_all(pair, NULL, 2, timeouts[i]), NOSV_ERR_INVALID_PARAMETER);
    }
    CHECK_EQ(nosv_destroy(waited, NOSV_DESTROY_NONE), NOSV_ERR_INVALID_OPERATION);
    set(&go, 1);
    UNTIL(get(&through) && get(&gone));
    OK(nosv_wait(waited, 0));
    OK(nosv_submit(pair[0], NOSV_SUBMIT_NONE));
    OK(nosv_join_all(pair, NULL, 2, FOREVER));              /* the calls that failed have marked neither */
    OK(nosv_type_destroy(waiters, NOSV_TYPE_DESTROY_NONE));
}

enum { MANY = 50 };
static void all(void)
{
    nosv_task_t tasks[MANY];
    void *result[MANY];
    set(&go, 0);
    set(&completions, 0);
    for (int i = 0; i < MANY; i++) {
        tasks[i] = joinable(i % 10 == 7 ? gated : type, i + 1);
        result[i] = NULL;
    }
    CHECK_EQ(nosv_wait_all(tasks, MANY, 0), NOSV_ERR_TIMEOUT);
    for (int i = 0; i < MANY; i++) OK(nosv_submit(tasks[i], NOSV_SUBMIT_NONE));
    CHECK_EQ(nosv_wait_all(tasks, MANY, 100), NOSV_ERR_TIMEOUT);
    CHECK_EQ(nosv_join_all(tasks, result, MANY, 1000000), NOSV_ERR_TIMEOUT);
    CHECK_EQ(nosv_join_all(tasks, NULL, MANY, 0), NOSV_ERR_TIMEOUT);
    for (int i = 0; i < MANY; i++) CHECK_EQ((intptr_t)nosv_get_task_type(tasks[i]), (intptr_t)(i % 10 == 7 ? gated : type));
    set(&go, 1);
    OK(nosv_wait_all(tasks, MANY, FOREVER));
    CHECK_EQ(get(&completions), MANY);
    OK(nosv_wait_all(tasks, MANY, 0));
    OK(nosv_join_all(tasks, result, MANY, FOREVER));
    for (int i = 0; i < MANY; i++) CHECK_EQ((intptr_t)result[i], i + 1);

    for (int i = 0; i < MANY; i++) OK(nosv_submit(tasks[i] = joinable(type, i), NOSV_SUBMIT_NONE));
    OK(nosv_join_all(tasks, NULL, MANY, FOREVER));
}

/* A joinable task does not destroy itself; events delay its end; it may be parallel. */
static void destroys_itself(nosv_task_t task) { CHECK_EQ(nosv_destroy(task, NOSV_DESTROY_NONE), NOSV_ERR_INVALID_OPERATION); add(&completions, 1); }
static void leaves_event(nosv_task_t task) { OK(nosv_increase_event_counter(1)); __atomic_store_n((nosv_task_t *)pointer_of(task), task, __ATOMIC_SEQ_CST); }
static void ends(void)
{
    nosv_task_type_t self = type_of(destroys_itself, destroys_itself, destroys_itself), events = type_of(leaves_event, NULL, completed);
    nosv_task_t task = joinable(self, 0), left = NULL, many = task_of(type, (void *)9, NOSV_CREATE_JOINABLE | NOSV_CREATE_PARALLEL);
    set(&completions, 0);
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    OK(nosv_join(task, NULL, FOREVER));
    CHECK_EQ(get(&completions), 3);

    task = task_of(events, &left, NOSV_CREATE_JOINABLE);
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    UNTIL(__atomic_load_n(&left, __ATOMIC_SEQ_CST));
    CHECK_EQ(nosv_wait(task, 1000000), NOSV_ERR_TIMEOUT);
    OK(nosv_decrease_event_counter(left, 1));
    OK(nosv_join(task, NULL, FOREVER));

    void *result = NULL;
    nosv_set_task_degree(many, 20);
    set(&ran, 0);
    OK(nosv_submit(many, NOSV_SUBMIT_NONE));
    OK(nosv_join(many, &result, FOREVER));
    CHECK_EQ(get(&ran), 20);
    CHECK_EQ((intptr_t)result, 9);
    OK(nosv_type_destroy(self, NOSV_TYPE_DESTROY_NONE));
    OK(nosv_type_destroy(events, NOSV_TYPE_DESTROY_NONE));
}

/* A tree of tasks that join their children. */
static nosv_task_type_t tree;
static void fib(nosv_task_t task)
{
    intptr_t n = (intptr_t)pointer_of(task);
    void *sums[2] = {NULL, NULL};
    if (n < 2) { OK(nosv_set_result((void *)n)); return; }
    nosv_task_t children[2] = {joinable(tree, n - 1), joinable(tree, n - 2)};
    for (int i = 0; i < 2; i++) OK(nosv_submit(children[i], NOSV_SUBMIT_NONE));
    if (n % 2) OK(nosv_join_all(children, sums, 2, FOREVER));
    else for (int i = 0; i < 2; i++) OK(nosv_join(children[i], &sums[i], FOREVER));
    OK(nosv_set_result((void *)((intptr_t)sums[0] + (intptr_t)sums[1])));
}
static void recursion(void)
{
    void *result;
    tree = type_of(fib, NULL, NULL);
    nosv_task_t root = joinable(tree, 12);
    OK(nosv_submit(root, NOSV_SUBMIT_NONE));
    OK(nosv_join(root, &result, FOREVER));
    CHECK_EQ((intptr_t)result, 144);
    OK(nosv_type_destroy(tree, NOSV_TYPE_DESTROY_NONE));
}

static void inside(void)
{
    parameters();
    one();
    timeouts();
    results();
    second_waiter();
    all();
    ends();
    recursion();
}

int main(void)
{
    begin();
    OK(nosv_init());
    type = type_of(body, NULL, completed);
    gated = type_of(waits_for_go, NULL, completed);
    outside();
    of_parallel = joinable(type, 1);
    in_task(parallel_body, NOSV_CREATE_PARALLEL);
    OK(nosv_destroy(of_parallel, NOSV_DESTROY_NONE));
    in_task(inside, NOSV_CREATE_NONE);
    attach();
    inside();
    OK(nosv_detach(NOSV_DETACH_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
    OK(nosv_type_destroy(gated, NOSV_TYPE_DESTROY_NONE));
    OK(nosv_shutdown());
    return 0;
}
