/* Programs of these tests by the standard's own binary interface. */
#include <mpi_abi.h>
