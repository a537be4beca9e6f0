/* Makes of an MPI library one that knows of devices: the program's own calls reach the buffers that driver.c has put out of the host's reach.
   Preloaded behind heddle, which finds these functions for the library's. What heddle calls for itself, with buffers of its own, gets
   no such help. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stddef.h>

static int reaches(const void *receive)
{
	const void **wanted = dlsym(RTLD_DEFAULT, "device_receive");
	void (*open)(void) = dlsym(RTLD_DEFAULT, "device_open");
	if (!wanted || *wanted != receive || !open)
		return 0;
	open();
	return 1;
}

static int leaves(int reached, const void *receive, int code)
{
	void (*close)(const void *) = dlsym(RTLD_DEFAULT, "device_close");
	if (reached)
		close(receive);
	return code;
}

#define AWARE(name, arguments, values) \
	int PMPI_##name arguments \
	{ \
		static int (*own) arguments; \
		if (!own) \
			own = dlsym(RTLD_NEXT, "PMPI_" #name); \
		int reached = reaches(r); \
		return leaves(reached, r, own values); \
	}
AWARE(Alltoall, (const void *s, int sc, MPI_Datatype st, void *r, int rc, MPI_Datatype rt, MPI_Comm comm), (s, sc, st, r, rc, rt, comm))
AWARE(Allgather, (const void *s, int sc, MPI_Datatype st, void *r, int rc, MPI_Datatype rt, MPI_Comm comm), (s, sc, st, r, rc, rt, comm))
AWARE(Alltoallv, (const void *s, const int *sc, const int *sd, MPI_Datatype st, void *r, const int *rc, const int *rd, MPI_Datatype rt, MPI_Comm comm),
	(s, sc, sd, st, r, rc, rd, rt, comm))
AWARE(Alltoallw, (const void *s, const int *sc, const int *sd, const MPI_Datatype *st, void *r, const int *rc, const int *rd,
	const MPI_Datatype *rt, MPI_Comm comm), (s, sc, sd, st, r, rc, rd, rt, comm))
AWARE(Allgatherv, (const void *s, int sc, MPI_Datatype st, void *r, const int *rc, const int *rd, MPI_Datatype rt, MPI_Comm comm),
	(s, sc, st, r, rc, rd, rt, comm))
AWARE(Bcast, (void *r, int n, MPI_Datatype t, int root, MPI_Comm comm), (r, n, t, root, comm))
AWARE(Allreduce, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm), (s, r, n, t, op, comm))
AWARE(Reduce_scatter_block, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm), (s, r, n, t, op, comm))
