# Both collectives from Python, which loads MPI privately and may call the large-count forms.
from array import array
from mpi4py import MPI

comm = MPI.COMM_WORLD
n, me = comm.size, comm.rank
sent = array("i", [1000 * me + i for i in range(3 * n)])
received = array("i", [-1] * (3 * n))
transposed = array("i", [1000 * (i // 3) + 3 * me + i % 3 for i in range(3 * n)])
gathered = array("i", [1000 * (i // 3) + i % 3 for i in range(3 * n)])

comm.Alltoall(sent, received)
wrong = received != transposed
received = array("i", sent)
comm.Alltoall(MPI.IN_PLACE, received)
wrong += received != transposed
comm.Allgather([sent, 3, MPI.INT], received)
wrong += received != gathered
wrong += comm.alltoall([(me, i) for i in range(n)]) != [(i, me) for i in range(n)]
wrong += comm.allgather(me) != list(range(n))
total = comm.allreduce(wrong)
if me == 0:
    print(f"mpi4py: {total} wrong")
