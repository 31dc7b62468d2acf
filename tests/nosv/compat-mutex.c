/* tests/nosv/compat-mutex.c - mutexes, and threads that are attached from their start.  SPDX-License-Identifier: Apache-2.0 */
#include <nosv/compat.h>

#include "nosv_test.h"

static nosv_mutex_t mutex = NOSV_MUTEX_INITIALIZER;
static int completions, inside, ran;
static nosv_task_type_t type;
static void finish(nosv_task_t task) { OK(nosv_destroy(task, NOSV_DESTROY_NONE)); add(&completions, 1); }

static void outside(void)
{
    nosv_mutexattr_t attr;
    CHECK_EQ(sizeof(nosv_mutex_t), SIZEOF_NOSV_MUTEX);
    CHECK_EQ(sizeof(nosv_mutexattr_t), SIZEOF_NOSV_MUTEXATTR);
    CHECK_EQ(nosv_mutexattr_init(NULL), EINVAL);
    CHECK_EQ(nosv_mutexattr_destroy(NULL), EINVAL);
    CHECK_EQ(nosv_mutex_init(NULL, NULL), EINVAL);
    CHECK_EQ(nosv_mutex_destroy(NULL), EINVAL);
    nosv_mutex_t own;
    memset(&own, 0xa5, sizeof(own));
    CHECK_EQ(nosv_mutexattr_init(&attr), 0);
    CHECK_EQ(nosv_mutex_init(&own, &attr), 0);
    CHECK_EQ(nosv_mutex_lock(&own), ESRCH);
    CHECK_EQ(nosv_mutex_trylock(&own), ESRCH);
    CHECK_EQ(nosv_mutex_unlock(&own), ESRCH);
    CHECK_EQ(nosv_mutex_destroy(&own), 0);
    CHECK_EQ(nosv_mutexattr_destroy(&attr), 0);
}

static void parallel_body(void)
{
    CHECK_EQ(nosv_mutex_lock(&mutex), EINVAL);
    CHECK_EQ(nosv_mutex_trylock(&mutex), EINVAL);
}

static void in_context(void)
{
    nosv_mutex_t own = NOSV_MUTEX_INITIALIZER, zero;
    memset(&zero, 0, sizeof(zero));
    CHECK_EQ(nosv_mutex_lock(NULL), EINVAL);
    CHECK_EQ(nosv_mutex_trylock(NULL), EINVAL);
    CHECK_EQ(nosv_mutex_unlock(NULL), EINVAL);
    CHECK_EQ(nosv_mutex_unlock(&own), EPERM);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(nosv_mutex_lock(&own), 0);
        CHECK_EQ(nosv_mutex_trylock(&own), EBUSY);
        CHECK_EQ(nosv_mutex_lock(&own), EDEADLK);
        CHECK_EQ(nosv_mutex_destroy(&own), EBUSY);
        CHECK_EQ(nosv_mutex_unlock(&own), 0);
        CHECK_EQ(nosv_mutex_unlock(&own), EPERM);
        CHECK_EQ(nosv_mutex_trylock(&own), 0);
        CHECK_EQ(nosv_mutex_unlock(&own), 0);
    }
    CHECK_EQ(nosv_mutex_destroy(&own), 0);
    CHECK_EQ(nosv_mutex_init(&own, NULL), 0);
    CHECK_EQ(nosv_mutex_trylock(&own), 0);
    CHECK_EQ(nosv_mutex_unlock(&own), 0);
    CHECK_EQ(nosv_mutex_destroy(&own), 0);
    CHECK_EQ(nosv_mutex_lock(&zero), 0);
    CHECK_EQ(nosv_mutex_unlock(&zero), 0);
}

