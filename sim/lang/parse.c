/* sim/lang/parse.c - workload files: what there is, and when it starts.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sim/lang/parse.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char *read_file(const char *path, size_t *size, char *why, size_t cap)
{
    FILE *f = fopen(path, "rbe");
    struct stat st;
    char *text = NULL;
    if (!f || fstat(fileno(f), &st)) snprintf(why, cap, "%s", strerror(errno));
    else if (S_ISDIR(st.st_mode)) snprintf(why, cap, "%s", strerror(EISDIR));
    else if (!(text = malloc(LANG_FILE_MAX + 2))) snprintf(why, cap, "out of memory");
    if (text) {
        *size = fread(text, 1, LANG_FILE_MAX + 1, f);
        if (ferror(f)) snprintf(why, cap, "%s", strerror(errno));
        else if (*size > LANG_FILE_MAX) snprintf(why, cap, "it has more than %u MiB", LANG_FILE_MAX >> 20);
        if (ferror(f) || *size > LANG_FILE_MAX) free(text), text = NULL;
        else text[*size] = 0;
    }
    if (f) fclose(f);
    return text;
}

static void begin_file_as(struct parser *p, uint16_t file, char *path, const char *text, size_t size)
{
    struct lexer *x = &p->x;
    memset(x, 0, sizeof *x);
    x->file = file;
    x->p = x->line_start = text;
    x->end = text + size;
    x->line = 1;
    p->w->files[file] = path;
}
static void begin_file(struct parser *p, char *path, const char *text, size_t size)
{
    begin_file_as(p, (uint16_t)(p->w->nr_files - 1), path, text, size);
}

/* "dir/of/this/NAME" */
static char *beside(struct parser *p, const char *name)
{
    const char *self = p->w->files[p->x.file], *slash = strrchr(self, '/');
    if (*name == '/' || !slash) return arena_text(p, name);
    size_t dir = (size_t)(slash - self) + 1;
    char *path = arena(p, dir + strlen(name) + 1);
    memcpy(path, self, dir);
    strcpy(path + dir, name);
    return path;
}

/* Read another file in the middle of this one; its tokens come next.  It ends where it began. */
static void top(struct parser *p);
static struct lexer other_file(struct parser *p, const char *name, struct lang_pos pos)
{
    char why[128] = "";
    size_t size;
    if (p->w->nr_files == LANG_FILES_MAX) fail_at(p, pos, "more than %u files", LANG_FILES_MAX);
    char *path = beside(p, name), *text = p->read(path, &size, why, sizeof why);
    if (!text) fail_at(p, pos, "cannot read '%s': %s", path, why);
    p->texts[p->w->nr_files] = text;
    p->w->nr_files++;
    struct lexer saved = p->x;
    begin_file(p, path, text, size);
    return saved;
}

static void include(struct parser *p)
{
    struct lang_pos pos = p->x.pos;
    char name[sizeof p->x.text], buf[80];
    if (p->x.token != T_TEXT) fail(p, "expected the name of a file in \"...\", not %s", token_text(p, buf, sizeof buf));
    memcpy(name, p->x.text, sizeof name);
    next(p);
    end_of_line(p);
    if (++p->includes > 8) fail_at(p, pos, "files that include each other more than 8 deep");
    struct lexer saved = other_file(p, name, pos);
    next(p);
    top(p);
    p->x = saved;
    p->includes--;
}

static void no_other(struct parser *p, const char *name, bool taken, struct lang_pos pos)
{
    if (taken) fail_at(p, pos, "there is a '%s' already", name);
}

static struct lang_param *param(struct parser *p, struct lang_param **list, uint32_t *nr, const char *what)
{
    struct lang_pos pos = p->x.pos;
    struct lang_param *q = arena(p, sizeof *q);
    q->name = new_name(p, what, true);
    q->pos = pos;
    for (; *list; list = &(*list)->next) no_other(p, q->name, !strcmp((*list)->name, q->name), pos);
    expect(p, '=', "'=' and its value");
    q->value = expression(p);
    if (!q->value->constant) fail_at(p, q->value->pos, "the value of '%s' must be the same all the time", q->name);
    q->index = (*nr)++;
    *list = q;
    return q;
}

