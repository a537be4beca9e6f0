//! The MPI library's own routines, past whatever is preloaded before it.
#![allow(unsafe_code)] // it looks functions up and calls MPI

use mpi::ffi::{MPI_Comm, MPI_Datatype};
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;
use std::ffi::{CStr, c_int, c_void};

type CollectiveFunction = unsafe extern "C" fn(
    *const c_void,
    c_int,
    MPI_Datatype,
    *mut c_void,
    c_int,
    MPI_Datatype,
    MPI_Comm,
) -> c_int;

/// Addresses inside the library.
#[derive(Clone, Copy)]
pub(crate) struct LibraryRoutines {
    alltoall: CollectiveFunction,
    allgather: CollectiveFunction,
}

impl LibraryRoutines {
    /// Looks them up in the file that this process has `MPI_Wtime` of, which nothing wraps.
    pub(crate) fn find() -> Option<LibraryRoutines> {
        // SAFETY: a function's address and a place for the answer, which is plain data.
        let file = unsafe {
            let mut found: libc::Dl_info = std::mem::zeroed();
            let known = libc::dladdr(mpi::ffi::MPI_Wtime as *const c_void, &mut found);
            if known == 0 || found.dli_fname.is_null() {
                return None;
            }
            CStr::from_ptr(found.dli_fname)
        };
        // SAFETY: the library is there already; it is only asked for.
        let library = unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
        let function = |name: &CStr| {
            // SAFETY: a handle and a name.
            let found = Some(unsafe { libc::dlsym(library, name.as_ptr()) })
                .filter(|found| !found.is_null())?;
            // SAFETY: the MPI standard gives both functions this signature.
            Some(unsafe { std::mem::transmute::<*mut c_void, CollectiveFunction>(found) })
        };
        if library.is_null() {
            return None;
        }
        Some(LibraryRoutines {
            alltoall: function(c"PMPI_Alltoall")?,
            allgather: function(c"PMPI_Allgather")?,
        })
    }

    /// As [`CommunicatorCollectives::all_to_all_into`], of octets.
    pub(crate) fn all_to_all(&self, world: &SimpleCommunicator, send: &[u8], receive: &mut [u8]) {
        let block = send.len() / world.size() as usize;
        // SAFETY: both buffers have a block for each rank.
        unsafe { self.call(self.alltoall, world, send, receive, block) }
    }

    /// As [`CommunicatorCollectives::all_gather_into`], of octets.
    pub(crate) fn all_gather(&self, world: &SimpleCommunicator, send: &[u8], receive: &mut [u8]) {
        // SAFETY: one block to send, and room for one of each rank.
        unsafe { self.call(self.allgather, world, send, receive, send.len()) }
    }

    /// # Safety
    /// Buffers must hold as many blocks as `collective` asks for.
    unsafe fn call(
        &self,
        collective: CollectiveFunction,
        world: &SimpleCommunicator,
        send: &[u8],
        receive: &mut [u8],
        block: usize,
    ) {
        let (octets, count) = (u8::equivalent_datatype().as_raw(), block as c_int);
        // SAFETY: passed on to the caller. A failure ends the job: MPI_COMM_WORLD's error handler
        // is the usual one.
        unsafe {
            collective(
                send.as_ptr().cast(),
                count,
                octets,
                receive.as_mut_ptr().cast(),
                count,
                octets,
                world.as_raw(),
            )
        };
    }
}
