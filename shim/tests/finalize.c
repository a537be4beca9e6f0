/* Preloaded into MPICH programs of the tests. MPICH 4.0 over UCX's TCP transport does not come back from
   MPI_Finalize in about one run of three, without heddle too: a rank waits for peers that already block
   in the launcher's barrier. All results are in by then, so the process ends itself after some seconds and says so. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static void enough(int signal)
{
	static const char line[] = "tests: MPI_Finalize did not return\n";
	(void)signal;
	(void)!write(2, line, sizeof line - 1);
	_exit(0);
}

int MPI_Finalize(void)
{
	signal(SIGALRM, enough);
	alarm(4);
	int code = PMPI_Finalize();
	alarm(0);
	return code;
}
