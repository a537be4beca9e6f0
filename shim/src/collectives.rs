//! The collectives that heddle serves: one row each.
//!
//! Each is exported under its two names. Open MPI's Fortran bindings (mpif.h, `use mpi`, `mpi_f08`)
//! call the `PMPI_` name directly, so a C-only interposition misses every Fortran program. In MPICH
//! they call the `MPI_` name. Profilers of both call the `PMPI_` name, and so does the library for
//! itself.
use crate::caller::by_caller;
use crate::library::{FoundMpi, ServedCollective};
use crate::{library, profiler};
use std::ffi::{c_int, c_void};

/// Makes of each row an entry of [`ServedCollectives`] and the two functions. A row has the entry's
/// name, the names of the two functions and of a third one that they need, how the library's own is
/// found, its name without the prefix, and a letter for each argument. None is wider than a machine
/// word.
macro_rules! collectives {
    ($(
        $served:ident, $name:ident, $profiling:ident, $decide:ident,
        $find:ident($plain:literal), ($($argument:ident)*);
    )*) => {
        /// Where the calls go.
        pub(crate) struct ServedCollectives {
            $($served: ServedCollective<unsafe extern "C" fn($(word!($argument)),*) -> c_int>,)*
        }

        impl ServedCollectives {
            /// The names without their prefix.
            pub(crate) const NAMES: &[&str] = &[$($plain),*];

            pub(crate) fn find(found: &FoundMpi) -> ServedCollectives {
                ServedCollectives { $($served: found.$find($plain),)* }
            }
        }

        $(
            #[doc = concat!("`", stringify!($name), "` of the MPI standard.")]
            ///
            /// # Safety
            /// As the MPI standard says of its arguments.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: usize),*) -> c_int {
                let collective = &library().collectives.$served;
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

            #[doc = concat!("`", stringify!($profiling), "`: the library's own where it calls \
                this for itself, else served.")]
            ///
            /// # Safety
            /// As the MPI standard says of its arguments.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C" fn $profiling($($argument: usize),*) -> c_int {
                by_caller!($decide);
            }

            extern "C" fn $decide(
                caller: usize,
            ) -> unsafe extern "C" fn($(word!($argument)),*) -> c_int {
                let library = library();
                library.target_of_call(&library.collectives.$served, caller)
            }
        )*
    };
}

/// The type of any argument.
macro_rules! word {
    ($argument:ident) => {
        usize
    };
}

collectives! {
    alltoall, MPI_Alltoall, PMPI_Alltoall, to_alltoall, served("Alltoall"), (a b c d e f g);
    allgather, MPI_Allgather, PMPI_Allgather, to_allgather, served("Allgather"), (a b c d e f g);
    alltoallv, MPI_Alltoallv, PMPI_Alltoallv, to_alltoallv, served("Alltoallv"), (a b c d e f g h i);
    allgatherv, MPI_Allgatherv, PMPI_Allgatherv, to_allgatherv, served("Allgatherv"), (a b c d e f g h);
    alltoallw, MPI_Alltoallw, PMPI_Alltoallw, to_alltoallw, served("Alltoallw"), (a b c d e f g h i);
    // With counts of type `MPI_Count`. A program that finds these calls them (mpi4py does, through a
    // weak symbol, even where the library has none): the backend takes them.
    alltoall_c, MPI_Alltoall_c, PMPI_Alltoall_c, to_alltoall_c, large("Alltoall_c"), (a b c d e f g);
    allgather_c, MPI_Allgather_c, PMPI_Allgather_c, to_allgather_c, large("Allgather_c"), (a b c d e f g);
    alltoallv_c, MPI_Alltoallv_c, PMPI_Alltoallv_c, to_alltoallv_c, large("Alltoallv_c"), (a b c d e f g h i);
    allgatherv_c, MPI_Allgatherv_c, PMPI_Allgatherv_c, to_allgatherv_c, large("Allgatherv_c"), (a b c d e f g h);
    alltoallw_c, MPI_Alltoallw_c, PMPI_Alltoallw_c, to_alltoallw_c, large("Alltoallw_c"), (a b c d e f g h i);
}