static void curve(struct parser *p)
{
    struct lang_pos pos = p->x.pos;
    struct lang_curve *c = arena(p, sizeof *c), **list = &p->w->curves;
    c->name = new_name(p, "a curve", true);
    c->pos = pos;
    for (; *list; list = &(*list)->next) no_other(p, c->name, !strcmp((*list)->name, c->name), pos);
    while (p->x.token == T_NUMBER) {
        if (c->nr == LANG_POINTS_MAX) fail(p, "a curve of more than %u points", LANG_POINTS_MAX);
        struct lang_pos at = p->x.pos;
        c->x[c->nr] = literal_number(p, "x");
        expect(p, ':', "':' (a point is x:y)");
        c->y[c->nr] = literal_number(p, "y");
        if (c->nr && c->x[c->nr] <= c->x[c->nr - 1]) fail_at(p, at, "the points must be in order of x");
        c->nr++;
    }
    if (!c->nr) fail(p, "expected points, like: curve %s 1:1 2:1.9 4:3.5", c->name);
    c->index = p->w->nr_curves++;
    *list = c;
}

static void object(struct parser *p, enum lang_object_kind kind)
{
    struct lang_object *o = arena(p, sizeof *o), **list = p->program ? &p->program->objects : &p->w->objects;
    bool global;
    o->pos = p->x.pos;
    o->kind = (uint8_t)kind;
    o->name = new_name(p, lang_object_word(kind), false);
    struct lang_object *there = find_object(p, o->name, &global);
    no_other(p, o->name, there && global == !p->program, o->pos);
    if (accept(p, '[')) {
        o->length = constant_of(p, 0, 0, "the length");
        expect(p, ']', "']'");
    }
    if (kind == OBJ_BARRIER) o->value = constant_of(p, 0, 0, "the number of parties");
    else if (kind == OBJ_CHANNEL) o->value = constant_of(p, 0, 0, "the capacity");
    else if (kind == OBJ_SEMAPHORE && p->x.token != T_LINE) {
        bool how = false;
        for (unsigned i = 0; i < WAIT_NR; i++) how |= is_name(p, lang_wait_words[i]);
        if (!how && starts_expression(p)) o->value = constant_of(p, 0, 0, "the first count");
    }
    if (!p->program && (kind == OBJ_LOCK || kind == OBJ_BARRIER))
        fail_at(p, o->pos, "a %s is shared by the threads of one program: write it within the program", lang_object_word(kind));
    o->wait = how_to_wait(p, WAIT_BLOCKING);
    o->index = p->program ? p->program->nr_objects++ : p->w->nr_objects++;
    while (*list) list = &(*list)->next;
    *list = o;
    end_of_line(p);
}

static bool accept_object(struct parser *p)
{
    for (int k = 0; k < OBJ_NR; k++)
        if (accept_name(p, lang_object_word((enum lang_object_kind)k))) {
            object(p, (enum lang_object_kind)k);
            return true;
        }
    return false;
}

/* What follows its first line; the program has one more. */
static void body_of(struct parser *p, struct lang_thread *t, const char *what, struct lang_pos pos)
{
    struct lang_thread **list = &p->program->threads;
    end_of_line(p);
    p->thread = t;
    p->nr_locals = 0;
    p->in_graph = false;
    t->body = block(p, what, pos, NULL);
    t->locals = p->nr_locals;
    p->nr_locals = 0;
    p->thread = NULL;
    t->index = p->program->nr_threads++;
    while (*list) list = &(*list)->next;
    *list = t;
    end_of_line(p);
}

static void thread(struct parser *p, struct lang_pos pos)
{
    struct lang_thread *t = arena(p, sizeof *t);
    t->pos = pos;
    if (p->x.token == T_NAME) {
        struct lexer at = p->x;     /* a name, or a count like `cores`? */
        next(p);
        bool count = at.pos.line && (p->x.token == '*' || p->x.token == '/' || p->x.token == '-' || p->x.token == '+' || p->x.token == '(');
        struct lexer after = p->x;
        p->x = at;
        double f;
        struct lang_dim d;
        bool is_value = unit_of(at.name, &f, &d);
        for (struct lang_param *q = p->program->args; q; q = q->next) is_value |= !strcmp(q->name, at.name);
        for (struct lang_param *q = p->w->params; q; q = q->next) is_value |= !strcmp(q->name, at.name);
        for (const char *const *b = (const char *const[]){"cores", "cpus", "nodes", "llcs", "instance", NULL}; *b; b++) is_value |= !strcmp(*b, at.name);
        if (!count && !is_value) {
            t->name = arena_text(p, at.name);
            p->x = after;
            for (struct lang_thread *o = p->program->threads; o; o = o->next) no_other(p, t->name, o->name && !strcmp(o->name, t->name), at.pos);
        }
    }
    if (p->x.token != T_LINE) t->count = constant_of(p, 0, 0, "the number of threads");
    body_of(p, t, "thread", pos);
}

