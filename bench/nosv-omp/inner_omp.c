/* bench/nosv-omp/inner_omp.c - a parallel region of OpenMP in each task, or of the BLAS itself.  SPDX-License-Identifier: Apache-2.0 */
#include <omp.h>

#include "inner.h"

const char inner_name[] = "omp";

static int threads;
static const char *library;

static void meet(void)
{
    #pragma omp barrier
}

void inner_start(int n, const char *blas)
{
    threads = n;
    library = blas;
    if (blas) blas_load(blas, n);
}

void inner_multiply(const struct product *p)
{
    if (library) {
        blas_multiply(p->n, p->n, p->c, p->a, p->b);
        return;
    }
    #pragma omp parallel num_threads(threads)
    product_part(p, omp_get_thread_num(), omp_get_num_threads(), meet);
}

void inner_stop(void) {}
