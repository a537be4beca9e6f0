//! `libheddle.so`: the front of the MPI runtime. It links no MPI.
//!
//! Loaded by `LD_PRELOAD`, it stands before the MPI library of the process, finds out which one
//! that is, opens the backend compiled for it from the directory it lies in itself, and hands it
//! the collectives heddle serves. Everything else never passes here.
//!
//! ```text
//! program --MPI_Alltoall--> libheddle.so --> a backend --PMPI_*--> the MPI library
//!                                            (libheddle-openmpi.so or libheddle-mpich.so)
//! ```
//!
//! With a profiler, whether it is loaded before this library or after it:
//!
//! ```text
//! program --MPI_Alltoall--> profiler --PMPI_Alltoall--> libheddle.so --> ...
//! ```
//!
//! A shim compiled for one MPI crashes in the other, because handles and constants differ. The
//! front is compiled for none: each argument is taken as one machine word and passed on as it is.
//! In the calling conventions of x86-64 (System V) and AArch64 (AAPCS64) integers and pointers
//! travel alike, in registers or 8-byte stack slots, and a callee that wants an `int` reads the low
//! half.
#![allow(unsafe_code)] // it is called from C and calls C
#![allow(non_snake_case)] // MPI's names

mod caller;
mod library;
mod mapped_file;
mod profiler;

use caller::by_caller;
use library::ServedLibrary;
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

/// Collectives of seven, eight and nine arguments, none wider than a machine word.
pub(crate) type SevenArguments =
    unsafe extern "C" fn(usize, usize, usize, usize, usize, usize, usize) -> c_int;
pub(crate) type EightArguments =
    unsafe extern "C" fn(usize, usize, usize, usize, usize, usize, usize, usize) -> c_int;
pub(crate) type NineArguments =
    unsafe extern "C" fn(usize, usize, usize, usize, usize, usize, usize, usize, usize) -> c_int;

fn library() -> &'static ServedLibrary {
    static LIBRARY: OnceLock<ServedLibrary> = OnceLock::new();
    LIBRARY.get_or_init(ServedLibrary::find)
}

/// Exports one form of a collective under its two names.
///
/// Open MPI's Fortran bindings (mpif.h, `use mpi`, `mpi_f08`) call the `PMPI_` name directly, so a
/// C-only interposition misses every Fortran program. In MPICH they call the `MPI_` name. Profilers
/// of both call the `PMPI_` name, and so does the library for itself.
macro_rules! collective {
    (
        $served:ident, $name:ident, $profiling:ident, $decide:ident, $type:ty,
        ($($argument:ident),*)
    ) => {
        #[doc = concat!("`", stringify!($name), "` of the MPI standard.")]
        ///
        /// # Safety
        /// As the MPI standard says of its arguments.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: usize),*) -> c_int {
            let collective = &library().$served;
            match collective.profiler {
                // SAFETY: the arguments are passed on as they came.
                None => unsafe { (collective.served)($($argument),*) },
                Some(profiler) => {
                    // SAFETY: as above.
                    let call = || unsafe { profiler($($argument),*) };
                    let at = profiler as *const c_void;
                    profiler::call_through_profiler(stringify!($name), at, call)
                }
            }
        }

        #[doc = concat!("`", stringify!($profiling), "`: the library's own where it calls this \
            for itself, else served.")]
        ///
        /// # Safety
        /// As the MPI standard says of its arguments.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $profiling($($argument: usize),*) -> c_int {
            by_caller!($decide);
        }

        extern "C" fn $decide(caller: usize) -> $type {
            let library = library();
            library.target_of_call(&library.$served, caller)
        }
    };
}

collective!(
    alltoall,
    MPI_Alltoall,
    PMPI_Alltoall,
    to_alltoall,
    SevenArguments,
    (a, b, c, d, e, f, g)
);
collective!(
    allgather,
    MPI_Allgather,
    PMPI_Allgather,
    to_allgather,
    SevenArguments,
    (a, b, c, d, e, f, g)
);
collective!(
    alltoallv,
    MPI_Alltoallv,
    PMPI_Alltoallv,
    to_alltoallv,
    NineArguments,
    (a, b, c, d, e, f, g, h, i)
);
collective!(
    alltoallw,
    MPI_Alltoallw,
    PMPI_Alltoallw,
    to_alltoallw,
    NineArguments,
    (a, b, c, d, e, f, g, h, i)
);
collective!(
    allgatherv,
    MPI_Allgatherv,
    PMPI_Allgatherv,
    to_allgatherv,
    EightArguments,
    (a, b, c, d, e, f, g, h)
);
// With counts of type `MPI_Count`. A program that finds these calls them (mpi4py does, through a
// weak symbol, even where the library has none): the backend takes them.
collective!(
    alltoall_c,
    MPI_Alltoall_c,
    PMPI_Alltoall_c,
    to_alltoall_c,
    SevenArguments,
    (a, b, c, d, e, f, g)
);
collective!(
    allgather_c,
    MPI_Allgather_c,
    PMPI_Allgather_c,
    to_allgather_c,
    SevenArguments,
    (a, b, c, d, e, f, g)
);
collective!(
    alltoallv_c,
    MPI_Alltoallv_c,
    PMPI_Alltoallv_c,
    to_alltoallv_c,
    NineArguments,
    (a, b, c, d, e, f, g, h, i)
);
collective!(
    alltoallw_c,
    MPI_Alltoallw_c,
    PMPI_Alltoallw_c,
    to_alltoallw_c,
    NineArguments,
    (a, b, c, d, e, f, g, h, i)
);
collective!(
    allgatherv_c,
    MPI_Allgatherv_c,
    PMPI_Allgatherv_c,
    to_allgatherv_c,
    EightArguments,
    (a, b, c, d, e, f, g, h)
);
