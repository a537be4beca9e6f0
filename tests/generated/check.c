/* Calls generated routines in every way MPI_Alltoall and MPI_Allgather may be called, and looks at every byte.
 *
 * Compile with -DALLTOALLS='X(name) X(name)...' and -DALLGATHERS=..., link with the routines and --wrap (a flag of the linker)
 * for PMPI_Alltoall and PMPI_Allgather, to count the calls that are left to the MPI library, and for PMPI_Isend and PMPI_Irecv,
 * to count tokens: all that are given must be awaited.
 * Run as "check served" where communicators as large as the schedule fit it, else as "check aside". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int Collective(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm);
typedef struct {
    const char *name;
    Collective *call;
    int alltoall;
} Routine;

#define X(name) Collective name;
ALLTOALLS ALLGATHERS
#undef X
static const Routine routines[] = {
#define X(name) {#name, name, 1},
    ALLTOALLS
#undef X
#define X(name) {#name, name, 0},
    ALLGATHERS
#undef X
};
enum { ROUTINES = sizeof routines / sizeof routines[0], GAP = 0x5a, MARGIN = 64 };

Collective __wrap_PMPI_Alltoall, __real_PMPI_Alltoall, __wrap_PMPI_Allgather, __real_PMPI_Allgather;
static int left_to_the_library, wrong, checks, given, awaited;
/* Of calls, so that each carries other bytes; the same on all ranks. */
static int turn;

int __wrap_PMPI_Alltoall(const void *a, int b, MPI_Datatype c, void *d, int e, MPI_Datatype f, MPI_Comm g)
{
    left_to_the_library++;
    return __real_PMPI_Alltoall(a, b, c, d, e, f, g);
}

/* The routines also use it among themselves, to find each other: those calls are of one MPI_INT. */
int __wrap_PMPI_Allgather(const void *a, int b, MPI_Datatype c, void *d, int e, MPI_Datatype f, MPI_Comm g)
{
    left_to_the_library += !(b == 1 && c == MPI_INT && e == 1 && f == MPI_INT);
    return __real_PMPI_Allgather(a, b, c, d, e, f, g);
}

