/* Each collective heddle serves ROUNDS times, every byte checked, then a file written by all ranks together in pieces that alternate, which the
   library collects by collectives of its own: `profiled FILE`. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 5, BLOCK = 100, PIECES = 40 };
static int rank, size, wrong;

static int element(int round, int from, int to, int i)
{
	return ((round * 64 + from) * 64 + to) * BLOCK + i;
}

static void check(const int *got, int round, int gathered)
{
	for (int i = 0; i < size * BLOCK; i++)
		wrong += got[i] != element(round, i / BLOCK, gathered ? 0 : rank, i % BLOCK);
}

int main(int argc, char **argv)
{
	int all, counts[64], places[64];
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	int *sent = malloc(sizeof(int) * size * BLOCK), *got = malloc(sizeof(int) * size * BLOCK);
	for (int i = 0; i < size; i++)
		counts[i] = BLOCK, places[i] = i * BLOCK;
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < size * BLOCK; i++)
			sent[i] = element(round, rank, i / BLOCK, i % BLOCK);
		memset(got, -1, sizeof(int) * size * BLOCK);
		MPI_Alltoall(sent, BLOCK, MPI_INT, got, BLOCK, MPI_INT, MPI_COMM_WORLD);
		check(got, round, 0);
		memset(got, -1, sizeof(int) * size * BLOCK);
		MPI_Alltoallv(sent, counts, places, MPI_INT, got, counts, places, MPI_INT, MPI_COMM_WORLD);
		check(got, round, 0);
		memset(got, -1, sizeof(int) * size * BLOCK);
		MPI_Allgather(sent, BLOCK, MPI_INT, got, BLOCK, MPI_INT, MPI_COMM_WORLD);
		check(got, round, 1);
		memset(got, -1, sizeof(int) * size * BLOCK);
		MPI_Allgatherv(sent, BLOCK, MPI_INT, got, counts, places, MPI_INT, MPI_COMM_WORLD);
		check(got, round, 1);
#ifdef LARGE_COUNTS
		memset(got, -1, sizeof(int) * size * BLOCK);
		MPI_Alltoall_c(sent, BLOCK, MPI_INT, got, BLOCK, MPI_INT, MPI_COMM_WORLD);
		check(got, round, 0);
#endif
	}
	if (argc > 1) {
		MPI_File file;
		MPI_Info info;
		MPI_Datatype piece;
		MPI_Info_create(&info);
		MPI_Info_set(info, "romio_cb_write", "enable");
		MPI_Type_vector(PIECES, 1, size, MPI_INT, &piece);
		MPI_Type_commit(&piece);
		MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file);
		MPI_File_set_view(file, rank * sizeof(int), MPI_INT, piece, "native", info);
		wrong += MPI_File_write_all(file, sent, PIECES, MPI_INT, MPI_STATUS_IGNORE) != MPI_SUCCESS;
		MPI_File_close(&file);
		FILE *whole = fopen(argv[1], "r");
		wrong += fread(got, sizeof(int), size * PIECES, whole) != size * PIECES;
		for (int i = 0; i < size * PIECES; i++)
			wrong += got[i] != element(ROUNDS - 1, i % size, 0, i / size);
		fclose(whole);
	}
	MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0)
		printf("profiled: %d wrong\n", all);
	fflush(stdout);
	MPI_Finalize();
	return all != 0;
}
