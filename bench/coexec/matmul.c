/* bench/coexec/matmul.c - C += A B by tiles, one task for each product of two tiles.  SPDX-License-Identifier: Apache-2.0
 *
 * Bound by computation. The tasks of one tile of C form a chain; the tiles are independent. */
#include <math.h>

#include "common.h"
#include "flow.h"
#include "tile.h"

static double *a, *b, *c;       /* tile by tile, each row by row */
static long tiles;

static double *tile_of(double *m, long i, long j) { return m + (i * tiles + j) * TILE_CELLS; }
static double cell_of(double *m, long i, long j) { return tile_of(m, i / TILE, j / TILE)[i % TILE * TILE + j % TILE]; }

static void setup(long n)
{
    size_t cells = (size_t)(n * n);
    tiles = n / TILE;
    a = bench_memory(cells, sizeof *a);
    b = bench_memory(cells, sizeof *b);
    c = bench_memory(cells, sizeof *c);
    for (size_t i = 0; i < cells; i++) {
        a[i] = bench_random(i) - 0.5;
        b[i] = bench_random(i + cells) - 0.5;
    }
}

struct product { double *c, *a, *b; };

static void multiply(void *args)
{
    const struct product *p = args;
    tile_multiply(p->c, p->a, p->b, 1, false);
}

static void run(long iterations)
{
    for (long n = 0; n < iterations; n++)
        for (long i = 0; i < tiles; i++)
            for (long j = 0; j < tiles; j++)
                for (long k = 0; k < tiles; k++) {
                    struct product p = {tile_of(c, i, j), tile_of(a, i, k), tile_of(b, k, j)};
                    FLOW_TASK(multiply, p, {p.c, FLOW_OUT}, {p.a, FLOW_IN}, {p.b, FLOW_IN});
                }
    flow_wait();
}

static double checksum(void) { return bench_sum(c, tiles * tiles * TILE_CELLS); }

static double deviation(long iterations)
{
    long n = tiles * TILE;
    double worst = 0;
    for (long i = 0; i < n; i++)
        for (long j = 0; j < n; j++) {
            double sum = 0;
            for (long k = 0; k < n; k++) sum += cell_of(a, i, k) * cell_of(b, k, j);
            worst = bench_worse(worst, fabs(cell_of(c, i, j) - sum * (double)iterations) / ((double)(n * iterations)));
        }
    return worst;
}

int main(int argc, char **argv)
{
    return bench_main(&(struct bench){.name = "matmul", .size_is = "rows of the matrices, a multiple of 128", .size = 2304, .iterations = 1,
        .multiple = TILE, .setup = setup, .run = run, .checksum = checksum, .deviation = deviation, .tolerance = 1e-14}, argc, argv);
}
