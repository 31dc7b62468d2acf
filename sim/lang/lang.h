/* sim/lang/lang.h - the workload language: text to a tree.  SPDX-License-Identifier: Apache-2.0
 *
 * docs/simulator.md describes the language.  A tree is made by lang_parse from files or from
 * memory, is never changed after, and lives in one arena until lang_free.  Every expression has a
 * dimension (time and bytes, each to a power), which is checked while parsing: `compute 5` is an
 * error, `compute 5ms` is not.
 *
 * Values are doubles: numbers, times in ns, sizes in bytes, bandwidths in bytes per ns. */
#ifndef USF_SIM_LANG_H
#define USF_SIM_LANG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LANG_FILE_MAX   (4u << 20)  /* bytes of one file */
#define LANG_ARENA_MAX  (64u << 20) /* bytes that a tree may take */
#define LANG_NAME_MAX   63u
#define LANG_NEST_MAX   32u         /* blocks within blocks, brackets within brackets */
#define LANG_LOCALS_MAX 32u         /* variables of a thread */
#define LANG_ARGS_MAX   16u         /* arguments of a program */
#define LANG_FILES_MAX  16u         /* with those included */
#define LANG_POINTS_MAX 64u         /* points of a curve */

struct lang_pos { uint16_t file, col; uint32_t line; };
struct lang_dim { int8_t time, bytes; };

enum lang_op {
    LANG_NUMBER, LANG_PARAM, LANG_ARG, LANG_LOCAL, LANG_BUILTIN,       /* leaves; all but the first by `slot` */
    LANG_NEG, LANG_NOT,
    LANG_ADD, LANG_SUB, LANG_MUL, LANG_DIV, LANG_MOD,
    LANG_LT, LANG_LE, LANG_GT, LANG_GE, LANG_EQ, LANG_NE, LANG_AND, LANG_OR,
    LANG_CALL,      /* slot: enum lang_fn */
    LANG_CURVE,     /* slot: index of the curve; one argument */
};
enum lang_fn { FN_EXP, FN_UNIFORM, FN_NORMAL, FN_LOGNORMAL, FN_PARETO, FN_CHOOSE, FN_MIN, FN_MAX, FN_CEIL, FN_FLOOR, FN_ROUND,
               FN_LOG2, FN_SQRT, FN_NR };
enum lang_builtin { VAR_CORES, VAR_CPUS, VAR_NODES, VAR_LLCS, VAR_THREAD, VAR_THREADS, VAR_INSTANCE, VAR_NR };

#define LANG_OPERANDS 8u
struct lang_expr {
    uint8_t op, nr;             /* nr: arguments of a call, operands of an operator */
    bool constant;              /* params, args and the machine alone decide it: the same for the whole life of an instance */
    struct lang_dim dim;
    struct lang_pos pos;
    uint32_t slot;
    double number;
    struct lang_expr *arg[];
};

/* How a thread waits. */
enum lang_wait { WAIT_BLOCKING, WAIT_YIELDING, WAIT_SPINNING, WAIT_ADAPTIVE, WAIT_POLITE, WAIT_NR };   /* the last two block after a while */
extern const char *const lang_wait_words[WAIT_NR];

enum lang_object_kind { OBJ_LOCK, OBJ_BARRIER, OBJ_SEMAPHORE, OBJ_CHANNEL, OBJ_NR };
struct lang_object {
    char *name;
    struct lang_pos pos;
    uint8_t kind;
    uint8_t wait;               /* enum lang_wait */
    struct lang_expr *length;   /* null: one; else an array of so many */
    struct lang_expr *value;    /* parties, first count, or capacity; null: 0 or none */
    struct lang_object *next;
    uint32_t index;             /* among those of its program, or of the whole workload */
};
struct lang_use { struct lang_object *object; bool global; struct lang_expr *index; };

enum lang_stmt_kind {
    ST_COMPUTE, ST_IO, ST_SLEEP, ST_YIELD, ST_LOCK, ST_UNLOCK, ST_CRITICAL, ST_BARRIER, ST_WAIT, ST_POST, ST_SEND, ST_RECV,
    ST_REPEAT, ST_FOR, ST_WHILE, ST_IF, ST_SET, ST_PARALLEL, ST_TASKGRAPH, ST_TASK, ST_SPAWN, ST_JOIN, ST_REQUEST,
    ST_ANSWER, ST_PROGRESS, ST_SUBMIT, ST_PAUSE, ST_NR
};
enum lang_access { ACC_IN, ACC_OUT, ACC_INOUT };
/* What a task reads or writes: `A(i,j)`. */
struct lang_dep { struct lang_dep *next; uint32_t name; uint8_t access, nr; struct lang_expr *index[3]; };

