/* Calls checked collectives for some seconds, on everybody and on halves: `steady SECONDS [FILE]`; makes FILE after its first calls. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCK = 300 };
static int wrong, calls;

static void both(MPI_Comm comm, int call)
{
	int size, rank;
	MPI_Comm_size(comm, &size);
	MPI_Comm_rank(comm, &rank);
	int *sent = malloc(sizeof(int) * size * BLOCK), *got = malloc(sizeof(int) * size * BLOCK);
	for (int i = 0; i < size * BLOCK; i++) {
		sent[i] = call * 65536 + rank * 4096 + i % 4096;
		got[i] = -1;
	}
	MPI_Alltoall(sent, BLOCK, MPI_INT, got, BLOCK, MPI_INT, comm);
	for (int i = 0; i < size * BLOCK; i++)
		wrong += got[i] != call * 65536 + i / BLOCK * 4096 + (rank * BLOCK + i % BLOCK) % 4096;
	MPI_Allgather(sent, BLOCK, MPI_INT, got, BLOCK, MPI_INT, comm);
	for (int i = 0; i < size * BLOCK; i++)
		wrong += got[i] != call * 65536 + i / BLOCK * 4096 + i % BLOCK;
	calls += 2;
	free(sent);
	free(got);
}

int main(int argc, char **argv)
{
	int rank, go_on = 1, all;
	MPI_Comm halves;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &halves);
	double end = MPI_Wtime() + atof(argv[1]);
	for (int call = 0; go_on; call = (call + 1) % 1000) {
		both(MPI_COMM_WORLD, call);
		both(halves, call);
		if (rank == 0 && calls == 4 && argc > 2)
			fclose(fopen(argv[2], "w"));
		go_on = MPI_Wtime() < end;
		MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
	}
	MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0)
		printf("steady: %d calls, %d wrong\n", calls, all);
	MPI_Comm_free(&halves);
	MPI_Finalize();
	return all != 0;
}
