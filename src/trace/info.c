/* src/trace/info.c - what a recording comes to, and all of it as text.
 * SPDX-License-Identifier: Apache-2.0 */
#include "text/json.h"
#include "trace/file.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST 5u
#define FUTEXES 4096u           /* different ones that are told apart; more are not counted */

struct sums { uint64_t computing, ready, blocked, calls, switches, wakes, yields, preempted; };
struct longest { uint64_t ns, from; uint32_t thread; const char *what; };
struct futex { uint64_t addr, waits, ns; uint32_t program; };
struct follow {
    const struct trace *t;
    struct trace_work work;
    struct futex *futex;        /* by (program, address); open addressing */
    uint32_t nr_futexes;
    struct sums *of;            /* by program */
    struct trace_state *st;     /* by thread */
    uint64_t *last, *wait_from;
    bool *met;
    struct longest top[LONGEST];
};

static void note_longest(struct follow *w, uint64_t ns, uint64_t from, uint32_t thread, const char *what)
{
    if (ns <= w->top[LONGEST - 1].ns) return;
    uint32_t i = LONGEST - 1;
    for (; i > 0 && w->top[i - 1].ns < ns; i--) w->top[i] = w->top[i - 1];
    w->top[i] = (struct longest){ns, from, thread, what};
}

static void account(struct follow *w, uint32_t thread, uint64_t now)
{
    struct sums *s = &w->of[w->t->thread[thread].program];
    struct trace_state *st = &w->st[thread];
    uint64_t ns = now > w->last[thread] ? now - w->last[thread] : 0;
    if (st->state == USF_TASK_GONE) return;
    if (st->state == USF_TASK_READY) s->ready += ns;
    else if (trace_computes(st)) s->computing += ns;
    else if (st->called || st->state == USF_TASK_IN_KERNEL || st->state == USF_TASK_BY_KERNEL) s->calls += ns;
    else s->blocked += ns;
    if (now > w->last[thread]) w->last[thread] = now;
}

static void note_futex(struct follow *w, uint32_t program, uint64_t addr, uint64_t ns)
{
    size_t at = (size_t)(((addr ^ (uint64_t)program << 48) * 0x9e3779b97f4a7c15ull) >> 40) % FUTEXES;
    struct futex *f = &w->futex[at];
    while (f->waits && (f->addr != addr || f->program != program)) f = &w->futex[at = (at + 1) % FUTEXES];
    if (!f->waits) {
        if (w->nr_futexes >= FUTEXES / 2) return;
        w->nr_futexes++;
        *f = (struct futex){.addr = addr, .program = program};
    }
    f->waits++;
    f->ns += ns;
}

static int by_waiting(const void *a, const void *b)
{
    const struct futex *x = a, *y = b;
    return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : x->addr < y->addr ? -1 : x->addr > y->addr;
}

static void step(struct follow *w, const struct trace_step *e)
{
    struct trace_state *st = &w->st[e->thread];
    struct sums *s = &w->of[w->t->thread[e->thread].program];
    if (!w->met[e->thread]) {
        trace_begin(st, w->t, e);
        w->last[e->thread] = w->t->thread[e->thread].first_ns;
        w->met[e->thread] = true;
    }
    account(w, e->thread, e->ns);
    if (e->kind == TRACE_STATE) {
        if (st->state == USF_TASK_READY) note_longest(w, e->ns - st->since, st->since, e->thread, "for a core");
        if (st->state == USF_TASK_BLOCKED) note_longest(w, e->ns - st->since, st->since, e->thread, "blocked");
        s->switches += e->aux >> 8 == USF_TASK_RUNNING;
    }
    if (e->kind == TRACE_WAIT) w->wait_from[e->thread] = e->ns;
    if (e->kind == TRACE_WAITED && w->wait_from[e->thread])
        note_futex(w, w->t->thread[e->thread].program, e->a, e->ns - w->wait_from[e->thread]);
    if (e->kind == TRACE_CALL) note_longest(w, e->b, e->ns - e->b, e->thread, "in a system call");
    s->wakes += e->kind == TRACE_WOKE;
    s->yields += e->kind == TRACE_QUEUED && e->aux == USF_WHY_YIELD;
    s->preempted += e->kind == TRACE_QUEUED && e->aux == USF_WHY_PREEMPT;
    trace_advance(st, e);
}

