/* sim/cli/cli.h - usf sim: the simulator's command line.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_SIM_CLI_H
#define USF_SIM_CLI_H

#include "base/base.h"
#include "sim/mach/mach.h"
#include "sim/out/out.h"

enum { SIM_OK = 0, SIM_FAILED = 1, SIM_USAGE = 125 };   /* as the tool's */

#define MANY 64u
struct list { char *item[MANY]; uint32_t nr; };

struct options {
    const char *machine;
    struct list policies, sets, vary;
    uint64_t seed, seeds, jobs;
    uint64_t quantum, slice, progress, lend, poll, limit, events;   /* ns; 0: the default */
    bool floats, no_poll, no_spins, blind, check;
    bool json, csv, programs, no_alone, help;
    const char *trace, *gantt, *output;
    char *rest[8];
    uint32_t nr_rest;
};

struct command {
    const char *name, *synopsis, *help;
    const char *options;            /* letters of the groups that it takes, see options.c */
    uint32_t min, max;              /* arguments that are no options */
    int (*main)(struct options *o);
};
extern const struct command sim_commands[];

/* ---- options.c ---------------------------------------------------------------------------------- */
/* argv behind the command's name.  -1: go on; else the exit code (help was printed, or the mistake
 * said). */
int options_parse(const struct command *c, struct options *o, int argc, char **argv);
void options_help(FILE *f, const struct command *c);
void trouble(const char *fmt, ...) __attribute__((format(printf, 1, 2)));  /* one line on stderr */
int usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));     /* says it, returns SIM_USAGE */

/* ---- load.c ------------------------------------------------------------------------------------- */
/* Each says what is wrong, and returns null or false then. */
struct lang_workload *load_workload(const char *name, const struct list *sets);
bool load_machine(const char *spec, struct sim_machine *m);
/* POLICY, PATH of a shared object, KERNEL, or POLICY@KERNEL. */
bool load_policy(const char *spec, struct sim_config *c);
void say_error(const struct lang_error *e);
void say_machine_error(const struct mach_error *e);

/* For machines with more than USF_CORES_MAX CPUs there is another build of this program: goes on as
 * that one, with the same arguments. Comes back only if it cannot (said). */
void go_large(uint32_t nr_cpus);
extern char **sim_argv;

/* ---- one.c: one simulation, in this process ------------------------------------------------------- */
struct job {
    const char *workload, *machine, *policy;
    struct list sets;
    uint64_t seed;
    uint32_t point;
    struct options o;               /* with the point's own values */
    const char *trace, *gantt;      /* file names of this run, or null */
};
void job_run(const struct job *j, struct outcome *out);

/* ---- jobs.c: many, each in a process of its own ---------------------------------------------------- */
/* out[i] is job i's, whichever ends first.  False: said. */
bool jobs_run(const struct job *jobs, uint32_t nr, uint32_t at_once, struct outcome *out);

/* ---- commands ------------------------------------------------------------------------------------ */
int cmd_sim_run(struct options *o);
int cmd_sim_sweep(struct options *o);
int cmd_sim_machines(struct options *o);
int cmd_sim_workloads(struct options *o);
int cmd_sim_policies(struct options *o);
int cmd_sim_check(struct options *o);
int cmd_sim_calibrate(struct options *o);

#endif
