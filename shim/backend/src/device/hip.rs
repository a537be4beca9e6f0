//! AMD's driver, `libamdhip64.so`: the functions and numbers of the *HIP Runtime API*.
//!
//! As in [`super::cuda`], copies go through the stream of this thread.
use super::driver::{DeviceCopy, DeviceDriver, DevicePlace, DriverError};
use super::library::{DriverLibrary, MissingFunction};
use std::ffi::{c_int, c_uint, c_void};
use std::ptr::null_mut;

/// `hipMemcpyDefault`: the addresses say which way.
const BY_ADDRESS: c_int = 4;
/// `hipStreamPerThread`
const STREAM_OF_THREAD: *mut c_void = 2 as *mut c_void;
/// `hipHostRegisterPortable`
const FOR_ALL_DEVICES: c_uint = 1;
/// `hipErrorInvalidValue`: the address is not one of the driver's. Newer drivers say so without an
/// error.
const NOT_OURS: c_int = 1;
/// `hipErrorNotInitialized`, `hipErrorDeinitialized`, `hipErrorNoDevice`: nobody has memory on a
/// device.
const NOT_IN_USE: [c_int; 3] = [3, 4, 100];
/// `hipErrorHostMemoryNotRegistered`
const NOT_PINNED: c_int = 713;

/// `hipPointerAttribute_t`, with room for what later versions may add.
#[repr(C)]
struct PointerAttributes {
    /// Its numbers differ between versions of the driver.
    memory_type: c_int,
    device: c_int,
    device_pointer: *mut c_void,
    /// Null if the host cannot touch the memory.
    host_pointer: *mut c_void,
    is_managed: c_int,
    allocation_flags: c_uint,
    later: [u64; 8],
}

/// The driver's functions, by their names without `hip`.
pub(crate) struct HipDriver {
    pointer_get_attributes: unsafe extern "C" fn(*mut PointerAttributes, *const c_void) -> c_int,
    peek_at_last_error: unsafe extern "C" fn() -> c_int,
    get_last_error: unsafe extern "C" fn() -> c_int,
    get_device: unsafe extern "C" fn(*mut c_int) -> c_int,
    set_device: unsafe extern "C" fn(c_int) -> c_int,
    memcpy_async:
        unsafe extern "C" fn(*mut c_void, *const c_void, usize, c_int, *mut c_void) -> c_int,
    stream_synchronize: unsafe extern "C" fn(*mut c_void) -> c_int,
    host_register: unsafe extern "C" fn(*mut c_void, usize, c_uint) -> c_int,
    host_unregister: unsafe extern "C" fn(*mut c_void) -> c_int,
}

impl HipDriver {
    /// Finds the driver's functions.
    pub(crate) fn open(library: DriverLibrary) -> Result<Box<dyn DeviceDriver>, MissingFunction> {
        // SAFETY: the driver's interface gives these functions these signatures.
        unsafe {
            Ok(Box::new(HipDriver {
                pointer_get_attributes: library.function(c"hipPointerGetAttributes")?,
                peek_at_last_error: library.function(c"hipPeekAtLastError")?,
                get_last_error: library.function(c"hipGetLastError")?,
                get_device: library.function(c"hipGetDevice")?,
                set_device: library.function(c"hipSetDevice")?,
                memcpy_async: library.function(c"hipMemcpyAsync")?,
                stream_synchronize: library.function(c"hipStreamSynchronize")?,
                host_register: library.function(c"hipHostRegister")?,
                host_unregister: library.function(c"hipHostUnregister")?,
            }))
        }
    }

    /// Runs this, and takes back the error it leaves for the program to find: it is not the
    /// program's.
    fn quietly<T>(&self, run: impl FnOnce() -> T) -> T {
        // SAFETY: only looks.
        let had_one = unsafe { (self.peek_at_last_error)() } != 0;
        let outcome = run();
        if !had_one {
            // SAFETY: forgets the last error, if there is one.
            unsafe { (self.get_last_error)() };
        }
        outcome
    }

    /// Runs this with the place's device as the thread's.
    fn within(
        &self,
        place: DevicePlace,
        run: impl FnOnce() -> Result<(), DriverError>,
    ) -> Result<(), DriverError> {
        self.quietly(|| {
            let mut before = place.device;
            // SAFETY: a place for the result.
            let code = unsafe { (self.get_device)(&mut before) };
            DriverError::check("hipGetDevice", code)?;
            // SAFETY: a device that the driver named.
            let code = unsafe { (self.set_device)(place.device) };
            DriverError::check("hipSetDevice", code)?;
            let outcome = run();
            // SAFETY: as above.
            let code = unsafe { (self.set_device)(before) };
            outcome.and(DriverError::check("hipSetDevice", code))
        })
    }
}

impl DeviceDriver for HipDriver {
    fn place(&self, address: usize) -> Result<Option<DevicePlace>, DriverError> {
        let mut found = PointerAttributes {
            memory_type: 0,
            device: 0,
            device_pointer: null_mut(),
            host_pointer: null_mut(),
            is_managed: 0,
            allocation_flags: 0,
            later: [0; 8],
        };
        // SAFETY: a place for the result; of memory that it does not know the driver says so.
        let code = self.quietly(|| unsafe {
            (self.pointer_get_attributes)(&mut found, address as *const c_void)
        });
        if code == NOT_OURS || NOT_IN_USE.contains(&code) {
            return Ok(None);
        }
        DriverError::check("hipPointerGetAttributes", code)?;
        let is_device = !found.device_pointer.is_null()
            && found.host_pointer.is_null()
            && found.is_managed == 0;
        Ok(is_device.then_some(DevicePlace {
            context: 0,
            device: found.device,
        }))
    }

    unsafe fn copy(&self, place: DevicePlace, copies: &[DeviceCopy]) -> Result<(), DriverError> {
        self.within(place, || {
            let begun = copies.iter().try_for_each(|copy| {
                let (to, from) = (copy.to as *mut c_void, copy.from as *const c_void);
                let stream = STREAM_OF_THREAD;
                // SAFETY: passed on to the caller; all is awaited below.
                let code =
                    unsafe { (self.memcpy_async)(to, from, copy.octets, BY_ADDRESS, stream) };
                DriverError::check("hipMemcpyAsync", code)
            });
            // Copies begun before one failed must not be under way when this returns.
            // SAFETY: the stream that each thread has.
            let code = unsafe { (self.stream_synchronize)(STREAM_OF_THREAD) };
            begun.and(DriverError::check("hipStreamSynchronize", code))
        })
    }

    fn pin(&self, place: DevicePlace, address: usize, octets: usize) -> Result<(), DriverError> {
        self.within(place, || {
            // SAFETY: only keeps the memory where it is.
            let code =
                unsafe { (self.host_register)(address as *mut c_void, octets, FOR_ALL_DEVICES) };
            DriverError::check("hipHostRegister", code)
        })
    }

    fn unpin(&self, address: usize) -> bool {
        // SAFETY: memory that was pinned; if a device took it back, the driver says so.
        let code = self.quietly(|| unsafe { (self.host_unregister)(address as *mut c_void) });
        code == 0 || code == NOT_PINNED
    }
}
