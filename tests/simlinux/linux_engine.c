/* tests/simlinux/linux_engine.c - what programs meet under the Linux models, with the engine.  SPDX-License-Identifier: Apache-2.0
 *
 * Barriers and locks of 8 threads on 2 cores, as measured on such a machine under Linux 6.18: the models must show the same
 * collapse of busy-waits, and that sched_yield in the loop, or blocking, avoids it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "sim/linux/kernel.h"
#include "sim/sim.h"

enum { MAX = 16 };
struct prog { struct sim_op main[2], body[8]; struct sim_code code[2]; struct sim_barrier_def barrier; };
static struct prog progs[MAX];
static struct sim_program program[MAX];
static struct sim_workload work;
static struct sim_stats stats;
static char why[200];

/* A program: `threads` execute `n` operations of `body`, END included. */
static struct sim_program *add(uint32_t threads, const struct sim_op *body, uint32_t n)
{
    uint32_t i = work.nr_programs++;
    struct prog *p = &progs[i];
    memcpy(p->body, body, n * sizeof *body);
    p->main[0] = (struct sim_op){ .kind = SIM_OP_PARALLEL, .object = 1, .count = threads, .wait = SIM_WAIT_BLOCK };
    p->main[1] = (struct sim_op){ .kind = SIM_OP_END };
    p->code[0] = (struct sim_code){ p->main, 2 };
    p->code[1] = (struct sim_code){ p->body, n };
    program[i] = (struct sim_program){ .name = "p", .weight = 100, .working_set = 0, .code = p->code, .nr_codes = 2,
        .spin_ns = 3000000, .barrier = &p->barrier, .nr_barriers = 1, .nr_locks = 1 };
    work.program = program;
    return &program[i];
}

static uint64_t run(uint32_t cpus, const char *kernel, uint64_t limit_ms)
{
    struct sim_machine m;
    CHECK(!sim_machine_regular(&m, 1, 1, 1, cpus, 1));
    struct sim_config c = { .machine = &m, .workload = &work, .seed = 1, .kernel = sim_kernel_find(kernel), .limit_ns = limit_ms * 1000000 };
    CHECK(c.kernel);
    sim_stats_free(&stats);
    int r = sim_run(&c, &stats, why, sizeof why);
    if (r && limit_ms > 500000) fprintf(stderr, "%s: %d %s\n", kernel, r, why);
    sim_machine_free(&m);
    return stats.makespan_ns;
}

/* Barriers per second of 8 threads with 200 us of work in all between them. */
static double barriers(const char *kernel, enum sim_wait how)
{
    uint32_t n = how == SIM_WAIT_SPIN || how == SIM_WAIT_SPIN_BLOCK ? 20 : 1000;
    const struct sim_op body[] = { { .kind = SIM_OP_LOOP, .count = n }, { .kind = SIM_OP_COMPUTE, .ns = 25000, .spread = 100 },
        { .kind = SIM_OP_BARRIER, .wait = (uint8_t)how }, { .kind = SIM_OP_NEXT }, { .kind = SIM_OP_END } };
    work.nr_programs = 0;
    add(8, body, 5);
    return (double)n * 1e9 / (double)run(2, kernel, 1000000);
}

/* Sections per second of 8 threads behind one FIFO (ticket) lock: 0.5 us held of 2.5 us. */
static double sections(const char *kernel, enum sim_wait how)
{
    const struct sim_op body[] = { { .kind = SIM_OP_LOOP, .count = how == SIM_WAIT_SPIN ? 4000 : 5000 }, { .kind = SIM_OP_COMPUTE, .ns = 2000 },
        { .kind = SIM_OP_LOCK, .wait = (uint8_t)how }, { .kind = SIM_OP_COMPUTE, .ns = 500 }, { .kind = SIM_OP_UNLOCK },
        { .kind = SIM_OP_NEXT }, { .kind = SIM_OP_END } };
    work.nr_programs = 0;
    add(8, body, 7);
    return 8.0 * body[0].count * 1e9 / (double)run(2, kernel, 1000000);
}

