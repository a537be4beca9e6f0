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
//! | [`here`] | what a calling thread knows |
//! | [`member`] | what a process knows of a communicator, and the agreements |
//! | [`streak`] | like calls that go the library's own way |
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
mod here;
mod lg;
mod meeting;
mod member;
mod members;
mod mpi;
mod octets;
mod private;
mod ring;
mod streak;
mod wires;

use self::call::Call;
use self::here::here;
use self::members::Last;
use self::mpi::{Find, mpi};
use runtime::watch;
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

/// Carries a call out. It and all that a streak of calls needs is part of each entry, and so of one page of memory: in a small call each page
/// counts.
///
/// # Safety
/// As the MPI standard says of the call's arguments.
#[inline(always)]
pub(crate) unsafe fn serve(call: &Call) -> c_int {
    let here = here();
    if OFF.load(Ordering::Relaxed) || here.inside.replace(true) {
        // SAFETY: passed on to the caller.
        return unsafe { call.native() };
    }
    // SAFETY: passed on to the caller.
    let code = unsafe { outermost(call, &here.last) };
    here.inside.set(false);
    code
}

/// # Safety
/// As the MPI standard says of the call's arguments.
#[inline(always)]
unsafe fn outermost(call: &Call, last: &Last) -> c_int {
    // Asked first of all: such calls may take less than a microsecond.
    let passes = match last.seat(call.comm) {
        Some(None) => true,
        Some(Some(member)) => members::lock(member).is_in_a_streak(call),
        None => call.comm == mpi().handle.comm_null,
    };
    // SAFETY: passed on to the caller.
    if passes { unsafe { call.native() } } else { unsafe { looked_into(call, last) } }
}

/// # Safety
/// As the MPI standard says of the call's arguments.
#[inline(never)]
unsafe fn looked_into(call: &Call, last: &Last) -> c_int {
    // SAFETY: passed on to the caller.
    let Some(amount) = (unsafe { call.amount() }) else {
        // SAFETY: passed on to the caller.
        return unsafe { call.native() };
    };
    guarded("a collective", || {
        let served = members::of(call, last).and_then(|member| match member {
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
