/* bench/workloads/outer.h - the outer level of nested parallelism.  SPDX-License-Identifier: Apache-2.0
 * One implementation is linked into each nested-* program: pthread, gomp tasks, TBB. */
#ifndef OUTER_H
#define OUTER_H

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*outer_fn)(long i, void *arg);

extern const char outer_name[];

/* The team has `threads` threads, the caller among them. */
void outer_start(int threads);
/* fn(i, arg) for all i in [0, n), in any order; returns when all have run. */
void outer_for(long n, outer_fn fn, void *arg);
void outer_stop(void);

#ifdef __cplusplus
}
#endif
#endif
