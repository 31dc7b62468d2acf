/* sim/lang/stmt.c - what threads do.  SPDX-License-Identifier: Apache-2.0 */
#include "sim/lang/parse.h"
#include <stdio.h>
#include <string.h>

const char *lang_object_word(enum lang_object_kind k)
{
    static const char *const words[OBJ_NR] = {"lock", "barrier", "semaphore", "channel"};
    return words[k];
}

struct lang_object *find_object(struct parser *p, const char *name, bool *global)
{
    *global = false;
    if (p->program)
        for (struct lang_object *o = p->program->objects; o; o = o->next)
            if (!strcmp(o->name, name)) return o;
    *global = true;
    for (struct lang_object *o = p->w->objects; o; o = o->next)
        if (!strcmp(o->name, name)) return o;
    return NULL;
}

static struct lang_use use_of(struct parser *p, enum lang_object_kind kind)
{
    struct lang_use u = {0};
    char buf[80];
    if (p->x.token != T_NAME) fail(p, "expected the name of a %s, not %s", lang_object_word(kind), token_text(p, buf, sizeof buf));
    u.object = find_object(p, p->x.name, &u.global);
    if (!u.object) fail(p, "there is no %s '%s'; write it before the threads: %s %s%s", lang_object_word(kind), p->x.name, lang_object_word(kind),
                        p->x.name, kind == OBJ_BARRIER ? " PARTIES" : kind == OBJ_CHANNEL ? " CAPACITY" : "");
    if (u.object->kind != kind) fail(p, "'%s' is a %s, not a %s", p->x.name, lang_object_word((enum lang_object_kind)u.object->kind), lang_object_word(kind));
    struct lang_pos pos = p->x.pos;
    next(p);
    if (accept(p, '[')) {
        if (!u.object->length) fail_at(p, pos, "'%s' is one %s, not an array", u.object->name, lang_object_word(kind));
        u.index = number_of(p, "the index");
        expect(p, ']', "']'");
    } else if (u.object->length) {
        fail_at(p, pos, "'%s' is an array: say which, like %s[0]", u.object->name, u.object->name);
    }
    return u;
}

const char *const lang_wait_words[WAIT_NR] = {"blocking", "yielding", "spinning", "adaptive", "polite"};

uint8_t how_to_wait(struct parser *p, enum lang_wait otherwise)
{
    for (unsigned i = 0; i < WAIT_NR; i++)
        if (accept_name(p, lang_wait_words[i])) return (uint8_t)i;
    return (uint8_t)otherwise;
}

static uint32_t local_slot(struct parser *p, struct lang_dim dim, bool whatever)
{
    char buf[80];
    if (p->x.token != T_NAME) fail(p, "expected the name of a variable, not %s", token_text(p, buf, sizeof buf));
    for (uint32_t i = 0; i < p->nr_locals; i++)
        if (!strcmp(p->locals[i], p->x.name)) {
            if (!whatever && (p->local_dim[i].time != dim.time || p->local_dim[i].bytes != dim.bytes))
                fail(p, "'%s' is %s already, and cannot be %s here", p->x.name, lang_dim_name(p->local_dim[i]), lang_dim_name(dim));
            next(p);
            return i;
        }
    if (p->nr_locals == LANG_LOCALS_MAX) fail(p, "a thread with more than %u variables", LANG_LOCALS_MAX);
    uint32_t slot = p->nr_locals;
    char *name = new_name(p, "a variable", true);
    p->locals[slot] = name;
    p->local_dim[slot] = dim;
    p->nr_locals++;
    return slot;
}

