/* src/tcm/share.c - the CPUs are divided among processes.  SPDX-License-Identifier: Apache-2.0
 *
 * Each process may use the CPUs of its mask.  A CPU goes to one process at most.  The process
 * with the least gets the next CPU; if those of its mask are all given away, their holders are
 * looked at: one that can use another CPU instead makes room (an augmenting path in a bipartite
 * matching). */
#include <string.h>

#include "tcm/tcm.h"

#define NO_PROCESS 0xffffu
#define CPUS (OS_CPUSET_WORDS * 64u)

struct division {
    struct tcm_asker *asker;
    uint32_t n;
    uint16_t holder[CPUS];
    uint64_t seen[OS_CPUSET_WORDS];     /* CPUs that this search has looked at */
};

static bool find_cpu(struct division *d, uint32_t who)
{
    uint16_t from[CPUS], line[CPUS];    /* for which process a CPU is looked at; CPUs whose holders are looked at next */
    uint16_t via[d->n];                 /* the CPU of a process by which the search has come to it */
    uint32_t head = 0, tail = 0, asks = who;
    memset(d->seen, 0, sizeof(d->seen));
    memset(via, 0xff, sizeof(via));
    for (;;) {
        for (uint32_t w = 0; w < OS_CPUSET_WORDS; w++) {
            for (uint64_t rest = d->asker[asks].cpus.w[w] & ~d->seen[w]; rest; rest &= rest - 1) {
                uint32_t cpu = w * 64 + (uint32_t)__builtin_ctzll(rest);
                from[cpu] = (uint16_t)asks;
                d->seen[w] |= 1ull << (cpu % 64);
                line[tail++] = (uint16_t)cpu;
                if (d->holder[cpu] != NO_PROCESS) continue;
                /* Each process on the way takes the next CPU and leaves its own to the process
                 * before it. */
                for (; from[cpu] != who; cpu = via[from[cpu]]) d->holder[cpu] = from[cpu];
                d->holder[cpu] = (uint16_t)who;
                return true;
            }
        }
        do {
            if (head == tail) return false;
            asks = d->holder[line[head++]];
        } while (asks == who || via[asks] != NO_PROCESS);
        via[asks] = line[head - 1];
    }
}

/* Each process gets up to `most(asker)`, one CPU at a time, the one with the least first. */
static void fill(struct division *d, uint32_t (*most)(const struct tcm_asker *))
{
    bool full[d->n];
    memset(full, 0, sizeof(full));
    for (;;) {
        uint32_t best = d->n;
        for (uint32_t i = 0; i < d->n; i++)
            if (!full[i] && d->asker[i].give < most(&d->asker[i]) && (best == d->n || d->asker[i].give < d->asker[best].give)) best = i;
        if (best == d->n) return;
        if (find_cpu(d, best)) d->asker[best].give++;
        else full[best] = true;
    }
}

static uint32_t to_min(const struct tcm_asker *a) { return a->demand.min; }
static uint32_t to_max(const struct tcm_asker *a) { return a->demand.max; }
static uint32_t to_idle(const struct tcm_asker *a) { return a->demand.max + a->demand.idle; }

void tcm_share(struct tcm_asker *asker, uint32_t n)
{
    struct division d = {.asker = asker, .n = n};
    memset(d.holder, 0xff, sizeof(d.holder));
    for (uint32_t i = 0; i < n; i++) asker[i].give = 0;
    fill(&d, to_min);
    fill(&d, to_max);
    fill(&d, to_idle);
}
