/* tests/nosv/compat-barrier.c - barriers of tasks.  SPDX-License-Identifier: Apache-2.0 */
#include <nosv/compat.h>

#include "nosv_test.h"

static nosv_barrier_t barrier;
static int completions, arrived, serial;
static void finish(nosv_task_t task) { OK(nosv_destroy(task, NOSV_DESTROY_NONE)); add(&completions, 1); }

static void outside(void)
{
    nosv_barrierattr_t attr;
    CHECK_EQ(sizeof(nosv_barrier_t), SIZEOF_NOSV_BARRIER);
    CHECK_EQ(sizeof(nosv_barrierattr_t), SIZEOF_NOSV_BARRIERATTR);
    CHECK_EQ(nosv_barrierattr_init(NULL), EINVAL);
    CHECK_EQ(nosv_barrierattr_destroy(NULL), EINVAL);
    CHECK_EQ(nosv_barrierattr_init(&attr), 0);
    CHECK_EQ(nosv_barrier_init(NULL, NULL, 1), EINVAL);
    CHECK_EQ(nosv_barrier_init(&barrier, NULL, 0), EINVAL);
    CHECK_EQ(nosv_barrier_destroy(NULL), EINVAL);
    CHECK_EQ(nosv_barrier_init(&barrier, &attr, 1), 0);
    CHECK_EQ(nosv_barrier_wait(&barrier), ESRCH);
    CHECK_EQ(nosv_barrier_destroy(&barrier), 0);
    CHECK_EQ(nosv_barrierattr_destroy(&attr), 0);
}

static void parallel_body(void) { CHECK_EQ(nosv_barrier_wait(&barrier), EINVAL); }

static void alone(void)
{
    nosv_barrier_t own;
    CHECK_EQ(nosv_barrier_wait(NULL), EINVAL);
    memset(&own, 0, sizeof(own));
    CHECK_EQ(nosv_barrier_wait(&own), EINVAL);      /* not initialised */
    CHECK_EQ(nosv_barrier_init(&own, NULL, 1), 0);
    for (int i = 0; i < 10; i++) CHECK_EQ(nosv_barrier_wait(&own), PTHREAD_BARRIER_SERIAL_THREAD);
    CHECK_EQ(nosv_barrier_destroy(&own), 0);
}

/* The barrier is used again at once; nobody passes before all have come; one task of each round is the serial one. */
enum { TASKS = 16, ROUNDS = 40 };
static void rounds(nosv_task_t task)
{
    for (int i = 0; i < ROUNDS; i++) {
        add(&arrived, 1);
        int r = nosv_barrier_wait(&barrier);
        CHECK(r == 0 || r == PTHREAD_BARRIER_SERIAL_THREAD);
        CHECK(get(&arrived) >= TASKS * (i + 1));
        if (r) add(&serial, 1);
        if (i % 8 == 3) { OK(nosv_submit(task, NOSV_SUBMIT_NONE)); OK(nosv_pause(NOSV_PAUSE_NONE)); }
    }
}
static void many(void)
{
    nosv_task_type_t type = type_of(rounds, NULL, finish);
    CHECK_EQ(nosv_barrier_init(&barrier, NULL, TASKS), 0);
    set(&arrived, 0);
    set(&serial, 0);
    set(&completions, 0);
    for (int i = 0; i < TASKS; i++) OK(nosv_submit(task_of(type, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    UNTIL(get(&completions) == TASKS);
    CHECK_EQ(get(&arrived), TASKS * ROUNDS);
    CHECK_EQ(get(&serial), ROUNDS);
    CHECK_EQ(nosv_barrier_destroy(&barrier), 0);
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* Destroyed while a task waits: refused.  The serial task destroys it once the others have left. */
static void waits(nosv_task_t task) { (void)task; add(&arrived, 1); nosv_barrier_wait(&barrier); }
static void busy(void)
{
    nosv_task_type_t type = type_of(waits, NULL, finish);
    attach_pinned();
    CHECK_EQ(nosv_barrier_init(&barrier, NULL, 2), 0);
    set(&arrived, 0);
    set(&completions, 0);
    OK(nosv_submit(pinned(task_of(type, NULL, NOSV_CREATE_NONE)), NOSV_SUBMIT_NONE));
    UNTIL(get(&arrived) == 1);
    rest();
    CHECK_EQ(nosv_barrier_destroy(&barrier), EBUSY);
    CHECK_EQ(nosv_barrier_wait(&barrier), PTHREAD_BARRIER_SERIAL_THREAD);     /* the last one to come */
    UNTIL(get(&completions) == 1);
    CHECK_EQ(nosv_barrier_destroy(&barrier), 0);
    OK(nosv_detach(NOSV_DETACH_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

int main(void)
{
    begin();
    outside();
    OK(nosv_init());
    outside();
    CHECK_EQ(nosv_barrier_init(&barrier, NULL, 1), 0);
    in_task(parallel_body, NOSV_CREATE_PARALLEL);
    CHECK_EQ(nosv_barrier_destroy(&barrier), 0);
    in_task(alone, NOSV_CREATE_NONE);
    many();
    busy();
    attach();
    alone();
    many();
    OK(nosv_detach(NOSV_DETACH_NONE));
    OK(nosv_shutdown());
    return 0;
}
