/* tests/nosv/compat-rwlock.c - read-write locks of tasks.  SPDX-License-Identifier: Apache-2.0 */
#include <nosv/compat.h>

#include "nosv_test.h"

static nosv_rwlock_t rwlock = NOSV_RWLOCK_INITIALIZER;
static int completions, readers, writers, most_readers, value[2];
static void finish(nosv_task_t task) { OK(nosv_destroy(task, NOSV_DESTROY_NONE)); add(&completions, 1); }

static void outside(void)
{
    nosv_rwlockattr_t attr;
    nosv_rwlock_t own;
    CHECK_EQ(sizeof(nosv_rwlock_t), SIZEOF_NOSV_RWLOCK);
    CHECK_EQ(sizeof(nosv_rwlockattr_t), SIZEOF_NOSV_RWLOCKATTR);
    CHECK_EQ(nosv_rwlockattr_init(NULL), EINVAL);
    CHECK_EQ(nosv_rwlockattr_destroy(NULL), EINVAL);
    CHECK_EQ(nosv_rwlock_init(NULL, NULL), EINVAL);
    CHECK_EQ(nosv_rwlock_destroy(NULL), EINVAL);
    memset(&own, 0x33, sizeof(own));
    CHECK_EQ(nosv_rwlockattr_init(&attr), 0);
    CHECK_EQ(nosv_rwlock_init(&own, &attr), 0);
    CHECK_EQ(nosv_rwlockattr_destroy(&attr), 0);
    CHECK_EQ(nosv_rwlock_rdlock(&own), ESRCH);
    CHECK_EQ(nosv_rwlock_wrlock(&own), ESRCH);
    CHECK_EQ(nosv_rwlock_tryrdlock(&own), ESRCH);
    CHECK_EQ(nosv_rwlock_trywrlock(&own), ESRCH);
    CHECK_EQ(nosv_rwlock_unlock(&own), ESRCH);
    CHECK_EQ(nosv_rwlock_destroy(&own), 0);
}

static void parallel_body(void)
{
    CHECK_EQ(nosv_rwlock_rdlock(&rwlock), EINVAL);
    CHECK_EQ(nosv_rwlock_wrlock(&rwlock), EINVAL);
    CHECK_EQ(nosv_rwlock_tryrdlock(&rwlock), EINVAL);
    CHECK_EQ(nosv_rwlock_trywrlock(&rwlock), EINVAL);
}

static void alone(void)
{
    nosv_rwlock_t own = NOSV_RWLOCK_INITIALIZER;
    CHECK_EQ(nosv_rwlock_rdlock(NULL), EINVAL);
    CHECK_EQ(nosv_rwlock_wrlock(NULL), EINVAL);
    CHECK_EQ(nosv_rwlock_tryrdlock(NULL), EINVAL);
    CHECK_EQ(nosv_rwlock_trywrlock(NULL), EINVAL);
    CHECK_EQ(nosv_rwlock_unlock(NULL), EINVAL);
    CHECK_EQ(nosv_rwlock_unlock(&own), EPERM);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(nosv_rwlock_wrlock(&own), 0);
        CHECK_EQ(nosv_rwlock_tryrdlock(&own), EBUSY);
        CHECK_EQ(nosv_rwlock_trywrlock(&own), EBUSY);
        CHECK_EQ(nosv_rwlock_rdlock(&own), EDEADLK);
        CHECK_EQ(nosv_rwlock_wrlock(&own), EDEADLK);
        CHECK_EQ(nosv_rwlock_destroy(&own), EBUSY);
        CHECK_EQ(nosv_rwlock_unlock(&own), 0);
        CHECK_EQ(nosv_rwlock_unlock(&own), EPERM);
        CHECK_EQ(nosv_rwlock_rdlock(&own), 0);
        CHECK_EQ(nosv_rwlock_tryrdlock(&own), 0);
        CHECK_EQ(nosv_rwlock_trywrlock(&own), EBUSY);
        CHECK_EQ(nosv_rwlock_destroy(&own), EBUSY);
        CHECK_EQ(nosv_rwlock_unlock(&own), 0);
        CHECK_EQ(nosv_rwlock_trywrlock(&own), EBUSY);
        CHECK_EQ(nosv_rwlock_unlock(&own), 0);
        CHECK_EQ(nosv_rwlock_unlock(&own), EPERM);
        CHECK_EQ(nosv_rwlock_trywrlock(&own), 0);
        CHECK_EQ(nosv_rwlock_unlock(&own), 0);
    }
    CHECK_EQ(nosv_rwlock_destroy(&own), 0);
}

