/* Communicators by the thousand: `comms live N` has N duplicates alive, each used; `comms brief N` makes, uses and frees N, half of
   them duplicates, half of them splits; `comms all` takes every communicator the library has, then calls on one it had before.
   With `threads` behind N threads may call at once; with `tell` rank 0 says each second how far it is.
   `comms dup N` and `comms split N` time N that are made, used for one allgather of 8 bytes and freed. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 600, MOST = 1 << 14 };
static int wrong;

/* An all-to-all and an allgather of a few bytes and of some more. */
static void use(MPI_Comm comm, int call)
{
	int rank, size;
	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	for (int block = 2; block <= BLOCK; block += BLOCK - 2) {
		int *sent = malloc(sizeof(int) * size * block), *got = malloc(sizeof(int) * size * block);
		for (int i = 0; i < size * block; i++)
			sent[i] = call * 65536 + rank * 4096 + i % 4096, got[i] = -1;
		MPI_Alltoall(sent, block, MPI_INT, got, block, MPI_INT, comm);
		for (int i = 0; i < size * block; i++)
			wrong += got[i] != call * 65536 + i / block * 4096 + (rank * block + i % block) % 4096, got[i] = -1;
		MPI_Allgather(sent, block, MPI_INT, got, block, MPI_INT, comm);
		for (int i = 0; i < size * block; i++)
			wrong += got[i] != call * 65536 + i / block * 4096 + i % block % 4096;
		free(sent);
		free(got);
	}
}

static void tell(int done, int rank)
{
	static double told;
	if (rank == 0 && MPI_Wtime() > told + 1) {
		printf("comms: %d calls so far, %d wrong at rank 0\n", 4 * done, wrong);
		fflush(stdout);
		told = MPI_Wtime();
	}
}

int main(int argc, char **argv)
{
	static MPI_Comm comms[MOST];
	int rank, all, made = 0, n = argc > 2 ? atoi(argv[2]) : MOST, provided;
	int threads = argc > 3 && !strcmp(argv[3], "threads"), tells = argc > 3 && !strcmp(argv[3], "tell");
	/* Where threads may call at once, heddle cannot share as much. */
	MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (!strcmp(argv[1], "brief"))
		for (int i = 0; i < n; i++) {
			MPI_Comm comm;
			if (i % 2)
				MPI_Comm_dup(MPI_COMM_WORLD, &comm);
			else /* As many orders of the ranks as there are. */
				MPI_Comm_split(MPI_COMM_WORLD, 0, (rank * 7 + i) % 11, &comm);
			use(comm, i % 1000);
			MPI_Comm_free(&comm);
			if (tells)
				tell(i + 1, rank);
		}
	if (!strcmp(argv[1], "live"))
		for (; made < n; made++) {
			MPI_Comm_dup(MPI_COMM_WORLD, &comms[made]);
			use(comms[made], made % 1000);
			if (tells)
				tell(made + 1, rank);
		}
	if (!strcmp(argv[1], "all")) {
		MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
		while (made < n && MPI_Comm_dup(MPI_COMM_WORLD, &comms[made]) == MPI_SUCCESS)
			made++;
		MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
		use(MPI_COMM_WORLD, 1);
		use(comms[made - 1], 2);
	}
	if (!strcmp(argv[1], "dup") || !strcmp(argv[1], "split")) {
		MPI_Barrier(MPI_COMM_WORLD);
		double began = MPI_Wtime();
		for (int i = 0; i < n; i++) {
			MPI_Comm comm;
			char own[8] = {0}, all[8 * 64];
			if (argv[1][0] == 'd')
				MPI_Comm_dup(MPI_COMM_WORLD, &comm);
			else
				MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm);
			MPI_Allgather(own, 8, MPI_CHAR, all, 8, MPI_CHAR, comm);
			MPI_Comm_free(&comm);
		}
		MPI_Barrier(MPI_COMM_WORLD);
		if (rank == 0)
			printf("%.2f\n", 1e6 * (MPI_Wtime() - began) / n);
		MPI_Finalize();
		return 0;
	}
	for (int i = 0; i < made; i++)
		MPI_Comm_free(&comms[i]);
	use(MPI_COMM_WORLD, 3);
	MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0)
		printf("comms: %d alive at once, %d wrong\n", made, all);
	MPI_Finalize();
	return all != 0;
}
