//! As MPICH has them.
use std::ffi::c_int;

pub(crate) type MpiHandle = c_int;

#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct MPI_Status {
    _count_low: c_int,
    _count_high_and_cancelled: c_int,
    pub(crate) source: c_int,
    pub(crate) tag: c_int,
    pub(crate) error: c_int,
}