static void st_compute(struct parser *p, struct lang_stmt *s)
{
    s->e = time_of(p, "compute's time");
    for (;;) {
        if (!s->e2 && accept_name(p, "bandwidth")) s->e2 = expression_of(p, -1, 1, "the bandwidth");
        else if (!s->e3 && accept_name(p, "memory")) s->e3 = number_of(p, "the part of the time that goes to memory, 0 to 1");
        else if (!s->divided && accept_name(p, "divided")) s->divided = true;
        else break;
    }
    if (s->e3 && !s->e2) fail_at(p, s->pos, "'memory' needs 'bandwidth'");
    if (s->divided && !p->in_team) fail_at(p, s->pos, "'divided' outside of parallel: there is no team to divide the work among");
}
static void st_time(struct parser *p, struct lang_stmt *s) { s->e = time_of(p, "the time"); }
static void st_nothing(struct parser *p, struct lang_stmt *s) { (void)p, (void)s; }
static void st_lock(struct parser *p, struct lang_stmt *s) { s->use = use_of(p, OBJ_LOCK); }
static void st_critical(struct parser *p, struct lang_stmt *s)
{
    s->use = use_of(p, OBJ_LOCK);
    st_compute(p, s);
}
static void st_barrier(struct parser *p, struct lang_stmt *s)
{
    if (p->in_team && accept_name(p, "team")) s->wait = how_to_wait(p, WAIT_BLOCKING);
    else s->use = use_of(p, OBJ_BARRIER);
}
static void st_semaphore(struct parser *p, struct lang_stmt *s)
{
    s->use = use_of(p, OBJ_SEMAPHORE);
    if (starts_expression(p)) s->e = number_of(p, "how often");
}
static void st_pause(struct parser *p, struct lang_stmt *s)
{
    st_semaphore(p, s);
    if (s->use.global) fail_at(p, s->pos, "a task can pause only for a semaphore of its program");
}
static void st_channel(struct parser *p, struct lang_stmt *s)
{
    s->use = use_of(p, OBJ_CHANNEL);
    if (starts_expression(p)) s->e = number_of(p, "how many messages");
}

static void st_repeat(struct parser *p, struct lang_stmt *s)
{
    s->e = number_of(p, "how often");
    end_of_line(p);
    s->body = block(p, "repeat", s->pos, NULL);
}
static void st_for(struct parser *p, struct lang_stmt *s)
{
    s->slot = local_slot(p, (struct lang_dim){0, 0}, false);
    expect(p, '=', "'='");
    s->e = number_of(p, "the first value");
    if (!accept_name(p, "to")) fail(p, "expected 'to': for NAME = FIRST to LAST");
    s->e2 = number_of(p, "the last value");
    end_of_line(p);
    s->body = block(p, "for", s->pos, NULL);
}
static void st_while(struct parser *p, struct lang_stmt *s)
{
    s->e = number_of(p, "the condition");
    end_of_line(p);
    s->body = block(p, "while", s->pos, NULL);
}
static void st_if(struct parser *p, struct lang_stmt *s)
{
    bool at_else = false;
    s->e = number_of(p, "the condition");
    end_of_line(p);
    s->body = block(p, "if", s->pos, &at_else);
    if (at_else) {
        end_of_line(p);
        s->other = block(p, "else", s->pos, NULL);
    }
}
static void st_set(struct parser *p, struct lang_stmt *s)
{
    /* the value first, by looking ahead: a variable is not there in its own first value */
    struct lexer at = p->x;
    char buf[80];
    if (p->x.token != T_NAME) fail(p, "expected the name of a variable, not %s", token_text(p, buf, sizeof buf));
    next(p);
    expect(p, '=', "'='");
    s->e = expression(p);
    struct lexer after = p->x;
    p->x = at;
    s->slot = local_slot(p, s->e->dim, false);
    p->x = after;
}
static void team(struct parser *p, struct lang_stmt *s, const char *what)
{
    bool how = false;
    for (unsigned i = 0; i < WAIT_NR; i++) how |= is_name(p, lang_wait_words[i]);
    if (!how && p->x.token != T_LINE) s->e = number_of(p, what);
    s->wait = how_to_wait(p, WAIT_BLOCKING);
    end_of_line(p);
    p->in_team++;
}
static void st_parallel(struct parser *p, struct lang_stmt *s)
{
    team(p, s, "the number of threads");
    s->body = block(p, "parallel", s->pos, NULL);
    p->in_team--;
}
static void st_taskgraph(struct parser *p, struct lang_stmt *s)
{
    unsigned outer = p->in_team;
    team(p, s, "the number of workers");
    p->in_team = outer;     /* the graph itself is made before it is executed */
    p->in_graph = true;
    s->body = block(p, "taskgraph", s->pos, NULL);
    p->in_graph = false;
}

