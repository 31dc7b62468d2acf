/* tests/nosv/attach.c - threads that are attached.  SPDX-License-Identifier: Apache-2.0 */
#include "nosv_test.h"

static int completions;
static void finish(nosv_task_t task) { OK(nosv_destroy(task, NOSV_DESTROY_NONE)); add(&completions, 1); }

static void errors(void)
{
    nosv_task_t task = NULL;
    nosv_affinity_t nowhere = nosv_affinity_get(0x1ffffff0u, NOSV_AFFINITY_LEVEL_CPU, NOSV_AFFINITY_TYPE_STRICT);
    CHECK_EQ(nosv_attach(NULL, NULL, "t", NOSV_ATTACH_NONE), NOSV_ERR_INVALID_PARAMETER);
    CHECK_EQ(nosv_attach(&task, NULL, "t", UINT64_C(2)), NOSV_ERR_INVALID_PARAMETER);
    CHECK_EQ(nosv_attach(&task, &nowhere, "t", NOSV_ATTACH_NONE), NOSV_ERR_INVALID_PARAMETER);
    nowhere.level = NOSV_AFFINITY_LEVEL_NUMA;
    CHECK_EQ(nosv_attach(&task, &nowhere, "t", NOSV_ATTACH_NONE), NOSV_ERR_INVALID_PARAMETER);
    nowhere.level = NOSV_AFFINITY_LEVEL_USER_COMPLEX;
    CHECK_EQ(nosv_attach(&task, &nowhere, "t", NOSV_ATTACH_NONE), NOSV_ERR_INVALID_PARAMETER);
    CHECK(!nosv_self());
    CHECK_EQ(nosv_detach(NOSV_DETACH_NONE), NOSV_ERR_OUTSIDE_TASK);
    CHECK_EQ(nosv_detach(NOSV_DETACH_NO_RESTORE_AFFINITY), NOSV_ERR_OUTSIDE_TASK);
    CHECK_EQ(nosv_detach(NOSV_DETACH_INSTRUMENT), NOSV_ERR_OUTSIDE_TASK);
}

/* What an attached thread is. */
static void context(void *arg)
{
    (void)arg;
    char label[] = "a thread";
    nosv_task_t task = NULL;
    pid_t thread = thread_id();
    OK(nosv_attach(&task, NULL, label, NOSV_ATTACH_NONE));
    label[0] = 'X';
    CHECK(task && nosv_self() == task);
    CHECK_EQ(thread_id(), thread);
    CHECK(!nosv_get_task_metadata(task));
    CHECK(nosv_get_task_type(task));
    CHECK(!strcmp(nosv_get_task_type_label(nosv_get_task_type(task)), "a thread"));
    CHECK(!nosv_get_task_type_run_callback(nosv_get_task_type(task)));
    CHECK(nosv_get_current_system_cpu() >= 0);
    CHECK_EQ(nosv_get_execution_id(), 0);
    CHECK_EQ(nosv_get_task_degree(task), 1);
    CHECK_EQ(nosv_destroy(task, NOSV_DESTROY_NONE), NOSV_ERR_INVALID_OPERATION);
    OK(nosv_yield(NOSV_YIELD_NONE));
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    OK(nosv_pause(NOSV_PAUSE_NONE));
    OK(nosv_detach(NOSV_DETACH_NONE));
    CHECK(!nosv_self());
    CHECK_EQ(nosv_pause(NOSV_PAUSE_NONE), NOSV_ERR_OUTSIDE_TASK);
    CHECK_EQ(nosv_detach(NOSV_DETACH_NONE), NOSV_ERR_OUTSIDE_TASK);
    OK(nosv_attach(&task, NULL, NULL, NOSV_ATTACH_NONE));
    CHECK(!nosv_get_task_type_label(nosv_get_task_type(task)));
    OK(nosv_detach(NOSV_DETACH_NONE));
}

/* Each flag combination; the instrumentation flags have no effect. */
static void flags(void)
{
    nosv_task_t task;
    static const nosv_flags_t in[] = {NOSV_ATTACH_NONE, NOSV_ATTACH_INSTRUMENT, NOSV_ATTACH_UNBOUND};
    for (int i = 0; i < 3; i++) {
        for (nosv_flags_t out = 0; out < 4; out++) {
            OK(nosv_attach(&task, NULL, "flags", in[i]));
            OK(nosv_detach(out));
        }
    }
}

static void nested(void)
{
    nosv_task_t outer = NULL, inner = NULL;
    nosv_affinity_t affinity = one_cpu();
    OK(nosv_attach(&outer, NULL, "outer", NOSV_ATTACH_NONE));
    for (int i = 0; i < 10; i++) {
        inner = NULL;
        OK(nosv_attach(&inner, i % 2 ? &affinity : NULL, "inner", i % 3 ? NOSV_ATTACH_NONE : NOSV_ATTACH_INSTRUMENT));
        CHECK(inner == outer && nosv_self() == outer);
    }
    for (int i = 0; i < 10; i++) {
        OK(nosv_detach(NOSV_DETACH_NONE));
        CHECK(nosv_self() == outer);
    }
    OK(nosv_detach(NOSV_DETACH_NONE));
    CHECK(!nosv_self());
    CHECK_EQ(nosv_detach(NOSV_DETACH_NONE), NOSV_ERR_OUTSIDE_TASK);
}

