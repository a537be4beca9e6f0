//! MPI's beginning: the functions by which a program starts MPI. The version and settings of this rank's heddle must
//! reach the launcher before the ranks of the job wait for each other there, so that no rank can
//! read another's too early.
use crate::caller::by_caller;
use crate::launcher;
use crate::loaded_objects::{self, find};
use crate::stderr::say;
use std::ffi::{CStr, c_int, c_void};

/// Makes of each row a function of MPI: its name, the names of the two functions that it needs, and
/// its arguments, which are words.
macro_rules! beginnings {
    ($($name:ident, $begin:ident, $decide:ident, ($($argument:ident)*);)*) => {$(
        #[doc = concat!("`", stringify!($name), "` of the MPI standard: the profiler's behind this \
            library, or the MPI library's.")]
        ///
        /// # Safety
        /// As the MPI standard says of its arguments.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name($($argument: usize),*) -> c_int {
            by_caller!($decide);
        }

        unsafe extern "C" fn $begin($($argument: usize),*) -> c_int {
            begin!($name($($argument),*))
        }

        /// Where a call from this return address goes.
        unsafe extern "C" fn $decide(
            caller: usize,
        ) -> unsafe extern "C" fn($(begin!(@word $argument)),*) -> c_int {
            loaded_objects::begun_from(caller);
            $begin
        }
    )*};
}

/// Calls the next function of this name while the launcher hears of this rank.
macro_rules! begin {
    ($name:ident($($argument:ident),*)) => {{
        type Own = unsafe extern "C" fn($(begin!(@word $argument)),*) -> c_int;
        let own = own(concat!(stringify!($name), "\0"));
        // SAFETY: a function of this name takes as many words.
        let own = unsafe { std::mem::transmute::<*mut c_void, Own>(own) };
        // SAFETY: the arguments are passed on as they came.
        launcher::publish_during(|| unsafe { own($($argument),*) })
    }};
    (@word $argument:ident) => { usize };
}

/// The next function of this name behind this library. Without one the process ends: somebody
/// called an MPI function that nobody has.
fn own(name: &str) -> *mut c_void {
    let name = CStr::from_bytes_with_nul(name.as_bytes()).unwrap_or(c"");
    find(name).unwrap_or_else(|| {
        let name = name.to_string_lossy();
        say(&format!(
            "{name} was called, but this process has no MPI library loaded that has it"
        ));
        std::process::abort();
    })
}

beginnings! {
    MPI_Init, init, decide_init, (a b);
    PMPI_Init, profiled_init, decide_profiled_init, (a b);
    MPI_Init_thread, init_thread, decide_init_thread, (a b c d);
    PMPI_Init_thread, profiled_init_thread, decide_profiled_init_thread, (a b c d);
    MPI_Session_init, session_init, decide_session_init, (a b c);
    PMPI_Session_init, profiled_session_init, decide_profiled_session_init, (a b c);
}
