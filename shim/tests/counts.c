/* Counts, places and extents that an int does not hold (MPI-4.0, large counts). Memory is given for what is touched only. With the
   argument `long` ranks also exchange blocks of more than 2^31 octets, of which memory has one part, again and again, and the end; with
   `places` extents are left out. */
#define _GNU_SOURCE
#include "digest.h"
#include <sys/mman.h>
#include <unistd.h>

enum { RANKS = 16, FEW = 700 };
static const MPI_Count APART = 3L << 30;
static int rank, size;

/* So many octets that take no memory until they are touched. */
static char *sparse(size_t octets)
{
	char *at = mmap(NULL, octets, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		MPI_Abort(MPI_COMM_WORLD, 3);
	return at;
}

static void fill(char *at, int seed)
{
	for (int i = 0; i < FEW; i++)
		at[i] = (char)(rank * 31 + seed * 17 + i * 7);
}

/* What came from each rank, in one row. */
static void gathered(const char *what, const char *at)
{
	static char row[RANKS * FEW];
	for (int i = 0; i < size; i++)
		memcpy(row + i * FEW, at + i * APART, FEW);
	digest(what, row, size * FEW);
}

static void far_places(void)
{
	char *from = sparse(APART * size), *to = sparse(APART * size);
	MPI_Count counts[RANKS];
	MPI_Aint places[RANKS];
	MPI_Datatype types[RANKS];
	for (int i = 0; i < size; i++) {
		counts[i] = FEW, places[i] = APART * i, types[i] = MPI_BYTE;
		fill(from + APART * i, i);
	}
#if MPI_VERSION >= 4
	MPI_Alltoallv_c(from, counts, places, MPI_BYTE, to, counts, places, MPI_BYTE, MPI_COMM_WORLD);
	gathered("alltoallv, far places", to);
	MPI_Alltoallw_c(to, counts, places, types, from, counts, places, types, MPI_COMM_WORLD);
	gathered("alltoallw, far places", from);
	MPI_Allgatherv_c(from + APART, FEW, MPI_BYTE, to, counts, places, MPI_BYTE, MPI_COMM_WORLD);
	gathered("allgatherv, far places", to);
#endif
	munmap(from, APART * size);
	munmap(to, APART * size);
}

/* The same places by the extent of one element, which the older forms take too. */
static void far_extents(void)
{
	char *from = sparse(APART * size), *to = sparse(APART * size);
	MPI_Datatype few, block;
	MPI_Type_contiguous(FEW, MPI_BYTE, &few);
	MPI_Type_create_resized(few, 0, APART, &block);
	MPI_Type_commit(&block);
	for (int i = 0; i < size; i++)
		fill(from + APART * i, i + 5);
	MPI_Alltoall(from, 1, block, to, 1, block, MPI_COMM_WORLD);
	gathered("alltoall, a far extent", to);
	MPI_Allgather(from + APART, 1, block, to, 1, block, MPI_COMM_WORLD);
	gathered("allgather, a far extent", to);
	MPI_Type_free(&block);
	MPI_Type_free(&few);
	munmap(from, APART * size);
	munmap(to, APART * size);
}

#if MPI_VERSION >= 4
/* Elements of no octet, more than an int counts. */
static void many_of_nothing(void)
{
	char from[8] = "before", to[8] = "behind";
	MPI_Datatype nothing;
	MPI_Type_contiguous(0, MPI_INT, &nothing);
	MPI_Type_commit(&nothing);
	MPI_Alltoall_c(from, APART, nothing, to, APART, nothing, MPI_COMM_WORLD);
	MPI_Allgather_c(from, APART, nothing, to, APART, nothing, MPI_COMM_WORLD);
	MPI_Type_free(&nothing);
	digest("many of nothing", to, sizeof to);
}
#endif

/* A block of octets with one part of memory again and again, and an end of its own. */
static char *repeated(int blocks, size_t part, size_t times, size_t end)
{
	size_t block = part * times + end;
	char *at = sparse(block * blocks);
	int file = memfd_create("repeated", 0);
	if (file < 0 || ftruncate(file, blocks * (part + end)))
		MPI_Abort(MPI_COMM_WORLD, 4);
	for (int b = 0; b < blocks; b++) {
		off_t offset = b * (part + end);
		for (size_t t = 0; t <= times; t++)
			mmap(at + b * block + t * part, t < times ? part : end, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
			     t < times ? offset : offset + part);
	}
	close(file);
	return at;
}

/* Of bytes, and of one element that is as long. */
static void long_blocks(void)
{
	enum { PART = 1 << 24, TIMES = 129, END = 1 << 16 };
	const size_t block = (size_t)PART * TIMES + END;
	char *from = repeated(1, PART, TIMES, END), *to = repeated(size, PART, TIMES, END);
	MPI_Datatype part, whole;
	MPI_Type_contiguous(END, MPI_BYTE, &part);
	MPI_Type_contiguous(block / END, part, &whole);
	MPI_Type_commit(&whole);
	for (int call = MPI_VERSION < 4; call < 2; call++) {
		for (int i = 0; i < PART; i++)
			from[i] = (char)(rank * 31 + call + i * 7 + (i >> 9));
		for (int i = 0; i < END; i++)
			from[block - END + i] = (char)(rank * 13 + call + i * 5);
#if MPI_VERSION >= 4
		if (call == 0)
			MPI_Allgather_c(from, block, MPI_BYTE, to, block, MPI_BYTE, MPI_COMM_WORLD);
#endif
		if (call)
			MPI_Allgather(from, 1, whole, to, 1, whole, MPI_COMM_WORLD);
		for (int b = 0; b < size; b++) {
			digest("a part of a long block", to + b * block, PART);
			digest("the end of a long block", to + (b + 1) * block - END, END);
		}
	}
	MPI_Type_free(&part);
	MPI_Type_free(&whole);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	far_places();
#if MPI_VERSION >= 4
	many_of_nothing();
#endif
	if (argc == 1 || strcmp(argv[1], "places"))
		far_extents();
	if (argc > 1 && !strcmp(argv[1], "long"))
		long_blocks();
	MPI_Finalize();
	return 0;
}
