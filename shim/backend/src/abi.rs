//! Handles, statuses and counts of the MPI library this is compiled for, as its mpi.h declares
//! them.
//!
//! They are few, so they are written by hand. build.rs lets the C compiler compare sizes,
//! alignments and offsets with mpi.h: where one differs, the build fails.
#![allow(non_camel_case_types, non_snake_case)] // MPI's names

#[cfg_attr(mpich, path = "abi/mpich.rs")]
#[cfg_attr(open_mpi, path = "abi/open_mpi.rs")]
#[cfg_attr(standard_abi, path = "abi/standard.rs")]
mod library;

#[cfg(standard_abi)]
pub(crate) use library::LAST_RESERVED;
pub(crate) use library::MPI_Status;
use library::MpiHandle;
#[cfg(not(open_mpi))]
pub(crate) use library::{is_predefined_datatype, is_predefined_op};

/// Declares a type of its own for each kind of handle.
macro_rules! handles {
    ($($name:ident)*) => {
        $(
            #[derive(Debug, Clone, Copy, PartialEq)]
            #[repr(transparent)]
            pub(crate) struct $name(pub(crate) MpiHandle);
        )*
    };
}

handles! { MPI_Comm MPI_Datatype MPI_Errhandler MPI_Group MPI_Op MPI_Request }

pub(crate) type MPI_Count = i64;
