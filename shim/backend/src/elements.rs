//! Elements in memory, and copying them within this rank.
use crate::abi::{MPI_Count, MPI_Datatype};
use crate::datatype::DatatypeLayout;
use crate::error_handlers::quietly;
use crate::mpi::mpi;
use crate::mpi_result::{MpiErrorCode, MpiResult, check};
use std::ffi::{c_int, c_void};

/// Octets that one call of the library copies, or those of an element, if it has more.
const MOST_AT_ONCE: usize = 1 << 30;

/// Elements at an address, as MPI's functions take them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MpiElements {
    pub(crate) at: *mut c_void,
    pub(crate) count: MPI_Count,
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

    /// The count as functions without large counts take it.
    pub(crate) fn int_count(&self) -> MpiResult<c_int> {
        c_int::try_from(self.count).map_err(|_| MpiErrorCode::count())
    }

    /// Its octets, if they lie one behind the other.
    pub(crate) fn plain_octets(&self) -> MpiResult<Option<usize>> {
        let handle = &mpi().handle;
        if self.datatype == handle.byte || self.datatype == handle.packed {
            return Ok(Some(self.count as usize));
        }
        let layout = DatatypeLayout::query(self.datatype)?;
        let octets = layout.size as usize * self.count as usize;
        Ok(layout.plain.then_some(octets))
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
        let (plain, place) = (self.plain_octets()?, to.plain_octets()?);
        match (plain, place) {
            (Some(octets), Some(room)) if octets == room => {
                // SAFETY: passed on to the caller.
                unsafe { std::ptr::copy(self.at.cast::<u8>(), to.at.cast::<u8>(), octets) };
                Ok(())
            }
            // SAFETY: passed on to the caller.
            (Some(octets), None) if octets > MOST_AT_ONCE => unsafe {
                to.piece_by_piece(self.at, |piece, packed| packed.copy_at_once(piece))
            },
            // SAFETY: passed on to the caller.
            (None, Some(room)) if room > MOST_AT_ONCE => unsafe {
                self.piece_by_piece(to.at, |piece, packed| piece.copy_at_once(packed))
            },
            // SAFETY: passed on to the caller.
            _ => unsafe { self.copy_at_once(to) },
        }
    }

    /// Tells `copy` a few of the elements after the other, each time with their octets, of which
    /// all are at `octets`.
    ///
    /// # Safety
    /// Both must hold what their descriptions state.
    unsafe fn piece_by_piece(
        self,
        octets: *mut c_void,
        copy: impl Fn(MpiElements, MpiElements) -> MpiResult<()>,
    ) -> MpiResult<()> {
        let DatatypeLayout { size, extent, .. } = DatatypeLayout::query(self.datatype)?;
        let size = size as usize;
        let at_once = (MOST_AT_ONCE / size).max(1);
        for begin in (0..self.count as usize).step_by(at_once) {
            let count = at_once.min(self.count as usize - begin);
            let at = self.at.cast::<u8>();
            let piece = MpiElements {
                at: at
                    .wrapping_offset(extent.wrapping_mul(begin as isize))
                    .cast(),
                count: count as MPI_Count,
                ..self
            };
            // SAFETY: passed on to the caller.
            let octets = unsafe { octets.cast::<u8>().add(begin * size) };
            let packed = MpiElements {
                at: octets.cast(),
                count: (count * size) as MPI_Count,
                datatype: mpi().handle.packed,
            };
            copy(piece, packed)?;
        }
        Ok(())
    }

    /// # Safety
    /// As in [`MpiElements::copy`].
    unsafe fn copy_at_once(self, to: MpiElements) -> MpiResult<()> {
        let (mpi, own) = (mpi(), mpi().handle.comm_self);
        let (count, room) = (self.int_count()?, to.int_count()?);
        quietly(own, || {
            // SAFETY: passed on to the caller.
            check(unsafe {
                (mpi.call.Allgather)(self.at, count, self.datatype, to.at, room, to.datatype, own)
            })
        })
    }
}

/// Octets as elements of any type, as the standard lets them be sent and received (MPI-4.1, 5.2:
/// MPI_PACKED).
pub(crate) fn octets_of(octets: &mut [u8]) -> MpiElements {
    MpiElements {
        at: octets.as_mut_ptr().cast(),
        count: octets.len() as MPI_Count,
        datatype: mpi().handle.packed,
    }
}

pub(crate) fn room(octets: usize) -> MpiResult<Vec<u8>> {
    let mut room = Vec::new();
    room.try_reserve_exact(octets)
        .map_err(|_| MpiErrorCode::no_memory())?;
    room.resize(octets, 0);
    Ok(room)
}
