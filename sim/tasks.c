/* sim/tasks.c - a program's tasking runtime, as src/tasks is one.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A slot is the right to execute tasks; a thread holds it, or it is idle.  Each slot has a queue,
 * and there is one for what threads without a slot submit.  A worker that has ended a task takes
 * the next one by a call: of its slot's queue, of the common one, the older half of another slot's.
 * A task that pauses keeps its thread, and its slot goes to the next task.  So there is no idle
 * slot while a task is ready. */
#include "sim/internal.h"
#include <errno.h>
#include <stdlib.h>

#define TASK_NS 30u             /* to make and submit a task; to take, end and free one.  Measured: `make bench`, tasks */

static void no_memory(struct sim_thread *t)
{
    sim_fail(sim_the, -ENOMEM, "no memory for tasks");
    sim_request(t, SIM_REQ_EXIT);
}

static void push(struct sim_thread *t, struct sim_ready_queue *q, struct sim_ready x)
{
    if (q->nr == q->cap) {
        uint32_t cap = q->cap ? 2 * q->cap : 64;
        struct sim_ready *at = malloc(cap * sizeof *at);
        if (!at) no_memory(t);
        for (uint32_t i = 0; i < q->nr; i++) at[i] = q->at[(q->first + i) % q->cap];
        free(q->at);
        *q = (struct sim_ready_queue){at, cap, 0, q->nr};
    }
    q->at[(q->first + q->nr++) % q->cap] = x;
}

static bool pop(struct sim_ready_queue *q, struct sim_ready *x)
{
    if (!q->nr) return false;
    *x = q->at[q->first];
    q->first = (q->first + 1) % q->cap;
    q->nr--;
    return true;
}

/* The next task for this slot. */
static bool take(struct sim_thread *t, struct sim_runtime *r, uint32_t slot, struct sim_ready *x)
{
    struct sim_ready_queue *own = &r->queue[slot];
    if (pop(own, x) || pop(&r->queue[r->nr_slots], x)) return true;
    for (uint32_t i = 1; i < r->nr_slots; i++) {
        struct sim_ready_queue *from = &r->queue[(slot + i) % r->nr_slots];
        uint32_t n = from->nr - from->nr / 2;
        if (!pop(from, x)) continue;
        for (struct sim_ready more; n > 1 && pop(from, &more); n--) push(t, own, more);
        return true;
    }
    return false;
}

static void give(struct sim_thread *t, struct sim_thread *to, uint32_t slot)
{
    to->slot = slot + 1;
    if (to->dock.head) sim_grant(t, &to->dock, 1);      /* else it has not come to sleep yet */
}

/* The slot is for x: in its own thread, or in a worker's. */
static void hand_over(struct sim_thread *t, struct sim_runtime *r, uint32_t slot, struct sim_ready x)
{
    struct sim *s = sim_the;
    if (x.thread) {
        give(t, sim_thread(s, x.thread - 1), slot);
        return;
    }
    struct sim_thread *w = r->nr_parked ? sim_thread(s, r->parked[--r->nr_parked]) : NULL;
    bool new = !w;
    if (new) w = sim_create(t, SIM_NO_CODE);
    w->task = x.code + 1;
    give(t, w, slot);
    if (new) sim_wake(s, w, SIM_K_WAKE_NEW);
}

/* The caller gives the slot up. */
static void pass_on(struct sim_thread *t, struct sim_runtime *r, uint32_t slot)
{
    struct sim_ready x;
    if (take(t, r, slot, &x)) hand_over(t, r, slot, x);
    else r->held[slot] = 0;
}

/* A task is ready. */
static void queue(struct sim_thread *t, struct sim_runtime *r, struct sim_ready x)
{
    bool own = t->slot && &t->inst->tasks == r;
    push(t, &r->queue[own ? t->slot - 1 : r->nr_slots], x);
    for (uint32_t i = 0; i < r->nr_slots; i++)
        if (!r->held[i]) {
            r->held[i] = 1;
            pass_on(t, r, i);
            return;
        }
}

static void begin(struct sim_thread *t, struct sim_runtime *r)
{
    r->nr_slots = t->inst->p->slots ? t->inst->p->slots : 1;
    r->queue = calloc(r->nr_slots + 1, sizeof *r->queue);
    r->held = calloc(r->nr_slots, 1);
    if (!r->queue || !r->held) no_memory(t);
}

void sim_submit(struct sim_thread *t, uint32_t code, uint32_t n)
{
    struct sim_runtime *r = &t->inst->tasks;
    if (!r->queue) begin(t, r);
    for (; n; n--) {
        t->debt += TASK_NS;
        r->left++;
        queue(t, r, (struct sim_ready){code, 0});
    }
}

static void wait_for_slot(struct sim_thread *t) { while (!t->slot) sim_wait(t, &t->dock, SIM_WAIT_BLOCK); }

/* A thread that executes no task blocks like any. */
void sim_task_pause(struct sim_thread *t, struct sim_channel *c)
{
    uint32_t slot = t->slot;
    if (!slot) {
        sim_recv(t, c, 1, SIM_WAIT_BLOCK);
        return;
    }
    t->debt += TASK_NS;
    push(t, &c->paused, (struct sim_ready){SIM_NO_CODE, t->k.id + 1});
    t->slot = 0;
    pass_on(t, &t->inst->tasks, slot - 1);
    wait_for_slot(t);
}

bool sim_task_goes_on(struct sim_thread *waker, struct sim_channel *c)
{
    struct sim_ready x;
    if (!pop(&c->paused, &x)) return false;
    struct sim_thread *t = sim_thread(sim_the, x.thread - 1);
    if (c->stamp[c->first]) t->stamp = c->stamp[c->first];
    c->first = (c->first + 1) % c->cap;
    c->nr--;
    queue(waker, &t->inst->tasks, x);
    return true;
}

void sim_task_join(struct sim_thread *t, enum sim_wait how)
{
    struct sim_runtime *r = &t->inst->tasks;
    while (r->left) sim_wait(t, &r->end, how);
}

static void park(struct sim_thread *t, struct sim_runtime *r)
{
    if (r->nr_parked == r->parked_cap) {
        uint32_t cap = r->parked_cap ? 2 * r->parked_cap : 8, *more = realloc(r->parked, cap * sizeof *more);
        if (!more) no_memory(t);
        r->parked = more;
        r->parked_cap = cap;
    }
    r->parked[r->nr_parked++] = t->k.id;
}

/* The thread keeps its slot from task to task; one whose slot is needed by a task that has its own
 * thread parks. */
void sim_work(struct sim_thread *t)
{
    struct sim_runtime *r = &t->inst->tasks;
    struct sim_ready x;
    for (;;) {
        wait_for_slot(t);
        while (t->slot) {
            t->debt += TASK_NS;
            sim_execute(t, t->task - 1);
            t->inst->st->tasks++;
            if (!--r->left && r->end.head) sim_grant(t, &r->end, r->end.len);
            uint32_t slot = t->slot - 1;
            bool found = take(t, r, slot, &x);
            if (found && !x.thread) {
                t->task = x.code + 1;
                continue;
            }
            t->slot = 0;
            park(t, r);
            if (found) hand_over(t, r, slot, x);
            else r->held[slot] = 0;
        }
    }
}

void sim_tasks_drop(struct sim_runtime *r)
{
    for (uint32_t i = 0; r->queue && i <= r->nr_slots; i++) free(r->queue[i].at);
    free(r->queue);
    free(r->held);
    free(r->parked);
    *r = (struct sim_runtime){0};
}
