/* With -DLIBRARY, an MPI library as far as the front asks one: its VERSION, perhaps that it has the standard's own interface
   (-DSTANDARD_ABI) or MPICH's (-DMPICH_ABI), and its collectives. With -DSTANDARD, also as far as the backend asks one at first: the
   version of the standard, and answers of which STATUS, HANDLE and SIZE may be wrong, or with -DIN_PLACE all are MPICH's but that it knows
   no MPI_IN_PLACE. Without -DLIBRARY, a program that calls them;
   MPI's functions take what they get here. */
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
#ifdef MPICH_ABI
int MPIR_Dup_fn(void)
{
	return 0;
}
#endif
#ifdef STANDARD
#if defined(STANDARD_ABI) && STANDARD_ABI > 0
enum { SOURCE = 0, TAG = 1, ANY_SOURCE = -1, ANY_TAG = -2, NUMBERS = 8 };
#else
enum { SOURCE = 2, TAG = 3, ANY_SOURCE = -2, ANY_TAG = -1, NUMBERS = 5 };
#endif
#ifndef STATUS
#define STATUS NUMBERS
#endif
#ifndef HANDLE
#define HANDLE 0x94000000
#endif
#ifndef SIZE
#define SIZE 1
#endif
int PMPI_Get_version(int *major, int *minor)
{
	*major = STANDARD;
	*minor = 2;
	return 0;
}
int PMPI_Initialized(int *flag)
{
	*flag = 1;
	return 0;
}
int PMPI_Comm_create_errhandler(void *function, int *handle)
{
	*handle = HANDLE;
	return 0;
}
/* Empty. */
int PMPI_Test(int *request, int *flag, int *status)
{
	*flag = 1;
	memset(status, 0, STATUS * sizeof *status);
	status[SOURCE] = ANY_SOURCE, status[TAG] = ANY_TAG;
	return 0;
}
#ifdef IN_PLACE
/* MPICH's handles have the size in them. */
#undef SIZE
#define SIZE (type >> 8 & 255)
int PMPI_Type_get_envelope(int type, int *integers, int *addresses, int *datatypes, int *combiner)
{
	*integers = *addresses = *datatypes = 0;
	*combiner = 1;
	return 0;
}
int PMPI_Comm_size(int comm, int *size)
{
	*size = 1;
	return 0;
}
int PMPI_Op_commutative(int op, int *commutes)
{
	*commutes = 1;
	return 0;
}
int PMPI_Alltoall(void *sent)
{
	if (sent == (void *)-1L)
		return 2;
	puts("Alltoall of the library");
	return 0;
}
int MPI_Alltoall(void *sent)
{
	return PMPI_Alltoall(NULL);
}
#endif
int PMPI_Type_size_x(int type, long long *size)
{
	*size = SIZE;
	return 0;
}
#define NOTHING(name) \
	int PMPI_##name(void) \
	{ \
		return 0; \
	}
NOTHING(Abort) NOTHING(Barrier) NOTHING(Comm_call_errhandler) NOTHING(Comm_create_keyval) NOTHING(Comm_free)
NOTHING(Comm_get_attr) NOTHING(Comm_get_errhandler) NOTHING(Comm_group) NOTHING(Comm_rank) NOTHING(Comm_remote_size)
NOTHING(Comm_set_attr) NOTHING(Comm_set_errhandler) NOTHING(Comm_split) NOTHING(Comm_test_inter)
NOTHING(Errhandler_free) NOTHING(File_get_errhandler) NOTHING(Finalized) NOTHING(Get_processor_name) NOTHING(Group_free) NOTHING(Group_translate_ranks) NOTHING(Iallgather)
NOTHING(Iallreduce) NOTHING(Ibarrier) NOTHING(Ibcast) NOTHING(Iprobe) NOTHING(Irecv) NOTHING(Isend)
NOTHING(Pack) NOTHING(Pack_size) NOTHING(Query_thread) NOTHING(Reduce) NOTHING(Reduce_local)
NOTHING(Type_get_extent) NOTHING(Type_get_true_extent) NOTHING(Wait) NOTHING(Waitsome)
#ifndef IN_PLACE
NOTHING(Comm_size) NOTHING(Op_commutative) NOTHING(Type_get_envelope)
#endif
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
#ifndef IN_PLACE
COLLECTIVE(Alltoall)
#endif
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
