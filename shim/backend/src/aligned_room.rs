//! Memory in which elements of any datatype may lie.
use crate::mpi_result::{MpiErrorCode, MpiResult};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// No type wants more; and it is a line of the cache.
const ALIGNMENT: usize = 64;

/// Room for more octets is given back after the call: the memory may be wanted elsewhere.
const MOST_KEPT: usize = 64 << 20;

/// The memory that calls of a process set work in, one after the other. It is kept from call to
/// call, as the system clears each page of new memory and lets the process stop for it.
#[derive(Debug, Default)]
pub(crate) struct KeptRoom(Option<AlignedRoom>);

impl KeptRoom {
    /// So many octets, for one call: what an earlier one left in them, or 0.
    pub(crate) fn reserve(&mut self, length: usize) -> MpiResult<&mut [u8]> {
        let room = match self.0.take().filter(|room| room.layout.size() >= length) {
            Some(room) => room,
            None => AlignedRoom::allocate(length)?,
        };
        Ok(&mut self.0.insert(room).octets()[..length])
    }

    /// The call is over.
    pub(crate) fn done(&mut self) {
        self.0.take_if(|room| room.layout.size() > MOST_KEPT);
    }
}

/// Octets, all 0 at first. Untouched octets take no memory.
#[derive(Debug)]
struct AlignedRoom {
    at: NonNull<u8>,
    layout: Layout,
}

// SAFETY: nobody else has the memory.
unsafe impl Send for AlignedRoom {}

impl AlignedRoom {
    fn allocate(length: usize) -> MpiResult<AlignedRoom> {
        let layout = Layout::from_size_align(length.max(1), ALIGNMENT)
            .map_err(|_| MpiErrorCode::no_memory())?;
        // SAFETY: the layout has at least one octet.
        let at =
            NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(MpiErrorCode::no_memory)?;
        Ok(AlignedRoom { at, layout })
    }

    fn octets(&mut self) -> &mut [u8] {
        // SAFETY: so many octets were allocated and set; the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.at.as_ptr(), self.layout.size()) }
    }
}

impl Drop for AlignedRoom {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and freed once.
        unsafe { dealloc(self.at.as_ptr(), self.layout) }
    }
}
