/* sim/cli/one.c - one simulation, and each of its programs alone.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sim/cli/cli.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct watch { struct out_trace *trace; struct out_gantt *gantt; };

static void on_trace(void *arg, const struct sim_trace *e)
{
    struct watch *w = arg;
    if (w->trace) out_trace_event(w->trace, e);
    if (w->gantt) out_gantt_event(w->gantt, e);
}

static void configure(struct sim_config *c, const struct job *j, const struct sim_machine *m)
{
    const struct options *o = &j->o;
    c->machine = m;
    c->seed = j->seed;
    c->quantum_ns = o->quantum, c->slice_ns = o->slice, c->progress_ns = o->progress, c->lend_ns = o->lend;
    c->poll_max_ns = o->no_poll ? 0 : o->poll ? o->poll : 200000;
    c->floats = o->floats;
    c->spins_unseen = o->no_spins;
    c->topology_blind = o->blind;
    c->limit_ns = o->limit;
    c->limit_events = o->events;
    c->check = o->check;
}

#define SAME(a, b, p, n) ((a)->n == (b)->n && (!(a)->n || !memcmp((a)->p, (b)->p, (a)->n * sizeof *(a)->p)))

/* Do they do the same, whenever they come? */
static bool same_program(const struct sim_program *a, const struct sim_program *b)
{
    if (strcmp(a->name, b->name) || a->kclass != b->kclass || a->rt_priority != b->rt_priority || a->flags != b->flags || a->width != b->width ||
        a->working_set != b->working_set || a->spin_ns != b->spin_ns || a->no_float != b->no_float || a->main != b->main || a->nr_locks != b->nr_locks || a->nr_codes != b->nr_codes ||
        a->nr_graphs != b->nr_graphs || a->cpus || b->cpus || !SAME(a, b, speedup, nr_speedup) || !SAME(a, b, barrier, nr_barriers) || !SAME(a, b, channel, nr_channels))
        return false;
    for (uint32_t i = 0; i < a->nr_codes; i++)
        if (!SAME(&a->code[i], &b->code[i], op, nr)) return false;
    for (uint32_t i = 0; i < a->nr_graphs; i++)
        if (!SAME(&a->graph[i], &b->graph[i], task, nr_tasks) || !SAME(&a->graph[i], &b->graph[i], succ, nr_succ)) return false;
    return true;
}

/* How long program i takes when it has the machine for itself; 0: that cannot be had (it needs
 * others, or a limit was met). */
static uint64_t alone(const struct sim_config *c, const struct sim_workload *w, uint32_t i)
{
    struct sim_program p = w->program[i];
    struct sim_workload one = {.program = &p, .nr_programs = 1};
    struct sim_config own = *c;
    struct sim_stats s;
    char why[256];
    p.start_ns = 0;
    if (p.link) return 0;
    own.workload = &one;
    own.trace = NULL;
    memset(&s, 0, sizeof s);
    int r = sim_run(&own, &s, why, sizeof why);
    uint64_t ns = !r && s.program ? s.program[0].end_ns : 0;
    sim_stats_free(&s);
    return ns;
}

static uint64_t *all_alone(const struct sim_config *c, const struct sim_workload *w)
{
    uint64_t *ns = calloc(w->nr_programs, sizeof *ns);
    bool shared = false;
    for (uint32_t i = 0; i < w->nr_programs; i++) shared |= w->program[i].link != NULL;
    if (!ns || shared) return ns;
    for (uint32_t i = 0; i < w->nr_programs; i++) {
        uint32_t k = 0;
        while (k < i && !same_program(&w->program[k], &w->program[i])) k++;
        ns[i] = k < i ? ns[k] : alone(c, w, i);
    }
    return ns;
}

static const char *code_text(int code)
{
    return code == -ETIME ? "a limit was met (--limit, --events)" : code == -EDEADLK ? "nobody can go on" : strerror(-code);
}

static bool open_outputs(const struct job *j, struct watch *w, const struct sim_machine *m, const struct sim_workload *load, struct outcome *out)
{
    if (j->trace && !(w->trace = out_trace_open(j->trace, m, load, out->why, sizeof out->why))) return false;
    if (!j->gantt || (w->gantt = out_gantt_open(j->gantt, m, load, out->why, sizeof out->why))) return true;
    char why[256];
    if (w->trace) out_trace_close(w->trace, 0, why, sizeof why);
    return false;
}

static void close_outputs(const struct job *j, struct watch *w, uint64_t end, struct outcome *out)
{
    char why[256], title[160];
    snprintf(title, sizeof title, "%s, policy %s, seed %llu", j->workload, j->policy, (unsigned long long)j->seed);
    bool bad = w->trace && out_trace_close(w->trace, end, why, sizeof why);
    bad |= w->gantt && out_gantt_close(w->gantt, title, end, why, sizeof why);
    if (!bad || out->code) return;
    out->code = -EIO;
    snprintf(out->why, sizeof out->why, "%s", why);
}

static void simulate(const struct job *j, const struct sim_machine *m, const struct lang_lowered *l, struct sim_config *c, struct outcome *out)
{
    struct watch watch = {0};
    struct sim_stats s;
    memset(&s, 0, sizeof s);
    if (!sim_workload_is_valid(&l->w, out->why, sizeof out->why)) return;
    if (!open_outputs(j, &watch, m, &l->w, out)) return;
    c->workload = &l->w;
    if (watch.trace || watch.gantt) c->trace = on_trace, c->trace_arg = &watch;
    out->why[0] = 0;
    out->code = sim_run(c, &s, out->why, sizeof out->why);
    if (out->code && !*out->why) snprintf(out->why, sizeof out->why, "%s", code_text(out->code));
    close_outputs(j, &watch, s.makespan_ns, out);
    uint64_t *ns = j->o.no_alone || out->code ? NULL : all_alone(c, &l->w);
    outcome_fill(out, &s, l, ns, m->nr_cpus);
    free(ns);
    sim_stats_free(&s);
}

void job_run(const struct job *j, struct outcome *out)
{
    struct sim_machine m;
    struct sim_config c = {0};
    struct lang_error e;
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    out->code = -EINVAL;
    snprintf(out->why, sizeof out->why, "it could not be set up");
    if (!load_machine(j->machine, &m)) return;
    struct lang_workload *w = load_workload(j->workload, &j->sets);
    struct lang_lowered *l = w ? lang_lower(w, &m, j->seed, &e) : NULL;
    if (w && !l) snprintf(out->why, sizeof out->why, "%.80s:%u:%u: %.150s", e.file, e.line, e.col, e.text);
    if (l && load_policy(j->policy, &c)) {
        configure(&c, j, &m);
        simulate(j, &m, l, &c, out);
    }
    lang_lowered_free(l);
    lang_free(w);
    sim_machine_free(&m);
    clock_gettime(CLOCK_MONOTONIC, &to);
    out->host_s = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
}
