/* tests/survey/programs/gemm.c - products of matrices by whatever BLAS it is linked to.  SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *, const double *, const int *, const double *, const int *,
            const double *, double *, const int *);

int main(void) {
    int n = 400;
    double one = 1, zero = 0, sum = 0;
    double *a = malloc(n * n * sizeof *a), *b = malloc(n * n * sizeof *b), *c = malloc(n * n * sizeof *c);
    for (int i = 0; i < n * n; i++)
        a[i] = i % 17, b[i] = i % 13;
    for (int round = 0; round < 60; round++) {
        a[round] += 1;
        dgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
        for (int i = 0; i < n * n; i += 97)
            sum += c[i];
    }
    printf("%.0f\n", sum);
    return 0;
}
