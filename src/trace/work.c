/* src/trace/work.c - tasks of runtimes above, by the label of their kind.  SPDX-License-Identifier: Apache-2.0 */
#include "trace/file.h"
#include <stdlib.h>
#include <string.h>

#define DEPTH 16u               /* tasks that a thread executes one within the other; deeper ones are not counted */

struct open { uint64_t since; uint32_t kind; };
struct thread { uint32_t depth; uint64_t waited; struct open open[DEPTH]; };    /* waited: what its next task has; ns + 1, or 0 */

/* ---- ready tasks --------------------------------------------------------------------------------- */

/* Its place, or the free one (task 0) where it would be. */
static struct trace_ready_task *find_ready(struct trace_ready_task *at, size_t room, uint32_t program, uint64_t task)
{
    size_t i = (size_t)(((task ^ (uint64_t)program << 48) * 0x9e3779b97f4a7c15ull) >> 24) & (room - 1);
    while (at[i].task && (at[i].task != task || at[i].program != program)) i = (i + 1) & (room - 1);
    return &at[i];
}

static bool grow_ready(struct trace_ready *r)
{
    size_t room = r->room ? 2 * r->room : 1024;
    struct trace_ready_task *at = calloc(room, sizeof *at);
    if (!at) return false;
    for (size_t i = 0; i < r->room; i++)
        if (r->at[i].task) *find_ready(at, room, r->at[i].program, r->at[i].task) = r->at[i];
    free(r->at);
    r->at = at;
    r->room = room;
    return true;
}

bool trace_ready_put(struct trace_ready *r, const struct trace *t, const struct trace_step *e)
{
    uint32_t program = t->thread[e->thread].program;
    if (!e->a) return true;
    if (2 * r->nr >= r->room && !grow_ready(r)) return false;
    struct trace_ready_task *x = find_ready(r->at, r->room, program, e->a);
    if (!x->task) r->nr++;
    if (!x->since) *x = (struct trace_ready_task){e->a, e->ns, program, e->thread};     /* else it has been put into another queue */
    return true;
}

uint64_t trace_ready_take(struct trace_ready *r, const struct trace *t, const struct trace_step *e, uint32_t *by)
{
    if (!r->room || !e->a) return 0;
    struct trace_ready_task *x = find_ready(r->at, r->room, t->thread[e->thread].program, e->a);
    uint64_t since = x->since;
    if (by) *by = x->by;
    if (x->task) x->since = 0;
    return since;
}

/* ---- by label ------------------------------------------------------------------------------------ */

static uint32_t find_kind(struct trace_work *w, uint32_t program, const char *label)
{
    for (uint32_t i = w->nr; i-- > 0;)
        if (w->kind[i].program == program && !strcmp(w->kind[i].label, label)) return i;
    struct trace_work_kind *more = realloc(w->kind, (w->nr + 1u) * sizeof *more);
    if (!more) return USF_NONE;
    w->kind = more;
    more[w->nr] = (struct trace_work_kind){.program = program};
    memcpy(more[w->nr].label, label, sizeof more[w->nr].label);
    return w->nr++;
}

static void wait(struct trace_work_kind *k, struct thread *t)
{
    if (!t->waited) return;
    uint64_t ns = t->waited - 1;
    t->waited = 0;
    k->waits++;
    k->waited_ns += ns;
    if (ns > k->longest_wait_ns) k->longest_wait_ns = ns;
}

/* The task that the thread executes; null: none that is known. */
static struct trace_work_kind *current(struct trace_work *w, const struct thread *t)
{ return t->depth && t->depth <= DEPTH ? &w->kind[t->open[t->depth - 1].kind] : NULL; }

static void take(struct trace_work *w, struct thread *t, const struct trace_step *e, uint64_t since)
{
    struct trace_work_kind *k = e->aux ? current(w, t) : NULL;
    t->waited = since ? e->ns - since + 1 : 0;
    if (k) wait(k, t);
    else if (e->aux) t->waited = 0;     /* an attached thread's task */
}

static bool begin(struct trace_work *w, struct thread *t, uint32_t program, const struct trace_step *e)
{
    char label[17];
    uint32_t depth = t->depth++;
    trace_label(e, label);
    uint32_t kind = find_kind(w, program, label);
    if (kind == USF_NONE) return false;
    w->kind[kind].executions++;
    wait(&w->kind[kind], t);
    if (depth < DEPTH) t->open[depth] = (struct open){e->ns, kind};
    return true;
}

static void end(struct trace_work *w, struct thread *t, uint64_t ns)
{
    if (!t->depth || --t->depth >= DEPTH) return;       /* one that had begun before the recording */
    struct trace_work_kind *k = &w->kind[t->open[t->depth].kind];
    uint64_t took = ns - t->open[t->depth].since;
    k->ns += took;
    if (took > k->longest_ns) k->longest_ns = took;
}

static int by_time(const void *a, const void *b)
{
    const struct trace_work_kind *x = a, *y = b;
    return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : strcmp(x->label, y->label);
}

bool trace_work_of(const struct trace *t, struct trace_work *w)
{
    struct thread *threads = calloc(t->nr_threads + 1u, sizeof *threads);
    bool ok = threads;
    struct trace_ready ready = {0};
    *w = (struct trace_work){0};
    for (size_t i = 0; ok && i < t->nr_steps; i++) {
        const struct trace_step *e = &t->step[i];
        if (e->kind == TRACE_WORK) ok = begin(w, &threads[e->thread], t->thread[e->thread].program, e);
        if (e->kind == TRACE_WORKED) end(w, &threads[e->thread], e->ns);
        if (e->kind == TRACE_READY) ok = trace_ready_put(&ready, t, e);
        if (e->kind == TRACE_TAKEN) take(w, &threads[e->thread], e, trace_ready_take(&ready, t, e, NULL));
        struct trace_work_kind *k = e->kind == TRACE_PAUSED ? current(w, &threads[e->thread]) : NULL;
        if (k) k->pauses++;
    }
    for (uint32_t i = 0; ok && i < t->nr_threads; i++)
        while (threads[i].depth) end(w, &threads[i], t->end_ns);
    free(threads);
    free(ready.at);
    if (ok && w->nr) qsort(w->kind, w->nr, sizeof *w->kind, by_time);
    if (!ok) {
        free(w->kind);
        w->kind = NULL;
    }
    return ok;
}
