/* Notes all that a program can ask of MPI's state, before and after collectives: error handlers and what follows from them,
   attributes of communicators and datatypes, names, groups, hints, dimensions, threads, variables of MPI_T and their values, a buffer,
   messages and a collective that are under way, and whether further calls leave objects behind. Of an error in its arguments it notes the
   class, and whom the library told. With the argument `fatal` such an error ends the job. */
#include "digest.h"

enum { WORLD, SELF, COPY, FATAL, QUIET, HEARD, HALF, GRID, COMMS };
static const char *const names[COMMS] = {"world", "self", "copy", "fatal", "quiet", "heard", "half", "grid"};
static MPI_Comm comms[COMMS];
static MPI_Errhandler handler;
static int rank, size, copied, deleted, of_types, typed;
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

/* Of a datatype. */
static int copy_typed(MPI_Datatype type, int key, void *extra, void *value, void *into, int *flag)
{
	typed++;
	return copy(MPI_COMM_NULL, key, extra, value, into, flag);
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
	if (comm == MPI_COMM_NULL)
		MPI_File_get_errhandler(MPI_FILE_NULL, &now);
	else
		MPI_Comm_get_errhandler(comm, &now);
	const char *name = now == MPI_ERRORS_ARE_FATAL ? "fatal" : now == MPI_ERRORS_RETURN ? "return" : now == handler ? "own" : "another";
	MPI_Errhandler_free(&now);
	return name;
}

/* Its hints with their values. */
static void print_hints(MPI_Comm comm)
{
	char key[MPI_MAX_INFO_KEY + 1], value[256];
	int keys, known, room;
	MPI_Info info;
	MPI_Comm_get_info(comm, &info);
	MPI_Info_get_nkeys(info, &keys);
	for (int k = 0; k < keys; k++) {
		MPI_Info_get_nthkey(info, k, key);
#if MPI_VERSION >= 4
		MPI_Info_get_string(info, key, (room = sizeof value, &room), value, &known);
#else
		MPI_Info_get(info, key, sizeof value - 1, value, &known);
#endif
		printf(" %s=%s", key, value);
	}
	MPI_Info_free(&info);
}

/* The values of the whole numbers that are bound to no object. Those of Open MPI change by themselves, or cannot be read. */
static uint64_t values_of_variables(int variables)
{
	uint64_t digest = 14695981039346656037u;
#ifndef OPEN_MPI
	for (int v = 0; v < variables; v++) {
		char name[256], about[4096];
		int name_room = sizeof name, about_room = sizeof about, verbosity, bind, scope, count;
		MPI_Datatype type = MPI_DATATYPE_NULL;
		MPI_T_enum names;
		MPI_T_cvar_handle handle;
		if (MPI_T_cvar_get_info(v, name, &name_room, &verbosity, &type, &names, about, &about_room, &bind, &scope))
			continue;
		if (type != MPI_INT || bind != MPI_T_BIND_NO_OBJECT || MPI_T_cvar_handle_alloc(v, NULL, &handle, &count))
			continue;
		int values[64] = {0};
		if (count <= 64 && !MPI_T_cvar_read(handle, values))
			for (int i = 0; i < count; i++)
				digest = (digest ^ (uint32_t)values[i]) * 1099511628211u;
		MPI_T_cvar_handle_free(&handle);
	}
#endif
	return digest;
}

/* What is of no communicator. */
static void note_process(const char *when)
{
	static const int predefined[] = {MPI_IO, MPI_WTIME_IS_GLOBAL, MPI_UNIVERSE_SIZE, MPI_APPNUM, MPI_LASTUSEDCODE};
	static uint64_t first;
	int variables = -1, performance = -1, categories = -1, level, is_main, *value, found;
	MPI_T_cvar_get_num(&variables);
	MPI_T_pvar_get_num(&performance);
	MPI_T_category_get_num(&categories);
	MPI_Query_thread(&level);
	MPI_Is_thread_main(&is_main);
	uint64_t values = values_of_variables(variables);
	first = first ? first : values;
	if (rank)
		return;
	printf("%s: %d attributes copied, %d of them of types, %d deleted\n", when, copied, typed, deleted);
	printf("%s: %d variables, their values are %s, %d of performance, %d categories\n", when, variables,
	       values == first ? "the first" : "others", performance, categories);
	printf("%s: thread level %d, main %d, handler of files %s, predefined", when, level, is_main, handler_of(MPI_COMM_NULL));
	for (int p = 0; p < 5; p++) {
		MPI_Comm_get_attr(MPI_COMM_WORLD, predefined[p], &value, &found);
		printf(" %d", found ? *value : -1);
	}
	puts("");
}

