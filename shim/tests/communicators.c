/* Both collectives on every kind of communicator, beside messages of the application's own. */
#include "digest.h"

enum { BLOCK = 500, BYTES = 64 * BLOCK * sizeof(int) };
static int *sent, *received, *under_way, copies;

static void both(const char *name, MPI_Comm comm)
{
	char line[100];
	memset(received, 9, BYTES);
	if (comm != MPI_COMM_NULL)
		MPI_Alltoall(sent, BLOCK, MPI_INT, received, BLOCK, MPI_INT, comm);
	snprintf(line, sizeof line, "alltoall on %s", name);
	digest(line, received, BYTES);
	memset(received, 9, BYTES);
	if (comm != MPI_COMM_NULL)
		MPI_Allgather(sent, BLOCK, MPI_INT, received, BLOCK, MPI_INT, comm);
	snprintf(line, sizeof line, "allgather on %s", name);
	digest(line, received, BYTES);
}

static int copied(MPI_Comm c, int k, void *e, void *in, void *out, int *flag)
{
	(void)c, (void)k, (void)e;
	copies++;
	*(void **)out = in;
	*flag = 1;
	return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
	MPI_Comm halves, backwards, duplicate, between, some, leaked;
	MPI_Request pending;
	int rank, size, key, value = 5, token, got = -1;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_create_keyval(copied, MPI_COMM_NULL_DELETE_FN, &key, NULL);
	MPI_Comm_set_attr(MPI_COMM_WORLD, key, &value);
	sent = malloc(BYTES);
	received = malloc(BYTES);
	for (int i = 0; i < BYTES / (int)sizeof(int); i++)
		sent[i] = rank * 100000 + i;

	both("MPI_COMM_WORLD", MPI_COMM_WORLD);
	both("MPI_COMM_SELF", MPI_COMM_SELF);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &halves);
	both("halves", halves);
	MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &backwards);
	both("all backwards", backwards);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 3 == 1 ? MPI_UNDEFINED : 0, (rank * 5) % size, &some);
	both("some out of order", some);
	MPI_Comm_dup(halves, &duplicate);
	both("a duplicate", duplicate);
	MPI_Comm_free(&duplicate);
	/* A new communicator under the handle of a freed one, with other members. */
	MPI_Comm_split(MPI_COMM_WORLD, rank * 2 / size, rank, &duplicate);
	both("a communicator made after one was freed", duplicate);
	MPI_Comm_free(&duplicate);
	MPI_Intercomm_create(halves, 0, MPI_COMM_WORLD, 1 - rank % 2, 3, &between);
	both("an intercommunicator", between);
	MPI_Comm_free(&between);

	/* A receive for anything must not take the runtime's messages. */
	MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &pending);
	both("MPI_COMM_WORLD beside a pending receive", MPI_COMM_WORLD);
	token = rank;
	MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD);
	MPI_Wait(&pending, MPI_STATUS_IGNORE);
	digest("the pending receive", &got, sizeof got);

	MPI_Comm_dup(MPI_COMM_WORLD, &leaked);
	/* Non-blocking calls stay the library's, also while the ranks of their communicator first meet. */
	under_way = malloc(BYTES);
	memset(under_way, 9, BYTES);
	MPI_Ialltoall(sent, BLOCK, MPI_INT, under_way, BLOCK, MPI_INT, leaked, &pending);
	both("a communicator that is never freed", leaked);
	MPI_Wait(&pending, MPI_STATUS_IGNORE);
	digest("a non-blocking all-to-all", under_way, BYTES);
	digest("attribute copies", &copies, sizeof copies);
	MPI_Comm_free(&halves);
	MPI_Comm_free(&backwards);
	if (some != MPI_COMM_NULL)
		MPI_Comm_free(&some);
	MPI_Finalize();
	return 0;
}
