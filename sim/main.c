/* sim/main.c - a first look at the simulator: one workload, some policies.  SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two programs on the same cores, each a team of as many threads, with barriers of every kind. */
static struct sim_program program(enum sim_wait how)
{
    static struct sim_op main_ops[5], body[4];
    static struct sim_code code[2];
    static struct sim_barrier_def barrier[1];
    main_ops[0] = (struct sim_op){.kind = SIM_OP_COMPUTE, .ns = 1000000};
    main_ops[1] = (struct sim_op){.kind = SIM_OP_LOOP, .count = 100};
    main_ops[2] = (struct sim_op){.kind = SIM_OP_PARALLEL, .object = 1, .wait = (uint8_t)how};
    main_ops[3] = (struct sim_op){.kind = SIM_OP_NEXT};
    main_ops[4] = (struct sim_op){.kind = SIM_OP_END};
    body[0] = (struct sim_op){.kind = SIM_OP_COMPUTE, .ns = 200000, .spread = 200};
    body[1] = (struct sim_op){.kind = SIM_OP_BARRIER, .object = 0, .wait = (uint8_t)how};
    body[2] = (struct sim_op){.kind = SIM_OP_COMPUTE, .ns = 300000, .spread = 200};
    body[3] = (struct sim_op){.kind = SIM_OP_END};
    code[0] = (struct sim_code){main_ops, 5};
    code[1] = (struct sim_code){body, 4};
    return (struct sim_program){.name = "team", .weight = 100, .working_set = 100, .spin_ns = 100000, .code = code, .nr_codes = 2,
                                .barrier = barrier, .nr_barriers = 1};
}

int main(int argc, char **argv)
{
    static const char *const waits[] = {"block", "yield", "spin", "spin-block", "yield-block"};
    const char *policies[] = {"coop", "fifo", 0};
    struct sim_machine m;
    uint32_t cores = argc > 1 ? (uint32_t)atoi(argv[1]) : 8;
    if (sim_machine_regular(&m, 1, 1, 1, cores ? cores : 8, 1)) return 125;
    printf("%-12s %-6s %12s %8s %9s %9s %10s\n", "waits", "policy", "makespan ms", "usage %", "switches", "preempted", "events");
    for (uint32_t how = 0; how < 5; how++)
        for (uint32_t p = 0; p < 3; p++) {
            char why[200];
            struct sim_program pair[2] = {program((enum sim_wait)how), program((enum sim_wait)how)};
            struct sim_workload w = {.program = pair, .nr_programs = 2};
            struct sim_config c = {.machine = &m, .workload = &w, .seed = 1, .policy = policies[p], .limit_ns = 60000000000ull};
            struct sim_stats st;
            int r = sim_run(&c, &st, why, sizeof why);
            double all = (double)st.makespan_ns * m.nr_cpus;
            printf("%-12s %-6s %12.2f %8.1f %9lu %9lu %10lu%s%s\n", waits[how], policies[p] ? policies[p] : "plain", (double)st.makespan_ns / 1e6,
                   all > 0 ? 100 * (double)st.busy_ns / all : 0, st.switches, st.preemptions, st.events, r ? "  " : "", r ? why : "");
            sim_stats_free(&st);
        }
    sim_machine_free(&m);
    return 0;
}
