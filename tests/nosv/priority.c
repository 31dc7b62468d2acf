/* tests/nosv/priority.c - the order of ready tasks.  SPDX-License-Identifier: Apache-2.0
 *
 * Tasks are pinned to one CPU, or there is one CPU only: the order in which they run is that of the queue.  Where the order of
 * several queues is asked for, the process has one CPU from its start. */
#include "nosv_test.h"

static struct record order;
static nosv_task_type_t type;
static void run(nosv_task_t task) { note(&order, (int)(intptr_t)pointer_of(task)); }
static void finish(nosv_task_t task) { OK(nosv_destroy(task, NOSV_DESTROY_NONE)); }

/* Higher first, FIFO among equals; all during one yield of the task that has the CPU. */
static void by_priority(bool strict)
{
    for (int round = 0; round < 5; round++) {
        clear(&order);
        for (int i = 0; i < 40; i++) {
            int priority = (i * 7 + round) % 10 - 5;
            if (priority == 0) priority = 5;        /* priority 0 has a queue of its own; see below */
            nosv_task_t task = task_of(type, (void *)(intptr_t)(priority * 1000 + i), NOSV_CREATE_NONE);
            if (strict) pinned(task);
            nosv_set_task_priority(task, priority);
            OK(nosv_submit(task, NOSV_SUBMIT_NONE));
        }
        CHECK_EQ(get(&order.n), 0);
        OK(nosv_yield(NOSV_YIELD_NONE));
        CHECK_EQ(get(&order.n), 40);
        for (int i = 1; i < 40; i++) {
            int a = order.what[i - 1], b = order.what[i];
            int pa = (a + 1000000) / 1000 - 1000, pb = (b + 1000000) / 1000 - 1000;
            CHECK(pa > pb || (pa == pb && a < b));
        }
    }
}

/* FIFO among tasks of priority 0, more of them than a short queue holds. */
static void fifo(bool strict)
{
    for (int round = 0; round < 5; round++) {
        clear(&order);
        for (int i = 0; i < 250; i++) {
            nosv_task_t task = task_of(type, (void *)(intptr_t)i, NOSV_CREATE_NONE);
            if (strict) pinned(task);
            OK(nosv_submit(task, NOSV_SUBMIT_NONE));
        }
        OK(nosv_yield(NOSV_YIELD_NONE));
        CHECK_EQ(get(&order.n), 250);
        for (int i = 0; i < 250; i++) CHECK_EQ(order.what[i], i);
    }
}

/* The lowest and the highest int. */
static void extremes(void)
{
    static const int priorities[] = {0, INT_MIN, 1, INT_MAX, -1, INT_MAX - 1, INT_MIN + 1};
    static const int expected[] = {3, 5, 2, 0, 4, 6, 1};
    clear(&order);
    for (int i = 0; i < 7; i++) {
        nosv_task_t task = pinned(task_of(type, (void *)(intptr_t)i, NOSV_CREATE_NONE));
        nosv_set_task_priority(task, priorities[i]);
        OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    }
    OK(nosv_yield(NOSV_YIELD_NONE));
    CHECK_EQ(get(&order.n), 7);
    for (int i = 0; i < 7; i++) CHECK_EQ(order.what[i], expected[i]);
}

/* A task that pauses is ordered by its priority when it is ready again. */
static void pauses(nosv_task_t task)
{
    OK(nosv_pause(NOSV_PAUSE_NONE));
    run(task);
}
static void after_pause(void)
{
    nosv_task_type_t pausers = type_of(pauses, NULL, finish);
    nosv_task_t tasks[10];
    clear(&order);
    for (int i = 0; i < 10; i++) {
        tasks[i] = pinned(task_of(pausers, (void *)(intptr_t)i, NOSV_CREATE_NONE));
        nosv_set_task_priority(tasks[i], i + 1);
        OK(nosv_submit(tasks[i], NOSV_SUBMIT_NONE));
    }
    OK(nosv_yield(NOSV_YIELD_NONE));            /* all begin, and pause */
    CHECK_EQ(get(&order.n), 0);
    for (int i = 0; i < 10; i++) OK(nosv_submit(tasks[i], NOSV_SUBMIT_NONE));
    OK(nosv_yield(NOSV_YIELD_NONE));
    CHECK_EQ(get(&order.n), 10);
    for (int i = 0; i < 10; i++) CHECK_EQ(order.what[i], 9 - i);
    OK(nosv_type_destroy(pausers, NOSV_TYPE_DESTROY_NONE));
}

