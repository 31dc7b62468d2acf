/* bench/workloads/omp_cg.c - conjugate gradients on a 3-D Poisson problem.  SPDX-License-Identifier: Apache-2.0
 * The grain is set by --n: at 32 a parallel loop takes some 10 us, at 96 several 100 us. */
#include "workload.h"

#include <math.h>
#include <omp.h>

static long n, total;

static double *vec(void)
{
    double *v = calloc((size_t)total, sizeof *v);
    if (!v) die("out of memory");
    return v;
}

/* y = A x: 7-point stencil, zero outside. */
static void apply(const double *x, double *y)
{
    long nn = n * n;
#pragma omp parallel for
    for (long i = 0; i < n; i++)
        for (long j = 0; j < n; j++) {
            const double *r = x + i * nn + j * n;
            double *o = y + i * nn + j * n;
            for (long k = 0; k < n; k++) {
                double s = 6 * r[k];
                if (k) s -= r[k - 1];
                if (k < n - 1) s -= r[k + 1];
                if (j) s -= r[k - n];
                if (j < n - 1) s -= r[k + n];
                if (i) s -= r[k - nn];
                if (i < n - 1) s -= r[k + nn];
                o[k] = s;
            }
        }
}

static double dot(const double *a, const double *b)
{
    double s = 0;
#pragma omp parallel for reduction(+ : s)
    for (long i = 0; i < total; i++) s += a[i] * b[i];
    return s;
}

/* y = a x + b y */
static void axpby(double a, const double *x, double b, double *y)
{
#pragma omp parallel for
    for (long i = 0; i < total; i++) y[i] = a * x[i] + b * y[i];
}

int main(int argc, char **argv)
{
    opt_check(argc, argv, "--n --threads --iterations");
    n = opt_long(argc, argv, "--n", 32);
    int threads = (int)opt_long(argc, argv, "--threads", 0);
    long iterations = opt_long(argc, argv, "--iterations", 1000);
    if (threads > 0) omp_set_num_threads(threads);
    total = n * n * n;
    double *x = vec(), *r = vec(), *p = vec(), *q = vec(), *b = vec();
    for (long i = 0; i < total; i++) b[i] = sin((double)i);
    begin_line("cg", (double)iterations, "iteration");

    double t0 = now_s(), rr = 0, first = 0;
    for (long it = 0; it < iterations; it++) {
        if (it % 50 == 0) { /* from the start every 50 steps: the residual never reaches zero */
            memset(x, 0, sizeof(double) * (size_t)total);
            memcpy(r, b, sizeof(double) * (size_t)total);
            memcpy(p, b, sizeof(double) * (size_t)total);
            rr = first = dot(r, r);
        }
        apply(p, q);
        double alpha = rr / dot(p, q);
        axpby(alpha, p, 1, x);
        axpby(-alpha, q, 1, r);
        double rr1 = dot(r, r);
        axpby(1, r, rr1 / rr, p);
        rr = rr1;
    }
    double t = now_s() - t0;

    /* The recursive residual must be the true one, and smaller than it was. */
    apply(x, q);
    axpby(1, b, -1, q);
    double true_rr = dot(q, q);
    int ok = fabs(true_rr - rr) <= 1e-6 * first && rr < first;
    char more[100];
    snprintf(more, sizeof more, "n=%ld threads=%d iterations=%ld", n, threads, iterations);
    return result_line("cg", (double)iterations, t, "iteration", ok, more);
}
