/* sim/out/table.c - results for people, and as CSV.  SPDX-License-Identifier: Apache-2.0 */
#include "sim/out/out.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Columns: of one run, a number; what it is called, and how it is shown. */
enum format { F_TIME, F_COUNT, F_PERCENT, F_RATIO, F_ENERGY };
static double makespan(const struct outcome *o) { return (double)o->stats.makespan_ns; }
static double slow_mean(const struct outcome *o) { return o->slowdown_mean; }
static double slow_max(const struct outcome *o) { return o->slowdown_max; }
static double jain(const struct outcome *o) { return o->jain; }
static double util(const struct outcome *o) { return o->utilisation; }
static double all_cpu(const struct outcome *o)
{
    const struct sim_stats *s = &o->stats;
    return (double)(s->busy_ns + s->spin_ns + s->kernel_ns + s->idle_ns);
}
static double spin(const struct outcome *o) { return all_cpu(o) > 0 ? (double)o->stats.spin_ns / all_cpu(o) : 0; }
static double switches(const struct outcome *o) { return (double)o->stats.switches; }
static double migrations(const struct outcome *o) { return (double)o->stats.migrations; }
static double preemptions(const struct outcome *o) { return (double)o->stats.preemptions; }
static double reconfigurations(const struct outcome *o) { return (double)o->stats.reconfigurations; }
static double lhp(const struct outcome *o) { return (double)o->stats.lhp_ns; }
static double lwp(const struct outcome *o) { return (double)o->stats.lwp_ns; }
static double energy(const struct outcome *o) { return (double)o->stats.energy_uj; }
static const struct { const char *name, *csv; double (*of)(const struct outcome *); uint8_t format, width; } columns[] = {
    {"makespan", "makespan_ns", makespan, F_TIME, 10}, {"slowdown", "slowdown_mean", slow_mean, F_RATIO, 9}, {"worst", "slowdown_max", slow_max, F_RATIO, 7},
    {"Jain", "jain", jain, F_RATIO, 6}, {"busy", "utilisation", util, F_PERCENT, 7}, {"spin", "spin", spin, F_PERCENT, 7},
    {"switches", "switches", switches, F_COUNT, 9}, {"migr.", "migrations", migrations, F_COUNT, 8}, {"preempt.", "preemptions", preemptions, F_COUNT, 9},
    {"reconf.", "reconfigurations", reconfigurations, F_COUNT, 8}, {"LHP", "lhp_ns", lhp, F_TIME, 9}, {"LWP", "lwp_ns", lwp, F_TIME, 9},
    {"energy", "energy_uj", energy, F_ENERGY, 9}};
#define COLUMNS (sizeof columns / sizeof *columns)

static void cell(FILE *f, double v, enum format format, int width)
{
    char buf[24];
    switch (format) {
    case F_TIME: fprintf(f, " %*s", width, v > 0 ? out_time((uint64_t)llround(v), buf) : "0"); break;
    case F_COUNT: fprintf(f, " %*.0f", width, v); break;
    case F_PERCENT: fprintf(f, " %*.1f%%", width - 1, 100 * v); break;
    case F_ENERGY: fprintf(f, " %*.3g J", width - 2, v / 1e6); break;
    case F_RATIO:
        if (v > 0) fprintf(f, " %*.3f", width, v);
        else fprintf(f, " %*s", width, "-");
        break;
    }
}

static bool same_group(const struct outcome *a, const struct outcome *b) { return a->point == b->point && !strcmp(a->policy, b->policy); }

