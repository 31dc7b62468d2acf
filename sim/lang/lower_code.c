/* sim/lang/lower_code.c - statements become operations.  SPDX-License-Identifier: Apache-2.0 */
#include "sim/lang/lower_in.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t waits[WAIT_NR] = {SIM_WAIT_BLOCK, SIM_WAIT_YIELD, SIM_WAIT_SPIN, SIM_WAIT_SPIN_BLOCK, SIM_WAIT_YIELD_BLOCK};

/* ---- what statements depend on ------------------------------------------------------------------- */
struct deps { uint32_t reads, sets; unsigned flags; };

static void depends(const struct lang_stmt *s, struct deps *d);

static unsigned flags_of(struct lang_thread *t)
{
    struct deps d = {0};
    if (!t->has_flags) depends(t->body, &d), t->flags = d.flags, t->has_flags = true;
    return t->flags;
}

static void depends_one(const struct lang_stmt *s, struct deps *d)
{
    bool timed = s->kind == ST_COMPUTE || s->kind == ST_CRITICAL || s->kind == ST_IO || s->kind == ST_SLEEP;
    if (timed && lower_is_drawable(s->e)) {
        for (unsigned i = 0; i < s->e->nr; i++) d->flags |= lower_depends(s->e->arg[i], &d->reads);
    } else {
        d->flags |= lower_depends(s->e, &d->reads);
    }
    d->flags |= lower_depends(s->e2, &d->reads) | lower_depends(s->e3, &d->reads) | lower_depends(s->use.index, &d->reads);
    for (const struct lang_dep *x = s->deps; x; x = x->next)
        for (unsigned i = 0; i < x->nr; i++) d->flags |= lower_depends(x->index[i], &d->reads);
    struct deps in = {0};
    depends(s->body, &in);
    depends(s->other, &in);
    if (s->kind == ST_FOR) {        /* its variable is its own: who is outside does not see that it changes */
        in.reads &= ~(1u << s->slot);
        in.sets &= ~(1u << s->slot);
    }
    if (s->kind == ST_SET) d->sets |= 1u << s->slot;
    if (s->kind == ST_SPAWN || s->kind == ST_SUBMIT) in.flags |= flags_of(s->thread) & DEP_DRAWN;
    d->reads |= in.reads;
    d->sets |= in.sets;
    d->flags |= in.flags;
}

static void depends(const struct lang_stmt *s, struct deps *d)
{
    for (; s; s = s->next) depends_one(s, d);
}

/* ---- operations ---------------------------------------------------------------------------------- */
static struct sim_op *emit(struct lower *l, enum sim_op_kind kind, struct lang_pos pos)
{
    struct ops *o = l->into;
    if (++l->ops > LOWER_OPS_MAX)
        lower_fail(l, pos, "the workload comes to more than %u operations: loops whose rounds differ are written out (make them shorter, or alike)", LOWER_OPS_MAX);
    o->op = lower_grow(l, o->op, &o->cap, o->nr + 1, sizeof *o->op);
    struct sim_op *op = &o->op[o->nr++];
    *op = (struct sim_op){.kind = (uint8_t)kind, .count = 1};
    return op;
}

void lower_begin(struct lower *l)
{
    if (l->depth == sizeof l->stack / sizeof *l->stack) lower_fail(l, l->lp->pos, "threads that spawn threads that spawn ..., too deep");
    l->into = &l->stack[l->depth++];
    *l->into = (struct ops){0};
}

uint32_t lower_end(struct lower *l)
{
    struct ops *o = l->into;
    struct sim_program *p = l->prog;
    emit(l, SIM_OP_END, l->lp->pos);
    p->code = lower_grow(l, p->code, &l->codes_cap, p->nr_codes + 1, sizeof *p->code);
    p->code[p->nr_codes] = (struct sim_code){.op = o->op, .nr = o->nr};
    *o = (struct ops){0};
    l->depth--;
    l->into = l->depth ? &l->stack[l->depth - 1] : NULL;
    return p->nr_codes++;
}

