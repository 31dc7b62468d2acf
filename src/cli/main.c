/* src/cli/main.c - the usf command.  SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "cli/preload.h"
#include "shm/shm.h"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

#define JSON_FLAG {.name = "json", .help = "print JSON"}
static const struct cli_flag ps_flags[] = {
    JSON_FLAG,
    {.name = "why", .letter = 'w', .help = "say what each waiting thread waits for, and since when"},
    {0}};
static const struct cli_flag json_flags[] = {JSON_FLAG, {0}};
static const struct cli_flag doctor_flags[] = {
    JSON_FLAG,
    {.name = "program", .arg = "PROG",
     .help = "check this program and its libraries: can it be scheduled? if not, why, and what helps?"},
    {0}};
static const struct cli_flag clean_flags[] = {
    JSON_FLAG,
    {.name = "all", .letter = 'a', .help = "all instances of this user"},
    {.name = "force", .letter = 'f', .help = "also instances that are in use, damaged or of another version"},
    {0}};
static const struct cli_flag trace_flags[] = {
    JSON_FLAG,
    {.name = "output", .letter = 'o', .arg = "FILE",
     .help = "file to write; default: trace.usft (.json, .usfw, .txt by FORMAT); for convert: stdout"},
    {.name = "format", .arg = "FORMAT", .choices = "recording|perfetto|workload|text",
     .help = "recording, perfetto, workload or text; default: by the ending of FILE (.json, .usfw, .txt), else a recording"},
    {.name = "duration", .letter = 'd', .arg = "TIME",
     .help = "record an instance for this long, like 10s or 500ms; default: until Ctrl-C"},
    {0}};
static const struct cli_flag shim_flags[] = {
    {.name = "output", .letter = 'o', .arg = "FILE", .help = "file to write; default: the stub's SONAME, in the current folder"},
    {.name = "soname", .arg = "NAME", .help = "SONAME of the stub; default: that of LIB, so that programs which are linked with LIB take the stub for it"},
    {.name = "data", .help = "load LIB together with the stub: programs that use its variables, or C++ classes with virtual functions, use those of their "
                             "own copy, in contexts as well"},
    {0}};
static const struct cli_flag policy_verb_flags[] = {
    {.name = "instance", .letter = 'i', .arg = "NAME",
     .help = "for show, set, weight and priority: the instance; default: the configured one, or the one that PID is in"},
    {.name = "lang", .letter = 'l', .arg = "LANGUAGE", .choices = "c|c++|rust", .help = "for new: c, c++ or rust (default c)"},
    {.name = "seeds", .arg = "N", .help = "for check: number of random histories (default 12)"},
    {.name = "seed", .arg = "S", .help = "for check: the first seed, to repeat a failure (default: from the clock)"},
    {0}};

/* python/usf/tune/cli.py parses them; tests/tune compares the two. */
static const struct cli_flag tune_flags[] = {
    {.name = "vary", .arg = "NAME=VALUES", .help = "a variable and its values: V,V,... or FIRST:LAST[:STEP] or FIRST:LAST:*FACTOR; once for each variable"},
    {.name = "share", .arg = "NAME,NAME", .help = "divide the CPUs among the program's library contexts of these names, in all ways"},
    {.name = "overlap", .help = "with --share: each context may have up to all CPUs"},
    {.name = "step", .arg = "N", .help = "with --share: in steps of N CPUs (default 1)"},
    {.name = "where", .arg = "EXPR", .help = "only combinations for which this holds, like 'a * b <= 4'"},
    {.name = "search", .arg = "STRATEGY", .choices = "grid|halving|bayes",
     .help = "grid: every combination; halving (default) and bayes (needs optuna): a fifth of its runs"},
    {.name = "repeats", .arg = "N", .help = "runs of each candidate that is compared at the end, by their median (default 3)"},
    {.name = "budget", .arg = "N", .help = "most runs, or the time of all runs with a unit: 200 or 10min"},
    {.name = "metric", .arg = "REGEX", .help = "minimise the number that this finds in the output, instead of the wall time"},
    {.name = "maximize", .help = "maximise the metric"},
    {.name = "timeout", .arg = "TIME", .help = "a run that takes longer fails"},
    {.name = "hopeless", .arg = "FACTOR", .help = "end a run that takes so many times as long as the best one (default 3), or 'off'"},
    {.name = "seed", .arg = "N", .help = "of the random choices (default 0)"},
    {.name = "bare", .help = "do not run the program under usf run"},
    {.name = "output", .letter = 'o', .arg = "FILE", .help = "profile to write (default usf-tune.toml); FILE.journal has all runs"},
    {.name = "resume", .help = "go on with FILE.journal, after a search that was ended"},
    {.name = "plot", .arg = "FILE", .help = "draw a heat map and the convergence: FILE.png or FILE.html"},
    JSON_FLAG,
    {.name = "quiet", .help = "no progress bar, and nothing on stdout but JSON"},
    {0}};

