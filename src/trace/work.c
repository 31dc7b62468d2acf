/* src/trace/work.c - tasks of runtimes above, by the label of their kind.
 * SPDX-License-Identifier: Apache-2.0 */
#include "trace/file.h"
#include <stdlib.h>
#include <string.h>

#define DEPTH 16u               /* tasks that a thread executes one within the other; deeper ones are not counted */

struct open { uint64_t since; uint32_t kind; };
struct thread { uint32_t depth; uint64_t waited; struct open open[DEPTH]; };    /* waited: what its next task has; ns + 1, or 0 */

/* ---- ready tasks --------------------------------------------------------------------------------- */

static bool more_ready(struct trace_ready *r)
{
    uint32_t room = r->room ? 2 * r->room : 1024;
    uint64_t *since = realloc(r->since, room * sizeof *since);
    if (!since) return false;
    r->since = since;
    r->room = room;
    return true;
}

bool trace_ready_put(struct trace_ready *r, const struct trace *t, const struct trace_step *e)
{
    if (!e->a) return true;
    uint32_t *i = trace_table_put(&r->task, t->thread[e->thread].program, e->a);
    if (!i || (r->nr == r->room && !more_ready(r))) return false;
    if (*i == USF_NONE) r->since[*i = r->nr++] = 0;
    if (!r->since[*i]) r->since[*i] = e->ns;        /* else it has been put into another queue */
    return true;
}

uint64_t trace_ready_take(struct trace_ready *r, const struct trace *t, const struct trace_step *e)
{
    const uint32_t *i = trace_table_get(&r->task, t->thread[e->thread].program, e->a);
    uint64_t since = i ? r->since[*i] : 0;
    if (i) r->since[*i] = 0;
    return since;
}

void trace_ready_free(struct trace_ready *r)
{
    trace_table_free(&r->task);
    free(r->since);
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
        if (e->kind == TRACE_TAKEN) take(w, &threads[e->thread], e, trace_ready_take(&ready, t, e));
        struct trace_work_kind *k = e->kind == TRACE_PAUSED ? current(w, &threads[e->thread]) : NULL;
        if (k) k->pauses++;
    }
    for (uint32_t i = 0; ok && i < t->nr_threads; i++)
        while (threads[i].depth) end(w, &threads[i], t->end_ns);
    free(threads);
    trace_ready_free(&ready);
    if (ok && w->nr) qsort(w->kind, w->nr, sizeof *w->kind, by_time);
    if (!ok) {
        free(w->kind);
        w->kind = NULL;
    }
    return ok;
}
