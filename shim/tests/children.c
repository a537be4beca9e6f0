/* A program with children of its own and a handler for their ends: it must hear of none that is not its own, nor may wait() give it one.
   Rank 0 says what it heard. */
#include <errno.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t heard;

static void ended(int signal)
{
	(void)signal;
	heard++;
}

int main(int argc, char **argv)
{
	int rank, size, gate[2], strangers = 0, sent[64] = {0}, got[64];
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	signal(SIGCHLD, ended);
	/* A child that ends when it is let: whatever ends before is not the program's. */
	if (pipe(gate))
		return 2;
	pid_t own = fork();
	if (own == 0) {
		char octet;
		close(gate[1]);
		_exit(read(gate[0], &octet, 1) < 0);
	}
	close(gate[0]);
	for (int call = 0; call < 2000; call++) {
		MPI_Alltoall(sent, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_WORLD);
		pid_t stranger = waitpid(-1, NULL, WNOHANG);
		strangers += stranger > 0 && stranger != own;
	}
	int before = heard;
	close(gate[1]);
	pid_t waited;
	while ((waited = wait(NULL)) != own && (waited > 0 || errno == EINTR))
		strangers += waited > 0;
	int wrong = before != 0 || strangers != 0, all;
	MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0)
		printf("children: %d heard of before the own one ended, %d strangers waited for, %d ranks wrong\n", before, strangers, all);
	MPI_Finalize();
	return all != 0;
}
