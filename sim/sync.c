/* sim/sync.c - what threads wait for: barriers, locks, channels.
 * SPDX-License-Identifier: Apache-2.0
 *
 * One way to wait for all of them: a queue of waiters, each of which is `granted` what it waits
 * for.  How the CPU fares meanwhile is the kind's affair, and the side's: under usf the scheduler's
 * (usf.c), else the kernel model's, below. */
#include "sim/internal.h"
#include <errno.h>
#include <stdlib.h>

void sim_queue_push(struct sim *s, struct sim_queue *q, struct sim_thread *t)
{
    t->wait_next = 0;
    t->wait_prev = q->tail;
    if (q->tail) sim_thread(s, q->tail - 1)->wait_next = t->k.id + 1;
    else q->head = t->k.id + 1;
    q->tail = t->k.id + 1;
    q->len++;
    t->waits_in = q;
}

struct sim_thread *sim_queue_pop(struct sim *s, struct sim_queue *q)
{
    if (!q->head) return 0;
    struct sim_thread *t = sim_thread(s, q->head - 1);
    q->head = t->wait_next;
    if (q->head) sim_fetch(sim_thread(s, q->head - 1), SIM_THREAD_HOT);     /* its own turn comes, some time */
    else q->tail = 0;
    q->len--;
    t->wait_next = 0;
    t->waits_in = 0;
    return t;
}

/* It is killed while it waits: in a channel that other programs use it would be granted what the
 * next one waits for. */
void sim_queue_leave(struct sim *s, struct sim_thread *t)
{
    struct sim_queue *q = t->waits_in;
    if (!q) return;
    if (q->head != t->k.id + 1) sim_thread(s, t->wait_prev - 1)->wait_next = t->wait_next;
    else q->head = t->wait_next;
    if (t->wait_next) sim_thread(s, t->wait_next - 1)->wait_prev = t->wait_prev;
    else q->tail = t->wait_prev;
    q->len--;
    t->wait_next = t->wait_prev = 0;
    t->waits_in = 0;
}

/* ---- waiting ---------------------------------------------------------------------------------------- */

static void kernel_busily(struct sim *s, struct sim_thread *t, bool yields, uint64_t until)
{
    t->how = SIM_HOW_SPINS;
    while (!t->granted && (!until || s->now < until)) {
        if (yields && s->cpu[t->k.cpu].nr_queued) {
            t->debt += s->m->cost.yield_ns;
            t->yields_until = until;
            t->yielding = 1;
            sim_request(t, SIM_REQ_YIELD);
            t->yielding = 0;
            continue;
        }
        t->on_enqueue = yields;
        sim_busy(t, SIM_MODE_SPIN, until ? until - s->now : SIM_ENDLESS);
        t->on_enqueue = 0;
    }
}

static void kernel_wait(struct sim *s, struct sim_thread *t, enum sim_wait how)
{
    if (s->c->spins_yield && how == SIM_WAIT_SPIN) how = SIM_WAIT_YIELD;
    if (s->c->spins_yield && how == SIM_WAIT_SPIN_BLOCK) how = SIM_WAIT_YIELD_BLOCK;
    bool yields = how == SIM_WAIT_YIELD || how == SIM_WAIT_YIELD_BLOCK;
    if (how == SIM_WAIT_YIELD || how == SIM_WAIT_SPIN) kernel_busily(s, t, yields, 0);
    if (how == SIM_WAIT_SPIN_BLOCK || how == SIM_WAIT_YIELD_BLOCK) kernel_busily(s, t, yields, s->now + t->inst->p->spin_ns);
    while (!t->granted) {
        t->how = SIM_HOW_BLOCKS;
        t->debt += s->m->cost.block_ns;
        sim_request(t, SIM_REQ_SLEEP);
    }
    t->how = SIM_HOW_NOT;
}

/* The caller has put it into a queue, from which somebody grants it what it waits for.  Null: it
 * has been granted already. */
void sim_wait(struct sim_thread *t, struct sim_queue *q, enum sim_wait how)
{
    struct sim *s = sim_the;
    t->granted = 0;
    t->wait_since = s->now;
    t->k.waits = how != SIM_WAIT_BLOCK;
    sim_queue_push(s, q, t);
    sim_trace(s, SIM_T_WAIT, t->k.id, t->k.cpu, (uint32_t)how << 24 | t->doing);
    if (sim_under_usf(s)) sim_usf_wait(t, how);
    else kernel_wait(s, t, how);
    t->k.waits = 0;
    t->wait_since = 0;
    if (t->granted_at && s->now > t->granted_at + s->m->cost.spin_ns && how != SIM_WAIT_BLOCK && t->lost_turn)
        t->inst->st->lwp_ns += (s->now - t->granted_at) * t->lost_turn;
    t->granted_at = 0;
    sim_trace(s, SIM_T_GOES_ON, t->k.id, t->k.cpu, 0);
}

static void wake(struct sim *s, struct sim_thread *waker, struct sim_thread *t)
{
    waker->debt += s->m->cost.wake_ns;
    s->wake_delay = waker->debt;
    sim_wake(s, t, SIM_K_WAKE);
}

