! The collectives from Fortran, by the binding that is defined: MPIF_H, USE_MPI or USE_MPI_F08.
program fortran
#if defined(MPIF_H)
  implicit none
  include 'mpif.h'
#elif defined(USE_MPI)
  use mpi
  implicit none
#else
  use mpi_f08
  implicit none
#endif
  integer :: ierr, rank, n, i, wrong, all
  integer, allocatable :: sent(:), received(:), transposed(:), gathered(:), counts(:), places(:)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, n, ierr)
  allocate(sent(2*n), received(2*n), transposed(2*n), gathered(2*n), counts(n), places(n))
  do i = 1, 2*n
    sent(i) = rank*1000 + i
    transposed(i) = ((i-1)/2)*1000 + rank*2 + mod(i-1,2) + 1
    gathered(i) = ((i-1)/2)*1000 + mod(i-1,2) + 1
  end do
  wrong = 0
  received = -1
  call MPI_Alltoall(sent, 2, MPI_INTEGER, received, 2, MPI_INTEGER, MPI_COMM_WORLD, ierr)
  wrong = wrong + count(received /= transposed) + abs(ierr)
  received = sent
  call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INTEGER, received, 2, MPI_INTEGER, MPI_COMM_WORLD, ierr)
  wrong = wrong + count(received /= transposed) + abs(ierr)
  received = -1
  call MPI_Allgather(sent, 2, MPI_INTEGER, received, 2, MPI_INTEGER, MPI_COMM_WORLD, ierr)
  wrong = wrong + count(received /= gathered) + abs(ierr)
  counts = 2
  places = [(2*i, i = 0, n-1)]
  received = -1
  call MPI_Alltoallv(sent, counts, places, MPI_INTEGER, received, counts, places, MPI_INTEGER, MPI_COMM_WORLD, ierr)
  wrong = wrong + count(received /= transposed) + abs(ierr)
  received = sent
  call MPI_Alltoallv(MPI_IN_PLACE, counts, places, MPI_INTEGER, received, counts, places, MPI_INTEGER, MPI_COMM_WORLD, ierr)
  wrong = wrong + count(received /= transposed) + abs(ierr)
  received = -1
  call MPI_Allgatherv(sent, 2, MPI_INTEGER, received, counts, places, MPI_INTEGER, MPI_COMM_WORLD, ierr)
  wrong = wrong + count(received /= gathered) + abs(ierr)
  call MPI_Allreduce(wrong, all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (rank == 0) print '(a,i0,a)', 'fortran: ', all, ' wrong'
  call MPI_Finalize(ierr)
end program