static void print_futexes(const struct follow *w, FILE *f)
{
    if (w->futex[0].ns) fputs("\nmost waited for, of futexes\n", f);
    for (uint32_t i = 0; i < LONGEST && w->futex[i].ns; i++) {
        const struct trace_program *p = &w->t->program[w->futex[i].program];
        fprintf(f, "  %9" PRIu64 " waits %11.3f ms %#" PRIx64 " of %s (%d)\n", w->futex[i].waits, (double)w->futex[i].ns / 1e6,
                w->futex[i].addr, p->name, p->pid);
    }
}

static void print_work(const struct follow *w, FILE *f)
{
    if (w->work.nr) fprintf(f, "\n%-16s %-16s %9s %11s %11s %11s %9s %11s %11s\n", "tasks", "of program", "executed", "all ms", "mean us", "longest us", "pauses",
                            "ready us", "longest us");
    for (uint32_t i = 0; i < w->work.nr; i++) {
        const struct trace_work_kind *k = &w->work.kind[i];
        fprintf(f, "%-16s %-16s %9" PRIu64 " %11.3f %11.3f %11.3f %9" PRIu64 " ", k->label, w->t->program[k->program].name, k->executions,
                (double)k->ns / 1e6, (double)k->ns / 1e3 / (double)k->executions, (double)k->longest_ns / 1e3, k->pauses);
        if (k->waits) fprintf(f, "%11.3f %11.3f\n", (double)k->waited_ns / 1e3 / (double)k->waits, (double)k->longest_wait_ns / 1e3);
        else fprintf(f, "%11s %11s\n", "-", "-");
    }
}

static void print(const struct follow *w, FILE *f)
{
    const struct trace *t = w->t;
    double all = (double)(t->end_ns - t->head.start_ns);
    fprintf(f, "instance %s, policy %s, %u core%s, %.6f s%s%s\n", t->head.instance, t->head.policy, t->head.nr_cores, t->head.nr_cores == 1 ? "" : "s",
            all / 1e9, *t->head.command ? ": " : "", t->head.command);
    fprintf(f, "%zu steps of %u thread%s in %u program%s\n", t->nr_steps, t->nr_threads, t->nr_threads == 1 ? "" : "s", t->nr_programs,
            t->nr_programs == 1 ? "" : "s");
    fprintf(f, "events lost: %" PRIu64 "%s\n", t->lost, t->lost ? " (the rings were full: fewer events, or more CPU time for the recorder)" : "");
    if (t->strange) fprintf(f, "events of threads that are not known: %" PRIu64 "\n", t->strange);
    if (t->unrecorded)
        fprintf(f, "processes that could not be recorded: %u (they do not see the file in " SHM_DIR ", or had no thread that did anything)\n",
                t->unrecorded);
    if (t->cut) fputs("the file is cut off: the recorder was killed, or there was no room\n", f);
    fprintf(f, "\n%-16s %8s %7s %11s %11s %11s %11s %9s %9s %7s %7s\n", "program", "pid", "threads", "running ms", "ready ms", "blocked ms", "calls ms",
            "switches", "wakes", "yields", "preempt");
    for (uint32_t p = 0; p < t->nr_programs; p++) {
        const struct sums *s = &w->of[p];
        fprintf(f, "%-16s %8d %7u %11.3f %11.3f %11.3f %11.3f %9" PRIu64 " %9" PRIu64 " %7" PRIu64 " %7" PRIu64 "\n",
                t->program[p].name, t->program[p].pid, t->program[p].nr_threads, (double)s->computing / 1e6, (double)s->ready / 1e6,
                (double)s->blocked / 1e6, (double)s->calls / 1e6, s->switches, s->wakes, s->yields, s->preempted);
    }
    if (w->top[0].ns) fputs("\nlongest waits\n", f);
    for (uint32_t i = 0; i < LONGEST && w->top[i].ns; i++) {
        const struct longest *l = &w->top[i];
        const struct trace_thread *h = &t->thread[l->thread];
        fprintf(f, "  %11.3f ms %-16s from %.6f s: thread %d (%s) of %s\n", (double)l->ns / 1e6, l->what,
                (double)(l->from > t->head.start_ns ? l->from - t->head.start_ns : 0) / 1e9, h->tid, h->name, t->program[h->program].name);
    }
}

