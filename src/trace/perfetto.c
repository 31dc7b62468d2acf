/* src/trace/perfetto.c - a recording for ui.perfetto.dev.  SPDX-License-Identifier: Apache-2.0
 *
 * A lane for each core, on it who ran; below, a process for each program with a lane for each
 * thread: running, ready, blocked, in a call, and arrows from who woke to who was woken.  A thread
 * that executes tasks of a runtime has a second lane, for these. */
#include "trace/chrome.h"
#include "trace/file.h"
#include <stdlib.h>
#include <string.h>

#define CORES 1u                /* "processes" of the trace: the cores, then the programs */
#define PROGRAMS 2u

struct lane { struct trace_state st; uint64_t since, waited; const char *what; bool met, works; uint32_t depth; };  /* waited: of its next task; ns + 1, or 0 */
struct writing {
    const struct trace *t;
    struct chrome c;
    struct lane *lane;
    struct trace_ready ready;
    uint64_t arrows;
};

static uint32_t pid_of(const struct writing *w, uint32_t thread) { return PROGRAMS + w->t->thread[thread].program; }
static uint64_t at(const struct writing *w, uint64_t ns) { return ns > w->t->head.start_ns ? ns - w->t->head.start_ns : 0; }

static void names(struct writing *w)
{
    const struct trace *t = w->t;
    char buf[96];
    chrome_name(&w->c, "process_name", CORES, 0, "Cores");
    for (uint32_t i = 0; i < t->head.nr_cores; i++) {
        snprintf(buf, sizeof buf, "core %u (CPU %u, node %u, cache %u)", i, t->head.cpu[i], t->head.node[i], t->head.llc[i]);
        chrome_name(&w->c, "thread_name", CORES, i + 1, buf);
    }
    for (uint32_t p = 0; p < t->nr_programs; p++) {
        snprintf(buf, sizeof buf, "%s (%d)", t->program[p].name, t->program[p].pid);
        chrome_name(&w->c, "process_name", PROGRAMS + p, 0, buf);
    }
    for (uint32_t i = 0; i < t->nr_threads; i++) {
        snprintf(buf, sizeof buf, "%s %d", t->thread[i].name, t->thread[i].tid);
        chrome_name(&w->c, "thread_name", pid_of(w, i), i + 1, buf);
    }
}

static const char *what_of(const struct lane *l)
{
    if (l->st.state == USF_TASK_READY) return "ready";
    if (trace_computes(&l->st)) return "running";
    if (l->st.called) return "in a system call";
    if (l->st.waits) return l->st.state == USF_TASK_RUNNING ? "looks, before it blocks" : "blocked";
    return trace_state_name(l->st.state);
}

static void end_lane(struct writing *w, uint32_t thread, uint64_t ns)
{
    struct lane *l = &w->lane[thread];
    if (!l->what || ns <= l->since) return;
    chrome_slice(&w->c, pid_of(w, thread), thread + 1, at(w, l->since), at(w, ns), l->what);
    fputc('}', w->c.f);
}

static void end_core(struct writing *w, uint32_t thread, const struct trace_state *st, uint64_t ns, uint32_t next)
{
    const struct trace_thread *h = &w->t->thread[thread];
    char buf[80];
    if (st->state != USF_TASK_RUNNING || st->core >= w->t->head.nr_cores || ns <= st->since) return;
    snprintf(buf, sizeof buf, "%s %d", w->t->program[h->program].name, h->tid);
    chrome_slice(&w->c, CORES, st->core + 1, at(w, st->since), at(w, ns), buf);
    fprintf(w->c.f, ",\"args\":{\"thread\":%d,\"then\":\"%s\"}}", h->tid, trace_state_name(next));
}

