/* bench/nosv-omp/inner.h - the runtime below the tasks: OpenMP, or a team made by hand.  SPDX-License-Identifier: Apache-2.0 */
#ifndef NOSV_OMP_INNER_H
#define NOSV_OMP_INNER_H

#include "product.h"

extern const char inner_name[];

/* Teams will have `threads` threads, the caller of inner_multiply among them. blas: the library whose dgemm
 * is called, null: product.h. */
void inner_start(int threads, const char *blas);
/* By a task: C += A B by a team. */
void inner_multiply(const struct product *p);
/* By the attached thread that has created the tasks, when all have ended. */
void inner_stop(void);

/* blas.c: load the library and set its number of threads; C += A B, of rows x n by n x n cells. */
void blas_load(const char *path, int threads);
void blas_multiply(long rows, long n, double *c, const double *a, const double *b);

#endif
