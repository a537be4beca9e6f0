//! The runtime over one MPI: compiled once for each, opened by the front.
//!
//! | module | one idea |
//! |---|---|
//! | [`mpi`] | the library's functions and handles |
//! | [`entries`] | what the front calls |
//! | [`call`] | one call of the application, block by block |
//! | [`private`] | a communicator of the runtime's own |
//! | [`meeting`] | whether all members have the runtime |
//! | [`members`] | which member belongs to which communicator |
//! | [`member`] | what a process knows of a communicator, and the agreements |
//! | [`head`] | what rank 0 does beside |
//! | [`aapc`], [`lg`], [`ring`] | the collectives themselves |
//! | [`octets`] | blocks as octets, whatever their datatypes are |
//! | [`wires`] | the same over the runtime's own TCP connections |
//!
//! Every choice is made from what is the same on all ranks and is made before the first message; after it there is no
//! way back to the library's own routine.
#![allow(unsafe_code)] // it is called from C and calls MPI

mod aapc;
mod call;
mod entries;
mod head;
mod lg;
mod meeting;
mod member;
mod members;
mod mpi;
mod octets;
mod private;
mod ring;
mod wires;

use self::call::Call;
use self::mpi::{Find, mpi};
use runtime::watch;
use std::cell::Cell;
use std::ffi::{c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// Switched off: every call passes to the library.
static OFF: AtomicBool = AtomicBool::new(false);

/// Opens the backend; gives null, or why it cannot serve. Switched `off`, it serves nothing: a library without large counts is then
/// only called by the forms it has.
///
/// # Safety
/// `function` and `object` must give those of the MPI library this backend was compiled for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_open(function: Find, object: Find, off: c_int) -> *const c_char {
    OFF.store(off != 0, Ordering::Relaxed);
    // SAFETY: passed on to the caller.
    if unsafe { mpi::open(function, object) } { std::ptr::null() } else { c"the MPI library lacks a function heddle needs".as_ptr() }
}

thread_local! {
    /// Whether this thread is in a collective already: an MPI library may call its own public functions.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// # Safety
/// As the MPI standard says of the call's arguments.
pub(crate) unsafe fn serve(call: &Call) -> c_int {
    if INSIDE.replace(true) {
        // SAFETY: passed on to the caller.
        return unsafe { call.native() };
    }
    // SAFETY: passed on to the caller.
    let code = unsafe { outermost(call) };
    INSIDE.set(false);
    code
}

/// # Safety
/// As the MPI standard says of the call's arguments.
unsafe fn outermost(call: &Call) -> c_int {
    let passes = OFF.load(Ordering::Relaxed) || call.comm == mpi().handle.comm_null || members::known_to_pass_through(call.comm);
    // SAFETY: passed on to the caller.
    let Some(amount) = (if passes { None } else { unsafe { call.amount() } }) else {
        // SAFETY: passed on to the caller.
        return unsafe { call.native() };
    };
    guarded("a collective", || {
        let served = members::of(call).and_then(|member| match member {
            // SAFETY: passed on to the caller.
            Some(mut member) => unsafe { member.serve(call, amount) },
            None => {
                watch::goes_on();
                // SAFETY: passed on to the caller.
                Ok(unsafe { call.native() })
            }
        });
        watch::goes_on();
        // The library's own routine has told the error handler already; what failed on the runtime's
        // communicator is told here.
        served.unwrap_or_else(|failed| {
            // SAFETY: the application's communicator and a code of the library.
            unsafe { (mpi().call.Comm_call_errhandler)(call.comm, failed.0) };
            failed.0
        })
    })
}

/// Runs `what`; a panic must not reach C, and after it the other ranks wait for messages that never come: the
/// job ends, with a message.
pub(crate) fn guarded(what: &str, run: impl FnOnce() -> c_int) -> c_int {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        runtime::say::line(&format!("bug in {what} (see above); the job cannot go on. HEDDLE=off runs it without heddle"));
        // SAFETY: ends every process of the job.
        unsafe { (mpi().call.Abort)(mpi().handle.comm_self, 70) };
        std::process::abort()
    })
}
