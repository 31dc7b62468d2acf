/* bench/coexec/hydro.c - explicit Lagrangian hydrodynamics, in the manner of LULESH.  SPDX-License-Identifier: Apache-2.0
 *
 * A blast in the corner of a cube of hexahedra, whose nodes move with the gas. Each time step has loops
 * over elements (forces on corners), nodes (acceleration and motion) and elements again (volume, energy,
 * equation of state, artificial viscosity), and the least time step as a reduction. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "flow.h"

#define CHUNK 1024L
#define GAMMA 1.4
#define LINEAR_Q 0.5
#define QUADRATIC_Q 2.0
#define COURANT 0.2
#define LEAST_ENERGY 1e-12

typedef double point[3];

struct mesh {
    point *x, *v;               /* of nodes: position, velocity */
    double *node_mass;
    point (*force)[8];          /* of elements: on each corner */
    double *mass, *volume, *energy, *pressure, *q, *sound, *limit;
    double dt;
};
static struct mesh mesh;
static long side, nodes_on_side, nr_elements, nr_nodes;

/* Corner c of an element is at (c & 1, c >> 1 & 1, c >> 2) of its cell. Each face, seen from outside, counterclockwise: */
static const unsigned char faces[6][4] = {{0, 2, 3, 1}, {4, 5, 7, 6}, {0, 1, 5, 4}, {2, 6, 7, 3}, {0, 4, 6, 2}, {1, 3, 7, 5}};

static long corner_of(long e, int c)
{
    long i = e % side + (c & 1), j = e / side % side + (c >> 1 & 1), k = e / (side * side) + (c >> 2);
    return (k * nodes_on_side + j) * nodes_on_side + i;
}

static void corners(const struct mesh *m, long e, point at[8])
{
    for (int c = 0; c < 8; c++) memcpy(at[c], m->x[corner_of(e, c)], sizeof(point));
}

