/* tests/nosv/places.c - under `usf run`: the CPU that a task is told to be on is the one in use.  SPDX-License-Identifier: Apache-2.0 */
#include <nosv/alpi.h>

#include "nosv_test.h"

static int completions;
static void finish(nosv_task_t task) { OK(nosv_destroy(task, NOSV_DESTROY_NONE)); add(&completions, 1); }

static void body(nosv_task_t task)
{
    uint64_t cpu;
    (void)task;
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(nosv_get_current_system_cpu(), sched_getcpu());
        CHECK_EQ(alpi_cpu_system_id(&cpu), 0);
        CHECK_EQ((int)cpu, sched_getcpu());
        if (i == 0) OK(nosv_yield(NOSV_YIELD_NONE));
        if (i == 1) OK(nosv_waitfor(1000, NULL));
    }
}

int main(void)
{
    enum { N = 2000 };
    begin();
    OK(nosv_init());
    nosv_task_type_t type = type_of(body, NULL, finish);
    for (int i = 0; i < N; i++) OK(nosv_submit(task_of(type, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    UNTIL(get(&completions) == N);
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
    OK(nosv_shutdown());
    return 0;
}
