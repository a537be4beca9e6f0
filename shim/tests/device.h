/* Included before all else in a test program (-include): its large buffers lie in the memory of a device during each collective. The driver
   (driver.c) is loaded from $DEVICE_DRIVER at the first allocation, long after the program began; without one they lie where they always do.
   DEVICE_RANKS: all, odd, first; loaded: the driver is there, and the buffers are the host's. Between its calls the program itself reaches its buffers, as its kernels would. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int (*device_allocate)(void **, size_t), (*device_free)(void *), (*device_errors)(void);
static void (*device_close)(const void *), (*device_open)(void);

static void device_load(void)
{
	static int tried;
	const char *path = getenv("DEVICE_DRIVER"), *ranks = getenv("DEVICE_RANKS");
	const char *rank = getenv("OMPI_COMM_WORLD_RANK") ? getenv("OMPI_COMM_WORLD_RANK") : getenv("PMI_RANK");
	int number = rank ? atoi(rank) : 0;
	void *driver;
	if (tried++ || !path || (!strcmp(ranks, "odd") && number % 2 == 0) || (!strcmp(ranks, "first") && number))
		return;
	if (!(driver = dlopen(path, RTLD_NOW | RTLD_GLOBAL)))
		fprintf(stderr, "%s\n", dlerror()), abort();
	if (!strcmp(ranks, "loaded"))
		return;
	device_close = dlsym(driver, "device_close"), device_open = dlsym(driver, "device_open");
	device_free = dlsym(driver, "device_free"), device_errors = dlsym(driver, "device_errors");
	device_allocate = dlsym(driver, "device_allocate");
}

static void *buffer_allocate(size_t octets)
{
	void *at;
	if (octets < 4096)
		return malloc(octets);
	device_load();
	if (!device_allocate)
		return malloc(octets);
	device_allocate(&at, octets);
	return at;
}

static void buffer_free(void *at)
{
	if (!device_free || device_free(at))
		free(at);
}

/* The buffers are out of the host's reach from here on, but for an MPI library that knows of devices (aware.c): it finds here which call
   of its own is the program's. */
static void begins(void *receive)
{
	if (device_close)
		device_close(receive);
}

static int ends(int code)
{
	if (device_open)
		device_open();
	if (device_errors && device_errors())
		printf("an error that is not the program's: %d\n", device_errors());
	return code;
}

#define malloc(octets) buffer_allocate(octets)
#define free(at) buffer_free(at)

#define EXCHANGE(name, arguments, values) \
	static int device_##name arguments { begins(r); return ends(MPI_##name values); }
#define REDUCTION(name) \
	static int device_##name(const void *s, void *r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm) \
	{ begins(r); return ends(MPI_##name(s, r, n, t, op, comm)); }
EXCHANGE(Alltoall, (const void *s, int sc, MPI_Datatype st, void *r, int rc, MPI_Datatype rt, MPI_Comm comm), (s, sc, st, r, rc, rt, comm))
EXCHANGE(Allgather, (const void *s, int sc, MPI_Datatype st, void *r, int rc, MPI_Datatype rt, MPI_Comm comm), (s, sc, st, r, rc, rt, comm))
EXCHANGE(Alltoallv, (const void *s, const int *sc, const int *sd, MPI_Datatype st, void *r, const int *rc, const int *rd, MPI_Datatype rt, MPI_Comm comm),
	(s, sc, sd, st, r, rc, rd, rt, comm))
EXCHANGE(Alltoallw, (const void *s, const int *sc, const int *sd, const MPI_Datatype *st, void *r, const int *rc, const int *rd,
	const MPI_Datatype *rt, MPI_Comm comm), (s, sc, sd, st, r, rc, rd, rt, comm))
EXCHANGE(Allgatherv, (const void *s, int sc, MPI_Datatype st, void *r, const int *rc, const int *rd, MPI_Datatype rt, MPI_Comm comm),
	(s, sc, st, r, rc, rd, rt, comm))
EXCHANGE(Bcast, (void *r, int n, MPI_Datatype t, int root, MPI_Comm comm), (r, n, t, root, comm))
REDUCTION(Allreduce)
REDUCTION(Reduce_scatter_block)
#define MPI_Alltoall device_Alltoall
#define MPI_Allgather device_Allgather
#define MPI_Alltoallv device_Alltoallv
#define MPI_Alltoallw device_Alltoallw
#define MPI_Allgatherv device_Allgatherv
#define MPI_Bcast device_Bcast
#define MPI_Allreduce device_Allreduce
#define MPI_Reduce_scatter_block device_Reduce_scatter_block
