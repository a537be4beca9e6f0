/* What only mpi.h knows: constants that are casts or differ between libraries. None may refer to a symbol of the
   library: the backend links no MPI. Open MPI's handles are addresses in the library and are looked up. */
#ifdef WANT_STANDARD
/* A test gives the standard's header as libraries bring it. */
#ifndef STANDARD_HEADER
#define STANDARD_HEADER "abi/standard.h"
#endif
#include STANDARD_HEADER
#else
#include <mpi.h>
#endif
#include <stddef.h>

#if !(defined(WANT_OPEN_MPI) && defined(OPEN_MPI)) && !(defined(WANT_MPICH) && defined(MPICH)) && \
    !(defined(WANT_STANDARD) && defined(MPI_ABI_VERSION))
#error "this mpi.h is not the one of the MPI that the backend is for"
#endif

/* src/abi against mpi.h; build.rs gives the macros that are not here, as Rust has them. */
#define SAME(theirs, ours) _Static_assert((theirs) == (ours), "src/abi differs from mpi.h")

#ifndef MPICH
/* Only a pointer gives a `void *` here. */
#define IS_HANDLE(type) _Static_assert(_Generic(0 ? (void *)1 : (type)0, void *: 1, default: 0), "src/abi: " #type " is no address")
#else
#define IS_HANDLE(type) _Static_assert(_Generic((type)0, int: 1, default: 0), "src/abi: " #type " is no int")
#endif
#define HANDLE(type) IS_HANDLE(type); SAME(sizeof(type), HANDLE_SIZE)
HANDLE(MPI_Comm);
HANDLE(MPI_Datatype);
HANDLE(MPI_Errhandler);
HANDLE(MPI_Group);
HANDLE(MPI_Op);
HANDLE(MPI_Request);

SAME(sizeof(MPI_Status), STATUS_SIZE);
SAME(_Alignof(MPI_Status), STATUS_ALIGNMENT);
SAME(offsetof(MPI_Status, MPI_ERROR), STATUS_ERROR_OFFSET);
SAME(offsetof(MPI_Status, MPI_SOURCE), STATUS_SOURCE_OFFSET);
SAME(offsetof(MPI_Status, MPI_TAG), STATUS_TAG_OFFSET);
SAME(sizeof(((MPI_Status *)0)->MPI_ERROR), sizeof(int));

/* MPI_Count is an i64, MPI_Aint an isize. */
SAME(sizeof(MPI_Count), 8);
SAME((MPI_Count)-1 < 0, 1);
SAME(sizeof(MPI_Aint), sizeof(void *));
SAME((MPI_Aint)-1 < 0, 1);

/* src/mpi.rs: SUCCESS */
SAME(MPI_SUCCESS, 0);

const int HEDDLE_ERR_COUNT = MPI_ERR_COUNT;
const int HEDDLE_ERR_NO_MEM = MPI_ERR_NO_MEM;
const int HEDDLE_ERR_OTHER = MPI_ERR_OTHER;
const int HEDDLE_ERR_TRUNCATE = MPI_ERR_TRUNCATE;
const int HEDDLE_ERR_TYPE = MPI_ERR_TYPE;

void *const HEDDLE_IN_PLACE = MPI_IN_PLACE;
MPI_Status *const HEDDLE_STATUS_IGNORE = MPI_STATUS_IGNORE;
const int HEDDLE_ANY_SOURCE = MPI_ANY_SOURCE;
const int HEDDLE_ANY_TAG = MPI_ANY_TAG;
const int HEDDLE_COMBINER_NAMED = MPI_COMBINER_NAMED;
const int HEDDLE_KEYVAL_INVALID = MPI_KEYVAL_INVALID;
const int HEDDLE_THREAD_MULTIPLE = MPI_THREAD_MULTIPLE;
#ifndef OPEN_MPI
const MPI_Datatype HEDDLE_BYTE = MPI_BYTE;
const MPI_Datatype HEDDLE_PACKED = MPI_PACKED;
const MPI_Datatype HEDDLE_UINT64 = MPI_UINT64_T;
const MPI_Datatype HEDDLE_DATATYPE_NULL = MPI_DATATYPE_NULL;
const MPI_Comm HEDDLE_COMM_NULL = MPI_COMM_NULL;
const MPI_Comm HEDDLE_COMM_SELF = MPI_COMM_SELF;
const MPI_Comm HEDDLE_COMM_WORLD = MPI_COMM_WORLD;
const MPI_Group HEDDLE_GROUP_NULL = MPI_GROUP_NULL;
const MPI_Op HEDDLE_OP_NULL = MPI_OP_NULL;
const MPI_Op HEDDLE_OP_BAND = MPI_BAND;
const MPI_Op HEDDLE_OP_MIN = MPI_MIN;
const MPI_Op HEDDLE_OP_PROD = MPI_PROD;
const MPI_Op HEDDLE_OP_SUM = MPI_SUM;
const MPI_Request HEDDLE_REQUEST_NULL = MPI_REQUEST_NULL;
const MPI_Errhandler HEDDLE_ERRORS_ARE_FATAL = MPI_ERRORS_ARE_FATAL;
#endif
#ifdef MPICH
const MPI_Errhandler HEDDLE_ERRORS_RETURN = MPI_ERRORS_RETURN;
#endif
