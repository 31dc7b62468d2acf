/* sim/program.h - what simulated programs do.  SPDX-License-Identifier: Apache-2.0
 *
 * A program has codes: sequences of operations, of which threads execute one each.  Thread 0
 * executes code `main`; it may create others (SPAWN), and has a team for parallel regions
 * (PARALLEL).  Codes are shared by all threads that execute them and not changed; what changes
 * (barriers, locks, channels, graphs) are the program's objects, named by index, each instance of
 * the program having its own.
 *
 * Whatever waits has a kind: how it waits.  The same program runs on both sides: as it is, under a
 * model of the kernel, and under usf, where a blocking wait gives the core up (sched_block), a
 * yielding one makes scheduling points, and a busy-waiting one has had its loop patched
 * (sched_spin). */
#ifndef USF_SIM_PROGRAM_H
#define USF_SIM_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#define SIM_NO_CODE UINT32_MAX

enum sim_wait {                 /* how a thread waits */
    SIM_WAIT_BLOCK,             /* futex: sleeps at once */
    SIM_WAIT_YIELD,             /* looks, sched_yield, looks, ... */
    SIM_WAIT_SPIN,              /* looks, looks, ... */
    SIM_WAIT_SPIN_BLOCK,        /* spins for the program's spin_ns, then sleeps (OpenMP's default, adaptive mutexes) */
    SIM_WAIT_YIELD_BLOCK,       /* yields for the program's spin_ns, then sleeps */
};

enum sim_op_kind {
    SIM_OP_END,                 /* of the code: the thread ends, a region's or a called code's end is reached.  Every code has it last. */
    SIM_OP_COMPUTE,             /* ns of work */
    SIM_OP_LOOP,                /* `count` times what follows until the matching NEXT (0: not at all) */
    SIM_OP_NEXT,
    SIM_OP_CALL,                /* code `object` */
    SIM_OP_BARRIER,             /* barrier `object`, waiting as `wait` */
    SIM_OP_LOCK,                /* lock `object`, waiting as `wait`.  Who sleeps competes for it with newcomers when it is woken, as with futex
                                   mutexes; to who waits busily it is passed on in order, as ticket and queue locks are. */
    SIM_OP_UNLOCK,
    SIM_OP_PARALLEL,            /* code `object` on a team of `count` threads (0: default), this one included; ends with a barrier, for which
                                   all wait as `wait`; team threads wait for the next region the same way.  Does not nest deeper than SIM_NEST. */
    SIM_OP_GRAPH,               /* execute tasks of graph `object` together with all that do the same (a team), until all are done; without
                                   a ready task one waits as `wait`.  When all have left, it can be executed anew. */
    SIM_OP_SLEEP,               /* ns in the kernel: I/O, nanosleep.  Not `certain`: a call that might not have blocked (the core is released provisionally). */
    SIM_OP_YIELD,               /* sched_yield */
    SIM_OP_SEND,                /* `count` messages into channel `object`; waits as `wait` while it is full */
    SIM_OP_RECV,                /* `count` messages */
    SIM_OP_SPAWN,               /* `count` threads that execute code `object` */
    SIM_OP_JOIN,                /* wait until all threads that this one has spawned have ended */
    SIM_OP_BEGIN,               /* a request begins here: its time goes with the messages that this thread sends from now on */
    SIM_OP_DONE,                /* ... it has been answered: how long it took goes into the program's statistics */
    SIM_OP_PROGRESS,            /* a piece of work is finished: usf_pol_group.progress */
    SIM_OP_SUBMIT,              /* `count` tasks that execute code `object`, to the program's tasking runtime (tasks.c) */
    SIM_OP_PAUSE,               /* RECV by a task, whose slot is for other tasks until the messages are there */
    SIM_NR_OPS
};

#define SIM_OP_DIVIDED 1u       /* COMPUTE: ns is of the whole team, each does its share by the program's speed-up */
#define SIM_OP_CERTAIN 2u       /* SLEEP: it will block */
#define SIM_SLOTS_MAX 4096u
#define SIM_NEST 4u             /* of loops, calls and regions together: 4 * SIM_NEST */

