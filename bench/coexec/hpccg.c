/* bench/coexec/hpccg.c - conjugate gradients on a 27-point stencil, as HPCCG has it.  SPDX-License-Identifier: Apache-2.0
 *
 * Bound by memory: the sparse matrix is read once in each iteration. The solution is 1 everywhere. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common.h"
#include "flow.h"

#define CHUNK 8192L

static long side, rows;
static double *values, *x, *b, *r, *p, *ap;
static int32_t *columns;
static long *first;         /* of each row, in values and columns; rows + 1 of them */

static bool is_inside(long i) { return i >= 0 && i < side; }

static void add_row(long ix, long iy, long iz)
{
    long row = (iz * side + iy) * side + ix, at = first[row];
    for (long z = iz - 1; z <= iz + 1; z++)
        for (long y = iy - 1; y <= iy + 1; y++)
            for (long c = ix - 1; c <= ix + 1; c++) {
                if (!is_inside(z) || !is_inside(y) || !is_inside(c)) continue;
                long column = (z * side + y) * side + c;
                columns[at] = (int32_t)column;
                values[at++] = column == row ? 27 : -1;
            }
    first[row + 1] = at;
    b[row] = 28 - (double)(at - first[row]);
}

static void setup(long n)
{
    side = n;
    rows = n * n * n;
    values = bench_memory((size_t)rows * 27, sizeof *values);
    columns = bench_memory((size_t)rows * 27, sizeof *columns);
    first = bench_memory((size_t)rows + 1, sizeof *first);
    x = bench_memory((size_t)rows, sizeof *x);
    b = bench_memory((size_t)rows, sizeof *b);
    r = bench_memory((size_t)rows, sizeof *r);
    p = bench_memory((size_t)rows, sizeof *p);
    ap = bench_memory((size_t)rows, sizeof *ap);
    for (long z = 0; z < n; z++)
        for (long y = 0; y < n; y++)
            for (long i = 0; i < n; i++) add_row(i, y, z);
}

static double times_p(long row)
{
    double sum = 0;
    for (long i = first[row]; i < first[row + 1]; i++) sum += values[i] * p[columns[i]];
    return sum;
}

/* Four sums: the additions do not wait for each other. */
static double dot(const double *u, const double *v, long from, long to)
{
    double sum[4] = {0}, rest = 0;
    long i = from;
    for (; i + 4 <= to; i += 4)
        for (int l = 0; l < 4; l++) sum[l] += u[i + l] * v[i + l];
    for (; i < to; i++) rest += u[i] * v[i];
    return bench_sum(sum, 4) + rest;
}

static void begin(void *arg, long from, long to)
{
    for (long i = from; i < to; i++) {
        x[i] = 0;
        r[i] = p[i] = b[i];
    }
}

static double r_dot_r(void *arg, long from, long to) { return dot(r, r, from, to); }

/* ap = A p; returns p . ap */
static double multiply(void *arg, long from, long to)
{
    for (long i = from; i < to; i++) ap[i] = times_p(i);
    return dot(p, ap, from, to);
}

static void step(void *arg, long from, long to)
{
    double alpha = *(double *)arg;
    for (long i = from; i < to; i++) {
        x[i] += alpha * p[i];
        r[i] -= alpha * ap[i];
    }
}

static void turn(void *arg, long from, long to)
{
    double beta = *(double *)arg;
    for (long i = from; i < to; i++) p[i] = r[i] + beta * p[i];
}

/* Loops and sums of the flow layer, or serial ones. */
struct how {
    void (*each)(long n, long chunk, flow_body *body, void *arg);
    double (*sum)(long n, long chunk, flow_part *part, void *arg);
};

static void solve(const struct how *h, long iterations)
{
    h->each(rows, CHUNK, begin, NULL);
    double rr = h->sum(rows, CHUNK, r_dot_r, NULL);
    for (long n = 0; n < iterations && rr > 0; n++) {
        double alpha = rr / h->sum(rows, CHUNK, multiply, NULL), last = rr;
        h->each(rows, CHUNK, step, &alpha);
        rr = h->sum(rows, CHUNK, r_dot_r, NULL);
        double beta = rr / last;
        h->each(rows, CHUNK, turn, &beta);
    }
}

static void run(long iterations) { solve(&(struct how){flow_for, flow_sum}, iterations); }
static double checksum(void) { return bench_sum(x, rows); }

static void serial_each(long n, long chunk, flow_body *body, void *arg) { body(arg, 0, n); }
static double serial_sum(long n, long chunk, flow_part *part, void *arg) { return part(arg, 0, n); }

static double deviation(long iterations)
{
    double *mine = x, worst = 0;
    x = bench_memory((size_t)rows, sizeof *x);
    solve(&(struct how){serial_each, serial_sum}, iterations);
    for (long i = 0; i < rows; i++) worst = bench_worse(worst, fabs(x[i] - mine[i]));
    free(x);
    x = mine;
    return worst;
}

int main(int argc, char **argv)
{
    return bench_main(&(struct bench){.name = "hpccg", .size_is = "points on a side of the cube", .size = 96, .iterations = 60,
        .setup = setup, .run = run, .checksum = checksum, .deviation = deviation, .tolerance = 1e-9}, argc, argv);
}