/* A kind of task: which thread executes it is not known before. */
static void task(struct parser *p, struct lang_pos pos)
{
    struct lang_thread *t = arena(p, sizeof *t);
    t->pos = pos;
    t->is_task = true;
    t->name = new_name(p, "a task", false);
    for (struct lang_thread *o = p->program->threads; o; o = o->next) no_other(p, t->name, o->name && !strcmp(o->name, t->name), pos);
    p->in_team++;
    body_of(p, t, "task", pos);
    p->in_team--;
}

static void program_options(struct parser *p, struct lang_program *g)
{
    static const struct { const char *word; uint8_t time; const char *what; } options[PROG_NR] = {
        [PROG_WEIGHT] = {"weight", 0, "the weight (100 is normal)"}, [PROG_PRIORITY] = {"priority", 0, "the priority"},
        [PROG_NICE] = {"nice", 0, "the nice value"}, [PROG_FIFO] = {"fifo", 0, "the priority of SCHED_FIFO"},
        [PROG_RR] = {"rr", 0, "the priority of SCHED_RR"}, [PROG_WIDTH] = {"width", 0, "the default number of threads of teams"},
        [PROG_SPIN] = {"spin", 1, "how long it spins before it blocks"}, [PROG_WORKING_SET] = {"working_set", 0, "the working set, in percent of a normal one"},
        [PROG_SLOTS] = {"slots", 0, "how many tasks execute at once"}};
    char buf[80];
    while (p->x.token != T_LINE) {
        unsigned i = 0;
        while (i < PROG_NR && (g->option[i] || !is_name(p, options[i].word))) i++;
        if (i < PROG_NR) {
            next(p);
            g->option[i] = constant_of(p, options[i].time, 0, options[i].what);
        } else if (!g->malleable && accept_name(p, "malleable")) {
            g->malleable = true;
        } else if (!g->nogang && accept_name(p, "nogang")) {
            g->nogang = true;
        } else if (!g->nofloat && accept_name(p, "nofloat")) {
            g->nofloat = true;
        } else if (!g->cpus && accept_name(p, "on")) {
            if (p->x.token != T_TEXT) fail(p, "expected CPUs like \"0-3,8\", not %s", token_text(p, buf, sizeof buf));
            g->cpus = arena_text(p, p->x.text);
            next(p);
        } else if (!g->speedup && accept_name(p, "speedup")) {
            for (struct lang_curve *c = p->w->curves; c && !g->speedup; c = c->next)
                if (is_name(p, c->name)) g->speedup = c;
            if (!g->speedup) fail(p, "expected the name of a curve, not %s", token_text(p, buf, sizeof buf));
            next(p);
        } else {
            fail(p, "expected weight, priority, nice, fifo, rr, width, spin, working_set, speedup, on, malleable, nogang, nofloat (each once) or the end of the line, not %s",
                 token_text(p, buf, sizeof buf));
        }
    }
    next(p);
}

