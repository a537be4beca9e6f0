/* MPI_Alltoallv and MPI_Alltoallw again and again, with lengths that stay, take turns, grow, or look random: whatever heddle forecasts, each
   octet arrives. Ranks that disagree on a length come last: `lengths [disagree]`. */
#include "digest.h"

enum { MOST = 16, ROOM = 1 << 20 };
static char *sent, *received;
static int rank, size, sc[MOST], sd[MOST], rc[MOST], rd[MOST];
static unsigned state = 1;

/* Octets of a call from one rank to another: all ranks know the seed of the call. */
static int octets(unsigned seed, int most, int from, int to)
{
	unsigned mixed = (seed * 31 + from) * 2654435761u + to * 40503u;
	mixed ^= mixed >> 15;
	return mixed % 7 == 0 ? 0 : mixed % (2 * most + 1);
}

static void call(int wide, unsigned seed, int most, unsigned *sum)
{
	MPI_Datatype types[MOST];
	int s = 0, r = 0;
	for (int peer = 0; peer < size; peer++) {
		types[peer] = MPI_BYTE;
		sc[peer] = octets(seed, most, rank, peer), rc[peer] = octets(seed, most, peer, rank);
		sd[peer] = s, rd[peer] = r;
		s += sc[peer], r += rc[peer];
	}
	for (int i = 0; i < s; i++)
		sent[i] = (char)(rank * 31 + i * 7 + (i >> 8) + seed);
	if (wide)
		MPI_Alltoallw(sent, sc, sd, types, received, rc, rd, types, MPI_COMM_WORLD);
	else
		MPI_Alltoallv(sent, sc, sd, MPI_BYTE, received, rc, rd, MPI_BYTE, MPI_COMM_WORLD);
	for (int i = 0; i < r; i++)
		*sum = *sum * 16777619u + (unsigned char)received[i];
}

static void calls(const char *name, int wide, int pattern)
{
	unsigned sum = 2166136261u;
	char line[100];
	for (int n = 0; n < 60; n++) {
		state = state * 1664525 + 1013904223;
		int large = pattern == 0 ? 1 : pattern == 1 ? n % 2 : pattern == 2 ? n > 40 : (int)(state >> 24) % 2;
		call(wide, pattern == 3 ? state : pattern, large ? 30000 : 20, &sum);
	}
	snprintf(line, sizeof line, "%s %s", wide ? "alltoallw" : "alltoallv", name);
	digest(line, (char *)&sum, sizeof sum);
}

int main(int argc, char **argv)
{
	const char *names[] = {"stays", "takes turns", "grows", "looks random"};
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	sent = malloc(ROOM), received = malloc(ROOM);
	for (int wide = 0; wide < 2; wide++)
		for (int pattern = 0; pattern < 4; pattern++)
			calls(names[pattern], wide, pattern);
	/* Lengths that only two ranks know, after many calls that were as forecast. */
	if (argc > 1) {
		int code = 0, class = 0, others, cut;
		MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
		for (int n = 0; n < 40; n++) {
			for (int i = 0; i < size; i++)
				sc[i] = rc[i] = 20000, sd[i] = rd[i] = 20000 * i;
			if (rank == 1 && n == 37)
				rc[0] = 10000;
			code = MPI_Alltoallv(sent, sc, sd, MPI_BYTE, received, rc, rd, MPI_BYTE, MPI_COMM_WORLD);
			if (code != MPI_SUCCESS)
				MPI_Error_class(code, &class);
		}
		cut = rank == 1 && class == MPI_ERR_TRUNCATE;
		MPI_Allreduce(&cut, &others, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		if (rank == 0)
			printf("%d told of a block cut short\n", others);
	}
	MPI_Finalize();
	return 0;
}
