/* bench/sim_scale.c - how fast the simulator is, and what memory it takes.  SPDX-License-Identifier: Apache-2.0
 *
 * sim-scale [POLICY|-] [CORES] [THREADS] [EVENTS]: that many threads, in programs of 1,000, that compute for 20 us on average and
 * then wait for each other, until so many events have come.  `-`: the plain kernel model alone. */
#include "sim/sim.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define PER_PROGRAM 1000u

/* Of CPU time. */
static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#define CODE(name, ...) static struct sim_op name[] = {__VA_ARGS__, {.kind = SIM_OP_END}}

/* Two kinds of threads, each of which passes on what it has got to the other kind; there is less to be passed than there are threads. */
static struct sim_program program(void)
{
    CODE(all, {.kind = SIM_OP_SPAWN, .object = 1, .count = PER_PROGRAM / 2}, {.kind = SIM_OP_SPAWN, .object = 2, .count = PER_PROGRAM / 2},
         {.kind = SIM_OP_JOIN});
    CODE(ping, {.kind = SIM_OP_LOOP, .count = 1000000000}, {.kind = SIM_OP_RECV, .object = 0, .count = 1},
         {.kind = SIM_OP_COMPUTE, .ns = 20000, .spread = 500}, {.kind = SIM_OP_SEND, .object = 1, .count = 1}, {.kind = SIM_OP_YIELD},
         {.kind = SIM_OP_NEXT});
    CODE(pong, {.kind = SIM_OP_LOOP, .count = 1000000000}, {.kind = SIM_OP_RECV, .object = 1, .count = 1},
         {.kind = SIM_OP_COMPUTE, .ns = 20000, .spread = 500}, {.kind = SIM_OP_SEND, .object = 0, .count = 1},
         {.kind = SIM_OP_SLEEP, .ns = 100000, .spread = 500, .flags = SIM_OP_CERTAIN}, {.kind = SIM_OP_NEXT});
    static struct sim_code code[3] = {{all, 4}, {ping, 7}, {pong, 7}};
    static struct sim_channel_def channel[2] = {{.initial = PER_PROGRAM / 8}};
    return (struct sim_program){.name = "scale", .weight = 100, .working_set = 100, .code = code, .nr_codes = 3, .channel = channel, .nr_channels = 2};
}

/* Since all threads have been made. */
struct steady { double from; uint64_t events, least; };
static void note(void *arg, uint64_t now, uint64_t events)
{
    struct steady *s = arg;
    if (s->from > 0 || events < s->least) return;
    s->from = seconds();
    s->events = events;
}

int main(int argc, char **argv)
{
    const char *policy = argc > 1 ? argv[1] : "coop";
    uint32_t cores = argc > 2 ? (uint32_t)atoi(argv[2]) : 256, threads = argc > 3 ? (uint32_t)atoi(argv[3]) : 10000;
    uint64_t events = argc > 4 ? strtoull(argv[4], 0, 10) : 5000000;
    struct sim_machine m;
    if (sim_machine_regular(&m, cores >= 64 ? 2 : 1, 2, 2, cores / (cores >= 64 ? 8 : 4), 1)) return 125;
    struct sim_workload w = {.nr_programs = (threads + PER_PROGRAM - 1) / PER_PROGRAM};
    w.program = calloc(w.nr_programs, sizeof *w.program);
    for (uint32_t i = 0; i < w.nr_programs; i++) w.program[i] = program();
    struct sim_config c = {.machine = &m, .workload = &w, .seed = 1, .policy = strcmp(policy, "-") ? policy : 0, .limit_events = events, .progress = note};
    struct steady steady = {.least = events / 2};
    c.trace_arg = &steady;
    struct sim_stats st;
    char why[200];
    double from = seconds();
    int r = sim_run(&c, &st, why, sizeof why);
    double took = seconds() - from;
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    double late = steady.from > 0 ? (double)(st.events - steady.events) / (from + took - steady.from) : 0;
    double sched = (double)st.sched_events / (double)st.events;
    printf("%s, %u cores, %u threads: %.2f s of CPU, %.3f s virtual; from the start %.2f M events/s, %.2f M scheduling events/s; "
           "in the second half %.2f, %.2f; %ld KiB (%.1f per thread)%s%s\n", st.policy, m.nr_cpus, st.threads, took,
           (double)st.makespan_ns / 1e9, (double)st.events / took / 1e6, (double)st.sched_events / took / 1e6, late / 1e6, late * sched / 1e6,
           u.ru_maxrss, (double)u.ru_maxrss / (st.threads ? st.threads : 1), r == -62 ? "" : "; ", r == -62 ? "" : why);
    sim_stats_free(&st);
    return 0;
}
