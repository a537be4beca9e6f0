//! The memory that copies of device buffers lie in. It is kept from call to call, for pinning takes
//! as long as many copies.
//!
//! It is the process's own memory, which the driver pins, and not memory of the driver's: a program
//! that resets its device would take that away.
use super::loaded::DeviceMemory;
use crate::mpi_result::{MpiErrorCode, MpiResult};
use std::ptr::null_mut;

/// More octets are neither pinned nor kept: the memory may be wanted elsewhere.
const MOST_KEPT: usize = 64 << 20;
/// Drivers pin whole pages.
const PAGE: usize = 4096;

/// Room for copies, for one call after the other.
#[derive(Debug, Default)]
pub(crate) struct HostRoom(Option<HostPages>);

impl HostRoom {
    /// The address of so many octets, for copies of this memory.
    pub(crate) fn of(&mut self, octets: usize, memory: &DeviceMemory) -> MpiResult<usize> {
        let pages = match self.0.take().filter(|pages| pages.octets >= octets) {
            Some(pages) => pages,
            None => HostPages::of(octets, memory)?,
        };
        Ok(self.0.insert(pages).address)
    }

    /// The call is over.
    pub(crate) fn done(&mut self) {
        self.0.take_if(|pages| pages.octets > MOST_KEPT);
    }
}

/// Pages that nobody else has.
struct HostPages {
    address: usize,
    octets: usize,
    /// Whose driver has pinned them.
    pinned: Option<DeviceMemory>,
}

impl std::fmt::Debug for HostPages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let pinned = if self.pinned.is_some() {
            ", pinned"
        } else {
            ""
        };
        write!(f, "{} octets{pinned}", self.octets)
    }
}

impl HostPages {
    fn of(octets: usize, memory: &DeviceMemory) -> MpiResult<HostPages> {
        let octets = octets.next_multiple_of(PAGE);
        // SAFETY: new memory of the process's own.
        let address = unsafe {
            libc::mmap(
                null_mut(),
                octets,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(MpiErrorCode::no_memory());
        }
        let address = address as usize;
        // What is not pinned is copied as well, if slower.
        let pins = octets <= MOST_KEPT && memory.driver.pin(memory.place, address, octets).is_ok();
        Ok(HostPages {
            address,
            octets,
            pinned: pins.then_some(*memory),
        })
    }
}

impl Drop for HostPages {
    fn drop(&mut self) {
        let given_back = self
            .pinned
            .is_none_or(|memory| memory.driver.unpin(self.address));
        // A device that may touch it still would write into what lies there next.
        if given_back {
            // SAFETY: mapped with this length, and given back once.
            unsafe { libc::munmap(self.address as *mut libc::c_void, self.octets) };
        }
    }
}
