//! Memory in which elements of any datatype may lie.
use crate::mpi_result::{MpiErrorCode, MpiResult};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// No type wants more; and it is a line of the cache.
const ALIGNMENT: usize = 64;

/// Octets, all 0 at first. What is never touched takes no memory.
#[derive(Debug)]
pub(crate) struct AlignedRoom {
    at: NonNull<u8>,
    length: usize,
    layout: Layout,
}

impl AlignedRoom {
    pub(crate) fn of(length: usize) -> MpiResult<AlignedRoom> {
        let layout = Layout::from_size_align(length.max(1), ALIGNMENT)
            .map_err(|_| MpiErrorCode::no_memory())?;
        // SAFETY: the layout has at least one octet.
        let at = NonNull::new(unsafe { alloc_zeroed(layout) });
        let at = at.ok_or_else(MpiErrorCode::no_memory)?;
        Ok(AlignedRoom { at, length, layout })
    }

    pub(crate) fn octets(&mut self) -> &mut [u8] {
        // SAFETY: so many octets were allocated and set; the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.at.as_ptr(), self.length) }
    }
}

impl Drop for AlignedRoom {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and freed once.
        unsafe { dealloc(self.at.as_ptr(), self.layout) }
    }
}
