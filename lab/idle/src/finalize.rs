//! Answers to peers from a rank that waits for its launcher.
//!
//! MPICH talks to the launcher over a socket whose number is in the environment variable `PMI_FD`
//! (PMI-1 wire protocol). While `read` of that socket would block, this progresses the thread's
//! last UCX worker.
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
    if !worker.is_null() && Some(file) == launcher() {
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

/// The function that this library stands in for. It is always found, because the caller has UCX.
fn real(cache: &OnceLock<usize>, name: &CStr) -> Option<usize> {
    // SAFETY: a C string and a pseudo handle.
    let next = || unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) } as usize;
    let address = *cache.get_or_init(|| {
        Some(next())
            .filter(|address| *address != 0)
            .unwrap_or_else(|| of_a_plugin(name))
    });
    (address != 0).then_some(address)
}

/// The function of a UCX that belongs to a plugin (of Python, for example), whose libraries are
/// hidden from other code. 0: there is none.
fn of_a_plugin(name: &CStr) -> usize {
    // SAFETY: a C string. RTLD_NOLOAD loads nothing, and the handle keeps the library loaded.
    let ucx = unsafe { libc::dlopen(c"libucp.so.0".as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) };
    if ucx.is_null() {
        return 0;
    }
    // SAFETY: a handle that was just given, and a C string.
    let function = unsafe { libc::dlsym(ucx, name.as_ptr()) };
    function as usize
}
