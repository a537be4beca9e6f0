#ifdef HEDDLE_REPLACE
#define HEDDLE_ALLGATHER MPI_Allgather
#elif !defined HEDDLE_ALLGATHER
#define HEDDLE_ALLGATHER heddle_allgather
#endif

/* Sends on what came last, own block first. A block that came with an error does not stop it: the other ranks rely on the rest. */
static int around(const Place *place, const Blocks *blocks)
{
    int at = 0, error = MPI_SUCCESS;
    while (ring[at] != place->host)
        at++;
    const int next = place->rank_of[ring[(at + 1) % HOSTS]], previous = place->rank_of[ring[(at + HOSTS - 1) % HOSTS]];
    for (int i = 0; i < HOSTS - 1; i++) {
        int sent = place->rank_of[ring[(at + HOSTS - i) % HOSTS]], received = place->rank_of[ring[(at + HOSTS - i - 1) % HOSTS]];
        error = first_error(error, PMPI_Sendrecv(block(blocks, sent), blocks->count, blocks->type, next, 0, block(blocks, received),
                                                 blocks->count, blocks->type, previous, 0, place->comm, MPI_STATUS_IGNORE));
    }
    return error;
}

/* As MPI_Allgather. */
int HEDDLE_ALLGATHER(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype,
                     MPI_Comm comm)
{
    const int in_place = sendbuf == MPI_IN_PLACE;
    Blocks own = {0}, blocks = {0};
    Place *place = NULL;
    int error = MPI_SUCCESS;
    if (worth_it(in_place, sendcount, sendtype, recvcount, recvtype, comm) && (error = find(comm, &place)) != MPI_SUCCESS)
        return error;
    if (place == NULL)
        return PMPI_Allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    error = blocks_at(&blocks, recvbuf, recvcount, recvtype);
    if (!in_place)
        error = first_error(error, blocks_at(&own, sendbuf, sendcount, sendtype));
    if (error == MPI_SUCCESS) {
        own.stride = 0;
        if (!in_place)
            error = keep_own(place, &own, &blocks);
        error = first_error(error, around(place, &blocks));
    }
    return told(comm, error);
}