/* Writers are alone, readers are not, also while the task that has the lock yields. */
static void reads(nosv_task_t task)
{
    for (int i = 0; i < 20; i++) {
        if (i % 4 == 3) { if (nosv_rwlock_tryrdlock(&rwlock)) continue; }
        else CHECK_EQ(nosv_rwlock_rdlock(&rwlock), 0);
        int n = add(&readers, 1);
        CHECK_EQ(get(&writers), 0);
        for (int seen = get(&most_readers); n > seen && !__atomic_compare_exchange_n(&most_readers, &seen, n, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);) {}
        CHECK_EQ(get(&value[0]), get(&value[1]));
        OK(nosv_yield(NOSV_YIELD_NONE));
        CHECK_EQ(get(&writers), 0);
        add(&readers, -1);
        CHECK_EQ(nosv_rwlock_unlock(&rwlock), 0);
        if (i % 7 == 0) { OK(nosv_submit(task, NOSV_SUBMIT_NONE)); OK(nosv_pause(NOSV_PAUSE_NONE)); }
    }
}
static void writes(nosv_task_t task)
{
    (void)task;
    for (int i = 0; i < 20; i++) {
        if (i % 4 == 3) { if (nosv_rwlock_trywrlock(&rwlock)) continue; }
        else CHECK_EQ(nosv_rwlock_wrlock(&rwlock), 0);
        CHECK_EQ(add(&writers, 1), 1);
        CHECK_EQ(get(&readers), 0);
        add(&value[0], 1);
        OK(nosv_yield(NOSV_YIELD_NONE));
        add(&value[1], 1);
        CHECK_EQ(get(&readers), 0);
        add(&writers, -1);
        CHECK_EQ(nosv_rwlock_unlock(&rwlock), 0);
    }
}
static void contended(void)
{
    nosv_task_type_t reader = type_of(reads, NULL, finish), writer = type_of(writes, NULL, finish);
    set(&completions, 0);
    for (int i = 0; i < 60; i++) OK(nosv_submit(task_of(i % 5 == 4 ? writer : reader, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    UNTIL(get(&completions) == 60);
    CHECK_EQ(get(&value[0]), get(&value[1]));
    OK(nosv_type_destroy(reader, NOSV_TYPE_DESTROY_NONE));
    OK(nosv_type_destroy(writer, NOSV_TYPE_DESTROY_NONE));
}

/* Any number of readers together. */
static int inside;
static void stays(nosv_task_t task)
{
    (void)task;
    CHECK_EQ(nosv_rwlock_rdlock(&rwlock), 0);
    add(&inside, 1);
    OK(nosv_pause(NOSV_PAUSE_NONE));
    CHECK_EQ(nosv_rwlock_unlock(&rwlock), 0);
}
static void together(void)
{
    nosv_task_type_t type = type_of(stays, NULL, finish);
    nosv_task_t tasks[64];
    set(&inside, 0);
    set(&completions, 0);
    for (int i = 0; i < 64; i++) OK(nosv_submit(tasks[i] = task_of(type, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    UNTIL(get(&inside) == 64);
    for (int i = 0; i < 64; i++) OK(nosv_submit(tasks[i], NOSV_SUBMIT_NONE));
    UNTIL(get(&completions) == 64);
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* Writers come first: while one waits no reader gets in, and waiting writers go before waiting readers. */
static struct record order;
static int about_to_wait;
static void in_order(nosv_task_t task)
{
    int what = (int)(intptr_t)pointer_of(task);
    add(&about_to_wait, 1);
    CHECK_EQ(what % 2 ? nosv_rwlock_wrlock(&rwlock) : nosv_rwlock_rdlock(&rwlock), 0);
    note(&order, what);
    CHECK_EQ(nosv_rwlock_unlock(&rwlock), 0);
}
static void writers_first(void)
{
    nosv_task_type_t type = type_of(in_order, NULL, finish);
    attach_pinned();
    for (int held = 0; held < 2; held++) {      /* by this reader, by this writer */
        clear(&order);
        set(&about_to_wait, 0);
        set(&completions, 0);
        CHECK_EQ(held ? nosv_rwlock_wrlock(&rwlock) : nosv_rwlock_rdlock(&rwlock), 0);
        for (intptr_t i = 0; i < 8; i++) {      /* a writer, then readers and writers in turn */
            OK(nosv_submit(pinned(task_of(type, (void *)(i + 1), NOSV_CREATE_NONE)), NOSV_SUBMIT_NONE));
            UNTIL(get(&about_to_wait) == i + 1);
            rest();
        }
        CHECK_EQ(get(&order.n), 0);
        CHECK_EQ(nosv_rwlock_tryrdlock(&rwlock), EBUSY);
        CHECK_EQ(nosv_rwlock_unlock(&rwlock), 0);
        UNTIL(get(&completions) == 8);
        for (int i = 0; i < 4; i++) CHECK_EQ(order.what[i], 2 * i + 1);
        for (int i = 4; i < 8; i++) CHECK(order.what[i] % 2 == 0);
    }
    OK(nosv_detach(NOSV_DETACH_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

int main(void)
{
    begin();
    outside();
    OK(nosv_init());
    outside();
    in_task(parallel_body, NOSV_CREATE_PARALLEL);
    in_task(alone, NOSV_CREATE_NONE);
    contended();
    together();
    writers_first();
    attach();
    alone();
    contended();
    OK(nosv_detach(NOSV_DETACH_NONE));
    CHECK_EQ(nosv_rwlock_destroy(&rwlock), 0);
    OK(nosv_shutdown());
    return 0;
}
