//! Codes of the MPI library.
use crate::mpi::SUCCESS;
use std::ffi::c_int;

// Constants of constants.c: the codes differ between libraries.
unsafe extern "C" {
    safe static HEDDLE_ERR_COUNT: c_int;
    safe static HEDDLE_ERR_NO_MEM: c_int;
    safe static HEDDLE_ERR_OTHER: c_int;
    safe static HEDDLE_ERR_TRUNCATE: c_int;
    safe static HEDDLE_ERR_TYPE: c_int;
}

/// A code other than success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MpiErrorCode(pub(crate) c_int);

impl MpiErrorCode {
    /// `MPI_ERR_COUNT`
    pub(crate) fn count() -> MpiErrorCode {
        MpiErrorCode(HEDDLE_ERR_COUNT)
    }

    /// `MPI_ERR_NO_MEM`
    pub(crate) fn no_memory() -> MpiErrorCode {
        MpiErrorCode(HEDDLE_ERR_NO_MEM)
    }

    /// `MPI_ERR_OTHER`
    pub(crate) fn other() -> MpiErrorCode {
        MpiErrorCode(HEDDLE_ERR_OTHER)
    }

    /// `MPI_ERR_TRUNCATE`
    pub(crate) fn truncated() -> MpiErrorCode {
        MpiErrorCode(HEDDLE_ERR_TRUNCATE)
    }

    /// `MPI_ERR_TYPE`
    pub(crate) fn datatype() -> MpiErrorCode {
        MpiErrorCode(HEDDLE_ERR_TYPE)
    }
}

pub(crate) type MpiResult<T> = std::result::Result<T, MpiErrorCode>;

pub(crate) fn check(code: c_int) -> MpiResult<()> {
    if code == SUCCESS {
        Ok(())
    } else {
        Err(MpiErrorCode(code))
    }
}