static const struct cli_verb policy_verbs[] = {
    {"list", "", "list the built-in policies"},
    {"info", "POLICY", "describe a policy, by name or by path, and say which operations it defines"},
    {"new", "NAME", "create a folder with a working policy to start from"},
    {"check", "POLICY", "run a policy against random histories and report what it breaks"},
    {"show", "", "print the policy of an instance, since when it is in force, and why"},
    {"set", "POLICY", "change the policy of an instance until the instance ends: to a built-in policy, or to the shared object that the "
                      "instance was created with. The policy linux can neither be set nor replaced"},
    {"weight", "PID N", "change the weight of a running program (1 to 10000)"},
    {"priority", "PID N", "change the priority of a running program (-1000 to 1000)"},
    {0}};
static const struct cli_verb config_verbs[] = {{"show", "", "print every option's value and where it comes from"}, {0}};
static const struct cli_verb trace_verbs[] = {
    {"info", "FILE", "summarise a recording: times of each program, switches, longest waits, lost events"},
    {"convert", "FILE", "convert a recording: perfetto is JSON for ui.perfetto.dev, workload is a file for 'usf sim run' with the recorded "
                        "computing and dependences, text has a line for each event"},
    {0}};
static const struct cli_verb sim_verbs[] = {
    {"run", "WORKLOAD", "simulate a workload: -m MACHINE, -p POLICY,..., -s SEED, -n SEEDS, -j JOBS, --set NAME=VALUE, --json, --trace FILE, "
                        "--gantt FILE, and the options of usf run: --quantum, --slice, --progress, --lend, --poll, --topology-blind"},
    {"sweep", "WORKLOAD --vary NAME=VALUE,...", "simulate every combination of parameters; --csv"},
    {"check", "WORKLOAD", "check a workload file and say how much work it has"},
    {"machines", "[NAME]", "list the machines, or print one as a file"},
    {"workloads", "[NAME]", "list the workloads, or print one as a file"},
    {"policies", "", "list the policies and the models of Linux"},
    {"calibrate", "[-o FILE]", "measure this machine and print it as a machine file"},
    {0}};

