/* Four threads, each with a communicator of its own, call collectives at once. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, CALLS = 60, BLOCK = 200 };
static int wrong[THREADS];
static MPI_Comm comms[THREADS];

static void *work(void *argument)
{
	int t = (int)(long)argument, size, rank;
	MPI_Comm comm = comms[t];
	MPI_Comm_size(comm, &size);
	MPI_Comm_rank(comm, &rank);
	int *sent = malloc(sizeof(int) * size * BLOCK), *got = malloc(sizeof(int) * size * BLOCK);
	for (int call = 0; call < CALLS; call++) {
		for (int i = 0; i < size * BLOCK; i++)
			sent[i] = (t << 24) + (call << 16) + (rank << 12) + i;
		MPI_Alltoall(sent, BLOCK, MPI_INT, got, BLOCK, MPI_INT, comm);
		for (int i = 0; i < size * BLOCK; i++)
			wrong[t] += got[i] != (t << 24) + (call << 16) + (i / BLOCK << 12) + rank * BLOCK + i % BLOCK;
		MPI_Allgather(sent, BLOCK, MPI_INT, got, BLOCK, MPI_INT, comm);
		for (int i = 0; i < size * BLOCK; i++)
			wrong[t] += got[i] != (t << 24) + (call << 16) + (i / BLOCK << 12) + i % BLOCK;
	}
	free(sent);
	free(got);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int provided, rank, own = 0, all;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (provided != MPI_THREAD_MULTIPLE)
		MPI_Abort(MPI_COMM_WORLD, 2);
	for (int t = 0; t < THREADS; t++)
		MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
	for (int t = 0; t < THREADS; t++)
		pthread_create(&threads[t], NULL, work, (void *)(long)t);
	for (int t = 0; t < THREADS; t++) {
		pthread_join(threads[t], NULL);
		MPI_Comm_free(&comms[t]);
		own += wrong[t];
	}
	MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0)
		printf("threads: %d wrong\n", all);
	MPI_Finalize();
	return all != 0;
}
