/* bench/nosv-omp/product.c - C += A B of square blocks by the threads of a team.  SPDX-License-Identifier: Apache-2.0 */
#include "product.h"

#include "../workloads/workload.h"

typedef double pair __attribute__((vector_size(16)));

/* 4 x 4 cells of C, which stay in registers; strip has 4 columns of B, row by row. */
static void multiply_cells(double *c, const double *a, const double *strip, long n)
{
    pair sum[4][2] = {0};
    for (long k = 0; k < n; k++) {
        pair b0 = *(const pair *)(strip + 4 * k), b1 = *(const pair *)(strip + 4 * k + 2);
        for (int r = 0; r < 4; r++) {
            pair x = {a[r * n + k], a[r * n + k]};
            sum[r][0] += x * b0;
            sum[r][1] += x * b1;
        }
    }
    for (int r = 0; r < 4; r++) {
        *(pair *)(c + r * n) += sum[r][0];
        *(pair *)(c + r * n + 2) += sum[r][1];
    }
}

void product_part(const struct product *p, int me, int size, void (*meet)(void))
{
    long n = p->n, strips = PANEL / 4, from = n / 4 * me / size * 4, to = n / 4 * (me + 1) / size * 4;
    double *panel = p->panels, *other = p->panels + n * PANEL;
    for (long j = 0; j < n; j += PANEL) {
        for (long s = strips * me / size; s < strips * (me + 1) / size; s++)
            for (long k = 0; k < n; k++)
                for (long l = 0; l < 4; l++) panel[(s * n + k) * 4 + l] = p->b[k * n + j + 4 * s + l];
        if (size > 1) meet();
        for (long i = from; i < to; i += 4)
            for (long s = 0; s < strips; s++) multiply_cells(p->c + i * n + j + 4 * s, p->a + i * n, panel + s * n * 4, n);
        double *next = other;
        other = panel;
        panel = next;
    }
}

double *product_block(long n, long seed)
{
    double *m = aligned_alloc(64, (size_t)(n * n) * sizeof *m);
    if (!m) die("out of memory");
    for (long i = 0; i < n * n; i++) m[i] = seed ? (double)((i * 7 + i / n * 3 + seed * 5) % 11 - 5) : 0;
    return m;
}

double product_sum(long n, const double *block)
{
    double sum = 0;
    for (long i = 0; i < n * n; i++) sum += block[i] * (double)(i % 7 + 1);
    return sum;
}
