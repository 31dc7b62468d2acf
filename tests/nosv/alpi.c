/* tests/nosv/alpi.c - ALPI 1.2, by the symbols that its users look up.  SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <nosv/alpi.h>
#include <nosv/alpi-defs.h>

#include "nosv_test.h"

#define ALPI(call) CHECK_EQ(call, ALPI_SUCCESS)

static void symbols(void)
{
    static const char *const names[] = {"alpi_error_string", "alpi_info_get", "alpi_feature_check", "alpi_version_check", "alpi_version_get",
        "alpi_task_self", "alpi_task_block", "alpi_task_unblock", "alpi_task_waitfor_ns", "alpi_task_events_increase", "alpi_task_events_decrease",
        "alpi_task_events_test", "alpi_task_spawn", "alpi_task_suspend_mode_set", "alpi_task_suspend", "alpi_attr_create", "alpi_attr_destroy",
        "alpi_attr_init", "alpi_attr_size", "alpi_cpu_count", "alpi_cpu_logical_id", "alpi_cpu_system_id"};
    CHECK_EQ(sizeof(names) / sizeof(*names), 22);
    for (unsigned i = 0; i < 22; i++) CHECK(dlsym(RTLD_DEFAULT, names[i]));
    CHECK(dlsym(RTLD_DEFAULT, "alpi_cpu_count") == (void *)alpi_cpu_count);
}

static void texts(void)
{
    char text[200], less[4];
    int length = -1, major = 0, minor = 0;
    for (int i = -2; i <= ALPI_ERR_MAX + 1; i++) CHECK(alpi_error_string((alpi_error_t)i) && *alpi_error_string((alpi_error_t)i));
    for (int i = 0; i < ALPI_ERR_MAX; i++)
        for (int k = 0; k < i; k++) CHECK(strcmp(alpi_error_string((alpi_error_t)i), alpi_error_string((alpi_error_t)k)));
    for (int query = ALPI_INFO_RUNTIME_NAME; query <= ALPI_INFO_VERSION; query++) {
        ALPI(alpi_info_get((alpi_info_t)query, text, sizeof(text), &length));
        CHECK(length > 0 && (size_t)length == strlen(text));
        ALPI(alpi_info_get((alpi_info_t)query, text, sizeof(text), NULL));
        ALPI(alpi_info_get((alpi_info_t)query, less, sizeof(less), &length));
        CHECK(length <= 3 && (size_t)length == strlen(less) && !strncmp(less, text, (size_t)length));
        ALPI(alpi_info_get((alpi_info_t)query, less, 1, &length));
        CHECK(!*less && length == 0);
        CHECK_EQ(alpi_info_get((alpi_info_t)query, NULL, 10, &length), ALPI_ERR_PARAMETER);
        CHECK_EQ(alpi_info_get((alpi_info_t)query, text, 0, &length), ALPI_ERR_PARAMETER);
    }
    CHECK(!strncmp(text, "ALPI 1.2", 8));
    CHECK_EQ(alpi_info_get((alpi_info_t)3, text, sizeof(text), NULL), ALPI_ERR_PARAMETER);
    CHECK_EQ(alpi_info_get((alpi_info_t)77, text, sizeof(text), NULL), ALPI_ERR_PARAMETER);

    ALPI(alpi_version_get(&major, &minor));
    CHECK(major == ALPI_VERSION_MAJOR && minor == ALPI_VERSION_MINOR && major == 1 && minor == 2);
    CHECK_EQ(alpi_version_get(NULL, &minor), ALPI_ERR_PARAMETER);
    CHECK_EQ(alpi_version_get(&major, NULL), ALPI_ERR_PARAMETER);
    for (int i = 0; i <= 2; i++) ALPI(alpi_version_check(1, i));
    CHECK_EQ(alpi_version_check(1, 3), ALPI_ERR_VERSION);
    CHECK_EQ(alpi_version_check(0, 0), ALPI_ERR_VERSION);
    CHECK_EQ(alpi_version_check(2, 0), ALPI_ERR_VERSION);

    for (int mask = 0; mask <= ALPI_SUPPORTED_FEATURES; mask++) ALPI(alpi_feature_check(mask));
    CHECK_EQ(alpi_feature_check(16), ALPI_ERR_FEATURE_UNKNOWN);
    CHECK_EQ(alpi_feature_check(ALPI_FEATURE_EVENTS | 1 << 20), ALPI_ERR_FEATURE_UNKNOWN);
}

static void attributes(void)
{
    uint64_t size = 77;
    struct alpi_attr *attr = (struct alpi_attr *)&size, *none = NULL;
    ALPI(alpi_attr_create(&attr));
    CHECK(!attr);
    ALPI(alpi_attr_init(attr));
    ALPI(alpi_attr_size(&size));
    CHECK_EQ(size, 0);
    ALPI(alpi_attr_destroy(none));
    CHECK_EQ(alpi_attr_create(NULL), ALPI_ERR_PARAMETER);
    CHECK_EQ(alpi_attr_size(NULL), ALPI_ERR_PARAMETER);
}

static int spawned;
static void nothing(void *arg) { (void)arg; }
static void before_init(void)
{
    struct alpi_task *task = (struct alpi_task *)&spawned;
    uint64_t n;
    symbols();
    texts();
    attributes();
    ALPI(alpi_task_self(&task));
    CHECK(!task);
    CHECK_EQ(alpi_task_self(NULL), ALPI_ERR_PARAMETER);
    CHECK_EQ(alpi_cpu_count(&n), ALPI_ERR_NOT_INITIALIZED);
    CHECK_EQ(alpi_cpu_logical_id(&n), ALPI_ERR_NOT_INITIALIZED);
    CHECK_EQ(alpi_cpu_system_id(&n), ALPI_ERR_NOT_INITIALIZED);
    CHECK_EQ(alpi_task_spawn(nothing, NULL, nothing, NULL, "t", NULL), ALPI_ERR_NOT_INITIALIZED);
    CHECK_EQ(alpi_task_waitfor_ns(1, NULL), ALPI_ERR_NOT_INITIALIZED);
}

static void outside(void)
{
    struct alpi_task *none = NULL, *some = (struct alpi_task *)&spawned;
    uint64_t n = 0;
    ALPI(alpi_task_self(&some));
    CHECK(!some);
    some = (struct alpi_task *)&spawned;
    CHECK_EQ(alpi_task_block(some), ALPI_ERR_OUTSIDE_TASK);
    CHECK_EQ(alpi_task_waitfor_ns(1000, NULL), ALPI_ERR_OUTSIDE_TASK);
    CHECK_EQ(alpi_task_events_increase(some, 1), ALPI_ERR_OUTSIDE_TASK);
    CHECK_EQ(alpi_task_events_test(some, &n), ALPI_ERR_OUTSIDE_TASK);
    CHECK_EQ(alpi_task_suspend_mode_set(some, ALPI_SUSPEND_NONE, 0), ALPI_ERR_OUTSIDE_TASK);
    CHECK_EQ(alpi_task_suspend(some), ALPI_ERR_OUTSIDE_TASK);
    CHECK_EQ(alpi_cpu_logical_id(&n), ALPI_ERR_OUTSIDE_TASK);
    CHECK_EQ(alpi_cpu_system_id(&n), ALPI_ERR_OUTSIDE_TASK);
    CHECK_EQ(alpi_task_unblock(none), ALPI_ERR_PARAMETER);
    CHECK_EQ(alpi_task_events_decrease(none, 1), ALPI_ERR_PARAMETER);
    CHECK_EQ(alpi_task_spawn(NULL, NULL, nothing, NULL, "t", NULL), ALPI_ERR_PARAMETER);
    CHECK_EQ(alpi_task_spawn(nothing, NULL, NULL, NULL, "t", NULL), ALPI_ERR_PARAMETER);
    CHECK_EQ(alpi_cpu_count(NULL), ALPI_ERR_PARAMETER);
    ALPI(alpi_cpu_count(&n));
    CHECK_EQ(n, nosv_get_num_cpus());
}

static void inside(void)
{
    struct alpi_task *self = NULL, *other = (struct alpi_task *)&spawned;
    uint64_t n = 77, actual = 0;
    ALPI(alpi_task_self(&self));
    CHECK(self == (struct alpi_task *)nosv_self());
    CHECK_EQ(alpi_task_block(other), ALPI_ERR_PARAMETER);
    CHECK_EQ(alpi_task_block(NULL), ALPI_ERR_PARAMETER);
    CHECK_EQ(alpi_task_events_increase(other, 1), ALPI_ERR_PARAMETER);
    CHECK_EQ(alpi_task_events_increase(NULL, 1), ALPI_ERR_PARAMETER);
    CHECK_EQ(alpi_task_events_increase(self, 0), ALPI_ERR_PARAMETER);
    CHECK_EQ(alpi_task_events_test(other, &n), ALPI_ERR_PARAMETER);
    CHECK_EQ(alpi_task_events_test(self, NULL), ALPI_ERR_PARAMETER);
    CHECK_EQ(alpi_task_suspend(other), ALPI_ERR_PARAMETER);
    CHECK_EQ(alpi_task_suspend_mode_set(other, ALPI_SUSPEND_NONE, 0), ALPI_ERR_PARAMETER);
    CHECK_EQ(alpi_cpu_logical_id(NULL), ALPI_ERR_PARAMETER);
    CHECK_EQ(alpi_cpu_system_id(NULL), ALPI_ERR_PARAMETER);

    ALPI(alpi_task_unblock(self));      /* before its block */
    ALPI(alpi_task_block(self));
    ALPI(alpi_task_waitfor_ns(1000, &actual));
    CHECK(actual >= 1000);
    ALPI(alpi_task_waitfor_ns(0, NULL));
    ALPI(alpi_task_events_test(self, &n));
    CHECK_EQ(n, 0);
    CHECK_EQ(alpi_task_events_decrease(self, 1), ALPI_ERR_PARAMETER);
    ALPI(alpi_task_events_increase(self, 2));
    ALPI(alpi_task_events_test(self, &n));
    CHECK_EQ(n, 1);
    CHECK_EQ(alpi_task_events_decrease(self, 0), ALPI_ERR_PARAMETER);
    ALPI(alpi_task_events_decrease(self, 2));
    ALPI(alpi_task_events_test(self, &n));
    CHECK_EQ(n, 0);
    ALPI(alpi_cpu_logical_id(&n));
    CHECK_EQ(n, nosv_get_current_logical_cpu());
    ALPI(alpi_cpu_system_id(&n));
    CHECK(n < CPU_SETSIZE);
}

