/* tests/nosv/mask.c - the CPU mask that attached threads see, set and leave to others.  SPDX-License-Identifier: Apache-2.0
 *
 * The runtime binds threads that execute tasks.  Programs do not notice: an attached thread has the mask that it had before, or has
 * set since, for itself, for others that ask about it, and for the threads that it creates. */
#include "nosv_test.h"

static cpu_set_t all, one;
static int cpu_of_one;

static bool has(const cpu_set_t *want)
{
    cpu_set_t a, b, c;
    CHECK_EQ(sched_getaffinity(0, sizeof(a), &a), 0);
    CHECK_EQ(sched_getaffinity(thread_id(), sizeof(b), &b), 0);
    CHECK_EQ(pthread_getaffinity_np(pthread_self(), sizeof(c), &c), 0);
    CHECK(CPU_EQUAL(&a, &b) && CPU_EQUAL(&a, &c));
    return CPU_EQUAL(&a, want);
}
static bool other_has(pthread_t thread, pid_t tid, const cpu_set_t *want)
{
    cpu_set_t a, b;
    CHECK_EQ(sched_getaffinity(tid, sizeof(a), &a), 0);
    CHECK_EQ(pthread_getaffinity_np(thread, sizeof(b), &b), 0);
    CHECK(CPU_EQUAL(&a, &b));
    return CPU_EQUAL(&a, want);
}

static void *is_all(void *arg) { CHECK(has(&all)); return arg; }
static void *is_one(void *arg) { CHECK(has(&one)); return arg; }
static void makes(void *(*what)(void *), const pthread_attr_t *attr)
{
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, attr, what, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

static bool kernel_has(const cpu_set_t *want)
{
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CHECK(syscall(SYS_sched_getaffinity, 0, sizeof(mask), &mask) > 0);
    return CPU_EQUAL(&mask, want);
}

/* A thread that is not bound keeps its mask in the kernel too, and sets it as any thread does. */
static void unbound(void)
{
    nosv_affinity_t strict = one_cpu();
    nosv_task_t task;
    for (int i = 0; i < 2; i++) {
        OK(nosv_attach(&task, i ? &strict : NULL, "mask", NOSV_ATTACH_UNBOUND | NOSV_ATTACH_INSTRUMENT));
        CHECK(has(&all) && kernel_has(&all));
        OK(nosv_yield(NOSV_YIELD_NONE));
        OK(nosv_waitfor(1000, NULL));
        CHECK(has(&all) && kernel_has(&all));
        if (i) CHECK_EQ((uint32_t)nosv_get_current_system_cpu(), strict.index);
        makes(is_all, NULL);
        CHECK_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
        CHECK(has(&one) && kernel_has(&one));
        OK(nosv_detach(NOSV_DETACH_NONE));
        CHECK(has(&one) && kernel_has(&one));
        CHECK_EQ(sched_setaffinity(0, sizeof(all), &all), 0);
    }
}

static void itself(void)
{
    pthread_attr_t attr;
    CHECK(!pthread_attr_init(&attr) && !pthread_attr_setaffinity_np(&attr, sizeof(one), &one));
    nosv_affinity_t strict = one_cpu();
    nosv_task_t task;
    for (int i = 0; i < 2; i++) {
        OK(nosv_attach(&task, i ? &strict : NULL, "mask", NOSV_ATTACH_NONE));
        CHECK(has(&all));
        OK(nosv_yield(NOSV_YIELD_NONE));
        CHECK(has(&all));
        makes(is_all, NULL);
        makes(is_one, &attr);
        OK(nosv_detach(NOSV_DETACH_NONE));
        CHECK(has(&all));
    }
    pthread_attr_destroy(&attr);
}

/* Setting the mask does not move the task; it holds for new threads, and after detach. */
static void sets(void)
{
    nosv_affinity_t strict = one_cpu();
    nosv_task_t task;
    OK(nosv_attach(&task, &strict, "mask", NOSV_ATTACH_NONE));
    int here = nosv_get_current_system_cpu();
    CHECK_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    CHECK(has(&one));
    CHECK_EQ(sched_getcpu(), here);
    OK(nosv_yield(NOSV_YIELD_NONE));
    CHECK_EQ(sched_getcpu(), here);
    makes(is_one, NULL);
    OK(nosv_detach(NOSV_DETACH_NONE));
    CHECK(has(&one));
    CHECK_EQ(sched_getcpu(), cpu_of_one);
    OK(nosv_attach(&task, NULL, "mask", NOSV_ATTACH_NONE));
    CHECK(has(&one));
    CHECK_EQ(pthread_setaffinity_np(pthread_self(), sizeof(all), &all), 0);
    CHECK(has(&all));
    OK(nosv_detach(NOSV_DETACH_NONE));
    CHECK(has(&all));
}

/* Another thread asks, and sets: the last value holds after detach. */
static pthread_t remote;
static pid_t remote_id;
static int stop;
static void *attaches(void *arg)
{
    nosv_task_t task;
    remote_id = thread_id();
    set((int *)arg, 1);
    while (!get(&stop)) {
        OK(nosv_attach(&task, NULL, "remote", NOSV_ATTACH_NONE));
        OK(nosv_waitfor(10000, NULL));
        OK(nosv_detach(NOSV_DETACH_NONE));
    }
    set((int *)arg, 2);
    while (get(&stop) < 2) usleep(100);
    return NULL;
}
static void others(void)
{
    int state = 0;
    CHECK_EQ(pthread_create(&remote, NULL, attaches, &state), 0);
    UNTIL(get(&state) == 1);
    for (int i = 0; i < 500; i++) {
        const cpu_set_t *before = i % 2 ? &one : &all, *after = i % 2 ? &all : &one;
        CHECK(other_has(remote, remote_id, before));
        CHECK_EQ(i % 4 < 2 ? sched_setaffinity(remote_id, sizeof(*after), after) : pthread_setaffinity_np(remote, sizeof(*after), after), 0);
        CHECK(other_has(remote, remote_id, after));
    }
    set(&stop, 1);
    UNTIL(get(&state) == 2);
    CHECK(other_has(remote, remote_id, &all));
    set(&stop, 2);
    CHECK_EQ(pthread_join(remote, NULL), 0);
}

/* A thread that a task makes is not bound to where the task runs. */
static void in_worker(void) { makes(is_all, NULL); }

int main(void)
{
    begin();
    CHECK_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
    if (CPU_COUNT(&all) < 2) SKIP("one CPU only");
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) if (CPU_ISSET(cpu, &all)) cpu_of_one = cpu;
    CPU_SET(cpu_of_one, &one);
    OK(nosv_init());
    CHECK(has(&all));
    itself();
    unbound();
    sets();
    others();
    in_task(in_worker, NOSV_CREATE_NONE);
    OK(nosv_shutdown());
    CHECK(has(&all));
    return 0;
}
