/* sim/cpu.c - virtual CPUs: who runs, since when, what has become of the time.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sim/internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEEP_NS 500000u     /* a CPU that has idled for so long sleeps as deeply as it does */

static struct sim_thread *current(struct sim *s, uint32_t cpu)
{
    uint32_t id = s->cpu[cpu].current;
    return id == SIM_NONE ? 0 : sim_thread(s, id);
}

/* ---- the time that has passed ------------------------------------------------------------------ */

static uint64_t take(uint64_t *from, uint64_t at_most)
{
    uint64_t n = *from < at_most ? *from : at_most;
    *from -= n;
    return n;
}

static void account_run(struct sim *s, uint32_t cpu, struct sim_thread *t, uint64_t ns)
{
    struct sim_cpu_state *c = &s->cpu[cpu];
    struct sim_program_stats *st = t->inst->st;
    if (t->mode == SIM_MODE_SPIN) {
        if (t->rem < SIM_ENDLESS) take(&t->rem, ns);
        c->spin += ns;
        st->spin_ns += ns;
        return;
    }
    uint64_t done = c->speed == SIM_SPEED ? ns : ns * c->speed / SIM_SPEED;
    uint64_t cold = take(&t->cold, done);
    take(&t->rem, done - cold);
    c->work += ns;
    st->busy_ns += ns;
    st->cold_ns += cold;
}

void sim_account(struct sim *s, uint32_t cpu)
{
    struct sim_cpu_state *c = &s->cpu[cpu];
    if (USF_UNLIKELY(c->unproductive == SIM_UNPRODUCTIVE_LEFT)) sim_unproductive_catch_up(s, cpu);
    uint64_t ns = s->now - c->begin;
    struct sim_thread *t = current(s, cpu);
    c->begin = s->now;
    if (!ns) return;
    if (!t) {
        uint64_t late = take(&c->carry, ns);
        c->kernel += late;
        c->idle += ns - late;
        return;
    }
    uint64_t lead = take(&t->lead, ns);
    c->idle += lead;
    ns -= lead;
    uint64_t over = take(&t->over, ns);
    c->kernel += over;
    t->inst->st->kernel_ns += over;
    if (ns > over) account_run(s, cpu, t, ns - over);
    t->k.ran_ns += ns;
    if (ns && s->k->charge) s->k->charge(s, cpu, &t->k, ns);
}

/* ---- events ------------------------------------------------------------------------------------- */

static bool has_signal(const struct sim_thread *t) { return t->signal && !t->in_os; }

void sim_set_event(struct sim *s, uint32_t cpu)
{
    struct sim_cpu_state *c = &s->cpu[cpu];
    struct sim_thread *t = current(s, cpu);
    if (c->unproductive != SIM_UNPRODUCTIVE_NOT) return;
    uint64_t at = s->now + t->lead + t->over;
    if (!has_signal(t) && t->rem) {
        if (t->mode == SIM_MODE_SPIN) {
            at = t->rem >= SIM_ENDLESS ? SIM_NEVER : at + t->rem;
        } else {
            uint64_t work = t->cold + t->rem;
            at += c->speed == SIM_SPEED ? work : (uint64_t)(((unsigned __int128)work * SIM_SPEED + c->speed - 1) / c->speed);
        }
    }
    sim_heap_set(&s->heap, cpu, at < c->tick_at ? at : c->tick_at);
}

void sim_retime(struct sim *s, uint32_t cpu)
{
    sim_account(s, cpu);
    struct sim_thread *t = current(s, cpu);
    s->cpu[cpu].speed = sim_speed_of(s, cpu);
    if (t != s->self) sim_set_event(s, cpu);
}

static void set_tick(struct sim *s, uint32_t cpu)
{
    uint64_t slice = s->k->slice(s, cpu, &current(s, cpu)->k);
    s->cpu[cpu].tick_at = slice == UINT64_MAX ? SIM_NEVER : s->now + (slice ? slice : 1);
}

/* ---- on and off ---------------------------------------------------------------------------------- */

void sim_mark_ready(struct sim *s, struct sim_thread *t)
{
    if (t->ready_at) return;
    t->ready_at = s->now;
    if (t->slept_at) t->inst->st->blocked_ns += s->now - t->slept_at;
    t->slept_at = 0;
}

