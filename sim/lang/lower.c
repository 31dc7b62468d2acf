/* sim/lang/lower.c - a workload becomes programs that arrive. 
 * SPDX-License-Identifier: Apache-2.0 */
#include "sim/lang/lower_in.h"
#include "base/base.h"
#include "sim/kernel.h"
#include "usf/policy.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_SPIN_NS 1000000u

void lower_fail(struct lower *l, struct lang_pos pos, const char *fmt, ...)
{
    const char *file = l->w->files[pos.file];
    va_list ap;
    va_start(ap, fmt);
    snprintf(l->err->file, sizeof l->err->file, "%s", file ? file : "?");
    l->err->line = pos.line;
    l->err->col = pos.col;
    vsnprintf(l->err->text, sizeof l->err->text, fmt, ap);
    va_end(ap);
    longjmp(l->fail, 1);
}

void *lower_alloc(struct lower *l, size_t nr, size_t size)
{
    void *p = calloc(nr ? nr : 1, size);
    if (!p) lower_fail(l, (struct lang_pos){0}, "out of memory");
    return p;
}

void *lower_grow(struct lower *l, void *p, uint32_t *cap, uint32_t need, size_t size)
{
    if (need <= *cap) return p;
    uint32_t n = *cap ? *cap * 2 : 8;
    if (n < need) n = need;
    void *q = realloc(p, (size_t)n * size);
    if (!q) lower_fail(l, (struct lang_pos){0}, "out of memory");
    memset((char *)q + (size_t)*cap * size, 0, (size_t)(n - *cap) * size);
    *cap = n;
    return q;
}

double lower_random(struct lower *l)
{
    uint64_t z = l->random += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}

/* A stream of its own for each purpose, so that one more draw in one place changes nothing
 * elsewhere. */
static void reseed(struct lower *l, uint64_t seed, uint64_t stream)
{
    l->random = seed * 0xd1342543de82ef95 + stream * 0xaf251af3b0f025b5 + 1;
    lower_random(l);
}

/* ---- arrivals ------------------------------------------------------------------------------------ */
struct arrival { uint64_t ns; const struct lang_choice *choice; uint32_t order; };
struct arrivals { struct arrival *a; uint32_t nr, cap; };

static int earlier(const void *x, const void *y)
{
    const struct arrival *a = x, *b = y;
    return a->ns != b->ns ? (a->ns < b->ns ? -1 : 1) : a->order < b->order ? -1 : a->order > b->order;
}

static const struct lang_choice *choose(struct lower *l, const struct lang_start *s)
{
    unsigned n = 0;
    for (const struct lang_choice *c = s->choices; c; c = c->next) n++;
    unsigned i = n > 1 ? (unsigned)(lower_random(l) * n) : 0;
    const struct lang_choice *c = s->choices;
    while (i--) c = c->next;
    return c;
}

static void arrive(struct lower *l, const struct lang_start *s, struct arrivals *all)
{
    uint64_t n = s->count ? lower_count(l, s->count, "how many", 0, LOWER_PROGRAMS_MAX) : 1;
    double at = s->at ? (double)lower_time(l, s->at, "the time of arrival") : 0, period = s->period ? lower_value(l, s->period) : 0;
    if (s->kind == ARRIVE_POISSON && period <= 0) lower_fail(l, s->period->pos, "the rate must be more than 0");
    if (s->kind == ARRIVE_EVERY && period < 0) lower_fail(l, s->period->pos, "the time between two must not be less than 0");
    for (uint64_t i = 0; i < n; i++) {
        if (all->nr == LOWER_PROGRAMS_MAX) lower_fail(l, s->pos, "more than %u programs are started", LOWER_PROGRAMS_MAX);
        all->a = lower_grow(l, all->a, &all->cap, all->nr + 1, sizeof *all->a);
        const struct lang_choice *c = choose(l, s);
        if (s->kind == ARRIVE_POISSON) at += -log(1 - lower_random(l)) / period;    /* the first one comes after a while, too */
        if (at > 1e18) lower_fail(l, s->pos, "an arrival after more than 31 years");
        all->a[all->nr] = (struct arrival){(uint64_t)llround(at), c, all->nr};
        all->nr++;
        if (s->kind == ARRIVE_EVERY) at += period;
    }
}

