/* tests/nosv/submit.c - nosv_submit: flags, contexts, order.  SPDX-License-Identifier: Apache-2.0 */
#include "nosv_test.h"

static const nosv_flags_t exclusive[] = {NOSV_SUBMIT_BLOCKING, NOSV_SUBMIT_IMMEDIATE, NOSV_SUBMIT_INLINE, NOSV_SUBMIT_DEADLINE_WAKE};
static nosv_task_type_t counting;
static int ran, completions;
static void run(nosv_task_t task) { (void)task; add(&ran, 1); }
static void completed(nosv_task_t task) { (void)task; add(&completions, 1); }
static void finish(nosv_task_t task) { OK(nosv_destroy(task, NOSV_DESTROY_NONE)); add(&completions, 1); }

static void refused_combinations(void)
{
    nosv_task_t task = task_of(counting, NULL, NOSV_CREATE_NONE);
    int before = get(&ran);
    for (unsigned set_of = 1; set_of < 16; set_of++) {
        nosv_flags_t flags = 0;
        for (int i = 0; i < 4; i++) if (set_of >> i & 1) flags |= exclusive[i];
        if (!(set_of & (set_of - 1))) continue;
        CHECK_EQ(nosv_submit(task, flags), NOSV_ERR_INVALID_OPERATION);
        CHECK_EQ(nosv_submit(task, flags | NOSV_SUBMIT_UNLOCKED), NOSV_ERR_INVALID_OPERATION);
    }
    CHECK_EQ(nosv_submit(task, UINT64_C(32)), NOSV_ERR_INVALID_PARAMETER);
    CHECK_EQ(nosv_submit(NULL, NOSV_SUBMIT_NONE), NOSV_ERR_INVALID_PARAMETER);
    CHECK_EQ(nosv_submit(NULL, NOSV_SUBMIT_UNLOCKED), NOSV_ERR_INVALID_PARAMETER);
    CHECK_EQ(get(&ran), before);
    OK(nosv_destroy(task, NOSV_DESTROY_NONE));
}

static void refused_outside(void)
{
    nosv_task_t task = task_of(counting, NULL, NOSV_CREATE_NONE);
    int before = get(&completions);
    for (int i = 0; i < 3; i++) {
        if (exclusive[i] == NOSV_SUBMIT_IMMEDIATE) continue;
        CHECK_EQ(nosv_submit(task, exclusive[i]), NOSV_ERR_OUTSIDE_TASK);
        CHECK_EQ(nosv_submit(task, exclusive[i] | NOSV_SUBMIT_UNLOCKED), NOSV_ERR_OUTSIDE_TASK);
    }
    CHECK_EQ(get(&completions), before);
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));            /* ... and they have left no trace */
    UNTIL(get(&completions) == before + 1);
    OK(nosv_submit(task, NOSV_SUBMIT_UNLOCKED));
    UNTIL(get(&completions) == before + 2);
    OK(nosv_submit(task, NOSV_SUBMIT_DEADLINE_WAKE));   /* starts nothing */
    OK(nosv_submit(task, NOSV_SUBMIT_DEADLINE_WAKE | NOSV_SUBMIT_UNLOCKED));
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    UNTIL(get(&completions) == before + 3);
    OK(nosv_submit(task, NOSV_SUBMIT_IMMEDIATE));       /* without a task that it could follow, an ordinary submission */
    UNTIL(get(&completions) == before + 4);
    OK(nosv_submit(task, NOSV_SUBMIT_IMMEDIATE | NOSV_SUBMIT_UNLOCKED));
    UNTIL(get(&completions) == before + 5);
    OK(nosv_destroy(task, NOSV_DESTROY_NONE));
}

