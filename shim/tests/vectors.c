/* The collectives with unequal blocks: any sizes, nothing to some ranks, blocks out of order with gaps between, every form. */
#include "digest.h"

#define BYTES (1 << 20)
/* Forms a program may find where its header has none of them, as mpi4py looks for them. */
#if MPI_VERSION < 4
typedef MPI_Count Count;
int MPI_Alltoall_c(const void *, Count, MPI_Datatype, void *, Count, MPI_Datatype, MPI_Comm);
int MPI_Allgather_c(const void *, Count, MPI_Datatype, void *, Count, MPI_Datatype, MPI_Comm);
int MPI_Alltoallv_c(const void *, const Count *, const MPI_Aint *, MPI_Datatype, void *, const Count *, const MPI_Aint *, MPI_Datatype, MPI_Comm);
int MPI_Alltoallw_c(const void *, const Count *, const MPI_Aint *, const MPI_Datatype *, void *, const Count *, const MPI_Aint *, const MPI_Datatype *, MPI_Comm);
int MPI_Allgatherv_c(const void *, Count, MPI_Datatype, void *, const Count *, const MPI_Aint *, MPI_Datatype, MPI_Comm);
#endif
#pragma weak MPI_Alltoall_c
#pragma weak MPI_Allgather_c
#pragma weak MPI_Alltoallv_c
#pragma weak MPI_Alltoallw_c
#pragma weak MPI_Allgatherv_c

enum { MOST = 64 };
static char *sent, *received;
static int rank, size, sc[MOST], sd[MOST], rc[MOST], rd[MOST], gc[MOST], gd[MOST];
static MPI_Comm comm;

/* Elements from one rank to another: the same in both directions where a call in place is to come. */
static int elements(int shape, int from, int to)
{
	switch (shape) {
	case 0: return (from * 7 + to * 3) % 5 * 40;
	case 1: return from == 1 ? 3000 : 0;
	case 2: return (from + to) % 3 ? from + to : 0;
	case 3: return 0;
	default: return (from ^ to) * 100;
	}
}

/* Blocks backwards in the buffer, a gap of three elements before each. */
static void lay_out(int shape, int most)
{
	int s = 0, r = 0, g = 0;
	for (int peer = size - 1; peer >= 0; peer--) {
		sc[peer] = elements(shape, rank, peer);
		rc[peer] = elements(shape, peer, rank);
		gc[peer] = elements(shape, peer, 2 * peer + 1);
		s += 3, r += 3, g += 3;
		sd[peer] = s, rd[peer] = r, gd[peer] = g;
		s += sc[peer], r += rc[peer], g += gc[peer];
	}
	if (s > most || r > most || g > most)
		MPI_Abort(MPI_COMM_WORLD, 9);
}

static void told(const char *what, const char *name, int shape)
{
	char line[100];
	snprintf(line, sizeof line, "%s %s, shape %d", what, name, shape);
	digest(line, received, BYTES);
}

static void both(const char *name, MPI_Datatype st, MPI_Datatype rt)
{
	MPI_Aint lower, se, re;
	MPI_Type_get_extent(st, &lower, &se);
	MPI_Type_get_extent(rt, &lower, &re);
	for (int shape = 0; shape < 5; shape++) {
		lay_out(shape, BYTES / 40);
		memset(received, 9, BYTES);
		MPI_Alltoallv(sent, sc, sd, st, received, rc, rd, rt, comm);
		told("alltoallv", name, shape);
		memset(received, 9, BYTES);
		MPI_Allgatherv(sent, gc[rank], st, received, gc, gd, rt, comm);
		told("allgatherv", name, shape);
	}
}

/* Each pair of ranks has a type of its own, whose elements hold two integers, and the two ends do not lay them out alike. */
static void of_types(const MPI_Datatype *kinds)
{
	MPI_Datatype st[MOST], rt[MOST];
	MPI_Aint lower, extent, sa[MOST], ra[MOST];
	MPI_Count sw[MOST], rw[MOST];
	for (int shape = 0; shape < 5; shape++) {
		int s = 0, r = 0;
		lay_out(shape, BYTES / 40);
		for (int peer = size - 1; peer >= 0; peer--) {
			st[peer] = kinds[(rank + peer) % 4], rt[peer] = kinds[(rank + 2 * peer) % 4];
			MPI_Type_get_extent(st[peer], &lower, &extent);
			sd[peer] = s += 8, s += sc[peer] * extent;
			MPI_Type_get_extent(rt[peer], &lower, &extent);
			rd[peer] = r += 8, r += rc[peer] * extent;
			sw[peer] = sc[peer], rw[peer] = rc[peer], sa[peer] = sd[peer], ra[peer] = rd[peer];
		}
		memset(received, 9, BYTES);
		MPI_Alltoallw(sent, sc, sd, st, received, rc, rd, rt, comm);
		told("alltoallw", "of a type a pair", shape);
		memset(received, 9, BYTES);
		if (MPI_Alltoallw_c)
			MPI_Alltoallw_c(sent, sw, sa, st, received, rw, ra, rt, comm);
		else
			MPI_Alltoallw(sent, sc, sd, st, received, rc, rd, rt, comm);
		told("alltoallw", "with large counts", shape);
		if (shape < 2)
			continue;
		for (int peer = 0; peer < size; peer++) /* The blocks for each rank lie as those for it did. */
			rt[peer] = st[peer], rd[peer] = sd[peer];
		memcpy(received, sent, BYTES);
		MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, received, rc, rd, rt, comm);
		told("alltoallw", "in place", shape);
	}
}

