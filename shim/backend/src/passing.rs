//! The communicator whose calls the front passes to the library without a call of the backend: the
//! last one that is known to pass through for good. A call within a host takes less than a
//! microsecond; what the front compares is two words.
use crate::abi::MPI_Comm;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What the front reads; it has the same declaration.
#[repr(C)]
pub(crate) struct PassingCommunicator {
    /// The handle; 0, which is none, where no communicator passes.
    handle: AtomicUsize,
    /// The bits of an argument that are the handle: above a handle of four octets there may be
    /// anything.
    bits: usize,
}

#[unsafe(no_mangle)]
static HEDDLE_PASSING: PassingCommunicator = PassingCommunicator {
    handle: AtomicUsize::new(0),
    bits: usize::MAX >> (8 * (size_of::<usize>() - size_of::<MPI_Comm>())),
};

/// Calls on this communicator pass through for as long as it lives.
pub(crate) fn pass(comm: MPI_Comm) {
    let handle = comm.0 as usize & HEDDLE_PASSING.bits;
    HEDDLE_PASSING.handle.store(handle, Ordering::Relaxed);
}

/// A communicator is freed: its handle may come to mean another one.
pub(crate) fn forget() {
    HEDDLE_PASSING.handle.store(0, Ordering::Relaxed);
}
