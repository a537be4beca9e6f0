/* What the runtime costs a call that goes the library's own way: `overhead BYTES SECONDS PAIRS`. In one job, short batches of MPI_Alltoall take
   turns with batches of the same routine taken from the library itself, past whatever is preloaded. A pair counts by the logarithm of its
   ratio, for the mean of ratios of two equally noisy times is above 1; the mean of the middle half of the pairs keeps what an agreement
   now and then costs and leaves out what other work on the machine does. Each rank stays on a processor of its own, if there are as many.
   Without the runtime both are the same, and what is left is noise. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

typedef int alltoall(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm);

static char *sent, *received;
static int bytes;

/* Seconds a call, among so many. */
static double batch(alltoall *call, int calls)
{
	MPI_Barrier(MPI_COMM_WORLD);
	double began = MPI_Wtime();
	for (int i = 0; i < calls; i++)
		call(sent, bytes, MPI_CHAR, received, bytes, MPI_CHAR, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	return (MPI_Wtime() - began) / calls;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* On the rank's own one of the processors that the process may use. */
static void stay(int rank, int size)
{
	cpu_set_t all, own;
	CPU_ZERO(&own);
	if (sched_getaffinity(0, sizeof all, &all) || CPU_COUNT(&all) < size)
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && rank-- == 0)
			CPU_SET(cpu, &own);
	sched_setaffinity(0, sizeof own, &own);
}

int main(int argc, char **argv)
{
	int rank, size, calls = 1, pairs = atoi(argv[3]);
	double *ratio = malloc(pairs * sizeof *ratio), *each = malloc(pairs * sizeof *each), time[2];
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	stay(rank, size);
	bytes = atoi(argv[1]);
	sent = calloc(size, bytes);
	received = calloc(size, bytes);
	void *library = dlopen("libmpi.so.40", RTLD_NOW | RTLD_NOLOAD);
	library = library ? library : dlopen("libmpich.so.12", RTLD_NOW | RTLD_NOLOAD);
	alltoall *own = (alltoall *)dlsym(library, "PMPI_Alltoall");
	/* The first calls connect, and other work falls on some. */
	double seconds = batch(own, 200);
	for (int i = 0; i < 10; i++)
		seconds = fmin(seconds, batch(own, 100));
	calls = atof(argv[2]) / seconds + 1;
	MPI_Bcast(&calls, 1, MPI_INT, 0, MPI_COMM_WORLD);
	batch(MPI_Alltoall, calls);
	for (int pair = 0; pair < pairs; pair++) {
		for (int turn = 0; turn < 2; turn++) {
			int with = (pair + turn) % 2;
			time[with] = batch(with ? MPI_Alltoall : own, calls);
		}
		ratio[pair] = log(time[1] / time[0]);
		each[pair] = time[0];
	}
	qsort(ratio, pairs, sizeof *ratio, ascending);
	qsort(each, pairs, sizeof *each, ascending);
	double sum = 0, quarter = pairs / 4, deviation = (ratio[pairs - pairs / 4 - 1] - ratio[pairs / 4]) / 1.35;
	for (int pair = quarter; pair < pairs - quarter; pair++)
		sum += ratio[pair] / (pairs - 2 * quarter);
	if (rank == 0)
		printf("%d ranks, %d B: own routine %.1f us a call, with the runtime %+.2f %% (+- %.2f), %d pairs of %d calls\n", size, bytes,
		       each[pairs / 2] * 1e6, expm1(sum) * 100, 200 * deviation / sqrt(pairs), pairs, calls);
	MPI_Finalize();
	return 0;
}
