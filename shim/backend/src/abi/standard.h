/* What constants.c asks of the header of the MPI standard's own binary interface: its numbers, as MPI-5.0 lists them in appendix A.
   Written here because a machine that builds heddle need not have a library with that interface. MPI_ERRORS_RETURN is not among them:
   of it libraries have two numbers. */
#include <stdint.h>

#define HANDLE_TYPE(name) typedef struct name##_of_the_standard *name
HANDLE_TYPE(MPI_Comm);
HANDLE_TYPE(MPI_Datatype);
HANDLE_TYPE(MPI_Errhandler);
HANDLE_TYPE(MPI_Group);
HANDLE_TYPE(MPI_Op);
HANDLE_TYPE(MPI_Request);

typedef intptr_t MPI_Aint;
typedef int64_t MPI_Count;
typedef struct {
	int MPI_SOURCE, MPI_TAG, MPI_ERROR, reserved[5];
} MPI_Status;

#define MPI_ABI_VERSION 1

#define MPI_OP_NULL ((MPI_Op)0x20)
#define MPI_SUM ((MPI_Op)0x21)
#define MPI_MIN ((MPI_Op)0x22)
#define MPI_PROD ((MPI_Op)0x24)
#define MPI_BAND ((MPI_Op)0x28)
#define MPI_COMM_NULL ((MPI_Comm)0x100)
#define MPI_COMM_WORLD ((MPI_Comm)0x101)
#define MPI_COMM_SELF ((MPI_Comm)0x102)
#define MPI_GROUP_NULL ((MPI_Group)0x108)
#define MPI_ERRORS_ARE_FATAL ((MPI_Errhandler)0x141)
#define MPI_REQUEST_NULL ((MPI_Request)0x180)
#define MPI_DATATYPE_NULL ((MPI_Datatype)0x200)
#define MPI_PACKED ((MPI_Datatype)0x207)
#define MPI_BYTE ((MPI_Datatype)0x247)
#define MPI_UINT64_T ((MPI_Datatype)0x259)

#define MPI_IN_PLACE ((void *)1)
#define MPI_STATUS_IGNORE ((MPI_Status *)0)

enum {
	MPI_SUCCESS = 0,
	MPI_ERR_COUNT = 2,
	MPI_ERR_TYPE = 3,
	MPI_ERR_TRUNCATE = 15,
	MPI_ERR_OTHER = 16,
	MPI_ERR_NO_MEM = 39,
	MPI_ANY_SOURCE = -1,
	MPI_ANY_TAG = -2,
	MPI_KEYVAL_INVALID = 0,
	MPI_COMBINER_NAMED = 101,
	MPI_THREAD_MULTIPLE = 4096,
};
