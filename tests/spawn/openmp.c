/* tests/spawn/openmp.c - an object that brings libgomp with it.  SPDX-License-Identifier: Apache-2.0 */
int plugin_openmp(void);
int plugin_openmp(void)
{
    int sum = 0;
    for (int k = 0; k < 10; k++) {
#pragma omp parallel for num_threads(4) reduction(+ : sum)
        for (int i = 0; i < 100; i++) sum += i;
    }
    return sum;
}
