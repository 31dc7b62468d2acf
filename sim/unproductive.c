/* sim/unproductive.c - CPUs whose threads do nothing but yield to each other.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thread that waits in a loop of sched_yield yields whenever it runs: its spin is unproductive.
 * If that holds for all threads that the kernel may choose on a CPU, what happens there depends on
 * that CPU alone, until another one acts on it.  So the CPU is left alone, without events, until
 * then, or until the model of the kernel may choose another thread, a tick comes, or a thread stops
 * spinning (`unproductive` of struct sim_kernel_ops says how long that surely takes).  Then it
 * catches up: its yields are executed one after the other, without fibers and without the heap.  As
 * soon as the state is that of some yields ago, but for times and virtual times that have grown
 * alike for all threads, the rest goes in one step: that period as many times as fits.
 *
 * Results are the same, to the nanosecond and the last counter, trace_hash included
 * (tests/sim/test_unproductive.c); only `events` counts what has been simulated.  Left out of this:
 * runs that are traced (the trace has each yield), CPUs with hardware threads (each switch tells
 * the siblings, whose work is rounded at that), models without `unproductive`, usf's threads (usf.c
 * has its own way). */
#include "sim/internal.h"
#include <string.h>

#define LEAST_NS 20000u         /* not worth it for less */
#define MOST     SIM_KSPINS     /* threads of a CPU; two shots lie on a fiber's stack */
#define SHOTS    200u           /* then one by one, to the end */
#define ANCHOR   64u            /* yields until another thread's returns are looked at, if the one does not return */

/* What is to be the same, or to have grown alike, a period later. */
struct shot {
    uint64_t at, kernel, carry, yields, switches, sched_events;
    uint32_t last;
    struct sim_hash hash;
    struct { uint64_t ran, cold, over, lead, debt, since, ready_since, of_program[3]; } t[MOST];
    struct sim_kspin k;
};

struct round {
    struct sim *s;
    uint32_t cpu, nr, id[MOST];
    uint32_t nr_move;           /* those that run within the period come first; the others wait all the time, as if they did not yield */
    uint64_t until;             /* ns; what happens at that time belongs to it if: */
    bool at_end;
};

bool sim_is_unproductive(const struct sim *s, const struct sim_thread *t)
{ return t->yielding && !t->granted && (!t->yields_until || s->now < t->yields_until); }

bool sim_kyields(const struct sim *s, const struct sim_kthread *k, uint64_t *until)
{
    const struct sim_thread *t = sim_thread(s, k->id);
    if (!sim_is_unproductive(s, t)) return false;
    if (t->yields_until && t->yields_until < *until) *until = t->yields_until;
    return true;
}

void sim_unproductive_leave(struct sim *s, uint32_t cpu)
{
    struct sim_cpu_state *c = &s->cpu[cpu];
    uint32_t phys = s->m->cpu[cpu].phys, id[MOST], nr = 0;
    uint64_t until = c->tick_at;
    if (!s->k->unproductive || s->c->every_yield || s->c->trace || c->current == SIM_NONE || c->resched || c->nr_queued >= MOST) return;
    if (until - s->now < LEAST_NS || s->phys_first[phys + 1] - s->phys_first[phys] > 1) return;
    uint64_t ns = s->k->unproductive(s, cpu, id, MOST, &nr, &until);
    if (until > s->now + ns) until = s->now + ns;
    if (!nr || until <= s->now + LEAST_NS) return;
    c->unproductive = SIM_UNPRODUCTIVE_LEFT;
    sim_heap_set(&s->heap, cpu, until);
}

/* ---- periods -------------------------------------------------------------------------------------------- */

