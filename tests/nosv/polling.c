/* tests/nosv/polling.c - a task-aware communication library, as programs build one on ALPI.  SPDX-License-Identifier: Apache-2.0
 *
 * The library knows nothing of the runtime but the names of its functions, which it looks up when it is initialised.  A polling task looks for
 * operations that are done.  It waits between two looks: in alpi_task_waitfor_ns, or suspended with a timeout.  A task that begins an operation
 * blocks until it is done, or goes on and completes later. */
#include <dlfcn.h>
#include <nosv/alpi.h>

#include "nosv_test.h"

/* ---- the library -------------------------------------------------------------------------------- */

#define SYMBOLS(X) X(error_string) X(feature_check) X(version_check) X(version_get) X(task_self) X(task_block) X(task_unblock) X(task_waitfor_ns) \
    X(task_events_increase) X(task_events_decrease) X(task_events_test) X(task_spawn) X(task_suspend) X(task_suspend_mode_set) X(cpu_count) \
    X(cpu_logical_id)
#define DECLARE(name) static __typeof__(alpi_##name) *lib_##name;
SYMBOLS(DECLARE)
#define MUST(call) do { int must_ = (call); CHECK(!must_, "%s: %s", #call, lib_error_string((alpi_error_t)must_)); } while (0)

#define NR_OPERATIONS 1024      /* more than are begun at once */
static struct operation { int state; struct alpi_task *task; bool blocks; } operations[NR_OPERATIONS];     /* 0: free, 1: being made, 2: begun */
static bool suspends;
static uint64_t period;
static int must_finish, finished, looks, fulfilled, inits;

static void look(void)
{
    add(&looks, 1);
    for (int i = 0; i < NR_OPERATIONS; i++) {
        struct operation *op = &operations[i];
        if (get(&op->state) != 2) continue;
        struct alpi_task *task = op->task;
        bool blocks = op->blocks;
        add(&fulfilled, 1);
        set(&op->state, 0);
        if (blocks) MUST(lib_task_unblock(task));
        else MUST(lib_task_events_decrease(task, 1));
    }
}

static void poll_body(void *arg)
{
    struct alpi_task *self;
    uint64_t actual = 0;
    (void)arg;
    if (suspends) {
        look();
        if (get(&must_finish)) return;
        MUST(lib_task_self(&self));
        MUST(lib_task_suspend_mode_set(self, ALPI_SUSPEND_TIMEOUT_SUBMIT, period));
        MUST(lib_task_suspend(self));
        return;
    }
    while (!get(&must_finish)) {
        look();
        MUST(lib_task_waitfor_ns(period, &actual));
        CHECK(actual >= period);
    }
}
static void poll_done(void *arg) { set(arg, 1); }

static void lib_init(void)
{
    int major = 0, minor = 0;
    if (inits++) return;
#define LOOK_UP(name) CHECK(lib_##name = (__typeof__(lib_##name))dlsym(RTLD_DEFAULT, "alpi_" #name));
    SYMBOLS(LOOK_UP)
    MUST(lib_version_get(&major, &minor));
    MUST(lib_version_check(ALPI_VERSION_MAJOR, 0));
    CHECK(major > 1 || minor >= 2);
    if (suspends) MUST(lib_feature_check(ALPI_FEATURE_SUSPEND));
    set(&must_finish, 0);
    set(&finished, 0);
    MUST(lib_task_spawn(poll_body, NULL, poll_done, &finished, "polling", NULL));
}

static void lib_finalize(void)
{
    if (--inits) return;
    set(&must_finish, 1);
    while (!get(&finished)) MUST(lib_task_waitfor_ns(1000, NULL));
}

