/* Sockets open on each rank: before a communicator's first large calls, with a duplicate of it, with the same ranks in another order, and
   after that is freed. With an argument: the ranks with which small calls connect the one that they connect with most. */
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 1000 };

static int sockets(void)
{
	int found = 0;
	char place[512], what[64];
	DIR *all = opendir("/proc/self/fd");
	for (struct dirent *entry; (entry = readdir(all));) {
		snprintf(place, sizeof place, "/proc/self/fd/%s", entry->d_name);
		ssize_t n = readlink(place, what, sizeof what);
		found += n > 7 && !memcmp(what, "socket:", 7);
	}
	closedir(all);
	return found;
}

/* The library may close a connection late, where both ends made one: counted until each rank has found the same three times. */
static int settled(void)
{
	int last = -1, times = 0, least;
	do {
		int found = sockets();
		times = found == last ? times + 1 : 1;
		last = found;
		usleep(20000);
		MPI_Allreduce(&times, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	} while (least < 3);
	return last;
}

static void call(MPI_Comm comm)
{
	int size;
	MPI_Comm_size(comm, &size);
	char *sent = calloc(size, BLOCK), *got = calloc(size, BLOCK);
	MPI_Alltoall(sent, BLOCK, MPI_CHAR, got, BLOCK, MPI_CHAR, comm);
	free(sent);
	free(got);
}

static void small_calls(int rank, int size)
{
	int before = sockets(), most;
	char own[8] = {0}, *all = malloc(size * sizeof own);
	for (int n = 0; n < 3; n++)
		MPI_Allgather(own, sizeof own, MPI_CHAR, all, sizeof own, MPI_CHAR, MPI_COMM_WORLD);
	int more = settled() - before;
	MPI_Reduce(&more, &most, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
	if (rank == 0)
		printf("%d\n", most);
	free(all);
}

int main(int argc, char **argv)
{
	int rank, size, before;
	MPI_Comm comm;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (argc > 1) {
		small_calls(rank, size);
		MPI_Finalize();
		return 0;
	}
	for (int k = 0; k < size; k++) /* The library's own connections stand from now on. */
		MPI_Sendrecv(&rank, 1, MPI_INT, (rank + k) % size, 0, &before, 1, MPI_INT, (rank + size - k) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	call(MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	before = settled();
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	call(comm);
	int twice = settled();
	MPI_Comm_free(&comm);
	MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
	call(comm);
	int with = settled();
	MPI_Comm_free(&comm);
	int after = settled();
	int own[3] = {twice - before, with - before, after - before}, *all = malloc(size * sizeof own);
	MPI_Gather(own, 3, MPI_INT, all, 3, MPI_INT, 0, MPI_COMM_WORLD);
	for (int r = 0; rank == 0 && r < size; r++)
		printf("rank %d: %d more, %d more, then %d\n", r, all[3 * r], all[3 * r + 1], all[3 * r + 2]);
	MPI_Finalize();
}
