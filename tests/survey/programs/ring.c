/* tests/survey/programs/ring.c - messages around a ring, and sums of all.  SPDX-License-Identifier: Apache-2.0 */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank, n;
    long token = 0, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (int round = 0; round < 1000; round++) {
        long mine = token + rank, all;
        MPI_Sendrecv(&mine, 1, MPI_LONG, (rank + 1) % n, 0, &token, 1, MPI_LONG, (rank + n - 1) % n, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Allreduce(&token, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        sum = (sum + all) % 1000003;
    }
    if (rank == 0)
        printf("%ld\n", sum);
    MPI_Finalize();
    return 0;
}
