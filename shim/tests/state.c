/* Notes all that a program can ask of MPI's state, before and after collectives: error handlers and what follows from them,
   attributes, names, groups, infos, counts of MPI_T, messages that are under way, and whether further calls leave objects behind. Of an
   error in its arguments it notes the class, and whom the library told. With the argument `fatal` such an error ends the job. */
#include "digest.h"

enum { WORLD, SELF, COPY, FATAL, QUIET, HEARD, HALF, COMMS };
static const char *const names[COMMS] = {"world", "self", "copy", "fatal", "quiet", "heard", "half"};
static MPI_Comm comms[COMMS];
static MPI_Errhandler handler;
static int rank, size, copied, deleted;
static char told[256];

static void hear(MPI_Comm *comm, int *code, ...)
{
	for (int c = 0; c < COMMS; c++)
		if (*comm == comms[c])
			sprintf(told + strlen(told), " told on %s", names[c]);
}

static int copy(MPI_Comm comm, int key, void *extra, void *value, void *into, int *flag)
{
	copied++;
	*(void **)into = value;
	*flag = 1;
	return MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int key, void *value, void *extra)
{
	deleted++;
	return MPI_SUCCESS;
}

static void combine(void *in, void *into, int *count, MPI_Datatype *type)
{
}

static const char *handler_of(MPI_Comm comm)
{
	MPI_Errhandler now;
	MPI_Comm_get_errhandler(comm, &now);
	const char *name = now == MPI_ERRORS_ARE_FATAL ? "fatal" : now == MPI_ERRORS_RETURN ? "return" : now == handler ? "own" : "another";
	MPI_Errhandler_free(&now);
	return name;
}

static void note(const char *when, int key)
{
	char name[MPI_MAX_OBJECT_NAME];
	int length, found, compared, variables = -1, keys, *bound;
	void *value;
	MPI_Group whole, group;
	MPI_Info info;

	MPI_Comm_group(MPI_COMM_WORLD, &whole);
	for (int c = 0; c < COMMS; c++) {
		MPI_Comm_get_name(comms[c], name, &length);
		MPI_Comm_get_attr(comms[c], key, &value, &found);
		MPI_Comm_get_attr(comms[c], MPI_TAG_UB, &bound, &length);
		MPI_Comm_group(comms[c], &group);
		MPI_Group_compare(group, whole, &compared);
		MPI_Group_free(&group);
		MPI_Comm_get_info(comms[c], &info);
		MPI_Info_get_nkeys(info, &keys);
		MPI_Info_free(&info);
		if (rank == 0)
			printf("%s: %s \"%s\" handler %s, attribute %d, tags to %d, group %d, %d hints\n", when, names[c], name,
			       handler_of(comms[c]), found, length ? *bound : -1, compared == MPI_IDENT, keys);
	}
	MPI_Group_free(&whole);
	MPI_T_cvar_get_num(&variables);
	if (rank == 0)
		printf("%s: %d attributes copied, %d deleted, %d variables\n", when, copied, deleted, variables);
}

/* With 60,000 elements they are large enough for every way of a call. */
static void calls(MPI_Comm comm, int n)
{
	int ranks;
	MPI_Comm_size(comm, &ranks);
	double *from = calloc(n * ranks, sizeof *from), *to = calloc(n * ranks, sizeof *to);
	MPI_Datatype pairs;
	MPI_Type_vector(10, 2, 3, MPI_DOUBLE, &pairs);
	MPI_Type_commit(&pairs);
	for (int call = 0; call < 2; call++) {
		MPI_Alltoall(from, n / 100, pairs, to, n / 100 * 20, MPI_DOUBLE, comm);
		MPI_Allgather(from, n / 100, pairs, to, n / 100 * 20, MPI_DOUBLE, comm);
		MPI_Allreduce(from, to, n, MPI_DOUBLE, MPI_SUM, comm);
		MPI_Bcast(to, n / 100, pairs, 1, comm);
	}
	MPI_Type_free(&pairs);
	free(from), free(to);
}

#if MPI_VERSION >= 5
#define NUMBER(kind, made) MPI_##kind##_toint(made)
#else
#define NUMBER(kind, made) MPI_##kind##_c2f(made)
#endif

/* The numbers of the next object of each kind: they grow where somebody keeps what was made. */
static void next_objects(int next[6])
{
	MPI_Comm comm;
	MPI_Group group;
	MPI_Datatype type;
	MPI_Op op;
	MPI_Errhandler made;
	MPI_Info info;
	MPI_Comm_dup(MPI_COMM_SELF, &comm);
	MPI_Comm_group(comm, &group);
	MPI_Type_contiguous(3, MPI_INT, &type);
	MPI_Op_create(combine, 1, &op);
	MPI_Comm_create_errhandler(hear, &made);
	MPI_Info_create(&info);
	next[0] = NUMBER(Comm, comm), next[1] = NUMBER(Group, group), next[2] = NUMBER(Type, type);
	next[3] = NUMBER(Op, op), next[4] = NUMBER(Errhandler, made), next[5] = NUMBER(Info, info);
	MPI_Comm_free(&comm);
	MPI_Group_free(&group);
	MPI_Type_free(&type);
	MPI_Op_free(&op);
	MPI_Errhandler_free(&made);
	MPI_Info_free(&info);
}

