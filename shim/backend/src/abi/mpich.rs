//! As MPICH has them.
use std::ffi::c_int;

pub(crate) type MpiHandle = c_int;

/// By its first octet: which kind of object (3: a datatype), and where it lies (1: in the library).
pub(crate) fn is_predefined_datatype(handle: MpiHandle) -> bool {
    handle as u32 >> 24 == 0x4c
}

/// As above (6: an operation).
pub(crate) fn is_predefined_op(handle: MpiHandle) -> bool {
    handle as u32 >> 24 == 0x58
}

#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct MPI_Status {
    _count_low: c_int,
    _count_high_and_cancelled: c_int,
    pub(crate) source: c_int,
    pub(crate) tag: c_int,
    pub(crate) error: c_int,
}
