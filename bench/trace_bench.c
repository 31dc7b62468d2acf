/* bench/trace_bench.c - what an event of a recording costs.  SPDX-License-Identifier: Apache-2.0
 *
 * usage: trace-bench     ns per event: of the scheduler (under its lock, which has read the clock anyhow), of a thread (reads the clock),
 *                        dropped by a full ring; a look whether anybody records; a system call that is too short to be told */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "trace/trace.h"

#define ROUNDS 2000
#define BATCH  1024u                    /* of a ring of TRACE_TASK_EVENTS: none is dropped */

static struct sched s;
static struct sched_self me;

enum what { LOCKED, OWN, FULL, OFF, CALL, CLOCK, NR };
static const char *const names[NR] = {"under the lock", "of a thread", "dropped", "nobody records", "a short call", "(the clock alone)"};

static void once(enum what w)
{
    switch (w) {
    case LOCKED: case FULL: trace_locked(&s, TRACE_STATE, 1, 0, 2, 3); break;
    case OWN: trace_own(&s, &me, 0, TRACE_WOKE, 0, 1, 2); break;
    case OFF: if (trace_is_on(&s)) trace_locked(&s, TRACE_STATE, 1, 0, 2, 3); break;
    case CALL:
        me.called = os_cycles();
        trace_call(&s, &me);
        break;
    default: (void)os_now(); break;
    }
    __asm__ volatile("" ::: "memory");
}

static double measure(enum what w, struct trace_map *m)
{
    double best = 1e9;
    for (int rep = 0; rep < 5; rep++) {
        uint64_t sum = 0;
        for (int i = 0; i < ROUNDS; i++) {
            struct trace_ring *r[2] = {trace_lock_ring(m), trace_task_ring(m, 0)};
            for (int k = 0; k < 2; k++) atomic_store(&r[k]->tail, atomic_load(&r[k]->head) - (w == FULL && !k ? TRACE_LOCK_EVENTS : 0));
            uint64_t t = os_now();
            for (unsigned k = 0; k < BATCH; k++) once(w);
            sum += os_now() - t;
        }
        double ns = (double)sum / ((double)ROUNDS * BATCH);
        if (ns < best) best = ns;
    }
    return best;
}

int main(void)
{
    struct trace_map *m = mmap(NULL, TRACE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m == MAP_FAILED || !(s.tasks = calloc(1, sizeof *s.tasks))) return 1;
    atomic_store(&m->nr_rings, 1);
    m->call_cycles = 1u << 30;
    m->mult = 1ull << 32;       /* (as a recorder does where the cycle counters are good) */
    for (enum what w = 0; w < NR; w++) {
        s.trace = w == OFF ? 0 : m;
        printf("%-20s %6.1f ns\n", names[w], measure(w, m));
    }
    return 0;
}
