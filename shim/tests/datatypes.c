/* Both collectives over every kind of datatype. */
#include "digest.h"

enum { BYTES = 1 << 20 };
static char *sent, *received;

static void both(const char *name, int sc, MPI_Datatype st, int rc, MPI_Datatype rt)
{
	char line[100];
	memset(received, 9, BYTES);
	MPI_Alltoall(sent, sc, st, received, rc, rt, MPI_COMM_WORLD);
	snprintf(line, sizeof line, "alltoall %s", name);
	digest(line, received, BYTES);
	memset(received, 9, BYTES);
	MPI_Allgather(sent, sc, st, received, rc, rt, MPI_COMM_WORLD);
	snprintf(line, sizeof line, "allgather %s", name);
	digest(line, received, BYTES);
}

static void in_place(const char *name, int count, MPI_Datatype type)
{
	char line[100];
	memcpy(received, sent, BYTES);
	MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, received, count, type, MPI_COMM_WORLD);
	snprintf(line, sizeof line, "alltoall in place %s", name);
	digest(line, received, BYTES);
	memcpy(received, sent, BYTES);
	MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, received, count, type, MPI_COMM_WORLD);
	snprintf(line, sizeof line, "allgather in place %s", name);
	digest(line, received, BYTES);
}

int main(int argc, char **argv)
{
	MPI_Datatype contiguous, vector, resized, mixed, before, absolute, to;
	int rank, lengths[3] = {1, 2, 3}, one = 1;
	MPI_Aint places[3] = {8, 24, 48}, address;
	MPI_Datatype types[3] = {MPI_DOUBLE, MPI_INT, MPI_SHORT};

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	sent = malloc(BYTES);
	received = malloc(BYTES);
	for (int i = 0; i < BYTES; i++)
		sent[i] = (char)(rank * 31 + i * 7 + (i >> 8));

	MPI_Type_contiguous(10, MPI_INT, &contiguous);
	MPI_Type_vector(5, 2, 4, MPI_INT, &vector);
	MPI_Type_create_resized(vector, 0, 96, &resized);
	MPI_Type_create_struct(3, lengths, places, types, &mixed);
	MPI_Type_create_resized(MPI_INT, -4, 12, &before); /* begins before its address */
	MPI_Get_address(sent, &address);
	MPI_Type_create_hindexed(1, &one, &address, MPI_INT, &absolute);
	MPI_Get_address(received, &address);
	MPI_Type_create_hindexed(1, &one, &address, MPI_INT, &to);
	MPI_Type_commit(&contiguous);
	MPI_Type_commit(&vector);
	MPI_Type_commit(&resized);
	MPI_Type_commit(&mixed);
	MPI_Type_commit(&before);
	MPI_Type_commit(&absolute);
	MPI_Type_commit(&to);

	both("7 int", 7, MPI_INT, 7, MPI_INT);
	both("1 byte", 1, MPI_BYTE, 1, MPI_BYTE);
	both("nothing", 0, MPI_INT, 0, MPI_INT);
	both("60000 bytes", 60000, MPI_BYTE, 60000, MPI_BYTE);
	both("vector", 3, vector, 3, vector);
	both("resized vector to int", 2, resized, 20, MPI_INT);
	both("int to vector", 10, MPI_INT, 1, vector);
	both("contiguous to resized vector", 4, contiguous, 4, resized);
	both("struct", 6, mixed, 6, mixed);
	both("negative lower bound", 5, before, 5, before);
	both("bytes to packed", 100, MPI_BYTE, 100, MPI_PACKED);
	in_place("11 int", 11, MPI_INT);
	in_place("nothing", 0, MPI_INT);
	in_place("resized vector", 3, resized);
	in_place("struct", 5, mixed);
	in_place("50000 bytes", 50000, MPI_BYTE);

	memset(received, 9, BYTES);
	MPI_Allgather(MPI_BOTTOM, 1, absolute, received, 1, MPI_INT, MPI_COMM_WORLD);
	digest("allgather from MPI_BOTTOM", received, BYTES);

	/* One base for both buffers, which do not overlap, on one rank only. */
	memset(received, 9, BYTES);
	if (rank == 1)
		MPI_Alltoall(MPI_BOTTOM, 3, absolute, MPI_BOTTOM, 3, to, MPI_COMM_WORLD);
	else
		MPI_Alltoall(sent, 3, MPI_INT, received, 3, MPI_INT, MPI_COMM_WORLD);
	digest("alltoall at MPI_BOTTOM on one rank", received, BYTES);
	memset(received, 9, BYTES);
	if (rank == 1)
		MPI_Allgather(MPI_BOTTOM, 3, absolute, MPI_BOTTOM, 3, to, MPI_COMM_WORLD);
	else
		MPI_Allgather(sent, 3, MPI_INT, received, 3, MPI_INT, MPI_COMM_WORLD);
	digest("allgather at MPI_BOTTOM on one rank", received, BYTES);
	MPI_Finalize();
	return 0;
}