static void time_of(struct lower *l, const struct lang_expr *e, struct sim_op *op)
{
    if (!lower_is_drawable(e)) {
        op->ns = lower_time(l, e, "the time");
        return;
    }
    uint64_t a = lower_time(l, e->arg[0], "the time"), b = e->slot == FN_EXP ? a : lower_time(l, e->arg[1], "the time");
    if (b < a) lower_fail(l, e->pos, "uniform's first argument is more than the second");
    op->ns = a + (b - a) / 2;
    if (e->slot == FN_EXP) op->spread = SIM_EXPONENTIAL;
    else if (b) op->spread = (uint16_t)llround(1000.0 * (double)(b - a) / ((double)a + (double)b));
}

struct sim_op lower_compute(struct lower *l, const struct lang_stmt *s)
{
    struct sim_op op = {.kind = SIM_OP_COMPUTE, .count = 1};
    time_of(l, s->e, &op);
    if (s->divided) op.flags |= SIM_OP_DIVIDED;
    if (!s->e2) return op;
    double mbps = lower_value(l, s->e2) * 1000, part = s->e3 ? lower_value(l, s->e3) : 1;    /* bytes per ns; MB are 10^6 */
    if (mbps < 0 || mbps > 1e9) lower_fail(l, s->e2->pos, "a bandwidth of %g MB/s", mbps);
    if (part < 0 || part > 1) lower_fail(l, s->e3->pos, "memory's part is to be 0 to 1, and is %g", part);
    op.mbps = (uint32_t)llround(mbps);
    op.memory = (uint16_t)llround(part * 1000);
    return op;
}

/* Index of an object among those of its kind in the program. */
static uint32_t object_of(struct lower *l, const struct lang_use *u)
{
    uint32_t i = u->object->index, base = u->global ? l->global[i] : l->base[i], length = u->global ? l->global_length[i] : l->length[i];
    if (!u->index) return base;
    return base + (uint32_t)lower_count(l, u->index, "the index", 0, length - 1);
}

static void messages(struct lower *l, const struct lang_stmt *s, enum sim_op_kind kind)
{
    uint32_t object = object_of(l, &s->use);
    uint64_t n = s->e ? lower_count(l, s->e, "how many", 0, 1000000000) : 1;
    if (!n) return;
    struct sim_op *op = emit(l, kind, s->pos);
    op->object = object;
    op->count = (uint32_t)n;
    op->wait = waits[s->use.object->wait];
}

static void on_object(struct lower *l, const struct lang_stmt *s, enum sim_op_kind kind)
{
    uint32_t object = s->use.object ? object_of(l, &s->use) : l->prog->nr_barriers - 1;     /* the last one is the team's */
    struct sim_op *op = emit(l, kind, s->pos);
    op->object = object;
    op->wait = waits[s->use.object ? s->use.object->wait : s->wait];
}

static void step(struct lower *l, struct lang_pos pos)
{
    if (++l->steps > LOWER_STEPS_MAX) lower_fail(l, pos, "this does not come to an end within %u steps", LOWER_STEPS_MAX);
}

/* `n` rounds: as a loop of the engine if they are alike. */
static void rounds(struct lower *l, const struct lang_stmt *s, uint64_t n)
{
    struct deps d = {0};
    depends(s->body, &d);
    bool alike = !(d.flags & DEP_DRAWN) && !(d.reads & d.sets);
    if (s->kind == ST_FOR) alike &= !(d.reads >> s->slot & 1);
    if (alike && l->graph) alike = false;       /* a graph's tasks are made one by one */
    if (!alike || n <= 1) {
        for (uint64_t i = 0; i < n; i++) {
            step(l, s->pos);
            if (s->kind == ST_FOR && i) l->locals[s->slot] += 1;
            lower_statements(l, s->body);
        }
        return;
    }
    for (uint64_t outer = n; outer;) {          /* more rounds than a counter has: several loops */
        uint64_t part = outer > UINT32_MAX ? UINT32_MAX : outer;
        emit(l, SIM_OP_LOOP, s->pos)->count = (uint32_t)part;
        lower_statements(l, s->body);
        emit(l, SIM_OP_NEXT, s->pos);
        outer -= part;
    }
    if (s->kind == ST_FOR) l->locals[s->slot] += (double)n - 1;
}

