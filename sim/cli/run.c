/* sim/cli/run.c - usf sim run and sweep.  SPDX-License-Identifier: Apache-2.0 */
#include "sim/cli/cli.h"
#include "usf/policy.h"
#include <stdlib.h>
#include <string.h>

#define RUNS_MAX   100000u
#define POINTS_MAX 10000u

static char *format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static char *format(const char *fmt, ...)
{
    char *s;
    va_list ap;
    va_start(ap, fmt);
    if (vasprintf(&s, fmt, ap) < 0) {
        trouble("out of memory");
        exit(SIM_FAILED);
    }
    va_end(ap);
    return s;
}

/* FILE, or, of several runs, FILE with the policy and the seed before its ending. */
static const char *file_of(const char *file, const struct job *j, bool several)
{
    char policy[64];
    if (!file || !several) return file;
    const char *dot = strrchr(file, '.'), *slash = strrchr(file, '/');
    if (!dot || (slash && dot < slash) || dot == file) dot = file + strlen(file);
    snprintf(policy, sizeof policy, "%s", j->policy);
    for (char *p = policy; *p; p++)
        if (*p == '/') *p = '_';
    return format("%.*s.%s.%llu%s", (int)(dot - file), file, policy, (unsigned long long)j->seed, dot);
}

/* ---- points of a sweep ----------------------------------------------------------------------------- */
struct axis { char *name; struct list values; };

static bool split_axes(struct options *o, struct axis *axes, uint32_t *points)
{
    *points = 1;
    for (uint32_t i = 0; i < o->vary.nr; i++) {
        char *eq = strchr(o->vary.item[i], '='), *rest;
        if (!eq || !eq[1]) {
            usage("--vary: '%.60s' is not NAME=VALUE,VALUE...", o->vary.item[i]);
            return false;
        }
        axes[i] = (struct axis){.name = strndup(o->vary.item[i], (size_t)(eq - o->vary.item[i]))};
        for (uint32_t k = 0; k < i; k++)
            if (!strcmp(axes[k].name, axes[i].name)) {
                usage("--vary %s is given twice: write its values after one another", axes[i].name);
                return false;
            }
        /* a machine's description has no commas; its blanks are its own */
        for (char *w = strtok_r(eq + 1, ",", &rest); w; w = strtok_r(NULL, ",", &rest)) {
            if (axes[i].values.nr == MANY) {
                usage("--vary %s has more than %u values", axes[i].name, MANY);
                return false;
            }
            axes[i].values.item[axes[i].values.nr++] = w;
        }
        *points *= axes[i].values.nr;
        if (!*points || *points > POINTS_MAX) {
            usage("--vary: more than %u combinations, or a parameter without values", POINTS_MAX);
            return false;
        }
    }
    return true;
}

