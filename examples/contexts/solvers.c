/* examples/contexts/solvers.c - two solvers with OpenMP.  SPDX-License-Identifier: Apache-2.0 */
#include "solvers.h"

#include <math.h>
#include <stdlib.h>

/* ---- heat ---------------------------------------------------------------------------------------- */

#define RATE 0.15       /* of a step; stable below 1/6 */

static double mode(int n, int i) { return sin(M_PI * i / (n + 1)); }

static void heat_step(int n, const double *from, double *to)
{
    const long row = n + 2, plane = row * row;
#pragma omp parallel for schedule(static)
    for (int z = 1; z <= n; z++)
        for (int y = 1; y <= n; y++)
            for (int x = 1; x <= n; x++) {
                const double *c = from + z * plane + y * row + x;
                to[z * plane + y * row + x] = c[0] + RATE * (c[-1] + c[1] + c[-row] + c[row] + c[-plane] + c[plane] - 6 * c[0]);
            }
}

static double quarter(int n, const double *t)
{
    const long row = n + 2, plane = row * row;
    double sum = 0;
    for (int z = 1; z <= n / 4; z++)
        for (int y = 1; y <= n / 4; y++)
            for (int x = 1; x <= n / 4; x++) sum += t[z * plane + y * row + x];
    return sum / pow(n + 1, 3);
}

double solvers_heat(int n, int steps)
{
    const long row = n + 2, plane = row * row;
    double *a = calloc((size_t)(plane * row), sizeof *a), *b = calloc((size_t)(plane * row), sizeof *b), result = NAN;
    if (a && b) {
#pragma omp parallel for schedule(static)
        for (int z = 1; z <= n; z++)
            for (int y = 1; y <= n; y++)
                for (int x = 1; x <= n; x++) a[z * plane + y * row + x] = mode(n, x) * mode(n, y) * mode(n, z);
        for (int s = 0; s < steps; s++) {
            heat_step(n, a, b);
            double *old = a;
            a = b;
            b = old;
        }
        result = quarter(n, a);
    }
    free(a);
    free(b);
    return result;
}

double solvers_heat_known(int n, int steps)
{
    double sum = 0, factor = 1 - 6 * RATE * (1 - cos(M_PI / (n + 1)));
    for (int i = 1; i <= n / 4; i++) sum += mode(n, i);
    return pow(sum / (n + 1), 3) * pow(factor, steps);
}

/* ---- gas ----------------------------------------------------------------------------------------- */

#define GAMMA 1.4

typedef struct {
    double density, mx, my, energy;     /* mx, my: momentum */
} cell_t;

static double pressure(const cell_t *c) { return (GAMMA - 1) * (c->energy - (c->mx * c->mx + c->my * c->my) / (2 * c->density)); }

/* The flux through a face, across x (y: 0) or across y (y: 1). */
static cell_t flux(const cell_t *a, const cell_t *b, int y)
{
    const double pa = pressure(a), pb = pressure(b), va = (y ? a->my : a->mx) / a->density, vb = (y ? b->my : b->mx) / b->density;
    const double fastest = fmax(fabs(va) + sqrt(GAMMA * pa / a->density), fabs(vb) + sqrt(GAMMA * pb / b->density));
    return (cell_t){
        (a->density * va + b->density * vb - fastest * (b->density - a->density)) / 2,
        (a->mx * va + b->mx * vb + (y ? 0 : pa + pb) - fastest * (b->mx - a->mx)) / 2,
        (a->my * va + b->my * vb + (y ? pa + pb : 0) - fastest * (b->my - a->my)) / 2,
        ((a->energy + pa) * va + (b->energy + pb) * vb - fastest * (b->energy - a->energy)) / 2,
    };
}

static void gas_step(int n, double ratio, const cell_t *from, cell_t *to)
{
#pragma omp parallel for schedule(static)
    for (int y = 0; y < n; y++) {
        const cell_t *here = from + (long)y * n, *below = from + (long)((y + n - 1) % n) * n, *above = from + (long)((y + 1) % n) * n;
        for (int x = 0; x < n; x++) {
            const cell_t l = flux(&here[(x + n - 1) % n], &here[x], 0), r = flux(&here[x], &here[(x + 1) % n], 0);
            const cell_t d = flux(&below[x], &here[x], 1), u = flux(&here[x], &above[x], 1);
            to[(long)y * n + x] = (cell_t){
                here[x].density + ratio * (l.density - r.density + d.density - u.density),
                here[x].mx + ratio * (l.mx - r.mx + d.mx - u.mx),
                here[x].my + ratio * (l.my - r.my + d.my - u.my),
                here[x].energy + ratio * (l.energy - r.energy + d.energy - u.energy),
            };
        }
    }
}

double solvers_gas(int n, int steps, double *energy)
{
    const long cells = (long)n * n;
    cell_t *a = malloc((size_t)cells * sizeof *a), *b = malloc((size_t)cells * sizeof *b);
    double sum = 0, total = 0;
    if (a && b) {
        for (long i = 0; i < cells; i++) {
            const double density = 1 + 0.2 * sin(2 * M_PI * (double)(i % n + i / n) / n);
            a[i] = (cell_t){density, density, density, 1 / (GAMMA - 1) + density};        /* speed 1 in both directions, pressure 1 */
        }
        for (int s = 0; s < steps; s++) {
            gas_step(n, 0.2, a, b);     /* the time step by the width of a cell; stable below 1 / (2 * 2.4) */
            cell_t *old = a;
            a = b;
            b = old;
        }
        for (long i = 0; i < cells; i++) {
            sum += a[i].density * a[i].density;
            total += a[i].energy;
        }
        if (energy) *energy = total / (double)cells;
    }
    sum = a && b ? sum / (double)cells : NAN;
    free(a);
    free(b);
    return sum;
}
