//! The runtime over one MPI: compiled once for each, opened by the front.
#![allow(unsafe_code)] // it is called from C and calls MPI

mod mpi;

use self::mpi::{Find, mpi};
use ::mpi::ffi::{MPI_Comm, MPI_Datatype};
use std::ffi::{c_char, c_int, c_void};

/// Opens the backend; gives null, or why it cannot serve.
///
/// # Safety
/// `find` must give the symbols of the MPI library this backend was compiled for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_open(find: Find) -> *const c_char {
    // SAFETY: passed on to the caller.
    if unsafe { mpi::open(find) } { std::ptr::null() } else { c"the MPI library lacks a function it needs".as_ptr() }
}

/// `MPI_Alltoall`.
///
/// # Safety
/// As the MPI standard says of its arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_alltoall(
    send: *const c_void,
    send_count: c_int,
    send_type: MPI_Datatype,
    receive: *mut c_void,
    receive_count: c_int,
    receive_type: MPI_Datatype,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: passed on to the caller.
    unsafe { (mpi().call.Alltoall)(send, send_count, send_type, receive, receive_count, receive_type, comm) }
}

/// `MPI_Allgather`.
///
/// # Safety
/// As the MPI standard says of its arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_allgather(
    send: *const c_void,
    send_count: c_int,
    send_type: MPI_Datatype,
    receive: *mut c_void,
    receive_count: c_int,
    receive_type: MPI_Datatype,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: passed on to the caller.
    unsafe { (mpi().call.Allgather)(send, send_count, send_type, receive, receive_count, receive_type, comm) }
}
