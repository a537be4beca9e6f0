//! Answers to peers from a rank that waits for its launcher.
//!
//! MPICH talks to the launcher over a socket whose number is in the environment variable `PMI_FD`
//! (PMI-1 wire protocol). While `read` of that socket would block, this progresses the thread's
//! last UCX worker. From MPICH 4.2 on it does not: MPI_Finalize waits for nobody there, and its worker
//! may be half destroyed when it asks the launcher.
use crate::poll::wait_for;
use libc::{c_int, c_uint, c_void, size_t, ssize_t};
use std::cell::Cell;
use std::ffi::CStr;
use std::ptr::null_mut;
use std::sync::OnceLock;

thread_local! {
    /// The worker that this thread progressed last and has not destroyed; null: none.
    static WORKER: Cell<*mut c_void> = const { Cell::new(null_mut()) };
}

/// `ucp_worker_progress` of UCX.
///
/// # Safety
/// As for UCX's function: `worker` lives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_progress(worker: *mut c_void) -> c_uint {
    static REAL: OnceLock<usize> = OnceLock::new();
    WORKER.set(worker);
    let Some(real) = real(&REAL, c"ucp_worker_progress") else {
        return 0;
    };
    // SAFETY: the symbol is UCX's function of this signature.
    let real =
        unsafe { std::mem::transmute::<usize, unsafe extern "C" fn(*mut c_void) -> c_uint>(real) };
    // SAFETY: the caller's promise.
    unsafe { real(worker) }
}

/// `ucp_worker_destroy` of UCX.
///
/// # Safety
/// As for UCX's function: `worker` lives and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_worker_destroy(worker: *mut c_void) {
    static REAL: OnceLock<usize> = OnceLock::new();
    if WORKER.get() == worker {
        WORKER.set(null_mut());
    }
    let Some(real) = real(&REAL, c"ucp_worker_destroy") else {
        return;
    };
    // SAFETY: the symbol is UCX's function of this signature.
    let real = unsafe { std::mem::transmute::<usize, unsafe extern "C" fn(*mut c_void)>(real) };
    // SAFETY: the caller's promise.
    unsafe { real(worker) }
}

/// `read(2)`.
///
/// # Safety
/// As for read(2): `buffer` has room for `length` octets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn read(file: c_int, buffer: *mut c_void, length: size_t) -> ssize_t {
    let worker = WORKER.get();
    if !worker.is_null() && Some(file) == launcher() && needs_answers() {
        while !wait_for(file) {
            // SAFETY: the worker belongs to this thread and lives: `ucp_worker_destroy` clears
            // `WORKER`.
            unsafe { ucp_worker_progress(worker) };
        }
    }
    // SAFETY: the caller's promise.
    unsafe { libc::syscall(libc::SYS_read, file, buffer, length) as ssize_t }
}

/// The socket to the launcher.
fn launcher() -> Option<c_int> {
    static FILE: OnceLock<Option<c_int>> = OnceLock::new();
    *FILE.get_or_init(|| std::env::var("PMI_FD").ok()?.parse().ok())
}

/// True of MPICH before 4.2, which is the first with version 4.1 of the standard; and where nobody
/// tells the version.
fn needs_answers() -> bool {
    static NEEDS: OnceLock<bool> = OnceLock::new();
    *NEEDS.get_or_init(|| {
        let name = c"PMPI_Get_version";
        // SAFETY: a C string and a pseudo handle.
        let linked = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as usize;
        let found = Some(linked).filter(|address| *address != 0).or_else(|| {
            let of_plugins =
                [c"libmpi.so.12", c"libmpich.so.12"].map(|file| of_a_plugin(file, name));
            of_plugins.into_iter().find(|address| *address != 0)
        });
        let Some(get) = found else { return true };
        type GetVersion = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
        let mut version = (0, 0);
        // SAFETY: the MPI standard gives this signature; places for the results.
        unsafe {
            std::mem::transmute::<usize, GetVersion>(get)(&mut version.0, &mut version.1);
        }
        version < (4, 1)
    })
}

/// The function that this library stands in for. It is always found, because the caller has UCX.
fn real(cache: &OnceLock<usize>, name: &CStr) -> Option<usize> {
    let address = *cache.get_or_init(|| {
        // SAFETY: a C string and a pseudo handle.
        let next = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) } as usize;
        Some(next)
            .filter(|address| *address != 0)
            .unwrap_or_else(|| of_a_plugin(c"libucp.so.0", name))
    });
    (address != 0).then_some(address)
}

/// The function of a library that belongs to a plugin (of Python, for example), whose libraries are
/// hidden from other code. 0: there is none.
fn of_a_plugin(library: &CStr, name: &CStr) -> usize {
    let mode = libc::RTLD_NOLOAD | libc::RTLD_LAZY;
    // SAFETY: a C string. RTLD_NOLOAD loads nothing, and the handle keeps the library loaded.
    let library = unsafe { libc::dlopen(library.as_ptr(), mode) };
    if library.is_null() {
        return 0;
    }
    // SAFETY: a handle that was just given, and a C string.
    let function = unsafe { libc::dlsym(library, name.as_ptr()) };
    function as usize
}
