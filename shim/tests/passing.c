/* Small calls that all go the library's way, as programs mix them: ranks that name the same block by other counts and datatypes, collectives
   in turn, calls in place, duplicates, communicators whose handles come again, a datatype whose handle comes again with another size.
   Rank 0 says how many calls of each collective were on communicators of all ranks in their order, and how many results were wrong. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 8, BLOCK = 8 };
static int rank, size, wrong, alltoalls, allgathers, count;
static MPI_Datatype type;

/* What a rank has for another one. */
static void fill(char *block, int bytes, int from, int to, int turn)
{
	for (int i = 0; i < bytes; i++)
		block[i] = (char)(37 * from + 11 * to + turn + i);
}

static void check(const char *received, int bytes, int mine, int all, int turn)
{
	char expected[2 * BLOCK];
	for (int from = 0; from < size; from++) {
		fill(expected, bytes, from, all ? 0 : mine, turn);
		wrong += memcmp(received + from * bytes, expected, bytes) != 0;
	}
}

static void alltoall(MPI_Comm comm, int elements, MPI_Datatype of, int bytes, int in_place, int turn)
{
	char sent[MOST * 2 * BLOCK], received[MOST * 2 * BLOCK];
	int me;
	MPI_Comm_rank(comm, &me);
	for (int to = 0; to < size; to++)
		fill((in_place ? received : sent) + to * bytes, bytes, me, to, turn);
	MPI_Alltoall(in_place ? MPI_IN_PLACE : sent, elements, of, received, elements, of, comm);
	check(received, bytes, me, 0, turn);
	alltoalls++;
}

static void allgather(MPI_Comm comm, int turn)
{
	char sent[BLOCK], received[MOST * BLOCK];
	int me;
	MPI_Comm_rank(comm, &me);
	fill(sent, BLOCK, me, 0, turn);
	MPI_Allgather(sent, count, type, received, count, type, comm);
	check(received, BLOCK, me, 1, turn);
	allgathers++;
}

static void round_of_calls(int round)
{
	MPI_Comm other;
	for (int i = 0; i < 300; i++)
		alltoall(MPI_COMM_WORLD, count, type, BLOCK, 0, i);
	for (int i = 0; i < 100; i++) {
		alltoall(MPI_COMM_WORLD, count, type, BLOCK, i % 5 == 0, i);
		allgather(MPI_COMM_WORLD, i);
	}
	MPI_Comm_dup(MPI_COMM_WORLD, &other);
	for (int i = 0; i < 40; i++) {
		alltoall(other, count, type, BLOCK, 0, i);
		if (i % 10 == 0)
			allgather(MPI_COMM_WORLD, i);
	}
	MPI_Comm_free(&other);
	/* Others than all in their order. */
	int before = alltoalls;
	MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &other);
	for (int i = 0; i < 40; i++)
		alltoall(other, count, type, BLOCK, 0, i);
	MPI_Comm_free(&other);
	alltoalls = before;
	MPI_Datatype own;
	int bytes = BLOCK * (1 + round % 2);
	MPI_Type_contiguous(bytes, MPI_CHAR, &own);
	MPI_Type_commit(&own);
	for (int i = 0; i < 10; i++)
		alltoall(MPI_COMM_WORLD, 1, own, bytes, 0, i);
	MPI_Type_free(&own);
}

int main(int argc, char **argv)
{
	int all;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	count = rank % 2 ? 1 : BLOCK;
	type = rank % 2 ? MPI_DOUBLE : MPI_CHAR;
	for (int round = 0; round < 20; round++)
		round_of_calls(round);
	MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0)
		printf("%d alltoall, %d allgather, %d wrong\n", alltoalls, allgathers, all);
	MPI_Finalize();
	return 0;
}