void sim_stop(struct sim *s, uint32_t cpu, enum sim_stop why)
{
    struct sim_cpu_state *c = &s->cpu[cpu];
    sim_account(s, cpu);
    struct sim_thread *t = current(s, cpu);
    sim_speed_demand(s, cpu, false);
    if (why != SIM_STOP_PREEMPT) {      /* the CPU pays what it owes for the way to here */
        c->carry += t->debt + t->over;
        t->debt = t->over = 0;
    }
    t->last_cpu = cpu;
    t->lead = 0;
    c->last = t->k.id;
    c->current = SIM_NONE;
    c->idle_since = s->now;
    c->resched = 0;
    sim_speed_stop(s, cpu);
    if (c->unproductive == SIM_UNPRODUCTIVE_NOT) sim_heap_clear(&s->heap, cpu);
    sim_trace(s, SIM_T_STOP, t->k.id, cpu, why);
}

static void count_start(struct sim *s, struct sim_thread *t, uint32_t cpu)
{
    struct sim_program_stats *st = t->inst->st;
    s->st->sched_events++;
    s->st->switches++;
    st->switches++;
    if (t->last_cpu != SIM_NONE && t->last_cpu != cpu) {
        bool far = s->m->cpu[t->last_cpu].node != s->m->cpu[cpu].node;
        s->st->migrations++;
        st->migrations++;
        s->st->far_migrations += far;
        st->far_migrations += far;
    }
    if (t->ready_at) st->ready_ns += s->now - t->ready_at;
    t->ready_at = 0;
}

static void start(struct sim *s, uint32_t cpu, struct sim_thread *t, uint64_t lead, uint64_t switch_ns)
{
    struct sim_cpu_state *c = &s->cpu[cpu];
    bool again = c->last == t->k.id && t->last_cpu == cpu;
    sim_account(s, cpu);
    t->k.state = SIM_K_RUNNING;
    t->k.cpu = cpu;
    if (!again) count_start(s, t, cpu);
    else t->ready_at = 0;
    t->over += c->carry + (again ? 0 : switch_ns) + (t->signal ? s->m->cost.signal_ns : 0);
    c->carry = 0;
    t->lead = lead;
    uint64_t cold = sim_cold(s, t, cpu);
    if (cold > t->cold) t->cold = cold;
    if (t->home == SIM_NONE) t->home = s->m->cpu[cpu].node;
    t->last_cpu = cpu;
    c->current = t->k.id;
    sim_speed_start(s, cpu);
    if (t->rem) sim_speed_demand(s, cpu, true);
    c->speed = sim_speed_of(s, cpu);
    set_tick(s, cpu);
    sim_has_cpu(s, t);
    sim_set_event(s, cpu);
    sim_trace(s, SIM_T_RUN, t->k.id, cpu, 0);
}

static void schedule_with(struct sim *s, uint32_t cpu, uint64_t lead)
{
    uint32_t id = s->k->pick(s, cpu);
    if (id == SIM_NONE) return;
    struct sim_thread *t = sim_thread(s, id);
    usf_assert(t->k.state == SIM_K_QUEUED && sim_kallowed(s, &t->k, cpu));
    s->cpu[t->k.cpu].nr_queued--;
    start(s, cpu, t, lead, s->m->cost.switch_ns);
}

void sim_schedule(struct sim *s, uint32_t cpu) { schedule_with(s, cpu, 0); }

static void preempt(struct sim *s, uint32_t cpu)
{
    sim_account(s, cpu);
    struct sim_thread *t = current(s, cpu);
    sim_stop(s, cpu, SIM_STOP_PREEMPT);
    s->st->preemptions++;
    s->st->sched_events++;
    t->inst->st->preemptions++;
    t->k.state = SIM_K_QUEUED;
    t->k.runnable_since = s->now;
    t->ready_at = s->now;
    s->cpu[cpu].nr_queued++;
    sim_lost_cpu(s, t);
    s->k->put(s, cpu, &t->k, SIM_K_PREEMPTED);
    sim_schedule(s, cpu);
}

