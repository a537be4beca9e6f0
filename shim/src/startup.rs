//! MPI's beginning: the functions by which a program starts MPI. What this rank's heddle is must
//! reach the launcher before the ranks of the job wait for each other there, so that no rank can
//! read another's too early.
use crate::launcher;
use crate::library::{find, say};
use std::ffi::{CStr, c_int, c_void};

/// Makes of each row the two functions of a name. Their arguments are words.
macro_rules! beginnings {
    ($($name:ident, $profiling:ident, ($($argument:ident)*);)*) => {$(
        #[doc = concat!("`", stringify!($name), "` of the MPI standard: the profiler's behind this \
            library, or the MPI library's.")]
        ///
        /// # Safety
        /// As the MPI standard says of its arguments.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: usize),*) -> c_int {
            begin!($name($($argument),*))
        }

        #[doc = concat!("`", stringify!($profiling), "`: the MPI library's.")]
        ///
        /// # Safety
        /// As the MPI standard says of its arguments.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $profiling($($argument: usize),*) -> c_int {
            begin!($profiling($($argument),*))
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
    MPI_Init, PMPI_Init, (a b);
    MPI_Init_thread, PMPI_Init_thread, (a b c d);
    MPI_Session_init, PMPI_Session_init, (a b c);
}
