//! The runtime over one MPI: compiled once for each, opened by the front.
//!
//! | module | one idea |
//! |---|---|
//! | [`abi`], [`mpi`], [`mpi_result`] | the library's types, its functions and handles, its codes |
//! | [`library_check`] | what the library answers, against what is compiled in |
//! | [`entries`], [`reduction_entries`] | the functions that the front calls |
//! | [`call`], [`call_amount`], [`elements`], [`datatype`] | one call of the application, its blocks and datatypes |
//! | [`error_handlers`] | heddle's own errors never reach the application's handlers, nor its panics C |
//! | [`communicators`] | the state of each communicator, once its calls are worth it |
//! | [`passing`] | the calls that never come here |
//! | [`presences`] | whether all members have published the same heddle, before they meet |
//! | [`member_check`] | whether all members come, and what they know in common |
//! | [`world_ranks`], [`process_set`], [`registry`] | members, and the epoch that the same ones follow together |
//! | [`root_rank`], [`shared_recorder`] | the tasks of rank 0 alone |
//! | [`set_trace`] | what this rank did when, for `HEDDLE_TRACE` |
//! | [`call_comm`] | agreements among the ranks of a call |
//! | [`length_forecasts`] | sizes of calls whose lengths each rank knows in part |
//! | [`private_comm`], [`requests`] | messages on a communicator of the runtime's own |
//! | [`pending_collective`] | agreements that are under way from one call to the next |
//! | [`point_to_point`], [`bundles`] | parts of schedules over MPI's messages, of a block or of several |
//! | [`octets`] | blocks as octets, whatever their datatypes are |
//! | [`mesh_state`], [`mesh_members`], [`mesh_ways`] | the same over the runtime's own TCP connections, and their ways |
//! | [`relayed`], [`reduce_op`] | reductions and broadcasts along the ring |
//! | [`relayed_by_leaders`], [`gathered_by_leaders`] | the same, and small allgathers, where hosts have several ranks |
//! | [`device`] | buffers in the memory of a GPU |
//! | [`aligned_room`] | memory in which elements of any datatype may lie |
//! | [`location`] | where this library lies |
//!
//! Every choice is made from what is the same on all ranks and is made before the first message;
//! after it there is no way back to the library's own routine.
#![allow(unsafe_code)] // it is called from C and calls MPI

mod abi;
mod aligned_room;
mod bundles;
mod call;
mod call_amount;
mod call_comm;
mod communicators;
mod datatype;
mod device;
mod elements;
mod entries;
mod error_handlers;
mod gathered_by_leaders;
mod length_forecasts;
mod library_check;
mod location;
mod lost_messages;
mod meeting;
mod member_check;
mod mesh_members;
mod mesh_state;
mod mesh_ways;
mod mpi;
mod mpi_result;
mod octets;
mod passing;
mod pending_collective;
mod point_to_point;
mod presences;
mod private_comm;
mod process_set;
mod reduce_op;
mod reduction_entries;
mod registry;
mod relayed;
mod relayed_by_leaders;
mod requests;
mod root_rank;
mod set_learning;
mod set_trace;
mod set_watch;
mod shared_recorder;
mod world_ranks;

use self::abi::MPI_Comm;
use self::call::CollectiveCall;
use self::error_handlers::guarded;
use self::mpi::{SymbolFinder, mpi};
use self::mpi_result::{MpiErrorCode, MpiResult};
use self::presences::PresenceReader;
use runtime::{stderr, watchdog};
use std::cell::Cell;
use std::ffi::{CString, c_char, c_int};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Switched off: every call passes to the library.
static OFF: AtomicBool = AtomicBool::new(false);

/// Opens the backend; `read` gives what other ranks published beside MPI. Gives null, or why it cannot serve. Switched `off`, it serves nothing: a
/// library without large counts is then only called by the forms it has.
///
/// # Safety
/// `function` and `object` must give those of the MPI library this backend was compiled for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_open(
    function: SymbolFinder,
    object: SymbolFinder,
    read: PresenceReader,
    off: c_int,
) -> *const c_char {
    OFF.store(off != 0, Ordering::Relaxed);
    presences::open(read);
    // SAFETY: passed on to the caller.
    match unsafe { mpi::open(function, object) } {
        Ok(()) => std::ptr::null(),
        // The front reads it whenever it likes.
        Err(problem) => CString::new(problem).unwrap_or_default().into_raw(),
    }
}

/// The build of this backend: the front opens no other than its own.
#[unsafe(no_mangle)]
extern "C" fn heddle_build() -> *const c_char {
    static BUILD: LazyLock<CString> =
        LazyLock::new(|| CString::new(presence::BUILD).unwrap_or_default());
    BUILD.as_ptr()
}

thread_local! {
    /// True if this thread is in a collective already: an MPI library may call its own public
    /// functions.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// # Safety
/// As the MPI standard says of the call's arguments.
pub(crate) unsafe fn serve(call: &CollectiveCall) -> c_int {
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
unsafe fn outermost(call: &CollectiveCall) -> c_int {
    let passes = communicators::known_to_pass_through(call.comm);
    if passes {
        passing::pass(call.comm);
    }
    if passes
        || OFF.load(Ordering::Relaxed)
        || call.comm == mpi().handle.comm_null
        || is_without_world(call.comm)
        || !library_check::passed()
    {
        // SAFETY: passed on to the caller.
        return unsafe { call.native() };
    }
    guarded("a collective", || {
        let state = match communicators::state_of(call.comm) {
            Ok(state) => state,
            // The library has called the error handler.
            Err(MpiErrorCode(code)) => return code,
        };
        // SAFETY: passed on to the caller.
        let served = unsafe { through(call, state) };
        watchdog::end_wait();
        // The library's own routine has called the error handler already; what failed in heddle's own
        // calls is reported here.
        served.unwrap_or_else(|failed| {
            // SAFETY: the application's communicator and a code of the library.
            unsafe { (mpi().call.Comm_call_errhandler)(call.comm, failed.0) };
            failed.0
        })
    })
}

/// True on a communicator of a session before MPI_Init or after MPI_Finalize: heddle's state is an
/// attribute of MPI_COMM_SELF.
fn is_without_world(comm: MPI_Comm) -> bool {
    if mpi().has_world() {
        return false;
    }
    let mut rank = 0;
    // SAFETY: a communicator of the application and a place for the result.
    unsafe { (mpi().call.Comm_rank)(comm, &mut rank) };
    if rank == 0 {
        stderr::write_line_once(
            "a communicator of a session, without MPI_Init; the MPI library's own routines run",
        );
    }
    true
}

/// # Safety
/// As the MPI standard says of the call's arguments.
unsafe fn through(call: &CollectiveCall, state: &communicators::CommState) -> MpiResult<c_int> {
    let within = state.within(call.comm);
    let amount = if state.passes_through() {
        None
    } else {
        // SAFETY: passed on to the caller.
        unsafe { call.amount(within.size as usize) }
    };
    let set = amount.map_or(Ok(None), |amount| state.process_set(call, amount))?;
    match (set, amount) {
        // SAFETY: passed on to the caller.
        (Some(set), Some(amount)) => unsafe {
            registry::pass_kinds_of(&set);
            process_set::lock(&set).serve(call, &within, amount)
        },
        _ => {
            watchdog::end_wait();
            // SAFETY: passed on to the caller.
            Ok(unsafe { call.native() })
        }
    }
}
