/* With -DLIBRARY, an MPI library as far as the front asks one: its VERSION, perhaps that it has the standard's own interface
   (-DSTANDARD_ABI), and its collectives. Without, a program that calls them; MPI's functions take what they get here. */
#include <stdio.h>
#include <string.h>

#ifdef LIBRARY
int PMPI_Get_library_version(char *version, int *length)
{
	strcpy(version, VERSION);
	*length = strlen(version);
	return 0;
}
#ifdef STANDARD_ABI
int PMPI_Abi_get_version(int *major, int *minor)
{
	*major = STANDARD_ABI;
	*minor = STANDARD_ABI < 0 ? -1 : 0;
	return 0;
}
#endif
#define COLLECTIVE(name) \
	int PMPI_##name(void) \
	{ \
		puts(#name " of the library"); \
		return 0; \
	} \
	int MPI_##name(void) \
	{ \
		return PMPI_##name(); \
	}
COLLECTIVE(Alltoall)
COLLECTIVE(Allgather)
COLLECTIVE(Alltoallv)
COLLECTIVE(Allgatherv)
COLLECTIVE(Alltoallw)
COLLECTIVE(Allreduce)
COLLECTIVE(Reduce_scatter_block)
COLLECTIVE(Bcast)
#else
int MPI_Alltoall(), MPI_Allgather(), MPI_Alltoallv(), MPI_Allgatherv();
int main(void)
{
	return MPI_Alltoall() | MPI_Allgather() | MPI_Alltoallv() | MPI_Allgatherv();
}
#endif
