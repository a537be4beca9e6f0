//! As Open MPI has them.
use std::ffi::{c_int, c_void};

/// An address inside the library.
pub(crate) type MpiHandle = *mut c_void;

#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct MPI_Status {
    pub(crate) source: c_int,
    pub(crate) tag: c_int,
    pub(crate) error: c_int,
    _cancelled: c_int,
    _count: usize,
}
