//! The functions of a driver that heddle needs.
use std::ffi::c_int;

/// Where in a driver's world some memory lies: what the driver has to know to copy it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DevicePlace {
    /// The address of the driver's context; 0 if it has none.
    pub(crate) context: usize,
    /// The device's number in this process.
    pub(crate) device: c_int,
}

/// So many octets, from one address to another. One of the two lies on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeviceCopy {
    pub(crate) to: usize,
    pub(crate) from: usize,
    pub(crate) octets: usize,
}

/// A function of the driver that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DriverError {
    pub(crate) function: &'static str,
    pub(crate) code: c_int,
}

impl DriverError {
    /// The result of a function: in every driver 0 is success.
    pub(crate) fn check(function: &'static str, code: c_int) -> Result<(), DriverError> {
        if code == 0 {
            Ok(())
        } else {
            Err(DriverError { function, code })
        }
    }
}

/// A driver that the process has loaded.
pub(crate) trait DeviceDriver: Send + Sync {
    /// The place of memory that the host cannot touch. `None` for all other memory: the host's own,
    /// also where devices may touch it, and managed memory, which moves to whoever touches it.
    fn place(&self, address: usize) -> Result<Option<DevicePlace>, DriverError>;

    /// Copies, to or from memory of this place, and waits for the copies. When it returns no copy
    /// is under way, even if some failed.
    ///
    /// # Safety
    /// So many octets must lie at the addresses, and nobody else may touch them in the meantime.
    unsafe fn copy(&self, place: DevicePlace, copies: &[DeviceCopy]) -> Result<(), DriverError>;

    /// Keeps memory of the host where it is, so that devices read and write it themselves: copies
    /// are faster then. It may refuse.
    fn pin(&self, place: DevicePlace, address: usize, octets: usize) -> Result<(), DriverError>;

    /// Takes that back; false if the devices may touch the memory still.
    fn unpin(&self, address: usize) -> bool;
}