/* A task of this CPU comes before one of its node, and that before one without affinity; strict before preferred. */
static void by_place(void)
{
    int cpu = first_cpu(), node = nosv_get_current_system_numa_node();
    const nosv_affinity_t places[] = {
        nosv_affinity_get(0, NOSV_AFFINITY_LEVEL_NONE, NOSV_AFFINITY_TYPE_PREFERRED),
        nosv_affinity_get((uint32_t)node, NOSV_AFFINITY_LEVEL_NUMA, NOSV_AFFINITY_TYPE_PREFERRED),
        nosv_affinity_get((uint32_t)node, NOSV_AFFINITY_LEVEL_NUMA, NOSV_AFFINITY_TYPE_STRICT),
        nosv_affinity_get((uint32_t)cpu, NOSV_AFFINITY_LEVEL_CPU, NOSV_AFFINITY_TYPE_PREFERRED),
        nosv_affinity_get((uint32_t)cpu, NOSV_AFFINITY_LEVEL_CPU, NOSV_AFFINITY_TYPE_STRICT),
    };
    clear(&order);
    for (int i = 0; i < 5; i++) {
        nosv_affinity_t place = places[i];
        nosv_task_t task = task_of(type, (void *)(intptr_t)i, NOSV_CREATE_NONE);
        nosv_set_task_affinity(task, &place);
        OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    }
    OK(nosv_yield(NOSV_YIELD_NONE));
    CHECK_EQ(get(&order.n), 5);
    for (int i = 0; i < 5; i++) CHECK_EQ(order.what[i], 4 - i);
}

/* What is submitted from outside does not starve behind what tasks submit themselves. */
static int stop;
static void endless(nosv_task_t task) { if (!get(&stop)) OK(nosv_submit(task, NOSV_SUBMIT_NONE)); else note(&order, 2); }
static void nothing(nosv_task_t task) { (void)task; }
static void no_starvation(void)
{
    nosv_task_type_t selfish = type_of(nothing, NULL, endless);
    nosv_task_t tasks[8];
    clear(&order);
    set(&stop, 0);
    for (int i = 0; i < 8; i++) OK(nosv_submit(tasks[i] = task_of(selfish, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    OK(nosv_submit(task_of(type, (void *)1, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    UNTIL(get(&order.n) == 1);
    set(&stop, 1);
    UNTIL(get(&order.n) == 9);
    for (int i = 0; i < 8; i++) OK(nosv_destroy(tasks[i], NOSV_DESTROY_NONE));
    OK(nosv_type_destroy(selfish, NOSV_TYPE_DESTROY_NONE));
}

static void on_one_cpu(void)
{
    cpu_set_t mask, one;
    CHECK(!sched_getaffinity(0, sizeof(mask), &mask));
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++) if (CPU_ISSET(cpu, &mask)) CPU_SET(cpu, &one);
    CHECK(!sched_setaffinity(0, sizeof(one), &one));
    OK(nosv_init());
    CHECK_EQ(nosv_get_num_cpus(), 1);
    type = type_of(run, NULL, finish);
    attach();
    fifo(false);
    by_priority(false);
    by_place();
    OK(nosv_detach(NOSV_DETACH_NONE));
    no_starvation();
    OK(nosv_shutdown());
}

int main(void)
{
    begin();
    in_child(on_one_cpu);
    OK(nosv_init());
    type = type_of(run, NULL, finish);
    attach_pinned();
    fifo(true);
    by_priority(true);
    extremes();
    after_pause();
    OK(nosv_detach(NOSV_DETACH_NONE));
    no_starvation();
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
    OK(nosv_shutdown());
    return 0;
}
