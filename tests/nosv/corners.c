/* tests/nosv/corners.c - what happens seldom: one case each, by name, or all.  SPDX-License-Identifier: Apache-2.0 */
#include <nosv/memory.h>

#include "../asleep.h"
#include "nosv_test.h"
#include "tasks/tasks.h"

static void *call(void *what)
{
    ((void (*)(void))what)();
    return NULL;
}

static void in_thread(void (*what)(void))
{
    pthread_t t;
    CHECK_EQ(pthread_create(&t, NULL, call, (void *)what), 0);
    CHECK_EQ(pthread_join(t, NULL), 0);
}

static void set_run(nosv_task_t t) { set(pointer_of(t), 1); }

/* ---- the last shutdown ---------------------------------------------------------------------------- */

static void paused_run(nosv_task_t t)
{
    set(pointer_of(t), 1);
    OK(nosv_pause(NOSV_PAUSE_NONE));
    CHECK(!"it goes on after the shutdown");
}

/* Its thread stays, another one ends. The next init works. */
static void paused(void)
{
    for (int i = 0; i < 20; i++) {
        int began = 0, ran = 0;
        OK(nosv_init());
        OK(nosv_submit(task_of(type_of(paused_run, NULL, NULL), &began, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
        UNTIL(get(&began));
        OK(nosv_submit(task_of(type_of(set_run, NULL, NULL), &ran, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
        OK(nosv_shutdown());
        CHECK(ran);
    }
}

static void nothing(void) {}
static void forks_run(nosv_task_t t)
{
    set(pointer_of(t), 1);
    while (!atomic_load(&tk.stopping)) usleep(1000);        /* the shutdown waits from now on */
    in_child(nothing);
    OK(nosv_init());
    OK(nosv_shutdown());
    set(pointer_of(t), 2);
}

/* A task that the last shutdown waits for forks, and has an init of its own. */
static void forks(void)
{
    int at = 0;
    OK(nosv_init());
    OK(nosv_submit(task_of(type_of(forks_run, NULL, NULL), &at, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    UNTIL(get(&at));
    OK(nosv_shutdown());
    CHECK_EQ(at, 2);
}

static void last_run(nosv_task_t t)
{
    OK(nosv_init());
    OK(nosv_shutdown());
    OK(nosv_init());
    add(pointer_of(t), 1);
    UNTIL(get(pointer_of(t)) == 2);
    CHECK_EQ(nosv_shutdown(), NOSV_ERR_INVALID_OPERATION);
    add(pointer_of(t), 1);
}

/* A worker cannot wait for its own end. */
static void by_worker(void)
{
    int at = 0;
    OK(nosv_init());
    OK(nosv_submit(task_of(type_of(last_run, NULL, NULL), &at, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    UNTIL(get(&at));
    OK(nosv_shutdown());
    add(&at, 1);
    while (get(&at) < 3) usleep(200);
}

static void init_and_run(void)
{
    int ran = 0, *cpus;
    OK(nosv_init());
    CHECK((cpus = nosv_get_available_cpus()));
    for (int i = 0; i < nosv_get_num_cpus(); i++) {
        nosv_affinity_t a = nosv_affinity_get((uint32_t)cpus[i], NOSV_AFFINITY_LEVEL_CPU, NOSV_AFFINITY_TYPE_STRICT);
        nosv_task_t t = task_of(type_of(set_run, NULL, NULL), &ran, NOSV_CREATE_NONE);
        nosv_set_task_affinity(t, &a);
        set(&ran, 0);
        OK(nosv_submit(t, NOSV_SUBMIT_NONE));
        UNTIL(get(&ran));
    }
    free(cpus);
    OK(nosv_shutdown());
}

static void leave_attached(void)
{
    nosv_task_t self;
    OK(nosv_init());
    OK(nosv_attach(&self, NULL, NULL, NOSV_ATTACH_NONE));
    OK(nosv_shutdown());
    in_child(init_and_run);
}

/* A child of a thread that is attached after the last shutdown begins anew; when that thread has ended its CPU is free. */
static void left(void)
{
    in_thread(leave_attached);
    init_and_run();
}

/* ---- completion ------------------------------------------------------------------------------------- */

static int timeouts;
static void *submit_later(void *t)
{
    while (!get(&timeouts) && !sleeps_for_ever(getpid())) usleep(1000);
    OK(nosv_submit(t, NOSV_SUBMIT_NONE));
    return NULL;
}

/* The wait comes before the submission; the second time after a completion. */
static void early_wait(void)
{
    int ran = 0;
    OK(nosv_init());
    attach();
    nosv_task_type_t type = type_of(set_run, NULL, NULL);
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        nosv_task_t t = task_of(type, &ran, NOSV_CREATE_JOINABLE);
        set(&ran, 0);
        set(&timeouts, 0);
        CHECK_EQ(pthread_create(&thread, NULL, submit_later, t), 0);
        if (i) while (nosv_wait(t, 1000000) == NOSV_ERR_TIMEOUT) add(&timeouts, 1);
        OK(nosv_wait(t, FOREVER));
        CHECK_EQ(get(&ran), 1);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        OK(nosv_join(t, NULL, FOREVER));
    }
    OK(nosv_detach(NOSV_DETACH_NONE));
    OK(nosv_shutdown());
}

static void slow_run(nosv_task_t t)
{
    OK(nosv_increase_event_counter(1));
    usleep(10000);
    add(pointer_of(t), 1);
    OK(nosv_decrease_event_counter(t, 1));
}

/* A parallel task that is submitted again has not ended. */
static void teams_again(void)
{
    int bodies = 0;
    OK(nosv_init());
    attach();
    nosv_task_t t = task_of(type_of(slow_run, NULL, NULL), &bodies, NOSV_CREATE_PARALLEL | NOSV_CREATE_JOINABLE);
    nosv_set_task_degree(t, 3);
    for (int i = 1; i <= 3; i++) {
        OK(nosv_submit(t, NOSV_SUBMIT_NONE));
        OK(nosv_wait(t, FOREVER));
        CHECK_EQ(get(&bodies), 3 * i);
        CHECK_EQ(nosv_task_had_events(t), 1);
    }
    OK(nosv_join(t, NULL, FOREVER));
    OK(nosv_detach(NOSV_DETACH_NONE));
    OK(nosv_shutdown());
}

/* The task of an attached thread outlives the attach until its events have happened. */
static void attached_events(void)
{
    nosv_task_t self, other[3];
    OK(nosv_init());
    nosv_task_type_t type = type_of(set_run, NULL, NULL);
    OK(nosv_attach(&self, NULL, "label", NOSV_ATTACH_NONE));
    OK(nosv_increase_event_counter(2));
    OK(nosv_detach(NOSV_DETACH_NONE));
    for (int i = 0; i < 3; i++) {
        OK(nosv_create(&other[i], type, 0, NOSV_CREATE_NONE));
        CHECK(other[i] != self);
    }
    OK(nosv_decrease_event_counter(self, 1));
    OK(nosv_decrease_event_counter(self, 1));
    OK(nosv_shutdown());
}

/* ---- memory ------------------------------------------------------------------------------------------ */

static nosv_task_type_t one_type;
static nosv_task_t one;
static void one_task(void) { OK(nosv_create(&one, one_type, 0, NOSV_CREATE_NONE)); }

/* What a thread has not used is another's when it has ended. */
static void threads(void)
{
    size_t before, after;
    OK(nosv_init());
    one_type = type_of(set_run, NULL, NULL);
    in_thread(one_task);
    OK(nosv_memory_get_used(&before));
    for (int i = 0; i < 500; i++) {
        OK(nosv_destroy(one, NOSV_DESTROY_NONE));
        in_thread(one_task);
    }
    OK(nosv_memory_get_used(&after));
    CHECK(after < before + 65536);
    OK(nosv_shutdown());
}

/* ---- no ready task beside an idle slot ----------------------------------------------------------------- */

struct meeting { int there, wanted, gone; };
static void meet_run(nosv_task_t t)
{
    struct meeting *m = pointer_of(t);
    add(&m->there, 1);
    while (get(&m->there) < m->wanted) sched_yield();
}
static void meet_done(nosv_task_t t)
{
    struct meeting *m = pointer_of(t);
    OK(nosv_destroy(t, NOSV_DESTROY_NONE));
    add(&m->gone, 1);
}

/* As many tasks as there are CPUs, of all kinds, which wait for each other. */
static void meetings(void)
{
    OK(nosv_init());
    int n = nosv_get_num_cpus(), *cpus = nosv_get_available_cpus();
    nosv_task_type_t type = type_of(meet_run, NULL, meet_done), first_type = type_of(set_run, NULL, NULL);
    for (int i = 0; i < 2000; i++) {
        struct meeting m = {0, n, 0};
        int ran = 0;
        nosv_task_t t = task_of(first_type, &ran, NOSV_CREATE_NONE);
        OK(nosv_submit(t, NOSV_SUBMIT_NONE));
        while (!get(&ran)) sched_yield();       /* one slot searches from now on */
        for (int k = 0; k < n; k++) {
            nosv_affinity_t a = nosv_affinity_get((uint32_t)cpus[i / 6 % n], NOSV_AFFINITY_LEVEL_CPU, NOSV_AFFINITY_TYPE_PREFERRED);
            nosv_task_t one = task_of(type, &m, NOSV_CREATE_NONE);
            if (i % 3 == 0) nosv_set_task_priority(one, i / 3 % 3 - 1);
            if (i % 3 == 1) nosv_set_task_affinity(one, &a);
            OK(nosv_submit(one, NOSV_SUBMIT_NONE));
        }
        while (get(&m.gone) < n) usleep(10);
        OK(nosv_destroy(t, NOSV_DESTROY_NONE));
    }
    free(cpus);
    OK(nosv_shutdown());
}

static int back;
static void waits_for_back(nosv_task_t t)
{
    while (!get(&back)) sched_yield();
    set(pointer_of(t), 1);
}

static void yields_away(void)
{
    int done = 0;
    nosv_affinity_t here = nosv_affinity_get((uint32_t)nosv_get_current_system_cpu(), NOSV_AFFINITY_LEVEL_CPU, NOSV_AFFINITY_TYPE_STRICT);
    nosv_task_t t = task_of(type_of(waits_for_back, NULL, NULL), &done, NOSV_CREATE_NONE);
    nosv_set_task_affinity(t, &here);
    OK(nosv_submit(t, NOSV_SUBMIT_NONE));
    OK(nosv_yield(NOSV_YIELD_NONE));
    set(&back, 1);
    UNTIL(get(&done));
}

/* What is next here is bound to this CPU, and waits for the task that has yielded. */
static void yielded(void)
{
    OK(nosv_init());
    if (nosv_get_num_cpus() > 1) in_task(yields_away, NOSV_CREATE_NONE);
    OK(nosv_shutdown());
}

static const struct { const char *name; void (*run)(void); } cases[] = {
    {"paused", paused}, {"forks", forks}, {"by-worker", by_worker}, {"left", left}, {"early-wait", early_wait}, {"teams-again", teams_again},
    {"attached-events", attached_events}, {"threads", threads}, {"meetings", meetings}, {"yielded", yielded},
};

int main(int argc, char **argv)
{
    begin();
    for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        if (argc < 2 || !strcmp(argv[1], cases[i].name)) in_child(cases[i].run);
    return 0;
}