static void arrow(struct writing *w, const struct trace_step *e)
{
    uint32_t to = (uint32_t)e->a;
    if (to >= w->t->nr_threads) return;
    w->arrows++;
    chrome_arrow(&w->c, true, w->arrows, pid_of(w, e->thread), e->thread + 1, at(w, e->ns), e->kind == TRACE_WOKE ? "wakes" : "makes");
    chrome_arrow(&w->c, false, w->arrows, pid_of(w, to), to + 1, at(w, e->ns), e->kind == TRACE_WOKE ? "wakes" : "makes");
}

static uint32_t work_lane(const struct writing *w, uint32_t thread) { return w->t->nr_threads + thread + 1; }

static void work(struct writing *w, const struct trace_step *e)
{
    struct lane *l = &w->lane[e->thread];
    char text[64];
    if (!l->works) {
        snprintf(text, sizeof text, "%s %d: tasks", w->t->thread[e->thread].name, w->t->thread[e->thread].tid);
        chrome_name(&w->c, "thread_name", pid_of(w, e->thread), work_lane(w, e->thread), text);
        l->works = true;
    }
    if (e->kind == TRACE_WORK) {
        trace_label(e, text);
        chrome_begin_slice(&w->c, pid_of(w, e->thread), work_lane(w, e->thread), at(w, e->ns), text);
        if (l->waited) {
            fputs(",\"args\":{\"ready us\":", w->c.f);
            chrome_us(w->c.f, l->waited - 1);
            fputc('}', w->c.f);
        }
        fputc('}', w->c.f);
        l->waited = 0;
        l->depth++;
    } else if (l->depth) {      /* else it had begun before the recording */
        chrome_end_slice(&w->c, pid_of(w, e->thread), work_lane(w, e->thread), at(w, e->ns));
        l->depth--;
    }
}

static void take(struct writing *w, const struct trace_step *e)
{
    uint64_t since = trace_ready_take(&w->ready, w->t, e);
    w->lane[e->thread].waited = since && !e->aux ? e->ns - since + 1 : 0;
}

/* False: out of memory. */
static bool step(struct writing *w, const struct trace_step *e)
{
    struct lane *l = &w->lane[e->thread];
    if (!l->met) {
        trace_begin(&l->st, w->t, e);
        l->met = true;
        l->since = w->t->thread[e->thread].first_ns;
        l->what = what_of(l);
    }
    struct trace_state before = l->st;
    trace_advance(&l->st, e);
    if (e->kind == TRACE_STATE && before.state != l->st.state) end_core(w, e->thread, &before, e->ns, l->st.state);
    const char *now = l->st.state == USF_TASK_GONE ? NULL : what_of(l);
    if (now != l->what) {
        end_lane(w, e->thread, e->ns);
        l->since = e->ns;
        l->what = now;
    }
    if (e->kind == TRACE_WOKE || e->kind == TRACE_BORN) arrow(w, e);
    if (e->kind == TRACE_WORK || e->kind == TRACE_WORKED) work(w, e);
    if (e->kind == TRACE_TAKEN) take(w, e);
    return e->kind != TRACE_READY || trace_ready_put(&w->ready, w->t, e);
}

int trace_perfetto(const struct trace *t, FILE *f)
{
    struct writing w = {.t = t, .lane = calloc(t->nr_threads ? t->nr_threads : 1, sizeof *w.lane)};
    if (!w.lane) return -1;
    chrome_begin(&w.c, f);
    names(&w);
    bool ok = true;
    for (size_t i = 0; ok && i < t->nr_steps; i++) ok = step(&w, &t->step[i]);
    for (uint32_t i = 0; i < t->nr_threads; i++) {
        if (!w.lane[i].met) continue;
        end_lane(&w, i, t->end_ns);
        end_core(&w, i, &w.lane[i].st, t->end_ns, w.lane[i].st.state);
        for (; w.lane[i].depth; w.lane[i].depth--) chrome_end_slice(&w.c, pid_of(&w, i), work_lane(&w, i), at(&w, t->end_ns));
    }
    chrome_end(&w.c);
    free(w.lane);
    trace_ready_free(&w.ready);
    return !ok || ferror(f) ? -1 : 0;
}
