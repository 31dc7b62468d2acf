/* src/trace/work.c - tasks of runtimes above, by the label of their kind.  SPDX-License-Identifier: Apache-2.0 */
#include "trace/file.h"
#include <stdlib.h>
#include <string.h>

#define DEPTH 16u               /* tasks that a thread executes one within the other; deeper ones are not counted */

struct open { uint64_t since; uint32_t kind; };
struct thread { uint32_t depth; struct open open[DEPTH]; };

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

static bool begin(struct trace_work *w, struct thread *t, uint32_t program, const struct trace_step *e)
{
    char label[17];
    uint32_t depth = t->depth++;
    trace_label(e, label);
    uint32_t kind = find_kind(w, program, label);
    if (kind == USF_NONE) return false;
    w->kind[kind].executions++;
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
    *w = (struct trace_work){0};
    for (size_t i = 0; ok && i < t->nr_steps; i++) {
        const struct trace_step *e = &t->step[i];
        if (e->kind == TRACE_WORK) ok = begin(w, &threads[e->thread], t->thread[e->thread].program, e);
        if (e->kind == TRACE_WORKED) end(w, &threads[e->thread], e->ns);
    }
    for (uint32_t i = 0; ok && i < t->nr_threads; i++)
        while (threads[i].depth) end(w, &threads[i], t->end_ns);
    free(threads);
    if (ok && w->nr) qsort(w->kind, w->nr, sizeof *w->kind, by_time);
    if (!ok) {
        free(w->kind);
        w->kind = NULL;
    }
    return ok;
}
