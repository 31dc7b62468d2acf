/* bench/coexec/tile.h - C += sign * A B, or sign * A B^T, of square tiles.  SPDX-License-Identifier: Apache-2.0 */
#ifndef COEXEC_TILE_H
#define COEXEC_TILE_H

#include <stdbool.h>

#define TILE 128L       /* rows and columns; a multiple of 4 */
#define TILE_CELLS (TILE * TILE)

typedef double tile_pair __attribute__((vector_size(16)));

/* 4 x 4 cells of C, which stay in registers; panel has 4 columns of B, row by row. */
static inline void tile_cells(double *c, const double *a, const double *panel, double sign)
{
    tile_pair sum[4][2] = {0};
    for (long k = 0; k < TILE; k++) {
        tile_pair b0 = *(const tile_pair *)(panel + 4 * k), b1 = *(const tile_pair *)(panel + 4 * k + 2);
        for (int r = 0; r < 4; r++) {
            tile_pair x = {a[r * TILE + k], a[r * TILE + k]};
            sum[r][0] += x * b0;
            sum[r][1] += x * b1;
        }
    }
    for (int r = 0; r < 4; r++) {
        *(tile_pair *)(c + r * TILE) += sign * sum[r][0];
        *(tile_pair *)(c + r * TILE + 2) += sign * sum[r][1];
    }
}

static inline void tile_multiply(double *c, const double *a, const double *b, double sign, bool transposed)
{
    _Alignas(64) double panel[4 * TILE];
    for (long j = 0; j < TILE; j += 4) {
        for (long k = 0; k < TILE; k++)
            for (long l = 0; l < 4; l++) panel[4 * k + l] = transposed ? b[(j + l) * TILE + k] : b[k * TILE + j + l];
        for (long i = 0; i < TILE; i += 4) tile_cells(c + i * TILE + j, a + i * TILE, panel, sign);
    }
}

#endif