/* What a parallel task may not ask for, and what it may. */
static nosv_task_type_t finishing;
static void parallel_body(void)
{
    nosv_task_t task = task_of(finishing, NULL, NOSV_CREATE_NONE);
    CHECK_EQ(nosv_submit(task, NOSV_SUBMIT_BLOCKING), NOSV_ERR_INVALID_OPERATION);
    CHECK_EQ(nosv_submit(task, NOSV_SUBMIT_INLINE), NOSV_ERR_INVALID_OPERATION);
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    OK(nosv_submit(task_of(finishing, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_IMMEDIATE));
    OK(nosv_submit(task_of(finishing, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_UNLOCKED));
}
static void from_parallel(void)
{
    int before = get(&completions);
    finishing = type_of(run, NULL, finish);
    in_task(parallel_body, NOSV_CREATE_PARALLEL);
    UNTIL(get(&completions) == before + 3);
    OK(nosv_type_destroy(finishing, NOSV_TYPE_DESTROY_NONE));
}

/* Every allowed combination, from a task. */
static void allowed_combinations(void)
{
    static const nosv_flags_t base[] = {NOSV_SUBMIT_NONE, NOSV_SUBMIT_BLOCKING, NOSV_SUBMIT_IMMEDIATE, NOSV_SUBMIT_INLINE};
    for (int i = 0; i < 4; i++) {
        for (int u = 0; u < 2; u++) {
            nosv_task_t task = task_of(counting, NULL, NOSV_CREATE_NONE);
            for (int round = 0; round < 10; round++) {
                int before = get(&completions);
                OK(nosv_submit(task, base[i] | (u ? NOSV_SUBMIT_UNLOCKED : 0)));
                if (base[i] & (NOSV_SUBMIT_BLOCKING | NOSV_SUBMIT_INLINE)) CHECK_EQ(get(&completions), before + 1);
                UNTIL(get(&completions) == before + 1);
            }
            OK(nosv_destroy(task, NOSV_DESTROY_NONE));
        }
    }
}

static void itself(void)
{
    CHECK_EQ(nosv_submit(nosv_self(), NOSV_SUBMIT_BLOCKING), NOSV_ERR_INVALID_OPERATION);
    CHECK_EQ(nosv_submit(nosv_self(), NOSV_SUBMIT_INLINE), NOSV_ERR_INVALID_OPERATION);
    OK(nosv_submit(nosv_self(), NOSV_SUBMIT_NONE));     /* for its next pause */
    OK(nosv_pause(NOSV_PAUSE_NONE));
    OK(nosv_submit(nosv_self(), NOSV_SUBMIT_IMMEDIATE));
    OK(nosv_pause(NOSV_PAUSE_NONE));
}

/* A task whose next execution depends on this one alone: its completed callback submits it again. */
static void follows_itself(nosv_task_t task)
{
    int n = add(&completions, 1);
    if (n % 100) OK(nosv_submit(task, n % 2 ? NOSV_SUBMIT_IMMEDIATE : NOSV_SUBMIT_IMMEDIATE | NOSV_SUBMIT_UNLOCKED));
}
static void again_immediately(nosv_flags_t flags)
{
    nosv_task_type_t type = type_of(run, NULL, follows_itself);
    nosv_task_t task = task_of(type, NULL, flags);
    int before;
    if (flags & NOSV_CREATE_PARALLEL) nosv_set_task_degree(task, 3);
    set(&completions, 0);
    before = get(&ran);
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    UNTIL(get(&completions) == 100);
    CHECK_EQ(get(&ran), before + 100 * nosv_get_task_degree(task));
    OK(nosv_destroy(task, NOSV_DESTROY_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* BLOCKING returns after the completed callback has, also if events delay that. */
static nosv_task_t waiting_for_event;
static void leave_event(nosv_task_t task) { OK(nosv_increase_event_counter(1)); __atomic_store_n(&waiting_for_event, task, __ATOMIC_SEQ_CST); }
static void *end_event(void *arg)
{
    nosv_task_t task;
    while (!(task = __atomic_load_n(&waiting_for_event, __ATOMIC_SEQ_CST))) usleep(100);
    OK(nosv_decrease_event_counter(task, 1));
    return arg;
}
static void blocking_with_events(void)
{
    nosv_task_type_t type = type_of(leave_event, NULL, completed);
    nosv_task_t task = task_of(type, NULL, NOSV_CREATE_NONE);
    pthread_t thread;
    int before = get(&completions);
    CHECK_EQ(pthread_create(&thread, NULL, end_event, NULL), 0);
    OK(nosv_submit(task, NOSV_SUBMIT_BLOCKING));
    CHECK_EQ(get(&completions), before + 1);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    OK(nosv_destroy(task, NOSV_DESTROY_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* INLINE: this thread, now, with its own task context; nested; destroyed in its completed callback. */
static int depth;
static pid_t caller;
static nosv_task_type_t nested;
static void inline_body(nosv_task_t task)
{
    CHECK(nosv_self() == task);
    CHECK_EQ(thread_id(), caller);
    if (add(&depth, 1) < 10) {
        nosv_task_t inner = task_of(nested, NULL, NOSV_CREATE_NONE);
        int before = get(&completions);
        OK(nosv_submit(inner, NOSV_SUBMIT_INLINE));
        CHECK(get(&completions) > before);
        CHECK(nosv_self() == task);
    }
}
static void inline_nested(void)
{
    nosv_task_t self = nosv_self(), task;
    nested = type_of(inline_body, NULL, finish);
    caller = thread_id();
    set(&depth, 0);
    int before = get(&completions);
    task = task_of(nested, NULL, NOSV_CREATE_NONE);
    OK(nosv_submit(task, NOSV_SUBMIT_INLINE));
    CHECK_EQ(get(&depth), 10);
    CHECK_EQ(get(&completions), before + 10);
    CHECK(nosv_self() == self);
    OK(nosv_type_destroy(nested, NOSV_TYPE_DESTROY_NONE));

    nosv_task_t parallel = task_of(counting, NULL, NOSV_CREATE_PARALLEL);
    CHECK_EQ(nosv_submit(parallel, NOSV_SUBMIT_INLINE), NOSV_ERR_INVALID_OPERATION);
    OK(nosv_destroy(parallel, NOSV_DESTROY_NONE));
}

/* An inline task that pauses blocks its caller, and resumes by a submission of the inline task. */
static nosv_task_t paused;
static void pausing(nosv_task_t task)
{
    __atomic_store_n(&paused, task, __ATOMIC_SEQ_CST);
    OK(nosv_pause(NOSV_PAUSE_NONE));
    CHECK(nosv_self() == task);
    add(&ran, 1);
}
static void resuming(nosv_task_t task)
{
    (void)task;
    nosv_task_t other;
    while (!(other = __atomic_exchange_n(&paused, NULL, __ATOMIC_SEQ_CST))) OK(nosv_waitfor(100000, NULL));
    OK(nosv_submit(other, NOSV_SUBMIT_NONE));
}
static void inline_that_pauses(void)
{
    nosv_task_type_t pausers = type_of(pausing, NULL, completed), resumers = type_of(resuming, NULL, finish);
    nosv_task_t task = task_of(pausers, NULL, NOSV_CREATE_NONE);
    for (int i = 0; i < 50; i++) {
        int before = get(&ran);
        OK(nosv_submit(task_of(resumers, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
        OK(nosv_submit(task, NOSV_SUBMIT_INLINE));
        CHECK_EQ(get(&ran), before + 1);
    }
    OK(nosv_destroy(task, NOSV_DESTROY_NONE));
    OK(nosv_type_destroy(pausers, NOSV_TYPE_DESTROY_NONE));
    OK(nosv_type_destroy(resumers, NOSV_TYPE_DESTROY_NONE));
}

/* IMMEDIATE: before what was submitted earlier, once this task leaves the CPU; a second one takes its place. */
static struct record order;
static void ordered(nosv_task_t task) { note(&order, (int)(intptr_t)pointer_of(task)); }
static nosv_task_type_t ordering;
static void after_completed(nosv_task_t task)
{
    (void)task;
    OK(nosv_submit(pinned(task_of(ordering, (void *)7, NOSV_CREATE_NONE)), NOSV_SUBMIT_IMMEDIATE));
    note(&order, 6);
}
static void immediate(void)
{
    ordering = type_of(ordered, NULL, finish);
    attach_pinned();
    for (int way = 0; way < 2; way++) {     /* leave by yield, by pause */
        clear(&order);
        for (intptr_t i = 1; i <= 4; i++) OK(nosv_submit(pinned(task_of(ordering, (void *)i, NOSV_CREATE_NONE)), NOSV_SUBMIT_NONE));
        OK(nosv_submit(pinned(task_of(ordering, (void *)5, NOSV_CREATE_NONE)), NOSV_SUBMIT_IMMEDIATE));
        CHECK_EQ(get(&order.n), 0);         /* all are pinned to this CPU, which this task has */
        if (way == 0) OK(nosv_yield(NOSV_YIELD_NONE));
        else OK(nosv_waitfor(0, NULL));
        UNTIL(get(&order.n) == 5);
        CHECK_EQ(order.what[0], 5);
        for (int i = 1; i <= 4; i++) CHECK_EQ(order.what[i], i);
    }
    clear(&order);
    for (intptr_t i = 1; i <= 3; i++) OK(nosv_submit(pinned(task_of(ordering, (void *)i, NOSV_CREATE_NONE)), NOSV_SUBMIT_IMMEDIATE));
    UNTIL(get(&order.n) == 3);
    CHECK_EQ(order.what[0], 3);             /* the last has the place; all run */

    clear(&order);                          /* from a completed callback: after that has ended, before the others */
    nosv_task_type_t type = type_of(run, NULL, after_completed);
    nosv_task_t task = pinned(task_of(type, NULL, NOSV_CREATE_NONE));
    OK(nosv_submit(task, NOSV_SUBMIT_NONE));
    OK(nosv_submit(pinned(task_of(ordering, (void *)8, NOSV_CREATE_NONE)), NOSV_SUBMIT_NONE));
    UNTIL(get(&order.n) == 3);
    for (int i = 0; i < 3; i++) CHECK_EQ(order.what[i], 6 + i);
    OK(nosv_destroy(task, NOSV_DESTROY_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));

    clear(&order);                          /* the task ends with a successor in its place */
    OK(nosv_submit(task_of(ordering, (void *)9, NOSV_CREATE_NONE), NOSV_SUBMIT_IMMEDIATE));
    OK(nosv_detach(NOSV_DETACH_NONE));
    UNTIL(get(&order.n) == 1);
    OK(nosv_type_destroy(ordering, NOSV_TYPE_DESTROY_NONE));
}

/* Threads in no task submit at once: nothing is lost. */
enum { SUBMITTERS = 4, EACH = 2000 };
static void *submitter(void *arg)
{
    for (int i = 0; i < EACH; i++) OK(nosv_submit(task_of(*(nosv_task_type_t *)arg, NULL, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    return NULL;
}
static void spawning(nosv_task_t task)
{
    nosv_task_type_t type = nosv_get_task_type(task);
    intptr_t left = (intptr_t)pointer_of(task);
    add(&ran, 1);
    for (int i = 0; i < 2 && left > 0; i++) OK(nosv_submit(task_of(type, (void *)(left - 1), NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
}
static void crowd(void)
{
    nosv_task_type_t type = type_of(run, NULL, finish);
    pthread_t threads[SUBMITTERS];
    set(&ran, 0);
    set(&completions, 0);
    for (int i = 0; i < SUBMITTERS; i++) CHECK_EQ(pthread_create(&threads[i], NULL, submitter, &type), 0);
    for (int i = 0; i < SUBMITTERS; i++) CHECK_EQ(pthread_join(threads[i], NULL), 0);
    UNTIL(get(&completions) == SUBMITTERS * EACH);
    CHECK_EQ(get(&ran), SUBMITTERS * EACH);
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));

    type = type_of(spawning, NULL, finish);     /* a tree of 2^13 - 1 tasks */
    set(&ran, 0);
    set(&completions, 0);
    OK(nosv_submit(task_of(type, (void *)12, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    UNTIL(get(&completions) == 8191);
    CHECK_EQ(get(&ran), 8191);
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

int main(void)
{
    begin();
    OK(nosv_init());
    counting = type_of(run, NULL, completed);
    refused_combinations();
    refused_outside();
    in_task(refused_combinations, NOSV_CREATE_NONE);
    in_task(allowed_combinations, NOSV_CREATE_NONE);
    in_task(itself, NOSV_CREATE_NONE);
    in_task(blocking_with_events, NOSV_CREATE_NONE);
    __atomic_store_n(&waiting_for_event, NULL, __ATOMIC_SEQ_CST);
    in_task(inline_nested, NOSV_CREATE_NONE);
    in_task(inline_that_pauses, NOSV_CREATE_NONE);
    from_parallel();
    attach();
    allowed_combinations();
    itself();
    blocking_with_events();
    inline_nested();
    inline_that_pauses();
    OK(nosv_detach(NOSV_DETACH_NONE));
    again_immediately(NOSV_CREATE_NONE);
    again_immediately(NOSV_CREATE_PARALLEL);
    immediate();
    crowd();
    OK(nosv_type_destroy(counting, NOSV_TYPE_DESTROY_NONE));
    OK(nosv_shutdown());
    return 0;
}
