/* bench/workloads/omp_nbody.c - all-pairs gravitation, one parallel loop per step.  SPDX-License-Identifier: Apache-2.0 */
#include "workload.h"

#include <math.h>
#include <omp.h>

struct body { double x, y, z, vx, vy, vz; };

static void accelerate(struct body *b, const struct body *all, long n, double dt)
{
    double ax = 0, ay = 0, az = 0;
    for (long j = 0; j < n; j++) {
        double dx = all[j].x - b->x, dy = all[j].y - b->y, dz = all[j].z - b->z;
        double d2 = dx * dx + dy * dy + dz * dz + 1e-3, inv = 1 / (d2 * sqrt(d2));
        ax += dx * inv;
        ay += dy * inv;
        az += dz * inv;
    }
    b->vx += dt * ax;
    b->vy += dt * ay;
    b->vz += dt * az;
}

int main(int argc, char **argv)
{
    opt_check(argc, argv, "--n --threads --steps");
    long n = opt_long(argc, argv, "--n", 2000), steps = opt_long(argc, argv, "--steps", 100);
    int threads = (int)opt_long(argc, argv, "--threads", 0);
    if (threads > 0) omp_set_num_threads(threads);
    struct body *b = calloc((size_t)n, sizeof *b);
    if (!b) die("out of memory");
    for (long i = 0; i < n; i++) {
        b[i].x = sin((double)i * 1.1);
        b[i].y = sin((double)i * 1.7 + 1);
        b[i].z = sin((double)i * 2.3 + 2);
    }
    begin_line("nbody", (double)steps, "step");

    double t0 = now_s();
    for (long s = 0; s < steps; s++) {
#pragma omp parallel for schedule(static)
        for (long i = 0; i < n; i++) accelerate(&b[i], b, n, 1e-6);
#pragma omp parallel for schedule(static)
        for (long i = 0; i < n; i++) {
            b[i].x += 1e-6 * b[i].vx;
            b[i].y += 1e-6 * b[i].vy;
            b[i].z += 1e-6 * b[i].vz;
        }
    }
    double t = now_s() - t0;

    /* Equal masses: the momentum stays zero, up to rounding. */
    double px = 0, py = 0, pz = 0, speed = 0;
    for (long i = 0; i < n; i++) {
        px += b[i].vx;
        py += b[i].vy;
        pz += b[i].vz;
        speed += fabs(b[i].vx) + fabs(b[i].vy) + fabs(b[i].vz);
    }
    int ok = speed > 0 && fabs(px) + fabs(py) + fabs(pz) < 1e-9 * speed;
    char more[100];
    snprintf(more, sizeof more, "n=%ld threads=%d steps=%ld", n, threads, steps);
    return result_line("nbody", (double)steps, t, "step", ok, more);
}
