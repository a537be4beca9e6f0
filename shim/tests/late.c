/* Rank `argv[1]` comes to the first of three collectives of either kind `argv[2]` seconds after the others. With MEET, all have met in one of
   that kind before. With ALLGATHER, it is late to an allgather, with BROADCAST to a broadcast, else to an all-to-all. With LARGE, each call is large,
   and there are twenty. */
#include "digest.h"
#include <unistd.h>

#ifdef LARGE
enum { BLOCK = 1 << 15, CALLS = 20 };
#else
enum { BLOCK = 2, CALLS = 3 };
#endif
enum { ALL = 8 * BLOCK };
static int sent[ALL], received[ALL];

int main(int argc, char **argv)
{
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < ALL; i++)
		sent[i] = rank * 100 + i;
#ifdef MEET
	MPI_Alltoall(sent, BLOCK, MPI_INT, received, BLOCK, MPI_INT, MPI_COMM_WORLD);
#ifdef ALLGATHER
	MPI_Allgather(sent, BLOCK, MPI_INT, received, BLOCK, MPI_INT, MPI_COMM_WORLD);
#endif
#endif
	if (rank == atoi(argv[1]))
		usleep((useconds_t)(atof(argv[2]) * 1e6));
#ifdef ALLGATHER
	MPI_Allgather(sent, BLOCK, MPI_INT, received, BLOCK, MPI_INT, MPI_COMM_WORLD);
#endif
#ifdef BROADCAST
	MPI_Bcast(sent, ALL, MPI_INT, 0, MPI_COMM_WORLD);
	digest("bcast", sent, sizeof sent);
#endif
	for (int call = 0; call < CALLS; call++) {
		memset(received, 9, sizeof received);
		MPI_Alltoall(sent, BLOCK, MPI_INT, received, BLOCK, MPI_INT, MPI_COMM_WORLD);
		digest("alltoall", received, sizeof received);
		MPI_Allgather(sent, BLOCK, MPI_INT, received, BLOCK, MPI_INT, MPI_COMM_WORLD);
		digest("allgather", received, sizeof received);
	}
	MPI_Finalize();
	return 0;
}
