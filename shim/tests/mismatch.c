/* Rank 1 has room for half of what the others send: `mismatch COLLECTIVE [return]`. Without "return" the error ends the job. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 5000, MOST = 16 };
static int sent[MOST * COUNT], received[MOST * COUNT];

int main(int argc, char **argv)
{
	int rank, size, code, class = MPI_SUCCESS, truncated, places[MOST], all[MOST], room[MOST], others;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm comm; /* An error belongs to the communicator of the call: MPI_COMM_WORLD keeps the handler that ends the job. */
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	if (argc > 2)
		MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	for (int i = 0; i < MOST; i++) {
		places[i] = i * COUNT, all[i] = COUNT;
		/* Its own block is whole: this is about messages. */
		room[i] = rank == 1 && i != 1 ? COUNT / 2 : COUNT;
	}
	int half = rank == 1 ? COUNT / 2 : COUNT;
	if (!strcmp(argv[1], "alltoall"))
		code = MPI_Alltoall(sent, COUNT, MPI_INT, received, half, MPI_INT, comm);
	else if (!strcmp(argv[1], "allgather"))
		code = MPI_Allgather(sent, COUNT, MPI_INT, received, half, MPI_INT, comm);
	else if (!strcmp(argv[1], "alltoallv"))
		code = MPI_Alltoallv(sent, all, places, MPI_INT, received, room, places, MPI_INT, comm);
	else if (!strcmp(argv[1], "alltoallw")) {
		MPI_Datatype types[MOST];
		for (int i = 0; i < MOST; i++)
			types[i] = MPI_INT, places[i] *= sizeof *sent;
		code = MPI_Alltoallw(sent, all, places, types, received, room, places, types, comm);
	}
	else
		code = MPI_Allgatherv(sent, COUNT, MPI_INT, received, room, places, MPI_INT, comm);
	if (code != MPI_SUCCESS)
		MPI_Error_class(code, &class);
	truncated = rank == 1 ? class == MPI_ERR_TRUNCATE : 0;
	if (rank == 1)
		printf("%s\n", truncated ? "truncated" : "not truncated");
	fflush(stdout);
	/* Every rank has come back, and the communicator still works. */
	MPI_Allreduce(&truncated, &others, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Finalize();
	return others != 1;
}
