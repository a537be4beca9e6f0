/* Two ranks call among themselves, then start two more and call with them. The started ones have whatever the launcher gives them.
   With an argument it is one of those. */
#include "digest.h"

static void call(const char *name, MPI_Comm comm)
{
	int rank, size, sent[64], got[64] = {0}, wrong = 0, all;
	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	for (int i = 0; i < size; i++)
		sent[i] = rank * 100 + i;
	for (int call = 0; call < 3; call++) {
		MPI_Alltoall(sent, 1, MPI_INT, got, 1, MPI_INT, comm);
		for (int i = 0; i < size; i++)
			wrong += got[i] != i * 100 + rank;
		MPI_Allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, comm);
		for (int i = 0; i < size; i++)
			wrong += got[i] != i;
	}
	MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, comm);
	if (rank == 0)
		printf("%s: %d ranks, %d wrong\n", name, size, all);
}

int main(int argc, char **argv)
{
	MPI_Comm parent, between, together;
	MPI_Init(&argc, &argv);
	MPI_Comm_get_parent(&parent);
	if (parent == MPI_COMM_NULL) {
		char *arguments[] = {"child", NULL};
		call("alone", MPI_COMM_WORLD);
		MPI_Comm_spawn(argv[0], arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE);
	} else
		between = parent;
	MPI_Intercomm_merge(between, parent != MPI_COMM_NULL, &together);
	call("together", together);
	MPI_Comm_free(&together);
	MPI_Comm_disconnect(&between);
	MPI_Finalize();
	return 0;
}