struct sim_op {
    uint8_t  kind, wait;        /* enum sim_op_kind, enum sim_wait */
    uint16_t flags;             /* SIM_OP_* */
    uint32_t object;            /* index of a code, barrier, lock, channel, graph */
    uint64_t ns;
    uint32_t count;
    uint16_t spread;            /* COMPUTE, SLEEP: per mille; uniformly within ns * (1 +- spread / 1000); 0xffff: exponential with mean ns (SIM_EXPONENTIAL) */
    uint16_t memory;            /* COMPUTE: so many per mille of the time go to memory, when nobody contends */
    uint32_t mbps;              /* ... with this demand for bandwidth, MB/s, over the whole of it */
    uint32_t pad;
};

struct sim_code { struct sim_op *op; uint32_t nr; };

struct sim_barrier_def { uint32_t parties; };       /* 0: the team of the region that it is met in */
struct sim_channel_def { uint32_t capacity, initial; };     /* messages; capacity 0: no bound.  A semaphore is one with `initial` */
/* Tasks with dependences: task i runs code `code` (or, SIM_NO_CODE, computes as `work` says) once
 * `deps` others have ended; when it ends, those in succ[first .. first + nr) have one less to wait
 * for. */
struct sim_graph_task { uint32_t code, deps, first, nr; struct sim_op work; };
struct sim_graph_def { struct sim_graph_task *task; uint32_t *succ; uint32_t nr_tasks, nr_succ; };

struct sim_program {
    char name[32];
    uint64_t start_ns;          /* arrival */
    uint32_t weight;            /* 100 = normal */
    int32_t  priority, nice;    /* usf's, the kernel's */
    uint8_t  kclass;            /* enum sim_kclass */
    uint32_t rt_priority;
    uint32_t flags;             /* USF_PROC_* */
    bool no_float;              /* its threads stay on their own kernel threads */
    uint32_t slots;             /* of its tasking runtime: tasks that execute at once */
    uint32_t width;             /* default team size; 0: the CPUs that it may use, or the share that a policy tells */
    uint32_t working_set;       /* percent of the normal one, which the machine's costs of cold caches are for */
    uint64_t spin_ns;           /* of SIM_WAIT_SPIN_BLOCK, SIM_WAIT_YIELD_BLOCK */
    const uint64_t *cpus;       /* bit per CPU of the machine (all its words); null: all */
    /* Speed-up on w threads, per mille: speedup[w - 1], and the last beyond that; none: linear. */
    uint32_t nr_speedup;
    uint32_t *speedup;
    struct sim_code *code;      uint32_t nr_codes;
    uint32_t main;
    struct sim_barrier_def *barrier; uint32_t nr_barriers;
    uint32_t nr_locks;
    struct sim_channel_def *channel; uint32_t nr_channels;
    struct sim_graph_def *graph; uint32_t nr_graphs;
    /* Channels of other programs (microservices): channel i of this one is channel link[i].channel
     * of program link[i].program. SIM_NO_CODE: its own.  Null: all its own.  It is the owner's
     * definition that counts. */
    struct sim_link { uint32_t program, channel; } *link;
};

struct sim_workload {
    char name[64];
    struct sim_program *program;
    uint32_t nr_programs;
};

#define SIM_EXPONENTIAL 0xffffu
/* A number for a number: each bit of one depends on all of the other. */
uint64_t sim_mix(uint64_t x);
/* `ns` as the operation spreads it, with the next number of `random`: the same for who simulates
 * and who executes. */
uint64_t sim_drawn(uint64_t *random, const struct sim_op *op, uint64_t ns);

/* Are all indices in range, loops and calls well formed, tasks' dependences free of cycles?  False:
 * why says what is not, and where. */
bool sim_workload_is_valid(const struct sim_workload *w, char *why, unsigned cap);
/* Frees what malloc gave for the pointers above (cpus, which may be shared, excepted). */
void sim_workload_free(struct sim_workload *w);

#endif
