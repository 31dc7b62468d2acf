/* sim/lang/expr.c - expressions and their dimensions.  SPDX-License-Identifier: Apache-2.0 */
#include "sim/lang/parse.h"
#include <stdio.h>
#include <string.h>

#define NUMBER ((struct lang_dim){0, 0})
static bool same(struct lang_dim a, struct lang_dim b) { return a.time == b.time && a.bytes == b.bytes; }

const char *lang_dim_name(struct lang_dim d)
{
    static const struct { struct lang_dim d; const char *name; } names[] = {
        {{0, 0}, "a number"}, {{1, 0}, "a time"}, {{0, 1}, "a size"}, {{-1, 0}, "a rate"}, {{-1, 1}, "a bandwidth"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (same(names[i].d, d)) return names[i].name;
    return "a product of units";
}

static const char *hint(struct lang_dim d)
{
    if (same(d, (struct lang_dim){1, 0})) return " (like 5ms)";
    if (same(d, (struct lang_dim){0, 1})) return " (like 2MiB)";
    if (same(d, (struct lang_dim){-1, 1})) return " (like 4GB/s)";
    if (same(d, (struct lang_dim){-1, 0})) return " (like 9/min)";
    return "";
}

static struct lang_expr *node(struct parser *p, enum lang_op op, unsigned nr, struct lang_pos pos)
{
    struct lang_expr *e = arena(p, sizeof *e + nr * sizeof e->arg[0]);
    e->op = (uint8_t)op;
    e->nr = (uint8_t)nr;
    e->pos = pos;
    e->constant = true;
    return e;
}

static const struct { const char *name; uint8_t min, max; } functions[FN_NR] = {
    [FN_EXP] = {"exp", 1, 1}, [FN_UNIFORM] = {"uniform", 2, 2}, [FN_NORMAL] = {"normal", 2, 2}, [FN_LOGNORMAL] = {"lognormal", 2, 2},
    [FN_PARETO] = {"pareto", 2, 2}, [FN_CHOOSE] = {"choose", 1, LANG_OPERANDS}, [FN_MIN] = {"min", 1, LANG_OPERANDS}, [FN_MAX] = {"max", 1, LANG_OPERANDS},
    [FN_CEIL] = {"ceil", 1, 1}, [FN_FLOOR] = {"floor", 1, 1}, [FN_ROUND] = {"round", 1, 1}, [FN_LOG2] = {"log2", 1, 1}, [FN_SQRT] = {"sqrt", 1, 1}};
static const struct { const char *name; struct lang_dim dim; bool constant; } builtins[VAR_NR] = {
    [VAR_CORES] = {"cores", {0, 0}, true}, [VAR_CPUS] = {"cpus", {0, 0}, true}, [VAR_NODES] = {"nodes", {0, 0}, true}, [VAR_LLCS] = {"llcs", {0, 0}, true},
    [VAR_THREAD] = {"thread", {0, 0}, false}, [VAR_THREADS] = {"threads", {0, 0}, false}, [VAR_INSTANCE] = {"instance", {0, 0}, true}};

static int find_function(const char *name)
{
    for (int i = 0; i < FN_NR; i++)
        if (!strcmp(functions[i].name, name)) return i;
    return -1;
}

static int find_builtin(const char *name)
{
    for (int i = 0; i < VAR_NR; i++)
        if (!strcmp(builtins[i].name, name)) return i;
    return -1;
}

static struct lang_param *find_param(struct lang_param *list, const char *name)
{
    for (; list; list = list->next)
        if (!strcmp(list->name, name)) return list;
    return NULL;
}

static struct lang_curve *find_curve(struct parser *p, const char *name)
{
    for (struct lang_curve *c = p->w->curves; c; c = c->next)
        if (!strcmp(c->name, name)) return c;
    return NULL;
}

char *new_name(struct parser *p, const char *what, bool value)
{
    char buf[80];
    double factor;
    struct lang_dim dim;
    if (p->x.token != T_NAME) fail(p, "expected the name of %s, not %s", what, token_text(p, buf, sizeof buf));
    if (value && unit_of(p->x.name, &factor, &dim)) fail(p, "'%s' is a unit, and cannot be the name of %s", p->x.name, what);
    if (value && find_builtin(p->x.name) >= 0) fail(p, "'%s' is a variable that is there already, and cannot be the name of %s", p->x.name, what);
    char *name = arena_text(p, p->x.name);
    next(p);
    return name;
}

static void args_of_call(struct parser *p, struct lang_expr **arg, unsigned *nr, unsigned min, unsigned max, const char *name)
{
    struct lang_pos from = p->x.pos;
    expect(p, '(', "'('");
    *nr = 0;
    do {
        if (*nr == max) fail(p, "%s takes at most %u argument%s", name, max, max == 1 ? "" : "s");
        arg[(*nr)++] = expression(p);
    } while (accept(p, ','));
    expect(p, ')', "',' or ')'");
    if (*nr < min) fail_at(p, from, "%s takes %u arguments", name, min);
}

/* All arguments of one dimension, which is also the result's, except for shape parameters and pure
 * numbers. */
static struct lang_dim dim_of_call(struct parser *p, const struct lang_expr *e)
{
    enum lang_fn f = (enum lang_fn)e->slot;
    bool shape = f == FN_LOGNORMAL || f == FN_PARETO;    /* the second is a number */
    for (unsigned i = 1; i < e->nr; i++) {
        struct lang_dim want = shape ? NUMBER : e->arg[0]->dim;
        if (!same(e->arg[i]->dim, want))
            fail_at(p, e->arg[i]->pos, "%s's argument %u is to be %s%s, and is %s", functions[f].name, i + 1, lang_dim_name(want), hint(want),
                    lang_dim_name(e->arg[i]->dim));
    }
    if ((f == FN_LOG2 || f == FN_SQRT) && !same(e->arg[0]->dim, NUMBER))
        fail_at(p, e->arg[0]->pos, "%s takes a number, not %s", functions[f].name, lang_dim_name(e->arg[0]->dim));
    return e->arg[0]->dim;
}

static struct lang_expr *call(struct parser *p, int fn, struct lang_pos pos)
{
    struct lang_expr *arg[LANG_OPERANDS];
    unsigned nr;
    args_of_call(p, arg, &nr, functions[fn].min, functions[fn].max, functions[fn].name);
    struct lang_expr *e = node(p, LANG_CALL, nr, pos);
    e->slot = (uint32_t)fn;
    e->constant = fn > FN_CHOOSE;       /* the first ones are random */
    for (unsigned i = 0; i < nr; i++) {
        e->arg[i] = arg[i];
        e->constant &= arg[i]->constant;
    }
    e->dim = dim_of_call(p, e);
    return e;
}

static struct lang_expr *curve(struct parser *p, struct lang_curve *c, struct lang_pos pos)
{
    struct lang_expr *e = node(p, LANG_CURVE, 1, pos);
    unsigned nr;
    args_of_call(p, e->arg, &nr, 1, 1, c->name);
    if (!same(e->arg[0]->dim, NUMBER)) fail_at(p, e->arg[0]->pos, "a curve takes a number, not %s", lang_dim_name(e->arg[0]->dim));
    e->slot = c->index;
    e->constant = e->arg[0]->constant;
    return e;
}

static struct lang_expr *leaf(struct parser *p, enum lang_op op, uint32_t slot, struct lang_dim dim, bool constant, struct lang_pos pos)
{
    struct lang_expr *e = node(p, op, 0, pos);
    e->slot = slot;
    e->dim = dim;
    e->constant = constant;
    return e;
}

static struct lang_expr *variable(struct parser *p)
{
    struct lang_pos pos = p->x.pos;
    char name[LANG_NAME_MAX + 1];
    memcpy(name, p->x.name, sizeof name);
    next(p);
    if (p->x.token == '(') {
        int fn = find_function(name);
        if (fn >= 0) return call(p, fn, pos);
        struct lang_curve *c = find_curve(p, name);
        if (c) return curve(p, c, pos);
        fail_at(p, pos, "there is no function or curve '%s'", name);
    }
    for (uint32_t i = 0; i < p->nr_locals; i++)
        if (!strcmp(p->locals[i], name)) return leaf(p, LANG_LOCAL, i, p->local_dim[i], false, pos);
    struct lang_param *q = p->program ? find_param(p->program->args, name) : NULL;
    if (q) return leaf(p, LANG_ARG, q->index, q->value->dim, true, pos);
    q = find_param(p->w->params, name);
    if (q) return leaf(p, LANG_PARAM, q->index, q->value->dim, true, pos);
    int b = find_builtin(name);
    if ((b == VAR_THREAD || b == VAR_THREADS) && p->in_team)
        fail_at(p, pos, "'%s' is not known within parallel and tasks: a team's threads all do the same", name);
    if (b >= 0 && (p->thread || builtins[b].constant)) return leaf(p, LANG_BUILTIN, (uint32_t)b, builtins[b].dim, builtins[b].constant, pos);
    double factor;
    struct lang_dim dim;
    if (unit_of(name, &factor, &dim)) {
        struct lang_expr *e = leaf(p, LANG_NUMBER, 0, dim, true, pos);
        e->number = factor;
        return e;
    }
    fail_at(p, pos, "there is no variable '%s' here", name);
}

bool starts_expression(const struct parser *p)
{
    int t = p->x.token;
    return t == T_NUMBER || t == '(' || t == '-' || t == T_NAME;
}

static struct lang_expr *primary(struct parser *p)
{
    char buf[80];
    struct lang_pos pos = p->x.pos;
    if (p->x.token == T_NUMBER) {
        struct lang_expr *e = leaf(p, LANG_NUMBER, 0, p->x.dim, true, pos);
        e->number = p->x.number;
        next(p);
        return e;
    }
    if (p->x.token == T_NAME) return variable(p);
    if (p->x.token != '(') fail(p, "expected a value, not %s", token_text(p, buf, sizeof buf));
    next(p);
    struct lang_expr *e = expression(p);
    expect(p, ')', "')'");
    return e;
}

static struct lang_expr *unary(struct parser *p)
{
    struct lang_pos pos = p->x.pos;
    bool neg = p->x.token == '-', not = is_name(p, "not");
    if (!neg && !not) return primary(p);
    if (++p->brackets > LANG_NEST_MAX) fail(p, "an expression that is nested more than %u deep", LANG_NEST_MAX);
    next(p);
    struct lang_expr *e = node(p, neg ? LANG_NEG : LANG_NOT, 1, pos);
    e->arg[0] = unary(p);
    p->brackets--;
    if (not && !same(e->arg[0]->dim, NUMBER)) fail_at(p, pos, "'not' takes a number, not %s", lang_dim_name(e->arg[0]->dim));
    e->dim = e->arg[0]->dim;
    e->constant = e->arg[0]->constant;
    return e;
}

static int binary_op(const struct parser *p, unsigned *level)
{
    static const struct { int token; const char *word; uint8_t op, level; } table[] = {
        {T_NAME, "or", LANG_OR, 1}, {T_NAME, "and", LANG_AND, 2}, {'<', 0, LANG_LT, 3}, {T_LE, 0, LANG_LE, 3}, {'>', 0, LANG_GT, 3},
        {T_GE, 0, LANG_GE, 3}, {T_EQ, 0, LANG_EQ, 3}, {T_NE, 0, LANG_NE, 3}, {'+', 0, LANG_ADD, 4}, {'-', 0, LANG_SUB, 4},
        {'*', 0, LANG_MUL, 5}, {'/', 0, LANG_DIV, 5}, {'%', 0, LANG_MOD, 5}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (p->x.token == table[i].token && (!table[i].word || is_name(p, table[i].word))) {
            *level = table[i].level;
            return table[i].op;
        }
    *level = 0;
    return -1;
}

static struct lang_dim dim_of_binary(struct parser *p, const struct lang_expr *e)
{
    struct lang_dim a = e->arg[0]->dim, b = e->arg[1]->dim;
    int sign = e->op == LANG_MUL ? 1 : -1;
    switch (e->op) {
    case LANG_MUL: case LANG_DIV:
        if (a.time + sign * b.time > 4 || a.time + sign * b.time < -4 || a.bytes + sign * b.bytes > 4 || a.bytes + sign * b.bytes < -4)
            fail_at(p, e->pos, "a product of too many units");
        return (struct lang_dim){(int8_t)(a.time + sign * b.time), (int8_t)(a.bytes + sign * b.bytes)};
    case LANG_AND: case LANG_OR:
        if (!same(a, NUMBER) || !same(b, NUMBER)) fail_at(p, e->pos, "'and' and 'or' take numbers");
        return NUMBER;
    }
    if (!same(a, b)) fail_at(p, e->pos, "%s%s and %s%s cannot be added or compared", lang_dim_name(a), hint(a), lang_dim_name(b), hint(b));
    return e->op == LANG_ADD || e->op == LANG_SUB || e->op == LANG_MOD ? a : NUMBER;
}

static struct lang_expr *binary(struct parser *p, unsigned min)
{
    struct lang_expr *left = unary(p);
    unsigned level, terms = 0;
    for (;;) {
        int op = binary_op(p, &level);
        if (op < 0 || level < min) return left;
        if (++terms > 200) fail(p, "an expression of more than 200 terms");     /* its tree is as deep, and is walked by recursion */
        struct lang_expr *e = node(p, (enum lang_op)op, 2, p->x.pos);
        next(p);
        e->arg[0] = left;
        e->arg[1] = binary(p, level + 1);
        e->constant = left->constant && e->arg[1]->constant;
        e->dim = dim_of_binary(p, e);
        left = e;
    }
}

struct lang_expr *expression(struct parser *p)
{
    if (++p->brackets > LANG_NEST_MAX) fail(p, "an expression that is nested more than %u deep", LANG_NEST_MAX);
    struct lang_expr *e = binary(p, 1);
    p->brackets--;
    return e;
}

struct lang_expr *expression_of(struct parser *p, int time, int bytes, const char *what)
{
    struct lang_dim want = {(int8_t)time, (int8_t)bytes};
    char buf[80];
    if (!starts_expression(p)) fail(p, "expected %s, which is %s%s, not %s", what, lang_dim_name(want), hint(want), token_text(p, buf, sizeof buf));
    struct lang_expr *e = expression(p);
    if (!same(e->dim, want)) fail_at(p, e->pos, "%s is to be %s%s, and is %s", what, lang_dim_name(want), hint(want), lang_dim_name(e->dim));
    return e;
}

struct lang_expr *constant_of(struct parser *p, int time, int bytes, const char *what)
{
    struct lang_expr *e = expression_of(p, time, bytes, what);
    if (!e->constant) fail_at(p, e->pos, "%s must be the same all the time: of numbers, params, arguments, cores, cpus, nodes and instance alone", what);
    return e;
}

double literal_number(struct parser *p, const char *what)
{
    char buf[80];
    if (p->x.token != T_NUMBER || !same(p->x.dim, NUMBER)) fail(p, "expected %s, a number, not %s", what, token_text(p, buf, sizeof buf));
    double v = p->x.number;
    next(p);
    return v;
}

double lang_curve_at(const struct lang_curve *c, double x)
{
    uint32_t i = 0;
    if (x <= c->x[0]) return c->y[0];
    while (i + 1 < c->nr && c->x[i + 1] < x) i++;
    if (i + 1 == c->nr) return c->y[i];
    return c->y[i] + (c->y[i + 1] - c->y[i]) * (x - c->x[i]) / (c->x[i + 1] - c->x[i]);
}
