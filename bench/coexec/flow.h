/* bench/coexec/flow.h - loops and tasks with dependencies over nosv.h.  SPDX-License-Identifier: Apache-2.0
 *
 * The benchmarks of this folder are written over this layer as the nOS-V paper's are over OmpSs-2. One
 * thread, the one that calls flow_begin, creates all loops and tasks; flow_begin attaches it. Bodies
 * run in tasks, create none and wait for none.
 *
 * A loop is one parallel task: each chunk of its range is one execution. The caller pauses until the
 * last chunk has ended. Chunks do not depend on the number of CPUs, and the results of a reduction are
 * combined in the order of the chunks, so that results are the same on any number of CPUs.
 *
 * A task runs when all tasks that it depends on have ended. Dependencies follow from the addresses that
 * a task names, in the order of creation: a reader runs after the last writer before it; a writer runs
 * after the last writer and after the readers since then. flow_wait ends all dependencies.
 *
 * An error of the library ends the program with a message. */
#ifndef COEXEC_FLOW_H
#define COEXEC_FLOW_H

#include <stddef.h>

/* Initialise the library and attach the calling thread; the reverse. The name is that of the task types. */
void flow_begin(const char *name);
void flow_end(void);

/* Call body(arg, from, to) for each chunk of 0 .. n-1. */
typedef void flow_body(void *arg, long from, long to);
void flow_for(long n, long chunk, flow_body *body, void *arg);

/* The sum, or the least, of what the chunks return. */
typedef double flow_part(void *arg, long from, long to);
double flow_sum(long n, long chunk, flow_part *part, void *arg);
double flow_min(long n, long chunk, flow_part *part, void *arg);

/* Create a task: body receives a copy of size bytes at args. */
struct flow_access {
    const void *address;
    enum { FLOW_IN, FLOW_OUT } mode;    /* it only reads; it writes */
};
typedef void flow_task_body(void *args);
void flow_task(flow_task_body *body, const void *args, size_t size, const struct flow_access *accesses, size_t n);
#define FLOW_TASK(body, args, ...) \
    flow_task(body, &(args), sizeof(args), (struct flow_access[]){__VA_ARGS__}, \
        sizeof((struct flow_access[]){__VA_ARGS__}) / sizeof(struct flow_access))

/* Wait until all tasks have ended. */
void flow_wait(void);

#endif
