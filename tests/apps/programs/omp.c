/* OpenMP: nested regions, tasks, locks, barriers, reductions.  SPDX-License-Identifier: Apache-2.0 */
#include <omp.h>
#include <stdio.h>

static long fib(int n)
{
    long a, b;
    if (n < 12) return n < 2 ? n : fib(n - 1) + fib(n - 2);
#pragma omp task shared(a)
    a = fib(n - 1);
#pragma omp task shared(b)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

int main(void)
{
    long sum = 0, inner = 0, locked = 0, critical = 0, f = 0;
    omp_lock_t lock;
    omp_init_lock(&lock);
    omp_set_max_active_levels(2);
#pragma omp parallel for num_threads(8) reduction(+ : sum) schedule(dynamic, 7)
    for (int i = 0; i < 100000; i++) sum += i;
#pragma omp parallel num_threads(4)
    for (int r = 0; r < 20; r++) {
#pragma omp parallel num_threads(4) reduction(+ : inner)
        inner++;
#pragma omp barrier
        omp_set_lock(&lock);
        locked++;
        omp_unset_lock(&lock);
#pragma omp critical
        critical++;
    }
#pragma omp parallel num_threads(8)
#pragma omp single
    f = fib(24);
    printf("sum %ld inner %s locked %ld critical %ld fib %ld\n", sum, inner > 0 ? "some" : "none", locked,
           critical, f);
    return 0;
}
