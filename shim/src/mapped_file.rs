//! The file of the process in which an address lies.
use libc::{c_int, c_void};
use std::ffi::{CStr, OsStr};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// The addresses a file of the process takes: the loader reserves one piece for all its segments.
pub(crate) struct MappedFile(Range<usize>);

impl MappedFile {
    /// The file that holds this function; nothing where the loader knows none.
    pub(crate) fn holding(function: *mut c_void) -> MappedFile {
        let mut search = (function as usize, 0..0);
        // SAFETY: the callback writes only into `search`, which outlives the call.
        unsafe { libc::dl_iterate_phdr(Some(find_segments), (&raw mut search).cast()) };
        MappedFile(search.1)
    }

    pub(crate) fn holds(&self, address: usize) -> bool {
        self.0.contains(&address)
    }
}

unsafe extern "C" fn find_segments(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    search: *mut c_void,
) -> c_int {
    // SAFETY: the loader passes a valid entry and the pointer given to dl_iterate_phdr.
    let (info, (wanted, found)) = unsafe { (&*info, &mut *search.cast::<(usize, Range<usize>)>()) };
    // SAFETY: the loader's entry names so many headers.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let loaded = headers
        .iter()
        .filter(|header| header.p_type == libc::PT_LOAD);
    let segments = loaded.map(|header| {
        let start = info.dlpi_addr as usize + header.p_vaddr as usize;
        start..start + header.p_memsz as usize
    });
    let whole = segments
        .reduce(|a, b| a.start.min(b.start)..a.end.max(b.end))
        .unwrap_or(0..0);
    if whole.contains(wanted) {
        *found = whole;
        return 1;
    }
    0
}

/// The name of the file an address lies in.
pub(crate) fn file_of(address: *const c_void) -> Option<PathBuf> {
    // SAFETY: an all-zero Dl_info is a valid value; dladdr fills it.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    let found = unsafe { libc::dladdr(address, &mut info) };
    if found == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: dladdr succeeded, so the name is a C string.
    Some(OsStr::from_bytes(unsafe { CStr::from_ptr(info.dli_fname) }.to_bytes()).into())
}
