//! `libheddle.so`: the front of the MPI runtime. It links no MPI.
//!
//! Loaded by `LD_PRELOAD`, it stands before the MPI library of the process, finds out which one that is,
//! opens the backend compiled for it from the directory it lies in itself, and hands it the collectives
//! heddle serves. Everything else never passes here.
//!
//! ```text
//! program --MPI_Alltoall--> libheddle.so --> libheddle-openmpi.so | libheddle-mpich.so --PMPI_*--> the MPI library
//! ```
//!
//! A shim compiled for one MPI crashes in the other, because handles and constants differ. The front is
//! compiled for none: each argument is taken as one machine word and passed on as it is. In the calling
//! conventions of x86-64 (System V) and AArch64 (AAPCS64) integers and pointers travel alike, in registers
//! or 8-byte stack slots, and a callee that wants an `int` reads the low half.
#![allow(unsafe_code)] // it is called from C and calls C
#![allow(non_snake_case)] // MPI's names

mod library;

use library::Library;
use std::ffi::c_int;
use std::sync::OnceLock;

/// Collectives of seven, eight and nine arguments, none wider than a machine word.
pub(crate) type Seven = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize, usize) -> c_int;
pub(crate) type Eight = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize, usize, usize) -> c_int;
pub(crate) type Nine = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize, usize, usize, usize) -> c_int;

/// The class of a count that does not fit; 2 in every MPI library.
const MPI_ERR_COUNT: c_int = 2;

fn library() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    LIBRARY.get_or_init(Library::find)
}

/// Exports one collective under its four names.
///
/// Open MPI's Fortran bindings (mpif.h, `use mpi`, `mpi_f08`) call the `PMPI_` name directly, so a C-only
/// interposition misses every Fortran program. In MPICH they call the `MPI_` name, and the library itself
/// uses `PMPI_`, which must stay its own.
///
/// A program that finds a large-count form calls it (mpi4py does, through a weak symbol, even where the library has none): the
/// backend takes it.
macro_rules! collective {
    ($served:ident, $name:ident, $profiling:ident, $large:ident, ($($argument:ident),*)) => {
        #[doc = concat!("`", stringify!($name), "` of the MPI standard.")]
        ///
        /// # Safety
        /// As the MPI standard says of its arguments.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: usize),*) -> c_int {
            // SAFETY: the arguments are passed on as they came.
            unsafe { (library().$served.served)($($argument),*) }
        }

        #[doc = concat!("`", stringify!($profiling), "`: the same for Open MPI's Fortran, the library's own elsewhere.")]
        ///
        /// # Safety
        /// As the MPI standard says of its arguments.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $profiling($($argument: usize),*) -> c_int {
            let library = library();
            let to = if library.fortran_calls_pmpi { library.$served.served } else { library.$served.own };
            // SAFETY: the arguments are passed on as they came.
            unsafe { to($($argument),*) }
        }

        #[doc = concat!("`", stringify!($large), "`: counts of type `MPI_Count`.")]
        ///
        /// # Safety
        /// As the MPI standard says of its arguments.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $large($($argument: usize),*) -> c_int {
            // SAFETY: the arguments are passed on as they came.
            library().$served.large.map_or(MPI_ERR_COUNT, |large| unsafe { large($($argument),*) })
        }
    };
}

collective!(alltoall, MPI_Alltoall, PMPI_Alltoall, MPI_Alltoall_c, (a, b, c, d, e, f, g));
collective!(allgather, MPI_Allgather, PMPI_Allgather, MPI_Allgather_c, (a, b, c, d, e, f, g));
collective!(alltoallv, MPI_Alltoallv, PMPI_Alltoallv, MPI_Alltoallv_c, (a, b, c, d, e, f, g, h, i));
collective!(allgatherv, MPI_Allgatherv, PMPI_Allgatherv, MPI_Allgatherv_c, (a, b, c, d, e, f, g, h));
