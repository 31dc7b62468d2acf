/* sim/lang/lex.c - tokens, units, errors and memory.  SPDX-License-Identifier: Apache-2.0 */
#include "sim/lang/parse.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK (64u << 10)
struct lang_arena { struct lang_arena *next; size_t used, size, total; };

void *arena(struct parser *p, size_t size)
{
    struct lang_arena *a = p->w->arena;
    size = (size + 15) & ~(size_t)15;
    if (!a || a->size - a->used < size) {
        size_t room = size > CHUNK ? size : CHUNK, total = (a ? a->total : 0) + room;
        if (total > LANG_ARENA_MAX) fail(p, "the workload is too large (its tree takes more than %u MiB)", LANG_ARENA_MAX >> 20);
        struct lang_arena *b = calloc(1, sizeof *b + room);
        if (!b) fail(p, "out of memory");
        b->next = a;
        b->size = room;
        b->total = total;
        p->w->arena = a = b;
    }
    void *r = (char *)(a + 1) + a->used;
    a->used += size;
    return r;
}

char *arena_text(struct parser *p, const char *s)
{
    char *r = arena(p, strlen(s) + 1);
    strcpy(r, s);
    return r;
}

void lang_free(struct lang_workload *w)
{
    if (!w) return;
    for (struct lang_arena *a = w->arena, *n; a; a = n) {
        n = a->next;
        free(a);
    }
    free(w);
}

static void say(struct parser *p, struct lang_pos pos, const char *fmt, va_list ap)
{
    struct lang_error *e = p->err;
    const char *file = p->w->files[pos.file];
    snprintf(e->file, sizeof e->file, "%s", file ? file : "?");
    e->line = pos.line;
    e->col = pos.col;
    vsnprintf(e->text, sizeof e->text, fmt, ap);
    longjmp(p->out, 1);
}

void fail_at(struct parser *p, struct lang_pos pos, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say(p, pos, fmt, ap);
    va_end(ap);
    abort();    /* say does not return */
}

void fail(struct parser *p, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say(p, p->x.pos, fmt, ap);
    va_end(ap);
    abort();
}

const char *token_text(const struct parser *p, char *buf, size_t cap)
{
    const struct lexer *x = &p->x;
    static const char *const pairs[] = {"<=", ">=", "==", "!="};
    if (x->token == T_END) snprintf(buf, cap, "the end of the file");
    else if (x->token == T_LINE) snprintf(buf, cap, "the end of the line");
    else if (x->token == T_NAME) snprintf(buf, cap, "'%s'", x->name);
    else if (x->token == T_NUMBER) snprintf(buf, cap, "%s", lang_dim_name(x->dim));
    else if (x->token == T_TEXT) snprintf(buf, cap, "\"%.60s\"", x->text);
    else if (x->token >= T_LE && x->token <= T_NE) snprintf(buf, cap, "'%s'", pairs[x->token - T_LE]);
    else snprintf(buf, cap, "'%c'", x->token);
    return buf;
}

static const struct { const char *word; double factor; struct lang_dim dim; } units[] = {
    {"ns", 1, {1, 0}}, {"us", 1e3, {1, 0}}, {"ms", 1e6, {1, 0}}, {"s", 1e9, {1, 0}}, {"min", 60e9, {1, 0}}, {"h", 3600e9, {1, 0}},
    {"B", 1, {0, 1}}, {"KB", 1e3, {0, 1}}, {"MB", 1e6, {0, 1}}, {"GB", 1e9, {0, 1}}, {"TB", 1e12, {0, 1}},
    {"KiB", 1024, {0, 1}}, {"MiB", 1048576, {0, 1}}, {"GiB", 1073741824, {0, 1}},
};
bool unit_of(const char *word, double *factor, struct lang_dim *dim)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcmp(units[i].word, word)) {
            *factor = units[i].factor;
            *dim = units[i].dim;
            return true;
        }
    return false;
}

bool lang_time(const char *text, uint64_t *ns)
{
    char *unit;
    double v = strtod(text, &unit), factor;
    struct lang_dim d;
    if (unit == text || *text == '-' || !unit_of(unit, &factor, &d) || d.time != 1 || !(v * factor <= 1e18)) return false;
    *ns = (uint64_t)llround(v * factor);
    return true;
}