static void take_shot(const struct round *r, struct shot *x)
{
    struct sim *s = r->s;
    const struct sim_cpu_state *c = &s->cpu[r->cpu];
    x->at = s->now;
    x->kernel = c->kernel;
    x->carry = c->carry;
    x->last = c->last;
    x->yields = s->st->yields;
    x->switches = s->st->switches;
    x->sched_events = s->st->sched_events;
    x->hash = s->hash;
    for (uint32_t i = 0; i < r->nr; i++) {
        const struct sim_thread *t = sim_thread(s, r->id[i]);
        const struct sim_program_stats *st = t->inst->st;
        x->t[i].ran = t->k.ran_ns;
        x->t[i].cold = t->cold;
        x->t[i].over = t->over;
        x->t[i].lead = t->lead;
        x->t[i].debt = t->debt;
        x->t[i].since = t->ready_at ? s->now - t->ready_at : UINT64_MAX;
        x->t[i].ready_since = s->now - t->k.runnable_since;
        x->t[i].of_program[0] = st->switches;
        x->t[i].of_program[1] = st->kernel_ns;
        x->t[i].of_program[2] = st->ready_ns;
    }
    s->k->unproductive_look(s, r->cpu, r->id, r->nr, &x->k);
}

/* Is each as it was, but later?  first: one that has run. */
static bool is_alike(const struct round *r, const struct shot *a, const struct shot *b, uint32_t i, uint32_t first)
{
    if (a->t[i].cold != b->t[i].cold || a->t[i].over != b->t[i].over || a->t[i].lead != b->t[i].lead || a->t[i].debt != b->t[i].debt) return false;
    if (a->t[i].ran == b->t[i].ran) return a->k.t[i].time == b->k.t[i].time && a->k.t[i].due == b->k.t[i].due && b->t[i].since - a->t[i].since == b->at - a->at;
    bool runs = r->s->cpu[r->cpu].current == r->id[i];      /* then it has no use for runnable_since: that is set anew when it is queued */
    return a->t[i].since == b->t[i].since && (runs || a->t[i].ready_since == b->t[i].ready_since)
        && b->k.t[i].time - a->k.t[i].time == b->k.t[first].time - a->k.t[first].time
        && b->k.t[i].due - a->k.t[i].due == b->k.t[first].due - a->k.t[first].due;
}

static void exchange(struct round *r, struct shot *a, struct shot *b, uint32_t i, uint32_t j)
{
#define SWAP(x) do { __typeof__((x)[i]) keep = (x)[i]; (x)[i] = (x)[j]; (x)[j] = keep; } while (0)
    SWAP(r->id);
    SWAP(a->t);
    SWAP(b->t);
    SWAP(a->k.t);
    SWAP(b->k.t);
#undef SWAP
}

static bool is_period(struct round *r, struct shot *a, struct shot *b)
{
    uint32_t first = 0;
    if (a->carry != b->carry || a->last != b->last) return false;
    while (first < r->nr && a->t[first].ran == b->t[first].ran) first++;
    if (first == r->nr) return false;
    for (uint32_t i = 0; i < r->nr; i++)
        if (!is_alike(r, a, b, i, first)) return false;
    r->nr_move = 0;
    for (uint32_t i = 0; i < r->nr; i++)
        if (a->t[i].ran != b->t[i].ran) exchange(r, a, b, i, r->nr_move++);
    return true;
}

/* The trace of n more periods of `ns` each, by what the last one added. */
static void hash_more(struct sim_hash *h, const struct sim_hash *was, uint64_t n, uint64_t ns)
{
    unsigned __int128 n1 = (unsigned __int128)n * (n + 1);
    uint64_t one = (uint64_t)(n1 / 2), two = (uint64_t)(n1 / 2 * (2 * n + 1) / 3);     /* sums of 1 .. n, of their squares */
    struct sim_hash d = {h->sum - was->sum, h->k1 - was->k1, h->k2 - was->k2, h->k2ns - was->k2ns};
    h->sum += n * d.sum + ns * one * (d.k1 + 2 * d.k2ns) + ns * ns * two * d.k2;
    h->k1 += n * d.k1;
    h->k2 += n * d.k2;
    h->k2ns += n * d.k2ns + ns * one * d.k2;
}

static void add_to_program(const struct round *r, const struct shot *a, const struct shot *b, uint32_t i, uint64_t n)
{
    struct sim *s = r->s;
    struct sim_program_stats *st = sim_thread(s, r->id[i])->inst->st;
    for (uint32_t j = 0; j < i; j++)
        if (sim_thread(s, r->id[j])->inst->st == st) return;
    st->switches += n * (b->t[i].of_program[0] - a->t[i].of_program[0]);
    st->kernel_ns += n * (b->t[i].of_program[1] - a->t[i].of_program[1]);
    st->ready_ns += n * (b->t[i].of_program[2] - a->t[i].of_program[2]);
}

