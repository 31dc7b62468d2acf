/* tests/nosv/types.c - types of tasks.  SPDX-License-Identifier: Apache-2.0 */
#include "nosv_test.h"

static void run(nosv_task_t task) { (void)task; }
static void end(nosv_task_t task) { (void)task; }
static void completed(nosv_task_t task) { (void)task; }
static uint64_t cost(nosv_task_t task) { (void)task; return 7; }

static void errors(void)
{
    nosv_task_type_t type = NULL;
    CHECK_EQ(nosv_type_init(NULL, run, NULL, NULL, "t", NULL, NULL, NOSV_TYPE_INIT_NONE), NOSV_ERR_INVALID_PARAMETER);
    CHECK_EQ(nosv_type_init(&type, NULL, NULL, NULL, "t", NULL, NULL, NOSV_TYPE_INIT_NONE), NOSV_ERR_INVALID_CALLBACK);
    CHECK_EQ(nosv_type_init(&type, NULL, end, completed, "t", NULL, cost, NOSV_TYPE_INIT_NONE), NOSV_ERR_INVALID_CALLBACK);
    CHECK_EQ(nosv_type_init(&type, run, NULL, NULL, "t", NULL, NULL, NOSV_TYPE_INIT_EXTERNAL), NOSV_ERR_INVALID_CALLBACK);
    CHECK_EQ(nosv_type_init(&type, NULL, end, NULL, "t", NULL, NULL, NOSV_TYPE_INIT_EXTERNAL), NOSV_ERR_INVALID_CALLBACK);
    CHECK_EQ(nosv_type_init(&type, NULL, NULL, completed, "t", NULL, NULL, NOSV_TYPE_INIT_EXTERNAL), NOSV_ERR_INVALID_CALLBACK);
    CHECK_EQ(nosv_type_init(&type, run, NULL, NULL, "t", NULL, NULL, UINT64_C(2)), NOSV_ERR_INVALID_PARAMETER);
    CHECK_EQ(nosv_type_destroy(NULL, NOSV_TYPE_DESTROY_NONE), NOSV_ERR_INVALID_PARAMETER);
    OK(nosv_type_init(&type, run, NULL, NULL, "t", NULL, NULL, NOSV_TYPE_INIT_NONE));
    CHECK_EQ(nosv_type_destroy(type, UINT64_C(1)), NOSV_ERR_INVALID_PARAMETER);
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

static void getters(void)
{
    int data;
    char label[] = "a label";
    nosv_task_type_t type;
    OK(nosv_type_init(&type, run, end, completed, label, &data, cost, NOSV_TYPE_INIT_NONE));
    label[0] = 'X';     /* the type has a copy */
    CHECK(nosv_get_task_type_run_callback(type) == run);
    CHECK(nosv_get_task_type_end_callback(type) == end);
    CHECK(nosv_get_task_type_completed_callback(type) == completed);
    CHECK(nosv_get_task_type_label(type) && !strcmp(nosv_get_task_type_label(type), "a label"));
    CHECK(nosv_get_task_type_metadata(type) == &data);
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));

    OK(nosv_type_init(&type, run, NULL, NULL, NULL, NULL, NULL, NOSV_TYPE_INIT_NONE));
    CHECK(nosv_get_task_type_run_callback(type) == run);
    CHECK(!nosv_get_task_type_end_callback(type) && !nosv_get_task_type_completed_callback(type));
    CHECK(!nosv_get_task_type_label(type) && !nosv_get_task_type_metadata(type));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));

    OK(nosv_type_init(&type, NULL, NULL, NULL, "", NULL, NULL, NOSV_TYPE_INIT_EXTERNAL));
    CHECK(!nosv_get_task_type_run_callback(type) && !*nosv_get_task_type_label(type));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));

    CHECK(!nosv_get_task_type_run_callback(NULL) && !nosv_get_task_type_end_callback(NULL) && !nosv_get_task_type_completed_callback(NULL));
    CHECK(!nosv_get_task_type_label(NULL) && !nosv_get_task_type_metadata(NULL));
}

static void long_label(void)
{
    char label[5000];
    memset(label, 'x', sizeof(label) - 1);
    label[sizeof(label) - 1] = 0;
    nosv_task_type_t type;
    OK(nosv_type_init(&type, run, NULL, NULL, label, NULL, NULL, NOSV_TYPE_INIT_NONE));
    CHECK(!strncmp(nosv_get_task_type_label(type), label, 31));     /* at least so much of it */
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* A type that is destroyed lives on in its tasks. */
static int ended;
static void last(nosv_task_t task)
{
    CHECK(nosv_get_task_type_completed_callback(nosv_get_task_type(task)) == last);
    CHECK(!strcmp(nosv_get_task_type_label(nosv_get_task_type(task)), "test"));
    OK(nosv_destroy(task, NOSV_DESTROY_NONE));
    add(&ended, 1);
}
static void destroyed_before_its_tasks(void)
{
    for (int i = 0; i < 200; i++) {
        nosv_task_type_t type = type_of(run, NULL, last);
        nosv_task_t a = task_of(type, NULL, NOSV_CREATE_NONE), b = task_of(type, NULL, NOSV_CREATE_NONE);
        OK(nosv_submit(a, NOSV_SUBMIT_NONE));
        OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
        OK(nosv_submit(b, NOSV_SUBMIT_NONE));
    }
    UNTIL(get(&ended) == 400);
}

/* What a destroyed type costs does not grow with their number: if it did, this would take minutes. */
static void many_destroyed(void)
{
    int n = 200000 / (1 + nosv_get_num_cpus() / 8);
    nosv_task_t *tasks = calloc((size_t)n, sizeof *tasks);
    set(&ended, 0);
    for (int i = 0; i < n; i++) {
        nosv_task_type_t type = type_of(run, NULL, last);
        tasks[i] = task_of(type, NULL, NOSV_CREATE_NONE);
        OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
    }
    for (int i = 0; i < n; i++) OK(nosv_submit(tasks[i], NOSV_SUBMIT_NONE));
    UNTIL(get(&ended) == n);
    free(tasks);
}

static void churn(void *arg)
{
    (void)arg;
    for (int i = 0; i < 20000; i++) {
        nosv_task_type_t type = type_of(run, end, completed);
        OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
    }
}
static void nothing_leaks(void)
{
    churn(NULL);
    long before = resident();
    for (int i = 0; i < 5; i++) on_thread(churn, NULL);
    CHECK(resident() - before < 4096);
}

/* A lasting type outlives the runtime. */
static void survives_shutdown(void)
{
    set(&ended, 0);
    OK(nosv_init());
    nosv_task_type_t type;
    OK(nosv_type_init(&type, run, NULL, last, "test", NULL, NULL, NOSV_TYPE_INIT_LASTING));
    for (int i = 1; i <= 3; i++) {
        OK(nosv_submit(task_of(type, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
        OK(nosv_shutdown());
        CHECK_EQ(get(&ended), i);
        CHECK(!strcmp(nosv_get_task_type_label(type), "test"));
        OK(nosv_init());
    }
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
    OK(nosv_shutdown());
}

int main(void)
{
    begin();
    OK(nosv_init());
    errors();
    getters();
    long_label();
    destroyed_before_its_tasks();
    many_destroyed();
    nothing_leaks();
    in_task(errors, NOSV_CREATE_NONE);
    in_task(getters, NOSV_CREATE_NONE);
    OK(nosv_shutdown());
    survives_shutdown();
    return 0;
}
