/* src/check/starvation.c - who is ready runs, some time.  SPDX-License-Identifier: Apache-2.0
 *
 * More threads than cores, of equal weight and priority, that never stop wanting a core, for long
 * enough that a thread that is passed over again and again is seen to be.  The bound is generous:
 * so many turns of a whole slice for each of the others.  It is measured in the machine's time,
 * since policies with slices count in that.
 *
 * Threads compute (and are made to give way), come back from system calls, or busy-wait and yield;
 * the last are looked at apart, since a policy may well let them wait behind all others for a
 * while, but not for ever: a yielder may hold a spin lock. */
#include "check/internal.h"
#include <string.h>

enum kind { COMPUTES, RETURNS, YIELDS, KINDS };
enum { TURN_NS = 1000000, ROUNDS = 16 };

struct scene { uint32_t cores, groups, tasks, yielders; bool newcomers; };
static const struct scene scenes[] = {
    {1, 1, 3, 0, false}, {1, 3, 9, 0, false}, {2, 1, 7, 0, false}, {2, 2, 9, 0, true}, {8, 4, 40, 0, false}, {8, 2, 30, 0, true},
    {1, 2, 6, 1, false}, {1, 3, 7, 20, false}, {2, 2, 6, 3, false}, {8, 3, 30, 10, true}, {2, 1, 0, 8, false},
};

/* Longer than that is for ever. */
static uint64_t bound(const struct machine *m, const struct scene *s)
{
    uint64_t turn = m->pol.quantum > m->pol.slice ? m->pol.quantum : m->pol.slice;
    return ROUNDS * turn * (s->tasks + s->yielders + 2) / s->cores;
}

static enum kind kind_of(const struct scene *s, uint32_t task)
{ return task >= s->tasks ? YIELDS : task % 2 ? RETURNS : COMPUTES; }

/* The thread on this core comes to the end of its turn. */
static void turn(struct machine *m, const struct scene *s, uint32_t core)
{
    uint32_t task = m->core[core].task;
    if (task == USF_NONE) return;
    switch (kind_of(s, task)) {
    case RETURNS:       /* from a call that did not take long */
        machine_switch(m, core, READY, USF_WHY_RETURN);
        break;
    case YIELDS:
        if (machine_yields(m, core)) machine_switch(m, core, READY, USF_WHY_YIELD);
        break;
    default:            /* the progress guarantee: after a quantum at the latest */
        if (m->pol.now - m->cores[core].since >= m->pol.quantum) machine_take(m, core);
    }
}

/* A group whose threads come, run for one turn and end, one after the other. */
static void newcomer(struct machine *m, const struct scene *s)
{
    uint32_t id = s->tasks + s->yielders;
    if (m->task[id].doing == RUNNING) machine_remove_task(m, id), machine_settle(m);
    if (m->task[id].doing != NOTHING) return;
    machine_add_task(m, id, s->groups);
    machine_wake(m, id, USF_WHY_NEW);
}

static void look(struct machine *m, const struct scene *s, struct check_waits *longest)
{
    char words[160];
    for (uint32_t t = 0; t < s->tasks + s->yielders; t++) {
        if (m->task[t].doing != READY) continue;
        bool yielder = kind_of(s, t) == YIELDS;
        uint64_t waited = m->pol.now - m->task[t].since, *most = yielder ? &longest->yielded : &longest->ready;
        if (waited > *most) *most = waited;
        if (waited <= bound(m, s)) continue;
        snprintf(words, sizeof words, "one of %u threads of %u groups on %u cores%s is passed over for %lu ms",
                 s->tasks + s->yielders, s->groups, s->cores, s->yielders ? ", some of which yield," : "", waited / 1000000);
        machine_fail(m, yielder ? CHECK_YIELDERS : CHECK_STARVATION, words);
    }
}

static void play(const struct scene *s, const struct usf_policy_ops *ops, uint64_t seed, struct check_waits *longest)
{
    static struct machine m;
    uint64_t all[USF_CORE_WORDS];
    usf_cores_fill(all, s->cores);
    machine_init(&m, ops, seed, s->cores, s->cores > 2 ? 2 : 1, 1);
    for (uint32_t p = 0; p < s->groups + s->newcomers; p++) machine_add_group(&m, p, all);
    for (uint32_t t = 0; t < s->tasks + s->yielders; t++) {
        machine_add_task(&m, t, t % s->groups);
        machine_wake(&m, t, USF_WHY_NEW);
    }
    uint64_t end = m.pol.now + 2 * bound(&m, s);
    while (m.pol.now < end) {
        m.pol.now += TURN_NS;
        m.step++;
        for (uint32_t c = 0; c < s->cores; c++) turn(&m, s, c);
        if (s->newcomers) newcomer(&m, s);
        machine_tick(&m);
        look(&m, s, longest);
    }
    machine_free(&m);
}

void check_starvation(const struct usf_policy_ops *ops, uint64_t seed, struct check_waits *longest)
{
    for (unsigned i = 0; i < sizeof scenes / sizeof *scenes; i++) play(&scenes[i], ops, seed + i, longest);
}
