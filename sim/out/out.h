/* sim/out/out.h - what simulations came to: numbers, tables, JSON, pictures.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_SIM_OUT_H
#define USF_SIM_OUT_H

#include "sim/lang/lower.h"
#include "sim/sim.h"
#include <stdio.h>

/* One program of one run.  Times in ns. */
struct out_program {
    char name[32];
    uint64_t arrival, start, end;
    uint64_t alone;             /* response when it has the machine for itself; 0: not known */
    uint64_t work, busy, spin, kernel, ready, blocked, lhp, lwp, cold;
    uint64_t switches, migrations, far_migrations, preemptions, reconfigurations, progress, tasks;
    uint32_t threads;
    uint64_t requests, request_mean, request_p50, request_p95, request_p99, request_max;
};
static inline uint64_t out_response(const struct out_program *p) { return p->end > p->arrival ? p->end - p->arrival : 0; }

/* One run: a policy, a seed, a point of a sweep. */
struct outcome {
    char policy[64];            /* as asked for */
    uint64_t seed;
    uint32_t point;             /* of the sweep */
    int32_t code;               /* of sim_run: 0, -ETIME (what came until then), or it failed */
    char why[256];
    struct sim_stats stats;     /* its program pointer is null */
    double slowdown_mean, slowdown_max, slowdown_geo;   /* response / alone; 0: not known */
    double jain;                /* of the programs' progress relative to running alone: 1 is fair, 1/n is not; 0: not known */
    double utilisation;         /* CPU time computing / CPU time */
    double host_s;              /* what the simulation took: never part of an output that is to be reproducible */
    uint32_t nr_programs;
    struct out_program *program;
};
void outcome_fill(struct outcome *o, const struct sim_stats *s, const struct lang_lowered *l, const uint64_t *alone, uint32_t nr_cpus);
void outcome_free(struct outcome *o);
bool outcome_is_good(const struct outcome *o);

/* What the runs are of, for the heads of outputs. */
struct out_about {
    const char *workload, *machine, *shape;     /* shape: "4 packages, ..." */
    uint64_t seeds, seed;
    const char *const *points;                  /* of a sweep: "n=4 quantum=5ms"; or null */
    uint32_t nr_points;
};
/* The runs of one policy and point follow each other, one for each seed; the table has their
 * means. */
void out_table(FILE *f, const struct out_about *about, const struct outcome *o, uint32_t nr, bool programs);
void out_csv(FILE *f, const struct out_about *about, const struct outcome *o, uint32_t nr);
void out_json(FILE *f, const struct out_about *about, const struct outcome *o, uint32_t nr);
const char *out_time(uint64_t ns, char buf[24]);        /* "1.234 ms" */

/* ---- trace.c: for ui.perfetto.dev: Chrome's JSON, one lane per CPU ------------------------------ */
struct out_trace;
struct out_trace *out_trace_open(const char *path, const struct sim_machine *m, const struct sim_workload *w, char *why, size_t cap);
void out_trace_event(struct out_trace *t, const struct sim_trace *e);
int out_trace_close(struct out_trace *t, uint64_t end, char *why, size_t cap);     /* 0, or -1: could not be written */

/* ---- gantt.c: who ran where, when: SVG, or text if the name does not end in .svg ------------------ */
struct out_gantt;
struct out_gantt *out_gantt_open(const char *path, const struct sim_machine *m, const struct sim_workload *w, char *why, size_t cap);
void out_gantt_event(struct out_gantt *g, const struct sim_trace *e);
int out_gantt_close(struct out_gantt *g, const char *title, uint64_t end, char *why, size_t cap);

#endif