static int set_axis(struct job *j, const char *name, char *value)
{
    static const struct { const char *name; size_t field; } times[] = {
        {"quantum", offsetof(struct options, quantum)}, {"slice", offsetof(struct options, slice)}, {"progress", offsetof(struct options, progress)},
        {"lend", offsetof(struct options, lend)}, {"poll", offsetof(struct options, poll)}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (!strcmp(times[i].name, name)) {
            if (lang_time(value, (uint64_t *)(void *)((char *)&j->o + times[i].field))) return -1;
            return usage("--vary %s: '%.40s' is no time (like 20ms)", name, value);
        }
    if (!strcmp(name, "machine")) {
        j->machine = value;
        return -1;
    }
    if (j->sets.nr == MANY) return usage("more than %u params are set", MANY);
    j->sets.item[j->sets.nr++] = format("%s=%s", name, value);
    return -1;
}

static int set_point(struct job *j, const struct axis *axes, uint32_t nr, uint32_t point)
{
    for (uint32_t i = nr; i-- > 0;) {       /* the last one varies fastest */
        int r = set_axis(j, axes[i].name, axes[i].values.item[point % axes[i].values.nr]);
        if (r >= 0) return r;
        point /= axes[i].values.nr;
    }
    return -1;
}

static char *point_name(const struct axis *axes, uint32_t nr, uint32_t point)
{
    char *text = strdup("");
    for (uint32_t i = nr; i-- > 0;) {
        char *more = format("%s=%s%s%s", axes[i].name, axes[i].values.item[point % axes[i].values.nr], *text ? " " : "", text);
        free(text);
        text = more;
        point /= axes[i].values.nr;
    }
    return text;
}

/* ---- both ------------------------------------------------------------------------------------------ */
/* What is wrong with all of them is said once, before the first starts. */
static bool sound(const struct job *j, struct sim_machine *m, char **title)
{
    struct lang_error e;
    struct sim_config c = {0};
    char why[256];
    if (!load_machine(j->machine, m)) return false;
    if (m->nr_cpus > USF_CORES_MAX) {
        go_large(m->nr_cpus);
        return false;
    }
    if (!load_policy(j->policy, &c)) return false;
    struct lang_workload *w = load_workload(j->workload, &j->sets);
    struct lang_lowered *l = w ? lang_lower(w, m, j->seed, &e) : NULL;
    bool good = l && sim_workload_is_valid(&l->w, why, sizeof why);
    if (w && !l) say_error(&e);
    else if (l && !good) trouble("%.100s: %s", j->workload, why);
    if (good && title) *title = strdup(w->title ? w->title : j->workload);
    lang_lowered_free(l);
    lang_free(w);
    if (!good) sim_machine_free(m);
    return good;
}

static bool all_sound(const struct options *o, const struct job *jobs, uint32_t nr, struct out_about *about)
{
    static char shape[160], machine[64];
    char *title = NULL;
    uint32_t per_point = (uint32_t)(o->policies.nr * o->seeds);
    for (uint32_t i = 0; i < nr; i += per_point) {
        struct sim_machine m;
        if (!sound(&jobs[i], &m, i ? NULL : &title)) return false;
        if (!i) {
            snprintf(machine, sizeof machine, "%s", m.name);
            mach_describe(&m, shape, sizeof shape);
        }
        sim_machine_free(&m);
    }
    for (uint32_t i = 1; i < o->policies.nr; i++) {
        struct sim_config c = {0};
        if (!load_policy(o->policies.item[i], &c)) return false;
    }
    about->workload = title;
    about->machine = machine;
    about->shape = shape;
    return true;
}

static int make_jobs(const struct options *o, const struct axis *axes, uint32_t points, struct job *jobs)
{
    uint32_t i = 0;
    uint64_t per_point = o->policies.nr * o->seeds;
    for (uint32_t p = 0; p < points; p++)
        for (uint32_t k = 0; k < o->policies.nr; k++)
            for (uint64_t s = 0; s < o->seeds; s++, i++) {
                struct job *j = &jobs[i];
                *j = (struct job){.workload = o->rest[0], .machine = o->machine, .policy = o->policies.item[k], .sets = o->sets, .seed = o->seed + s,
                                  .point = p, .o = *o};
                int r = set_point(j, axes, o->vary.nr, p);
                if (r >= 0) return r;
                j->trace = file_of(o->trace, j, per_point > 1);
                j->gantt = file_of(o->gantt, j, per_point > 1 && (!o->gantt || strcmp(o->gantt, "-")));
            }
    return -1;
}

static int simulate(struct options *o, const struct axis *axes, uint32_t points)
{
    uint64_t nr = (uint64_t)points * o->policies.nr * o->seeds;
    struct out_about about = {.seeds = o->seeds, .seed = o->seed};
    if (nr > RUNS_MAX) return usage("%llu simulations; at most %u", (unsigned long long)nr, RUNS_MAX);
    struct job *jobs = calloc(nr, sizeof *jobs);
    struct outcome *out = calloc(nr, sizeof *out);
    char **names = o->vary.nr ? calloc(points, sizeof *names) : NULL;
    if (!jobs || !out || (o->vary.nr && !names)) {
        trouble("out of memory");
        return SIM_FAILED;
    }
    for (uint32_t p = 0; names && p < points; p++) names[p] = point_name(axes, o->vary.nr, p);
    int r = make_jobs(o, axes, points, jobs);
    if (r >= 0) return r;
    if (!all_sound(o, jobs, (uint32_t)nr, &about)) return SIM_USAGE;
    about.points = (const char *const *)names;
    about.nr_points = points;
    if (!jobs_run(jobs, (uint32_t)nr, (uint32_t)(o->jobs < nr ? o->jobs : nr), out)) return SIM_FAILED;
    if (o->json) out_json(stdout, &about, out, (uint32_t)nr);
    else if (o->csv) out_csv(stdout, &about, out, (uint32_t)nr);
    else out_table(stdout, &about, out, (uint32_t)nr, o->programs);
    r = SIM_OK;
    for (uint64_t i = 0; i < nr; i++) {
        if (!outcome_is_good(&out[i])) r = SIM_FAILED;
        outcome_free(&out[i]);
    }
    free(jobs);
    free(out);
    return r;
}

int cmd_sim_run(struct options *o) { return simulate(o, NULL, 1); }

int cmd_sim_sweep(struct options *o)
{
    struct axis axes[MANY] = {0};
    uint32_t points;
    if (!o->vary.nr) return usage("usf sim sweep needs --vary NAME=VALUE,VALUE... (or is 'usf sim run' what is meant?)");
    return split_axes(o, axes, &points) ? simulate(o, axes, points) : SIM_USAGE;
}