void sim_kresched(struct sim *s, uint32_t cpu)
{
    if (s->cpu[cpu].current == SIM_NONE) sim_schedule(s, cpu);
    else if (current(s, cpu) == s->self) s->cpu[cpu].resched = 1;
    else preempt(s, cpu);
}

static void enqueue(struct sim *s, struct sim_thread *t, uint32_t cpu, enum sim_kwhy why)
{
    struct sim_cpu_state *c = &s->cpu[cpu];
    struct sim_thread *cur;
    t->k.state = SIM_K_QUEUED;
    t->k.cpu = cpu;
    t->k.runnable_since = s->now;
    sim_account(s, cpu);
    c->nr_queued++;
    s->k->enqueue(s, cpu, &t->k, why);
    if (c->current == SIM_NONE) {
        uint64_t slept = s->now - c->idle_since, lead = s->wake_delay + s->m->cost.wake_latency_ns;
        if (slept > s->m->cost.idle_after_ns) {
            lead += s->m->cost.idle_wake_ns + s->m->cost.idle_deep_ns * (slept < DEEP_NS ? slept : DEEP_NS) / DEEP_NS;
            if (s->self) s->self->debt += s->m->cost.idle_kick_ns;      /* while the other wakes up */
        }
        schedule_with(s, cpu, lead);
        return;
    }
    if (s->k->preempts(s, cpu, &t->k)) {
        sim_kresched(s, cpu);
        return;
    }
    cur = current(s, cpu);
    set_tick(s, cpu);
    if (cur == s->self) return;
    if (cur->on_enqueue) sim_poke(s, cur);
    else sim_set_event(s, cpu);
}

void sim_wake(struct sim *s, struct sim_thread *t, enum sim_kwhy why)
{
    uint32_t cpu = t->k.bound;
    usf_assert(t->k.state == SIM_K_ASLEEP || t->k.state == SIM_K_NEW);
    if (t->timed) {
        t->timed = 0;
        s->nr_timers--;
        sim_heap_clear(&s->heap, s->id_thread + t->k.id);
    }
    t->futex = 0;
    sim_mark_ready(s, t);
    s->st->wakes++;
    s->st->sched_events++;
    if (cpu == SIM_NONE) cpu = s->k->select(s, &t->k, s->waker, why);
    usf_assert(sim_kallowed(s, &t->k, cpu));
    sim_trace(s, SIM_T_WAKE, t->k.id, cpu, s->self ? s->self->k.id : SIM_NONE);
    enqueue(s, t, cpu, why);
}

/* It is queued somewhere. */
static void unqueue(struct sim *s, struct sim_thread *t)
{
    s->k->dequeue(s, t->k.cpu, &t->k);
    s->cpu[t->k.cpu].nr_queued--;
}

void sim_kmove(struct sim *s, struct sim_kthread *k, uint32_t to)
{
    struct sim_thread *t = sim_thread(s, k->id);
    sim_touch(s, t);
    usf_assert(k->state == SIM_K_QUEUED && sim_kallowed(s, k, to));
    if (k->cpu == to) return;
    unqueue(s, t);
    t->over += s->m->cost.migrate_ns;
    enqueue(s, t, to, SIM_K_MOVED);
}

static void move_running(struct sim *s, struct sim_thread *t, uint32_t to)
{
    uint32_t from = t->k.cpu;
    sim_stop(s, from, SIM_STOP_PREEMPT);
    if (s->k->block) s->k->block(s, from, &t->k);
    t->ready_at = s->now;
    t->over += s->m->cost.migrate_ns;
    enqueue(s, t, to, SIM_K_MOVED);
    if (s->cpu[from].current == SIM_NONE) sim_schedule(s, from);
}

void sim_bind(struct sim *s, struct sim_thread *t, uint32_t cpu)
{
    t->k.bound = cpu;
    if (cpu == SIM_NONE || t->k.cpu == cpu) return;
    if (t->k.state == SIM_K_QUEUED) {
        sim_kmove(s, &t->k, cpu);
    } else if (t->k.state == SIM_K_RUNNING && t == s->self) {
        t->move_to = cpu;
        sim_request(t, SIM_REQ_MOVE);
    } else if (t->k.state == SIM_K_RUNNING) {
        move_running(s, t, cpu);
    }
}