/* In batches, as a futex's waker: those that sleep; who spins sees it by itself. */
void sim_grant(struct sim_thread *waker, struct sim_queue *q, uint32_t n)
{
    struct sim *s = sim_the;
    uint32_t ids[16], nr = 0;
    for (; n && q->head; n--) {
        struct sim_thread *t = sim_queue_pop(s, q);
        sim_touch(s, t);
        t->granted = 1;
        if (sim_under_usf(s)) {
            sim_usf_fetch(s, t);
            sim_usf_granted(t);
        }
        t->granted_at = s->now;
        t->lost_turn = t->k.state == SIM_K_RUNNING ? 0 : 1 + q->len;
        if (t->how == SIM_HOW_SPINS) {
            sim_poke(s, t);
            if (t->k.state == SIM_K_ASLEEP) s->pokes++;     /* under usf: it is ready, and was left alone as it waited unproductively */
        } else if (t->how == SIM_HOW_KERNEL) {
            if (t->k.state == SIM_K_ASLEEP) wake(s, waker, t);      /* else it is on its way there, and looks */
        } else if (t->how == SIM_HOW_BLOCKS && !sim_under_usf(s)) {
            wake(s, waker, t);
        } else if (t->how == SIM_HOW_BLOCKS) {
            ids[nr++] = t->k.id;
            if (nr == 16) {
                sim_usf_wake(waker, ids, nr);
                nr = 0;
            }
        }
    }
    if (nr) sim_usf_wake(waker, ids, nr);
}

/* ---- barrier ----------------------------------------------------------------------------------------- */

void sim_barrier(struct sim_thread *t, struct sim_barrier *b, uint32_t parties, enum sim_wait how)
{
    t->debt += sim_the->m->cost.sync_ns;
    if (++b->arrived < parties) {
        sim_wait(t, &b->q, how);
        return;
    }
    b->arrived = 0;
    sim_grant(t, &b->q, b->q.len);
}

/* ---- lock ---------------------------------------------------------------------------------------------- */
/* A blocking one as futex mutexes are: unlock frees it and wakes one, who competes for it with
 * newcomers.  Others are passed on to the first in line, as ticket and queue locks are. */

static void hold(struct sim_thread *t, struct sim_lock *l)
{
    l->owner = t->k.id + 1;
    l->off_since = 0;
    l->next_held = t->held;
    t->held = l;
}

void sim_lock(struct sim_thread *t, struct sim_lock *l, enum sim_wait how)
{
    t->debt += sim_the->m->cost.sync_ns;
    while (l->owner) {
        if (l->owner == t->k.id + 1) return sim_fail(sim_the, -EDEADLK, "program %s: a thread locks what it has locked", t->inst->p->name);
        sim_wait(t, &l->q, how);
        if (l->owner == t->k.id + 1) return;        /* passed on */
    }
    hold(t, l);
}

void sim_unlock(struct sim_thread *t, struct sim_lock *l)
{
    struct sim *s = sim_the;
    t->debt += s->m->cost.sync_ns;
    if (l->owner != t->k.id + 1) return sim_fail(s, -EINVAL, "program %s: a thread unlocks what it has not locked", t->inst->p->name);
    for (struct sim_lock **p = &t->held; *p; p = &(*p)->next_held)
        if (*p == l) {
            *p = l->next_held;
            break;
        }
    l->owner = 0;
    if (!l->q.head) return;
    struct sim_thread *next = sim_thread(s, l->q.head - 1);
    sim_touch(s, next);
    if (next->how == SIM_HOW_SPINS) {
        hold(next, l);
        if (next->k.state != SIM_K_RUNNING) l->off_since = s->now;
    }
    sim_grant(t, &l->q, 1);
}

/* Its owner has lost its CPU: all that wait lose the time until it has one again. */
void sim_lost_cpu(struct sim *s, struct sim_thread *t)
{
    for (struct sim_lock *l = t->held; l; l = l->next_held)
        if (!l->off_since) l->off_since = s->now;
}

void sim_has_cpu(struct sim *s, struct sim_thread *t)
{
    for (struct sim_lock *l = t->held; l; l = l->next_held) {
        if (l->off_since) t->inst->st->lhp_ns += (s->now - l->off_since) * l->q.len;
        l->off_since = 0;
    }
}

/* ---- channel --------------------------------------------------------------------------------------------- */

static bool push_stamp(struct sim_channel *c, uint64_t stamp)
{
    if (c->nr == c->cap) {
        uint32_t n = c->cap ? 2 * c->cap : 16;
        uint64_t *ring = malloc(n * sizeof *ring);
        if (!ring) return false;
        for (uint32_t i = 0; i < c->nr; i++) ring[i] = c->stamp[(c->first + i) % c->cap];
        free(c->stamp);
        c->stamp = ring;
        c->first = 0;
        c->cap = n;
    }
    c->stamp[(c->first + c->nr++) % c->cap] = stamp;
    return true;
}

void sim_send(struct sim_thread *t, struct sim_channel *c, uint32_t capacity, uint32_t n, enum sim_wait how)
{
    struct sim *s = sim_the;
    for (; n; n--) {
        t->debt += s->m->cost.sync_ns;
        t->shared = c->shared;
        while (capacity && c->nr >= capacity) sim_wait(t, &c->senders, how);
        t->shared = 0;
        if (!push_stamp(c, t->stamp)) return sim_fail(s, -ENOMEM, "no memory for messages");
        if (!c->receivers.head && sim_task_goes_on(t, c)) continue;
        sim_grant(t, &c->receivers, 1);
    }
}

void sim_recv(struct sim_thread *t, struct sim_channel *c, uint32_t n, enum sim_wait how)
{
    struct sim *s = sim_the;
    for (; n; n--) {
        t->debt += s->m->cost.sync_ns;
        t->shared = c->shared;
        while (!c->nr) sim_wait(t, &c->receivers, how);
        t->shared = 0;
        if (c->stamp[c->first]) t->stamp = c->stamp[c->first];
        c->first = (c->first + 1) % c->cap;
        c->nr--;
        sim_grant(t, &c->senders, 1);
    }
}