struct lang_stmt {
    uint8_t kind;
    uint8_t wait;               /* of parallel, taskgraph and the team's barrier */
    bool divided;               /* compute: the time is that of the whole team */
    bool fixed;                 /* a block: nothing in it depends on a variable of the thread, nor is drawn by chance here */
    struct lang_pos pos;
    struct lang_stmt *next, *body, *other;   /* other: else */
    /* time, count, condition or value (null: the default); then: bandwidth (compute), last value
     * (for); memory's part (compute) */
    struct lang_expr *e, *e2, *e3;
    uint32_t slot;              /* variable of for and set */
    struct lang_use use;        /* no object: the team's barrier */
    struct lang_dep *deps;
    struct lang_thread *thread; /* of spawn */
};

struct lang_thread {
    char *name;
    struct lang_pos pos;
    struct lang_expr *count;    /* null: one */
    struct lang_stmt *body;
    uint32_t locals;
    bool joins, spawns, is_task;        /* is_task: a kind of task, of which `submit` makes some */
    bool has_flags;
    unsigned flags;             /* once it has them: what its statements depend on (lower_code.c) */
    struct lang_thread *next;
    uint32_t index;
};
struct lang_param { char *name; struct lang_pos pos; struct lang_expr *value; struct lang_param *next; uint32_t index; };
struct lang_curve { char *name; struct lang_pos pos; uint32_t nr, index; double x[LANG_POINTS_MAX], y[LANG_POINTS_MAX]; struct lang_curve *next; };

enum lang_program_option { PROG_WEIGHT, PROG_PRIORITY, PROG_NICE, PROG_FIFO, PROG_RR, PROG_WIDTH, PROG_SPIN, PROG_WORKING_SET, PROG_SLOTS, PROG_NR };

struct lang_program {
    char *name;
    struct lang_pos pos;
    struct lang_expr *option[PROG_NR];      /* null: the default */
    char *cpus;                             /* a Linux cpulist, or null */
    struct lang_curve *speedup;             /* or null */
    bool malleable, nogang, nofloat;
    struct lang_param *args;                /* with defaults */
    struct lang_object *objects;
    struct lang_thread *threads;
    struct lang_program *next;
    uint32_t nr_args, nr_objects, nr_threads, index;
};

enum lang_arrival { ARRIVE_AT, ARRIVE_EVERY, ARRIVE_POISSON };
struct lang_choice { struct lang_program *program; struct lang_expr *arg[LANG_ARGS_MAX]; struct lang_choice *next; };   /* arg null: the default */
struct lang_start {
    struct lang_pos pos;
    struct lang_choice *choices;            /* one of them by chance for each arrival */
    struct lang_expr *count, *at, *period;  /* period: between two, or the rate of poisson */
    uint8_t kind;
    struct lang_start *next;
};

struct lang_error { char file[256]; uint32_t line, col; char text[320]; };

struct lang_workload {
    char *title;                            /* or null */
    struct lang_param *params;
    struct lang_curve *curves;
    struct lang_object *objects;            /* shared by all programs */
    struct lang_program *programs;
    struct lang_start *starts;
    uint32_t nr_params, nr_objects, nr_programs, nr_starts, nr_curves, nr_data, nr_files;
    char *data[256];                        /* names of what tasks depend on */
    char *files[LANG_FILES_MAX];
    struct lang_arena *arena;
};

/* Null: *err says why.  `text` null: the file is read.  Files included and traces are looked for
 * beside the one that names them; `read` (null: the file system) reads one: malloc'd,
 * NUL-terminated, or null with *why. */
typedef char *lang_read_fn(const char *path, size_t *size, char *why, size_t cap);
struct lang_workload *lang_parse(const char *path, const char *text, size_t size, lang_read_fn *read, struct lang_error *err);
void lang_free(struct lang_workload *w);
/* Give a param another value: "NAME=VALUE".  0, or -1 with *err. */
int lang_set(struct lang_workload *w, const char *text, struct lang_error *err);

const char *lang_dim_name(struct lang_dim d);        /* "a time", "a number", ... */
const char *lang_object_word(enum lang_object_kind k);
/* "1.5ms": a number with a unit of time, alone. */
bool lang_time(const char *text, uint64_t *ns);
double lang_curve_at(const struct lang_curve *c, double x);

#endif
