//! A library to preload into MPI programs of the lab, where a dozen ranks share two cores.
//!
//! [`poll`]: an MPI library that polls its sockets without end takes the core from the rank it waits for; it is made to wait.
//!
//! [`finalize`]: MPICH before 4.2 over UCX hangs in MPI_Finalize when a rank waits for its launcher while another still needs an
//! answer from it (pmodels/mpich pull request 6596, "ch4/ucx: remove MPIR_pmi_barrier in finalize"); with UCX 1.12 and later over
//! TCP that is more often than not for short programs. The waiting rank is made to answer.
#![allow(
    unsafe_code,
    reason = "it stands in for functions of the C library and of UCX"
)]
pub mod finalize;
pub mod poll;