static void program(struct parser *p, struct lang_pos pos)
{
    char buf[80];
    struct lang_program *g = arena(p, sizeof *g), **list = &p->w->programs;
    struct lang_pos at = p->x.pos;
    g->pos = pos;
    g->name = new_name(p, "a program", false);
    for (; *list; list = &(*list)->next) no_other(p, g->name, !strcmp((*list)->name, g->name), at);
    p->program = g;
    if (accept(p, '(')) {
        do {
            if (g->nr_args == LANG_ARGS_MAX) fail(p, "more than %u arguments", LANG_ARGS_MAX);
            param(p, &g->args, &g->nr_args, "an argument");
        } while (accept(p, ','));
        expect(p, ')', "',' or ')'");
    }
    program_options(p, g);
    for (;;) {
        if (accept(p, T_LINE)) continue;
        struct lang_pos line = p->x.pos;
        if (accept_name(p, "end")) break;
        if (p->x.token == T_END) fail(p, "the 'program' of line %u has no 'end'", pos.line);
        if (accept_object(p)) continue;
        if (accept_name(p, "task")) {
            task(p, line);
            continue;
        }
        if (!accept_name(p, "thread")) fail(p, "expected lock, barrier, semaphore, channel, thread, task or end, not %s", token_text(p, buf, sizeof buf));
        thread(p, line);
    }
    if (!g->threads) fail_at(p, at, "the program '%s' has no threads", g->name);
    p->program = NULL;
    g->index = p->w->nr_programs++;
    *list = g;
}

static struct lang_program *find_program(struct parser *p)
{
    char buf[80];
    if (p->x.token != T_NAME) fail(p, "expected the name of a program, not %s", token_text(p, buf, sizeof buf));
    for (struct lang_program *g = p->w->programs; g; g = g->next)
        if (!strcmp(g->name, p->x.name)) {
            next(p);
            return g;
        }
    fail(p, "there is no program '%s' above", p->x.name);
}

static struct lang_choice *choice(struct parser *p)
{
    struct lang_choice *c = arena(p, sizeof *c);
    c->program = find_program(p);
    if (!accept(p, '(')) return c;
    do {
        struct lang_param *a = c->program->args;
        while (a && !is_name(p, a->name)) a = a->next;
        if (!a) fail(p, "'%s' has no argument of that name%s", c->program->name, p->x.token == T_NAME ? "" : ": arguments are given by name, like n = 4");
        if (c->arg[a->index]) fail(p, "'%s' is given twice", a->name);
        next(p);
        expect(p, '=', "'=' and a value");
        c->arg[a->index] = constant_of(p, a->value->dim.time, a->value->dim.bytes, a->name);
    } while (accept(p, ','));
    expect(p, ')', "',' or ')'");
    return c;
}

static struct lang_start *new_start(struct parser *p, struct lang_pos pos)
{
    struct lang_start *s = arena(p, sizeof *s), **list = &p->w->starts;
    s->pos = pos;
    while (*list) list = &(*list)->next;
    *list = s;
    p->w->nr_starts++;
    return s;
}

/* Lines of "TIME PROGRAM[(args)] [COUNT]". */
static void trace(struct parser *p, struct lang_pos pos)
{
    char name[sizeof p->x.text], buf[80];
    if (p->x.token != T_TEXT) fail(p, "expected the name of a file in \"...\", not %s", token_text(p, buf, sizeof buf));
    memcpy(name, p->x.text, sizeof name);
    next(p);
    end_of_line(p);
    struct lexer saved = other_file(p, name, pos);
    next(p);
    while (p->x.token != T_END) {
        if (accept(p, T_LINE)) continue;
        struct lang_start *s = new_start(p, p->x.pos);
        s->at = constant_of(p, 1, 0, "the time of arrival");
        s->choices = choice(p);
        if (starts_expression(p)) s->count = constant_of(p, 0, 0, "how many");
        end_of_line(p);
    }
    p->x = saved;
}

static void start(struct parser *p, struct lang_pos pos)
{
    if (accept_name(p, "trace")) {
        trace(p, pos);
        return;
    }
    struct lang_start *s = new_start(p, pos);
    struct lang_choice **last = &s->choices;
    if (accept_name(p, "any")) {
        expect(p, '(', "'(': start any(PROGRAM, PROGRAM, ...)");
        do {
            *last = choice(p);
            last = &(*last)->next;
        } while (accept(p, ','));
        expect(p, ')', "',' or ')'");
    } else {
        s->choices = choice(p);
    }
    if (p->x.token != T_LINE && starts_expression(p) && !is_name(p, "at") && !is_name(p, "every") && !is_name(p, "poisson"))
        s->count = constant_of(p, 0, 0, "how many");
    for (;;) {
        if (!s->at && accept_name(p, "at")) s->at = constant_of(p, 1, 0, "the time of arrival");
        else if (!s->period && accept_name(p, "every")) s->kind = ARRIVE_EVERY, s->period = constant_of(p, 1, 0, "the time between two");
        else if (!s->period && accept_name(p, "poisson")) s->kind = ARRIVE_POISSON, s->period = constant_of(p, -1, 0, "the rate");
        else break;
    }
    end_of_line(p);
}