int __real_PMPI_Isend(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int __wrap_PMPI_Isend(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int __real_PMPI_Irecv(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int __wrap_PMPI_Irecv(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

int __wrap_PMPI_Isend(const void *a, int count, MPI_Datatype c, int d, int e, MPI_Comm f, MPI_Request *g)
{
    given += count == 0;
    return __real_PMPI_Isend(a, count, c, d, e, f, g);
}

int __wrap_PMPI_Irecv(void *a, int count, MPI_Datatype c, int d, int e, MPI_Comm f, MPI_Request *g)
{
    awaited += count == 0;
    return __real_PMPI_Irecv(a, count, c, d, e, f, g);
}

static void check(int fine, const Routine *routine, const char *what)
{
    checks++;
    if (!fine) {
        int rank;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        if (wrong++ < 5)
            fprintf(stderr, "wrong: %s: %s on rank %d\n", routine->name, what, rank);
    }
}

/* Elements of a datatype that holds ints, and where they lie. */
typedef struct {
    MPI_Datatype type;
    int count;         /* elements in a block */
    int ints;          /* in an element */
    MPI_Aint lower, bytes; /* of all blocks */
} Layout;

static Layout layout(MPI_Datatype type, int count, int blocks)
{
    Layout l = {type, count, 0, 0, 0};
    MPI_Aint lower, extent, true_lower, true_extent;
    MPI_Type_size(type, &l.ints);
    l.ints /= (int)sizeof(int);
    MPI_Type_get_extent(type, &lower, &extent);
    MPI_Type_get_true_extent(type, &true_lower, &true_extent);
    l.lower = -true_lower + MARGIN;
    l.bytes = extent * count * blocks + true_extent + 2 * MARGIN;
    return l;
}

/* A buffer that holds these ints where the datatype says, and GAP everywhere else. */
static char *laid_out(const Layout *l, const int *ints, int blocks)
{
    char *buffer = malloc(l->bytes);
    int position = 0, elements = l->count * blocks;
    memset(buffer, GAP, l->bytes);
    if (ints != NULL)
        MPI_Unpack(ints, elements * l->ints * (int)sizeof(int), &position, buffer + l->lower, elements, l->type, MPI_COMM_WORLD);
    return buffer;
}

static int value(int from, int to, int i, int turn)
{
    return ((from * 131 + to) * 65537 + i) * 31 + turn;
}

/* The ints of all blocks: to others, or from others. */
static int *ints(const Routine *routine, int sent, int me, int blocks, int length, int turn)
{
    int *all = malloc(sizeof(int) * (blocks * length + 1));
    for (int other = 0; other < blocks; other++)
        for (int i = 0; i < length; i++)
            all[other * length + i] = sent ? value(me, routine->alltoall ? other : -1, i, turn) : value(other, routine->alltoall ? me : -1, i, turn);
    return all;
}

/* One call: every byte of both buffers, and who carried it out. */
static void one(const Routine *routine, MPI_Comm comm, MPI_Datatype send, int sends, MPI_Datatype receive, int receives, int in_place,
                int served, const char *what)
{
    int size, me, before = left_to_the_library, error;
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &me);
    int sent_blocks = routine->alltoall ? size : 1;
    Layout out = layout(send, sends, sent_blocks), in = layout(receive, receives, size);
    int *given = ints(routine, 1, me, sent_blocks, out.count * out.ints, ++turn);
    int *expected = ints(routine, 0, me, size, in.count * in.ints, turn);
    char *from = laid_out(&out, given, sent_blocks), *untouched = laid_out(&out, given, sent_blocks);
    char *right = laid_out(&in, expected, size), *to;
    if (in_place) {
        int *own = routine->alltoall ? ints(routine, 1, me, size, in.count * in.ints, turn) : calloc(size, sizeof(int) * in.count * in.ints + 1);
        if (!routine->alltoall)
            memcpy(own + me * in.count * in.ints, expected + me * in.count * in.ints, sizeof(int) * in.count * in.ints);
        to = laid_out(&in, own, size);
        free(own);
        error = routine->call(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, to + in.lower, receives, receive, comm);
    } else {
        to = laid_out(&in, NULL, size);
        error = routine->call(from + out.lower, sends, send, to + in.lower, receives, receive, comm);
    }
    check(error == MPI_SUCCESS, routine, what);
    check(memcmp(to, right, in.bytes) == 0, routine, what);
    check(memcmp(from, untouched, out.bytes) == 0, routine, what);
    check((left_to_the_library == before) == served, routine, served ? "left to the library" : "not left to the library");
    free(given), free(expected), free(from), free(untouched), free(right), free(to);
}

static void datatypes(const Routine *routine, MPI_Comm comm, int served)
{
    MPI_Datatype vector, shifted, three;
    MPI_Type_vector(2, 1, 3, MPI_INT, &vector);
    MPI_Type_create_resized(vector, -8, 28, &shifted);
    MPI_Type_contiguous(3, MPI_INT, &three);
    MPI_Type_commit(&vector), MPI_Type_commit(&shifted), MPI_Type_commit(&three);
    for (int repeat = 0; repeat < 2; repeat++) {
        one(routine, comm, MPI_UNSIGNED, 1, MPI_UNSIGNED, 1, 0, served, "an int");
        one(routine, comm, MPI_INT, 1500, MPI_INT, 1500, 0, served, "6000 bytes");
        one(routine, comm, MPI_INT, 6, three, 2, 0, served, "ints as threes");
        one(routine, comm, vector, 20, vector, 20, 0, served, "strided");
        one(routine, comm, MPI_INT, 40, shifted, 20, 0, served, "ints as strided with a lower bound");
        one(routine, comm, shifted, 700, MPI_INT, 1400, 0, served, "strided with a lower bound as ints");
        one(routine, comm, MPI_INT, 0, MPI_INT, 300, 1, served, "in place");
        one(routine, comm, MPI_INT, 0, vector, 300, 1, served, "strided in place");
        one(routine, comm, MPI_INT, 0, MPI_INT, 0, 0, 0, "nothing");
        one(routine, comm, MPI_INT, 0, MPI_INT, 0, 1, 0, "nothing in place");
    }
    one(routine, comm, MPI_INT, 40000, MPI_INT, 40000, 0, served, "160 kB");
    MPI_Type_free(&vector), MPI_Type_free(&shifted), MPI_Type_free(&three);
}

/* Buffers named by absolute addresses: both begin at MPI_BOTTOM. */
static void absolute(const Routine *routine, MPI_Comm comm, int served)
{
    int size, me, from[64], to[64], before = left_to_the_library, position[1] = {1}, fine = 1;
    MPI_Aint address[2];
    MPI_Datatype at[2], type[2];
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &me);
    MPI_Get_address(from, &address[0]);
    MPI_Get_address(to, &address[1]);
    for (int i = 0; i < 2; i++) {
        MPI_Type_create_hindexed(1, position, &address[i], MPI_INT, &at[i]);
        MPI_Type_create_resized(at[i], 0, sizeof(int), &type[i]);
        MPI_Type_commit(&type[i]);
    }
    for (int i = 0; i < size; i++)
        from[i] = value(me, routine->alltoall ? i : 0, 7, 0);
    check(routine->call(MPI_BOTTOM, 1, type[0], MPI_BOTTOM, 1, type[1], comm) == MPI_SUCCESS, routine, "MPI_BOTTOM");
    for (int i = 0; i < size; i++)
        fine &= to[i] == value(i, routine->alltoall ? me : 0, 7, 0);
    check(fine, routine, "MPI_BOTTOM");
    check((left_to_the_library == before) == served, routine, "MPI_BOTTOM: who carried it out");
    for (int i = 0; i < 2; i++)
        MPI_Type_free(&at[i]), MPI_Type_free(&type[i]);
}

static void communicators(const Routine *routine, int served)
{
    int size, me;
    MPI_Comm other, half, between;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_split(MPI_COMM_WORLD, 0, (me * 5 + 2) % size, &other);
    one(routine, other, MPI_INT, 50, MPI_INT, 50, 0, served, "ranks in another order");
    one(routine, other, MPI_INT, 0, MPI_INT, 50, 1, served, "ranks in another order, in place");
    MPI_Comm_free(&other);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    one(routine, other, MPI_INT, 50, MPI_INT, 50, 0, served, "a duplicate");
    MPI_Comm_free(&other);
    MPI_Comm_split(MPI_COMM_WORLD, me == 0 ? MPI_UNDEFINED : 0, me, &other);
    if (other != MPI_COMM_NULL) {
        one(routine, other, MPI_INT, 50, MPI_INT, 50, 0, 0, "one rank less");
        MPI_Comm_free(&other);
    } else {
        turn++;
    }
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &half);
    if (size > 1 && size % 2 == 0) {
        int from[64], to[64] = {0}, fine = 1, before = left_to_the_library, error;
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - me % 2, 0, &between);
        for (int i = 0; i < size / 2; i++)
            from[i] = value(me, routine->alltoall ? 2 * i + 1 - me % 2 : 0, 3, 0);
        error = routine->call(from, 1, MPI_UNSIGNED, to, 1, MPI_UNSIGNED, between);
        for (int i = 0; i < size / 2; i++)
            fine &= to[i] == value(2 * i + 1 - me % 2, routine->alltoall ? me : 0, 3, 0);
        check(error == MPI_SUCCESS && fine && left_to_the_library == before + 1, routine, "an intercommunicator");
        MPI_Comm_free(&between);
    }
    MPI_Comm_free(&half);
}

