/* tests/loader/region.c - a library with a parallel region of OpenMP, compiled for each runtime.  SPDX-License-Identifier: Apache-2.0 */
#include <omp.h>

int region_sum(int n, int *threads);

/* 1 + 2 + ... + n, and by how many threads. */
int region_sum(int n, int *threads)
{
    int sum = 0, used = 0;
#pragma omp parallel reduction(+ : sum)
    {
#pragma omp single
        used = omp_get_num_threads();
#pragma omp for
        for (int i = 1; i <= n; i++) sum += i;
    }
    *threads = used;
    return sum;
}
