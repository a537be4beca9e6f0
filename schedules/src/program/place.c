/* Compile with -DHEDDLE_HOSTS_BY_RANK where rank r of a communicator stands for host r, whatever machine it runs on. */
#ifndef HEDDLE_HOSTS_BY_RANK
#define HEDDLE_HOSTS_BY_RANK 0
#endif
/* Blocks of fewer bytes are left to the MPI library. */
#ifndef HEDDLE_SMALLEST
#define HEDDLE_SMALLEST 1
#endif

/* MPI's profiling names are called throughout: a tool that watches MPI sees one call, as with the library's own routine. */

/* A communicator that has a rank for each host, and no other. */
typedef struct {
    MPI_Comm comm;          /* the same members, but no message or error handler of the application's */
    int host;               /* the host of this rank */
    int rank_of[HOSTS]; /* by host */
    int at_end;             /* key of the attribute on MPI_COMM_SELF whose end frees comm in MPI_Finalize */
} Place;

/* The attribute of one whose ranks do not fit. */
static Place nowhere;

/* Each rank's blocks, one behind the other. */
typedef struct {
    const void *first;
    MPI_Aint stride;
    int count;
    MPI_Datatype type;
} Blocks;

static int first_error(int error, int later)
{
    return error != MPI_SUCCESS ? error : later;
}

static int blocks_at(Blocks *blocks, const void *first, int count, MPI_Datatype type)
{
    MPI_Aint lower, extent = 0;
    int error = PMPI_Type_get_extent(type, &lower, &extent);
    *blocks = (Blocks){first, extent * count, count, type};
    return error;
}

/* Reckoned in integers: under a type of absolute addresses, the first block may be at MPI_BOTTOM. */
static void *block(const Blocks *blocks, int rank)
{
    return (void *)((intptr_t)blocks->first + (intptr_t)blocks->stride * rank);
}

/* A rank's block for itself. */
static int keep_own(const Place *place, const Blocks *out, const Blocks *in)
{
    int rank = place->rank_of[place->host];
    return PMPI_Sendrecv(block(out, rank), out->count, out->type, rank, 0, block(in, rank), in->count, in->type, rank, 0, place->comm,
                         MPI_STATUS_IGNORE);
}

/* The application's handler for errors is asked, as by any routine of MPI. */
static int told(MPI_Comm comm, int error)
{
    if (error != MPI_SUCCESS)
        PMPI_Comm_call_errhandler(comm, error);
    return error;
}

/* Whether one of two names is short, and the first label of the other. */
static int shortened(const char *a, const char *b)
{
    size_t label = strcspn(a, ".");
    return label > 0 && label == strcspn(b, ".") && strncmp(a, b, label) == 0 && (a[label] == '\0' || b[label] == '\0');
}

/* The host this rank runs on, by its first entry; -1: none, or more than one may be meant. */
static int own_host(int rank)
{
    char name[MPI_MAX_PROCESSOR_NAME + 1] = "";
    int length, found = -1;
    if (HEDDLE_HOSTS_BY_RANK)
        return rank;
    if (PMPI_Get_processor_name(name, &length) != MPI_SUCCESS || name[0] == '\0')
        return -1;
    for (int host = 0; host < HOSTS; host++)
        if (strcmp(name, hosts[host]) == 0)
            return host;
    for (int host = HOSTS - 1; host >= 0; host--)
        if (shortened(name, hosts[host])) {
            if (found >= 0 && strcmp(hosts[found], hosts[host]) != 0)
                return -1;
            found = host;
        }
    return found;
}

/* MPI_Finalize, or forget, deletes the attribute of MPI_COMM_SELF. */
static int leave(MPI_Comm self, int key, void *value, void *unused)
{
    Place *place = value;
    (void)self, (void)key, (void)unused;
    return first_error(PMPI_Comm_free(&place->comm), PMPI_Comm_free_keyval(&place->at_end));
}

/* The application's communicator is freed. In MPI_Finalize that is too late to free another one: leave has been called. */
static int forget(MPI_Comm comm, int key, void *value, void *unused)
{
    Place *place = value;
    int error = MPI_SUCCESS;
    (void)comm, (void)key, (void)unused;
    if (place != &nowhere) {
        if (place->comm != MPI_COMM_NULL)
            error = PMPI_Comm_delete_attr(MPI_COMM_SELF, place->at_end);
        free(place);
    }
    return error;
}