static void json_ms(struct json *j, const char *key, uint64_t ns) { json_fraction(j, key, (double)ns / 1e6); }

static void json_program(struct json *j, const struct trace_program *p, const struct sums *s)
{
    json_open(j, NULL, '{');
    json_string(j, "program", p->name);
    json_int(j, "pid", p->pid);
    json_uint(j, "threads", p->nr_threads);
    json_ms(j, "running_ms", s->computing);
    json_ms(j, "ready_ms", s->ready);
    json_ms(j, "blocked_ms", s->blocked);
    json_ms(j, "calls_ms", s->calls);
    json_uint(j, "switches", s->switches);
    json_uint(j, "wakes", s->wakes);
    json_uint(j, "yields", s->yields);
    json_uint(j, "preemptions", s->preempted);
    json_close(j, '}');
}

static void json_work(struct json *j, const struct follow *w)
{
    json_open(j, "tasks", '[');
    for (uint32_t i = 0; i < w->work.nr; i++) {
        const struct trace_work_kind *k = &w->work.kind[i];
        json_open(j, NULL, '{');
        json_string(j, "label", k->label);
        json_string(j, "program", w->t->program[k->program].name);
        json_uint(j, "executed", k->executions);
        json_ms(j, "ms", k->ns);
        json_ms(j, "longest_ms", k->longest_ns);
        json_uint(j, "pauses", k->pauses);
        json_uint(j, "waits", k->waits);
        json_ms(j, "waited_ms", k->waited_ns);
        json_ms(j, "longest_wait_ms", k->longest_wait_ns);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void json_waits(struct json *j, const struct follow *w)
{
    const struct trace *t = w->t;
    char address[24];
    json_open(j, "longest_waits", '[');
    for (uint32_t i = 0; i < LONGEST && w->top[i].ns; i++) {
        const struct trace_thread *h = &t->thread[w->top[i].thread];
        json_open(j, NULL, '{');
        json_ms(j, "ms", w->top[i].ns);
        json_string(j, "what", w->top[i].what);
        json_int(j, "tid", h->tid);
        json_string(j, "thread", h->name);
        json_string(j, "program", t->program[h->program].name);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_open(j, "futexes", '[');
    for (uint32_t i = 0; i < LONGEST && w->futex[i].ns; i++) {
        snprintf(address, sizeof address, "%#" PRIx64, w->futex[i].addr);
        json_open(j, NULL, '{');
        json_string(j, "address", address);
        json_string(j, "program", t->program[w->futex[i].program].name);
        json_uint(j, "waits", w->futex[i].waits);
        json_ms(j, "ms", w->futex[i].ns);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void print_json(const struct follow *w, FILE *f)
{
    const struct trace *t = w->t;
    struct json j;
    json_start(&j, f);
    json_open(&j, NULL, '{');
    json_string(&j, "instance", t->head.instance);
    json_string(&j, "policy", t->head.policy);
    json_string(&j, "command", t->head.command);
    json_uint(&j, "cores", t->head.nr_cores);
    json_fraction(&j, "seconds", (double)(t->end_ns - t->head.start_ns) / 1e9);
    json_uint(&j, "steps", t->nr_steps);
    json_uint(&j, "events_lost", t->lost);
    json_uint(&j, "unrecorded_processes", t->unrecorded);
    json_bool(&j, "cut_off", t->cut);
    json_open(&j, "programs", '[');
    for (uint32_t p = 0; p < t->nr_programs; p++) json_program(&j, &t->program[p], &w->of[p]);
    json_close(&j, ']');
    json_work(&j, w);
    json_waits(&j, w);
    json_close(&j, '}');
    json_end(&j);
}

int trace_info(const struct trace *t, bool json, FILE *f)
{
    size_t n = t->nr_threads + 1u;
    struct follow w = {.t = t, .of = calloc(t->nr_programs + 1u, sizeof *w.of), .st = calloc(n, sizeof *w.st), .last = calloc(n, sizeof *w.last),
                       .wait_from = calloc(n, sizeof *w.wait_from), .met = calloc(n, sizeof *w.met), .futex = calloc(FUTEXES, sizeof *w.futex)};
    bool ok = w.of && w.st && w.last && w.met && w.wait_from && w.futex && trace_work_of(t, &w.work);
    for (size_t i = 0; ok && i < t->nr_steps; i++) step(&w, &t->step[i]);
    for (uint32_t i = 0; ok && i < t->nr_threads; i++)
        if (w.met[i]) account(&w, i, t->thread[i].end_ns);
    if (ok) qsort(w.futex, FUTEXES, sizeof *w.futex, by_waiting);
    if (ok && json) {
        print_json(&w, f);
    } else if (ok) {
        print(&w, f);
        print_work(&w, f);
        print_futexes(&w, f);
    }
    free(w.work.kind);
    free(w.futex);
    free(w.wait_from);
    free(w.of);
    free(w.st);
    free(w.last);
    free(w.met);
    return !ok || ferror(f) ? -1 : 0;
}

/* ---- all of it -------------------------------------------------------------------------------------------- */
static void what(const struct trace *t, const struct trace_step *e, char *buf, size_t cap)
{
    static const char *const why[] = {"new", "woken", "back", "yields", "made to give way"}, *const ends[] = {"woken", "timeout", "a signal", "other"};
    const char *to = trace_state_name(e->aux >> 8);
    char label[17];
    switch (e->kind) {
    case TRACE_STATE:
        if ((uint32_t)e->a == USF_NONE) snprintf(buf, cap, "%s -> %s", trace_state_name(e->aux & 0xff), to);
        else snprintf(buf, cap, "%s -> %s, core %u", trace_state_name(e->aux & 0xff), to, (uint32_t)e->a);
        break;
    case TRACE_QUEUED: snprintf(buf, cap, "queued: %s", e->aux < 5 ? why[e->aux] : "?"); break;
    case TRACE_WAIT: snprintf(buf, cap, "waits on futex %#" PRIx64, e->a); break;
    case TRACE_WAITED: snprintf(buf, cap, "its wait is over: %s", e->aux < 4 ? ends[e->aux] : "?"); break;
    case TRACE_WOKE: snprintf(buf, cap, "wakes %d (futex %#" PRIx64 ")", t->thread[e->a].tid, e->b); break;
    case TRACE_WORK:
        trace_label(e, label);
        snprintf(buf, cap, "begins task %s", label);
        break;
    case TRACE_WORKED: snprintf(buf, cap, "ends its task"); break;
    case TRACE_READY: snprintf(buf, cap, "makes task %#" PRIx64 " ready", e->a); break;
    case TRACE_TAKEN: snprintf(buf, cap, "%s task %#" PRIx64, e->aux ? "goes on with" : "takes", e->a); break;
    case TRACE_PAUSED: snprintf(buf, cap, "pauses its task"); break;
    case TRACE_BORN: snprintf(buf, cap, "makes %d", t->thread[e->a].tid); break;
    case TRACE_CALLED: case TRACE_CALL: {
        const char *how = e->kind == TRACE_CALL ? "is back from" : "enters";
        if (e->aux == USF_WAIT_FUTEX) snprintf(buf, cap, "%s the kernel's futex %#" PRIx64, how, e->a);
        else snprintf(buf, cap, "%s system call %u (%d)", how, usf_wait_nr(e->a), usf_wait_arg(e->a));
        break;
    }
    default: snprintf(buf, cap, "?"); break;
    }
}

int trace_text(const struct trace *t, FILE *f)
{
    char buf[128];
    for (size_t i = 0; i < t->nr_steps; i++) {
        const struct trace_step *e = &t->step[i];
        const struct trace_thread *h = &t->thread[e->thread];
        what(t, e, buf, sizeof buf);
        fprintf(f, "%14.9f %-16s %8d %s\n", (double)(int64_t)(e->ns - t->head.start_ns) / 1e9, t->program[h->program].name, h->tid, buf);
    }
    return ferror(f) ? -1 : 0;
}