static void skip(const struct round *r, const struct shot *a, const struct shot *b, uint64_t n)
{
    struct sim *s = r->s;
    struct sim_cpu_state *c = &s->cpu[r->cpu];
    uint64_t period = b->at - a->at, ns = n * period;
    s->k->unproductive_skip(s, r->cpu, r->id, r->nr_move, &a->k, &b->k, n, ns);
    for (uint32_t i = 0; i < r->nr_move; i++) {
        struct sim_thread *t = sim_thread(s, r->id[i]);
        t->k.ran_ns += n * (b->t[i].ran - a->t[i].ran);
        t->k.runnable_since += ns;
        if (t->ready_at) t->ready_at += ns;
        add_to_program(r, a, b, i, n);
    }
    c->kernel += n * (b->kernel - a->kernel);
    c->begin += ns;
    c->idle_since += ns;
    s->st->yields += n * (b->yields - a->yields);
    s->st->switches += n * (b->switches - a->switches);
    s->st->sched_events += n * (b->sched_events - a->sched_events);
    hash_more(&s->hash, &a->hash, n, period);
    s->now += ns;
}

/* ---- catching up ------------------------------------------------------------------------------------------ */

/* The next yield, if it belongs to the round.  (A thread yields as soon as it has paid for getting
 * there.) */
static bool one(const struct round *r)
{
    struct sim *s = r->s;
    struct sim_cpu_state *c = &s->cpu[r->cpu];
    struct sim_thread *t = sim_thread(s, c->current);
    uint64_t at = c->begin + t->lead + t->over;
    if (at > r->until || (at == r->until && !r->at_end)) return false;
    s->now = at;
    sim_account(s, r->cpu);
    usf_assert(sim_is_unproductive(s, t));
    sim_step_unproductive(s, r->cpu, t);
    return true;
}

/* a .. b is a period: as often as it is sure to come again. */
static void repeat(struct round *r, struct shot *a, struct shot *b)
{
    uint64_t n = (r->until - r->s->now) / (b->at - a->at);
    n = n > 1 ? r->s->k->unproductive_most(r->s, r->cpu, r->id, r->nr_move, &a->k, &b->k, n - 1) : 0;
    if (n) skip(r, a, b, n);
}

/* The shot to compare with is replaced after 1, 2, 4 ... returns of its thread: so a period of any
 * length is found.  A period may be one for a while only, until another thread has its turn: then
 * the next is looked for. */
static void catch_up(struct round *r)
{
    struct shot a, b;
    uint32_t anchor = SIM_NONE, returns = 0, power = 1;
    for (uint32_t n = 0, shots = 0; one(r); n++) {
        uint32_t runs = r->s->cpu[r->cpu].current;
        if (n < r->nr || shots > SHOTS || (anchor != SIM_NONE && runs != anchor && n < ANCHOR * (shots + 1))) continue;
        shots++;
        if (anchor == runs) {
            take_shot(r, &b);
            bool is = is_period(r, &a, &b);
            if (is) repeat(r, &a, &b);
            if (!is && ++returns < power) continue;
            power = is ? 1 : 2 * power;
            returns = 0;
        }
        anchor = runs;
        take_shot(r, &a);
    }
}

void sim_unproductive_catch_up(struct sim *s, uint32_t cpu)
{
    struct sim_cpu_state *c = &s->cpu[cpu];
    struct sim_thread *self = s->self;
    uint32_t waker = s->waker;
    uint64_t delay = s->wake_delay, ignored = SIM_NEVER;
    struct round r = {.s = s, .cpu = cpu, .until = s->now, .at_end = sim_heap_key(&s->heap, cpu, s->now) < s->event_key};
    s->now = c->begin;
    s->k->unproductive(s, cpu, r.id, MOST, &r.nr, &ignored);
    s->self = 0;
    s->wake_delay = 0;
    c->unproductive = SIM_UNPRODUCTIVE_CATCHES_UP;
    catch_up(&r);
    c->unproductive = SIM_UNPRODUCTIVE_NOT;
    s->now = r.until;
    s->self = self;
    s->waker = waker;
    s->wake_delay = delay;
    sim_account(s, cpu);
    sim_set_event(s, cpu);
}
