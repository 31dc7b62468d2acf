/* sim/out/outcome.c - numbers of a run.  SPDX-License-Identifier: Apache-2.0 */
#include "sim/out/out.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *out_time(uint64_t ns, char buf[24])
{
    if (ns < 1000) snprintf(buf, 24, "%" PRIu64 " ns", ns);
    else if (ns < 1000000) snprintf(buf, 24, "%.3g us", (double)ns / 1e3);
    else if (ns < 1000000000) snprintf(buf, 24, "%.4g ms", (double)ns / 1e6);
    else snprintf(buf, 24, "%.5g s", (double)ns / 1e9);
    return buf;
}

bool outcome_is_good(const struct outcome *o) { return o->code == 0; }

static void one(struct out_program *p, const struct sim_program_stats *s, const struct sim_program *d)
{
    snprintf(p->name, sizeof p->name, "%s", d->name);
    p->arrival = d->start_ns;
    p->start = s->start_ns;
    p->end = s->end_ns;
    p->work = s->work_ns, p->busy = s->busy_ns, p->spin = s->spin_ns, p->kernel = s->kernel_ns;
    p->ready = s->ready_ns, p->blocked = s->blocked_ns, p->lhp = s->lhp_ns, p->lwp = s->lwp_ns, p->cold = s->cold_ns;
    p->switches = s->switches, p->migrations = s->migrations, p->far_migrations = s->far_migrations, p->preemptions = s->preemptions;
    p->reconfigurations = s->reconfigurations, p->progress = s->progress, p->tasks = s->tasks, p->threads = s->threads;
    p->requests = s->response.n;
    if (!p->requests) return;
    p->request_mean = s->response.sum / s->response.n;
    p->request_p50 = sim_hist_quantile(&s->response, 500);
    p->request_p95 = sim_hist_quantile(&s->response, 950);
    p->request_p99 = sim_hist_quantile(&s->response, 990);
    p->request_max = s->response.max;
}

/* Slowdowns, and Jain's index (sum x)^2 / (n sum x^2) of x = alone / response. */
static void compare(struct outcome *o)
{
    double sum = 0, logs = 0, x1 = 0, x2 = 0;
    uint32_t n = 0;
    o->slowdown_mean = o->slowdown_max = o->slowdown_geo = o->jain = 0;
    for (uint32_t i = 0; i < o->nr_programs; i++) {
        const struct out_program *p = &o->program[i];
        if (!p->alone || !out_response(p)) continue;
        double s = (double)out_response(p) / (double)p->alone;
        sum += s, logs += log(s), x1 += 1 / s, x2 += 1 / s / s;
        if (s > o->slowdown_max) o->slowdown_max = s;
        n++;
    }
    if (!n) return;
    o->slowdown_mean = sum / n;
    o->slowdown_geo = exp(logs / n);
    o->jain = x1 * x1 / (n * x2);
}

void outcome_fill(struct outcome *o, const struct sim_stats *s, const struct lang_lowered *l, const uint64_t *alone, uint32_t nr_cpus)
{
    o->stats = *s;
    o->stats.program = NULL;
    double total = (double)s->makespan_ns * nr_cpus;
    o->utilisation = total > 0 ? (double)s->busy_ns / total : 0;
    o->nr_programs = s->program ? s->nr_programs : 0;
    o->program = calloc(o->nr_programs ? o->nr_programs : 1, sizeof *o->program);
    if (!o->program) {
        o->nr_programs = 0;
        o->code = -ENOMEM;
        snprintf(o->why, sizeof o->why, "out of memory");
        return;
    }
    for (uint32_t i = 0; i < o->nr_programs; i++) {
        one(&o->program[i], &s->program[i], &l->w.program[i]);
        o->program[i].alone = alone ? alone[i] : 0;
    }
    compare(o);
}

void outcome_free(struct outcome *o)
{
    free(o->program);
    o->program = NULL;
}
