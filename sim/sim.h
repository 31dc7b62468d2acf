/* sim/sim.h - the simulator's engine.  SPDX-License-Identifier: Apache-2.0
 *
 * One thread, discrete events, deterministic: the same machine, workload, options and seed give the
 * same trace, byte for byte.  Under usf it executes src/sched, src/policy and src/shm as they are,
 * over a virtual implementation of src/os (os.c); without, a model of the kernel alone decides
 * (kernel.h).
 *
 * A host process runs one simulation at a time: src/sched calls os_now() and its like without a
 * handle. */
#ifndef USF_SIM_SIM_H
#define USF_SIM_SIM_H

#include "sim/kernel.h"
#include "sim/machine.h"
#include "sim/program.h"
#include "sim/stats.h"

struct usf_policy_ops;

enum sim_trace_kind {
    SIM_T_THREAD,       /* a thread is there (aux: its program) */
    SIM_T_RUN,          /* it runs on cpu */
    SIM_T_STOP,         /* it has stopped (aux: enum sim_stop) */
    SIM_T_WAKE,         /* it becomes runnable, meant for cpu (aux: who woke it, SIM_NONE) */
    SIM_T_WAIT,         /* it begins to wait (aux: enum sim_wait << 24 | kind of operation) */
    SIM_T_GOES_ON,      /* ... and has ended waiting */
    SIM_T_END,          /* it ends */
    SIM_T_SHARE,        /* program `thread` has a new share of aux cores */
    SIM_T_PROGRAM,      /* program `thread` begins (aux 0) or has ended (aux 1) */
};
enum sim_stop { SIM_STOP_BLOCK, SIM_STOP_YIELD, SIM_STOP_PREEMPT, SIM_STOP_END, SIM_STOP_FLOAT };
struct sim_trace { uint64_t ns; uint32_t thread, cpu; uint32_t kind, aux; };

struct sim_config {
    const struct sim_machine *machine;
    const struct sim_workload *workload;
    uint64_t seed;
    const char *policy;                     /* usf's, or null: the kernel alone */
    const struct usf_policy_ops *policy_ops;/* an object's own, of that name; null: a built-in one */
    const struct sim_kernel_ops *kernel;    /* null: plain */
    uint64_t quantum_ns, slice_ns, progress_ns, lend_ns;    /* usf's options; 0: their defaults */
    uint64_t poll_max_ns;                   /* idle cores are polled so long; 0: not */
    bool floats;                            /* threads float, but those of programs with `no_float` (option float of usf) */
    bool topology_blind;
    bool spins_unseen;                      /* busy-waits are not patched: only the progress guarantee takes a core from them */
    bool spins_yield;                       /* without usf: busy-waits yield in each round (policy `linux`) */
    uint64_t limit_ns;                      /* give up at this virtual time; 0: a year */
    uint64_t limit_events;                  /* ... after so many events; 0: none */
    bool every_yield;                       /* simulate each yield of threads that wait unproductively, rather than many in one step */
    bool check;                             /* verify the scheduler's invariants after every step (slow) */
    void (*trace)(void *arg, const struct sim_trace *t);    /* may be null */
    void *trace_arg;
    void (*progress)(void *arg, uint64_t now, uint64_t events);     /* now and then; may be null */
};

/* 0; -EINVAL (why: what is not valid), -ENOMEM, -ETIME (a limit was met; out holds what came until
 * then), -EDEADLK (why: nobody can go on), -EPROTO (an invariant does not hold: a bug).  Free out
 * with sim_stats_free in any case. */
int sim_run(const struct sim_config *c, struct sim_stats *out, char *why, unsigned cap);

#endif
