/* tests/nosv/callbacks.c - what end and completed callbacks may do, and what others may do meanwhile.  SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>
#include <nosv/compat.h>
#include <nosv/memory.h>

#include "nosv_test.h"

static int at, ran, completions;
static void nothing(nosv_task_t task) { (void)task; }
static void runs(nosv_task_t task) { (void)task; add(&ran, 1); }
static void finish(nosv_task_t task) { OK(nosv_destroy(task, NOSV_DESTROY_NONE)); add(&completions, 1); }

/* ---- a completed callback that blocks -------------------------------------------------------------- */

static nosv_mutex_t mutex = NOSV_MUTEX_INITIALIZER;
static nosv_task_t joined;

static void blocks(nosv_task_t task)
{
    add(&completions, 1);
    OK(nosv_waitfor(1000000, NULL));
    CHECK(nosv_self() == task);
    CHECK_EQ(nosv_mutex_lock(&mutex), 0);
    OK(nosv_waitfor(1000000, NULL));
    CHECK_EQ(nosv_mutex_unlock(&mutex), 0);
    OK(nosv_yield(NOSV_YIELD_NONE));
    CHECK_EQ(nosv_pause(NOSV_PAUSE_NONE), NOSV_ERR_INVALID_OPERATION);
    CHECK(nosv_self() == task);
    OK(nosv_destroy(task, NOSV_DESTROY_NONE));
    OK(nosv_waitfor(100000, NULL));
    add(&at, 1);
}

/* Several at once, so that they also wait for each other.  Each body is executed once. */
static void completed_blocks(void)
{
    nosv_task_type_t type = type_of(runs, NULL, blocks);
    for (int i = 0; i < 20; i++) {
        nosv_task_t task = task_of(type, NULL, i % 3 ? NOSV_CREATE_NONE : NOSV_CREATE_PARALLEL);
        if (i % 3 == 1) placed(task, i);
        OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    }
    UNTIL(get(&at) == 20);
    CHECK_EQ(get(&ran), 20);
    CHECK_EQ(get(&completions), 20);
}

