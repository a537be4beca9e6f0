/* A rank is killed in the middle of large all-to-alls, after a second. */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { BLOCK = 1 << 20 };

static void *kill_in_a_second(void *nothing)
{
	sleep(1);
	kill(getpid(), SIGKILL);
	return nothing;
}

int main(int argc, char **argv)
{
	int rank, size;
	pthread_t killer;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	char *sent = calloc(size, BLOCK), *got = calloc(size, BLOCK);
	if (rank == 1)
		pthread_create(&killer, NULL, kill_in_a_second, NULL);
	for (;;)
		MPI_Alltoall(sent, BLOCK, MPI_CHAR, got, BLOCK, MPI_CHAR, MPI_COMM_WORLD);
}