void sim_take_off(struct sim *s, struct sim_thread *t)
{
    sim_touch(s, t);
    uint32_t cpu = t->k.cpu;
    enum sim_kstate was = t->k.state;
    if (was == SIM_K_QUEUED) unqueue(s, t);
    if (was == SIM_K_RUNNING) {
        sim_stop(s, cpu, SIM_STOP_END);
        if (s->k->block) s->k->block(s, cpu, &t->k);
    }
    if (t->timed) {
        t->timed = 0;
        s->nr_timers--;
        sim_heap_clear(&s->heap, s->id_thread + t->k.id);
    }
    sim_queue_leave(s, t);
    t->k.state = SIM_K_DEAD;
    if (s->k->remove) s->k->remove(s, &t->k);
    if (was == SIM_K_RUNNING) sim_schedule(s, cpu);
}

/* ---- threads that float ------------------------------------------------------------------------- */

/* What the model of the kernel knows of their kernel threads changes hands (carrier.c).  What
 * belongs to the threads stays. */
static void exchange(struct sim *s, struct sim_thread *a, struct sim_thread *b)
{
    struct sim_kthread of_a = a->k;
    uint8_t waits = b->k.waits;
    uint32_t id = b->k.id;
    a->k = b->k;
    b->k = of_a;
    a->k.id = of_a.id;
    a->k.waits = of_a.waits;
    b->k.id = id;
    b->k.waits = waits;
    if (!s->k->renamed) return;
    s->k->renamed(s, &a->k);
    s->k->renamed(s, &b->k);
}

/* It sleeps from now on, in the kernel or while its kernel thread goes on with another. */
static void falls_asleep(struct sim *s, struct sim_thread *t)
{
    if (!t->ready_at) t->slept_at = s->now;
    else if (t->yields) sim_lost_cpu(s, t);
    s->st->blocks++;
    s->st->sched_events++;
}

/* The kernel thread that executes `t` goes on with `to`.  The one that was kept for `to` is kept
 * for `t` and sleeps on.  The kernel notices nothing: the time slice goes on, and a pending
 * preemption stands. */
static void go_on_with(struct sim *s, uint32_t cpu, struct sim_thread *t, struct sim_thread *to)
{
    struct sim_cpu_state *c = &s->cpu[cpu];
    uint64_t tick_at = c->tick_at;
    bool resched = c->resched;
    usf_assert(to->k.state == SIM_K_ASLEEP && to->futex && !to->timed && t->inst == to->inst);
    sim_stop(s, cpu, SIM_STOP_FLOAT);
    exchange(s, t, to);
    falls_asleep(s, t);
    to->futex = 0;
    sim_mark_ready(s, to);
    s->st->floats++;
    start(s, cpu, to, 0, 0);
    c->tick_at = tick_at;
    if (resched) preempt(s, cpu);
    else sim_set_event(s, cpu);
}

/* ---- steps ---------------------------------------------------------------------------------------- */

static void obey(struct sim *s, uint32_t cpu, struct sim_thread *t)
{
    struct sim_cpu_state *c = &s->cpu[cpu];
    switch ((enum sim_req)t->req) {
    case SIM_REQ_RUN:
        sim_speed_demand(s, cpu, true);
        c->speed = sim_speed_of(s, cpu);
        if (c->resched) preempt(s, cpu);
        else if (t->on_enqueue && c->nr_queued) sim_poke(s, t);
        else sim_set_event(s, cpu);
        return;
    case SIM_REQ_SLEEP:
        sim_stop(s, cpu, SIM_STOP_BLOCK);
        t->k.state = SIM_K_ASLEEP;
        falls_asleep(s, t);
        if (s->k->block) s->k->block(s, cpu, &t->k);
        break;
    case SIM_REQ_YIELD:
        sim_stop(s, cpu, SIM_STOP_YIELD);
        t->k.state = SIM_K_QUEUED;
        t->k.runnable_since = t->ready_at = s->now;
        c->nr_queued++;
        s->st->yields++;
        s->st->sched_events++;
        s->k->put(s, cpu, &t->k, SIM_K_YIELDED);
        break;
    case SIM_REQ_FLOAT:
        go_on_with(s, cpu, t, sim_thread(s, t->float_to));
        return;
    case SIM_REQ_MOVE:
        move_running(s, t, t->move_to);
        return;
    default:
        sim_thread_gone(s, t);
        return;
    }
    sim_schedule(s, cpu);
}

