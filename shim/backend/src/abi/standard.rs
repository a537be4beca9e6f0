//! As the MPI standard has them since MPI-5.0 (chapter Application Binary Interface).
use std::ffi::{c_int, c_void};

/// Up to [`LAST_RESERVED`] a number, beyond it whatever the library likes.
pub(crate) type MpiHandle = *mut c_void;

/// The last number that stands for an object of the standard, and not for one that is made.
pub(crate) const LAST_RESERVED: usize = (1 << 12) - 1;

/// Its datatypes have numbers of ten bits. A library need not have all of them.
pub(crate) fn is_predefined_datatype(handle: MpiHandle) -> bool {
    handle as usize >> 9 == 1
}

/// Its operations have numbers of six bits; the first is no operation.
pub(crate) fn is_predefined_op(handle: MpiHandle) -> bool {
    handle as usize >> 5 == 1 && handle as usize != 1 << 5
}

#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct MPI_Status {
    pub(crate) source: c_int,
    pub(crate) tag: c_int,
    pub(crate) error: c_int,
    _internal: [c_int; 5],
}
