/* Ring, allreduce, crossed isend/irecv, barriers.  SPDX-License-Identifier: Apache-2.0 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, size, token = 0;
    int rounds = argc > 1 ? atoi(argv[1]) : 20;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int i = 0; i < rounds; i++) {
        if (rank == 0) {
            token++;
            MPI_Send(&token, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
            MPI_Recv(&token, 1, MPI_INT, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&token, 1, MPI_INT, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            token++;
            MPI_Send(&token, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
        }
    }
    double mine = rank + 1, sum = 0;
    for (int i = 0; i < rounds; i++) MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    enum { N = 40000 };
    static double out[N], in[N];
    for (int i = 0; i < N; i++) out[i] = rank * N + i;
    for (int i = 0; i < 5; i++) {
        MPI_Request r[2];
        MPI_Irecv(in, N, MPI_DOUBLE, before, 1, MPI_COMM_WORLD, &r[0]);
        MPI_Isend(out, N, MPI_DOUBLE, next, 1, MPI_COMM_WORLD, &r[1]);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 0) printf("ranks %d token %d sum %g last %g\n", size, token, sum, in[N - 1]);
    MPI_Finalize();
    return 0;
}
