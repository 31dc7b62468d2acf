/* examples/contexts/solvers.h - two solvers with OpenMP.  SPDX-License-Identifier: Apache-2.0
 *
 * libsolvers.so, which the Makefile makes.  Each function uses as many threads as OpenMP has, and is deterministic: results do not depend on the
 * number of threads.  NaN: no memory. */
#ifndef SOLVERS_H
#define SOLVERS_H

/* Heat in a cube whose faces are cold: explicit steps of the 7-point stencil on n^3 inner points, from the slowest mode.  The temperature
 * in the cube's first quarter, n/4 points in each direction from the origin, summed and multiplied by the volume of a cell. */
double solvers_heat(int n, int steps);
/* What it has to be: the mode shrinks by one factor in each step. */
double solvers_heat_known(int n, int steps);

/* Compressible gas in a periodic square of n^2 cells: finite volumes with Rusanov's flux, first order, from a wave of the density that moves
 * along the diagonal.  energy: the total one, which does not change (2.5 + 1 + small terms); may be NULL.  The mean square of the density. */
double solvers_gas(int n, int steps, double *energy);
#endif