static void group(FILE *f, const struct outcome *o, uint32_t n)
{
    double mean[COLUMNS] = {0}, square = 0;
    uint32_t good = 0;
    for (uint32_t i = 0; i < n; i++) good += outcome_is_good(&o[i]);
    fprintf(f, "%-16s", o->policy);
    if (!good) {
        fprintf(f, " failed: %s\n", o->why);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!outcome_is_good(&o[i])) continue;
        for (size_t c = 0; c < COLUMNS; c++) mean[c] += columns[c].of(&o[i]) / good;
    }
    for (uint32_t i = 0; i < n; i++)
        if (outcome_is_good(&o[i])) square += (makespan(&o[i]) - mean[0]) * (makespan(&o[i]) - mean[0]);
    for (size_t c = 0; c < COLUMNS; c++) cell(f, mean[c], (enum format)columns[c].format, columns[c].width);
    if (good > 1) fprintf(f, "  +-%.1f%%", mean[0] > 0 ? 100 * sqrt(square / (good - 1)) / mean[0] : 0);
    fputc('\n', f);
    for (uint32_t i = 0; i < n; i++) {
        if (!outcome_is_good(&o[i])) fprintf(f, "  seed %" PRIu64 " failed: %s\n", o[i].seed, o[i].why);
        else if (*o[i].stats.policy_why) fprintf(f, "  seed %" PRIu64 ": the policy was replaced by %s: %s\n", o[i].seed, o[i].stats.policy, o[i].stats.policy_why);
    }
}

static void of_programs(FILE *f, const struct outcome *o)
{
    char a[24], b[24], c[24], d[24];
    fprintf(f, "\n%s, seed %" PRIu64 "\n%5s %-20s %8s %10s %10s %8s %10s %10s %9s %8s\n", o->policy, o->seed, "", "program", "threads", "arrival", "response", "slowdown",
            "CPU time", "spinning", "switches", "reconf.");
    for (uint32_t i = 0; i < o->nr_programs; i++) {
        const struct out_program *p = &o->program[i];
        char slow[16] = "-";
        if (p->alone) snprintf(slow, sizeof slow, "%.3f", (double)out_response(p) / (double)p->alone);
        fprintf(f, "%5u %-20s %8u %10s %10s %8s %10s %10s %9" PRIu64 " %8" PRIu64 "\n", i, p->name, p->threads, out_time(p->arrival, a),
                p->end ? out_time(out_response(p), b) : "-", slow, out_time(p->busy, c), out_time(p->spin, d), p->switches, p->reconfigurations);
        if (p->requests)
            fprintf(f, "%26s %" PRIu64 " requests: mean %s, median %s, 99 %% %s, most %s\n", "", p->requests, out_time(p->request_mean, a),
                    out_time(p->request_p50, b), out_time(p->request_p99, c), out_time(p->request_max, d));
    }
}

void out_table(FILE *f, const struct out_about *about, const struct outcome *o, uint32_t nr, bool programs)
{
    fprintf(f, "workload  %s\nmachine   %s: %s\n", about->workload, about->machine, about->shape);
    if (about->seeds > 1) fprintf(f, "seeds     %" PRIu64 " to %" PRIu64 ": means, and the makespan's standard deviation\n", about->seed, about->seed + about->seeds - 1);
    else fprintf(f, "seed      %" PRIu64 "\n", about->seed);
    uint32_t last = UINT32_MAX;
    for (uint32_t i = 0, n; i < nr; i += n) {
        for (n = 1; i + n < nr && same_group(&o[i], &o[i + n]);) n++;
        if (o[i].point != last) {
            fprintf(f, "\n");
            if (about->points) fprintf(f, "%s\n", about->points[o[i].point]);
            fprintf(f, "%-16s", "policy");
            for (size_t c = 0; c < COLUMNS; c++) fprintf(f, " %*s", columns[c].width, columns[c].name);
            fputc('\n', f);
        }
        last = o[i].point;
        group(f, &o[i], n);
    }
    for (uint32_t i = 0; programs && i < nr; i++)
        if (outcome_is_good(&o[i])) of_programs(f, &o[i]);
}

void out_csv(FILE *f, const struct out_about *about, const struct outcome *o, uint32_t nr)
{
    fputs("point,policy,seed,result", f);
    for (size_t c = 0; c < COLUMNS; c++) fprintf(f, ",%s", columns[c].csv);
    fputc('\n', f);
    for (uint32_t i = 0; i < nr; i++) {
        fprintf(f, "\"%s\",%s,%" PRIu64 ",%s", about->points ? about->points[o[i].point] : "", o[i].policy, o[i].seed, outcome_is_good(&o[i]) ? "ok" : "failed");
        for (size_t c = 0; c < COLUMNS; c++) fprintf(f, ",%.9g", outcome_is_good(&o[i]) ? columns[c].of(&o[i]) : 0);
        fputc('\n', f);
    }
}
