/* tests/nosv/two.c - the order of tasks where a process has two CPUs.  SPDX-License-Identifier: Apache-2.0 */
#include "nosv_test.h"

static struct record order;
static int completions, stage;
static nosv_task_type_t noting;
static void noted(nosv_task_t task) { note(&order, (int)(intptr_t)pointer_of(task)); }
static void finish(nosv_task_t task) { OK(nosv_destroy(task, NOSV_DESTROY_NONE)); add(&completions, 1); }

static void submit_noting(int what, int priority)
{
    nosv_task_t task = task_of(noting, (void *)(intptr_t)what, NOSV_CREATE_NONE);
    nosv_set_task_priority(task, priority);
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
}

static void reach(int s) { set(&stage, s); }
static void await(int s) { while (get(&stage) < s) sched_yield(); }

static void two(nosv_task_run_callback_t a, nosv_task_run_callback_t b, int tasks)
{
    nosv_task_type_t types[2] = {type_of(a, NULL, finish), type_of(b, NULL, finish)};
    noting = type_of(noted, NULL, finish);
    clear(&order);
    set(&completions, 0);
    set(&stage, 0);
    for (int i = 0; i < 2; i++) OK(nosv_submit(task_of(types[i], NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    UNTIL(get(&completions) == tasks + 2);
    for (int i = 0; i < 2; i++) OK(nosv_type_destroy(types[i], NOSV_TYPE_DESTROY_NONE));
    OK(nosv_type_destroy(noting, NOSV_TYPE_DESTROY_NONE));
}

/* One task has 40 others in its CPU's queue.  That of the other CPU yields once. */
enum { READY = 40 };
static void yields(nosv_task_t task)
{
    (void)task;
    reach(1);
    await(2);
    OK(nosv_yield(NOSV_YIELD_NONE));
    CHECK_EQ(get(&order.n), READY);
    reach(3);
}
static void makes_others(nosv_task_t task)
{
    (void)task;
    await(1);
    for (int i = 0; i < READY; i++) submit_noting(i, 0);
    reach(2);
    await(3);
}

/* A priority below 0 is lower than none, in whatever queue the others lie. */
static void makes_mixed(nosv_task_t task)
{
    (void)task;
    await(1);
    submit_noting(100, -1);
    for (int i = 0; i < 8; i++) submit_noting(i, 0);
    submit_noting(101, -1);
    reach(2);
    await(3);
}
static void in_order(nosv_task_t task)
{
    (void)task;
    reach(1);
    await(2);
    OK(nosv_yield(NOSV_YIELD_NONE));
    CHECK_EQ(get(&order.n), 10);
    for (int i = 0; i < 8; i++) CHECK_EQ(order.what[i], i);
    CHECK_EQ(order.what[8], 100);
    CHECK_EQ(order.what[9], 101);
    reach(3);
}

/* A strict affinity that is set holds from the next yield on, though nothing else is ready. */
static void moves(void)
{
    int *cpus = nosv_get_available_cpus();
    for (int i = 0; i < 20; i++) {
        nosv_affinity_t there = nosv_affinity_get((uint32_t)cpus[i % 2], NOSV_AFFINITY_LEVEL_CPU, NOSV_AFFINITY_TYPE_STRICT);
        nosv_set_task_affinity(nosv_self(), &there);
        OK(nosv_yield(NOSV_YIELD_NONE));
        CHECK_EQ(nosv_get_current_system_cpu(), cpus[i % 2]);
        CHECK_EQ(sched_getcpu(), cpus[i % 2]);
    }
    free(cpus);
}

int main(void)
{
    cpu_set_t all, some;
    begin();
    CHECK(!sched_getaffinity(0, sizeof(all), &all));
    CPU_ZERO(&some);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&some) < 2; i++)
        if (CPU_ISSET(i, &all)) CPU_SET(i, &some);
    if (CPU_COUNT(&some) < 2) SKIP("two CPUs are needed");
    CHECK(!sched_setaffinity(0, sizeof(some), &some));
    OK(nosv_init());
    CHECK_EQ(nosv_get_num_cpus(), 2);
    for (int i = 0; i < 20; i++) {
        two(yields, makes_others, READY);
        two(in_order, makes_mixed, 10);
    }
    in_task(moves, NOSV_CREATE_NONE);
    attach();
    moves();
    OK(nosv_detach(NOSV_DETACH_NONE));
    OK(nosv_shutdown());
    return 0;
}
