/* A stand-in for the drivers of GPUs, for machines without one: libcuda.so.1, or libamdhip64.so.6 with -DHIP. "Device" memory is a file in
   memory that is mapped twice: where the program has its buffers, and where only the copy functions look. device_close() takes all access to
   the buffers away, so that an instruction or a system call of the host that touches them fails as on a card; device_open() gives it back.
   Copies on the stream of a thread are carried out when somebody waits for it, as late as a card may, and need a context as a card does.
   DEVICE_MANAGED: all memory is managed. DEVICE_POOL: it belongs to no context.
   DEVICE_FAILS: "query" fails all questions, "copy" all copies but the first six, on the ranks named in DEVICE_FAILS_ON.
   DEVICE_LOG=FILE: a line for each copy: the rank, which way, octets. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST = 1 << 16, PAGE = 4096, UNKNOWN = 999, INVALID = 1, NO_CONTEXT = 201, NOT_REGISTERED = 713, DEVICE = 3, OF_THREAD = 2 };
static struct memory { char *buffer, *hidden; size_t octets; } all[MOST];
static struct pinned { char *at; size_t octets; } pins[MOST];
static struct copy { char *to; const char *from; size_t octets; } waiting[MOST];
static int memories, copies, copied, context; /* its address is the only context */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread void *stack[16];
static __thread int depth;

static const char *rank(void)
{
	const char *rank = getenv("OMPI_COMM_WORLD_RANK");
	return rank ? rank : getenv("PMI_RANK");
}

static int fails(const char *what)
{
	const char *kind = getenv("DEVICE_FAILS"), *on = getenv("DEVICE_FAILS_ON");
	return kind && !strcmp(kind, what) && (!on || strstr(on, rank()));
}

static struct memory *find(uint64_t at, size_t octets)
{
	for (int i = 0; i < memories; i++)
		if (all[i].buffer && at >= (uint64_t)all[i].buffer && at + octets <= (uint64_t)all[i].buffer + all[i].octets)
			return &all[i];
	return NULL;
}

static char *reach(uint64_t at, size_t octets)
{
	struct memory *m = find(at, octets);
	return m ? m->hidden + (at - (uint64_t)m->buffer) : (char *)at;
}

int device_allocate(void **at, size_t octets)
{
#ifndef HIP
	if (getenv("DEVICE_CONTEXT") && !depth) /* as under the CUDA runtime: the thread has its device's context from now on */
		stack[depth++] = &context;
#endif
	int file = memfd_create("device", 0);
	size_t room = (octets + PAGE - 1) / PAGE * PAGE;
	pthread_mutex_lock(&lock);
	if (file < 0 || ftruncate(file, room) || memories == MOST)
		abort();
	all[memories].hidden = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	*at = all[memories].buffer = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	all[memories++].octets = room;
	pthread_mutex_unlock(&lock);
	close(file);
	return 0;
}

int device_free(void *at)
{
	pthread_mutex_lock(&lock);
	struct memory *m = find((uint64_t)at, 1);
	if (m) {
		munmap(m->buffer, m->octets), munmap(m->hidden, m->octets);
		m->buffer = NULL;
	}
	pthread_mutex_unlock(&lock);
	return m ? 0 : INVALID;
}

static void protect(int access)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < memories; i++)
		if (all[i].buffer && mprotect(all[i].buffer, all[i].octets, access))
			abort();
	pthread_mutex_unlock(&lock);
}

/* The receive buffer of the program's call; nothing between calls. */
const void *device_receive;
void device_close(const void *receive)
{
	device_receive = receive;
	if (!getenv("DEVICE_MANAGED")) /* managed memory comes to whoever touches it */
		protect(PROT_NONE);
}
void device_open(void) { device_receive = NULL, protect(PROT_READ | PROT_WRITE); }

static int start(uint64_t to, uint64_t from, size_t octets)
{
	const char *log = getenv("DEVICE_LOG");
	if (!depth)
		return NO_CONTEXT;
	if (copied++ >= 6 && fails("copy"))
		return UNKNOWN;
	if (!find(to, octets) == !find(from, octets))
		return INVALID; /* heddle and these programs copy between the host and the device only */
	if (log) {
		FILE *file = fopen(log, "a");
		fprintf(file, "%s %s %zu\n", rank(), find(to, octets) ? "to device" : "to host", octets);
		fclose(file);
	}
	if (copies == MOST)
		abort();
	waiting[copies++] = (struct copy){reach(to, octets), reach(from, octets), octets};
	return 0;
}

