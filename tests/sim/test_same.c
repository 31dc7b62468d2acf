/* tests/sim/test_same.c - the same seed gives the same trace, byte for byte; another gives another.  SPDX-License-Identifier: Apache-2.0 */
#include "policy/policy.h"
#include "random.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text { struct sim_trace *t; size_t n, cap; };

static void keep(void *arg, const struct sim_trace *t)
{
    struct text *x = arg;
    if (x->n == x->cap) {
        x->cap = x->cap ? 2 * x->cap : 1024;
        x->t = realloc(x->t, x->cap * sizeof *x->t);
    }
    x->t[x->n++] = *t;
}

static void trace(const struct sim_machine *m, const struct sim_workload *w, const char *policy, uint64_t seed, struct text *out, struct sim_stats *st)
{
    char why[200];
    struct sim_config c = {.machine = m, .workload = w, .seed = seed, .policy = policy, .trace = keep, .trace_arg = out,
                           .limit_ns = 100000000000ull, .floats = seed / 2 % 2, .poll_max_ns = seed % 3 ? 0 : 50000};
    if (!sim_run(&c, st, why, sizeof why)) return;
    printf("FAILED: seed %lu, %s: %s\n", seed, policy ? policy : "plain", why);
    exit(1);
}

/* Times in order, threads run on one CPU at a time, CPUs run one thread at a time: as the trace tells it. */
static const char *fault(const struct text *x, uint32_t cpus, uint32_t threads)
{
    uint32_t *runs = malloc(cpus * sizeof *runs), *on = malloc(threads * sizeof *on);
    const char *what = 0;
    memset(runs, 0xff, cpus * sizeof *runs);
    memset(on, 0xff, threads * sizeof *on);
    for (size_t i = 0; i < x->n && !what; i++) {
        const struct sim_trace *t = &x->t[i];
        if (i && t->ns < x->t[i - 1].ns) what = "time goes back";
        if (t->kind == SIM_T_RUN) {
            if (runs[t->cpu] != SIM_NONE) what = "two threads on one CPU";
            if (on[t->thread] != SIM_NONE) what = "a thread on two CPUs";
            runs[t->cpu] = t->thread;
            on[t->thread] = t->cpu;
        } else if (t->kind == SIM_T_STOP) {
            if (runs[t->cpu] != t->thread) what = "a thread stops that does not run";
            runs[t->cpu] = on[t->thread] = SIM_NONE;
        }
    }
    free(runs);
    free(on);
    return what;
}

int main(void)
{
    uint32_t differ = 0;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct sim_machine m;
        struct sim_workload w;
        random_machine(seed, false, &m);
        random_workload(seed, &m, true, &w);
        for (const struct usf_policy_ops *const *p = usf_builtin_policies;; p++) {
            if (*p && (*p)->flags & USF_POLICY_KERNEL) continue;
            const char *policy = *p ? (*p)->name : 0;
            struct text a = {0}, b = {0}, other = {0};
            struct sim_stats sa, sb, so;
            trace(&m, &w, policy, seed, &a, &sa);
            trace(&m, &w, policy, seed + 1000, &other, &so);
            trace(&m, &w, policy, seed, &b, &sb);
            const char *what = fault(&a, m.nr_cpus, sa.threads);
            if (!a.n || a.n != b.n || memcmp(a.t, b.t, a.n * sizeof *a.t)) what = "two runs of one seed differ";
            if (sa.trace_hash != sb.trace_hash || sa.makespan_ns != sb.makespan_ns || sa.events != sb.events) what = "their results differ";
            if (what) {
                printf("FAILED: seed %lu, %s: %s\n", seed, policy ? policy : "plain", what);
                return 1;
            }
            differ += sa.trace_hash != so.trace_hash;
            free(a.t);
            free(b.t);
            free(other.t);
            sim_stats_free(&sa);
            sim_stats_free(&sb);
            sim_stats_free(&so);
            if (!*p) break;
        }
        sim_workload_free(&w);
        sim_machine_free(&m);
    }
    if (differ < 20) {
        printf("FAILED: other seeds gave other traces only %u times\n", differ);
        return 1;
    }
    printf("seeds 1 to 12: same traces; %u of other seeds differ\n", differ);
    return 0;
}
