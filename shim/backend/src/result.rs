//! Codes of the MPI library.
use crate::mpi::SUCCESS;
use std::ffi::c_int;

/// A code other than success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Failed(pub(crate) c_int);

pub(crate) type Result<T> = std::result::Result<T, Failed>;

pub(crate) fn check(code: c_int) -> Result<()> {
    if code == SUCCESS { Ok(()) } else { Err(Failed(code)) }
}
