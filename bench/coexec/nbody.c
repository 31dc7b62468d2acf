/* bench/coexec/nbody.c - bodies that attract each other, all pairs.  SPDX-License-Identifier: Apache-2.0
 *
 * Bound by computation: a square root and a division for each pair, and all bodies fit into a cache. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "flow.h"

#define CHUNK 32L       /* bodies; also the lanes of the inner loop */
#define SOFTENING 1e-4
#define TIME_STEP 1e-3

struct bodies { double *x, *y, *z, *vx, *vy, *vz, *ax, *ay, *az, *mass; };
static struct bodies bodies;
static long count;

static struct bodies new_bodies(void)
{
    double *m = bench_memory((size_t)(10 * count), sizeof *m);
    struct bodies s = {m, m + count, m + 2 * count, m + 3 * count, m + 4 * count, m + 5 * count, m + 6 * count, m + 7 * count,
        m + 8 * count, m + 9 * count};
    for (long i = 0; i < count; i++) {
        s.x[i] = bench_random((uint64_t)(4 * i));
        s.y[i] = bench_random((uint64_t)(4 * i + 1));
        s.z[i] = bench_random((uint64_t)(4 * i + 2));
        s.mass[i] = bench_random((uint64_t)(4 * i + 3)) / (double)count;
    }
    return s;
}

static void setup(long n)
{
    count = n;
    bodies = new_bodies();
}

/* The inner loop goes over the chunk's bodies, each with a sum of its own, so that it is vectorised. */
static void attract(void *arg, long from, long to)
{
    const struct bodies *s = arg;
    double x[CHUNK], y[CHUNK], z[CHUNK], ax[CHUNK] = {0}, ay[CHUNK] = {0}, az[CHUNK] = {0};
    for (long l = 0; l < CHUNK; l++) {
        long i = from + l < to ? from + l : from;
        x[l] = s->x[i];
        y[l] = s->y[i];
        z[l] = s->z[i];
    }
    for (long j = 0; j < count; j++) {
        double xj = s->x[j], yj = s->y[j], zj = s->z[j], mj = s->mass[j];
        for (long l = 0; l < CHUNK; l++) {
            double dx = xj - x[l], dy = yj - y[l], dz = zj - z[l];
            double d2 = dx * dx + dy * dy + dz * dz + SOFTENING;
            double f = mj / (d2 * sqrt(d2));
            ax[l] += f * dx;
            ay[l] += f * dy;
            az[l] += f * dz;
        }
    }
    size_t bytes = (size_t)(to - from) * sizeof(double);
    memcpy(s->ax + from, ax, bytes);
    memcpy(s->ay + from, ay, bytes);
    memcpy(s->az + from, az, bytes);
}

static void move(void *arg, long from, long to)
{
    const struct bodies *s = arg;
    for (long i = from; i < to; i++) {
        s->vx[i] += TIME_STEP * s->ax[i];
        s->vy[i] += TIME_STEP * s->ay[i];
        s->vz[i] += TIME_STEP * s->az[i];
        s->x[i] += TIME_STEP * s->vx[i];
        s->y[i] += TIME_STEP * s->vy[i];
        s->z[i] += TIME_STEP * s->vz[i];
    }
}

static void run(long iterations)
{
    for (long n = 0; n < iterations; n++) {
        flow_for(count, CHUNK, attract, &bodies);
        flow_for(count, 64 * CHUNK, move, &bodies);
    }
}

static double checksum(void) { return bench_sum(bodies.x, 3 * count); }

static void attract_one(const struct bodies *s, long i)
{
    double a[3] = {0};
    for (long j = 0; j < count; j++) {
        double d[3] = {s->x[j] - s->x[i], s->y[j] - s->y[i], s->z[j] - s->z[i]};
        double d2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + SOFTENING;
        for (int k = 0; k < 3; k++) a[k] += s->mass[j] * d[k] / (d2 * sqrt(d2));
    }
    s->ax[i] = a[0];
    s->ay[i] = a[1];
    s->az[i] = a[2];
}

static double deviation(long iterations)
{
    struct bodies s = new_bodies();
    double worst = 0;
    for (long n = 0; n < iterations; n++) {
        for (long i = 0; i < count; i++) attract_one(&s, i);
        move(&s, 0, count);
    }
    for (long i = 0; i < 3 * count; i++) worst = bench_worse(worst, fabs(s.x[i] - bodies.x[i]));
    free(s.x);
    return worst;
}

int main(int argc, char **argv)
{
    return bench_main(&(struct bench){.name = "nbody", .size_is = "bodies", .size = 16384, .iterations = 3,
        .setup = setup, .run = run, .checksum = checksum, .deviation = deviation, .tolerance = 1e-12}, argc, argv);
}
