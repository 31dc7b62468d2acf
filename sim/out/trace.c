/* sim/out/trace.c - a trace for ui.perfetto.dev.  SPDX-License-Identifier: Apache-2.0
 *
 * Chrome's JSON (src/trace/chrome.h), which it opens as it is: a lane for each CPU, on it who ran,
 * and below that the busy-waits.  Each program has a lane that says from when to when it was there,
 * and a counter of the cores that its policy tells it to reckon with.  It is written while the
 * simulation runs: memory is that of the threads that there are. */
#include "sim/out/out.h"
#include "trace/chrome.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CPUS 1u         /* "processes" of the trace */
#define PROGRAMS 2u

struct lane { uint64_t since, waits; uint32_t program, cpu; bool runs, waiting; uint8_t op; };
struct out_trace {
    struct chrome c;
    const struct sim_workload *w;
    struct lane *lane;      /* by thread */
    uint32_t nr, nr_cpus;
    uint64_t *begun;        /* by program: ns + 1; 0: it is not there */
    bool failed;
};

struct out_trace *out_trace_open(const char *path, const struct sim_machine *m, const struct sim_workload *w, char *why, size_t cap)
{
    struct out_trace *t = calloc(1, sizeof *t);
    FILE *f = t ? fopen(path, "we") : NULL;
    uint64_t *begun = calloc(w->nr_programs ? w->nr_programs : 1, sizeof *begun);
    if (!t || !f || !begun) {
        snprintf(why, cap, "cannot write '%.150s': %s", path, !f && t ? strerror(errno) : "out of memory");
        if (f) fclose(f);
        free(begun);
        free(t);
        return NULL;
    }
    *t = (struct out_trace){.w = w, .nr_cpus = m->nr_cpus, .begun = begun};
    chrome_begin(&t->c, f);
    chrome_name(&t->c, "process_name", CPUS, 0, "CPUs");
    for (uint32_t c = 0; c < m->nr_cpus; c++) {
        char buf[80];
        snprintf(buf, sizeof buf, "CPU %u (node %u, cache %u, core %u)", c, m->cpu[c].node, m->cpu[c].llc, m->cpu[c].phys);
        chrome_name(&t->c, "thread_name", CPUS, c + 1, buf);
    }
    chrome_name(&t->c, "process_name", PROGRAMS, 0, "Programs");
    for (uint32_t p = 0; p < w->nr_programs; p++) {
        char buf[80];
        snprintf(buf, sizeof buf, "%s #%u", w->program[p].name, p);
        chrome_name(&t->c, "thread_name", PROGRAMS, p + 1, buf);
    }
    return t;
}

static void slice(struct out_trace *t, uint32_t pid, uint32_t tid, uint64_t from, uint64_t to, const char *what, const char *extra, uint32_t thread)
{
    chrome_slice(&t->c, pid, tid, from, to, what);
    if (extra) fprintf(t->c.f, ",\"args\":{\"thread\":%u,\"then\":\"%s\"}", thread, extra);
    fputc('}', t->c.f);
}

static struct lane *lane_of(struct out_trace *t, uint32_t thread)
{
    if (thread >= t->nr) {
        uint32_t n = t->nr ? t->nr : 64;
        while (n <= thread) n *= 2;
        struct lane *l = realloc(t->lane, n * sizeof *l);
        if (!l) {
            t->failed = true;
            return NULL;
        }
        memset(l + t->nr, 0, (n - t->nr) * sizeof *l);
        t->lane = l;
        t->nr = n;
    }
    return &t->lane[thread];
}

static const char *op_name(uint8_t op)
{
    static const char *const names[SIM_NR_OPS] = {[SIM_OP_BARRIER] = "spins: barrier", [SIM_OP_LOCK] = "spins: lock", [SIM_OP_PARALLEL] = "spins: team",
                                                  [SIM_OP_GRAPH] = "spins: tasks", [SIM_OP_SEND] = "spins: send", [SIM_OP_RECV] = "spins: receive"};
    return op < SIM_NR_OPS && names[op] ? names[op] : "spins";
}

