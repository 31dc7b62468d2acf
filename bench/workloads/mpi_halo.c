/* bench/workloads/mpi_halo.c - ring of ranks: halo exchange and an allreduce per step.  SPDX-License-Identifier: Apache-2.0
 *
 * A ring of --cells numbers, shared out over the ranks, is smoothed; each step exchanges --halo numbers
 * with both neighbours.  The sum over the ring must stay what it was. */
#include "workload.h"

#include <math.h>
#include <mpi.h>

static int rank, ranks, halo;
static long mine; /* cells of this rank, between the halos */

static void exchange(double *v)
{
    int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
    MPI_Sendrecv(v + mine, halo, MPI_DOUBLE, right, 1, v, halo, MPI_DOUBLE, left, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(v + halo, halo, MPI_DOUBLE, left, 2, v + halo + mine, halo, MPI_DOUBLE, right, 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static double total(const double *v)
{
    double s = 0, all = 0;
    for (long i = 0; i < mine; i++) s += v[halo + i];
    MPI_Allreduce(&s, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    opt_check(argc, argv, "--cells --halo --steps --seconds");
    long cells = opt_long(argc, argv, "--cells", 200000), batch = opt_long(argc, argv, "--steps", 10);
    halo = (int)opt_long(argc, argv, "--halo", 64);
    double limit = opt_num(argc, argv, "--seconds", 0.5);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    mine = cells / ranks;
    if (mine < halo || halo < 1 || batch < 1) die("too few --cells for these ranks, or --halo, --steps not positive");
    double *v = calloc((size_t)(mine + 2 * halo), sizeof *v), *w = calloc((size_t)(mine + 2 * halo), sizeof *w);
    if (!v || !w) die("out of memory");
    for (long i = 0; i < mine; i++) v[halo + i] = sin((double)(rank * mine + i));
    double before = total(v), after = before;
    if (rank == 0) begin_line("mpi_halo", (double)batch, "step");

    long steps = 0;
    int go_on = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    double t0 = now_s(), t = 0;
    while (go_on) {
        for (long s = 0; s < batch; s++) {
            exchange(v);
            for (long i = halo; i < halo + mine; i++) w[i] = 0.25 * v[i - 1] + 0.5 * v[i] + 0.25 * v[i + 1];
            double *swap = v;
            v = w;
            w = swap;
            after = total(v);
        }
        steps += batch;
        t = now_s() - t0;
        go_on = t < limit;
        MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    int ok = fabs(after - before) < 1e-9 * (double)cells, status = 0;
    char more[80];
    snprintf(more, sizeof more, "ranks=%d cells=%ld steps=%ld", ranks, cells, steps);
    if (rank == 0) status = result_line("mpi_halo", (double)steps, t, "step", ok, more);
    MPI_Finalize();
    return status;
}