static bool letter(int c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool digit(int c) { return c >= '0' && c <= '9'; }

static void read_word(struct parser *p)
{
    struct lexer *x = &p->x;
    size_t n = 0;
    /* a dash within a name, as in `co-exec`, unless it may be a minus: names of programs are few,
     * subtractions write blanks */
    while (x->p < x->end && (letter(*x->p) || digit(*x->p) || (*x->p == '.' && n))) {
        if (n == LANG_NAME_MAX) fail(p, "a name of more than %u characters", LANG_NAME_MAX);
        x->name[n++] = *x->p++;
    }
    x->name[n] = 0;
}

static void read_number(struct parser *p)
{
    struct lexer *x = &p->x;
    char buf[64];
    size_t n = 0;
    while (x->p < x->end && (digit(*x->p) || *x->p == '.' || *x->p == '_' ||
           ((*x->p == 'e' || *x->p == 'E') && n && x->end - x->p > 1 && (digit(x->p[1]) || ((x->p[1] == '-' || x->p[1] == '+') && x->end - x->p > 2 && digit(x->p[2])))))) {
        bool power = *x->p == 'e' || *x->p == 'E';
        if (n + 2 >= sizeof buf) fail(p, "a number of more than %zu digits", sizeof buf - 2);
        if (*x->p != '_') buf[n++] = *x->p;
        x->p++;
        if (power && (*x->p == '-' || *x->p == '+')) buf[n++] = *x->p++;
    }
    buf[n] = 0;
    char *rest;
    x->number = strtod(buf, &rest);
    if (*rest || !n) fail(p, "'%s' is no number", buf);
    x->dim = (struct lang_dim){0, 0};
    if (x->p < x->end && letter(*x->p)) {
        double factor;
        read_word(p);
        if (!unit_of(x->name, &factor, &x->dim))
            fail(p, "unknown unit '%s': there are ns, us, ms, s, min, h, B, KB, MB, GB, TB, KiB, MiB, GiB", x->name);
        x->number *= factor;
    }
    if (!isfinite(x->number) || x->number > 1e18) fail(p, "a number that is too large (1e18 is the most)");
    x->token = T_NUMBER;
}

static void read_text(struct parser *p)
{
    struct lexer *x = &p->x;
    size_t n = 0;
    for (x->p++;; x->p++) {
        if (x->p >= x->end || *x->p == '\n') fail(p, "a text without its closing '\"'");
        if (*x->p == '"') break;
        if ((unsigned char)*x->p < 0x20 || *x->p == 0x7f) fail(p, "a control character in a text");
        if (n + 1 >= sizeof x->text) fail(p, "a text of more than %zu bytes", sizeof x->text - 1);
        x->text[n++] = *x->p;
    }
    x->text[n] = 0;
    x->p++;
    x->token = T_TEXT;
}

/* Blanks, comments, and line ends behind a backslash. */
static void skip(struct parser *p)
{
    struct lexer *x = &p->x;
    while (x->p < x->end) {
        if (*x->p == ' ' || *x->p == '\t' || *x->p == '\r') {
            x->p++;
        } else if (*x->p == '#') {
            while (x->p < x->end && *x->p != '\n') x->p++;
        } else if (*x->p == '\\' && x->end - x->p > 1 && (x->p[1] == '\n' || (x->p[1] == '\r' && x->end - x->p > 2 && x->p[2] == '\n'))) {
            x->p += x->p[1] == '\n' ? 2 : 3;
            x->line++;
            x->line_start = x->p;
        } else {
            return;
        }
    }
}

void next(struct parser *p)
{
    struct lexer *x = &p->x;
    skip(p);
    size_t col = (size_t)(x->p - x->line_start) + 1;
    x->pos = (struct lang_pos){.file = x->file, .line = x->line, .col = col > 65535 ? 65535 : (uint16_t)col};
    if (x->p >= x->end) {
        x->token = T_END;
        return;
    }
    int c = (unsigned char)*x->p;
    if (c == '\n') {
        x->token = T_LINE;
        x->p++;
        x->line++;
        x->line_start = x->p;
    } else if (letter(c)) {
        read_word(p);
        x->token = T_NAME;
    } else if (digit(c) || (c == '.' && x->end - x->p > 1 && digit(x->p[1]))) {
        read_number(p);
    } else if (c == '"') {
        read_text(p);
    } else if (strchr("<>=!", c) && c && x->end - x->p > 1 && x->p[1] == '=') {
        x->token = c == '<' ? T_LE : c == '>' ? T_GE : c == '=' ? T_EQ : T_NE;
        x->p += 2;
    } else if (c && strchr("+-*/%()[],=<>:", c)) {
        x->token = c;
        x->p++;
    } else {
        fail(p, c > 0x20 && c < 0x7f ? "the character '%c' has no meaning here" : "a byte that has no meaning here (0x%02x)", c);
    }
}

bool is_name(const struct parser *p, const char *word) { return p->x.token == T_NAME && !strcmp(p->x.name, word); }

bool accept_name(struct parser *p, const char *word)
{
    if (!is_name(p, word)) return false;
    next(p);
    return true;
}

bool accept(struct parser *p, int token)
{
    if (p->x.token != token) return false;
    next(p);
    return true;
}

void expect(struct parser *p, int token, const char *what)
{
    char buf[80];
    if (!accept(p, token)) fail(p, "expected %s, not %s", what, token_text(p, buf, sizeof buf));
}

void end_of_line(struct parser *p)
{
    char buf[80];
    if (p->x.token == T_END) return;
    if (!accept(p, T_LINE)) fail(p, "expected the end of the line, not %s", token_text(p, buf, sizeof buf));
}
