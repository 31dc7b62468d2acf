/* bench/nosv-omp/product.h - C += A B of square blocks by the threads of a team.  SPDX-License-Identifier: Apache-2.0
 *
 * The threads pack a panel of B together, meet at a barrier, and multiply: each has rows of its own of A
 * and C. There are two buffers for panels, so one barrier for each panel is enough. */
#ifndef NOSV_OMP_PRODUCT_H
#define NOSV_OMP_PRODUCT_H

#include <stddef.h>

#define PANEL 64L       /* columns; a block's side is a multiple */

struct product {
    long n;             /* rows and columns, a multiple of PANEL */
    double *c;
    const double *a, *b;
    double *panels;     /* 2 * n * PANEL cells, aligned to 64 bytes */
};

static inline size_t product_panels(long n) { return 2 * (size_t)n * PANEL * sizeof(double); }

/* A new block of small integers, so that any order of summation has the same result; of zeros if seed is 0.
 * Ends the program where there is no memory. */
double *product_block(long n, long seed);
double product_sum(long n, const double *block);

/* The part of thread `me` of `size`. All of them call it; meet() is their barrier. */
void product_part(const struct product *p, int me, int size, void (*meet)(void));

#endif
