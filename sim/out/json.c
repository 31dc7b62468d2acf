/* sim/out/json.c - results for machines.  SPDX-License-Identifier: Apache-2.0 */
#include "text/json.h"
#include "sim/out/out.h"

static void of_program(struct json *j, const struct out_program *p)
{
    json_open(j, NULL, '{');
    json_string(j, "name", p->name);
    json_uint(j, "threads", p->threads);
    json_uint(j, "arrival_ns", p->arrival);
    json_uint(j, "start_ns", p->start);
    json_uint(j, "end_ns", p->end);
    json_uint(j, "response_ns", out_response(p));
    if (p->alone) {
        json_uint(j, "alone_ns", p->alone);
        json_fraction(j, "slowdown", (double)out_response(p) / (double)p->alone);
    }
    json_uint(j, "work_ns", p->work);
    json_uint(j, "busy_ns", p->busy);
    json_uint(j, "spin_ns", p->spin);
    json_uint(j, "kernel_ns", p->kernel);
    json_uint(j, "ready_ns", p->ready);
    json_uint(j, "blocked_ns", p->blocked);
    json_uint(j, "cold_ns", p->cold);
    json_uint(j, "lhp_ns", p->lhp);
    json_uint(j, "lwp_ns", p->lwp);
    json_uint(j, "switches", p->switches);
    json_uint(j, "migrations", p->migrations);
    json_uint(j, "far_migrations", p->far_migrations);
    json_uint(j, "preemptions", p->preemptions);
    json_uint(j, "reconfigurations", p->reconfigurations);
    json_uint(j, "progress", p->progress);
    json_uint(j, "tasks", p->tasks);
    if (p->requests) {
        json_open(j, "requests", '{');
        json_uint(j, "number", p->requests);
        json_uint(j, "mean_ns", p->request_mean);
        json_uint(j, "p50_ns", p->request_p50);
        json_uint(j, "p95_ns", p->request_p95);
        json_uint(j, "p99_ns", p->request_p99);
        json_uint(j, "max_ns", p->request_max);
        json_close(j, '}');
    }
    json_close(j, '}');
}

static void totals(struct json *j, const struct outcome *o)
{
    const struct sim_stats *s = &o->stats;
    char hash[24];
    json_uint(j, "makespan_ns", s->makespan_ns);
    if (o->slowdown_mean > 0) {
        json_fraction(j, "slowdown_mean", o->slowdown_mean);
        json_fraction(j, "slowdown_geomean", o->slowdown_geo);
        json_fraction(j, "slowdown_max", o->slowdown_max);
        json_fraction(j, "jain", o->jain);
    }
    json_fraction(j, "utilisation", o->utilisation);
    json_uint(j, "busy_ns", s->busy_ns);
    json_uint(j, "spin_ns", s->spin_ns);
    json_uint(j, "kernel_ns", s->kernel_ns);
    json_uint(j, "idle_ns", s->idle_ns);
    json_uint(j, "switches", s->switches);
    json_uint(j, "floats", s->floats);
    json_uint(j, "migrations", s->migrations);
    json_uint(j, "far_migrations", s->far_migrations);
    json_uint(j, "preemptions", s->preemptions);
    json_uint(j, "wakes", s->wakes);
    json_uint(j, "blocks", s->blocks);
    json_uint(j, "yields", s->yields);
    json_uint(j, "ticks", s->ticks);
    json_uint(j, "reconfigurations", s->reconfigurations);
    json_uint(j, "moves", s->moves);
    json_uint(j, "lhp_ns", s->lhp_ns);
    json_uint(j, "lwp_ns", s->lwp_ns);
    json_uint(j, "cold_ns", s->cold_ns);
    json_uint(j, "lock_wait_ns", s->lock_wait_ns);
    json_uint(j, "energy_uj", s->energy_uj);
    json_uint(j, "threads", s->threads);
    json_uint(j, "threads_max", s->threads_max);
    json_uint(j, "events", s->events);
    json_uint(j, "scheduling_events", s->sched_events);
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)s->trace_hash);
    json_string(j, "trace_hash", hash);
}

void out_json(FILE *f, const struct out_about *about, const struct outcome *o, uint32_t nr)
{
    struct json j;
    json_start(&j, f);
    json_open(&j, NULL, '{');
    json_string(&j, "workload", about->workload);
    json_string(&j, "machine", about->machine);
    json_string(&j, "topology", about->shape);
    json_open(&j, "runs", '[');
    for (uint32_t i = 0; i < nr; i++) {
        json_open(&j, NULL, '{');
        json_string(&j, "policy", o[i].policy);
        json_uint(&j, "seed", o[i].seed);
        if (about->points) json_string(&j, "point", about->points[o[i].point]);
        json_bool(&j, "ok", outcome_is_good(&o[i]));
        if (!outcome_is_good(&o[i])) {
            json_string(&j, "error", o[i].why);
        } else {
            if (*o[i].stats.policy_why) {
                json_string(&j, "replaced_by", o[i].stats.policy);
                json_string(&j, "replaced_why", o[i].stats.policy_why);
            }
            totals(&j, &o[i]);
            json_open(&j, "programs", '[');
            for (uint32_t k = 0; k < o[i].nr_programs; k++) of_program(&j, &o[i].program[k]);
            json_close(&j, ']');
        }
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_close(&j, '}');
    json_end(&j);
}
