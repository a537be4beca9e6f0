/* Calls checked collectives, on everybody and on halves: `steady SECONDS [FILE [MILLISECONDS]]`. Makes FILE after its first calls and
   ends when it is gone again, if that comes first; with STEADY_REDUCTIONS it calls reductions and broadcasts, too; rests so many MILLISECONDS between its rounds, and tells of its calls each second.
   With STEADY_ALARMS a signal comes each millisecond and interrupts what waits; with STEADY_FULL no descriptor is free for who comes
   after the MPI library. */
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* Elements a block: of most calls, and of one round in 16. */
enum { SMALL = 300, LARGE = 20000 };
static int wrong, calls;
static double longest;

static void took(double began)
{
	double seconds = MPI_Wtime() - began;
	calls++;
	longest = seconds > longest ? seconds : longest;
}

static void both(MPI_Comm comm, int call)
{
	int size, rank, block = call % 16 == 15 ? LARGE : SMALL;
	MPI_Comm_size(comm, &size);
	MPI_Comm_rank(comm, &rank);
	int *sent = malloc(sizeof(int) * size * block), *got = malloc(sizeof(int) * size * block);
	for (int i = 0; i < size * block; i++) {
		sent[i] = call * 65536 + rank * 4096 + i % 4096;
		got[i] = -1;
	}
	double began = MPI_Wtime();
	MPI_Alltoall(sent, block, MPI_INT, got, block, MPI_INT, comm);
	took(began);
	for (int i = 0; i < size * block; i++) {
		wrong += got[i] != call * 65536 + i / block * 4096 + (rank * block + i % block) % 4096;
		got[i] = -1;
	}
	began = MPI_Wtime();
	MPI_Allgather(sent, block, MPI_INT, got, block, MPI_INT, comm);
	took(began);
	for (int i = 0; i < size * block; i++)
		wrong += got[i] != call * 65536 + i / block * 4096 + i % block % 4096;
	free(sent);
	free(got);
}

static void reductions(MPI_Comm comm, int call)
{
	int size, rank, block = call % 16 == 15 ? LARGE : SMALL;
	MPI_Comm_size(comm, &size);
	MPI_Comm_rank(comm, &rank);
	int *sent = malloc(sizeof(int) * size * block), *got = malloc(sizeof(int) * size * block);
	for (int i = 0; i < size * block; i++) {
		sent[i] = call + rank * i;
		got[i] = -1;
	}
	double began = MPI_Wtime();
	MPI_Allreduce(sent, got, size * block, MPI_INT, MPI_SUM, comm);
	took(began);
	for (int i = 0; i < size * block; i++)
		wrong += got[i] != size * call + size * (size - 1) / 2 * i;
	began = MPI_Wtime();
	MPI_Reduce_scatter_block(sent, got, block, MPI_INT, MPI_MAX, comm);
	took(began);
	for (int i = 0; i < block; i++)
		wrong += got[i] != call + (size - 1) * (rank * block + i);
	began = MPI_Wtime();
	MPI_Bcast(sent, size * block, MPI_INT, call % size, comm);
	took(began);
	for (int i = 0; i < size * block; i++)
		wrong += sent[i] != call + call % size * i;
	free(sent);
	free(got);
}

static volatile sig_atomic_t alarms;

static void alarmed(int number)
{
	alarms++;
}

/* A timer that sends SIGALRM each millisecond, to a handler after which no system call is begun anew. */
static void begin_alarms(void)
{
	struct sigaction action = {.sa_handler = alarmed};
	struct itimerval every = {{0, 1000}, {0, 1000}};
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
}

static void end_alarms(void)
{
	struct itimerval never = {{0, 0}, {0, 0}};
	setitimer(ITIMER_REAL, &never, NULL);
}

static void rest(int milliseconds)
{
	struct timespec left = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
	while (nanosleep(&left, &left))
		;
}

enum { DESCRIPTORS = 512 };
static int taken[DESCRIPTORS], took_descriptors;

/* Takes every descriptor there is left; first the library makes the connections it needs. */
static void fill(MPI_Comm comm)
{
	int size, rank, last;
	struct rlimit limit;
	MPI_Comm_size(comm, &size);
	MPI_Comm_rank(comm, &rank);
	for (int i = 1; i < size; i++) {
		int token = 0, to = (rank + i) % size, from = (rank + size - i) % size;
		MPI_Sendrecv_replace(&token, 1, MPI_INT, to, 0, from, 0, comm, MPI_STATUS_IGNORE);
	}
	PMPI_Barrier(comm);
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = DESCRIPTORS;
	setrlimit(RLIMIT_NOFILE, &limit);
	while ((last = open("/dev/null", O_RDONLY)) >= 0)
		taken[took_descriptors++] = last;
}

int main(int argc, char **argv)
{
	int rank, go_on = 1, made = 0, all;
	MPI_Comm halves;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &halves);
	if (getenv("STEADY_FULL"))
		fill(MPI_COMM_WORLD);
	if (getenv("STEADY_ALARMS"))
		begin_alarms();
	double end = MPI_Wtime() + atof(argv[1]), told = 0;
	for (int call = 0; go_on; call = (call + 1) % 1000) {
		both(MPI_COMM_WORLD, call);
		both(halves, call);
		if (getenv("STEADY_REDUCTIONS")) {
			reductions(MPI_COMM_WORLD, call);
			reductions(halves, call);
		}
		if (rank == 0 && calls >= 4 && !made && argc > 2) {
			made = 1;
			mknod(argv[2], S_IFREG | 0600, 0); /* Needs no descriptor. */
		}
		if (rank == 0 && argc > 3 && MPI_Wtime() > told + 1) {
			printf("steady: %d calls so far, %d wrong at rank 0\n", calls, wrong);
			fflush(stdout);
			told = MPI_Wtime();
		}
		go_on = MPI_Wtime() < end && (argc < 3 || access(argv[2], F_OK) == 0);
		MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
		if (argc > 3)
			rest(atoi(argv[3]));
	}
	end_alarms();
	wrong += getenv("STEADY_ALARMS") && !alarms;
	wrong += getenv("STEADY_FULL") && !took_descriptors;
	while (took_descriptors)
		close(taken[--took_descriptors]);
	MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0)
		printf("steady: %d calls, the longest %.1f s, %d wrong\n", calls, longest, all);
	MPI_Comm_free(&halves);
	MPI_Finalize();
	return all != 0;
}
