/* Collectives on communicators of sessions: before MPI_Init, beside it, and after MPI_Finalize. With an argument there is no MPI_Init. */
#include "digest.h"

static int wrong;

static void calls(MPI_Comm comm)
{
	int rank, size, n = 5000;
	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	int *from = malloc(4 * n * size), *to = malloc(4 * n * size);
	for (int call = 0; call < 3; call++) {
		for (int i = 0; i < n * size; i++)
			from[i] = rank * 7919 + i + call;
		MPI_Alltoall(from, n, MPI_INT, to, n, MPI_INT, comm);
		for (int i = 0; i < n * size; i++)
			wrong += to[i] != i / n * 7919 + rank * n + i % n + call;
		MPI_Allgather(from, n, MPI_INT, to, n, MPI_INT, comm);
		for (int i = 0; i < n * size; i++)
			wrong += to[i] != i / n * 7919 + i % n + call;
	}
	free(from), free(to);
}

int main(int argc, char **argv)
{
	MPI_Session session;
	MPI_Group group;
	MPI_Comm comm;
	int rank;

	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
	MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
	MPI_Comm_create_from_group(group, "sessions", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
	MPI_Comm_rank(comm, &rank);
	calls(comm);
	if (argc == 1) {
		MPI_Init(&argc, &argv);
		calls(comm);
		calls(MPI_COMM_WORLD);
		MPI_Finalize();
	}
	calls(comm);
	MPI_Comm_free(&comm);
	MPI_Group_free(&group);
	MPI_Session_finalize(&session);
	if (rank == 0)
		printf("sessions: %d wrong\n", wrong);
	return wrong != 0;
}
