//! MPI_Alltoallw, which the bindings do not wrap.
#![allow(unsafe_code)] // it calls MPI

use crate::block_layout::BlockLayout;
use mpi::ffi::{MPI_Alltoallw, MPI_Datatype};
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;

/// As [`CommunicatorCollectives::all_to_all_varcount_into`], of octets.
pub(crate) fn all_to_all(
    world: &SimpleCommunicator,
    (send, sent): (&[u8], &BlockLayout),
    (receive, received): (&mut [u8], &BlockLayout),
) {
    let octets: Vec<MPI_Datatype> = vec![u8::equivalent_datatype().as_raw(); sent.counts.len()];
    // SAFETY: both buffers are laid out as stated. A failure ends the job: MPI_COMM_WORLD's error
    // handler is the usual one.
    unsafe {
        MPI_Alltoallw(
            send.as_ptr().cast(),
            sent.counts.as_ptr(),
            sent.places.as_ptr(),
            octets.as_ptr(),
            receive.as_mut_ptr().cast(),
            received.counts.as_ptr(),
            received.places.as_ptr(),
            octets.as_ptr(),
            world.as_raw(),
        )
    };
}