/* ---- one program --------------------------------------------------------------------------------- */
static void add_channels(struct lower *l, const struct lang_object *o, uint32_t length)
{
    struct sim_program *p = l->prog;
    uint32_t value = o->value ? (uint32_t)lower_count(l, o->value, o->kind == OBJ_CHANNEL ? "the capacity" : "the first count", 0, 1000000000) : 0;
    p->channel = realloc(p->channel, ((size_t)p->nr_channels + length) * sizeof *p->channel);
    if (!p->channel) lower_fail(l, o->pos, "out of memory");
    for (uint32_t i = 0; i < length; i++)
        p->channel[p->nr_channels++] = (struct sim_channel_def){.capacity = o->kind == OBJ_CHANNEL ? value : 0, .initial = o->kind == OBJ_CHANNEL ? 0 : value};
}

static uint32_t length_of(struct lower *l, const struct lang_object *o, uint64_t have)
{
    uint64_t n = o->length ? lower_count(l, o->length, "the length", 1, LOWER_OBJECTS_MAX) : 1;
    if (have + n > LOWER_OBJECTS_MAX) lower_fail(l, o->pos, "more than %u objects of a program", LOWER_OBJECTS_MAX);
    return (uint32_t)n;
}

static void objects(struct lower *l)
{
    struct sim_program *p = l->prog;
    for (const struct lang_object *o = l->lp->objects; o; o = o->next) {
        uint32_t n = l->length[o->index] = length_of(l, o, (uint64_t)p->nr_locks + p->nr_barriers + p->nr_channels);
        if (o->kind == OBJ_LOCK) {
            l->base[o->index] = p->nr_locks;
            p->nr_locks += n;
        } else if (o->kind == OBJ_BARRIER) {
            uint32_t parties = (uint32_t)lower_count(l, o->value, "the number of parties", 1, 1000000);
            l->base[o->index] = p->nr_barriers;
            p->barrier = realloc(p->barrier, ((size_t)p->nr_barriers + n) * sizeof *p->barrier);
            if (!p->barrier) lower_fail(l, o->pos, "out of memory");
            for (uint32_t i = 0; i < n; i++) p->barrier[p->nr_barriers++] = (struct sim_barrier_def){parties};
        } else {
            l->base[o->index] = p->nr_channels;
            add_channels(l, o, n);
        }
    }
    /* the barrier of whatever team meets it */
    p->barrier = realloc(p->barrier, ((size_t)p->nr_barriers + 1) * sizeof *p->barrier);
    if (!p->barrier) lower_fail(l, l->lp->pos, "out of memory");
    p->barrier[p->nr_barriers++] = (struct sim_barrier_def){0};
}

/* What all programs share belongs to the first one, and to the others by a link. */
static void shared_objects(struct lower *l, bool first)
{
    struct sim_program *p = l->prog;
    uint32_t own = p->nr_channels;
    if (!l->w->nr_objects) return;
    for (const struct lang_object *o = l->w->objects; o; o = o->next) {
        l->global[o->index] = p->nr_channels;
        l->global_length[o->index] = length_of(l, o, p->nr_channels);
        add_channels(l, o, l->global_length[o->index]);
    }
    if (first) return;
    const struct sim_program *owner = &l->out->w.program[0];
    uint32_t shared = p->nr_channels - own;
    p->link = lower_alloc(l, p->nr_channels, sizeof *p->link);
    for (uint32_t i = 0; i < p->nr_channels; i++)
        p->link[i] = i < own ? (struct sim_link){SIM_NO_CODE, i} : (struct sim_link){0, owner->nr_channels - shared + (i - own)};
}

static int64_t whole(struct lower *l, const struct lang_expr *e, const char *what, int64_t min, int64_t max, int64_t otherwise)
{
    if (!e) return otherwise;
    double v = lower_value(l, e);
    if (v != floor(v) || v < (double)min || v > (double)max)
        lower_fail(l, e->pos, "%s is to be a whole number, %lld to %lld, and is %g", what, (long long)min, (long long)max, v);
    return (int64_t)v;
}