/* Whatever is made once for a communicator is made in the first rounds. */
static void calls_leave_nothing(void)
{
	static const char *const kinds[6] = {"communicators", "groups", "datatypes", "operations", "handlers", "infos"};
	int before[6], after[6];
	for (int round = 0; round < 8; round++) {
		calls(comms[COPY], 600);
		calls(comms[HALF], 600);
		next_objects(round < 6 ? before : after);
	}
	for (int k = 0; k < 6 && rank == 0; k++)
		printf("further calls: %s\n", before[k] == after[k] ? "left nothing" : kinds[k]);
}

/* Only where the error does not end the job. */
static void errors(const char *when)
{
	int buffer[64] = {0}, other[64], class, bytes;
	for (int c = 0; c < COMMS; c++) {
		if (c == FATAL)
			continue;
		*told = 0;
		MPI_Error_class(MPI_Alltoall(buffer, -1, MPI_INT, other, -1, MPI_INT, comms[c]), &class);
		if (rank == 0)
			printf("%s: negative count on %s: %s%s\n", when, names[c], class == MPI_ERR_COUNT ? "its class" : "another class", told);
		*told = 0;
		MPI_Error_class(MPI_Allgather(buffer, 1, MPI_DATATYPE_NULL, other, 1, MPI_INT, comms[c]), &class);
		if (rank == 0)
			printf("%s: no type on %s: %s%s\n", when, names[c], class == MPI_ERR_TYPE ? "its class" : "another class", told);
	}
	*told = 0;
	MPI_Error_class(MPI_Type_size(MPI_DATATYPE_NULL, &bytes), &class);
	if (rank == 0)
		printf("%s: no type: class %d%s\n", when, class, told);
	*told = 0;
	MPI_Error_class(MPI_Alltoall(buffer, 1, MPI_INT, other, 1, MPI_INT, MPI_COMM_NULL), &class);
	if (rank == 0)
		printf("%s: no communicator: class %d%s\n", when, class, told);
}

int main(int argc, char **argv)
{
	int key, received = -1, unexpected = -1, number;
	MPI_Request pending[2];
	MPI_Status status;

	MPI_T_init_thread(MPI_THREAD_SINGLE, &key);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	number = rank;
	comms[WORLD] = MPI_COMM_WORLD;
	comms[SELF] = MPI_COMM_SELF;
	for (int c = COPY; c <= HEARD; c++)
		MPI_Comm_dup(MPI_COMM_WORLD, &comms[c]);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comms[HALF]);
	MPI_Comm_create_errhandler(hear, &handler);
	MPI_Comm_set_errhandler(comms[FATAL], MPI_ERRORS_ARE_FATAL);
	MPI_Comm_set_errhandler(comms[QUIET], MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(comms[HEARD], handler);
	MPI_Comm_create_keyval(copy, delete, &key, NULL);
	MPI_Comm_set_attr(comms[COPY], key, NULL);
	MPI_Comm_set_name(comms[COPY], "a copy");
	/* A receive for any message, on one communicator; on another a message that nobody expects. */
	MPI_Irecv(&received, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comms[COPY], &pending[0]);
	MPI_Isend(&number, 1, MPI_INT, (rank + 1) % size, 7, comms[QUIET], &pending[1]);
	note("before", key);
	for (int c = 0; c < COMMS; c++)
		if (c != SELF)
			calls(comms[c], 60000);
	note("after", key);
	calls_leave_nothing();
	if (argc > 1 && !strcmp(argv[1], "fatal"))
		MPI_Alltoall(&received, -1, MPI_INT, &unexpected, -1, MPI_INT, comms[FATAL]);
	MPI_Send(&number, 1, MPI_INT, (rank + 1) % size, 9, comms[COPY]);
	MPI_Wait(&pending[0], &status);
	if (rank == 0)
		printf("message: tag %d, from %d\n", status.MPI_TAG, received);
	MPI_Recv(&unexpected, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comms[QUIET], &status);
	MPI_Wait(&pending[1], MPI_STATUS_IGNORE);
	if (rank == 0)
		printf("message: tag %d, from %d\n", status.MPI_TAG, unexpected);
	/* A library may take the handler of MPI_COMM_WORLD where a communicator was given none. What it does on these two, the
	   program finds out by ending or not. */
	if (argc > 1) {
		MPI_Comm_set_errhandler(MPI_COMM_WORLD, atoi(argv[1]) ? handler : MPI_ERRORS_RETURN);
		for (int c = 2; c < argc; c++)
			MPI_Comm_set_errhandler(comms[atoi(argv[c])], handler);
		note("set", key);
		errors("set");
		calls(comms[COPY], 60000);
		errors("once more");
	}
	MPI_Comm_free(&comms[COPY]);
	if (rank == 0)
		printf("freed: %d deleted\n", deleted);
	MPI_Finalize();
	return 0;
}