static uint32_t data_name(struct parser *p)
{
    char buf[80];
    if (p->x.token != T_NAME) fail(p, "expected a name, like A(i,j), not %s", token_text(p, buf, sizeof buf));
    for (uint32_t i = 0; i < p->w->nr_data; i++)
        if (!strcmp(p->w->data[i], p->x.name)) {
            next(p);
            return i;
        }
    if (p->w->nr_data == sizeof p->w->data / sizeof *p->w->data) fail(p, "more than %u names of data", p->w->nr_data);
    p->w->data[p->w->nr_data] = arena_text(p, p->x.name);
    next(p);
    return p->w->nr_data++;
}

static void dependences(struct parser *p, struct lang_stmt *s, enum lang_access access)
{
    do {
        struct lang_dep *d = arena(p, sizeof *d);
        d->access = (uint8_t)access;
        d->name = data_name(p);
        if (accept(p, '(')) {
            do {
                if (d->nr == 3) fail(p, "more than 3 indices");
                d->index[d->nr++] = number_of(p, "an index");
            } while (accept(p, ','));
            expect(p, ')', "',' or ')'");
        }
        d->next = s->deps;
        s->deps = d;
    } while (accept(p, ','));
}

static void st_task(struct parser *p, struct lang_stmt *s)
{
    char buf[80];
    for (;;) {
        if (accept_name(p, "in")) dependences(p, s, ACC_IN);
        else if (accept_name(p, "out")) dependences(p, s, ACC_OUT);
        else if (accept_name(p, "inout")) dependences(p, s, ACC_INOUT);
        else break;
    }
    if (p->x.token != T_LINE) fail(p, "expected in, out, inout or the end of the line, not %s", token_text(p, buf, sizeof buf));
    next(p);
    p->in_graph = false;
    p->in_team++;
    s->body = block(p, "task", s->pos, NULL);
    p->in_team--;
    p->in_graph = true;
}

static void st_spawn(struct parser *p, struct lang_stmt *s)
{
    char buf[80];
    if (p->x.token != T_NAME) fail(p, "expected the name of a thread, not %s", token_text(p, buf, sizeof buf));
    for (struct lang_thread *t = p->program->threads; t; t = t->next)
        if (t->name && !t->is_task && !strcmp(t->name, p->x.name)) s->thread = t;
    if (!s->thread) fail(p, "there is no thread '%s' above; write it with a count of 0: thread %s 0", p->x.name, p->x.name);
    if (s->thread == p->thread) fail(p, "a thread cannot spawn its own kind");
    next(p);
    p->thread->spawns = true;
    if (starts_expression(p)) s->e = number_of(p, "how many");
}
static void st_submit(struct parser *p, struct lang_stmt *s)
{
    char buf[80];
    if (p->x.token != T_NAME) fail(p, "expected the name of a task, not %s", token_text(p, buf, sizeof buf));
    for (struct lang_thread *t = p->program->threads; t; t = t->next)
        if (t->is_task && !strcmp(t->name, p->x.name)) s->thread = t;
    if (!s->thread) fail(p, "there is no task '%s' above: task %s ... end", p->x.name, p->x.name);
    next(p);
    p->thread->spawns |= !p->thread->is_task;
    if (starts_expression(p)) s->e = number_of(p, "how many");
}
static void st_join(struct parser *p, struct lang_stmt *s)
{
    (void)s;
    p->thread->joins = true;
}