/* "0-3,8": the bits of those that the machine has; null, or where it is wrong. */
static const char *cpu_list(const char *s, uint64_t *mask, uint32_t nr_cpus, uint32_t *set)
{
    for (;;) {
        char *rest;
        if (*s < '0' || *s > '9') return s;
        unsigned long first = strtoul(s, &rest, 10), last = first;
        if (*rest == '-') {
            s = rest + 1;
            if (*s < '0' || *s > '9') return s;
            last = strtoul(s, &rest, 10);
        }
        if (last < first || last > 1u << 24) return s;
        for (unsigned long c = first; c <= last && c < nr_cpus; c++) mask[c / 64] |= 1ull << (c % 64), ++*set;
        if (!*rest) return NULL;
        if (*rest != ',') return rest;
        s = rest + 1;
    }
}

static void allowed_cpus(struct lower *l, uint32_t index)
{
    if (!l->lp->cpus) return;
    uint32_t n = 0;
    uint64_t *mask = l->out->cpus[index] = lower_alloc(l, (l->m->nr_cpus + 63) / 64, sizeof *mask);
    const char *bad = cpu_list(l->lp->cpus, mask, l->m->nr_cpus, &n);
    if (bad) lower_fail(l, l->lp->pos, "the CPUs \"%s\" are wrong from '%s' on; lists look like 0-3,8", l->lp->cpus, bad);
    if (!n) lower_fail(l, l->lp->pos, "none of the CPUs \"%s\" is one of the machine's %u", l->lp->cpus, l->m->nr_cpus);
    l->prog->cpus = mask;
}

static void options(struct lower *l, uint32_t index)
{
    const struct lang_program *g = l->lp;
    struct sim_program *p = l->prog;
    p->weight = (uint32_t)whole(l, g->option[PROG_WEIGHT], "the weight", 1, 10000, 100);
    p->priority = (int32_t)whole(l, g->option[PROG_PRIORITY], "the priority", -1000, 1000, 0);
    p->nice = (int32_t)whole(l, g->option[PROG_NICE], "the nice value", -20, 19, 0);
    if (g->option[PROG_FIFO] && g->option[PROG_RR]) lower_fail(l, g->pos, "'%s' cannot be both fifo and rr", g->name);
    p->kclass = g->option[PROG_FIFO] ? SIM_FIFO : g->option[PROG_RR] ? SIM_RR : SIM_NORMAL;
    p->rt_priority = (uint32_t)(whole(l, g->option[PROG_FIFO], "the priority", 1, 99, 0) + whole(l, g->option[PROG_RR], "the priority", 1, 99, 0));
    p->slots = (uint32_t)whole(l, g->option[PROG_SLOTS], "the number of slots", 1, SIM_SLOTS_MAX, l->m->nr_cpus < SIM_SLOTS_MAX ? l->m->nr_cpus : SIM_SLOTS_MAX);
    p->width = (uint32_t)whole(l, g->option[PROG_WIDTH], "the width", 0, 1000000, 0);
    p->working_set = (uint32_t)whole(l, g->option[PROG_WORKING_SET], "the working set", 0, 10000, 100);
    p->spin_ns = g->option[PROG_SPIN] ? lower_time(l, g->option[PROG_SPIN], "how long it spins") : DEFAULT_SPIN_NS;
    p->flags = (g->malleable ? USF_GROUP_MALLEABLE : 0) | (g->nogang ? USF_GROUP_NO_GANG : 0);
    p->no_float = g->nofloat;
    allowed_cpus(l, index);
    if (!g->speedup) return;
    uint32_t n = (uint32_t)fmax(1, fmin(ceil(g->speedup->x[g->speedup->nr - 1]), 65536));
    p->speedup = lower_alloc(l, n, sizeof *p->speedup);
    for (uint32_t w = 1; w <= n; w++) {
        double v = lang_curve_at(g->speedup, w) * 1000;
        if (!(v >= 1 && v <= 4e9)) lower_fail(l, g->speedup->pos, "a speed-up of %g on %u threads", v / 1000, w);
        p->speedup[w - 1] = (uint32_t)llround(v);
    }
    p->nr_speedup = n;
}

