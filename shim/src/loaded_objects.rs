//! The libraries of this process, and where they have their functions.
use crate::interface_symbols::OF_EVERY_LIBRARY;
use crate::mapped_file::file_of;
use libc::{RTLD_LAZY, RTLD_NEXT, RTLD_NOLOAD, c_int, c_void};
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;

/// A function of the MPI library, never this library's own.
pub(crate) fn find(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: a C string; RTLD_NEXT starts behind this library.
    let next = unsafe { libc::dlsym(RTLD_NEXT, name.as_ptr()) };
    let found = if next.is_null() {
        // SAFETY: an open handle and a C string.
        local_library().map(|handle| unsafe { libc::dlsym(handle as *mut c_void, name.as_ptr()) })
    } else {
        Some(next)
    };
    found.filter(|p| !p.is_null())
}

/// The MPI library where it was loaded out of the global scope: Python opens its extension modules,
/// and with them MPI, privately.
static LOCAL: OnceLock<Option<usize>> = OnceLock::new();

fn local_library() -> Option<usize> {
    *LOCAL.get_or_init(|| loaded_library(b"libmpi", OF_EVERY_LIBRARY))
}

/// MPI is begun by a call from this return address. Of several libraries out of the global scope it
/// is the one with which the caller's file is linked.
pub(crate) fn begun_from(caller: usize) {
    LOCAL.get_or_init(|| {
        linked_with(caller).or_else(|| loaded_library(b"libmpi", OF_EVERY_LIBRARY))
    });
}

fn linked_with(caller: usize) -> Option<usize> {
    let opened = |address: *const c_void| {
        let file = CString::new(file_of(address)?.as_os_str().as_bytes()).ok()?;
        // SAFETY: NOLOAD opens nothing that is not there already.
        let handle = unsafe { libc::dlopen(file.as_ptr(), RTLD_NOLOAD | RTLD_LAZY) };
        (!handle.is_null()).then_some(handle)
    };
    let handle = opened(caller as *const c_void)?;
    // SAFETY: an open handle and a C string; the file and what it is linked with are looked through.
    let function = unsafe { libc::dlsym(handle, OF_EVERY_LIBRARY.as_ptr()) };
    // SAFETY: an open handle, which is not needed any more: a file may be closed as without heddle.
    unsafe { libc::dlclose(handle) };
    (!function.is_null()).then_some(())?;
    Some(opened(function)? as usize)
}

/// The handle of a library of this process by the beginning of its file's name and a function that
/// it has, wherever it was loaded.
pub(crate) fn loaded_library(name: &[u8], function: &CStr) -> Option<usize> {
    let first = loaded_libraries(name, function).into_iter().next()?;
    Some(first.0)
}

/// The handles of all such libraries and libraries that need them, and where each finds the function.
pub(crate) fn loaded_libraries(name: &[u8], function: &CStr) -> Vec<(usize, *mut c_void)> {
    let mut files: Vec<CString> = Vec::new();
    // SAFETY: the callback only copies names into `files`, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(collect_file), (&raw mut files).cast()) };
    (files.iter().filter(|file| {
        let last = file.to_bytes().rsplit(|&b| b == b'/').next();
        last.unwrap_or_default().starts_with(name)
    }))
    .filter_map(|file| {
        // SAFETY: NOLOAD opens nothing that is not there already.
        let handle = unsafe { libc::dlopen(file.as_ptr(), RTLD_NOLOAD | RTLD_LAZY) };
        if handle.is_null() {
            return None;
        }
        // SAFETY: an open handle and a C string.
        let found = unsafe { libc::dlsym(handle, function.as_ptr()) };
        (!found.is_null()).then_some((handle as usize, found))
    })
    .collect()
}

unsafe extern "C" fn collect_file(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    files: *mut c_void,
) -> c_int {
    // SAFETY: the loader passes a valid entry and the pointer given to dl_iterate_phdr.
    let (name, files) = unsafe { ((*info).dlpi_name, &mut *files.cast::<Vec<CString>>()) };
    if !name.is_null() {
        // SAFETY: a C string of the loader.
        files.push(unsafe { CStr::from_ptr(name) }.to_owned());
    }
    0
}
