//! `libheddle.so`: the front of the MPI runtime. It links no MPI.
//!
//! Loaded by `LD_PRELOAD`, it stands before the MPI library of the process, finds out which one
//! that is, opens the backend compiled for it from the directory it lies in itself, and hands it
//! the collectives heddle serves. Everything else never passes here.
//!
//! ```text
//! program --MPI_Alltoall--> libheddle.so --> a backend --PMPI_*--> the MPI library
//!                                            (libheddle-openmpi.so, -mpich.so or -abi.so)
//! ```
//!
//! With a profiler, whether it is loaded before this library or after it:
//!
//! ```text
//! program --MPI_Alltoall--> profiler --PMPI_Alltoall--> libheddle.so --> ...
//! ```
//!
//! | module | one idea |
//! |---|---|
//! | [`collectives`] | the calls that heddle serves |
//! | [`found_mpi`], [`library`] | the MPI library of the process and its backend, and where calls go |
//! | `loaded_objects` | the libraries of this process, and their functions |
//! | [`interface_symbols`] | which backend is for it |
//! | [`caller`], [`mapped_file`] | who calls: the library itself, or somebody before it |
//! | [`profiler`] | a profiler behind this library |
//! | [`startup`] | MPI's beginning, when this rank publishes what its heddle is |
//! | [`launcher`] | where it publishes that, and reads it of others |
//! | `stderr` | lines for users |
//!
//! A shim compiled for one MPI crashes in the other, because handles and constants differ. The
//! front is compiled for none: each argument is taken as one machine word and passed on as it is.
//! In the calling conventions of x86-64 (System V) and AArch64 (AAPCS64) integers and pointers
//! travel alike, in registers or 8-byte stack slots, and a callee that wants an `int` reads the low
//! half.
#![allow(unsafe_code)] // it is called from C and calls C
#![allow(non_snake_case)] // MPI's names

mod caller;
mod collectives;
mod found_mpi;
mod interface_symbols;
mod launcher;
mod library;
mod loaded_objects;
mod mapped_file;
mod profiler;
mod startup;
mod stderr;

use library::ServedLibrary;
use std::sync::OnceLock;

static LIBRARY: OnceLock<ServedLibrary> = OnceLock::new();

fn served_library() -> &'static ServedLibrary {
    LIBRARY.get_or_init(ServedLibrary::find)
}

/// The same, if somebody has asked before.
fn known_library() -> Option<&'static ServedLibrary> {
    LIBRARY.get()
}
