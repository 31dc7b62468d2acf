/* sim/stats.h - what came of a simulation.  SPDX-License-Identifier: Apache-2.0
 *
 * busy + spin + kernel + idle of all CPUs == makespan * number of CPUs, to the nanosecond.
 */
#ifndef USF_SIM_STATS_H
#define USF_SIM_STATS_H

#include <stdint.h>

/* Distribution of times: buckets of a quarter of a power of two. */
#define SIM_HIST 256u
struct sim_hist { uint64_t n, sum, min, max; uint32_t bucket[SIM_HIST]; };
void sim_hist_add(struct sim_hist *h, uint64_t v);
uint64_t sim_hist_quantile(const struct sim_hist *h, uint32_t per_mille);   /* upper end of its bucket, or max */

struct sim_program_stats {
    uint64_t start_ns, end_ns;      /* its first thread's, and its last one's */
    uint64_t work_ns;               /* of COMPUTE operations, as they say */
    uint64_t busy_ns;               /* CPU time computing: work, and what cold caches, SMT, bandwidth and distance made of it */
    uint64_t spin_ns;               /* CPU time in busy-waits */
    uint64_t kernel_ns;             /* switches, wakes, decisions */
    uint64_t ready_ns;              /* its threads were ready and had no CPU */
    uint64_t blocked_ns;
    uint64_t switches, migrations, far_migrations;  /* put on a CPU; another than last time; ... of another node */
    uint64_t preemptions;           /* involuntary */
    uint64_t lhp_ns, lwp_ns;        /* lost to preempted holders of locks, and to preempted waiters whose turn it was, by those who waited */
    uint64_t cold_ns;               /* part of busy_ns that cold caches took */
    uint64_t reconfigurations;      /* changes of its share */
    uint64_t moves;                 /* ... of these, without a change of width: other cores, as many as before */
    uint64_t progress;
    uint64_t tasks;             /* that its tasking runtime has executed */
    uint32_t threads;
    struct sim_hist response;       /* of requests */
};

struct sim_stats {
    uint64_t makespan_ns;
    uint64_t busy_ns, spin_ns, kernel_ns, idle_ns;  /* of all CPUs */
    uint64_t events;                /* of the engine: less than happens, as many yields may go in one step */
    uint64_t sched_events;          /* dispatches, blocks, wakes, yields, preemptions */
    uint64_t switches, migrations, far_migrations, preemptions, wakes, blocks, yields, ticks;
    uint64_t floats;                /* those of the switches that were between threads of one process, without the kernel */
    uint64_t lhp_ns, lwp_ns, cold_ns;
    uint64_t reconfigurations, moves;
    uint64_t lock_wait_ns;          /* for usf's scheduler lock */
    uint64_t energy_uj;             /* proxy: busy, spinning and idle CPU time, each at its power */
    uint64_t trace_hash;            /* of everything that happened, and when: the same for the same seed */
    uint32_t threads, threads_max;  /* in all, and at a time */
    char     policy[32];            /* in force at the end: another than asked for if that one misbehaved, */
    char     policy_why[128];       /* ... for this reason */
    uint32_t nr_programs;
    struct sim_program_stats *program;      /* [nr_programs] */
};

void sim_stats_free(struct sim_stats *s);

#endif
