/* What every rank received, as one line: the program's output is the same with and without the runtime exactly
   if every byte of every receive buffer is, gaps and untouched tails included. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void digest(const char *name, const void *buffer, size_t bytes)
{
	int rank, size, own = 1;
	uint64_t d = 14695981039346656037u, *all;
	for (size_t i = 0; i < bytes; i++)
		d = (d ^ ((const unsigned char *)buffer)[i]) * 1099511628211u; /* FNV-1a */
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	all = malloc(size * sizeof *all);
	MPI_Gather(&d, 1, MPI_UINT64_T, all, own, MPI_UINT64_T, 0, MPI_COMM_WORLD);
	if (rank == 0) {
		printf("%s:", name);
		for (int i = 0; i < size; i++)
			printf(" %016llx", (unsigned long long)all[i]);
		printf("\n");
		fflush(stdout);
	}
	free(all);
}
