/* sim/lang/lower_in.h - inside the lowering.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_SIM_LANG_LOWER_IN_H
#define USF_SIM_LANG_LOWER_IN_H

#include "sim/lang/lower.h"
#include <setjmp.h>

#define DEP_THREAD 1u   /* depends on which thread of its group executes it */
#define DEP_DRAWN  2u   /* something is drawn by chance here */

struct ops { struct sim_op *op; uint32_t nr, cap; };

struct lower {
    const struct lang_workload *w;
    const struct sim_machine *m;
    struct lang_lowered *out;
    struct lang_error *err;
    jmp_buf fail;
    uint64_t random, steps;
    uint32_t ops;                   /* so far, of all programs */
    double *params;
    /* the program that is made */
    const struct lang_program *lp;
    struct sim_program *prog;
    double args[LANG_ARGS_MAX];
    double instance;
    uint32_t *base, *length;        /* [lp->nr_objects]: first index and number, of its kind */
    uint32_t *global, *global_length;   /* [w->nr_objects]: of those that all share */
    uint32_t codes_cap, graphs_cap;
    uint32_t *code_of;              /* [lp->nr_threads]: code of a thread all of which do the same, or SIM_NO_CODE */
    /* the thread */
    double locals[LANG_LOCALS_MAX];
    double thread, threads;
    unsigned teams;                 /* parallel regions around: what is drawn here would be the same for all */
    struct ops *into;               /* where operations go */
    struct ops stack[64];           /* all that are being made: `into` is the last */
    unsigned depth;
    struct graph *graph;
};

/* ---- lower.c ----------------------------------------------------------------------------------- */
void lower_fail(struct lower *l, struct lang_pos pos, const char *fmt, ...) __attribute__((noreturn, format(printf, 3, 4)));
void *lower_alloc(struct lower *l, size_t nr, size_t size);                     /* zeroed; never null */
void *lower_grow(struct lower *l, void *p, uint32_t *cap, uint32_t need, size_t size);
double lower_random(struct lower *l);                                           /* [0, 1) */

/* ---- lower_expr.c ------------------------------------------------------------------------------- */
double lower_value(struct lower *l, const struct lang_expr *e);
uint64_t lower_count(struct lower *l, const struct lang_expr *e, const char *what, uint64_t min, uint64_t max);
uint64_t lower_time(struct lower *l, const struct lang_expr *e, const char *what);
/* What it depends on: DEP_*; and *reads |= the variables. */
unsigned lower_depends(const struct lang_expr *e, uint32_t *reads);
/* Can the engine draw this?  exp(T) or uniform(T, T) alone, of what is not itself drawn. */
bool lower_is_drawable(const struct lang_expr *e);

/* ---- lower_code.c ------------------------------------------------------------------------------- */
void lower_begin(struct lower *l);                      /* operations go to a new place from now on, */
uint32_t lower_end(struct lower *l);                    /* ... until here: END is added, and it becomes a code; its index */
void lower_statements(struct lower *l, const struct lang_stmt *s);
void lower_threads(struct lower *l);                    /* of l->lp: all its codes, and main */
struct sim_op lower_compute(struct lower *l, const struct lang_stmt *s);

/* ---- lower_graph.c ------------------------------------------------------------------------------ */
uint32_t lower_graph(struct lower *l, const struct lang_stmt *s);       /* index of the graph */
void lower_task(struct lower *l, const struct lang_stmt *s);
void lower_graph_free(struct lower *l);                 /* what is left of one after an error */

#endif
