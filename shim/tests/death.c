/* `death [COLLECTIVE] FILE`: large all-to-alls without end, or `allreduce`, or `bcast`. Rank 1 makes FILE after its first calls, and is killed in the middle of one once FILE is gone
   again. */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BLOCK = 1 << 20 };

static void *kill_without(void *file)
{
	while (access(file, F_OK) == 0)
		usleep(10000);
	usleep(30000);
	kill(getpid(), SIGKILL);
	return file;
}

int main(int argc, char **argv)
{
	int rank, size;
	const char *which = argc > 2 ? argv[1] : "alltoall", *file = argv[argc - 1];
	pthread_t killer;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	char *sent = calloc(size, BLOCK), *got = calloc(size, BLOCK);
	for (int call = 0;; call++) {
		if (rank == 1 && call == 2) {
			fclose(fopen(file, "w"));
			pthread_create(&killer, NULL, kill_without, (void *)file);
		}
		if (which[1] == 'c')
			MPI_Bcast(sent, size * BLOCK, MPI_CHAR, 0, MPI_COMM_WORLD);
		else if (which[3] == 'r')
			MPI_Allreduce(sent, got, size * BLOCK, MPI_SIGNED_CHAR, MPI_SUM, MPI_COMM_WORLD);
		else
			MPI_Alltoall(sent, BLOCK, MPI_CHAR, got, BLOCK, MPI_CHAR, MPI_COMM_WORLD);
	}
}
