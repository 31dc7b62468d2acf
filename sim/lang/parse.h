/* sim/lang/parse.h - inside the parser of workloads.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_SIM_LANG_PARSE_H
#define USF_SIM_LANG_PARSE_H

#include "sim/lang/lang.h"
#include <setjmp.h>

enum token { T_END, T_LINE, T_NAME, T_NUMBER, T_TEXT, T_LE, T_GE, T_EQ, T_NE };  /* others: the character itself */

struct lexer {
    const char *p, *end, *line_start;
    uint32_t line;
    uint16_t file;
    /* the current token */
    int token;
    struct lang_pos pos;
    char name[LANG_NAME_MAX + 1];   /* T_NAME */
    char text[1024];                /* T_TEXT */
    double number;                  /* T_NUMBER */
    struct lang_dim dim;
};

struct parser {
    struct lexer x;
    struct lang_workload *w;
    struct lang_error *err;
    lang_read_fn *read;
    jmp_buf out;                    /* where an error goes; everything is in the arena, or in `texts` */
    char *texts[LANG_FILES_MAX];
    struct lang_program *program;   /* the one that we are in, or null */
    struct lang_thread *thread;
    char *locals[LANG_LOCALS_MAX];
    struct lang_dim local_dim[LANG_LOCALS_MAX];
    uint32_t nr_locals;
    unsigned nest, brackets, includes;
    bool in_graph;                  /* within taskgraph, not within one of its tasks */
    unsigned in_team;               /* within parallel, or a task: who executes it is not known before */
};

/* ---- lex.c ------------------------------------------------------------------------------------- */
void fail_at(struct parser *p, struct lang_pos pos, const char *fmt, ...) __attribute__((noreturn, format(printf, 3, 4)));
void fail(struct parser *p, const char *fmt, ...) __attribute__((noreturn, format(printf, 2, 3)));   /* at the current token */
const char *token_text(const struct parser *p, char *buf, size_t cap);   /* the current one, for messages */
void next(struct parser *p);
bool is_name(const struct parser *p, const char *word);
bool accept_name(struct parser *p, const char *word);   /* takes it if it is there */
bool accept(struct parser *p, int token);
void expect(struct parser *p, int token, const char *what);
void end_of_line(struct parser *p);
bool unit_of(const char *word, double *factor, struct lang_dim *dim);
void *arena(struct parser *p, size_t size);             /* zeroed */
char *arena_text(struct parser *p, const char *s);

/* ---- expr.c ------------------------------------------------------------------------------------ */
struct lang_expr *expression(struct parser *p);
struct lang_expr *expression_of(struct parser *p, int time, int bytes, const char *what);   /* "compute's time" */
struct lang_expr *constant_of(struct parser *p, int time, int bytes, const char *what);
#define number_of(p, what)      expression_of(p, 0, 0, what)
#define time_of(p, what)        expression_of(p, 1, 0, what)
bool starts_expression(const struct parser *p);
/* May a new thing have this name? */
char *new_name(struct parser *p, const char *what, bool value);  /* value: it can stand in expressions */
double literal_number(struct parser *p, const char *what);

/* ---- stmt.c ------------------------------------------------------------------------------------ */
struct lang_stmt *block(struct parser *p, const char *of, struct lang_pos from, bool *at_else);
uint8_t how_to_wait(struct parser *p, enum lang_wait otherwise);
struct lang_object *find_object(struct parser *p, const char *name, bool *global);

#endif