static void end_wait(struct out_trace *t, struct lane *l, uint32_t thread, uint64_t now)
{
    uint64_t from = l->waits > l->since ? l->waits : l->since;
    if (l->runs && l->waiting && now > from) slice(t, CPUS, l->cpu + 1, from, now, op_name(l->op), NULL, thread);
}

static void stop(struct out_trace *t, struct lane *l, const struct sim_trace *e, const char *then)
{
    char buf[80];
    if (!l->runs) return;
    end_wait(t, l, e->thread, e->ns);
    snprintf(buf, sizeof buf, "%s #%u", l->program < t->w->nr_programs ? t->w->program[l->program].name : "?", l->program);
    slice(t, CPUS, l->cpu + 1, l->since, e->ns, buf, then, e->thread);
    l->runs = false;
}

static void program(struct out_trace *t, const struct sim_trace *e)
{
    if (e->thread >= t->w->nr_programs) return;
    if (e->kind == SIM_T_SHARE) {
        chrome_comma(&t->c);
        fprintf(t->c.f, "{\"ph\":\"C\",\"pid\":%u,\"name\":\"share of ", PROGRAMS);
        chrome_text(t->c.f, t->w->program[e->thread].name);
        fprintf(t->c.f, " #%u\",\"ts\":", e->thread);
        chrome_us(t->c.f, e->ns);
        fprintf(t->c.f, ",\"args\":{\"cores\":%u}}", e->aux);
    } else if (!e->aux) {
        t->begun[e->thread] = e->ns + 1;
    } else if (t->begun[e->thread]) {
        slice(t, PROGRAMS, e->thread + 1, t->begun[e->thread] - 1, e->ns, t->w->program[e->thread].name, NULL, 0);
        t->begun[e->thread] = 0;
    }
}

void out_trace_event(struct out_trace *t, const struct sim_trace *e)
{
    static const char *const thens[] = {"blocks", "yields", "is preempted", "ends", "lets another thread go on"};
    if (e->kind == SIM_T_SHARE || e->kind == SIM_T_PROGRAM) {
        program(t, e);
        return;
    }
    struct lane *l = lane_of(t, e->thread);
    if (!l) return;
    switch ((enum sim_trace_kind)e->kind) {
    case SIM_T_THREAD: *l = (struct lane){.program = e->aux}; break;
    case SIM_T_RUN: *l = (struct lane){e->ns, l->waits, l->program, e->cpu, true, l->waiting, l->op}; break;
    case SIM_T_STOP: stop(t, l, e, e->aux < sizeof thens / sizeof *thens ? thens[e->aux] : "stops"); break;
    case SIM_T_END: stop(t, l, e, "ends"); break;
    case SIM_T_WAIT: {
        uint32_t how = e->aux >> 24;
        l->waiting = how != SIM_WAIT_BLOCK;
        l->waits = e->ns;
        l->op = (uint8_t)e->aux;
        break;
    }
    case SIM_T_GOES_ON:
        end_wait(t, l, e->thread, e->ns);
        l->waiting = false;
        break;
    case SIM_T_WAKE: case SIM_T_SHARE: case SIM_T_PROGRAM: break;
    }
}

int out_trace_close(struct out_trace *t, uint64_t end, char *why, size_t cap)
{
    for (uint32_t i = 0; i < t->nr; i++) {
        struct sim_trace e = {.ns = end, .thread = i};
        stop(t, &t->lane[i], &e, "the simulation ends");
    }
    for (uint32_t i = 0; i < t->w->nr_programs; i++)
        if (t->begun[i]) slice(t, PROGRAMS, i + 1, t->begun[i] - 1, end, t->w->program[i].name, NULL, 0);
    chrome_end(&t->c);
    bool bad = ferror(t->c.f) || t->failed;
    bad |= fclose(t->c.f) != 0;
    if (bad) snprintf(why, cap, "the trace could not be written");
    free(t->lane);
    free(t->begun);
    free(t);
    return bad ? -1 : 0;
}