static void waits(nosv_task_t task)
{
    (void)task;
    OK(nosv_join(joined, NULL, FOREVER));
    CHECK_EQ(get(&completions), 1);
    OK(nosv_submit(task_of(nosv_get_task_type_metadata(nosv_get_task_type(task)), NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_BLOCKING));
    CHECK_EQ(get(&completions), 2);
    add(&at, 1);
}

static void sleeps(nosv_task_t task) { (void)task; OK(nosv_waitfor(2000000, NULL)); }
static void counts(nosv_task_t task) { (void)task; add(&completions, 1); }

/* It joins, and submits with BLOCKING. */
static void completed_waits(void)
{
    nosv_task_type_t inner = type_of(sleeps, NULL, counts), type;
    OK(nosv_type_init(&type, runs, NULL, waits, "outer", inner, NULL, NOSV_TYPE_INIT_NONE));
    joined = task_of(inner, NULL, NOSV_CREATE_JOINABLE);
    OK(nosv_submit(task_of(type, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    OK(nosv_submit(joined, NOSV_SUBMIT_NONE));
    UNTIL(get(&at));
    CHECK_EQ(get(&ran), 1);
}

/* ---- a task that is submitted again while its completed callback runs ------------------------------ */

static int returns;

/* The first callback returns while the second execution is in its body. */
static void returns_late(nosv_task_t task)
{
    (void)task;
    if (add(&completions, 1) > 1) return;
    UNTIL(get(&ran) == 2);
    set(&returns, 1);
}

static void outlasts_callback(nosv_task_t task)
{
    (void)task;
    if (add(&ran, 1) == 1) return;
    UNTIL(get(&returns));
    settle();
}

/* The number of the completion, 1, is that of the executions of the second life, too. */
static void again_while_completing(void)
{
    nosv_task_t task = task_of(type_of(outlasts_callback, NULL, returns_late), NULL, NOSV_CREATE_NONE);
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    UNTIL(get(&completions));
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    UNTIL(get(&completions) == 2);
}

/* ---- what belongs to the execution ------------------------------------------------------------------- */

static void cannot_suspend(nosv_task_t task)
{
    (void)task;
    CHECK_EQ(nosv_suspend(), NOSV_ERR_INVALID_OPERATION);
    add(&at, 1);
}

static void has_completed(nosv_task_t task)
{
    cannot_suspend(task);
    CHECK_EQ(nosv_increase_event_counter(1), NOSV_ERR_INVALID_OPERATION);
    CHECK_EQ(nosv_set_suspend_mode(NOSV_SUSPEND_MODE_SUBMIT, 0), NOSV_ERR_INVALID_OPERATION);
}

/* A call after the body has returned does not suspend the next task of the worker. */
static void suspends_late(void)
{
    nosv_task_type_t type = type_of(nothing, cannot_suspend, has_completed), next = type_of(runs, NULL, finish);
    for (int i = 0; i < 10; i++) {
        OK(nosv_submit(pinned(task_of(type, NULL, NOSV_CREATE_NONE)), NOSV_SUBMIT_NONE));
        OK(nosv_submit(pinned(task_of(next, NULL, NOSV_CREATE_NONE)), NOSV_SUBMIT_NONE));
    }
    UNTIL(get(&completions) == 10);
    CHECK_EQ(get(&ran), 10);
    CHECK_EQ(get(&at), 20);
}

static void holds_back(nosv_task_t task)
{
    OK(nosv_set_submit_window_size(8));
    OK(nosv_submit(task_of(nosv_get_task_type_metadata(nosv_get_task_type(task)), NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
}

/* What a completed callback has held back is submitted when it returns. */
static void window_of_completed(void)
{
    nosv_task_type_t next = type_of(runs, NULL, finish), type;
    OK(nosv_type_init(&type, nothing, NULL, holds_back, "window", next, NULL, NOSV_TYPE_INIT_NONE));
    OK(nosv_submit(task_of(type, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    UNTIL(get(&completions) == 1);
}

static nosv_task_type_t small;
static void widens(nosv_task_t task)
{
    (void)task;
    OK(nosv_set_submit_window_size(1000));
    for (int i = 0; i < 40; i++) OK(nosv_submit(task_of(small, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
}

static void widen_often(int rounds)
{
    nosv_task_type_t type = type_of(widens, NULL, finish);
    for (int i = 0; i < rounds; i++) {
        attach();
        OK(nosv_submit(task_of(type, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_INLINE));
        widens(NULL);
        OK(nosv_detach(NOSV_DETACH_NONE));
    }
    UNTIL(get(&completions) == rounds * 81);
    set(&completions, 0);
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* The window of an inline task and that of an attach are freed with them. */
static void windows_leak_nothing(void)
{
    small = type_of(nothing, NULL, finish);
    widen_often(20);
    size_t before = mallinfo2().uordblks;
    widen_often(200);
    CHECK(mallinfo2().uordblks < before + 65536);       /* a window takes 512 bytes */
}

static void id_is_own(nosv_task_t task) { (void)task; CHECK_EQ(nosv_get_execution_id(), 0); add(&ran, 1); }
static void with_inner(nosv_task_t task)
{
    (void)task;
    CHECK_EQ(nosv_submit(task_of(small, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_INLINE), NOSV_ERR_INVALID_OPERATION);
    add(&at, (int)nosv_get_execution_id());
}

static void parallel_twice(void)
{
    nosv_task_type_t type = type_of(with_inner, NULL, counts);
    small = type_of(id_is_own, NULL, NULL);
    nosv_task_t task = task_of(type, NULL, NOSV_CREATE_PARALLEL);
    nosv_set_task_degree(task, 10);
    placed(task, 0);
    attach_pinned();
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    CHECK_EQ(nosv_submit(task, NOSV_SUBMIT_NONE), NOSV_ERR_INVALID_OPERATION);  /* its executions have not ended */
    UNTIL(get(&completions) == 1);
    CHECK_EQ(get(&at), 45);
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    UNTIL(get(&completions) == 2);
    CHECK_EQ(get(&at), 90);
    OK(nosv_detach(NOSV_DETACH_NONE));
}

/* ---- others meanwhile -------------------------------------------------------------------------------- */

static int gone;
static void is_valid(nosv_task_t task)
{
    void *p = pointer_of(task);
    add(&at, 1);
    while (!get(&gone)) sched_yield();          /* another thread destroys the task now */
    CHECK(pointer_of(task) == p);
    CHECK_EQ(nosv_get_task_priority(task), 7);
    add(&completions, 1);
}

/* It has said that its work is done, and is destroyed when its completed callback has begun: the record stays until that has returned. */
static void destroyed_meanwhile(nosv_flags_t flags)
{
    nosv_task_type_t type = type_of(nothing, NULL, is_valid), filler = type_of(nothing, NULL, NULL);
    nosv_task_t others[200];
    set(&at, 0);
    set(&gone, 0);
    set(&completions, 0);
    nosv_task_t task = task_of(type, &at, flags);
    nosv_set_task_priority(task, 7);
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    while (!get(&at)) usleep(100);
    OK(nosv_destroy(task, NOSV_DESTROY_NONE));
    for (int i = 0; i < 200; i++) others[i] = task_of(filler, NULL, NOSV_CREATE_NONE);
    set(&gone, 1);
    while (!get(&completions)) usleep(100);
    for (int i = 0; i < 200; i++) OK(nosv_destroy(others[i], NOSV_DESTROY_NONE));
}
static void destroyed_while_completing(void)
{
    destroyed_meanwhile(NOSV_CREATE_NONE);
    destroyed_meanwhile(NOSV_CREATE_PARALLEL);
    destroyed_meanwhile(NOSV_CREATE_JOINABLE);
}

static int probed;
static nosv_task_type_t probe;
static void probes(nosv_task_t task) { (void)task; set(&probed, 1); }
static void twice(nosv_task_t task)
{
    int round = add(&at, 1);
    if (round == 1) {
        OK(nosv_submit(placed(task, 1), NOSV_SUBMIT_NONE));
        while (get(&at) < 2) sched_yield();     /* the second completed callback has begun */
        OK(nosv_submit(placed(task_of(probe, NULL, NOSV_CREATE_NONE), 0), NOSV_SUBMIT_NONE));
    } else {
        while (!get(&gone)) sched_yield();
    }
}

/* Its own completed callback submits it again, and returns after the second has begun: it has not ended. */
static void again_while_joined(void)
{
    if (nosv_get_num_cpus() < 2) return;
    probe = type_of(probes, NULL, NULL);
    nosv_task_t task = placed(task_of(type_of(nothing, NULL, twice), NULL, NOSV_CREATE_JOINABLE), 0);
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    while (!get(&probed)) usleep(1000);         /* the thread of the first callback has gone on */
    attach();
    CHECK_EQ(nosv_wait(task, 0), NOSV_ERR_TIMEOUT);
    set(&gone, 1);
    OK(nosv_join(task, NULL, FOREVER));
    OK(nosv_detach(NOSV_DETACH_NONE));
}

static void for_event(nosv_task_t task)
{
    (void)task;
    if (get(&at)) return;
    OK(nosv_increase_event_counter(1));
    OK(nosv_set_suspend_mode(NOSV_SUSPEND_MODE_EVENT_SUBMIT, 0));
    OK(nosv_suspend());
    add(&at, 1);
}

/* A task that is destroyed while it is suspended until an event is freed when it has completed. */
static void destroyed_before_its_event(void)
{
    nosv_task_type_t type = type_of(for_event, NULL, counts);
    size_t before, after;
    OK(nosv_memory_get_used(&before));
    for (int i = 0; i < 1000; i++) {
        nosv_task_t task;
        set(&at, 0);
        set(&completions, 0);
        OK(nosv_create(&task, type, 4096, NOSV_CREATE_NONE));
        OK(nosv_submit(task, NOSV_SUBMIT_NONE));
        while (!get(&at)) usleep(10);
        OK(nosv_destroy(task, NOSV_DESTROY_NONE));
        OK(nosv_decrease_event_counter(task, 1));
        while (!get(&completions)) usleep(10);
    }
    OK(nosv_memory_get_used(&after));
    CHECK(after < before + (1 << 20));
}

static nosv_task_t pauser;
static void pauses(nosv_task_t task) { (void)task; add(&ran, 1); OK(nosv_pause(NOSV_PAUSE_NONE)); add(&ran, 1); OK(nosv_pause(NOSV_PAUSE_NONE)); }
static void submits_and_waits(nosv_task_t task)
{
    (void)task;
    OK(nosv_submit(pauser, NOSV_SUBMIT_BLOCKING));
    CHECK_EQ(get(&completions), 1);
    add(&at, 1);
}

/* Three tasks submit one with BLOCKING, for its beginning and for its two pauses: all of them wait for its end. */
static void several_wait(void)
{
    nosv_task_type_t type = type_of(submits_and_waits, NULL, NULL);
    pauser = task_of(type_of(pauses, NULL, counts), NULL, NOSV_CREATE_NONE);
    for (int i = 0; i < 3; i++) OK(nosv_submit(task_of(type, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    UNTIL(get(&at) == 3);
    CHECK_EQ(get(&ran), 2);
}

/* ---- fork ---------------------------------------------------------------------------------------------- */

static int file;
static pid_t forked;
static void forks(nosv_task_t task)
{
    (void)task;
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid) forked = pid;
}
static void writes(nosv_task_t task) { (void)task; CHECK_EQ(write(file, "x", 1), 1); add(&completions, 1); }

/* The task is the parent's: its child does not complete it. */
static void forks_at_the_end(void)
{
    int ends[2], status;
    char text[4];
    CHECK_EQ(pipe(ends), 0);
    file = ends[1];
    OK(nosv_submit(task_of(type_of(nothing, forks, writes), NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    UNTIL(get(&completions));
    CHECK_EQ(waitpid(forked, &status, 0), forked);
    CHECK_EQ(read(ends[0], text, sizeof(text)), 1);
}

static const struct test_case cases[] = {
    {"completed-blocks", completed_blocks}, {"completed-waits", completed_waits}, {"suspends-late", suspends_late},
    {"window-of-completed", window_of_completed}, {"windows-leak-nothing", windows_leak_nothing}, {"parallel-twice", parallel_twice},
    {"destroyed-while-completing", destroyed_while_completing}, {"again-while-joined", again_while_joined},
    {"again-while-completing", again_while_completing},
    {"destroyed-before-its-event", destroyed_before_its_event}, {"several-wait", several_wait}, {"forks-at-the-end", forks_at_the_end},
};

int main(int argc, char **argv) { return run_cases(cases, sizeof(cases) / sizeof(*cases), true, argc, argv); }