static void st_for(struct lower *l, const struct lang_stmt *s)
{
    double from = lower_value(l, s->e), to = lower_value(l, s->e2);
    if (from != floor(from) || fabs(from) > 1e15 || fabs(to) > 1e15) lower_fail(l, s->e->pos, "for counts whole numbers up to 1e15");
    l->locals[s->slot] = from;
    if (to >= from) rounds(l, s, (uint64_t)(floor(to) - from) + 1);
}

static void parallel(struct lower *l, const struct lang_stmt *s)
{
    uint64_t width = s->e ? lower_count(l, s->e, "the number of threads", 1, 1000000) : 0;
    uint32_t code;
    if (s->kind == ST_TASKGRAPH) {
        uint32_t graph = lower_graph(l, s);
        lower_begin(l);
        struct sim_op *op = emit(l, SIM_OP_GRAPH, s->pos);
        op->object = graph;
        op->wait = waits[s->wait];
        code = lower_end(l);
    } else {
        lower_begin(l);
        l->teams++;
        lower_statements(l, s->body);
        l->teams--;
        code = lower_end(l);
    }
    struct sim_op *op = emit(l, SIM_OP_PARALLEL, s->pos);
    op->object = code;
    op->count = (uint32_t)width;
    op->wait = waits[s->wait];
}

/* ---- threads ------------------------------------------------------------------------------------- */
static uint32_t thread_code(struct lower *l, struct lang_thread *t, uint64_t index, uint64_t nr)
{
    unsigned flags = flags_of(t);
    if (!flags && l->code_of[t->index] != SIM_NO_CODE) return l->code_of[t->index];
    double locals[LANG_LOCALS_MAX], thread = l->thread, threads = l->threads;
    memcpy(locals, l->locals, sizeof locals);
    memset(l->locals, 0, sizeof l->locals);
    l->thread = (double)index;
    l->threads = (double)nr;
    lower_begin(l);
    lower_statements(l, t->body);
    if (t->spawns) emit(l, SIM_OP_JOIN, t->pos);
    uint32_t code = lower_end(l);
    memcpy(l->locals, locals, sizeof locals);
    l->thread = thread;
    l->threads = threads;
    if (!flags) l->code_of[t->index] = code;
    return code;
}

/* `nr` threads from the `first` on; those that follow each other with the same code in one
 * operation. */
static void spawn(struct lower *l, struct lang_thread *t, uint64_t first, uint64_t nr, struct lang_pos pos)
{
    uint32_t last = SIM_NO_CODE;
    uint32_t at = 0;
    for (uint64_t i = first; i < nr; i++) {
        step(l, pos);
        uint32_t code = thread_code(l, t, i, nr);
        if (code == last) {
            l->into->op[at].count++;
            continue;
        }
        struct sim_op *op = emit(l, SIM_OP_SPAWN, pos);
        op->object = last = code;
        at = l->into->nr - 1;
    }
}

static void submit(struct lower *l, const struct lang_stmt *s)
{
    uint64_t nr = s->e ? lower_count(l, s->e, "how many", 0, 1000000000) : 1;
    uint32_t code = nr ? thread_code(l, s->thread, 0, 1) : 0;
    if (!nr) return;
    struct sim_op *op = emit(l, SIM_OP_SUBMIT, s->pos);
    op->object = code;
    op->count = (uint32_t)nr;
}

