//! A PMPI profiler that is loaded behind this library. The program's calls go to the profiler
//! first, and is served when the profiler calls the profiling name, which is this library's. So
//! both orders of loading come to the same.
use crate::mapped_file::{MappedFile, file_of};
use crate::stderr::{first_rank, say};
use libc::{RTLD_NEXT, c_int, c_void};
use std::cell::Cell;
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    /// True if the profiler that this thread is in has called a profiling name.
    static CAME_BACK: Cell<bool> = const { Cell::new(false) };
}

/// A profiler's function of this name: one that stands between this library and the MPI library. The
/// MPI library's own lies in the library's file.
pub(crate) fn profiler_behind(name: &str, library: &MappedFile) -> Option<*mut c_void> {
    let symbol = CString::new(name).ok()?;
    // SAFETY: a C string; RTLD_NEXT starts behind this library.
    let next = unsafe { libc::dlsym(RTLD_NEXT, symbol.as_ptr()) };
    (!next.is_null() && !library.holds(next as usize)).then_some(next)
}

/// Calls the profiler, and says so once where it passes this library by.
pub(crate) fn call_through_profiler(
    name: &str,
    profiler: *const c_void,
    call: impl FnOnce() -> c_int,
) -> c_int {
    static REPORTED: AtomicBool = AtomicBool::new(false);
    CAME_BACK.set(false);
    let code = call();
    if !CAME_BACK.get() && !REPORTED.swap(true, Ordering::Relaxed) && first_rank() {
        let file = file_of(profiler).unwrap_or_default();
        say(&format!(
            "{}: loaded after heddle, its {name} did not call P{name}; what it passes on is not \
             served: load it before heddle",
            file.display()
        ));
    }
    code
}

/// A profiling name was called.
pub(crate) fn came_back() {
    CAME_BACK.set(true);
}