static void program(struct lower *l, uint64_t seed, uint32_t index, const struct arrival *a, uint32_t *instances)
{
    l->lp = a->choice->program;
    l->prog = &l->out->w.program[index];
    l->out->of[index] = l->lp->index;
    l->out->w.nr_programs = index + 1;
    l->instance = instances[l->lp->index]++;
    l->codes_cap = l->graphs_cap = 0;
    reseed(l, seed, 1000 + index);
    l->prog->start_ns = a->ns;
    snprintf(l->prog->name, sizeof l->prog->name, "%s", l->lp->name);
    for (const struct lang_param *q = l->lp->args; q; q = q->next)
        l->args[q->index] = lower_value(l, a->choice->arg[q->index] ? a->choice->arg[q->index] : q->value);
    free(l->base);
    free(l->length);
    free(l->code_of);
    l->base = l->length = l->code_of = NULL;
    l->base = lower_alloc(l, l->lp->nr_objects, sizeof *l->base);
    l->length = lower_alloc(l, l->lp->nr_objects, sizeof *l->length);
    l->code_of = lower_alloc(l, l->lp->nr_threads, sizeof *l->code_of);
    for (uint32_t i = 0; i < l->lp->nr_threads; i++) l->code_of[i] = SIM_NO_CODE;
    options(l, index);
    objects(l);
    shared_objects(l, index == 0);
    lower_threads(l);
}

/* ---- all ----------------------------------------------------------------------------------------- */
static void lower_all(struct lower *l, struct arrivals *all, uint32_t *instances, uint64_t seed)
{
    uint64_t stream = 1;
    for (const struct lang_param *q = l->w->params; q; q = q->next) l->params[q->index] = lower_value(l, q->value);
    for (const struct lang_start *s = l->w->starts; s; s = s->next) {
        reseed(l, seed, stream++ << 32);
        arrive(l, s, all);
    }
    if (!all->nr) lower_fail(l, l->w->starts->pos, "nothing is started");
    qsort(all->a, all->nr, sizeof *all->a, earlier);
    l->out->w.program = lower_alloc(l, all->nr, sizeof *l->out->w.program);
    l->out->of = lower_alloc(l, all->nr, sizeof *l->out->of);
    l->out->cpus = lower_alloc(l, all->nr, sizeof *l->out->cpus);
    for (uint32_t i = 0; i < all->nr; i++) program(l, seed, i, &all->a[i], instances);
    snprintf(l->out->w.name, sizeof l->out->w.name, "%s", l->w->title ? l->w->title : l->w->files[0]);
}

/* Errors come back here by longjmp; what is changed lies in *l and *all. */
static bool guarded(struct lower *l, struct arrivals *all, uint32_t *instances, uint64_t seed)
{
    if (setjmp(l->fail)) return false;
    lower_all(l, all, instances, seed);
    return true;
}

void lang_lowered_free(struct lang_lowered *l)
{
    if (!l) return;
    for (uint32_t i = 0; l->cpus && i < l->w.nr_programs; i++) free(l->cpus[i]);
    sim_workload_free(&l->w);
    free(l->cpus);
    free(l->of);
    free(l);
}

struct lang_lowered *lang_lower(const struct lang_workload *w, const struct sim_machine *m, uint64_t seed, struct lang_error *err)
{
    struct arrivals all = {0};
    struct lower *l = calloc(1, sizeof *l);
    struct lang_lowered *out = calloc(1, sizeof *out);
    uint32_t *instances = calloc(w->nr_programs + 1, sizeof *instances);
    memset(err, 0, sizeof *err);
    snprintf(err->text, sizeof err->text, "out of memory");
    bool good = l && out && instances;
    if (l) {
        *l = (struct lower){.w = w, .m = m, .err = err, .out = out};
        l->params = calloc(w->nr_params + 1, sizeof *l->params);
        l->global = calloc(w->nr_objects + 1, sizeof *l->global);
        l->global_length = calloc(w->nr_objects + 1, sizeof *l->global_length);
        good = good && l->params && l->global && l->global_length && guarded(l, &all, instances, seed);
        for (unsigned i = 0; i < l->depth; i++) free(l->stack[i].op);
        lower_graph_free(l);
        free(l->params);
        free(l->global);
        free(l->global_length);
        free(l->base);
        free(l->length);
        free(l->code_of);
    }
    free(all.a);
    free(instances);
    free(l);
    if (good) return out;
    lang_lowered_free(out);
    return NULL;
}
