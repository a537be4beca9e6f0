/* MPI constants that are casts, which binding generators do not express. None may refer to a symbol of the
   library: the backend links no MPI. Open MPI's handles are addresses in the library and are looked up. */
#include <mpi.h>

#ifdef WHICH
#if defined(OPEN_MPI)
which_mpi open_mpi
#elif defined(MPICH)
which_mpi mpich
#endif
#else

void *const HEDDLE_IN_PLACE = MPI_IN_PLACE;
MPI_Status *const HEDDLE_STATUS_IGNORE = MPI_STATUS_IGNORE;
const int HEDDLE_COMBINER_NAMED = MPI_COMBINER_NAMED;
const int HEDDLE_KEYVAL_INVALID = MPI_KEYVAL_INVALID;
const int HEDDLE_THREAD_MULTIPLE = MPI_THREAD_MULTIPLE;
#ifdef MPICH
const MPI_Datatype HEDDLE_BYTE = MPI_BYTE;
const MPI_Datatype HEDDLE_PACKED = MPI_PACKED;
const MPI_Datatype HEDDLE_DATATYPE_NULL = MPI_DATATYPE_NULL;
const MPI_Comm HEDDLE_COMM_NULL = MPI_COMM_NULL;
const MPI_Comm HEDDLE_COMM_SELF = MPI_COMM_SELF;
const MPI_Comm HEDDLE_COMM_WORLD = MPI_COMM_WORLD;
const MPI_Group HEDDLE_GROUP_NULL = MPI_GROUP_NULL;
const MPI_Request HEDDLE_REQUEST_NULL = MPI_REQUEST_NULL;
const MPI_Errhandler HEDDLE_ERRORS_RETURN = MPI_ERRORS_RETURN;
#endif

#endif