static void top(struct parser *p)
{
    char buf[80];
    while (p->x.token != T_END) {
        if (accept(p, T_LINE)) continue;
        struct lang_pos pos = p->x.pos;
        if (accept_name(p, "param")) param(p, &p->w->params, &p->w->nr_params, "a parameter"), end_of_line(p);
        else if (accept_name(p, "curve")) curve(p), end_of_line(p);
        else if (accept_name(p, "program")) program(p, pos), end_of_line(p);
        else if (accept_name(p, "start")) start(p, pos);
        else if (accept_name(p, "include")) include(p);
        else if (accept_name(p, "workload")) {
            if (p->x.token != T_TEXT) fail(p, "expected a title in \"...\", not %s", token_text(p, buf, sizeof buf));
            p->w->title = arena_text(p, p->x.text);
            next(p);
            end_of_line(p);
        } else if (!accept_object(p)) {
            fail(p, "expected workload, param, curve, lock, barrier, semaphore, channel, program, start or include, not %s", token_text(p, buf, sizeof buf));
        }
    }
}

static struct lang_expr *guarded_value(struct parser *p, const struct lang_param *q, const char *text)
{
    if (setjmp(p->out)) return NULL;
    begin_file_as(p, 0, (char *)(uintptr_t)"--set", text, strlen(text));
    next(p);
    struct lang_expr *e = constant_of(p, q->value->dim.time, q->value->dim.bytes, q->name);
    end_of_line(p);
    return e;
}

int lang_set(struct lang_workload *w, const char *text, struct lang_error *err)
{
    struct parser *p = calloc(1, sizeof *p);
    const char *eq = strchr(text, '=');
    memset(err, 0, sizeof *err);
    snprintf(err->file, sizeof err->file, "--set");
    snprintf(err->text, sizeof err->text, p ? "expected NAME=VALUE, not '%s'" : "out of memory", text);
    struct lang_param *q = w->params, *params = q;
    while (q && eq && (strlen(q->name) != (size_t)(eq - text) || strncmp(q->name, text, (size_t)(eq - text)))) q = q->next;
    if (eq && p && !q) snprintf(err->text, sizeof err->text, "the workload has no param '%.*s'", (int)(eq - text), text);
    struct lang_expr *e = NULL;
    if (eq && q && p) {
        char *file = w->files[0];
        p->w = w;
        p->err = err;
        w->params = NULL;       /* its value may name none: not itself, nor one that comes later */
        e = guarded_value(p, q, eq + 1);
        w->params = params;
        w->files[0] = file;
    }
    free(p);
    if (e) q->value = e;
    return e ? 0 : -1;
}

/* Errors come back here by longjmp: nothing that is changed after setjmp is used after it. */
static bool parse_text(struct parser *p, const char *path, const char *text, size_t size)
{
    if (setjmp(p->out)) return false;
    p->w->nr_files = 1;
    p->w->files[0] = (char *)(uintptr_t)path;
    begin_file(p, arena_text(p, path), text, size);
    next(p);
    top(p);
    if (!p->w->starts) fail(p, "nothing is started: write, for example, start %s", p->w->programs ? p->w->programs->name : "PROGRAM");
    return true;
}

struct lang_workload *lang_parse(const char *path, const char *text, size_t size, lang_read_fn *read, struct lang_error *err)
{
    struct parser *p = calloc(1, sizeof *p);
    struct lang_workload *w = calloc(1, sizeof *w);
    memset(err, 0, sizeof *err);
    snprintf(err->file, sizeof err->file, "%s", path);
    if (!p || !w) {
        snprintf(err->text, sizeof err->text, "out of memory");
        free(p);
        free(w);
        return NULL;
    }
    p->w = w;
    p->err = err;
    p->read = read ? read : read_file;
    if (!text) text = p->texts[0] = p->read(path, &size, err->text, sizeof err->text);
    bool bad = !text || !parse_text(p, path, text, size);
    for (unsigned i = 0; i < LANG_FILES_MAX; i++) free(p->texts[i]);
    free(p);
    if (!bad) return w;
    lang_free(w);
    return NULL;
}
