/* What few programs do: no buffers for no data, addresses in datatypes in every form, a communicator that is freed while its requests are
   pending, calls from an attribute's callback within MPI_Finalize, and MPI_Finalize from atexit. With an argument it comes from main. */
#include "digest.h"

enum { BYTES = 1 << 16, RANKS = 16 };
static char *sent, *received;
static int rank, size;

static void fill(void)
{
	for (int i = 0; i < BYTES; i++)
		sent[i] = (char)(rank * 31 + i * 7 + (i >> 8)), received[i] = 9;
}

static void no_data(void)
{
	int none[RANKS] = {0};
	MPI_Datatype types[RANKS];
	for (int i = 0; i < RANKS; i++)
		types[i] = MPI_INT;
	MPI_Alltoall(NULL, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD);
	MPI_Allgather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD);
	MPI_Alltoallv(NULL, none, none, MPI_INT, received, none, none, MPI_INT, MPI_COMM_WORLD);
	MPI_Alltoallw(NULL, none, none, types, received, none, none, types, MPI_COMM_WORLD);
	MPI_Allgatherv(NULL, 0, MPI_INT, NULL, none, none, MPI_INT, MPI_COMM_WORLD);
	MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Reduce_scatter_block(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Bcast(NULL, 0, MPI_INT, 0, MPI_COMM_WORLD);
	if (rank == 0)
		puts("no data: done");
}

/* All ranks give MPI_BOTTOM; each element begins before its place. */
static void addresses(void)
{
	MPI_Datatype element, from, into, froms[RANKS], intos[RANKS];
	MPI_Aint at;
	int one = 1, counts[RANKS], places[RANKS];
	MPI_Type_create_resized(MPI_INT, -8, 24, &element);
	MPI_Get_address(sent + 64, &at);
	MPI_Type_create_hindexed(1, &one, &at, element, &from);
	MPI_Get_address(received + 64, &at);
	MPI_Type_create_hindexed(1, &one, &at, element, &into);
	MPI_Type_commit(&from);
	MPI_Type_commit(&into);
	for (int i = 0; i < size; i++)
		counts[i] = i % 3 + 1, places[i] = 4 * i, froms[i] = from, intos[i] = into;
	int got[RANKS];
	for (int i = 0; i < size; i++)
		got[i] = rank % 3 + 1;
	fill();
	MPI_Alltoallv(MPI_BOTTOM, counts, places, from, MPI_BOTTOM, got, places, into, MPI_COMM_WORLD);
	digest("alltoallv at MPI_BOTTOM", received, BYTES);
	fill();
	MPI_Allgatherv(MPI_BOTTOM, counts[rank], from, MPI_BOTTOM, counts, places, into, MPI_COMM_WORLD);
	digest("allgatherv at MPI_BOTTOM", received, BYTES);
	for (int i = 0; i < size; i++)
		places[i] = 96 * i;
	fill();
	MPI_Alltoallw(MPI_BOTTOM, counts, places, froms, MPI_BOTTOM, got, places, intos, MPI_COMM_WORLD);
	digest("alltoallw at MPI_BOTTOM", received, BYTES);
	fill();
	for (int i = 0; i < size; i++)
		counts[i] = 2;
	MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, MPI_BOTTOM, counts, places, intos, MPI_COMM_WORLD);
	digest("alltoallw in place at MPI_BOTTOM", received, BYTES);
	MPI_Type_free(&from);
	MPI_Type_free(&into);
	MPI_Type_free(&element);
}

static void freed_with_requests(void)
{
	MPI_Comm comm;
	MPI_Request pending[3];
	int got = -1, *all = calloc(size, sizeof *all);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Alltoall(sent, 100, MPI_INT, received, 100, MPI_INT, comm);
	MPI_Irecv(&got, 1, MPI_INT, (rank + 1) % size, 5, comm, &pending[0]);
	MPI_Isend(&rank, 1, MPI_INT, (rank + size - 1) % size, 5, comm, &pending[1]);
	MPI_Iallgather(&rank, 1, MPI_INT, all, 1, MPI_INT, comm, &pending[2]);
	MPI_Comm_free(&comm);
	MPI_Alltoall(sent, 100, MPI_INT, received, 100, MPI_INT, MPI_COMM_WORLD);
	MPI_Waitall(3, pending, MPI_STATUSES_IGNORE);
	digest("freed with requests", &got, sizeof got);
	digest("and a collective", all, size * sizeof *all);
	free(all);
}

/* Within MPI_Finalize. */
static int deleted(MPI_Comm comm, int key, void *value, void *name)
{
	int finalized = -1;
	MPI_Finalized(&finalized);
	fill();
	MPI_Alltoall(sent, 50, MPI_INT, received, 50, MPI_INT, comm);
	if (rank == 0)
		printf("%s is deleted: finalized %d, its call is %s\n", (char *)name, finalized,
		       memcmp(sent, received, 200) ? "wrong" : "right");
	return MPI_SUCCESS;
}

static void finish(void)
{
	int key;
	fill();
	MPI_Alltoall(sent, 70, MPI_INT, received, 70, MPI_INT, MPI_COMM_WORLD);
	digest("from atexit", received, BYTES);
	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleted, &key, "one set late");
	MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
	MPI_Finalize();
	if (rank == 0)
		puts("finalized");
}

static void callers(int argc, char **argv)
{
	int key, given;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleted, &key, "one set early");
	MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
	sent = malloc(BYTES), received = malloc(BYTES);
	fill();
	no_data();
	addresses();
	freed_with_requests();
}

int main(int argc, char **argv)
{
	if (argc == 1)
		atexit(finish);
	callers(argc, argv);
	if (argc > 1)
		finish();
	return 0;
}