static void note(const char *when, int key)
{
	char name[MPI_MAX_OBJECT_NAME];
	int length, found, compared, topology, waiting, *bound;
	void *value;
	MPI_Group whole, group;

	MPI_Comm_group(MPI_COMM_WORLD, &whole);
	for (int c = 0; c < COMMS; c++) {
		MPI_Comm_get_name(comms[c], name, &length);
		MPI_Comm_get_attr(comms[c], key, &value, &found);
		MPI_Comm_get_attr(comms[c], MPI_TAG_UB, &bound, &length);
		MPI_Comm_group(comms[c], &group);
		MPI_Group_compare(group, whole, &compared);
		MPI_Group_free(&group);
		MPI_Topo_test(comms[c], &topology);
		MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comms[c], &waiting, MPI_STATUS_IGNORE);
		if (rank)
			continue;
		printf("%s: %s \"%s\" handler %s, attribute %d, tags to %d, group %d, a grid %d, a message %d, hints", when, names[c], name,
		       handler_of(comms[c]), found, length ? *bound : -1, compared == MPI_IDENT, topology == MPI_CART, waiting);
		print_hints(comms[c]);
		puts("");
	}
	MPI_Group_free(&whole);
	note_process(when);
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
	MPI_Type_set_attr(pairs, of_types, NULL);
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
static void next_objects(int next[7])
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
	MPI_Comm_create_keyval(copy, delete, &next[6], NULL);
	MPI_Comm_free_keyval((int[]){next[6]});
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
	static const char *const kinds[7] = {"communicators", "groups", "datatypes", "operations", "handlers", "infos", "keyvals"};
	int before[7], after[7];
	for (int round = 0; round < 8; round++) {
		calls(comms[COPY], 600);
		calls(comms[HALF], 600);
		next_objects(round < 6 ? before : after);
	}
	for (int k = 0; k < 7 && rank == 0; k++)
		printf("further calls: %s\n", before[k] == after[k] ? "left nothing" : kinds[k]);
}

/* Only where the error does not end the job. */
static void errors(const char *when)
{
	int buffer[64] = {0}, other[64], class, bytes;
	for (int c = 0; c < COMMS; c++) {
		if (c == FATAL || c == GRID)
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
	static char attached[MPI_BSEND_OVERHEAD + 64];
	int key, received = -1, unexpected = -1, number, sum = 0, octets;
	void *detached;
	MPI_Request pending[3];
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
	MPI_Cart_create(MPI_COMM_WORLD, 1, &size, (int[]){1}, 0, &comms[GRID]);
	MPI_Comm_create_errhandler(hear, &handler);
	MPI_Comm_set_errhandler(comms[FATAL], MPI_ERRORS_ARE_FATAL);
	MPI_Comm_set_errhandler(comms[QUIET], MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(comms[HEARD], handler);
	MPI_Comm_create_keyval(copy, delete, &key, NULL);
	MPI_Comm_set_attr(comms[COPY], key, NULL);
	MPI_Comm_set_name(comms[COPY], "a copy");
	MPI_Type_create_keyval(copy_typed, MPI_TYPE_NULL_DELETE_FN, &of_types, NULL);
	MPI_Buffer_attach(attached, sizeof attached);
	/* A receive for any message, on one communicator; on another a message that nobody expects; on a third a collective. */
	MPI_Irecv(&received, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comms[COPY], &pending[0]);
	MPI_Isend(&number, 1, MPI_INT, (rank + 1) % size, 7, comms[QUIET], &pending[1]);
	MPI_Iallreduce(&number, &sum, 1, MPI_INT, MPI_SUM, comms[HEARD], &pending[2]);
	MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comms[QUIET], &status);
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
	MPI_Wait(&pending[2], MPI_STATUS_IGNORE);
	MPI_Buffer_detach(&detached, &octets);
	if (rank == 0)
		printf("the sum is %d, the buffer %s\n", sum, detached == attached && octets == sizeof attached ? "its own" : "another");
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