static const struct {
    const char *word;
    void (*parse)(struct parser *, struct lang_stmt *);
    bool graph, only_graph, thread;      /* allowed among a graph's tasks; only there; not in a team or task */
} statements[ST_NR] = {
    [ST_COMPUTE] = {"compute", st_compute}, [ST_IO] = {"io", st_time}, [ST_SLEEP] = {"sleep", st_time}, [ST_YIELD] = {"yield", st_nothing},
    [ST_LOCK] = {"lock", st_lock}, [ST_UNLOCK] = {"unlock", st_lock}, [ST_CRITICAL] = {"critical", st_critical},
    [ST_BARRIER] = {"barrier", st_barrier}, [ST_WAIT] = {"wait", st_semaphore}, [ST_POST] = {"post", st_semaphore},
    [ST_SEND] = {"send", st_channel}, [ST_RECV] = {"recv", st_channel},
    [ST_REPEAT] = {"repeat", st_repeat, .graph = true}, [ST_FOR] = {"for", st_for, .graph = true},
    [ST_WHILE] = {"while", st_while, .graph = true}, [ST_IF] = {"if", st_if, .graph = true},
    [ST_SET] = {"set", st_set, .graph = true},
    [ST_PARALLEL] = {"parallel", st_parallel}, [ST_TASKGRAPH] = {"taskgraph", st_taskgraph},
    [ST_TASK] = {"task", st_task, .graph = true, .only_graph = true},
    [ST_SPAWN] = {"spawn", st_spawn, .thread = true}, [ST_JOIN] = {"join", st_join, .thread = true}, [ST_REQUEST] = {"request", st_nothing},
    [ST_ANSWER] = {"answer", st_nothing}, [ST_PROGRESS] = {"progress", st_nothing},
    [ST_SUBMIT] = {"submit", st_submit}, [ST_PAUSE] = {"pause", st_pause}};

static struct lang_stmt *statement(struct parser *p)
{
    char buf[80];
    int kind = -1;
    for (int i = 0; i < ST_NR && p->x.token == T_NAME; i++)
        if (is_name(p, statements[i].word)) kind = i;
    if (kind < 0)
        fail(p, "expected a statement (compute, io, sleep, yield, lock, unlock, critical, barrier, wait, post, send, recv, repeat, for, while, if, set, "
             "parallel, taskgraph, task, spawn, join, submit, pause, request, answer, progress) or 'end', not %s", token_text(p, buf, sizeof buf));
    if (p->in_graph && !statements[kind].graph)
        fail(p, "'%s' stands in a taskgraph but in none of its tasks; write it between 'task' and 'end'", statements[kind].word);
    if (!p->in_graph && statements[kind].only_graph) fail(p, "'%s' outside of taskgraph", statements[kind].word);
    if (p->in_team && statements[kind].thread) fail(p, "'%s' within parallel or a task; threads do that by themselves", statements[kind].word);
    struct lang_stmt *s = arena(p, sizeof *s);
    s->kind = (uint8_t)kind;
    s->pos = p->x.pos;
    next(p);
    statements[kind].parse(p, s);
    end_of_line(p);
    return s;
}

struct lang_stmt *block(struct parser *p, const char *of, struct lang_pos from, bool *at_else)
{
    struct lang_stmt *first = NULL, **last = &first;
    if (++p->nest > LANG_NEST_MAX) fail(p, "blocks nested more than %u deep", LANG_NEST_MAX);
    for (;;) {
        if (accept(p, T_LINE)) continue;
        if (p->x.token == T_END) fail(p, "the '%s' of line %u has no 'end'", of, from.line);
        if (accept_name(p, "end")) break;
        if (at_else && accept_name(p, "else")) {
            *at_else = true;
            break;
        }
        *last = statement(p);
        last = &(*last)->next;
    }
    p->nest--;
    return first;
}
