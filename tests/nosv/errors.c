/* tests/nosv/errors.c - error texts, and every function of a process that is not initialised.  SPDX-License-Identifier: Apache-2.0 */
#include <nosv/compat.h>
#include <nosv/memory.h>

#include "nosv_test.h"

#define NOT(call) CHECK_EQ(call, NOSV_ERR_NOT_INITIALIZED)

static void values(void)
{
    static const int codes[] = {NOSV_SUCCESS, NOSV_ERR_INVALID_CALLBACK, NOSV_ERR_INVALID_METADATA_SIZE, NOSV_ERR_INVALID_OPERATION,
        NOSV_ERR_INVALID_PARAMETER, NOSV_ERR_NOT_INITIALIZED, NOSV_ERR_OUT_OF_MEMORY, NOSV_ERR_OUTSIDE_TASK, NOSV_ERR_UNKNOWN, NOSV_ERR_BUSY,
        NOSV_ERR_TIMEOUT, NOSV_ERR_MAX};
    for (int i = 0; i < 12; i++) CHECK_EQ(codes[i], -i);
    CHECK_EQ(NOSV_MAX_METADATA_SIZE, 4096);
    CHECK_EQ(NOSV_TYPE_INIT_EXTERNAL, 1);
    CHECK(NOSV_CREATE_PARALLEL == 1 && NOSV_CREATE_JOINABLE == 2);
    CHECK(NOSV_SUBMIT_UNLOCKED == 1 && NOSV_SUBMIT_BLOCKING == 2 && NOSV_SUBMIT_IMMEDIATE == 4 && NOSV_SUBMIT_INLINE == 8);
    CHECK(NOSV_SUBMIT_DEADLINE_WAKE == 16 && NOSV_YIELD_NOFLUSH == 1 && NOSV_ATTACH_INSTRUMENT == 1);
    CHECK(NOSV_DETACH_NO_RESTORE_AFFINITY == 1 && NOSV_DETACH_INSTRUMENT == 2);
    CHECK(!(NOSV_TYPE_INIT_NONE | NOSV_TYPE_DESTROY_NONE | NOSV_CREATE_NONE | NOSV_DESTROY_NONE | NOSV_SUBMIT_NONE | NOSV_PAUSE_NONE | NOSV_CANCEL_NONE
        | NOSV_YIELD_NONE | NOSV_SCHEDPOINT_NONE | NOSV_ATTACH_NONE | NOSV_DETACH_NONE));
    CHECK(NOSV_SUSPEND_MODE_NONE == 0 && NOSV_SUSPEND_MODE_SUBMIT == 1 && NOSV_SUSPEND_MODE_TIMEOUT_SUBMIT == 2 && NOSV_SUSPEND_MODE_EVENT_SUBMIT == 3);
    CHECK(NOSV_MUTEX_NONE == 0 && NOSV_COND_NONE == 0 && NOSV_BARRIER_NONE == 0);
}

static void texts(void)
{
    for (int i = NOSV_ERR_MAX + 1; i <= 0; i++) {
        const char *text = nosv_get_error_string(i);
        CHECK(text && strlen(text) > 5 && !strchr(text, '\n'));
        for (int k = i + 1; k <= 0; k++) CHECK(strcmp(text, nosv_get_error_string(k)));
        CHECK(text == nosv_get_error_string(i));
    }
    static const int unknown[] = {NOSV_ERR_MAX, -20, 1, 77, INT_MAX, INT_MIN};
    for (int i = 0; i < 6; i++) CHECK(nosv_get_error_string(unknown[i]) && strlen(nosv_get_error_string(unknown[i])) > 5);
}

static void run(nosv_task_t task) { (void)task; }