/* In a task that a thread executes, both are refused. */
static void in_worker(void)
{
    nosv_task_t self = nosv_self(), task = NULL;
    CHECK_EQ(nosv_detach(NOSV_DETACH_NONE), NOSV_ERR_INVALID_OPERATION);
    CHECK_EQ(nosv_attach(&task, NULL, "nested", NOSV_ATTACH_NONE), NOSV_ERR_INVALID_OPERATION);
    CHECK(!task && nosv_self() == self);
}
static void inline_body(nosv_task_t task)
{
    (void)task;
    in_worker();
}
static void in_inline_task(void)
{
    nosv_task_type_t type = type_of(inline_body, NULL, finish);
    attach();
    OK(nosv_submit(task_of(type, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_INLINE));
    OK(nosv_detach(NOSV_DETACH_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* Detach gives the thread its CPU mask back; see mask.c for what it sees meanwhile. */
static void mask(void)
{
    cpu_set_t before, after;
    nosv_task_t task;
    CHECK_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
    nosv_affinity_t affinity = one_cpu();
    for (int i = 0; i < 10; i++) {
        OK(nosv_attach(&task, i % 2 ? &affinity : NULL, "mask", NOSV_ATTACH_NONE));
        OK(nosv_yield(NOSV_YIELD_NONE));
        OK(nosv_detach(i == 9 ? NOSV_DETACH_INSTRUMENT : NOSV_DETACH_NONE));
        CHECK_EQ(sched_getaffinity(0, sizeof(after), &after), 0);
        CHECK(CPU_EQUAL(&after, &before));
    }
}

/* With a strict affinity the thread runs there. */
static void place(void)
{
    int *cpus = nosv_get_available_cpus(), n = nosv_get_num_cpus();
    for (int i = 0; i < n; i++) {
        nosv_task_t task;
        nosv_affinity_t affinity = nosv_affinity_get((uint32_t)cpus[i], NOSV_AFFINITY_LEVEL_CPU, NOSV_AFFINITY_TYPE_STRICT);
        OK(nosv_attach(&task, &affinity, "place", NOSV_ATTACH_NONE));
        for (int k = 0; k < 20; k++) {
            CHECK_EQ(nosv_get_current_system_cpu(), cpus[i]);
            CHECK_EQ(sched_getcpu(), cpus[i]);
            if (k % 2) OK(nosv_yield(NOSV_YIELD_NONE)); else OK(nosv_waitfor(1000, NULL));
        }
        nosv_affinity_t got = nosv_get_task_affinity(task);
        CHECK_EQ(got.level, NOSV_AFFINITY_LEVEL_CPU);
        CHECK_EQ(got.type, NOSV_AFFINITY_TYPE_STRICT);
        CHECK_EQ(got.index, cpus[i]);
        OK(nosv_detach(NOSV_DETACH_NONE));
    }
    free(cpus);
}

/* More attached threads than CPUs, without an init of their own: they share the cores, and one at a time has a strict one. */
enum { THREADS = 16 };
static int inside, most;
static void *attached(void *arg)
{
    nosv_task_t task;
    nosv_affinity_t affinity = one_cpu();
    OK(nosv_attach(&task, &affinity, "thread", NOSV_ATTACH_NONE));
    for (int i = 0; i < 50; i++) {
        if (add(&inside, 1) > 1) add(&most, 1);
        for (volatile int k = 0; k < 2000; k++) {}
        add(&inside, -1);
        OK(nosv_yield(NOSV_YIELD_NONE));
    }
    OK(nosv_detach(NOSV_DETACH_NONE));
    return arg;
}
static void *ends_attached(void *arg)
{
    nosv_task_t task;
    OK(nosv_attach(&task, NULL, "ends", NOSV_ATTACH_NONE));
    if (arg) OK(nosv_attach(&task, NULL, "ends", NOSV_ATTACH_NONE));
    if (arg) pthread_exit(NULL);
    return NULL;
}
static void threads(void)
{
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++) CHECK_EQ(pthread_create(&thread[i], NULL, attached, NULL), 0);
    for (int i = 0; i < THREADS; i++) CHECK_EQ(pthread_join(thread[i], NULL), 0);
    /* A thread that ends while it is attached gives its core back. */
    for (int i = 0; i < 4 * THREADS; i++) {
        CHECK_EQ(pthread_create(&thread[0], NULL, ends_attached, i % 2 ? &thread[0] : NULL), 0);
        CHECK_EQ(pthread_join(thread[0], NULL), 0);
    }
    context(NULL);
}

/* Pending events: the task goes when they have happened. */
static void events(void)
{
    nosv_task_t task;
    for (int i = 0; i < 100; i++) {
        OK(nosv_attach(&task, NULL, "events", NOSV_ATTACH_NONE));
        OK(nosv_increase_event_counter(1));
        OK(nosv_detach(NOSV_DETACH_NONE));
        OK(nosv_decrease_event_counter(task, 1));
    }
}

static void churn(int times)
{
    nosv_task_t task;
    for (int i = 0; i < times; i++) {
        OK(nosv_attach(&task, NULL, "a label that is somewhat long", NOSV_ATTACH_NONE));
        OK(nosv_detach(NOSV_DETACH_NONE));
    }
}
static void nothing_leaks(void)
{
    churn(2000);
    long before = resident();
    churn(40000);
    CHECK(resident() - before < 1024);
}

int main(void)
{
    begin();
    OK(nosv_init());
    errors();
    context(NULL);
    on_thread(context, NULL);
    flags();
    nested();
    in_task(in_worker, NOSV_CREATE_NONE);
    in_inline_task();
    mask();
    place();
    threads();
    events();
    nothing_leaks();
    CHECK_EQ(get(&most), 0);
    OK(nosv_shutdown());
    return 0;
}