/* What its fiber would do next, if that is to yield once more. */
void sim_step_unproductive(struct sim *s, uint32_t cpu, struct sim_thread *t)
{
    t->debt += s->m->cost.yield_ns;
    t->req = SIM_REQ_YIELD;
    s->waker = cpu;
    obey(s, cpu, t);
    s->waker = SIM_NONE;
}

static void step(struct sim *s, uint32_t cpu, struct sim_thread *t)
{
    sim_speed_demand(s, cpu, false);
    s->waker = cpu;
    do {
        t->req = SIM_REQ_NONE;
        if (!sim_fiber_run(s, t)) return;
        if (t->req == SIM_REQ_FLUSH || s->nr_trace > SIM_TRACE_CAP / 2) sim_trace_flush(s);
    } while (t->req == SIM_REQ_FLUSH);
    s->wake_delay = 0;
    obey(s, cpu, t);
    s->waker = SIM_NONE;
    if (sim_under_usf(s)) sim_usf_after(s);
}

void sim_cpu_event(struct sim *s, uint32_t cpu)
{
    struct sim_cpu_state *c = &s->cpu[cpu];
    sim_account(s, cpu);
    struct sim_thread *t = current(s, cpu);
    if (!t->lead && !t->over && (!t->rem || has_signal(t))) {
        if (sim_is_unproductive(s, t) && c->nr_queued) {
            sim_step_unproductive(s, cpu, t);
            sim_unproductive_leave(s, cpu);
        } else {
            step(s, cpu, t);
        }
    } else if (s->now >= c->tick_at) {
        s->st->ticks++;
        if (s->k->tick(s, cpu)) {
            preempt(s, cpu);
        } else {
            set_tick(s, cpu);
            sim_set_event(s, cpu);
        }
    } else {
        sim_set_event(s, cpu);
    }
}

/* ---- begin and end --------------------------------------------------------------------------------- */

int sim_cpus_init(struct sim *s)
{
    const struct sim_machine *m = s->m;
    s->cpu = aligned_alloc(64, m->nr_cpus * sizeof *s->cpu);
    s->node = calloc(m->nr_nodes, sizeof *s->node);
    s->phys_first = calloc(m->nr_phys + 2, sizeof *s->phys_first);
    s->phys_cpus = calloc(m->nr_cpus, sizeof *s->phys_cpus);
    s->phys_busy = calloc(m->nr_phys, sizeof *s->phys_busy);
    if (!s->cpu || !s->node || !s->phys_first || !s->phys_cpus || !s->phys_busy) return -ENOMEM;
    memset(s->cpu, 0, m->nr_cpus * sizeof *s->cpu);
    for (uint32_t i = 0; i < m->nr_nodes; i++) {
        s->node[i].factor = 1000;
        s->node[i].cpu = calloc(m->nr_cpus, sizeof *s->node[i].cpu);
        if (!s->node[i].cpu) return -ENOMEM;
    }
    for (uint32_t i = 0; i < m->nr_cpus; i++) {
        s->cpu[i].current = s->cpu[i].last = SIM_NONE;
        s->cpu[i].begin = s->cpu[i].idle_since = s->now;
        s->cpu[i].speed = SIM_SPEED;
        s->phys_first[m->cpu[i].phys + 2]++;
    }
    for (uint32_t p = 0; p < m->nr_phys; p++) s->phys_first[p + 2] += s->phys_first[p + 1];
    for (uint32_t i = 0; i < m->nr_cpus; i++) s->phys_cpus[s->phys_first[m->cpu[i].phys + 1]++] = i;
    for (uint32_t i = 0; i < m->nr_cpus; i++) s->cpu[i].smt = s->phys_first[m->cpu[i].phys + 1] - s->phys_first[m->cpu[i].phys] > 1;
    return 0;
}

void sim_cpus_free(struct sim *s)
{
    for (uint32_t i = 0; s->node && i < s->m->nr_nodes; i++) free(s->node[i].cpu);
    free(s->cpu);
    free(s->node);
    free(s->phys_first);
    free(s->phys_cpus);
    free(s->phys_busy);
}