static void cross(point out, const point a, const point b)
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static double dot(const point a, const point b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/* The volume that a face with corners a, b, c, d encloses with the origin, times 12: the mean of the two
 * ways to cut it into triangles. */
static double face_volume(const point a, const point b, const point c, const point d)
{
    point bc, cd, bd;
    cross(bc, b, c);
    cross(cd, c, d);
    cross(bd, b, d);
    return dot(a, bc) + dot(a, cd) + dot(a, bd) + dot(b, cd);
}

static double volume_of(point at[8])
{
    double sum = 0;
    for (int f = 0; f < 6; f++) sum += face_volume(at[faces[f][0]], at[faces[f][1]], at[faces[f][2]], at[faces[f][3]]);
    return sum / 12;
}

/* The gradient of the volume by the position of each corner. For a face, that by a is
 * b x c + c x d + b x d, and so on around it. */
static void gradients(point at[8], point out[8])
{
    memset(out, 0, 8 * sizeof(point));
    for (int f = 0; f < 6; f++)
        for (int n = 0; n < 4; n++) {
            const double *b = at[faces[f][(n + 1) % 4]], *c = at[faces[f][(n + 2) % 4]], *d = at[faces[f][(n + 3) % 4]];
            point bc, cd, bd;
            cross(bc, b, c);
            cross(cd, c, d);
            cross(bd, b, d);
            for (int k = 0; k < 3; k++) out[faces[f][n]][k] += (bc[k] + cd[k] + bd[k]) / 12;
        }
}

/* ---- one time step ------------------------------------------------------------------------------ */

static void press(void *arg, long from, long to)
{
    const struct mesh *m = arg;
    for (long e = from; e < to; e++) {
        point at[8];
        corners(m, e, at);
        gradients(at, m->force[e]);
        for (int c = 0; c < 8; c++)
            for (int k = 0; k < 3; k++) m->force[e][c][k] *= m->pressure[e] + m->q[e];
    }
}

/* Forces are added up in the order of the corners, so that the sum is the same in each run. */
static void force_on(const struct mesh *m, const long at[3], point out)
{
    memset(out, 0, sizeof(point));
    for (int c = 0; c < 8; c++) {
        long i = at[0] - (c & 1), j = at[1] - (c >> 1 & 1), k = at[2] - (c >> 2);
        if (i < 0 || j < 0 || k < 0 || i >= side || j >= side || k >= side) continue;
        for (int d = 0; d < 3; d++) out[d] += m->force[(k * side + j) * side + i][c][d];
    }
}

/* Nodes on the three planes through the origin stay in them. */
static void move(void *arg, long from, long to)
{
    const struct mesh *m = arg;
    for (long n = from; n < to; n++) {
        long at[3] = {n % nodes_on_side, n / nodes_on_side % nodes_on_side, n / (nodes_on_side * nodes_on_side)};
        point f;
        force_on(m, at, f);
        for (int d = 0; d < 3; d++) {
            m->v[n][d] += at[d] ? m->dt * f[d] / m->node_mass[n] : 0;
            m->x[n][d] += m->dt * m->v[n][d];
        }
    }
}

/* Work changes the energy; then the equation of state of an ideal gas. */
static void evolve(void *arg, long from, long to)
{
    const struct mesh *m = arg;
    for (long e = from; e < to; e++) {
        point at[8];
        corners(m, e, at);
        double volume = volume_of(at), length = cbrt(volume), density = m->mass[e] / volume;
        double rate = (volume - m->volume[e]) / (volume * m->dt);
        m->energy[e] = fmax(LEAST_ENERGY, m->energy[e] - (m->pressure[e] + m->q[e]) * (volume - m->volume[e]));
        m->volume[e] = volume;
        m->pressure[e] = (GAMMA - 1) * m->energy[e] / volume;
        m->sound[e] = sqrt(GAMMA * m->pressure[e] / density);
        double speed = rate < 0 ? -rate * length : 0;
        m->q[e] = density * speed * (LINEAR_Q * m->sound[e] + QUADRATIC_Q * speed);
        m->limit[e] = COURANT * length / (m->sound[e] + 2 * QUADRATIC_Q * fabs(rate) * length);
    }
}

static double least_limit(void *arg, long from, long to)
{
    const struct mesh *m = arg;
    double least = m->limit[from];
    for (long e = from + 1; e < to; e++)
        if (m->limit[e] < least) least = m->limit[e];
    return least;
}

/* ---- the benchmark ------------------------------------------------------------------------------ */

static void free_mesh(struct mesh *m)
{
    void *all[] = {m->x, m->v, m->node_mass, m->force, m->mass, m->volume, m->energy, m->pressure, m->q, m->sound, m->limit};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

static void allocate(struct mesh *m)
{
    size_t n = (size_t)nr_nodes, e = (size_t)nr_elements;
    m->x = bench_memory(n, sizeof *m->x);
    m->v = bench_memory(n, sizeof *m->v);
    m->node_mass = bench_memory(n, sizeof(double));
    m->force = bench_memory(e, sizeof *m->force);
    double **fields[] = {&m->mass, &m->volume, &m->energy, &m->pressure, &m->q, &m->sound, &m->limit};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) *fields[i] = bench_memory(e, sizeof(double));
}

static void start(struct mesh *m)
{
    double cell = 1.0 / (double)side;
    allocate(m);
    for (long n = 0; n < nr_nodes; n++) {
        m->x[n][0] = cell * (double)(n % nodes_on_side);
        m->x[n][1] = cell * (double)(n / nodes_on_side % nodes_on_side);
        m->x[n][2] = cell * (double)(n / (nodes_on_side * nodes_on_side));
    }
    for (long e = 0; e < nr_elements; e++) {
        m->mass[e] = m->volume[e] = cell * cell * cell;
        m->energy[e] = e ? LEAST_ENERGY : 1;
        m->pressure[e] = (GAMMA - 1) * m->energy[e] / m->volume[e];
        for (int c = 0; c < 8; c++) m->node_mass[corner_of(e, c)] += m->mass[e] / 8;
    }
    m->dt = COURANT * cell / sqrt(GAMMA * m->pressure[0]);
}

static void setup(long n)
{
    side = n;
    nodes_on_side = n + 1;
    nr_elements = n * n * n;
    nr_nodes = nodes_on_side * nodes_on_side * nodes_on_side;
    start(&mesh);
}

static void next_step(struct mesh *m, double limit) { m->dt = fmin(limit, 1.1 * m->dt); }

static void run(long iterations)
{
    for (long n = 0; n < iterations; n++) {
        flow_for(nr_elements, CHUNK, press, &mesh);
        flow_for(nr_nodes, CHUNK, move, &mesh);
        flow_for(nr_elements, CHUNK, evolve, &mesh);
        next_step(&mesh, flow_min(nr_elements, CHUNK, least_limit, &mesh));
    }
}

static double checksum(void) { return bench_sum(mesh.energy, nr_elements); }

static double deviation(long iterations)
{
    struct mesh m = {0};
    double worst = 0;
    start(&m);
    for (long n = 0; n < iterations; n++) {
        press(&m, 0, nr_elements);
        move(&m, 0, nr_nodes);
        evolve(&m, 0, nr_elements);
        next_step(&m, least_limit(&m, 0, nr_elements));
    }
    for (long e = 0; e < nr_elements; e++) worst = bench_worse(worst, fabs(m.energy[e] - mesh.energy[e]));
    free_mesh(&m);
    return worst;
}

int main(int argc, char **argv)
{
    return bench_main(&(struct bench){.name = "hydro", .size_is = "elements on a side of the cube", .size = 64, .iterations = 24,
        .setup = setup, .run = run, .checksum = checksum, .deviation = deviation, .tolerance = 1e-14}, argc, argv);
}
