/* Allgathers of all ranks, then one of each half of them: those with even ranks, and those with odd ones. */
#include "digest.h"

enum { BLOCK = 1 << 18, MOST = 16 };
static char sent[BLOCK], got[MOST * BLOCK];

int main(int argc, char **argv)
{
	int rank;
	MPI_Comm half;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	memset(sent, rank + 1, sizeof sent);
	for (int call = 0; call < 3; call++)
		MPI_Allgather(sent, BLOCK, MPI_BYTE, got, BLOCK, MPI_BYTE, MPI_COMM_WORLD);
	digest("all", got, sizeof got);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
	MPI_Allgather(sent, BLOCK, MPI_BYTE, got, BLOCK, MPI_BYTE, half);
	digest("halves", got, sizeof got);
	MPI_Comm_free(&half);
	MPI_Finalize();
	return 0;
}