/* Begin an operation, and return when it is done, or at once: then the calling task completes after it. */
static void lib_transfer(bool blocks)
{
    struct alpi_task *self;
    int none = 0, i = 0;
    MUST(lib_task_self(&self));
    CHECK(self);
    if (!blocks) MUST(lib_task_events_increase(self, 1));
    while (!__atomic_compare_exchange_n(&operations[i].state, &none, 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
        none = 0;
        CHECK(++i < NR_OPERATIONS);
    }
    operations[i].task = self;
    operations[i].blocks = blocks;
    set(&operations[i].state, 2);
    if (blocks) MUST(lib_task_block(self));
}

/* ---- its program -------------------------------------------------------------------------------- */

#define NR_TASKS 300
static int bodies, completions, suspended;

static void transfers(nosv_task_t task)
{
    uint64_t cpus = 0, cpu = 0, pending = 0;
    intptr_t i = (intptr_t)pointer_of(task);
    if (i % 3 == 0) lib_transfer(true);
    if (i % 3 != 1) lib_transfer(false);
    if (i % 3 == 1) for (int k = 0; k < 3; k++) lib_transfer(k & 1);
    MUST(lib_cpu_count(&cpus));
    MUST(lib_cpu_logical_id(&cpu));
    CHECK(cpu < cpus);
    MUST(lib_task_events_test((struct alpi_task *)task, &pending));
    CHECK(pending <= 1);
    add(&bodies, 1);
}

/* The body begins an operation and is called again when that is done. */
static void transfers_twice(nosv_task_t task)
{
    int *calls = nosv_get_task_metadata(task);
    if ((*calls)++) return;
    lib_transfer(false);
    MUST(lib_task_suspend_mode_set((struct alpi_task *)task, ALPI_SUSPEND_EVENT_SUBMIT, 0));
    MUST(lib_task_suspend((struct alpi_task *)task));
    add(&suspended, 1);
}
static void finish(nosv_task_t task) { OK(nosv_destroy(task, NOSV_DESTROY_NONE)); add(&completions, 1); }
static void finish_twice(nosv_task_t task) { CHECK_EQ(*(int *)nosv_get_task_metadata(task), 2); finish(task); }

static void program(void)
{
    set(&bodies, 0);
    set(&completions, 0);
    set(&suspended, 0);
    set(&fulfilled, 0);
    set(&looks, 0);
    OK(nosv_init());
    attach();
    lib_init();
    lib_init();             /* by another library of the process */
    nosv_task_type_t once = type_of(transfers, NULL, finish), twice = type_of(transfers_twice, NULL, finish_twice);
    for (intptr_t i = 0; i < NR_TASKS; i++) {
        nosv_task_t task = task_of(i % 10 ? once : twice, (void *)i, NOSV_CREATE_NONE);
        if (!(i % 10)) *(int *)nosv_get_task_metadata(task) = 0;
        OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    }
    UNTIL(get(&completions) == NR_TASKS);
    CHECK(get(&bodies) == NR_TASKS - NR_TASKS / 10 && get(&suspended) == NR_TASKS / 10 && get(&looks) > 0);
    lib_transfer(true);     /* the attached thread is a task as well */
    lib_finalize();
    CHECK(!get(&finished));
    lib_finalize();
    for (int i = 0; i < NR_OPERATIONS; i++) CHECK_EQ(get(&operations[i].state), 0);
    OK(nosv_type_destroy(once, NOSV_TYPE_DESTROY_NONE));
    OK(nosv_type_destroy(twice, NOSV_TYPE_DESTROY_NONE));
    OK(nosv_detach(NOSV_DETACH_NONE));
    OK(nosv_shutdown());
}

static void on_one_cpu(void)
{
    cpu_set_t all, one;
    CPU_ZERO(&one);
    CHECK_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
    for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++) if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
    CHECK_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
}

/* A period of 0 looks whenever nothing else is to be done, and keeps no task from its CPU. */
static void waits(void) { period = 100000; program(); program(); }
static void waits_not(void) { on_one_cpu(); program(); }
static void suspends_for_a_time(void) { suspends = true; waits(); }
static void suspends_for_no_time(void) { suspends = true; waits_not(); }

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"waits", waits}, {"waits_not", waits_not}, {"suspends_for_a_time", suspends_for_a_time}, {"suspends_for_no_time", suspends_for_no_time}};
    return run_cases(cases, sizeof(cases) / sizeof(*cases), false, argc, argv);
}