static void in_place(const char *name, MPI_Datatype type)
{
	for (int shape = 2; shape < 5; shape++) {
		lay_out(shape, BYTES / 40);
		memcpy(received, sent, BYTES);
		MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, received, rc, rd, type, comm);
		told("alltoallv in place", name, shape);
		memcpy(received, sent, BYTES);
		MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, received, gc, gd, type, comm);
		told("allgatherv in place", name, shape);
	}
}

static void large(void)
{
	MPI_Count wide[4][MOST];
	MPI_Aint places[3][MOST];
	lay_out(0, BYTES / 40);
	for (int i = 0; i < size; i++) {
		wide[0][i] = sc[i], wide[1][i] = rc[i], wide[2][i] = gc[i];
		places[0][i] = sd[i], places[1][i] = rd[i], places[2][i] = gd[i];
	}
	memset(received, 9, BYTES);
	if (MPI_Alltoallv_c)
		MPI_Alltoallv_c(sent, wide[0], places[0], MPI_INT, received, wide[1], places[1], MPI_INT, comm);
	else
		MPI_Alltoallv(sent, sc, sd, MPI_INT, received, rc, rd, MPI_INT, comm);
	told("alltoallv", "with large counts", 0);
	memset(received, 9, BYTES);
	if (MPI_Allgatherv_c)
		MPI_Allgatherv_c(sent, wide[2][rank], MPI_INT, received, wide[2], places[2], MPI_INT, comm);
	else
		MPI_Allgatherv(sent, gc[rank], MPI_INT, received, gc, gd, MPI_INT, comm);
	told("allgatherv", "with large counts", 0);
	memset(received, 9, BYTES);
	if (MPI_Alltoall_c)
		MPI_Alltoall_c(sent, 30, MPI_INT, received, 30, MPI_INT, comm);
	else
		MPI_Alltoall(sent, 30, MPI_INT, received, 30, MPI_INT, comm);
	told("alltoall", "with large counts", 0);
	memset(received, 9, BYTES);
	if (MPI_Allgather_c)
		MPI_Allgather_c(sent, 30, MPI_INT, received, 30, MPI_INT, comm);
	else
		MPI_Allgather(sent, 30, MPI_INT, received, 30, MPI_INT, comm);
	told("allgather", "with large counts", 0);
}

int main(int argc, char **argv)
{
	MPI_Datatype vector, resized, absolute, pair, wide, types[MOST], halves[MOST];
	MPI_Comm half, between;
	MPI_Aint address;
	int one = 1, bytes[MOST];

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	comm = MPI_COMM_WORLD;
	sent = malloc(BYTES);
	received = malloc(BYTES);
	for (int i = 0; i < BYTES; i++)
		sent[i] = (char)(rank * 31 + i * 7 + (i >> 8));
	MPI_Type_vector(2, 1, 3, MPI_INT, &vector);
	MPI_Type_create_resized(vector, 0, 20, &resized);
	MPI_Type_commit(&resized);
	MPI_Get_address(sent, &address);
	MPI_Type_create_hindexed(1, &one, &address, MPI_INT, &absolute);
	MPI_Type_commit(&absolute);

	both("int", MPI_INT, MPI_INT);
	both("byte", MPI_BYTE, MPI_BYTE);
	both("gaps", resized, resized);
	in_place("int", MPI_INT);
	in_place("gaps", resized);
	large();
	MPI_Type_contiguous(2, MPI_INT, &pair);
	MPI_Type_commit(&pair);
	MPI_Type_create_resized(MPI_2INT, 0, 16, &wide);
	MPI_Type_commit(&wide);
	of_types((MPI_Datatype[]){pair, resized, MPI_2INT, wide});

	/* From MPI_BOTTOM, one element to everybody. */
	lay_out(0, BYTES / 40);
	memset(received, 9, BYTES);
	for (int i = 0; i < size; i++)
		sc[i] = rc[i] = 1, sd[i] = 0;
	MPI_Alltoallv(MPI_BOTTOM, sc, sd, absolute, received, rc, rd, MPI_INT, comm);
	told("alltoallv", "from MPI_BOTTOM", 0);

	/* Two types, and left to the library: two groups. */
	memset(received, 9, BYTES);
	for (int i = 0; i < size; i++)
		types[i] = i % 2 ? MPI_INT : MPI_SHORT, halves[i] = rank % 2 ? MPI_INT : MPI_SHORT, bytes[i] = 64 * i, sc[i] = 8;
	MPI_Alltoallw(sent, sc, bytes, types, received, sc, bytes, halves, comm);
	told("alltoallw", "of two types", 0);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 3, &between);
	MPI_Comm_remote_size(between, &one);
	for (int i = 0; i < one; i++)
		sc[i] = rc[i] = 5, sd[i] = rd[i] = 7 * i;
	memset(received, 9, BYTES);
	MPI_Alltoallv(sent, sc, sd, MPI_INT, received, rc, rd, MPI_INT, between);
	told("alltoallv", "between two groups", 0);
	memset(received, 9, BYTES);
	MPI_Allgatherv(sent, 5, MPI_INT, received, rc, rd, MPI_INT, between);
	told("allgatherv", "between two groups", 0);
	/* And on halves, out of order. */
	MPI_Comm_free(&between);
	MPI_Comm_free(&half);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
	comm = half;
	MPI_Comm_rank(half, &rank);
	MPI_Comm_size(half, &size);
	both("int on halves", MPI_INT, MPI_INT);
	MPI_Comm_free(&half);
	MPI_Finalize();
	return 0;
}
