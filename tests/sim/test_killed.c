/* tests/sim/test_killed.c - threads that are killed while they wait in a channel of another program.  SPDX-License-Identifier: Apache-2.0
 *
 * Program 0 has the channel: its main thread receives one message, a thread of it sends one after 5 ms.  Program 1's threads wait there first, and
 * are killed at 1 ms, when its main thread ends.  What they waited for goes to the next. */
#include "policy/policy.h"
#include "random.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPS(...) {(struct sim_op[]){__VA_ARGS__}, sizeof((struct sim_op[]){__VA_ARGS__}) / sizeof(struct sim_op)}
#define COMPUTE(t) {.kind = SIM_OP_COMPUTE, .ns = (t)}
#define END        {.kind = SIM_OP_END}

static int run(const char *policy, bool floats, uint32_t victims, enum sim_wait how)
{
    char why[200];
    struct sim_stats st;
    struct sim_machine m;
    struct sim_code owner[] = {
        OPS({.kind = SIM_OP_SPAWN, .object = 1, .count = 1}, {.kind = SIM_OP_SLEEP, .ns = 3000000, .flags = SIM_OP_CERTAIN},
            {.kind = SIM_OP_RECV, .count = 1, .wait = how}, COMPUTE(1000000), END),
        OPS({.kind = SIM_OP_SLEEP, .ns = 5000000, .flags = SIM_OP_CERTAIN}, {.kind = SIM_OP_SEND, .count = 1}, END),
    };
    struct sim_code killed[] = {
        OPS({.kind = SIM_OP_SPAWN, .object = 1, .count = victims}, {.kind = SIM_OP_SLEEP, .ns = 1000000, .flags = SIM_OP_CERTAIN}, END),
        OPS({.kind = SIM_OP_RECV, .count = 1, .wait = how}, END),
    };
    struct sim_channel_def channel[1] = {{0}};
    struct sim_link link[1] = {{.program = 0, .channel = 0}};
    struct sim_program p[2] = {
        {.name = "owner", .weight = 100, .code = owner, .nr_codes = 2, .channel = channel, .nr_channels = 1},
        {.name = "killed", .weight = 100, .code = killed, .nr_codes = 2, .channel = channel, .nr_channels = 1, .link = link},
    };
    struct sim_workload w = {.name = "killed", .program = p, .nr_programs = 2};
    if (sim_machine_regular(&m, 1, 1, 1, 4, 1)) return 1;
    struct sim_config c = {.machine = &m, .workload = &w, .seed = 1, .policy = policy, .limit_ns = 1000000000u, .floats = floats};
    memset(&st, 0, sizeof st);
    int r = sim_run(&c, &st, why, sizeof why);
    if (r) printf("FAILED: %s, %u killed, waiting in way %d: %s\n", policy ? policy : "plain", victims, (int)how, why);
    sim_stats_free(&st);
    sim_machine_free(&m);
    return r != 0;
}

int main(void)
{
    static const char *const policies[] = {0, "coop", "fifo", "fl"};
    static const enum sim_wait ways[] = {SIM_WAIT_BLOCK, SIM_WAIT_YIELD, SIM_WAIT_YIELD_BLOCK};
    int failed = 0;
    for (unsigned i = 0; i < sizeof policies / sizeof *policies; i++)
        for (unsigned k = 0; k < sizeof ways / sizeof *ways; k++)
            for (uint32_t n = 1; n <= 3; n++) failed += run(policies[i], false, n, ways[k]) + run(policies[i], true, n, ways[k]);
    return failed != 0;
}
