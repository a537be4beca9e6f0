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
    pub(crate) fn reserve(&mut self, octets: usize, memory: &DeviceMemory) -> MpiResult<usize> {
        let pages = match self.0.take().filter(|pages| pages.octets >= octets) {
            Some(pages) => pages,
            None => HostPages::map(octets, memory)?,
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
    fn map(octets: usize, memory: &DeviceMemory) -> MpiResult<HostPages> {
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
        // Memory that is not pinned is copied as well, if slower.
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

#[cfg(test)]
mod tests {
    use super::super::driver::{DeviceCopy, DeviceDriver, DevicePlace, DriverError};
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Pins and copies nothing, but counts what it should have pinned.
    struct CountingDriver {
        pinned: AtomicUsize,
        gives_back: bool,
    }

    impl DeviceDriver for CountingDriver {
        fn place(&self, _: usize) -> Result<Option<DevicePlace>, DriverError> {
            Ok(None)
        }

        unsafe fn copy(&self, _: DevicePlace, _: &[DeviceCopy]) -> Result<(), DriverError> {
            Ok(())
        }

        fn pin(&self, _: DevicePlace, _: usize, octets: usize) -> Result<(), DriverError> {
            self.pinned.fetch_add(octets, Ordering::Relaxed);
            Ok(())
        }

        fn unpin(&self, _: usize) -> bool {
            if self.gives_back {
                self.pinned.store(0, Ordering::Relaxed);
            }
            self.gives_back
        }
    }

    fn memory(driver: &'static CountingDriver) -> DeviceMemory {
        DeviceMemory {
            driver,
            place: DevicePlace {
                context: 0,
                device: 0,
            },
        }
    }

    fn write_and_read(address: usize) -> u8 {
        let octet = address as *mut u8;
        // SAFETY: mapped memory of the test's own.
        unsafe {
            octet.write_volatile(7);
            octet.read_volatile()
        }
    }

    #[test]
    fn room_is_pinned_once_and_kept_unless_it_is_large() {
        static DRIVER: CountingDriver = CountingDriver {
            pinned: AtomicUsize::new(0),
            gives_back: true,
        };
        let memory = memory(&DRIVER);
        let mut room = HostRoom::default();
        for octets in [5000, 8192, 1] {
            let address = room.reserve(octets, &memory).expect("memory");
            room.done();
            assert_eq!(write_and_read(address), 7);
            assert_eq!(DRIVER.pinned.load(Ordering::Relaxed), 8192);
        }
        let address = room.reserve(MOST_KEPT + 1, &memory).expect("memory");
        assert_eq!(write_and_read(address), 7);
        assert_eq!(DRIVER.pinned.load(Ordering::Relaxed), 0);
        room.done();
        assert_eq!(format!("{room:?}"), "HostRoom(None)");
    }

    #[test]
    fn memory_that_a_device_may_touch_still_is_never_given_back() {
        static DRIVER: CountingDriver = CountingDriver {
            pinned: AtomicUsize::new(0),
            gives_back: false,
        };
        let mut room = HostRoom::default();
        let address = room.reserve(100, &memory(&DRIVER)).expect("memory");
        drop(room);
        assert_eq!(write_and_read(address), 7);
    }
}
