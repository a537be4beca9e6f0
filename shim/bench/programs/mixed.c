/* A program that is hard to learn in: its calls change in size, in kind and in communicator, and with `skew` a rank comes late to each.
   `mixed ROUNDS [skew]`; scripts/bench-programs runs it. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGEST = 32768 };
static int rank, size, skew;
static unsigned state = 7;
static char *sent, *received;

/* In each round another rank is late, by up to 30 ms: all ranks know which. */
static void come(void)
{
	state = state * 1664525 + 1013904223;
	if (skew && (int)(state >> 24) % size == rank)
		usleep((state >> 8) % 30000);
}

static void exchange(MPI_Comm comm, int block)
{
	come();
	MPI_Alltoall(sent, block, MPI_BYTE, received, block, MPI_BYTE, comm);
}

static void exchange_unequal(MPI_Comm comm, int mean)
{
	int ranks, own, counts[2][256], places[2][256], at[2] = {0, 0};
	MPI_Comm_size(comm, &ranks);
	MPI_Comm_rank(comm, &own);
	for (int peer = 0; peer < ranks; peer++) {
		counts[0][peer] = (own + 2 * peer) % 3 * mean, counts[1][peer] = (peer + 2 * own) % 3 * mean;
		for (int side = 0; side < 2; side++)
			places[side][peer] = at[side], at[side] += counts[side][peer];
	}
	come();
	MPI_Alltoallv(sent, counts[0], places[0], MPI_BYTE, received, counts[1], places[1], MPI_BYTE, comm);
}

static void gather(MPI_Comm comm, int block)
{
	come();
	MPI_Allgather(sent, block, MPI_BYTE, received, block, MPI_BYTE, comm);
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 40;
	MPI_Comm near, across;
	MPI_Init(&argc, &argv);
	skew = argc > 2 && !strcmp(argv[2], "skew");
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (size > 256)
		MPI_Abort(MPI_COMM_WORLD, 64);
	MPI_Comm_split(MPI_COMM_WORLD, rank / 4, rank, &near);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 4, rank, &across);
	sent = calloc(size, 3 * LARGEST), received = calloc(size, 3 * LARGEST);
	for (long round = 0; round < rounds; round++) {
		exchange(MPI_COMM_WORLD, round % 4 ? 1024 : LARGEST);
		exchange(near, 8192);
		exchange(across, 16384);
		exchange_unequal(MPI_COMM_WORLD, 4096);
		gather(MPI_COMM_WORLD, 1024);
		gather(across, LARGEST);
	}
	MPI_Finalize();
	return 0;
}
