/* Rank `argv[1]` comes to the first of three collectives of either kind `argv[2]` seconds after the others. With MEET, all have met in one
   before. With ALLGATHER, it is late to an allgather, else to an all-to-all. */
#include "digest.h"
#include <unistd.h>

int main(int argc, char **argv)
{
	int rank, sent[64], received[64];
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 64; i++)
		sent[i] = rank * 100 + i;
#ifdef MEET
	MPI_Alltoall(sent, 2, MPI_INT, received, 2, MPI_INT, MPI_COMM_WORLD);
#endif
	if (rank == atoi(argv[1]))
		usleep((useconds_t)(atof(argv[2]) * 1e6));
#ifdef ALLGATHER
	MPI_Allgather(sent, 2, MPI_INT, received, 2, MPI_INT, MPI_COMM_WORLD);
#endif
	for (int call = 0; call < 3; call++) {
		memset(received, 9, sizeof received);
		MPI_Alltoall(sent, 2, MPI_INT, received, 2, MPI_INT, MPI_COMM_WORLD);
		digest("alltoall", received, sizeof received);
		MPI_Allgather(sent, 2, MPI_INT, received, 2, MPI_INT, MPI_COMM_WORLD);
		digest("allgather", received, sizeof received);
	}
	MPI_Finalize();
	return 0;
}
