//! NVIDIA's driver, `libcuda.so.1`: the functions and numbers of the *CUDA Driver API*.
//!
//! Copies go through the stream of this thread. It waits for what the program has put into the
//! default stream, as copies that the program makes itself do, and for no other stream: a kernel that
//! runs beside the call is not waited for.
use super::driver::{DeviceCopy, DeviceDriver, DevicePlace, DriverError};
use super::library::{DriverLibrary, MissingFunction};
use std::ffi::{c_int, c_uint, c_void};
use std::ptr::null_mut;

/// `CU_POINTER_ATTRIBUTE_CONTEXT`, `..._MEMORY_TYPE`, `..._IS_MANAGED`, `..._DEVICE_ORDINAL`
const ATTRIBUTES: [c_int; 4] = [1, 2, 8, 9];
/// `CU_MEMORYTYPE_DEVICE`
const DEVICE_MEMORY: c_uint = 2;
/// `CU_STREAM_PER_THREAD`
const STREAM_OF_THREAD: *mut c_void = 2 as *mut c_void;
/// `CU_MEMHOSTREGISTER_PORTABLE`
const FOR_ALL_CONTEXTS: c_uint = 1;
/// `CUDA_ERROR_NOT_INITIALIZED`, `CUDA_ERROR_DEINITIALIZED`: nobody has memory on a device.
const NOT_IN_USE: [c_int; 2] = [3, 4];
/// `CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED`
const NOT_PINNED: c_int = 713;

/// A `CUdeviceptr`
type DeviceAddress = u64;
/// A `CUcontext`
type Context = *mut c_void;

/// The driver's functions, by their names without `cu`.
pub(crate) struct CudaDriver {
    pointer_get_attributes:
        unsafe extern "C" fn(c_uint, *const c_int, *mut *mut c_void, DeviceAddress) -> c_int,
    ctx_get_current: unsafe extern "C" fn(*mut Context) -> c_int,
    ctx_push_current: unsafe extern "C" fn(Context) -> c_int,
    ctx_pop_current: unsafe extern "C" fn(*mut Context) -> c_int,
    device_primary_ctx_retain: Option<unsafe extern "C" fn(*mut Context, c_int) -> c_int>,
    memcpy_async: unsafe extern "C" fn(DeviceAddress, DeviceAddress, usize, *mut c_void) -> c_int,
    stream_synchronize: unsafe extern "C" fn(*mut c_void) -> c_int,
    mem_host_register: unsafe extern "C" fn(*mut c_void, usize, c_uint) -> c_int,
    mem_host_unregister: unsafe extern "C" fn(*mut c_void) -> c_int,
}

impl CudaDriver {
    /// Finds the driver's functions.
    pub(crate) fn open(library: DriverLibrary) -> Result<Box<dyn DeviceDriver>, MissingFunction> {
        // SAFETY: the driver's interface gives these functions these signatures.
        unsafe {
            Ok(Box::new(CudaDriver {
                pointer_get_attributes: library.function(c"cuPointerGetAttributes")?,
                ctx_get_current: library.function(c"cuCtxGetCurrent")?,
                ctx_push_current: library.function(c"cuCtxPushCurrent_v2")?,
                ctx_pop_current: library.function(c"cuCtxPopCurrent_v2")?,
                device_primary_ctx_retain: library.function(c"cuDevicePrimaryCtxRetain").ok(),
                memcpy_async: library.function(c"cuMemcpyAsync")?,
                stream_synchronize: library.function(c"cuStreamSynchronize")?,
                mem_host_register: library.function(c"cuMemHostRegister_v2")?,
                mem_host_unregister: library.function(c"cuMemHostUnregister")?,
            }))
        }
    }

    /// The context that copies of memory of this place need: its own, or where it belongs to none
    /// (that of a pool) this thread's, or its device's.
    fn context(&self, place: DevicePlace) -> Result<Context, DriverError> {
        if place.context != 0 {
            return Ok(place.context as Context);
        }
        let mut context = null_mut();
        // SAFETY: a place for the result.
        let code = unsafe { (self.ctx_get_current)(&mut context) };
        DriverError::check("cuCtxGetCurrent", code)?;
        if context.is_null()
            && let Some(retain) = self.device_primary_ctx_retain
        {
            // It is never given back: it lives until the process ends, as under the CUDA runtime.
            // SAFETY: a place for the result.
            let code = unsafe { retain(&mut context, place.device) };
            DriverError::check("cuDevicePrimaryCtxRetain", code)?;
        }
        Ok(context)
    }

    /// Runs this with the place's context as the thread's.
    fn within(
        &self,
        place: DevicePlace,
        run: impl FnOnce() -> Result<(), DriverError>,
    ) -> Result<(), DriverError> {
        let mut context = self.context(place)?;
        // SAFETY: a context of the driver.
        DriverError::check("cuCtxPushCurrent", unsafe {
            (self.ctx_push_current)(context)
        })?;
        let outcome = run();
        // SAFETY: takes back what was pushed.
        let code = unsafe { (self.ctx_pop_current)(&mut context) };
        outcome.and(DriverError::check("cuCtxPopCurrent", code))
    }
}

impl DeviceDriver for CudaDriver {
    fn place(&self, address: usize) -> Result<Option<DevicePlace>, DriverError> {
        let mut context: Context = null_mut();
        let (mut memory, mut managed, mut device): (c_uint, c_uint, c_int) = (0, 0, 0);
        let mut results: [*mut c_void; 4] = [
            (&raw mut context).cast(),
            (&raw mut memory).cast(),
            (&raw mut managed).cast(),
            (&raw mut device).cast(),
        ];
        // SAFETY: a place for each result, as wide as the driver's interface says; of memory that
        // it does not know the driver says so.
        let code = unsafe {
            (self.pointer_get_attributes)(
                ATTRIBUTES.len() as c_uint,
                ATTRIBUTES.as_ptr(),
                results.as_mut_ptr(),
                address as DeviceAddress,
            )
        };
        if NOT_IN_USE.contains(&code) {
            return Ok(None);
        }
        DriverError::check("cuPointerGetAttributes", code)?;
        let context = context as usize;
        Ok((memory == DEVICE_MEMORY && managed == 0).then_some(DevicePlace { context, device }))
    }

    unsafe fn copy(&self, place: DevicePlace, copies: &[DeviceCopy]) -> Result<(), DriverError> {
        self.within(place, || {
            let begun = copies.iter().try_for_each(|copy| {
                let (to, from) = (copy.to as DeviceAddress, copy.from as DeviceAddress);
                // SAFETY: passed on to the caller; all is awaited below.
                let code = unsafe { (self.memcpy_async)(to, from, copy.octets, STREAM_OF_THREAD) };
                DriverError::check("cuMemcpyAsync", code)
            });
            // SAFETY: the stream that each thread has.
            let code = unsafe { (self.stream_synchronize)(STREAM_OF_THREAD) };
            begun.and(DriverError::check("cuStreamSynchronize", code))
        })
    }

    fn pin(&self, place: DevicePlace, address: usize, octets: usize) -> Result<(), DriverError> {
        self.within(place, || {
            // SAFETY: only keeps the memory where it is.
            let code = unsafe {
                (self.mem_host_register)(address as *mut c_void, octets, FOR_ALL_CONTEXTS)
            };
            DriverError::check("cuMemHostRegister", code)
        })
    }

    fn unpin(&self, address: usize) -> bool {
        // SAFETY: memory that was pinned; if a context took it back, the driver says so.
        let code = unsafe { (self.mem_host_unregister)(address as *mut c_void) };
        code == 0 || code == NOT_PINNED
    }
}
