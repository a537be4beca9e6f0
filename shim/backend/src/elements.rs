//! Elements in memory, and copying them within this rank.
use crate::abi::MPI_Datatype;
use crate::datatype::DatatypeLayout;
use crate::error_handlers::quietly;
use crate::mpi::mpi;
use crate::mpi_result::{MpiResult, check};
use std::ffi::{c_int, c_void};

/// Elements at an address, as MPI's functions take them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MpiElements {
    pub(crate) at: *mut c_void,
    pub(crate) count: c_int,
    pub(crate) datatype: MPI_Datatype,
}

impl MpiElements {
    /// Nothing at all: a token.
    pub(crate) fn nothing() -> MpiElements {
        MpiElements {
            at: std::ptr::null_mut(),
            count: 0,
            datatype: mpi().handle.byte,
        }
    }

    /// Its octets, if they lie one behind the other.
    fn plain_octets(&self) -> MpiResult<Option<usize>> {
        let handle = &mpi().handle;
        if self.datatype == handle.byte || self.datatype == handle.packed {
            return Ok(Some(self.count as usize));
        }
        let shape = DatatypeLayout::of(self.datatype)?;
        Ok(shape
            .plain
            .then(|| shape.size as usize * self.count as usize))
    }

    /// Copies this to `to`, whatever the two datatypes are: in memory where both are plain, else by
    /// a collective of this rank alone. That is no message, so no receive that the application has
    /// posted can take it. (MPI_Pack of MPICH refuses `MPI_BOTTOM`.)
    ///
    /// # Safety
    /// Both buffers must hold what their datatypes say, and not overlap.
    pub(crate) unsafe fn copy(self, to: MpiElements) -> MpiResult<()> {
        if self.count == 0 {
            return Ok(());
        }
        if let (Some(octets), Some(room)) = (self.plain_octets()?, to.plain_octets()?)
            && octets == room
        {
            // SAFETY: passed on to the caller.
            unsafe { std::ptr::copy(self.at.cast::<u8>(), to.at.cast::<u8>(), octets) };
            return Ok(());
        }
        let (mpi, own) = (mpi(), mpi().handle.comm_self);
        quietly(own, || {
            // SAFETY: passed on to the caller.
            check(unsafe {
                (mpi.call.Allgather)(
                    self.at,
                    self.count,
                    self.datatype,
                    to.at,
                    to.count,
                    to.datatype,
                    own,
                )
            })
        })
    }
}