static void finish(void)
{
	for (int i = 0; i < copies; i++)
		memcpy(waiting[i].to, waiting[i].from, waiting[i].octets);
	copies = 0;
}

static int on_stream(uint64_t to, uint64_t from, size_t octets, void *stream)
{
	if (stream != (void *)OF_THREAD) { /* an MPI library's */
		memmove(reach(to, octets), reach(from, octets), octets);
		return 0;
	}
	pthread_mutex_lock(&lock);
	int code = start(to, from, octets);
	pthread_mutex_unlock(&lock);
	return code;
}

static int pin(void *at, size_t octets)
{
	int slot = -1;
	if ((uint64_t)at % PAGE || octets % PAGE)
		return INVALID;
	for (int i = 0; i < MOST; i++)
		if (!pins[i].at)
			slot = i;
		else if ((char *)at < pins[i].at + pins[i].octets && pins[i].at < (char *)at + octets)
			abort(); /* memory that was given back and not unpinned */
	pins[slot] = (struct pinned){at, octets};
	return 0;
}

static int unpin(void *at)
{
	for (int i = 0; i < MOST; i++)
		if (pins[i].at == at)
			return pins[i].at = NULL, 0;
	return NOT_REGISTERED;
}

static int synchronize(void)
{
	pthread_mutex_lock(&lock);
	finish();
	pthread_mutex_unlock(&lock);
	return 0;
}

#ifdef HIP
/* A card of AMD's: a thread has a device, never a context, and errors stay until somebody asks. */
struct attributes { int type, device; void *device_pointer, *host_pointer; int managed; unsigned flags; };
static __thread int last, device;
static int said(int code) { return code ? (last = code) : 0; }
int hipPeekAtLastError(void) { return last; }
int hipGetLastError(void) { int code = last; last = 0; return code; }
int hipGetDevice(int *d) { *d = device; return 0; }
int hipSetDevice(int d) { device = d, depth = d == DEVICE; return 0; }
int hipPointerGetAttributes(struct attributes *a, const void *at)
{
	struct memory *m = find((uint64_t)at, 1);
	memset(a, 0, sizeof *a);
	if (fails("query") || !m)
		return said(fails("query") ? UNKNOWN : INVALID);
	a->device = DEVICE, a->device_pointer = (void *)at;
	return 0;
}
int hipMemcpyAsync(void *to, const void *from, size_t octets, int kind, void *stream) { (void)kind; return said(on_stream((uint64_t)to, (uint64_t)from, octets, stream)); }
int hipStreamSynchronize(void *stream) { (void)stream; return synchronize(); }
int hipHostRegister(void *at, size_t octets, unsigned flags) { (void)flags; return said(pin(at, octets)); }
int hipHostUnregister(void *at) { return said(unpin(at)); }
/* For the program: the errors that it finds must be its own. */
int device_errors(void) { return last; }
#elif defined(OLD)
/* A driver that lacks what heddle needs. */
int cuInit(unsigned flags) { (void)flags; return 0; }
int device_errors(void) { return 0; }
#else
int device_errors(void) { return 0; }
int cuCtxGetCurrent(void **c) { *c = depth ? stack[depth - 1] : NULL; return 0; }
int cuCtxPushCurrent_v2(void *c) { if (c != &context || depth == 16) return INVALID; stack[depth++] = c; return 0; }
int cuCtxPopCurrent_v2(void **c) { if (!depth) return NO_CONTEXT; *c = stack[--depth]; return 0; }
int cuDevicePrimaryCtxRetain(void **c, int device) { *c = &context; return device == DEVICE ? 0 : INVALID; }
static int attribute(int a, void *result, uint64_t at)
{
	struct memory *m = find(at, 1);
	if (!m)
		return INVALID;
	switch (a) {
	case 1: *(void **)result = getenv("DEVICE_POOL") ? NULL : &context; return 0; /* memory of a pool has no context */
	case 2: *(unsigned *)result = 2; return 0;
	case 8: *(unsigned char *)result = getenv("DEVICE_MANAGED") != NULL; return 0;
	case 9: *(int *)result = DEVICE; return 0;
	case 7: *(uint64_t *)result = m - all + 1; return 0;
	case 11: *(char **)result = m->buffer; return 0;
	case 12: *(size_t *)result = m->octets; return 0;
	}
	return INVALID;
}
int cuPointerGetAttributes(unsigned n, int *which, void **results, uint64_t at)
{
	static const size_t sizes[13] = {[1] = 8, [2] = 4, [7] = 8, [8] = 1, [9] = 4, [11] = 8, [12] = 8};
	if (fails("query"))
		return UNKNOWN;
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < n; i++)
		if (attribute(which[i], results[i], at) && which[i] < 13)
			memset(results[i], 0, sizes[which[i]]);
	pthread_mutex_unlock(&lock);
	return 0;
}
int cuMemcpyAsync(uint64_t to, uint64_t from, size_t octets, void *stream) { return on_stream(to, from, octets, stream); }
int cuStreamSynchronize(void *stream) { (void)stream; return synchronize(); }
int cuMemHostRegister_v2(void *at, size_t octets, unsigned flags) { return flags == 1 ? pin(at, octets) : INVALID; }
int cuMemHostUnregister(void *at) { return unpin(at); }

