/* src/cli/main.c - the usf command.  SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "cli/preload.h"
#include "shm/shm.h"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

#define JSON_FLAG {.name = "json", .help = "for machines"}
static const struct cli_flag ps_flags[] = {
    JSON_FLAG,
    {.name = "why", .letter = 'w', .help = "say what each waiting thread waits for, and since when"},
    {0}};
static const struct cli_flag config_flags[] = {JSON_FLAG, {0}};
static const struct cli_flag policy_flags[] = {JSON_FLAG, {0}};
static const struct cli_flag doctor_flags[] = {
    JSON_FLAG,
    {.name = "program", .arg = "PROG",
     .help = "can this program be scheduled, and if not, why, and what helps? looks at its libraries, too"},
    {0}};
static const struct cli_flag clean_flags[] = {
    {.name = "all", .letter = 'a', .help = "all instances of this user"},
    {.name = "force", .letter = 'f', .help = "also those that are in use, damaged or of another version"},
    {0}};

static const struct cli_flag trace_flags[] = {
    {.name = "output", .letter = 'o', .arg = "FILE", .help = "what to write; default: trace.usft (.json, .usfw, .txt by FORMAT), or stdout with convert"},
    {.name = "format", .letter = 'f', .arg = "FORMAT",
     .help = "recording, perfetto, workload or text; default: by FILE's ending (.json, .usfw, .txt), else a recording"},
    {.name = "seconds", .letter = 's', .arg = "S", .help = "record what runs in the instance, for so long; without it and a program, until Ctrl-C"},
    {0}};

static const char policy_more[] =
    "list, info POLICY: the built-in policies; what a policy, by name or path, defines itself.\n"
    "new NAME: a folder with a policy that works; --lang is its language: c (default), c++ or rust.\n"
    "check POLICY: attack it with random histories; --seeds N: with so many seeds (default 12); --seed S: from this\n"
    "one on (default: the clock), to repeat a failure.\n"
    "show, set POLICY: the instance's policy; another one for it: built-in, or the object that the instance was made\n"
    "with. The policy linux can neither be set nor be replaced.\n"
    "weight PID N, priority PID N: of a program that runs, 1 to 10000 and -1000 to 1000.\n"
    "With -i NAME: which instance; else that of the environment and the files, or the one that PID takes part in.";
static const char trace_more[] =
    "Without a program: records all programs of the instance (-i NAME). With one, also what else runs in its instance\n"
    "meanwhile (--share process: nothing else does). Options of usf run stand before the program.\n"
    "info FILE: what a recording comes to: times of each program, switches, longest waits, events that were lost.\n"
    "convert FILE: perfetto is Chrome's JSON, for ui.perfetto.dev; workload is for the simulator ('usf sim run ./FILE'),\n"
    "with the recorded computing and the recorded dependences; text has a line for each event.\n"
    "A program called info or convert stands after --. The exit status of a program is passed on, as usf run does.";
static const char sim_more[] =
    "run WORKLOAD: simulate it; -m MACHINE, -p POLICY,..., -s SEED, -n SEEDS, -j JOBS, --set NAME=VALUE, --programs,\n"
    "--json, --trace FILE, --gantt FILE, and usf's --quantum, --slice, --progress, --lend, --poll, --topology-blind.\n"
    "sweep WORKLOAD --vary NAME=VALUE,...: every combination; --csv.\n"
    "check WORKLOAD: is it right, and what does it come to?\n"
    "machines [NAME], workloads [NAME], policies: what there is; one printed as a file.\n"
    "calibrate [-o FILE]: measure this machine.\n"
    "These are the most used: 'usf sim COMMAND --help' lists all options of each, docs/simulator.md describes the files.";

const struct cli_command cli_commands[] = {
    {.name = "run", .main = cmd_run, .synopsis = "[OPTION...] [--] PROGRAM [ARG...]", .options = "*",
     .help = "run a program so that it shares the cores with all others run this way"},
    {.name = "ps", .main = cmd_ps, .synopsis = "[-i NAME] [--why] [--json]", .options = "instance", .flags = ps_flags,
     .help = "show instances, processes, threads, cores and queues"},
    {.name = "policy", .main = cmd_policy,
     .synopsis = "list | info POLICY | new NAME [--lang c|c++|rust] | check POLICY [--seeds N] [--seed S] | show | set POLICY | "
                 "weight PID N | priority PID N [-i NAME] [--json]",
     .flags = policy_flags, .more = policy_more,
     .help = "list the scheduling policies, describe, make or check one; show or change an instance's, and what programs get from it"},
    {.name = "config", .main = cmd_config, .synopsis = "show [OPTION...] [--json]", .options = "*", .flags = config_flags,
     .help = "show every option's value and where it comes from"},
    {.name = "sim", .main = cmd_sim, .synopsis = "run | sweep | check | machines | workloads | policies | calibrate ...",
     .help = "simulate workloads under policies, on machines that need not be there ('usf sim --help')",
     .more = sim_more},
    {.name = "trace", .main = cmd_trace,
     .synopsis = "[-o FILE] [--format FORMAT] [OPTION...] [--] PROGRAM [ARG...] | [-i NAME] [--seconds S] [-o FILE] | info FILE | "
                 "convert FILE [-o FILE] [--format FORMAT]",
     .options = "*", .flags = trace_flags, .more = trace_more,
     .help = "record what the scheduler does with a program or an instance, to look at or to simulate"},
    {.name = "doctor", .main = cmd_doctor, .synopsis = "[--json] [[--program] PROG]", .options = "verbose", .flags = doctor_flags,
     .help = "check this machine, the instances and, if asked, a program"},
    {.name = "dump", .main = cmd_dump, .synopsis = "[PID | -i NAME]", .options = "instance",
     .help = "print all there is to know about an instance, for a report of a fault"},
    {.name = "clean", .main = cmd_clean, .synopsis = "[-i NAME | --all] [--force]", .options = "instance verbose", .flags = clean_flags,
     .help = "remove instances that nobody uses"},
    {.name = "help", .main = cmd_help, .synopsis = "[COMMAND]", .help = "describe a command"},
    {.name = "monitor", .main = cmd_monitor, .synopsis = "NAME", .hidden = true, .help = "watch an instance (started by usf run)"},
    {0},
};

static const char *library_build(void)
{
    static struct preload lib;
    char why[320];
    return preload_find(&lib, why, sizeof why) ? NULL : lib.build_id;
}

static int run_command(int argc, char **argv)
{
    if (argc < 2) return cli_usage("no command given ('usf --help' lists them)");
    const char *word = argv[1];
    char buf[64];
    if (!strcmp(word, "--version") || !strcmp(word, "-V")) {
        if (argc > 2) return cli_usage("'%s' is one argument too many", text_clean(argv[2], buf, sizeof buf));
        puts("usf " USF_VERSION);
        return CLI_OK;
    }
    if (!strcmp(word, "--help") || !strcmp(word, "-h")) word = "help";
    const struct cli_command *c = cli_find(word);
    if (!c) return cli_usage("unknown command '%s'; the nearest is '%s'", text_clean(word, buf, sizeof buf),
                             cli_nearest_command(word));
    shm_library_build = library_build;
    int r = c->main(c, argc - 1, argv + 1);
    if (fflush(stdout) || ferror(stdout)) {
        if (r == CLI_OK) usf_warn("the output could not be written");
        return r == CLI_OK ? CLI_FAILED : r;
    }
    return r;
}

/* Under a small limit (ulimit -s 16) there is not enough stack for us, though it may do for the program: take some elsewhere. */
#define STACK_NEEDED (1u << 20)
static struct { ucontext_t caller, own; int argc, code; char **argv; } elsewhere;

static void on_own_stack(void) { elsewhere.code = run_command(elsewhere.argc, elsewhere.argv); }

int main(int argc, char **argv)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur >= STACK_NEEDED) return run_command(argc, argv);
    void *stack = mmap(NULL, STACK_NEEDED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED || getcontext(&elsewhere.own)) return run_command(argc, argv);
    elsewhere.own.uc_stack.ss_sp = stack;
    elsewhere.own.uc_stack.ss_size = STACK_NEEDED;
    elsewhere.own.uc_link = &elsewhere.caller;
    elsewhere.argc = argc;
    elsewhere.argv = argv;
    makecontext(&elsewhere.own, on_own_stack, 0);
    swapcontext(&elsewhere.caller, &elsewhere.own);
    return elsewhere.code;
}
