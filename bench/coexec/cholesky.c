/* bench/coexec/cholesky.c - A = L L^T by tiles, right-looking.  SPDX-License-Identifier: Apache-2.0
 *
 * Bound by computation, with little parallelism at the end. Each iteration makes the matrix anew, in tasks. */
#include <math.h>
#include <stdlib.h>

#include "common.h"
#include "flow.h"
#include "tile.h"

static double *matrix;          /* tile by tile, each row by row; the lower triangle counts */
static long tiles;

static double *tile_at(long i, long j) { return matrix + (i * tiles + j) * TILE_CELLS; }

static void setup(long n)
{
    tiles = n / TILE;
    matrix = bench_memory((size_t)(n * n), sizeof *matrix);
}

/* Positive definite, since the diagonal dominates. */
static double cell(long i, long j)
{
    long n = tiles * TILE;
    return i == j ? (double)n : bench_random((uint64_t)(i > j ? i * n + j : j * n + i));
}

struct step { long i, j, k; };

static void fill(void *args)
{
    const struct step *s = args;
    double *t = tile_at(s->i, s->j);
    for (long i = 0; i < TILE; i++)
        for (long j = 0; j < TILE; j++) t[i * TILE + j] = cell(s->i * TILE + i, s->j * TILE + j);
}

/* u = l^T: rows of u are what the inner loops below go along. */
static void transpose(double *u, const double *l)
{
    for (long i = 0; i < TILE; i++)
        for (long j = 0; j < TILE; j++) u[j * TILE + i] = l[i * TILE + j];
}

/* The tile on the diagonal: t = L L^T becomes L. */
static void factorise(void *args)
{
    const struct step *s = args;
    double *t = tile_at(s->k, s->k), u[TILE_CELLS];
    transpose(u, t);
    for (long j = 0; j < TILE; j++) {
        double *row = u + j * TILE, root = sqrt(row[j]);
        for (long k = j; k < TILE; k++) row[k] /= root;
        for (long i = j + 1; i < TILE; i++)
            for (long k = i; k < TILE; k++) u[i * TILE + k] -= row[i] * row[k];
        for (long i = 0; i < j; i++) row[i] = 0;
    }
    transpose(t, u);
}

/* A tile below it: t becomes t L^-T. */
static void solve(void *args)
{
    const struct step *s = args;
    double *t = tile_at(s->i, s->k), u[TILE_CELLS];
    transpose(u, tile_at(s->k, s->k));
    for (long r = 0; r < TILE; r++) {
        double *row = t + r * TILE;
        for (long j = 0; j < TILE; j++) {
            row[j] /= u[j * TILE + j];
            for (long k = j + 1; k < TILE; k++) row[k] -= row[j] * u[j * TILE + k];
        }
    }
}

static void update(void *args)
{
    const struct step *s = args;
    tile_multiply(tile_at(s->i, s->j), tile_at(s->i, s->k), tile_at(s->j, s->k), -1, true);
}

static void create_fill(void)
{
    for (long i = 0; i < tiles; i++)
        for (long j = 0; j <= i; j++) {
            struct step s = {i, j, 0};
            FLOW_TASK(fill, s, {tile_at(i, j), FLOW_OUT});
        }
}

static void create_column(long k)
{
    struct step d = {k, k, k};
    FLOW_TASK(factorise, d, {tile_at(k, k), FLOW_OUT});
    for (long i = k + 1; i < tiles; i++) {
        struct step s = {i, k, k};
        FLOW_TASK(solve, s, {tile_at(i, k), FLOW_OUT}, {tile_at(k, k), FLOW_IN});
    }
    for (long i = k + 1; i < tiles; i++)
        for (long j = k + 1; j <= i; j++) {
            struct step s = {i, j, k};
            FLOW_TASK(update, s, {tile_at(i, j), FLOW_OUT}, {tile_at(i, k), FLOW_IN}, {tile_at(j, k), FLOW_IN});
        }
}

static void run(long iterations)
{
    for (long n = 0; n < iterations; n++) {
        create_fill();
        for (long k = 0; k < tiles; k++) create_column(k);
    }
    flow_wait();
}

static double factor(long i, long j) { return j > i ? 0 : tile_at(i / TILE, j / TILE)[i % TILE * TILE + j % TILE]; }

static double checksum(void)
{
    double sum = 0;
    for (long i = 0; i < tiles * TILE; i++)
        for (long j = 0; j <= i; j++) sum += factor(i, j);
    return sum;
}

/* Against a serial factorisation, row by row. */
static double deviation(long iterations)
{
    long n = tiles * TILE;
    double *l = bench_memory((size_t)(n * n), sizeof *l), worst = 0;
    for (long i = 0; i < n; i++)
        for (long j = 0; j <= i; j++) {
            double sum = cell(i, j);
            for (long k = 0; k < j; k++) sum -= l[i * n + k] * l[j * n + k];
            l[i * n + j] = i == j ? sqrt(sum) : sum / l[j * n + j];
            worst = bench_worse(worst, fabs(l[i * n + j] - factor(i, j)) / sqrt((double)n));
        }
    free(l);
    return worst;
}

int main(int argc, char **argv)
{
    return bench_main(&(struct bench){.name = "cholesky", .size_is = "rows of the matrix, a multiple of 128", .size = 4096, .iterations = 1,
        .multiple = TILE, .setup = setup, .run = run, .checksum = checksum, .deviation = deviation, .tolerance = 1e-12}, argc, argv);
}