const struct cli_command cli_commands[] = {
    {.name = "run", .main = cmd_run, .synopsis = "[OPTION...] [--] PROGRAM [ARG...]", .options = "*",
     .help = "run a program whose threads share the cores with all other programs that run this way"},
    {.name = "ps", .main = cmd_ps, .synopsis = "[-i NAME] [--why] [--json]", .options = "instance", .flags = ps_flags,
     .instance_help = "the instance to show; default: all",
     .help = "show instances, processes, threads, cores and queues"},
    {.name = "policy", .main = cmd_policy, .synopsis = "COMMAND [ARG...] [OPTION...]", .verbs = policy_verbs, .flags = json_flags,
     .verb_flags = policy_verb_flags, .help = "list, describe, create or check scheduling policies, or change that of an instance"},
    {.name = "config", .main = cmd_config, .synopsis = "show [OPTION...] [--json]", .options = "*", .flags = json_flags,
     .verbs = config_verbs, .help = "show every option's value and where it comes from"},
    {.name = "sim", .main = cmd_sim, .synopsis = "COMMAND [ARG...] [OPTION...]", .verbs = sim_verbs,
     .help = "simulate workloads under policies, on machines that need not exist",
     .more = "'usf sim COMMAND --help' lists all options of a command; docs/simulator.md describes the files."},
    {.name = "trace", .main = cmd_trace,
     .synopsis = "[OPTION...] [--] PROGRAM [ARG...]\n[-i NAME] [--duration TIME] [-o FILE]\ninfo FILE [--json]\nconvert FILE [-o FILE] [--format FORMAT]",
     .options = "*", .flags = trace_flags, .verbs = trace_verbs,
     .help = "record what the scheduler does with a program or an instance",
     .more = "Without a program, all programs of the instance are recorded (-i NAME). With a program, other programs in its instance are recorded, too, "
             "unless --share process keeps them out. The exit status of the program is passed on, as 'usf run' does. A program called info or "
             "convert is written after --."},
    {.name = "tune", .main = cmd_tune, .synopsis = "--vary NAME=VALUES [OPTION...] -- PROGRAM [ARG...]\n--share NAME,NAME [OPTION...] -- PROGRAM [ARG...]\n--resume [-o FILE]", .verb_flags = tune_flags,
     .help = "find the best thread counts, policy, options and CPUs of contexts of a program by running it",
     .more = "A NAME that the command has as {NAME} is put in there; a NAME that is an option of 'usf run' (policy, cpus, ...) is that option; any other "
             "NAME is a variable of the environment. 'usf run --profile FILE' uses the result. Needs Python 3.9. docs/tune.md has examples."},
    {.name = "doctor", .main = cmd_doctor, .synopsis = "[--json] [[--program] PROG]", .options = "verbose", .flags = doctor_flags,
     .help = "check this machine, the instances and, if one is named, a program"},
    {.name = "dump", .main = cmd_dump, .synopsis = "[PID | -i NAME]", .options = "instance",
     .instance_help = "the instance to print; default: all, or the one that PID is in",
     .help = "print the complete state of an instance, for a bug report"},
    {.name = "shim", .main = cmd_shim, .synopsis = "[OPTION...] LIB", .options = "verbose", .flags = shim_flags,
     .help = "write a stub of a library, whose calls go to the copy in the calling thread's library context",
     .more = "Programs that find the stub in place of LIB (linked with it, or by LD_LIBRARY_PATH) call the copy of LIB in the context that the thread has "
             "entered (usf/context.h), without dlsym. A thread in no context calls the program's own copy, which is loaded at the first call. LIB is a path, "
             "or a name that is looked for as the dynamic linker does; the stub loads it from the same path when the program runs."},
    {.name = "clean", .main = cmd_clean, .synopsis = "[-i NAME | --all] [--force] [--json]", .options = "instance verbose", .flags = clean_flags,
     .instance_help = "the instance to remove; default: the configured one",
     .help = "remove instances that no process uses"},
    {.name = "help", .main = cmd_help, .synopsis = "[COMMAND]\nman | usf-COMMAND.1\ncompletion [bash|zsh|fish]",
     .help = "describe a command; print its manual page; print completions for a shell"},
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
    char buf[64], near[64];
    if (!strcmp(word, "--version") || !strcmp(word, "-V")) {
        if (argc > 2) return cli_usage("'%s' is one argument too many", text_clean(argv[2], buf, sizeof buf));
        puts("usf " USF_VERSION);
        return CLI_OK;
    }
    if (!strcmp(word, "--help") || !strcmp(word, "-h")) word = "help";
    const struct cli_command *c = cli_find(word);
    if (!c) return cli_usage("unknown command '%s'%s ('usf --help' lists all)", text_clean(word, buf, sizeof buf),
                             cli_near("'", cli_nearest_command(word), near, sizeof near));
    shm_library_build = library_build;
    int r = c->main(c, argc - 1, argv + 1);
    if (fflush(stdout) || ferror(stdout)) {
        if (r == CLI_OK) usf_warn("the output could not be written");
        return r == CLI_OK ? CLI_FAILED : r;
    }
    return r;
}

/* Under a small limit (ulimit -s 16) there is not enough stack for us, though it may do for the
 * program: take some elsewhere. */
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
