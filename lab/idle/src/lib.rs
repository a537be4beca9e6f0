//! A library to preload into MPI programs of the lab, where a dozen ranks share two cores.
//!
//! [`poll`]: an MPI library that polls its sockets without end takes the core from the rank that it
//! waits for. This makes it wait without a core.
//!
//! [`finalize`]: MPICH before 4.2 over UCX can hang in MPI_Finalize, when a rank waits for its
//! launcher while another rank still needs an answer from it (pmodels/mpich pull request 6596,
//! "ch4/ucx: remove MPIR_pmi_barrier in finalize"). With UCX 1.12 and later over TCP, most short
//! programs hang. This makes the waiting rank answer.
#![allow(
    unsafe_code,
    reason = "it stands in for functions of the C library and of UCX"
)]
pub mod finalize;
pub mod poll;
