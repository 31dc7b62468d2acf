/* src/tasks/worker.c - threads of ours that execute tasks.  SPDX-License-Identifier: Apache-2.0
 *
 * A worker that has no slot sleeps in the list of the slot that it ran on last, which its thread is
 * bound to; a few more wait in a pool for any slot.  Threads are made when there is no idle one,
 * and end with the last shutdown. */
#include <limits.h>
#include <sched.h>
#include <stdlib.h>

#include "tasks/tasks.h"

#define KEPT_PER_SLOT 4u

static struct { struct tk_lock lock; struct tk_exec *first; } pool;

static struct tk_exec *pool_take(void)
{
    struct tk_exec *e;
    tk_lock(&pool.lock);
    e = pool.first;
    if (e) pool.first = e->next;
    tk_unlock(&pool.lock);
    return e;
}

void tk_idle_worker(struct tk_slot *s, struct tk_exec *e)
{
    if (s->nr_workers < KEPT_PER_SLOT) {
        e->next = s->workers;
        s->workers = e;
        s->nr_workers++;
        return;
    }
    tk_lock(&pool.lock);
    e->next = pool.first;
    pool.first = e;
    tk_unlock(&pool.lock);
}

static void *work(void *arg);

/* Null: no more threads are to be had. */
static struct tk_exec *new_worker(void)
{
    struct tk_exec *e = aligned_alloc(TK_LINE, sizeof *e);
    pthread_attr_t attr;
    pthread_t thread;
    if (!e) return 0;
    *e = (struct tk_exec){.bound = TK_UNBOUND, .is_worker = true, .window_size = 1};
    atomic_fetch_add(&tk.nr_workers, 1);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    if (tk.stack_size) pthread_attr_setstacksize(&attr, tk.stack_size);
    int r = pthread_create(&thread, &attr, work, e);
    pthread_attr_destroy(&attr);
    if (r == 0) return e;
    usf_warn_once("nosv: no more threads are to be had (error %d): tasks wait for those that there are", r);
    atomic_fetch_sub(&tk.nr_workers, 1);
    free(e);
    return 0;
}

struct tk_exec *tk_take_worker(struct tk_slot *s)
{
    struct tk_exec *e = s->workers;
    if (e) {
        s->workers = e->next;
        s->nr_workers--;
        return e;
    }
    e = pool_take();
    return e ? e : new_worker();
}

/* Under `usf run` the instance may have woken the thread on another CPU than its slot's.  If
 * that one's slot is idle, it goes on with that one instead, so that tasks which prefer a CPU
 * find it. */
static void settle(struct tk_exec *me)
{
    struct nosv_task *t = me->first ? me->first : me->task;
    struct tk_slot *given = me->slot, *here = &tk.slots[tk.slot_of[tk_cpu(me)]];
    if (here == given || (t && t->affinity.level != NOSV_AFFINITY_LEVEL_NONE) || !tk_claim(here)) return;
    me->slot = here;
    tk_pass_on(given);
}

void tk_park(struct tk_exec *me)
{
    while (atomic_load_explicit(&me->go, memory_order_acquire) != TK_GO) tk_futex_wait(&me->go, TK_NONE, 0);
    atomic_store_explicit(&me->go, TK_NONE, memory_order_relaxed);
    me->slot = me->given;
    if (USF_UNLIKELY(tk.places) && me->slot) settle(me);
}

/* The slot goes to the thread of its task, or is passed on. */
static void leave(struct tk_exec *me, struct nosv_task *t)
{
    struct tk_slot *s = me->slot;
    me->slot = 0;
    tk_idle_worker(s, me);
    if (!t || !tk_hand_over(s, t)) tk_pass_on(s);
}

/* Executes tasks until its slot is another's. */
static void serve(struct tk_exec *me)
{
    struct nosv_task *t = me->first;
    me->first = 0;
    tk_bind(me, me->slot);
    me->since = os_now();
    for (; t || (t = tk_find(me, me->slot, 0)); t = 0) {
        if (!t->exec) {
            tk_run(me, t);
            if (tk_is_orphan(me)) return;
        } else if (!tk_goes_on(t)) {
            leave(me, t);
            return;
        }
    }
    leave(me, 0);
}

/* The thread is no worker any more. */
static void forget(struct tk_exec *me, bool frees)
{
    tk_self_exec = 0;
    if (tk.binds) tk_mask_remove(me, false);
    if (frees) free(me);
    atomic_fetch_sub(&tk.nr_workers, 1);
    tk_futex_wake(&tk.nr_workers, INT_MAX);
}

static void *work(void *arg)
{
    struct tk_exec *me = arg;
    tk_self_exec = me;
    me->thread = pthread_self();
    /* What it has inherited is its creator's, which may be any thread of the program. */
    pthread_sigmask(SIG_SETMASK, &tk.signals, 0);
    tk_default_math();
    if (tk.turbo) tk_turbo();
    if (tk.binds) tk_mask_add(me);
    atomic_store_explicit(&me->tid, os_gettid(), memory_order_release);    /* from here on others may bind it */
    tk_watch_thread(me);
    for (;;) {
        tk_park(me);
        if (!me->slot) break;       /* the last shutdown */
        serve(me);
        if (tk_is_orphan(me)) return 0;     /* the child's only thread ends, and the child with it */
    }
    tk_watch_thread(0);
    forget(me, true);
    return 0;
}

/* Its record stays: a task that it has executed may name it. */
void tk_lose_worker(struct tk_exec *me)
{
    struct tk_slot *s = me->slot;
    tk_end_window(me);
    me->slot = 0;
    tk_end_place(me);
    tk_pass_on(s);
    forget(me, false);
}

static void end(struct tk_exec *e)
{
    e->given = 0;
    atomic_store_explicit(&e->go, TK_GO, memory_order_release);
    tk_futex_wake(&e->go, 1);
}

void tk_forget_workers(void)
{
    pool.first = 0;
    pool.lock = (struct tk_lock){0};
}

/* Those whose tasks have paused stay, asleep. */
void tk_stop_workers(void)
{
    uint32_t ended = 0, before = atomic_load(&tk.nr_workers);
    for (uint32_t i = 0; i < tk.nr_slots; i++)
        for (struct tk_exec *e = tk.slots[i].workers, *next; e; e = next) {
            next = e->next;
            end(e);
            ended++;
        }
    for (struct tk_exec *e; (e = pool_take()); ended++) end(e);
    for (uint32_t n; (n = atomic_load(&tk.nr_workers)) > before - ended;) tk_futex_wait(&tk.nr_workers, n, 0);
    while (atomic_load(&tk.looking)) os_sched_yield();
}
