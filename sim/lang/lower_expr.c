/* sim/lang/lower_expr.c - values of expressions.  SPDX-License-Identifier: Apache-2.0 */
#include "sim/lang/lower_in.h"
#include <math.h>

static double builtin(struct lower *l, const struct lang_expr *e)
{
    switch ((enum lang_builtin)e->slot) {
    case VAR_CORES: return l->m->nr_phys;
    case VAR_CPUS: return l->m->nr_cpus;
    case VAR_NODES: return l->m->nr_nodes;
    case VAR_LLCS: return l->m->nr_llcs;
    case VAR_THREAD: return l->thread;
    case VAR_THREADS: return l->threads;
    case VAR_INSTANCE: return l->instance;
    case VAR_NR: break;
    }
    lower_fail(l, e->pos, "a variable without a value");
}

static double gauss(struct lower *l)
{
    double u = 1 - lower_random(l), v = lower_random(l);
    return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

static double call(struct lower *l, const struct lang_expr *e)
{
    double v[LANG_OPERANDS];
    bool drawn = e->slot <= FN_CHOOSE;
    if (drawn && l->teams)
        lower_fail(l, e->pos, "within parallel only exp(TIME) and uniform(TIME, TIME) can be drawn, by themselves, as the time of compute, io or "
                   "sleep: a team's threads all do the same");
    for (unsigned i = 0; i < e->nr; i++) v[i] = lower_value(l, e->arg[i]);
    double r = v[0];
    switch ((enum lang_fn)e->slot) {
    case FN_EXP: return -v[0] * log(1 - lower_random(l));
    case FN_UNIFORM: return v[0] + (v[1] - v[0]) * lower_random(l);
    case FN_NORMAL: return fmax(0, v[0] + v[1] * gauss(l));
    case FN_LOGNORMAL: return v[0] * exp(v[1] * gauss(l) - v[1] * v[1] / 2);    /* its mean is v[0] */
    case FN_PARETO:
        if (v[1] <= 1) lower_fail(l, e->pos, "pareto's second argument must be more than 1");
        return v[0] * (v[1] - 1) / v[1] / pow(1 - lower_random(l), 1 / v[1]);
    case FN_CHOOSE: return v[(unsigned)(lower_random(l) * e->nr)];
    case FN_MIN: for (unsigned i = 1; i < e->nr; i++) r = fmin(r, v[i]); return r;
    case FN_MAX: for (unsigned i = 1; i < e->nr; i++) r = fmax(r, v[i]); return r;
    case FN_CEIL: return ceil(r);
    case FN_FLOOR: return floor(r);
    case FN_ROUND: return round(r);
    case FN_LOG2: return r > 0 ? log2(r) : (lower_fail(l, e->pos, "log2 of %g", r), 0.0);
    case FN_SQRT: return r >= 0 ? sqrt(r) : (lower_fail(l, e->pos, "sqrt of %g", r), 0.0);
    case FN_NR: break;
    }
    return 0;
}

static const struct lang_curve *curve_of(const struct lang_workload *w, uint32_t index)
{
    const struct lang_curve *c = w->curves;
    while (c->index != index) c = c->next;
    return c;
}

static double binary(struct lower *l, const struct lang_expr *e)
{
    double a = lower_value(l, e->arg[0]);
    if (e->op == LANG_AND && !a) return 0;
    if (e->op == LANG_OR && a) return 1;
    double b = lower_value(l, e->arg[1]);
    switch (e->op) {
    case LANG_ADD: return a + b;
    case LANG_SUB: return a - b;
    case LANG_MUL: return a * b;
    case LANG_DIV: case LANG_MOD:
        if (!b) lower_fail(l, e->pos, "a division by zero");
        return e->op == LANG_DIV ? a / b : a - b * floor(a / b);
    case LANG_LT: return a < b;
    case LANG_LE: return a <= b;
    case LANG_GT: return a > b;
    case LANG_GE: return a >= b;
    case LANG_EQ: return a == b;
    case LANG_NE: return a != b;
    default: return b != 0;     /* and, or */
    }
}

double lower_value(struct lower *l, const struct lang_expr *e)
{
    double r;
    switch (e->op) {
    case LANG_NUMBER: return e->number;
    case LANG_PARAM: return l->params[e->slot];
    case LANG_ARG: return l->args[e->slot];
    case LANG_LOCAL: return l->locals[e->slot];
    case LANG_BUILTIN: return builtin(l, e);
    case LANG_NEG: return -lower_value(l, e->arg[0]);
    case LANG_NOT: return !lower_value(l, e->arg[0]);
    case LANG_CALL: r = call(l, e); break;
    case LANG_CURVE: r = lang_curve_at(curve_of(l->w, e->slot), lower_value(l, e->arg[0])); break;
    default: r = binary(l, e);
    }
    if (!isfinite(r)) lower_fail(l, e->pos, "a value without bounds");
    return r;
}

uint64_t lower_count(struct lower *l, const struct lang_expr *e, const char *what, uint64_t min, uint64_t max)
{
    double v = lower_value(l, e), r = round(v);
    if (fabs(v - r) > 1e-6) lower_fail(l, e->pos, "%s is to be a whole number, and is %g", what, v);
    if (r < (double)min || r > (double)max) lower_fail(l, e->pos, "%s is to be %llu to %llu, and is %g", what, (unsigned long long)min,
                                                       (unsigned long long)max, r);
    return (uint64_t)r;
}

uint64_t lower_time(struct lower *l, const struct lang_expr *e, const char *what)
{
    double v = lower_value(l, e);
    if (v < 0 || v > 1e18) lower_fail(l, e->pos, "%s is to be 0 to 31 years, and is %g s", what, v / 1e9);
    return (uint64_t)llround(v);
}

unsigned lower_depends(const struct lang_expr *e, uint32_t *reads)
{
    if (!e) return 0;
    unsigned d = 0;
    if (e->op == LANG_LOCAL) *reads |= 1u << e->slot;
    if (e->op == LANG_BUILTIN && (e->slot == VAR_THREAD || e->slot == VAR_THREADS)) d |= DEP_THREAD;
    if (e->op == LANG_CALL && e->slot <= FN_CHOOSE) d |= DEP_DRAWN;
    for (unsigned i = 0; i < e->nr; i++) d |= lower_depends(e->arg[i], reads);
    return d;
}

bool lower_is_drawable(const struct lang_expr *e)
{
    uint32_t reads = 0;
    if (e->op != LANG_CALL || (e->slot != FN_EXP && e->slot != FN_UNIFORM)) return false;
    for (unsigned i = 0; i < e->nr; i++)
        if (lower_depends(e->arg[i], &reads) & DEP_DRAWN) return false;
    return true;
}
