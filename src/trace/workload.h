/* src/trace/workload.h - what a recording comes to, on the way to a workload's text.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_TRACE_WORKLOAD_H
#define USF_TRACE_WORKLOAD_H

#include "trace/file.h"

/* OP_READY becomes OP_SUBMIT, OP_POST or nothing, once it is known who takes the task. */
enum op_kind { OP_COMPUTE, OP_SLEEP, OP_IO, OP_YIELD, OP_POST, OP_WAIT, OP_PAUSE, OP_SPAWN, OP_READY, OP_SUBMIT, OP_NOTHING };
struct op { uint32_t kind, what; uint64_t ns; };

/* What a thread does, or the execution of a task. */
struct line {
    struct op *op;              /* ns: the sum of all that this line stands for */
    size_t nr, room;
    uint64_t from;              /* when it was made, or made ready */
    uint32_t program;
    uint32_t same;              /* of an execution: the line that stands for it, and for all that are alike */
    uint32_t times, next;       /* ... of that line: for how many; the next of the same shape */
    bool taken;                 /* of an execution: a thread has begun it */
    char label[17];
};

/* What a line waits on for another.  number: in the text. */
struct semaphore { uint32_t waiter, same, number; };

/* A task became ready.  OP_READY names one of these. */
struct ready { uint64_t ns; uint32_t by, becomes, what; };      /* by: a line; becomes: OP_NOTHING, OP_SUBMIT (what: a line), OP_POST (what: one) */

struct making {
    const struct trace *t;
    struct line *line;          /* of each thread; of each program, for tasks that no known thread has submitted; of each execution, in order */
    uint32_t nr_lines, room_lines;
    struct ready *ready;
    uint32_t nr_ready, room_ready;
    struct semaphore *semaphore;
    uint32_t nr_semaphores, room_semaphores;
    uint32_t *nr_of_program;    /* semaphores of each program, in the text */
    bool *alone;                /* of each thread: it begins by itself, no thread in the workload spawns it */
    bool *worker;               /* ... it executes tasks for the program's runtime, and is not in the workload */
    bool failed;                /* memory is short */
};

static inline uint32_t first_execution(const struct trace *t) { return t->nr_threads + t->nr_programs; }
/* Times that are taken for the same: they differ by an eighth, or 2 us. */
static inline bool op_is_near(uint64_t a, uint64_t b)
{
    uint64_t most = a > b ? a : b, d = most - (a > b ? b : a);
    return d <= 2000 || d <= most / 8;
}

/* workload_tasks.c: say who submits which task, and have one line stand for executions that are
 * alike. */
void workload_join_tasks(struct making *m);
/* workload_text.c: false: memory is short. */
bool workload_put(const struct making *m, FILE *f, const char *from);

#endif
