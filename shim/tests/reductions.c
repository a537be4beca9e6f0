/* Reductions and broadcasts: many operations, types, lengths, in place or not, every form. The results of whole numbers, and of whatever can
   be combined in any order, are told as digests; those of floating-point sums are compared with the truth and among all ranks. */
#include "digest.h"
#include <complex.h>

#if MPI_VERSION < 4
typedef MPI_Count Count;
int MPI_Allreduce_c(const void *, void *, Count, MPI_Datatype, MPI_Op, MPI_Comm);
int MPI_Reduce_scatter_block_c(const void *, void *, Count, MPI_Datatype, MPI_Op, MPI_Comm);
int MPI_Bcast_c(void *, Count, MPI_Datatype, int, MPI_Comm);
#endif
#pragma weak MPI_Allreduce_c
#pragma weak MPI_Reduce_scatter_block_c
#pragma weak MPI_Bcast_c

enum { BYTES = 1 << 17, LENGTHS = 5 };
static const int lengths[LENGTHS] = {1, 3, 17, 1000, 7001};
static char *sent, *got;
static int rank, size;
static MPI_Comm comm;

static void fill(int seed)
{
	for (int i = 0; i < BYTES; i++)
		sent[i] = (char)(rank * 31 + i * 7 + (i >> 8) + seed);
	memset(got, 9, BYTES);
}

static void told(const char *what, const char *op, const char *type, int n)
{
	char line[100];
	snprintf(line, sizeof line, "%s %s of %d %s", what, op, n, type);
	digest(line, got, BYTES);
}

/* What stays behind the first block of a call in place is nobody's business. */
static void scatter_in_place(const char *op_name, const char *type_name, int n, MPI_Datatype type, MPI_Op op)
{
	MPI_Aint lower, extent;
	MPI_Type_get_extent(type, &lower, &extent);
	memcpy(got, sent, BYTES);
	MPI_Reduce_scatter_block(MPI_IN_PLACE, got, n, type, op, comm);
	memset(got + n * extent, 9, BYTES - n * extent);
	told("reduce_scatter_block in place", op_name, type_name, n);
}

static void each(const char *op_name, MPI_Op op, const char *type_name, MPI_Datatype type)
{
	MPI_Aint lower, extent;
	MPI_Type_get_extent(type, &lower, &extent);
	for (int i = 0; i < LENGTHS; i++) {
		int n = lengths[i], part = n / size + 1;
		fill(i);
		MPI_Allreduce(sent, got, n, type, op, comm);
		told("allreduce", op_name, type_name, n);
		memcpy(got, sent, BYTES);
		MPI_Allreduce(MPI_IN_PLACE, got, n, type, op, comm);
		told("allreduce in place", op_name, type_name, n);
		fill(i + 1);
		MPI_Reduce_scatter_block(sent, got, part, type, op, comm);
		told("reduce_scatter_block", op_name, type_name, part);
		scatter_in_place(op_name, type_name, part, type, op);
	}
}

static void broadcasts(const char *name, MPI_Datatype type)
{
	MPI_Aint lower, extent;
	MPI_Type_get_extent(type, &lower, &extent);
	for (int last = 0; last < 2; last++) /* as many on both halves */
		for (int i = 0; i < LENGTHS; i++) {
			int root = last ? size - 1 : 0;
			fill(last);
			MPI_Bcast(rank == root ? sent : got, lengths[i], type, root, comm);
			told("bcast", "from one", name, lengths[i]);
		}
}

/* Matrices of two by two, modulo 2^32: in no order but that of the ranks. */
static void multiply(void *in, void *inout, int *n, MPI_Datatype *type)
{
	(void)type;
	unsigned *a = in, *b = inout;
	for (int i = 0; i < *n; i++, a += 4, b += 4) {
		unsigned c[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
		memcpy(b, c, sizeof c);
	}
}

/* Added, in any order. */
static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
	MPI_Aint lower, extent;
	MPI_Type_get_extent(*type, &lower, &extent);
	for (int i = 0; i < *n; i++) {
		unsigned *a = (unsigned *)((char *)in + i * extent), *b = (unsigned *)((char *)inout + i * extent);
		b[0] += a[0], b[1] ^= a[1];
	}
}

static void own_operations(void)
{
	MPI_Op ordered, free_order;
	MPI_Datatype four, two, gap, turned, early;
	int ones[2] = {1, 1}, places[2] = {1, 0};
	MPI_Op_create(multiply, 0, &ordered);
	MPI_Op_create(add, 1, &free_order);
	MPI_Type_contiguous(4, MPI_UNSIGNED, &four);
	MPI_Type_contiguous(2, MPI_UNSIGNED, &two);
	MPI_Type_create_resized(two, 0, 12, &gap);
	MPI_Type_indexed(2, ones, places, MPI_UNSIGNED, &turned);
	MPI_Type_create_resized(two, -4, 16, &early); /* begins before its address */
	MPI_Type_commit(&four), MPI_Type_commit(&two), MPI_Type_commit(&gap), MPI_Type_commit(&turned), MPI_Type_commit(&early);
	each("ordered", ordered, "matrices", four);
	each("own", free_order, "pairs", two);
	each("own", free_order, "pairs with gaps", gap);
	each("own", free_order, "turned pairs", turned);
	each("own", free_order, "early pairs", early);
	broadcasts("pairs", two);
	broadcasts("early pairs", early);
	broadcasts("pairs with gaps", gap);
	broadcasts("turned pairs", turned);
	MPI_Op_free(&ordered), MPI_Op_free(&free_order);
	MPI_Type_free(&four), MPI_Type_free(&two), MPI_Type_free(&gap), MPI_Type_free(&turned), MPI_Type_free(&early);
}