/* The key of the attribute, made by the first thread that comes. */
static int attribute(int *key)
{
    static _Atomic int made = MPI_KEYVAL_INVALID;
    int known = made, error = MPI_SUCCESS;
    if (known == MPI_KEYVAL_INVALID) {
        if ((error = PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, key, NULL)) != MPI_SUCCESS)
            return error;
        if (atomic_compare_exchange_strong(&made, &known, *key))
            return MPI_SUCCESS;
        error = PMPI_Comm_free_keyval(key);
    }
    *key = known;
    return error;
}

/* Gives each rank a host, those of one machine its entries in rank order; fits: every rank got one. All ranks find the same. */
static int meet(Place *place, int rank, int *fits)
{
    int found[HOSTS], error = PMPI_Allgather(&place->host, 1, MPI_INT, found, 1, MPI_INT, place->comm);
    for (int host = 0; host < HOSTS; host++)
        place->rank_of[host] = -1;
    *fits = error == MPI_SUCCESS;
    for (int r = 0; r < HOSTS && *fits; r++) {
        int host = found[r] < 0 ? HOSTS : found[r];
        while (host < HOSTS && (place->rank_of[host] >= 0 || strcmp(hosts[host], hosts[found[r]]) != 0))
            host++;
        if ((*fits = host < HOSTS))
            place->rank_of[host] = r;
        if (r == rank)
            place->host = host;
    }
    return error;
}

/* Makes the communicator's place. Split off, because to duplicate it would run the application's attribute callbacks. */
static int join(MPI_Comm comm, Place **joined)
{
    Place here = {MPI_COMM_NULL, -1, {0}, MPI_KEYVAL_INVALID}, *place = malloc(sizeof *place);
    int rank = 0, fits = 0, error = PMPI_Comm_rank(comm, &rank);
    *joined = &nowhere;
    error = first_error(error, PMPI_Comm_split(comm, 0, rank, &here.comm));
    if (error == MPI_SUCCESS) {
        here.host = place == NULL ? -1 : own_host(rank);
        error = PMPI_Comm_set_errhandler(here.comm, MPI_ERRORS_RETURN);
        error = first_error(error, meet(&here, rank, &fits));
    }
    if (error == MPI_SUCCESS && fits)
        error = PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, leave, &here.at_end, NULL);
    if (error == MPI_SUCCESS && fits) {
        *place = here;
        if ((error = PMPI_Comm_set_attr(MPI_COMM_SELF, here.at_end, place)) == MPI_SUCCESS) {
            *joined = place;
            return MPI_SUCCESS;
        }
        PMPI_Comm_free_keyval(&here.at_end);
    }
    if (here.comm != MPI_COMM_NULL)
        PMPI_Comm_free(&here.comm);
    free(place);
    return error;
}

/* The communicator's place; NULL: its ranks do not fit. The first time it is collective. */
static int find(MPI_Comm comm, Place **place)
{
    int intercommunicator = 0, size = 0, key = MPI_KEYVAL_INVALID, found = 0;
    int error = first_error(PMPI_Comm_test_inter(comm, &intercommunicator), PMPI_Comm_size(comm, &size));
    *place = NULL;
    if (error != MPI_SUCCESS || intercommunicator || size != HOSTS)
        return error;
    error = attribute(&key);
    if (error == MPI_SUCCESS)
        error = PMPI_Comm_get_attr(comm, key, place, &found);
    if (error == MPI_SUCCESS && !found && (error = join(comm, place)) == MPI_SUCCESS) {
        error = PMPI_Comm_set_attr(comm, key, *place);
        if (error != MPI_SUCCESS)
            forget(comm, key, *place, NULL);
    }
    if (error != MPI_SUCCESS || *place == &nowhere)
        *place = NULL;
    return error;
}

/* Whether a call is for the schedule: not one of no bytes, nor one that is wrong, which the library tells in its own words. All
   ranks come to the same answer, because what each receives from each is of one size. */
static int worth_it(int in_place, int sends, MPI_Datatype send, int receives, MPI_Datatype receive, MPI_Comm comm)
{
    MPI_Count size = 0;
    if (comm == MPI_COMM_NULL || receives < 0 || receive == MPI_DATATYPE_NULL)
        return 0;
    if (!in_place && (sends < 0 || send == MPI_DATATYPE_NULL))
        return 0;
    if (PMPI_Type_size_x(receive, &size) != MPI_SUCCESS || size <= 0 || receives == 0)
        return 0;
    return size >= ((MPI_Count)HEDDLE_SMALLEST + receives - 1) / receives;
}
