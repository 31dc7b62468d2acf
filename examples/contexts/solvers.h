/* examples/contexts/solvers.h - two solvers with OpenMP.  SPDX-License-Identifier: Apache-2.0
 *
 * libsolvers.so, which the Makefile builds.  Each function uses as many threads as OpenMP has; results do
 * not depend on their number.  All are thread-safe, and return NaN where there is no memory. */
#ifndef SOLVERS_H
#define SOLVERS_H

/* Heat in a cube whose faces are cold: explicit steps of the 7-point stencil on n^3 inner points, from
 * the slowest mode; n from 4, steps from 0.  Returns the heat in a corner of the cube, n/4 points long:
 * the sum of the temperatures by the volume of a cell. */
double solvers_heat(int n, int steps);
/* What it has to be: the mode shrinks by one factor in each step. */
double solvers_heat_known(int n, int steps);

/* Compressible gas in a periodic square of n^2 cells: finite volumes of first order with Rusanov's flux,
 * from a density wave that moves along the diagonal; n from 4, steps from 0.  Returns the mean square of
 * the density.  energy, if it is not NULL: the energy for each unit of area, which stays 3.5. */
double solvers_gas(int n, int steps, double *energy);
#endif
