#ifdef HEDDLE_REPLACE
#define HEDDLE_ALLTOALL MPI_Alltoall
#elif !defined HEDDLE_ALLTOALL
#define HEDDLE_ALLTOALL heddle_alltoall
#endif

/* Receives are posted ahead of their phases: so many that a block does not wait for its receive. */
enum { AHEAD = 16, SLOTS = AHEAD + TOGETHER };
/* Tags. A token's is followed by those of the hosts that the waiting message may go to. */
enum { DATA, FILLER, TOKEN };

/* A call under way. */
typedef struct {
    const Place *place;
    const Blocks *out, *in, *fillers;
    const Step *receiving, *sending; /* where this host is in its steps */
    MPI_Request active[SLOTS];       /* AHEAD receives; then what sending waits for, the tokens or the blocks of a phase */
    const Step *meaning[SLOTS];
    MPI_Request given[GIVEN]; /* tokens */
    int busy, received, tokens;
    int broken; /* a step could not even be started */
    int error;
} Call;

/* Notes the result of starting something. */
static int started(Call *call, int error)
{
    call->error = first_error(call->error, error);
    call->broken |= error != MPI_SUCCESS;
    return error == MPI_SUCCESS;
}

/* Starts a step; a filler that is received goes where no other one does. */
static int start(const Call *call, const Step *step, int filler, MPI_Request *request)
{
    const Blocks *out = call->out, *in = call->in, *fillers = call->fillers;
    int rank = call->place->rank_of[step->host];
    MPI_Comm comm = call->place->comm;
    switch (step->what) {
    case SEND:
        return PMPI_Isend(block(out, rank), out->count, out->type, rank, DATA, comm, request);
    case RECEIVE:
        return PMPI_Irecv(block(in, rank), in->count, in->type, rank, DATA, comm, request);
    case FILL:
        return PMPI_Isend(fillers->first, fillers->count, fillers->type, rank, FILLER, comm, request);
    case DRAIN:
        return PMPI_Irecv(block(fillers, filler), fillers->count, fillers->type, rank, FILLER, comm, request);
    case AWAIT:
        return PMPI_Irecv(NULL, 0, MPI_BYTE, rank, TOKEN + step->number, comm, request);
    default: /* GIVE */
        return PMPI_Isend(NULL, 0, MPI_BYTE, rank, TOKEN + step->number, comm, request);
    }
}

static void begin(Call *call, const Step *step, int slot)
{
    call->meaning[slot] = step;
    if (!started(call, start(call, step, 1 + slot, &call->active[slot])))
        call->active[slot] = MPI_REQUEST_NULL;
}

static int receives(const Step *step)
{
    return step->what == RECEIVE || step->what == DRAIN;
}

static int sends(const Step *step)
{
    return step->what == SEND || step->what == FILL;
}

/* Posts the next receive, if there is one. */
static void post(Call *call, int slot)
{
    while (call->receiving->what != END && !receives(call->receiving))
        call->receiving++;
    if (call->receiving->what != END)
        begin(call, call->receiving++, slot);
}

/* Once nothing is under way on the sending side: awaits all tokens of the next phase, or sends all its blocks. */
static void advance(Call *call)
{
    while (call->busy == 0 && !call->broken && call->sending->what != END) {
        const Step *step = call->sending;
        if (step->what == AWAIT) {
            for (; step->what == AWAIT; step++)
                begin(call, step, AHEAD + call->busy++);
        } else if (sends(step)) {
            for (; sends(step) || step->what == GIVE; step++)
                if (sends(step))
                    begin(call, step, AHEAD + call->busy++);
        } else {
            if (step->what == BARRIER) {
                if (call->received < step->number)
                    return;
                for (int times = 0; times < step->host && !call->broken; times++)
                    started(call, PMPI_Barrier(call->place->comm));
            }
            step++;
        }
        call->sending = step;
    }
}

/* A step is over: the tokens that follow it are given. */
static void ended(Call *call, int slot)
{
    const Step *step = call->meaning[slot];
    call->meaning[slot] = NULL;
    for (step++; step->what == GIVE; step++)
        call->tokens += started(call, start(call, step, 0, &call->given[call->tokens]));
    if (slot >= AHEAD) {
        call->busy--;
    } else {
        call->received++;
        post(call, slot);
    }
}

/* After an error that the other ranks know nothing of, nothing is awaited. */
static void abandon(Call *call)
{
    for (int slot = 0; slot < SLOTS; slot++)
        if (call->active[slot] != MPI_REQUEST_NULL) {
            if (!sends(call->meaning[slot]))
                PMPI_Cancel(&call->active[slot]);
            PMPI_Request_free(&call->active[slot]);
        }
    for (int token = 0; token < call->tokens; token++)
        PMPI_Request_free(&call->given[token]);
}

