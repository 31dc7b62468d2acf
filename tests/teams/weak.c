/* tests/teams/weak.c - a program that uses OpenMP if it is there.  SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

void GOMP_parallel(void (*)(void *), void *, unsigned, unsigned) __attribute__((weak));
void __kmpc_fork_call(void *, int, void (*)(void), ...) __attribute__((weak));
int omp_get_num_threads(void) __attribute__((weak));
int omp_get_thread_num(void) __attribute__((weak));
int omp_get_max_threads(void) __attribute__((weak));

static void count(void *n) { if (omp_get_thread_num() == 0) *(int *)n = omp_get_num_threads(); }

int main(void)
{
    int n = 0;
    if (GOMP_parallel) GOMP_parallel(count, &n, 0, 0);
    printf("%d %d %d\n", (GOMP_parallel != 0) + 2 * (__kmpc_fork_call != 0), omp_get_max_threads ? omp_get_max_threads() : 0, n);
    return 0;
}
