/* src/tasks/join.c - waiting for tasks to complete.  SPDX-License-Identifier: Apache-2.0
 *
 * nosv_task.joiner: 0, a waiter's record, or DONE.  The waiter changes 0 into its record, and back;
 * the thread that completes the task changes whatever there is into DONE, and tells the record.  A
 * record lies on its waiter's stack: the waiter leaves it only when all tasks whose joiner it could
 * not change back have told it (models/join.pml). */
#include "tasks/tasks.h"

#define DONE 1ul

/* Each completed task is told to the record once.  The thread that tells the last one wakes the
 * sleeper.  If that thread is the sleeper itself, it does not begin to sleep. */
struct waiter { struct nosv_task *sleeper; _Atomic size_t told; _Atomic uint32_t left; size_t wanted; };

bool tk_has_waiter(struct nosv_task *t) { return atomic_load(&t->joiner) > DONE; }

bool tk_is_joined(struct nosv_task *t) { return atomic_load(&t->joiner) == DONE; }

/* A thread that waits already keeps its record here, for the completion that is to come.  A mark
 * of the last completion goes: a waiter that has found it, and has not left yet, does not put it
 * back. */
void tk_joinable_begin(struct nosv_task *t)
{
    uintptr_t was = atomic_load(&t->joiner);
    while (was & DONE && !atomic_compare_exchange_strong(&t->joiner, &was, 0)) continue;
}

/* True: that was the last.  Else the record may be gone when this returns. */
static bool tell(struct waiter *w)
{
    size_t wanted = w->wanted;
    return atomic_fetch_add(&w->told, 1) + 1 == wanted;
}

/* From DONE on the task may be gone. */
void tk_joinable_done(struct nosv_task *t)
{
    USF_POINT("tasks.joinable");
    uintptr_t was = atomic_exchange(&t->joiner, DONE);
    struct waiter *w = (struct waiter *)was;
    if (was <= DONE) return;
    struct nosv_task *sleeper = w->sleeper;
    USF_POINT("tasks.joined");
    if (!tell(w)) return;
    bool mine = tk_end_sleep(sleeper, TK_FOR_OTHERS);
    USF_POINT("tasks.told_last");
    atomic_store(&w->left, 1);
    if (mine) tk_queue(tk_me(), sleeper);
}

/* Of the first n.  Returns when no other thread uses the record any more. */
static void withdraw(struct waiter *w, nosv_task_t *tasks, size_t n)
{
    size_t out = 0;             /* taken back, or completed before this thread came */
    for (size_t i = 0; i < n; i++) {
        uintptr_t mine = (uintptr_t)w, found = (uintptr_t)w | DONE;
        if (atomic_compare_exchange_strong(&tasks[i]->joiner, &mine, 0)) out++;
        else atomic_compare_exchange_strong(&tasks[i]->joiner, &found, DONE);
    }
    for (unsigned i = 0; atomic_load(&w->told) + out < n || (atomic_load(&w->told) == w->wanted && !atomic_load(&w->left)); i++)
        if (i < 1000) os_pause();
        else os_sched_yield();
}

/* Completed ones are marked as well, so that a task that stands there twice is noticed. */
static bool enter(struct waiter *w, nosv_task_t t, bool *told_last)
{
    uintptr_t was = 0;
    if (atomic_compare_exchange_strong(&t->joiner, &was, (uintptr_t)w)) return true;
    if (was != DONE || !atomic_compare_exchange_strong(&t->joiner, &was, (uintptr_t)w | DONE)) return false;
    *told_last = tell(w);
    return true;
}

/* `sleeps`: false: only look. */
static int wait_until(struct tk_exec *me, nosv_task_t *tasks, size_t n, bool sleeps, uint64_t deadline)
{
    struct waiter w = {.wanted = n};
    bool told_last = false;
    if (sleeps) tk_begin_sleep(me, TK_FOR_OTHERS);
    w.sleeper = me->task;
    for (size_t i = 0; i < n; i++)
        if (!enter(&w, tasks[i], &told_last)) {
            if (sleeps) tk_cancel_sleep(me);
            withdraw(&w, tasks, i);
            return NOSV_ERR_INVALID_PARAMETER;      /* another waits for it, or it is there twice */
        }
    if (told_last) atomic_store(&w.left, 1);
    if (sleeps && told_last) tk_cancel_sleep(me);
    else if (sleeps) tk_sleep(me, deadline);
    withdraw(&w, tasks, n);
    return atomic_load(&w.told) == n ? NOSV_SUCCESS : NOSV_ERR_TIMEOUT;
}

/* One task and no time: what its word says. */
static int look(nosv_task_t t)
{
    uintptr_t joiner = atomic_load(&t->joiner);
    return joiner == DONE ? NOSV_SUCCESS : joiner ? NOSV_ERR_INVALID_PARAMETER : NOSV_ERR_TIMEOUT;
}

static int wait_for(nosv_task_t *tasks, size_t n, uint64_t timeout)
{
    struct tk_exec *me;
    int r = tk_in_task(&me);
    if (r) return r;
    if (me->parallel) return NOSV_ERR_INVALID_OPERATION;
    if (!n) return NOSV_SUCCESS;
    if (!tasks) return NOSV_ERR_INVALID_PARAMETER;
    for (size_t i = 0; i < n; i++)
        if (!tasks[i] || tk_is_own(me, tasks[i]) || !(tasks[i]->flags & TK_F_JOINABLE)) return NOSV_ERR_INVALID_PARAMETER;
    tk_flush_if_any(me);
    if (n == 1 && !timeout) return look(*tasks);
    uint64_t now = os_now();
    return wait_until(me, tasks, n, timeout != 0, timeout > UINT64_MAX - now ? 0 : now + timeout);
}

static int join(nosv_task_t *tasks, void **results, size_t n, uint64_t timeout)
{
    int r = wait_for(tasks, n, timeout);
    for (size_t i = 0; i < n && r == NOSV_SUCCESS; i++) {
        if (results) results[i] = tasks[i]->result;
        tk_task_end(tasks[i]);
    }
    return r;
}

TK_API int nosv_wait(nosv_task_t task, uint64_t timeout) { return wait_for(&task, 1, timeout); }
TK_API int nosv_wait_all(nosv_task_t *tasks, size_t n, uint64_t timeout) { return wait_for(tasks, n, timeout); }
TK_API int nosv_join(nosv_task_t task, void **result, uint64_t timeout) { return join(&task, result, 1, timeout); }
TK_API int nosv_join_all(nosv_task_t *tasks, void **results, size_t n, uint64_t timeout) { return join(tasks, results, n, timeout); }

TK_API int nosv_set_result(void *result)
{
    struct tk_exec *me;
    int r = tk_in_task(&me);
    if (r) return r;
    if (me->phase != TK_IN_COMPLETED || tk_completing == me->task) me->task->result = result;
    return NOSV_SUCCESS;
}
