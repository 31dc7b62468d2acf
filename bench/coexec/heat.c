/* bench/coexec/heat.c - the heat equation on a square, by Gauss-Seidel sweeps.  SPDX-License-Identifier: Apache-2.0
 *
 * A task updates one block, after its upper and left neighbours of the same sweep and its lower and
 * right ones of the last. So blocks run in wavefronts, and sweeps overlap. */
#include <math.h>
#include <stdlib.h>

#include "common.h"
#include "flow.h"

#define BLOCK 256L

static double *grid;            /* (side + 2) squared: a frame of constant temperatures */
static long side, blocks;

static double *new_grid(void)
{
    double *u = bench_memory((size_t)((side + 2) * (side + 2)), sizeof *u);
    for (long j = 0; j < side + 2; j++) u[j] = 1;
    return u;
}

static void setup(long n)
{
    side = n;
    blocks = (n + BLOCK - 1) / BLOCK;
    grid = new_grid();
}

static void sweep(double *u, long i0, long i1, long j0, long j1)
{
    long row = side + 2;
    for (long i = i0; i < i1; i++)
        for (long j = j0; j < j1; j++)
            u[i * row + j] = 0.25 * (u[(i - 1) * row + j] + u[i * row + j - 1] + u[i * row + j + 1] + u[(i + 1) * row + j]);
}

struct block { long i, j; };

static long end_of(long block) { return (block + 1) * BLOCK < side ? (block + 1) * BLOCK + 1 : side + 1; }

static void update(void *args)
{
    const struct block *b = args;
    sweep(grid, b->i * BLOCK + 1, end_of(b->i), b->j * BLOCK + 1, end_of(b->j));
}

/* The address that stands for a block; blocks -1 and `blocks` are the frame, which nobody writes. */
static const double *name_of(long i, long j) { return &grid[(i + 1) * (blocks + 2) + j + 1]; }

static void run(long iterations)
{
    for (long n = 0; n < iterations; n++) {
        for (long i = 0; i < blocks; i++)
            for (long j = 0; j < blocks; j++) {
                struct block b = {i, j};
                FLOW_TASK(update, b, {name_of(i, j), FLOW_OUT}, {name_of(i - 1, j), FLOW_IN}, {name_of(i, j - 1), FLOW_IN},
                    {name_of(i, j + 1), FLOW_IN}, {name_of(i + 1, j), FLOW_IN});
            }
    }
    flow_wait();
}

static double checksum(void) { return bench_sum(grid, (side + 2) * (side + 2)); }

static double deviation(long iterations)
{
    double *u = new_grid(), worst = 0;
    for (long n = 0; n < iterations; n++) sweep(u, 1, side + 1, 1, side + 1);
    for (long i = 0; i < (side + 2) * (side + 2); i++) worst = bench_worse(worst, fabs(u[i] - grid[i]));
    free(u);
    return worst;
}

int main(int argc, char **argv)
{
    return bench_main(&(struct bench){.name = "heat", .size_is = "points on a side of the square", .size = 4096, .iterations = 30,
        .setup = setup, .run = run, .checksum = checksum, .deviation = deviation, .tolerance = 1e-15}, argc, argv);
}
