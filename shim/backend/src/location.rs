//! The directory of this library, and the files in it.
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A file in the directory this library was loaded from.
pub(crate) fn beside_this_library(name: &str) -> PathBuf {
    // SAFETY: an all-zero Dl_info is a valid value; dladdr fills it for an address of this library.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    let found = unsafe {
        libc::dladdr(
            (beside_this_library as fn(&str) -> PathBuf as *const ()).cast(),
            &mut info,
        )
    };
    if found == 0 || info.dli_fname.is_null() {
        return PathBuf::from(name);
    }
    // SAFETY: dladdr succeeded, so the name is a C string.
    let this = Path::new(OsStr::from_bytes(
        unsafe { CStr::from_ptr(info.dli_fname) }.to_bytes(),
    ));
    this.with_file_name(name)
}
