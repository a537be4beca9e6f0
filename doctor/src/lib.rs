//! Checks a machine: the programs that heddle needs, and the runtime that MPI jobs find.
//!
//! | module | one idea |
//! |---|---|
//! | [`needs`] | the needs of heddle, with the package for each |
//! | [`probe`] | checks whether a need is met |
//! | [`jobs`] | the runtime, epoch and ways of a job that starts here |
//! | [`mpi_library`] | what jobs with an MPI library would do |
//! | `exported_symbols` | the names that a library's file exports |
mod exported_symbols;
#[path = "../../shim/src/interface_symbols.rs"]
mod interface_symbols;
pub mod jobs;
pub mod mpi_library;
pub mod needs;
pub mod probe;