static void not_initialised(void)
{
    nosv_task_type_t type = NULL;
    nosv_task_t task = NULL;
    uint64_t ns;
    size_t size;
    float pressure;
    void *result;
    CHECK(!nosv_self());
    NOT(nosv_shutdown());
    NOT(nosv_type_init(&type, run, NULL, NULL, "t", NULL, NULL, NOSV_TYPE_INIT_NONE));
    NOT(nosv_type_init(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NOSV_TYPE_INIT_NONE));
    NOT(nosv_type_destroy(NULL, NOSV_TYPE_DESTROY_NONE));
    NOT(nosv_create(&task, NULL, 0, NOSV_CREATE_NONE));
    NOT(nosv_destroy(NULL, NOSV_DESTROY_NONE));
    NOT(nosv_submit(NULL, NOSV_SUBMIT_NONE));
    NOT(nosv_submit(NULL, NOSV_SUBMIT_BLOCKING));
    NOT(nosv_submit(NULL, NOSV_SUBMIT_INLINE));
    NOT(nosv_submit(NULL, NOSV_SUBMIT_DEADLINE_WAKE));
    NOT(nosv_set_submit_window_size(1));
    NOT(nosv_flush_submit_window());
    NOT(nosv_pause(NOSV_PAUSE_NONE));
    NOT(nosv_waitfor(1, NULL));
    NOT(nosv_waitfor(1, &ns));
    NOT(nosv_yield(NOSV_YIELD_NONE));
    NOT(nosv_schedpoint(NOSV_SCHEDPOINT_NONE));
    NOT(nosv_cancel(NOSV_CANCEL_NONE));
    NOT(nosv_increase_event_counter(1));
    NOT(nosv_decrease_event_counter(NULL, 1));
    NOT(nosv_has_events());
    NOT(nosv_task_had_events(NULL));
    NOT(nosv_set_suspend_mode(NOSV_SUSPEND_MODE_NONE, 0));
    NOT(nosv_suspend());
    NOT(nosv_wait(NULL, 0));
    NOT(nosv_wait_all(&task, 1, 0));
    NOT(nosv_join(NULL, &result, 0));
    NOT(nosv_join_all(&task, &result, 1, 0));
    NOT(nosv_set_result(NULL));
    NOT(nosv_attach(&task, NULL, "t", NOSV_ATTACH_NONE));
    NOT(nosv_attach(NULL, NULL, "t", NOSV_ATTACH_NONE));
    NOT(nosv_detach(NOSV_DETACH_NONE));
    NOT(nosv_memory_get_used(&size));
    NOT(nosv_memory_get_size(&size));
    NOT(nosv_memory_get_pressure(&pressure));
    NOT(nosv_get_num_cpus());
    NOT(nosv_get_current_logical_cpu());
    NOT(nosv_get_current_system_cpu());
    NOT(nosv_get_num_numa_nodes());
    NOT(nosv_get_current_logical_numa_node());
    NOT(nosv_get_current_system_numa_node());
    NOT(nosv_get_system_numa_id(0));
    NOT(nosv_get_logical_numa_id(0));
    NOT(nosv_get_num_cpus_in_numa(0));
    for (int i = 0; i < NOSV_TOPO_LEVEL_COUNT; i++) {
        nosv_topo_level_t level = (nosv_topo_level_t)i;
        NOT(nosv_get_num_domains(level));
        NOT(nosv_get_current_logical_domain(level));
        NOT(nosv_get_current_system_domain(level));
        NOT(nosv_get_num_cpus_in_domain(level, 0));
        CHECK(!nosv_get_available_domains(level));
        CHECK(!nosv_get_available_cpus_in_domain(level, 0));
    }
    CHECK(!nosv_get_available_cpus() && !nosv_get_available_numa_nodes());
    CHECK_EQ(nosv_get_execution_id(), (uint32_t)NOSV_ERR_OUTSIDE_TASK);
    CHECK_EQ(nosv_get_default_affinity().level, NOSV_AFFINITY_LEVEL_NONE);
    CHECK(!type && !task);
    /* Getters of NULL. */
    CHECK(!nosv_get_task_metadata(NULL) && !nosv_get_task_type(NULL) && !nosv_get_task_type_label(NULL));
    CHECK_EQ(nosv_get_task_priority(NULL), 0);
    /* The locks know no task then; threads need an init. */
    nosv_mutex_t mutex = NOSV_MUTEX_INITIALIZER;
    nosv_cond_t cond = NOSV_COND_INITIALIZER;
    nosv_rwlock_t rwlock = NOSV_RWLOCK_INITIALIZER;
    nosv_barrier_t barrier;
    pthread_t thread;
    CHECK_EQ(nosv_barrier_init(&barrier, NULL, 1), 0);
    CHECK_EQ(nosv_mutex_lock(&mutex), ESRCH);
    CHECK_EQ(nosv_cond_wait(&cond, &mutex), ESRCH);
    CHECK_EQ(nosv_cond_signal(&cond), 0);
    CHECK_EQ(nosv_rwlock_rdlock(&rwlock), ESRCH);
    CHECK_EQ(nosv_barrier_wait(&barrier), ESRCH);
    CHECK_EQ(nosv_barrier_destroy(&barrier), 0);
    CHECK_EQ(nosv_pthread_create(&thread, NULL, (void *(*)(void *))abort, NULL), EINVAL);
}

int main(void)
{
    begin();
    values();
    texts();
    not_initialised();
    OK(nosv_init());
    texts();
    in_task(texts, NOSV_CREATE_NONE);
    OK(nosv_shutdown());
    texts();
    not_initialised();
    return 0;
}
