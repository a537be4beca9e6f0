/* Datatypes made with large counts (MPI-4.0, 5.1): questions by the older forms refuse them. Only for libraries that have them. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 700 };

int main(int argc, char **argv)
{
	int rank, size, wrong = 0, all;
	MPI_Datatype block, pairs;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Type_contiguous_c(COUNT, MPI_INT, &block);
	MPI_Type_vector_c(COUNT / 2, 2, 3, MPI_INT, &pairs);
	MPI_Type_commit(&block);
	MPI_Type_commit(&pairs);
	int *sent = malloc(sizeof(int) * COUNT * size * 2), *got = malloc(sizeof(int) * COUNT * size * 2);
	for (int i = 0; i < COUNT * size; i++)
		sent[i] = rank * 65536 + i % 65536, got[i] = -1;
	MPI_Alltoall(sent, 1, block, got, COUNT, MPI_INT, MPI_COMM_WORLD);
	for (int i = 0; i < COUNT * size; i++)
		wrong += got[i] != i / COUNT * 65536 + (rank * COUNT + i % COUNT) % 65536, got[i] = -1;
	MPI_Allgather(sent, COUNT, MPI_INT, got, 1, block, MPI_COMM_WORLD);
	for (int i = 0; i < COUNT * size; i++)
		wrong += got[i] != i / COUNT * 65536 + i % COUNT, got[i] = -1;
	MPI_Allgather(sent, 1, pairs, got, COUNT, MPI_INT, MPI_COMM_WORLD);
	for (int i = 0; i < COUNT * size; i++)
		wrong += got[i] != i / COUNT * 65536 + i % COUNT / 2 * 3 + i % 2;
	MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0)
		printf("large: %d wrong\n", all);
	MPI_Type_free(&block);
	MPI_Type_free(&pairs);
	MPI_Finalize();
	return 0;
}