/* All the steps of this host. A block that came with an error does not stop it: the other ranks rely on the rest. */
static int exchange(const Place *place, const Blocks *out, const Blocks *in, const Blocks *fillers, int *abandoned)
{
    Call call = {.place = place, .out = out, .in = in, .fillers = fillers, .error = MPI_SUCCESS};
    int slot;
    call.receiving = call.sending = steps[place->host];
    for (slot = 0; slot < SLOTS; slot++)
        call.active[slot] = MPI_REQUEST_NULL, call.meaning[slot] = NULL;
    for (slot = 0; slot < AHEAD && !call.broken; slot++)
        post(&call, slot);
    while (!call.broken) {
        advance(&call);
        call.error = first_error(call.error, PMPI_Waitany(SLOTS, call.active, &slot, MPI_STATUS_IGNORE));
        if (slot == MPI_UNDEFINED)
            break;
        /* Where one fails, Open MPI ends all that failed, and names the one. */
        for (slot = 0; slot < SLOTS; slot++)
            if (call.meaning[slot] != NULL && call.active[slot] == MPI_REQUEST_NULL)
                ended(&call, slot);
    }
    *abandoned = call.broken || call.sending->what != END;
    if (*abandoned)
        abandon(&call);
    else
        for (int token = 0; token < call.tokens; token++)
            call.error = first_error(call.error, PMPI_Wait(&call.given[token], MPI_STATUS_IGNORE));
    return call.error;
}

/* Memory for so many pieces of so many bytes; NULL unless every rank got its own. */
static int memory(size_t pieces, MPI_Count bytes, void **got, MPI_Comm comm)
{
    int error, all = (*got = bytes > 0 && bytes <= INT_MAX ? calloc(pieces, (size_t)bytes) : NULL) != NULL;
    error = PMPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm);
    if (error != MPI_SUCCESS || !all) {
        free(*got);
        *got = NULL;
    }
    return error;
}

/* Copies what a call in place is about to overwrite. */
static int copy(const Blocks *in, Blocks *out, void **pieces, MPI_Comm comm)
{
    int room = 0, packed = 0, error = PMPI_Pack_size(in->count, in->type, comm, &room);
    error = first_error(error, memory(HOSTS, error == MPI_SUCCESS ? room : 0, pieces, comm));
    *out = (Blocks){*pieces, room, 0, MPI_PACKED};
    for (int rank = 0; rank < HOSTS && *pieces != NULL && error == MPI_SUCCESS; rank++) {
        packed = 0;
        error = PMPI_Pack(block(in, rank), in->count, in->type, block(out, rank), room, &packed, comm);
    }
    out->count = packed;
    return error;
}

/* Fillers are as long as blocks: one to send, one for each that may come at a time. */
static int fill(const Blocks *in, Blocks *fillers, void **pieces, MPI_Comm comm)
{
    MPI_Count size = 0;
    int error = PMPI_Type_size_x(in->type, &size);
    size *= in->count;
    error = first_error(error, memory(1 + AHEAD, size, pieces, comm));
    *fillers = (Blocks){*pieces, (MPI_Aint)size, (int)size, MPI_BYTE};
    return error;
}

/* As MPI_Alltoall. */
int HEDDLE_ALLTOALL(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype,
                    MPI_Comm comm)
{
    const int in_place = sendbuf == MPI_IN_PLACE;
    Blocks out = {0}, in = {0}, fillers = {0};
    void *copies = NULL, *filling = NULL;
    Place *place = NULL;
    int error = MPI_SUCCESS, able, abandoned = 0;
    if (worth_it(in_place, sendcount, sendtype, recvcount, recvtype, comm) && (error = find(comm, &place)) != MPI_SUCCESS)
        return error;
    if ((able = place != NULL)) {
        error = blocks_at(&in, recvbuf, recvcount, recvtype);
        error = first_error(error, in_place ? copy(&in, &out, &copies, place->comm) : blocks_at(&out, sendbuf, sendcount, sendtype));
        if (FILLERS)
            error = first_error(error, fill(&in, &fillers, &filling, place->comm));
        able = error != MPI_SUCCESS || (!(in_place && copies == NULL) && !(FILLERS && filling == NULL));
    }
    if (able && error == MPI_SUCCESS) {
        if (!in_place)
            error = keep_own(place, &out, &in);
        error = first_error(error, exchange(place, &out, &in, &fillers, &abandoned));
    }
    if (!abandoned) /* else MPI may still be reading them */
        free(copies), free(filling);
    return able ? told(comm, error) : PMPI_Alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}