/* What a CUDA-aware Open MPI asks for beside that. */
static int at_once(uint64_t to, uint64_t from, size_t octets)
{
	return on_stream(to, from, octets, NULL);
}
int cuInit(unsigned flags) { (void)flags; return 0; }
int cuDeviceGet(int *d, int i) { *d = i; return 0; }
int cuDeviceGetCount(int *n) { *n = 1; return 0; }
int cuDeviceCanAccessPeer(int *can, int a, int b) { (void)a, (void)b; *can = 0; return 0; }
int cuCtxSetCurrent(void *c) { stack[0] = c, depth = c != NULL; return 0; }
int cuCtxGetDevice(int *d) { *d = DEVICE; return 0; }
int cuCtxSynchronize(void) { return synchronize(); }
int cuPointerGetAttribute(void *result, int a, uint64_t at) { return attribute(a, result, at); }
int cuPointerSetAttribute(const void *value, int a, uint64_t at) { (void)value, (void)a, (void)at; return 0; }
int cuMemAlloc_v2(uint64_t *at, size_t octets) { return device_allocate((void **)at, octets); }
int cuMemFree_v2(uint64_t at) { return device_free((void *)at); }
int cuMemGetAddressRange_v2(uint64_t *base, size_t *octets, uint64_t at)
{
	struct memory *m = find(at, 1);
	if (!m)
		return INVALID;
	*base = (uint64_t)m->buffer, *octets = m->octets;
	return 0;
}
int cuMemcpy(uint64_t to, uint64_t from, size_t octets) { return at_once(to, from, octets); }
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t octets) { return at_once(to, (uint64_t)from, octets); }
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t octets) { return at_once((uint64_t)to, from, octets); }
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t octets, void *stream) { return (void)stream, at_once(to, (uint64_t)from, octets); }
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t octets, void *stream) { return (void)stream, at_once((uint64_t)to, from, octets); }
int cuStreamCreate(void **stream, unsigned flags) { (void)flags; *stream = stack; return 0; }
int cuStreamDestroy_v2(void *stream) { (void)stream; return 0; }
int cuStreamWaitEvent(void *stream, void *event, unsigned flags) { (void)stream, (void)event, (void)flags; return 0; }
int cuEventCreate(void **event, unsigned flags) { (void)flags; *event = stack; return 0; }
int cuEventDestroy_v2(void *event) { (void)event; return 0; }
int cuEventRecord(void *event, void *stream) { (void)event, (void)stream; return 0; }
int cuEventQuery(void *event) { (void)event; return 0; }
int cuEventSynchronize(void *event) { (void)event; return 0; }
enum { NOT_SUPPORTED = 801 };
int cuIpcGetMemHandle(void *handle, uint64_t at) { (void)handle, (void)at; return NOT_SUPPORTED; }
int cuIpcOpenMemHandle_v2(uint64_t *at, void *handle, unsigned flags) { (void)at, (void)handle, (void)flags; return NOT_SUPPORTED; }
int cuIpcOpenMemHandle(uint64_t *at, void *handle, unsigned flags) { return cuIpcOpenMemHandle_v2(at, handle, flags); }
int cuIpcCloseMemHandle(uint64_t at) { (void)at; return NOT_SUPPORTED; }
int cuIpcGetEventHandle(void *handle, void *event) { (void)handle, (void)event; return NOT_SUPPORTED; }
int cuIpcOpenEventHandle(void **event, void *handle) { (void)event, (void)handle; return NOT_SUPPORTED; }
#endif