/* Rank 0 has too little room: it is told, by the communicator's handler too, and the others get what is theirs. */
static int handled;

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    handled++;
}

static void too_little_room(const Routine *routine)
{
    int size, me, from[64 * 4] = {0}, to[64 * 4], error, class = MPI_SUCCESS;
    MPI_Comm comm;
    MPI_Errhandler errors;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(handler, &errors);
    MPI_Comm_set_errhandler(comm, errors);
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &me);
    /* MPICH tells errors of MPI_Waitany to this handler, whatever the communicator. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    handled = 0;
    error = routine->call(from, 4, MPI_INT, to, me == 0 ? 3 : 4, MPI_INT, comm);
    if (error != MPI_SUCCESS)
        MPI_Error_class(error, &class);
    check(class == (me == 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS), routine, "too little room");
    check(handled == (me == 0), routine, "too little room: the handler");
    one(routine, comm, MPI_INT, 4, MPI_INT, 4, 0, 1, "after too little room");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&errors);
    MPI_Comm_free(&comm);
}

/* More communicators than a library has room for at a time. */
static void come_and_go(const Routine *routine, int times)
{
    MPI_Comm comm;
    for (int i = 0; i < times; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        one(routine, comm, MPI_UNSIGNED, 1, MPI_UNSIGNED, 1, 0, 1, "a communicator of many");
        MPI_Comm_free(&comm);
    }
}

int main(int argc, char **argv)
{
    int served, size, me, totals[4];
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    served = argc > 1 && strcmp(argv[1], "served") == 0;
    for (int r = 0; r < ROUTINES; r++) {
        datatypes(&routines[r], MPI_COMM_WORLD, served);
        absolute(&routines[r], MPI_COMM_WORLD, served);
        communicators(&routines[r], served);
        if (served && size > 1)
            too_little_room(&routines[r]);
        if (argc > 2)
            come_and_go(&routines[r], atoi(argv[2]));
    }
    MPI_Reduce((int[]){checks, wrong, given, awaited}, totals, 4, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (me == 0)
        printf("%d routines, %d checks, %d tokens given, %d awaited, %d wrong\n", (int)ROUTINES, totals[0], totals[2], totals[3], totals[1]);
    MPI_Finalize();
    return wrong != 0;
}
