/* The driver of rank 1 fails in mid-job. Its calls give errors, no rank waits for ever, and of the other ranks each gets what they sent. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCK = 4096, CALLS = 6 };

int main(int argc, char **argv)
{
	int rank, size, own[3] = {0, 0, 0}, all[3], class, *sent, *got;
	MPI_Init(&argc, &argv);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	sent = malloc(size * BLOCK * sizeof *sent), got = malloc(size * BLOCK * sizeof *got);
	for (int call = 0; call < CALLS; call++) {
		for (int i = 0; i < size * BLOCK; i++)
			sent[i] = rank * 1000 + i / BLOCK + call;
		int code = MPI_Alltoall(sent, BLOCK, MPI_INT, got, BLOCK, MPI_INT, MPI_COMM_WORLD);
		if (code != MPI_SUCCESS) {
			MPI_Error_class(code, &class);
			own[class == MPI_ERR_OTHER ? rank == 1 ? 0 : 1 : 2]++;
			continue;
		}
		for (int i = 0; i < size * BLOCK; i++)
			own[2] += i / BLOCK != 1 && got[i] != i / BLOCK * 1000 + rank + call;
	}
	MPI_Reduce(own, all, 3, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
	if (!rank)
		printf("errors: rank 1 %d, others %d; wrong %d\n", all[0], all[1], all[2]);
	MPI_Finalize();
	return 0;
}