void lower_threads(struct lower *l)
{
    const struct lang_thread *first = NULL;
    uint64_t all = 0;
    for (struct lang_thread *t = l->lp->threads; t; t = t->next) {
        if (t->is_task) continue;
        uint64_t n = t->count ? lower_count(l, t->count, "the number of threads", 0, 1000000) : 1;
        if (n && !first) first = t;
        all += n;
    }
    if (!first) lower_fail(l, l->lp->pos, "no thread of '%s' is there at its start: all have a count of 0", l->lp->name);
    /* A task comes after those that it submits: however long such a row is, each finds the next one
     * done. */
    for (struct lang_thread *t = l->lp->threads; t; t = t->next)
        if (t->is_task) thread_code(l, t, 0, 1);
    lower_begin(l);
    /* The first one is the program's main thread, unless it joins: it is to wait for its own
     * threads then, not for its brothers. */
    bool apart = all > 1 && first->joins;
    for (struct lang_thread *t = l->lp->threads; t; t = t->next) {
        if (t->is_task) continue;
        uint64_t n = t->count ? lower_count(l, t->count, "the number of threads", 0, 1000000) : 1;
        spawn(l, t, t == first && !apart, n, t->pos);
    }
    if (!apart) {
        uint64_t n = first->count ? lower_count(l, first->count, "the number of threads", 0, 1000000) : 1;
        l->thread = 0;
        l->threads = (double)n;
        memset(l->locals, 0, sizeof l->locals);
        lower_statements(l, first->body);
    }
    /* When its main thread ends, a program does: that waits for the others. */
    if (all > 1 || first->spawns) emit(l, SIM_OP_JOIN, first->pos);
    l->prog->main = lower_end(l);
}

/* ---- statements ---------------------------------------------------------------------------------- */
static void one(struct lower *l, const struct lang_stmt *s)
{
    struct sim_op *op;
    switch ((enum lang_stmt_kind)s->kind) {
    case ST_CRITICAL:
        on_object(l, s, SIM_OP_LOCK);
        op = emit(l, SIM_OP_COMPUTE, s->pos);
        *op = lower_compute(l, s);
        on_object(l, s, SIM_OP_UNLOCK);
        break;
    case ST_COMPUTE:
        op = emit(l, SIM_OP_COMPUTE, s->pos);
        *op = lower_compute(l, s);
        break;
    case ST_IO: case ST_SLEEP:
        op = emit(l, SIM_OP_SLEEP, s->pos);
        if (s->kind == ST_SLEEP) op->flags |= SIM_OP_CERTAIN;
        time_of(l, s->e, op);
        break;
    case ST_YIELD: emit(l, SIM_OP_YIELD, s->pos); break;
    case ST_LOCK: on_object(l, s, SIM_OP_LOCK); break;
    case ST_UNLOCK: on_object(l, s, SIM_OP_UNLOCK); break;
    case ST_BARRIER: on_object(l, s, SIM_OP_BARRIER); break;
    case ST_WAIT: case ST_RECV: messages(l, s, SIM_OP_RECV); break;
    case ST_POST: case ST_SEND: messages(l, s, SIM_OP_SEND); break;
    case ST_REPEAT: rounds(l, s, lower_count(l, s->e, "how often", 0, 1000000000000000)); break;
    case ST_FOR: st_for(l, s); break;
    case ST_WHILE:
        while (lower_value(l, s->e)) {
            step(l, s->pos);
            lower_statements(l, s->body);
        }
        break;
    case ST_IF: lower_statements(l, lower_value(l, s->e) ? s->body : s->other); break;
    case ST_SET: l->locals[s->slot] = lower_value(l, s->e); break;
    case ST_PARALLEL: case ST_TASKGRAPH: parallel(l, s); break;
    case ST_TASK: lower_task(l, s); break;
    case ST_SPAWN: spawn(l, s->thread, 0, s->e ? lower_count(l, s->e, "how many", 0, 1000000) : 1, s->pos); break;
    case ST_SUBMIT: submit(l, s); break;
    case ST_PAUSE: messages(l, s, SIM_OP_PAUSE); break;
    case ST_JOIN: emit(l, SIM_OP_JOIN, s->pos); break;
    case ST_REQUEST: emit(l, SIM_OP_BEGIN, s->pos); break;
    case ST_ANSWER: emit(l, SIM_OP_DONE, s->pos); break;
    case ST_PROGRESS: emit(l, SIM_OP_PROGRESS, s->pos); break;
    case ST_NR: break;
    }
}

void lower_statements(struct lower *l, const struct lang_stmt *s)
{
    for (; s; s = s->next) {
        step(l, s->pos);
        one(l, s);
    }
}
