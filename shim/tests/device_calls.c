/* Collectives of large blocks, checked: device_calls BLOCK CALLS. Prints how many elements were wrong. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size, call;

static int wrong(const int *got, int first, int step)
{
	return *got != first + step + call;
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	int block = atoi(argv[1]) / sizeof(int), calls = atoi(argv[2]), bad = 0, all;
	int *sent = malloc(size * block * sizeof *sent), *got = malloc(size * block * sizeof *got);
	for (call = 0; call < calls; call++) {
		for (int i = 0; i < size * block; i++)
			sent[i] = rank * 1000 + i / block + call;
		MPI_Alltoall(sent, block, MPI_INT, got, block, MPI_INT, MPI_COMM_WORLD);
		for (int i = 0; i < size * block; i++)
			bad += wrong(&got[i], i / block * 1000, rank);
		MPI_Allgather(sent, block, MPI_INT, got, block, MPI_INT, MPI_COMM_WORLD);
		for (int i = 0; i < size * block; i++)
			bad += wrong(&got[i], i / block * 1000, 0);
		MPI_Allreduce(sent, got, size * block, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		for (int i = 0; i < size * block; i++)
			bad += got[i] != 1000 * size * (size - 1) / 2 + size * (i / block + call);
		MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, sent, block, MPI_INT, MPI_COMM_WORLD);
		for (int i = 0; i < size * block; i++)
			bad += wrong(&sent[i], i / block * 1000, rank);
		MPI_Bcast(got, size * block, MPI_INT, call % size, MPI_COMM_WORLD);
		for (int i = 0; i < size * block; i++)
			bad += got[i] != 1000 * size * (size - 1) / 2 + size * (i / block + call);
	}
	free(sent), free(got);
	MPI_Reduce(&bad, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
	if (!rank)
		printf("device: %d wrong\n", all);
	MPI_Finalize();
	return 0;
}