static void waits(void)
{
    static const char *const kernels[] = { "eevdf", "eevdf-1000hz", "eevdf-forfeit", "cfs", "static", "dlb" };
    for (unsigned k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        double block = barriers(kernels[k], SIM_WAIT_BLOCK), yield = barriers(kernels[k], SIM_WAIT_YIELD);
        double spin = barriers(kernels[k], SIM_WAIT_SPIN), both = barriers(kernels[k], SIM_WAIT_SPIN_BLOCK);
        double ticket = sections(kernels[k], SIM_WAIT_SPIN), polite = sections(kernels[k], SIM_WAIT_YIELD);
        printf("%-13s barriers/s: block %.0f yield %.0f spin %.0f spin-block %.0f  ticket lock: spin %.0f yield %.0f\n", kernels[k], block, yield,
               spin, both, ticket, polite);
        CHECK(block > 2000);
        CHECK(yield > 10 * spin && yield > 1500);
        CHECK(spin < 700);         /* a round takes ticks rather than 100 us */
        CHECK(both < block / 4);   /* 3 ms of spinning before the futex helps little */
        CHECK(polite > 5 * ticket);
    }
    double spin = barriers("sched-rr", SIM_WAIT_SPIN);
    printf("rr            barriers/s: spin %.1f\n", spin);
    CHECK(spin < 15); /* who waits does so for 100 ms */
}

/* Under SCHED_FIFO a busy-waiter is never preempted: 8 threads on 2 cores stop for good; with yields they do not. */
static void fifo(void)
{
    const struct sim_op body[] = { { .kind = SIM_OP_LOOP, .count = 10 }, { .kind = SIM_OP_COMPUTE, .ns = 25000 },
        { .kind = SIM_OP_BARRIER, .wait = SIM_WAIT_SPIN }, { .kind = SIM_OP_NEXT }, { .kind = SIM_OP_END } };
    work.nr_programs = 0;
    add(8, body, 5);
    run(2, "sched-fifo", 5000);
    CHECK(stats.makespan_ns >= 4000000000u || strstr(why, "nobody can go on"));
    CHECK(sim_spins_to_yields(&work) == 1);
    CHECK(run(2, "sched-fifo", 5000) < 100000000);
}

/* Two programs of one thread per CPU: static partitions halve the machine, and lending gives the other half back when one is through. */
static void partitions(void)
{
    const struct sim_op lng[] = { { .kind = SIM_OP_COMPUTE, .ns = 400000000 }, { .kind = SIM_OP_END } };
    const struct sim_op brief[] = { { .kind = SIM_OP_COMPUTE, .ns = 50000000 }, { .kind = SIM_OP_END } };
    static const char *const kernels[] = { "eevdf", "cfs", "static", "dlb", "dlb-busy" };
    uint64_t t[5];
    for (int k = 0; k < 5; k++) {
        work.nr_programs = 0;
        add(8, lng, 2);
        add(8, brief, 2);
        t[k] = run(8, kernels[k], 1000000);
        printf("%-9s long and short program: %.1f ms\n", kernels[k], (double)t[k] / 1e6);
    }
    CHECK(t[2] > 790000000);                            /* 8 threads of 400 ms on four CPUs */
    CHECK(t[0] < 560000000 && t[1] < 560000000);        /* 450 ms, and what is lost at the end */
    CHECK(t[3] < 0.75 * (double)t[2] && t[4] < 0.75 * (double)t[2]);
}

/* Shares follow nice, and weights hold over several CPUs: one program of nice 5 and one of nice 0. */
static void nice_values(void)
{
    const struct sim_op hog[] = { { .kind = SIM_OP_COMPUTE, .ns = 2000000000 }, { .kind = SIM_OP_END } };
    static const char *const kernels[] = { "eevdf", "cfs" };
    for (int k = 0; k < 2; k++) {
        work.nr_programs = 0;
        add(1, hog, 2)->nice = 0;
        add(1, hog, 2)->nice = 5;
        run(1, kernels[k], 1000000);
        double ratio = (double)(stats.program[0].end_ns) / (double)stats.makespan_ns;
        CHECK(ratio > 0.63 && ratio < 0.69); /* 2 s at 1024 / (1024 + 335) = 0.754: at 2.65 s of 4 */
    }
}

static void deterministic(void)
{
    static const char *const kernels[] = { "eevdf", "cfs", "sched-rr", "dlb", "dlb-busy" };
    for (int k = 0; k < 5; k++) {
        barriers(kernels[k], SIM_WAIT_YIELD);
        uint64_t hash = stats.trace_hash;
        barriers(kernels[k], SIM_WAIT_YIELD);
        CHECK(hash == stats.trace_hash);
    }
}

int main(void)
{
    waits();
    fifo();
    partitions();
    nice_values();
    deterministic();
    sim_stats_free(&stats);
    return 0;
}
