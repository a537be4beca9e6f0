/* A PMPI profiler: counts the collectives heddle serves, and rank 0 tells of its own calls at the end. */
#include <mpi.h>
#include <stdio.h>

#define COUNTED(name, types, arguments) \
	static int name; \
	int MPI_##name types \
	{ \
		name++; \
		return PMPI_##name arguments; \
	}

COUNTED(Alltoall, (const void *s, int sc, MPI_Datatype st, void *r, int rc, MPI_Datatype rt, MPI_Comm comm), (s, sc, st, r, rc, rt, comm))
COUNTED(Allgather, (const void *s, int sc, MPI_Datatype st, void *r, int rc, MPI_Datatype rt, MPI_Comm comm), (s, sc, st, r, rc, rt, comm))
COUNTED(Alltoallv,
        (const void *s, const int *sc, const int *sd, MPI_Datatype st, void *r, const int *rc, const int *rd, MPI_Datatype rt, MPI_Comm comm),
        (s, sc, sd, st, r, rc, rd, rt, comm))
COUNTED(Allgatherv, (const void *s, int sc, MPI_Datatype st, void *r, const int *rc, const int *rd, MPI_Datatype rt, MPI_Comm comm),
        (s, sc, st, r, rc, rd, rt, comm))
#ifdef LARGE_COUNTS
COUNTED(Alltoall_c, (const void *s, MPI_Count sc, MPI_Datatype st, void *r, MPI_Count rc, MPI_Datatype rt, MPI_Comm comm), (s, sc, st, r, rc, rt, comm))
#else
static int Alltoall_c;
#endif

static void tell(void)
{
	int rank;
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 0)
		printf("profiler: %d alltoall, %d allgather, %d alltoallv, %d allgatherv, %d alltoall_c\n", Alltoall, Allgather, Alltoallv, Allgatherv,
		       Alltoall_c);
	fflush(stdout);
}

int MPI_Finalize(void)
{
	tell();
	return PMPI_Finalize();
}

/* Open MPI's Fortran calls the profiling name of the one above; a profiler for Fortran has this one too. */
void mpi_finalize_(int *error)
{
	tell();
	*error = PMPI_Finalize();
}
