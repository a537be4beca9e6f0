//! The communicator whose calls go to the library without the backend: the backend names it.
use std::sync::atomic::{AtomicUsize, Ordering};

/// What the backend writes; it has the same declaration.
#[repr(C)]
pub(crate) struct PassedCommunicator {
    handle: AtomicUsize,
    bits: usize,
}

/// Where there is no backend, which also takes all calls there are.
pub(crate) static NOBODY: PassedCommunicator = PassedCommunicator {
    handle: AtomicUsize::new(0),
    bits: usize::MAX,
};

impl PassedCommunicator {
    /// True if an argument is its handle.
    pub(crate) fn is(&self, argument: usize) -> bool {
        argument & self.bits == self.handle.load(Ordering::Relaxed)
    }
}