/* Pairs have to hold numbers: small ones, so that some are equal. Nobody says what is in the gaps. */
#define PLACES(kind, type, op) \
	do { \
		struct { kind value; int place; } *a = (void *)sent, *b = (void *)got; \
		int n = 4000; \
		memset(sent, 0, BYTES); \
		for (int i = 0; i < n; i++) \
			a[i].value = (rank * 7 + i) % 5, a[i].place = rank; \
		memset(got, 9, BYTES); \
		MPI_Allreduce(sent, got, n, type, op, comm); \
		for (int i = 0; i < n; i++) \
			a[i].value = b[i].value, a[i].place = b[i].place; \
		memcpy(got, sent, n * sizeof *a); \
		told("allreduce", #op, #type, n); \
	} while (0)

static void places_of_extremes(void)
{
	PLACES(double, MPI_DOUBLE_INT, MPI_MAXLOC);
	PLACES(int, MPI_2INT, MPI_MINLOC);
	PLACES(float, MPI_FLOAT_INT, MPI_MINLOC);
	PLACES(long, MPI_LONG_INT, MPI_MINLOC);
	PLACES(short, MPI_SHORT_INT, MPI_MAXLOC);
	PLACES(long double, MPI_LONG_DOUBLE_INT, MPI_MINLOC);
}

/* The sums are near the truth, and the same on all ranks and in each call. */
static void floating_point(void)
{
	int n = 7003, wrong = 0;
	double *a = (void *)sent, *b = (void *)got, *again = malloc(n * sizeof *again);
	for (int i = 0; i < n; i++)
		a[i] = 1.0 / (rank + 1 + i % 1000);
	MPI_Allreduce(a, b, n, MPI_DOUBLE, MPI_SUM, comm);
#ifdef DIGITS
	told("allreduce", "digits of the sum", "double", n);
#endif
	for (int i = 0; i < n; i++) {
		double truth = 0;
		for (int r = 0; r < size; r++)
			truth += 1.0 / (r + 1 + i % 1000);
		wrong += !(b[i] - truth < 1e-12 && truth - b[i] < 1e-12);
	}
	memcpy(again, a, n * sizeof *again);
	MPI_Allreduce(MPI_IN_PLACE, again, n, MPI_DOUBLE, MPI_SUM, comm);
	wrong += memcmp(again, b, n * sizeof *again) != 0;
	memcpy(again, b, n * sizeof *again);
	MPI_Bcast(again, n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	if (comm == MPI_COMM_WORLD)
		wrong += memcmp(again, b, n * sizeof *again) != 0;
	free(again);
	memset(got, 9, BYTES);
	((int *)got)[0] = wrong;
	told("allreduce", "sum near the truth", "double", n);
	float complex *c = (void *)sent, *d = (void *)got;
	for (int i = 0; i < n; i++)
		c[i] = rank + 1 + (i % 7) * I; /* whole numbers: exact in any order */
	MPI_Allreduce(c, d, n, MPI_C_FLOAT_COMPLEX, MPI_SUM, comm);
	told("allreduce", "sum", "float complex", n);
}

static void large_counts(void)
{
	int n = 7001;
	fill(3);
	(MPI_Allreduce_c ? MPI_Allreduce_c(sent, got, n, MPI_INT, MPI_SUM, comm) : MPI_Allreduce(sent, got, n, MPI_INT, MPI_SUM, comm));
	told("allreduce", "with large counts", "int", n);
	fill(4), n = 2000;
	(MPI_Reduce_scatter_block_c ? MPI_Reduce_scatter_block_c(sent, got, n, MPI_INT, MPI_SUM, comm) : MPI_Reduce_scatter_block(sent, got, n, MPI_INT, MPI_SUM, comm));
	told("reduce_scatter_block", "with large counts", "int", n);
	fill(5), n = 7001;
	(MPI_Bcast_c ? MPI_Bcast_c(got, n, MPI_INT, size - 1, comm) : MPI_Bcast(got, n, MPI_INT, size - 1, comm));
	told("bcast", "with large counts", "int", n);
}

static void all(void)
{
	each("sum", MPI_SUM, "int", MPI_INT);
	each("prod", MPI_PROD, "long", MPI_LONG);
	each("max", MPI_MAX, "short", MPI_SHORT);
	each("min", MPI_MIN, "unsigned char", MPI_UNSIGNED_CHAR);
	each("bxor", MPI_BXOR, "byte", MPI_BYTE);
	each("band", MPI_BAND, "uint64", MPI_UINT64_T);
	each("lor", MPI_LOR, "int", MPI_INT);
	places_of_extremes();
	broadcasts("int", MPI_INT);
	floating_point();
	large_counts();
}

int main(int argc, char **argv)
{
	MPI_Comm half;
	MPI_Init(&argc, &argv);
	comm = MPI_COMM_WORLD;
	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	sent = malloc(BYTES), got = malloc(BYTES);
	all();
	own_operations();
	/* And on halves, out of order. */
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
	comm = half;
	MPI_Comm_rank(half, &rank);
	MPI_Comm_size(half, &size);
	if (size > 1)
		all();
	MPI_Comm_free(&half);
	MPI_Finalize();
	return 0;
}
