//! The collectives that heddle serves: one row each.
//!
//! Each is exported under its two names. Open MPI's Fortran bindings (mpif.h, `use mpi`, `mpi_f08`)
//! call the `PMPI_` name directly, so a C-only interposition misses every Fortran program. In MPICH
//! they call the `MPI_` name. Profilers of both call the `PMPI_` name, and so does the library for
//! itself.
use crate::caller::by_caller;
use crate::found_mpi::{FoundMpi, ServedCollective};
use crate::{known_library, profiler, served_library};
use passes::{CallWords, CountBits, PassTable, PassedCollective};
use std::ffi::{c_int, c_void};

/// Makes of each row an entry of [`ServedCollectives`] and the two functions. A row has the entry's
/// name, the names of the two functions and of a third one that they need, how the library's own is
/// found, its name without the prefix, and a letter for each argument. None is wider than a machine
/// word. Where calls of a kind may pass, their collective follows, how wide counts are, and the
/// arguments that make the kind.
macro_rules! collectives {
    ($(
        $served:ident, $name:ident, $profiling:ident, $serve:ident, $decide:ident,
        $find:ident($plain:literal), ($($argument:ident)*)
        $(, $kind:ident by $counts:ident ($($word:ident)*))?;
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
                // SAFETY: the arguments are passed on as they came.
                unsafe { $serve($($argument),*) }
            }

            /// This library's own, whoever else has the name.
            unsafe extern "C" fn $serve($($argument: usize),*) -> c_int {
                /// The first call, and calls that a profiler wants to see.
                #[cold]
                unsafe extern "C" fn seldom($($argument: usize),*) -> c_int {
                    let collective = &served_library().collectives.$served;
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
                // Nothing here has an address taken, so the arguments stay where they are.
                match known_library() {
                    Some(library) if library.collectives.$served.profiler.is_none() => {
                        let collective = &library.collectives.$served;
                        let passed = library.passed;
                        let passes = passed.passes_all(last!($($argument)*))
                            $(|| passes_one!(passed, $kind, $counts, $($word)*))?;
                        let to = if passes { collective.own } else { collective.served };
                        // SAFETY: the arguments are passed on as they came.
                        unsafe { to($($argument),*) }
                    }
                    // SAFETY: as above.
                    _ => unsafe { seldom($($argument),*) },
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
                let library = served_library();
                library.target_of_call(&library.collectives.$served, $serve, caller)
            }
        )*
    };
}

/// The last argument: the communicator.
macro_rules! last {
    ($argument:ident) => {
        $argument
    };
    ($first:ident $($rest:ident)+) => {
        last!($($rest)+)
    };
}

/// True if a call passes by its kind, which these arguments make.
macro_rules! passes_one {
    (
        $passed:ident, $kind:ident, $counts:ident,
        $sent:ident $of:ident $received:ident $as:ident $comm:ident
    ) => {{
        let words = CallWords {
            counts: [$sent, $received],
            types: [$of, $as],
            comm: $comm,
        };
        PassTable::passes_one($passed, PassedCollective::$kind, CountBits::$counts, words)
    }};
}

/// The type of any argument.
macro_rules! word {
    ($argument:ident) => {
        usize
    };
}

collectives! {
    alltoall, MPI_Alltoall, PMPI_Alltoall, serve_alltoall, to_alltoall, served("Alltoall"), (a b c d e f g), Alltoall by Int (b c e f g);
    allgather, MPI_Allgather, PMPI_Allgather, serve_allgather, to_allgather, served("Allgather"), (a b c d e f g), Allgather by Int (b c e f g);
    alltoallv, MPI_Alltoallv, PMPI_Alltoallv, serve_alltoallv, to_alltoallv, served("Alltoallv"), (a b c d e f g h i);
    allgatherv, MPI_Allgatherv, PMPI_Allgatherv, serve_allgatherv, to_allgatherv, served("Allgatherv"), (a b c d e f g h);
    alltoallw, MPI_Alltoallw, PMPI_Alltoallw, serve_alltoallw, to_alltoallw, served("Alltoallw"), (a b c d e f g h i);
    allreduce, MPI_Allreduce, PMPI_Allreduce, serve_allreduce, to_allreduce, served("Allreduce"), (a b c d e f);
    reduce_scatter_block, MPI_Reduce_scatter_block, PMPI_Reduce_scatter_block, serve_reduce_scatter_block, to_reduce_scatter_block, served("Reduce_scatter_block"), (a b c d e f);
    bcast, MPI_Bcast, PMPI_Bcast, serve_bcast, to_bcast, served("Bcast"), (a b c d e);
    // With counts of type `MPI_Count`. A program that finds these calls them (mpi4py does, through a
    // weak symbol, even where the library has none): the backend takes them.
    alltoall_c, MPI_Alltoall_c, PMPI_Alltoall_c, serve_alltoall_c, to_alltoall_c, large("Alltoall_c"), (a b c d e f g), Alltoall by Large (b c e f g);
    allgather_c, MPI_Allgather_c, PMPI_Allgather_c, serve_allgather_c, to_allgather_c, large("Allgather_c"), (a b c d e f g), Allgather by Large (b c e f g);
    alltoallv_c, MPI_Alltoallv_c, PMPI_Alltoallv_c, serve_alltoallv_c, to_alltoallv_c, large("Alltoallv_c"), (a b c d e f g h i);
    allgatherv_c, MPI_Allgatherv_c, PMPI_Allgatherv_c, serve_allgatherv_c, to_allgatherv_c, large("Allgatherv_c"), (a b c d e f g h);
    alltoallw_c, MPI_Alltoallw_c, PMPI_Alltoallw_c, serve_alltoallw_c, to_alltoallw_c, large("Alltoallw_c"), (a b c d e f g h i);
    allreduce_c, MPI_Allreduce_c, PMPI_Allreduce_c, serve_allreduce_c, to_allreduce_c, large("Allreduce_c"), (a b c d e f);
    reduce_scatter_block_c, MPI_Reduce_scatter_block_c, PMPI_Reduce_scatter_block_c, serve_reduce_scatter_block_c, to_reduce_scatter_block_c, large("Reduce_scatter_block_c"), (a b c d e f);
    bcast_c, MPI_Bcast_c, PMPI_Bcast_c, serve_bcast_c, to_bcast_c, large("Bcast_c"), (a b c d e);
}