/* What a parallel task may not do has no code of its own. */
static void parallel_body(void)
{
    struct alpi_task *self;
    ALPI(alpi_task_self(&self));
    CHECK_EQ(alpi_task_block(self), ALPI_ERR_UNKNOWN);
    CHECK_EQ(alpi_task_waitfor_ns(1, NULL), ALPI_ERR_UNKNOWN);
    CHECK_EQ(alpi_task_suspend(self), ALPI_ERR_UNKNOWN);
    CHECK_EQ(alpi_task_suspend_mode_set(self, ALPI_SUSPEND_SUBMIT, 0), ALPI_ERR_UNKNOWN);
}

/* Spawned tasks: completed is called once, after the body and the events. */
static struct alpi_task *blocked, *with_event;
static int completed_calls, bodies;
static void blocks(void *arg)
{
    struct alpi_task *self;
    CHECK(arg == &spawned);
    ALPI(alpi_task_self(&self));
    __atomic_store_n(&blocked, self, __ATOMIC_SEQ_CST);
    ALPI(alpi_task_block(self));
    inside();
    add(&bodies, 1);
}
static void leaves_event(void *arg)
{
    struct alpi_task *self;
    (void)arg;
    ALPI(alpi_task_self(&self));
    ALPI(alpi_task_events_increase(self, 3));
    __atomic_store_n(&with_event, self, __ATOMIC_SEQ_CST);
    add(&bodies, 1);
}
static void suspends(void *arg)
{
    struct alpi_task *self;
    int *runs = (int *)arg;
    ALPI(alpi_task_self(&self));
    if (add(runs, 1) < 5) {
        static const alpi_suspend_mode_t modes[] = {ALPI_SUSPEND_SUBMIT, ALPI_SUSPEND_TIMEOUT_SUBMIT, ALPI_SUSPEND_EVENT_SUBMIT};
        CHECK_EQ(alpi_task_suspend_mode_set(self, (alpi_suspend_mode_t)9, 0), ALPI_ERR_PARAMETER);
        ALPI(alpi_task_suspend_mode_set(self, modes[get(runs) % 3], get(runs) % 3 == 1 ? 1000 : 0));
        ALPI(alpi_task_suspend(self));
    } else {
        add(&bodies, 1);
    }
}
static void counts(void *arg) { (void)arg; add(&bodies, 1); }
static void completed(void *arg) { add((int *)arg, 1); }
static void spawns(void)
{
    int runs = 0;
    ALPI(alpi_task_spawn(blocks, &spawned, completed, &completed_calls, "blocks", NULL));
    UNTIL(__atomic_load_n(&blocked, __ATOMIC_SEQ_CST));
    CHECK_EQ(get(&completed_calls), 0);
    ALPI(alpi_task_unblock(blocked));
    UNTIL(get(&completed_calls) == 1);
    CHECK_EQ(get(&bodies), 1);

    ALPI(alpi_task_spawn(leaves_event, NULL, completed, &completed_calls, NULL, NULL));
    UNTIL(get(&bodies) == 2);
    ALPI(alpi_task_events_decrease(with_event, 1));
    settle();
    CHECK_EQ(get(&completed_calls), 1);
    ALPI(alpi_task_events_decrease(with_event, 2));
    UNTIL(get(&completed_calls) == 2);

    ALPI(alpi_task_spawn(suspends, &runs, completed, &completed_calls, "suspends", NULL));
    UNTIL(get(&completed_calls) == 3);
    CHECK_EQ(get(&bodies), 3);
    CHECK_EQ(get(&runs), 5);

    set(&completed_calls, 0);
    long before = 0;
    for (int i = 0; i < 30000; i++) {   /* task and type go by themselves */
        if (i == 10000) before = resident();
        ALPI(alpi_task_spawn(counts, NULL, completed, &completed_calls, "one of many", NULL));
        if (i % 100 == 99) UNTIL(get(&completed_calls) == i + 1);
    }
    UNTIL(get(&completed_calls) == 30000);
    CHECK_EQ(get(&bodies), 30003);
    CHECK(resident() - before < 2048);
    blocked = with_event = NULL;
    set(&bodies, 0);
    set(&completed_calls, 0);
}

int main(void)
{
    begin();
    before_init();
    OK(nosv_init());
    symbols();
    texts();
    attributes();
    outside();
    in_task(inside, NOSV_CREATE_NONE);
    in_task(parallel_body, NOSV_CREATE_PARALLEL);
    spawns();
    attach();
    inside();
    spawns();
    OK(nosv_detach(NOSV_DETACH_NONE));
    OK(nosv_shutdown());
    before_init();
    return 0;
}
