/* Wrong arguments raise the error they always raise, on the communicator they belong to. */
#include "digest.h"

static int handled;

static void handler(MPI_Comm *comm, int *code, ...)
{
	(void)comm, (void)code;
	handled++;
}

static void tell(const char *what, int code)
{
	int class = -1, rank;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (code != MPI_SUCCESS)
		MPI_Error_class(code, &class);
	if (rank == 0)
		printf("%s: class %d, handler called %d times\n", what, class, handled);
	handled = 0;
}

int main(int argc, char **argv)
{
	int buffer[256] = {0}, other[256];
	MPI_Comm comm;
	MPI_Errhandler h;

	MPI_Init(&argc, &argv);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_create_errhandler(handler, &h);
	MPI_Comm_set_errhandler(comm, h); /* MPI_COMM_WORLD keeps the one that ends the job */
	tell("good alltoall", MPI_Alltoall(buffer, 1, MPI_INT, other, 1, MPI_INT, comm));
	tell("negative count", MPI_Alltoall(buffer, -1, MPI_INT, other, -1, MPI_INT, comm));
	tell("negative receive count", MPI_Allgather(buffer, 1, MPI_INT, other, -1, MPI_INT, comm));
	tell("no send type", MPI_Alltoall(buffer, 1, MPI_DATATYPE_NULL, other, 1, MPI_INT, comm));
	tell("no receive type", MPI_Allgather(buffer, 1, MPI_INT, other, 1, MPI_DATATYPE_NULL, comm));
	/* What is no datatype at all: handles are numbers in MPICH, and addresses in Open MPI, which follows them. */
#ifdef MPICH
	tell("a wrong send type", MPI_Alltoall(buffer, 1, (MPI_Datatype)0x12345678, other, 1, MPI_INT, comm));
	tell("a wrong receive type", MPI_Allgather(buffer, 1, MPI_INT, other, 1, (MPI_Datatype)0x12345678, comm));
#endif
	tell("no send type by null", MPI_Alltoall(buffer, 1, 0, other, 1, MPI_INT, comm));
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, h);
	tell("no communicator", MPI_Alltoall(buffer, 1, MPI_INT, other, 1, MPI_INT, MPI_COMM_NULL));
	int good[256], wrong[256], places[256];
	for (int i = 0; i < 256; i++)
		good[i] = 1, wrong[i] = i ? 1 : -1, places[i] = i % 64;
	tell("good alltoallv", MPI_Alltoallv(buffer, good, places, MPI_INT, other, good, places, MPI_INT, comm));
	tell("good allgatherv", MPI_Allgatherv(buffer, 1, MPI_INT, other, good, places, MPI_INT, comm));
	tell("negative send count in a vector", MPI_Alltoallv(buffer, wrong, places, MPI_INT, other, good, places, MPI_INT, comm));
	tell("negative receive count in a vector", MPI_Alltoallv(buffer, good, places, MPI_INT, other, wrong, places, MPI_INT, comm));
	tell("no type for a vector", MPI_Alltoallv(buffer, good, places, MPI_DATATYPE_NULL, other, good, places, MPI_INT, comm));
	tell("no type to gather", MPI_Allgatherv(buffer, 1, MPI_INT, other, good, places, MPI_DATATYPE_NULL, comm));
	MPI_Datatype types[256], none[256];
	for (int i = 0; i < 256; i++)
		types[i] = MPI_INT, none[i] = i == 1 ? MPI_DATATYPE_NULL : MPI_INT, places[i] *= 4;
	tell("good alltoallw", MPI_Alltoallw(buffer, good, places, types, other, good, places, types, comm));
	tell("negative count for a type", MPI_Alltoallw(buffer, wrong, places, types, other, wrong, places, types, comm));
	tell("no type for one rank", MPI_Alltoallw(buffer, good, places, none, other, good, places, none, comm));
	for (int i = 0; i < 256; i++)
		places[i] /= 4;
	/* MPICH's reductions end the job over a negative count or no type. */
	tell("good allreduce", MPI_Allreduce(buffer, other, 64, MPI_INT, MPI_SUM, comm));
	tell("no operation", MPI_Allreduce(buffer, other, 1, MPI_INT, MPI_OP_NULL, comm));
	tell("an operation of another type", MPI_Allreduce(buffer, other, 1, MPI_DOUBLE, MPI_BXOR, comm));
	tell("no operation to scatter", MPI_Reduce_scatter_block(buffer, other, 1, MPI_INT, MPI_OP_NULL, comm));
	tell("good bcast", MPI_Bcast(buffer, 64, MPI_INT, 1, comm));
	tell("negative count to broadcast", MPI_Bcast(buffer, -1, MPI_INT, 0, comm));
	tell("no type to broadcast", MPI_Bcast(buffer, 1, MPI_DATATYPE_NULL, 0, comm));
	tell("no such root", MPI_Bcast(buffer, 1, MPI_INT, 4711, comm));
	tell("no communicator to reduce on", MPI_Allreduce(buffer, other, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL));
	tell("no communicator for a vector", MPI_Alltoallv(buffer, good, places, MPI_INT, other, good, places, MPI_INT, MPI_COMM_NULL));
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	tell("negative count, told by code", MPI_Alltoall(buffer, -1, MPI_INT, other, -1, MPI_INT, comm));
	tell("no type, told by code", MPI_Allgatherv(buffer, 1, MPI_INT, other, good, places, MPI_DATATYPE_NULL, comm));
	MPI_Comm_set_errhandler(comm, h);
	tell("good allgather", MPI_Allgather(buffer, 1, MPI_INT, other, 1, MPI_INT, comm));
	MPI_Comm_free(&comm);
	MPI_Finalize();
	return 0;
}
