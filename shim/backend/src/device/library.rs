//! The functions of a driver's library.
use std::ffi::{CStr, c_void};

/// A library that this process has loaded, and which stays loaded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DriverLibrary {
    handle: *mut c_void,
}

/// The name of a function that a driver's library lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MissingFunction(pub(crate) &'static CStr);

impl DriverLibrary {
    /// The library that is loaded from the file of this name; `None` if none is. Loads nothing.
    pub(crate) fn loaded(file: &CStr) -> Option<DriverLibrary> {
        // SAFETY: NOLOAD opens nothing that is not there already. The handle is never closed, so
        // the functions stay where they are.
        let handle = unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) };
        (!handle.is_null()).then_some(DriverLibrary { handle })
    }

    /// The function of this name.
    ///
    /// # Safety
    /// `F` must be the type of the function.
    pub(crate) unsafe fn function<F: Copy>(
        &self,
        name: &'static CStr,
    ) -> Result<F, MissingFunction> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        // SAFETY: an open handle and a C string.
        let found = unsafe { libc::dlsym(self.handle, name.as_ptr()) };
        if found.is_null() {
            return Err(MissingFunction(name));
        }
        // SAFETY: passed on to the caller; as wide as an address.
        Ok(unsafe { std::mem::transmute_copy(&found) })
    }
}
