//! The symbols of an MPI library that tell its binary interface, and the backend for it. They are
//! what its `mpi.h` lets programs refer to. `heddle doctor` looks for the same in a library's file.
use std::ffi::CStr;

/// Symbols that every MPI library has, and the library only.
pub(crate) const OF_EVERY_LIBRARY: &CStr = c"PMPI_Get_library_version";

/// Symbols that a library with the standard's interface has, and one with its own perhaps, which then
/// answers -1 (MPI-5.0, Application Binary Interface).
pub(crate) const STANDARD_VERSION: &CStr = c"PMPI_Abi_get_version";

/// What MPI_COMM_WORLD and MPI_COMM_DUP_FN of their mpi.h stand for.
const OWN: [(&CStr, &str); 2] = [
    (c"ompi_mpi_comm_world", "openmpi"),
    (c"MPIR_Dup_fn", "mpich"),
];

/// The backend for a library with these symbols, if its interface is its own.
pub(crate) fn backend_for_own(has: impl Fn(&CStr) -> bool) -> Option<&'static str> {
    let mut found = OWN.iter().filter(|(symbol, _)| has(symbol));
    match (found.next(), found.next()) {
        (Some((_, backend)), None) => Some(backend),
        _ => None,
    }
}
