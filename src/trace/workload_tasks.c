/* src/trace/workload_tasks.c - executions of tasks become kinds of tasks.
 * SPDX-License-Identifier: Apache-2.0 */
#include "trace/workload.h"
#include <stdlib.h>
#include <string.h>

/* OP_READY named a record; now it is what came of it. */
static void resolve(struct making *m, struct line *l)
{
    size_t nr = 0;
    for (size_t i = 0; i < l->nr; i++) {
        struct op o = l->op[i];
        if (o.kind == OP_READY) o.kind = m->ready[o.what].becomes, o.what = m->ready[o.what].what;
        if (o.kind == OP_NOTHING) continue;
        if (o.kind == OP_SUBMIT) o.what = m->line[o.what].same;
        if (o.kind == OP_COMPUTE && nr && l->op[nr - 1].kind == OP_COMPUTE) l->op[nr - 1].ns += o.ns;
        else l->op[nr++] = o;
    }
    l->nr = nr;
}

/* What is the same in tasks that are alike: of a post, for whom it is. */
static uint32_t what_of(const struct making *m, const struct op *o) { return o->kind == OP_POST ? m->semaphore[o->what].waiter : o->what; }

static uint64_t shape(const struct making *m, const struct line *l)
{
    uint64_t h = l->program;
    for (const char *c = l->label; *c; c++) h = (h ^ (unsigned char)*c) * 0x100000001b3ull;
    for (size_t i = 0; i < l->nr; i++) {
        h = (h ^ l->op[i].kind ^ (uint64_t)what_of(m, &l->op[i]) << 8) * 0x9e3779b97f4a7c15ull;
        h ^= h >> 29;
    }
    return h;
}

static bool is_alike(const struct making *m, const struct line *a, const struct line *b)
{
    if (a->program != b->program || a->nr != b->nr || strcmp(a->label, b->label)) return false;
    for (size_t i = 0; i < a->nr; i++) {
        const struct op *x = &a->op[i], *y = &b->op[i];
        if (x->kind != y->kind || what_of(m, x) != what_of(m, y) || !op_is_near(x->ns / a->times, y->ns)) return false;
    }
    return true;
}

/* a stands for b as well: the times are sums, until all are in.  Who waits for one of them waits
 * for any of them then, as often. */
static void stand_for(struct making *m, struct line *a, struct line *b)
{
    for (size_t i = 0; i < a->nr; i++) {
        a->op[i].ns += b->op[i].ns;
        if (a->op[i].kind == OP_POST) m->semaphore[b->op[i].what].same = a->op[i].what;
    }
    a->times++;
    free(b->op);
    b->op = NULL;
    b->nr = b->room = 0;
}

static bool join(struct making *m, struct trace_table *by_shape, uint32_t index)
{
    struct line *l = &m->line[index];
    uint32_t *first = trace_table_put(by_shape, shape(m, l), 0);
    if (!first) return false;
    for (uint32_t i = *first; i != USF_NONE; i = m->line[i].next)
        if (is_alike(m, &m->line[i], l)) {
            stand_for(m, &m->line[i], l);
            l->same = i;
            return true;
        }
    l->same = index;
    l->times = 1;
    l->next = *first;
    *first = index;
    return true;
}

void workload_join_tasks(struct making *m)
{
    struct trace_table by_shape = {0};
    /* Backwards: what a task submits became ready after it. */
    for (uint32_t i = m->nr_lines; i-- > first_execution(m->t) && !m->failed;) {
        if (!m->line[i].taken) continue;
        resolve(m, &m->line[i]);
        m->failed = !join(m, &by_shape, i);
    }
    for (uint32_t i = 0; i < first_execution(m->t) && !m->failed; i++) resolve(m, &m->line[i]);
    for (uint32_t i = first_execution(m->t); i < m->nr_lines && !m->failed; i++)
        for (size_t k = 0; k < m->line[i].nr; k++) m->line[i].op[k].ns = (m->line[i].op[k].ns + m->line[i].times / 2) / m->line[i].times;
    for (uint32_t i = 0; i < m->nr_semaphores; i++) {
        struct semaphore *s = &m->semaphore[i];
        if (s->same == i) s->number = m->nr_of_program[m->line[s->waiter].program]++;
    }
    trace_table_free(&by_shape);
}
