//! What a calling thread knows: whether it is in a collective already, and the communicator it called with last.
//!
//! Where only one thread at a time may call MPI it is the process's: a thread-local of a library that is opened late costs a call of the
//! loader and several cache lines, in each call.
use crate::members::Last;
use crate::mpi::mpi;
use crate::private::check;
use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

/// Of a thread, or of all where they take turns.
pub(crate) struct Here {
    /// Whether it is in a collective: an MPI library may call its own public functions.
    pub(crate) inside: Cell<bool>,
    pub(crate) last: Last,
}

impl Here {
    const fn new() -> Here {
        Here { inside: Cell::new(false), last: Last::none() }
    }
}

struct InTurns(Here);

// SAFETY: used only where the program has promised MPI that its threads take turns, each seeing what the one before did
// (MPI-4.1, section 11.6.2, MPI_THREAD_SERIALIZED and below).
unsafe impl Sync for InTurns {}

static IN_TURNS: InTurns = InTurns(Here::new());
/// MPI_THREAD_MULTIPLE; so until it is known.
static AT_ONCE: AtomicBool = AtomicBool::new(true);

thread_local! {
    static OWN: Here = const { Here::new() };
}

/// Asks MPI, which must be initialized, how threads may call it.
pub(crate) fn ask() {
    let mut level: c_int = 0;
    // SAFETY: a place for the result.
    let known = check(unsafe { (mpi().call.Query_thread)(&mut level) }).is_ok();
    AT_ONCE.store(!known || level >= mpi().thread_multiple, Ordering::Relaxed);
}

/// For use within one call.
#[inline(always)]
pub(crate) fn here<'a>() -> &'a Here {
    if AT_ONCE.load(Ordering::Relaxed) { own() } else { &IN_TURNS.0 }
}

/// Never inlined: the compiler would find the thread-local in each case and then choose.
#[inline(never)]
fn own<'a>() -> &'a Here {
    // SAFETY: it has no destructor, so it is there as long as the thread, and a call never leaves its thread.
    OWN.with(|own| unsafe { &*std::ptr::from_ref(own) })
}
