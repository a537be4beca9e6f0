//! Which binary interface the MPI library of the process has, and so which backend is for it.
//!
//! That is told by what the library is, by its symbols. Its version text is a name: Intel MPI, MVAPICH, Cray MPICH and ParaStation MPI have the interface of
//! MPICH. What a library answers about its handles and sizes is asked later, by the backend: most of
//! it may not be asked before MPI_Init.
use crate::interface_symbols::{OF_EVERY_LIBRARY, STANDARD_VERSION, backend_for_own};
use crate::loaded_objects::{find, loaded_libraries};
use crate::mapped_file::file_of;
use libc::{c_int, c_void};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The name of the backend for this process's library, or why there is none.
pub(crate) fn backend_for(version: &str) -> Result<&'static str, String> {
    let version = version.lines().next().unwrap_or(version).trim();
    let files = library_files();
    if files.len() > 1 {
        let files: Vec<String> = files
            .iter()
            .map(|file| file.display().to_string())
            .collect();
        return Err(format!(
            "this process has two MPI libraries: {}",
            files.join(" and ")
        ));
    }
    if has_standard_abi() {
        return Ok("abi");
    }
    backend_for_own(|symbol| find(symbol).is_some())
        .ok_or_else(|| format!("\"{version}\": heddle has no backend for this MPI library"))
}

/// The files that have MPI's functions.
fn library_files() -> BTreeSet<PathBuf> {
    let local = loaded_libraries(b"libmpi", OF_EVERY_LIBRARY).into_iter();
    let functions = local
        .map(|(_, function)| function)
        .chain(find(OF_EVERY_LIBRARY));
    functions.filter_map(|f| file_of(f)).collect()
}

/// Whether the library has the handles of the MPI standard's own ABI (MPI-5.0, Application Binary
/// Interface) and not its own. One and the same library comes in both
/// forms. May be asked before initialization, and gives -1 where it has its own.
fn has_standard_abi() -> bool {
    type AbiVersionFunction = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
    find(STANDARD_VERSION).is_some_and(|found: *mut c_void| {
        // SAFETY: the MPI standard gives this signature.
        let get: AbiVersionFunction = unsafe { std::mem::transmute(found) };
        let (mut major, mut minor) = (-1, -1);
        // SAFETY: places for the results.
        let code = unsafe { get(&mut major, &mut minor) };
        code == 0 && major >= 0
    })
}
