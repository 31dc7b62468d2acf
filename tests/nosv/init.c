/* tests/nosv/init.c - nosv_init and nosv_shutdown.  SPDX-License-Identifier: Apache-2.0 */
#include "nosv_test.h"

static int completions, ran;
static void run(nosv_task_t task) { (void)task; add(&ran, 1); }
static void finish(nosv_task_t task) { OK(nosv_destroy(task, NOSV_DESTROY_NONE)); add(&completions, 1); }

/* Several threads do this at once. */
static void counted(nosv_task_t task)
{
    int *done = (int *)pointer_of(task);
    OK(nosv_destroy(task, NOSV_DESTROY_NONE));
    add(done, 1);
}
static void use(void)
{
    int done = 0;
    nosv_task_type_t type = type_of(run, NULL, counted);
    for (int i = 0; i < 20; i++) OK(nosv_submit(task_of(type, &done, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    UNTIL(get(&done) == 20);
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* Inits nest; each needs its shutdown; after the last one a new init works. */
static void nests(void)
{
    CHECK_EQ(nosv_shutdown(), NOSV_ERR_NOT_INITIALIZED);
    for (int depth = 1; depth <= 4; depth++) {
        for (int i = 0; i < depth; i++) OK(nosv_init());
        CHECK(!nosv_self());        /* init attaches nobody */
        use();
        for (int i = 0; i < depth; i++) {
            CHECK(nosv_get_num_cpus() > 0);
            OK(nosv_shutdown());
        }
        CHECK_EQ(nosv_get_num_cpus(), NOSV_ERR_NOT_INITIALIZED);
        CHECK_EQ(nosv_shutdown(), NOSV_ERR_NOT_INITIALIZED);
    }
}

/* A thread gives back its own inits only. */
static void without_init(void *arg)
{
    (void)arg;
    CHECK_EQ(nosv_shutdown(), NOSV_ERR_UNKNOWN);
    nosv_task_t task;
    OK(nosv_attach(&task, NULL, "thread", NOSV_ATTACH_NONE));   /* the process's init will do */
    OK(nosv_detach(NOSV_DETACH_NONE));
}
static void with_init(void *arg)
{
    (void)arg;
    OK(nosv_init());
    OK(nosv_init());
    use();
    OK(nosv_shutdown());
    OK(nosv_shutdown());
    CHECK_EQ(nosv_shutdown(), NOSV_ERR_UNKNOWN);
}
static void leaves_init(void *arg) { (void)arg; OK(nosv_init()); }
static void owners(void)
{
    OK(nosv_init());
    on_thread(without_init, NULL);
    on_thread(with_init, NULL);
    on_thread(without_init, NULL);
    use();
    OK(nosv_shutdown());
    CHECK_EQ(nosv_shutdown(), NOSV_ERR_NOT_INITIALIZED);
    on_thread(leaves_init, NULL);       /* it stays in force when its thread ends */
    use();
    CHECK_EQ(nosv_shutdown(), NOSV_ERR_UNKNOWN);
}

/* While it is attached, a thread may init, and shut that down again. */
static void while_attached(void)
{
    OK(nosv_init());
    attach();
    for (int i = 0; i < 3; i++) {
        OK(nosv_init());
        OK(nosv_shutdown());
    }
    use();
    OK(nosv_detach(NOSV_DETACH_NONE));
    OK(nosv_shutdown());
}

/* Many threads at once; tasks, too. */
static void *inits(void *arg)
{
    for (int i = 0; i < 50; i++) {
        OK(nosv_init());
        if (i % 10 == 0) use();
        CHECK(nosv_get_num_cpus() > 0);
        OK(nosv_shutdown());
    }
    return arg;
}
static void at_once(void)
{
    pthread_t threads[10];
    for (int i = 0; i < 10; i++) CHECK_EQ(pthread_create(&threads[i], NULL, inits, NULL), 0);
    for (int i = 0; i < 10; i++) CHECK_EQ(pthread_join(threads[i], NULL), 0);
    CHECK_EQ(nosv_get_num_cpus(), NOSV_ERR_NOT_INITIALIZED);
}
static void in_tasks(void) { OK(nosv_init()); OK(nosv_shutdown()); }

/* The last shutdown lets what is ready run, what that submits, and what waits for a time. */
static nosv_task_type_t chain;
static void submits(nosv_task_t task)
{
    intptr_t left = (intptr_t)pointer_of(task);
    if (left % 5 == 1) OK(nosv_waitfor(500000, NULL));
    if (left % 5 == 2) OK(nosv_yield(NOSV_YIELD_NONE));
    if (left > 0) OK(nosv_submit(task_of(chain, (void *)(left - 1), NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    add(&ran, 1);
}
static void drains(void)
{
    for (int round = 0; round < 10; round++) {
        OK(nosv_init());
        set(&ran, 0);
        chain = type_of(submits, NULL, finish);
        for (int i = 0; i < 20; i++) OK(nosv_submit(task_of(chain, (void *)(intptr_t)9, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
        OK(nosv_shutdown());
        CHECK_EQ(get(&ran), 200);
    }
}

/* What is paused, has events or is suspended stays behind, never resumes, and holds nothing up. */
static void pauses(nosv_task_t task) { (void)task; add(&ran, 1); OK(nosv_pause(NOSV_PAUSE_NONE)); add(&completions, 1000); }
static void leaves_event(nosv_task_t task) { (void)task; OK(nosv_increase_event_counter(1)); add(&ran, 1); }
static void suspends(nosv_task_t task) { (void)task; OK(nosv_suspend()); add(&ran, 1); }
static void stays_behind(void)
{
    for (int round = 0; round < 3; round++) {
        OK(nosv_init());
        set(&ran, 0);
        set(&completions, 0);
        nosv_task_type_t types[] = {type_of(pauses, NULL, finish), type_of(leaves_event, NULL, finish), type_of(suspends, NULL, finish)};
        for (int i = 0; i < 30; i++) OK(nosv_submit(task_of(types[i % 3], NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
        nosv_task_t never = task_of(types[0], NULL, NOSV_CREATE_NONE);      /* created, and not submitted */
        (void)never;
        OK(nosv_shutdown());
        CHECK_EQ(get(&ran), 30);
        CHECK_EQ(get(&completions), 0);
    }
    OK(nosv_init());
    use();
    OK(nosv_shutdown());
}

/* The last one of a task cannot end the runtime that executes it. */
static int result;
static void shuts_down(nosv_task_t task)
{
    (void)task;
    while (!get(&completions)) OK(nosv_waitfor(100000, NULL));     /* until the other owner has gone */
    set(&result, nosv_shutdown());
    add(&ran, 1);
}
static void takes_init(nosv_task_t task) { OK(nosv_init()); add(&ran, 1); shuts_down(task); }
static void last_in_task(void)
{
    OK(nosv_init());
    set(&ran, 0);
    set(&completions, 0);
    set(&result, 1);
    nosv_task_type_t type = type_of(takes_init, NULL, NULL);
    nosv_task_t task = task_of(type, NULL, NOSV_CREATE_NONE);
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    UNTIL(get(&ran) == 1);
    OK(nosv_shutdown());
    set(&completions, 1);
    UNTIL(get(&ran) == 2);
    CHECK_EQ(get(&result), NOSV_ERR_INVALID_OPERATION);
    CHECK(nosv_get_num_cpus() > 0);
}

/* Exits without a shutdown: with attached threads, ready and paused tasks; in a process of its own. */
static void abandons(void)
{
    OK(nosv_init());
    attach();
    nosv_task_type_t types[] = {type_of(pauses, NULL, finish), type_of(run, NULL, finish)};
    for (int i = 0; i < 100; i++) OK(nosv_submit(task_of(types[i % 2], NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
}
static void abandons_by_exit(void) { abandons(); exit(0); }

/* Still attached at the last shutdown: all stays, and the next init goes on with it. */
static void attached_at_the_end(void)
{
    OK(nosv_init());
    attach();
    OK(nosv_shutdown());
    CHECK_EQ(nosv_detach(NOSV_DETACH_NONE), NOSV_ERR_NOT_INITIALIZED);
    OK(nosv_init());
    use();
    OK(nosv_detach(NOSV_DETACH_NONE));
    OK(nosv_shutdown());
    nests();
}

int main(void)
{
    begin();
    in_child(nests);
    in_child(owners);
    in_child(abandons);
    in_child(abandons_by_exit);
    in_child(attached_at_the_end);
    in_child(last_in_task);
    in_child(stays_behind);
    nests();
    while_attached();
    at_once();
    drains();
    OK(nosv_init());
    in_task(in_tasks, NOSV_CREATE_NONE);
    OK(nosv_shutdown());
    return 0;
}