/* One at a time, also while the task with the lock blocks. */
static void critical(nosv_task_t task)
{
    for (int i = 0; i < 50; i++) {
        if (i % 5 == 4) { if (nosv_mutex_trylock(&mutex)) continue; }
        else CHECK_EQ(nosv_mutex_lock(&mutex), 0);
        CHECK_EQ(add(&inside, 1), 1);
        CHECK(nosv_self() == task);
        if (i % 10 == 0) OK(nosv_yield(NOSV_YIELD_NONE));
        if (i % 25 == 0) OK(nosv_waitfor(1000, NULL));
        add(&inside, -1);
        CHECK_EQ(nosv_mutex_unlock(&mutex), 0);
        /* Waiting for a lock and waiting for a submission do not mix. */
        if (i % 7 == 0) { OK(nosv_submit(task, NOSV_SUBMIT_NONE)); OK(nosv_pause(NOSV_PAUSE_NONE)); }
    }
    add(&ran, 1);
}
static void contended(void)
{
    set(&completions, 0);
    set(&ran, 0);
    for (int i = 0; i < 64; i++) OK(nosv_submit(task_of(type, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    UNTIL(get(&completions) == 64);
    CHECK_EQ(get(&ran), 64);
}

/* Waiting tasks get the mutex in the order in which they came, one for each unlock. */
static struct record order;
static int waiting;
static void waits(nosv_task_t task)
{
    add(&waiting, 1);
    CHECK_EQ(nosv_mutex_lock(&mutex), 0);
    note(&order, (int)(intptr_t)pointer_of(task));
    OK(nosv_pause(NOSV_PAUSE_NONE));
    CHECK_EQ(nosv_mutex_unlock(&mutex), 0);
}
static void hands_over(void)
{
    nosv_task_type_t waiters = type_of(waits, NULL, finish);
    nosv_task_t tasks[10];
    attach_pinned();
    clear(&order);
    set(&waiting, 0);
    set(&completions, 0);
    CHECK_EQ(nosv_mutex_lock(&mutex), 0);
    for (intptr_t i = 0; i < 10; i++) OK(nosv_submit(tasks[i] = pinned(task_of(waiters, (void *)i, NOSV_CREATE_NONE)), NOSV_SUBMIT_NONE));
    UNTIL(get(&waiting) == 10);
    rest();                                 /* on one CPU: the last waits, too */
    CHECK_EQ(get(&order.n), 0);
    CHECK_EQ(nosv_mutex_unlock(&mutex), 0);
    CHECK_EQ(nosv_mutex_trylock(&mutex), EBUSY);    /* it was handed to the first */
    CHECK_EQ(nosv_mutex_unlock(&mutex), EPERM);
    for (int i = 0; i < 10; i++) {
        UNTIL(get(&order.n) == i + 1);
        rest();
        CHECK_EQ(get(&order.n), i + 1);
        CHECK_EQ(order.what[i], i);
        OK(nosv_submit(tasks[i], NOSV_SUBMIT_NONE));
    }
    UNTIL(get(&completions) == 10);
    CHECK_EQ(nosv_mutex_lock(&mutex), 0);
    CHECK_EQ(nosv_mutex_unlock(&mutex), 0);
    OK(nosv_detach(NOSV_DETACH_NONE));
    OK(nosv_type_destroy(waiters, NOSV_TYPE_DESTROY_NONE));
}

/* nosv_pthread_create. */
static void *thread_body(void *arg)
{
    nosv_task_t task;
    CHECK(nosv_self());
    CHECK(!nosv_get_task_metadata(nosv_self()));
    CHECK(!nosv_get_task_type_label(nosv_get_task_type(nosv_self())));
    OK(nosv_yield(NOSV_YIELD_NONE));
    OK(nosv_attach(&task, NULL, "inner", NOSV_ATTACH_NONE));
    CHECK(task == nosv_self());
    OK(nosv_detach(NOSV_DETACH_NONE));
    CHECK_EQ(nosv_mutex_lock(&mutex), 0);
    CHECK_EQ(add(&inside, 1), 1);
    OK(nosv_waitfor(1000, NULL));
    add(&inside, -1);
    CHECK_EQ(nosv_mutex_unlock(&mutex), 0);
    add(&ran, 1);
    if ((intptr_t)arg % 2) pthread_exit(arg);
    return arg;
}
static void threads(void)
{
    pthread_t thread[32];
    void *result;
    set(&ran, 0);
    CHECK_EQ(nosv_pthread_create(NULL, NULL, thread_body, NULL), EINVAL);
    CHECK_EQ(nosv_pthread_create(&thread[0], NULL, NULL, NULL), EINVAL);
    for (intptr_t i = 0; i < 32; i++) CHECK_EQ(nosv_pthread_create(&thread[i], NULL, thread_body, (void *)i), 0);
    UNTIL(get(&ran) == 32);
    for (intptr_t i = 0; i < 32; i++) {
        CHECK_EQ(pthread_join(thread[i], &result), 0);
        CHECK_EQ((intptr_t)result, i);
    }
    pthread_attr_t attr;
    CHECK(!pthread_attr_init(&attr) && !pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED));
    CHECK_EQ(nosv_pthread_create(&thread[0], &attr, thread_body, NULL), 0);
    UNTIL(get(&ran) == 33);
    pthread_attr_destroy(&attr);
}

int main(void)
{
    begin();
    outside();
    OK(nosv_init());
    outside();
    type = type_of(critical, NULL, finish);
    in_task(parallel_body, NOSV_CREATE_PARALLEL);
    in_task(in_context, NOSV_CREATE_NONE);
    contended();
    hands_over();
    threads();
    attach();
    in_context();
    contended();
    threads();
    OK(nosv_detach(NOSV_DETACH_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
    rest();
    OK(nosv_shutdown());
    return 0;
}
