/* Two rows of ranks: much from each row to the other one, then calls of MPI_Alltoallv within the rows. */
#include "digest.h"

enum { MUCH = 1 << 19, BLOCK = 1 << 16, MOST = MUCH / BLOCK };
static char sent[MUCH], got[MUCH];

int main(int argc, char **argv)
{
	int rank, size, lengths[MOST], places[MOST];
	MPI_Comm row;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	memset(sent, rank + 1, sizeof sent);
	int other = (rank + size / 2) % size;
	MPI_Sendrecv(sent, MUCH, MPI_BYTE, other, 0, got, MUCH, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (int i = 0; i < MOST; i++)
		lengths[i] = BLOCK, places[i] = i * BLOCK;
	MPI_Comm_split(MPI_COMM_WORLD, rank / (size / 2), rank, &row);
	for (int call = 0; call < 3; call++)
		MPI_Alltoallv(sent, lengths, places, MPI_BYTE, got, lengths, places, MPI_BYTE, row);
	digest("rows", got, sizeof got);
	MPI_Comm_free(&row);
	MPI_Finalize();
	return 0;
}
