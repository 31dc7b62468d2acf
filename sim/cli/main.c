/* sim/cli/main.c - usf-sim, which `usf sim` executes.  SPDX-License-Identifier: Apache-2.0 */
#include "sim/cli/cli.h"
#include <string.h>

const struct command sim_commands[] = {
    {"run", "WORKLOAD [OPTION...]", "simulate a workload under one or more policies", "mprsatg", 1, 1, cmd_sim_run},
    {"sweep", "WORKLOAD [OPTION...] --vary NAME=VALUE,...", "simulate every combination of parameters, in parallel", "mprsavc", 1, 1, cmd_sim_sweep},
    {"check", "WORKLOAD [--machine MACHINE] [--set NAME=VALUE]", "check a workload file, and say how much work it has", "msx", 1, 1, cmd_sim_check},
    {"machines", "[NAME | DESCRIPTION] [--json]", "list the machines, or print one as a machine file", "x", 0, 1, cmd_sim_machines},
    {"workloads", "[NAME] [--json]", "list the workloads, or print one", "x", 0, 1, cmd_sim_workloads},
    {"policies", "[--json]", "list the values of --policy", "x", 0, 0, cmd_sim_policies},
    {"calibrate", "[-o FILE]", "measure this machine's costs, and write a machine file", "o", 0, 0, cmd_sim_calibrate},
    {0},
};

char **sim_argv;

static void overview(FILE *f)
{
    fputs("usage: usf sim COMMAND [OPTION...]\n\nWhat a scheduling policy would do, on machines that need not be there: the scheduler's and the policies'\n"
          "own code over simulated cores.  docs/simulator.md describes workloads and machines.\n\n", f);
    for (const struct command *c = sim_commands; c->name; c++) fprintf(f, "  %-10s %s\n", c->name, c->help);
    fputs("\n'usf sim COMMAND --help' describes a command.\n", f);
}

int main(int argc, char **argv)
{
    sim_argv = argv;
    if (argc < 2) {
        overview(stderr);
        return SIM_USAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        overview(stdout);
        return fflush(stdout) ? SIM_FAILED : SIM_OK;
    }
    if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
        puts("usf " USF_VERSION);
        return SIM_OK;
    }
    for (const struct command *c = sim_commands; c->name; c++) {
        if (strcmp(c->name, argv[1])) continue;
        struct options o;
        int r = options_parse(c, &o, argc - 2, argv + 2);
        if (r < 0) r = c->main(&o);
        if (fflush(stdout) || ferror(stdout)) {
            trouble("the output could not be written");
            return r ? r : SIM_FAILED;
        }
        return r;
    }
    return usage("unknown command '%.40s' ('usf sim --help' lists them)", argv[1]);
}
