/* tests/nosv/tasks.c - create tasks; their attributes, metadata and callbacks.  SPDX-License-Identifier: Apache-2.0 */
#include "nosv_test.h"

static int ran, ended, completions;
static void run(nosv_task_t task) { (void)task; add(&ran, 1); }
static void completed(nosv_task_t task) { (void)task; add(&completions, 1); }

static void errors(void)
{
    nosv_task_t task = NULL;
    nosv_task_type_t type = type_of(run, NULL, NULL), external;
    CHECK_EQ(nosv_create(NULL, type, 0, NOSV_CREATE_NONE), NOSV_ERR_INVALID_PARAMETER);
    CHECK_EQ(nosv_create(&task, NULL, 0, NOSV_CREATE_NONE), NOSV_ERR_INVALID_PARAMETER);
    CHECK_EQ(nosv_create(&task, type, NOSV_MAX_METADATA_SIZE + 1, NOSV_CREATE_NONE), NOSV_ERR_INVALID_METADATA_SIZE);
    CHECK_EQ(nosv_create(&task, type, SIZE_MAX, NOSV_CREATE_NONE), NOSV_ERR_INVALID_METADATA_SIZE);
    OK(nosv_type_init(&external, NULL, NULL, NULL, "external", NULL, NULL, NOSV_TYPE_INIT_EXTERNAL));
    CHECK_EQ(nosv_create(&task, external, 0, NOSV_CREATE_NONE), NOSV_ERR_INVALID_OPERATION);
    OK(nosv_type_destroy(external, NOSV_TYPE_DESTROY_NONE));
    CHECK_EQ(nosv_create(&task, type, 0, UINT64_C(4)), NOSV_ERR_INVALID_PARAMETER);
    CHECK_EQ(nosv_destroy(NULL, NOSV_DESTROY_NONE), NOSV_ERR_INVALID_PARAMETER);
    OK(nosv_create(&task, type, 0, NOSV_CREATE_NONE));
    CHECK_EQ(nosv_destroy(task, UINT64_C(1)), NOSV_ERR_INVALID_PARAMETER);
    OK(nosv_destroy(task, NOSV_DESTROY_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
    CHECK(!nosv_get_task_metadata(NULL) && !nosv_get_task_type(NULL));
    CHECK_EQ(nosv_get_task_priority(NULL), 0);
    CHECK_EQ(nosv_get_task_degree(NULL), 0);
    nosv_set_task_priority(NULL, 1);
    nosv_set_task_degree(NULL, 1);
}

static void metadata(void)
{
    static const size_t sizes[] = {1, 7, 8, 16, 24, 63, 64, 65, 200, 1000, 4000, 4095, NOSV_MAX_METADATA_SIZE};
    nosv_task_type_t type = type_of(run, NULL, NULL);
    nosv_task_t tasks[sizeof(sizes) / sizeof(*sizes)], none;
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        OK(nosv_create(&tasks[i], type, sizes[i], NOSV_CREATE_NONE));
        unsigned char *data = (unsigned char *)nosv_get_task_metadata(tasks[i]);
        CHECK(data && (uintptr_t)data % 16 == 0);
        memset(data, (int)i + 1, sizes[i]);
        CHECK(nosv_get_task_type(tasks[i]) == type);
    }
    OK(nosv_create(&none, type, 0, NOSV_CREATE_NONE));
    CHECK(!nosv_get_task_metadata(none));
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        unsigned char *data = (unsigned char *)nosv_get_task_metadata(tasks[i]);
        for (size_t b = 0; b < sizes[i]; b++) CHECK_EQ(data[b], i + 1);
        OK(nosv_destroy(tasks[i], NOSV_DESTROY_NONE));
    }
    OK(nosv_destroy(none, NOSV_DESTROY_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

static void attributes(void)
{
    static const nosv_flags_t flags[] = {NOSV_CREATE_NONE, NOSV_CREATE_PARALLEL, NOSV_CREATE_JOINABLE, NOSV_CREATE_PARALLEL | NOSV_CREATE_JOINABLE};
    nosv_task_type_t type = type_of(run, NULL, NULL);
    for (int i = 0; i < 4; i++) {
        nosv_task_t task = task_of(type, NULL, flags[i]);
        CHECK_EQ(nosv_get_task_priority(task), 0);
        CHECK_EQ(nosv_get_task_degree(task), 1);
        static const int priorities[] = {1, -1, 1000, INT_MAX, INT_MIN, 0};
        for (int p = 0; p < 6; p++) {
            nosv_set_task_priority(task, priorities[p]);
            CHECK_EQ(nosv_get_task_priority(task), priorities[p]);
        }
        nosv_set_task_degree(task, 5);
        CHECK_EQ(nosv_get_task_degree(task), flags[i] & NOSV_CREATE_PARALLEL ? 5 : 1);
        nosv_set_task_degree(task, 0);
        nosv_set_task_degree(task, -3);
        CHECK_EQ(nosv_get_task_degree(task), flags[i] & NOSV_CREATE_PARALLEL ? 5 : 1);
        OK(nosv_destroy(task, NOSV_DESTROY_NONE));
    }
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* run, end, completed, in this order, each once, with the task as argument and in task context. */
static struct record order;
static nosv_task_t expected;
static pid_t worker;
static void in_context(nosv_task_t task)
{
    CHECK(task == expected && nosv_self() == task);
    CHECK(nosv_get_current_logical_cpu() >= 0 && nosv_get_current_logical_cpu() < nosv_get_num_cpus());
    CHECK_EQ(nosv_get_execution_id(), 0);
}
static void order_run(nosv_task_t task) { in_context(task); worker = thread_id(); note(&order, 1); }
static void order_end(nosv_task_t task) { in_context(task); CHECK_EQ(thread_id(), worker); note(&order, 2); }
static void order_completed(nosv_task_t task) { in_context(task); note(&order, 3); }
static void callbacks(void)
{
    nosv_task_type_t type = type_of(order_run, order_end, order_completed);
    expected = task_of(type, NULL, NOSV_CREATE_NONE);
    for (int round = 0; round < 20; round++) {      /* a task may be submitted again after it has completed */
        clear(&order);
        OK(nosv_submit(expected, NOSV_SUBMIT_NONE));
        UNTIL(get(&order.n) == 3);
        for (int i = 0; i < 3; i++) CHECK_EQ(get(&order.what[i]), i + 1);
    }
    OK(nosv_destroy(expected, NOSV_DESTROY_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* The completed callback submits its task again. */
static void again(nosv_task_t task)
{
    if (add(&ended, 1) % 50) OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    else add(&completions, 1);
}
static void submitted_again(void)
{
    nosv_task_type_t type = type_of(run, NULL, again);
    nosv_task_t task = task_of(type, NULL, NOSV_CREATE_NONE);
    set(&ran, 0);
    set(&ended, 0);
    set(&completions, 0);
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    UNTIL(get(&completions));
    CHECK_EQ(get(&ran), 50);
    CHECK_EQ(get(&ended), 50);
    OK(nosv_destroy(task, NOSV_DESTROY_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* Created by one thread, submitted by another, destroyed by a third. */
static nosv_task_t batch[1000];
static nosv_task_type_t batch_type;
static void create_all(void *arg) { (void)arg; for (int i = 0; i < 1000; i++) batch[i] = task_of(batch_type, &batch[i], NOSV_CREATE_NONE); }
static void submit_all(void *arg) { (void)arg; for (int i = 0; i < 1000; i++) OK(nosv_submit(batch[i], NOSV_SUBMIT_NONE)); }
static void destroy_all(void *arg) { (void)arg; for (int i = 0; i < 1000; i++) OK(nosv_destroy(batch[i], NOSV_DESTROY_NONE)); }
static void threads(void)
{
    batch_type = type_of(run, NULL, completed);
    for (int round = 0; round < 3; round++) {
        set(&ran, 0);
        set(&completions, 0);
        on_thread(create_all, NULL);
        on_thread(submit_all, NULL);
        UNTIL(get(&completions) == 1000);
        CHECK_EQ(get(&ran), 1000);
        on_thread(destroy_all, NULL);
    }
    OK(nosv_type_destroy(batch_type, NOSV_TYPE_DESTROY_NONE));
}

static void many_and_no_leak(void)
{
    enum { MANY = 50000 };
    static nosv_task_t tasks[MANY];
    nosv_task_type_t type = type_of(run, NULL, NULL);
    long before = 0;
    for (int round = 0; round < 6; round++) {
        for (int i = 0; i < MANY; i++) tasks[i] = task_of(type, &tasks[i], NOSV_CREATE_NONE);
        for (int i = 0; i < MANY; i++) CHECK(pointer_of(tasks[i]) == &tasks[i]);
        for (int i = 0; i < MANY; i++) OK(nosv_destroy(tasks[(i * 7919L) % MANY], NOSV_DESTROY_NONE));
        if (round == 1) before = resident();
    }
    CHECK(resident() - before < 4096);
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* Threads that create tasks and end, while others destroy them. */
static void destroys(nosv_task_t task) { OK(nosv_destroy(task, NOSV_DESTROY_NONE)); add(&completions, 1); }
static void *submits_one(void *arg) { OK(nosv_submit(task_of(*(nosv_task_type_t *)arg, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE)); return NULL; }
static void threads_that_end(void)
{
    nosv_task_type_t type = type_of(run, NULL, destroys);
    pthread_t thread;
    long before = 0;
    set(&completions, 0);
    for (int i = 0; i < 3000; i++) {
        if (i == 1000) before = resident();
        CHECK_EQ(pthread_create(&thread, NULL, submits_one, &type), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
    }
    UNTIL(get(&completions) == 3000);
    CHECK(resident() - before < 2048);
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

int main(void)
{
    begin();
    OK(nosv_init());
    errors();
    metadata();
    attributes();
    callbacks();
    submitted_again();
    threads();
    threads_that_end();
    many_and_no_leak();
    in_task(errors, NOSV_CREATE_NONE);
    in_task(metadata, NOSV_CREATE_NONE);
    in_task(attributes, NOSV_CREATE_NONE);
    attach();
    callbacks();
    submitted_again();
    OK(nosv_detach(NOSV_DETACH_NONE));
    OK(nosv_shutdown());
    return 0;
}
