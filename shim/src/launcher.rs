//! The job's launcher, beside MPI: this rank hands it what its heddle is, and reads what others
//! handed it. No rank waits for another in this: the MPI library waits for all of them in MPI_Init,
//! after each has published or not.
//!
//! | module | one idea |
//! |---|---|
//! | [`pmix`] | launchers that speak PMIx: those of Open MPI, and Slurm |
//! | [`pmi`] | launchers that speak PMI-1 or PMI-2 over a socket: Hydra, and Slurm |
//! | [`pmi_relay`] | what this rank says among the lines of the MPI library |
mod pmi;
mod pmi_relay;
mod pmix;

use crate::loaded_objects::find;
use crate::served_library;
use pmi::Pmi;
use pmi_relay::PmiRelay;
use pmix::Pmix;
use presence::difference::Published;
use presence::{Presence, text};
use std::ffi::{CStr, c_char, c_int};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The interface by which this rank has published its presence.
enum Interface {
    Pmix(Pmix),
    Pmi(Pmi),
}

static INTERFACE: OnceLock<Interface> = OnceLock::new();

/// The function that the front gives a backend: what the launcher has of a rank of MPI_COMM_WORLD.
/// It writes a text without a closing zero and gives its length: a presence, or, from the number
/// -1 - length downwards, the host of a rank that published none. [`UNKNOWN`] if it cannot be known.
pub(crate) type ReadPresence = unsafe extern "C" fn(c_int, *mut c_char, usize) -> c_int;

/// There is no launcher that knows.
const UNKNOWN: c_int = c_int::MIN;

/// The text that this rank publishes; `None` in a process without MPI.
fn own_text() -> Option<String> {
    find(c"PMPI_Get_library_version")?;
    let presence = Presence::here(served_library().ability, &host_name(), |name| {
        std::env::var(name).ok()
    });
    Some(text::encode(&presence))
}

fn host_name() -> String {
    let mut name = [0u8; 256];
    // SAFETY: a buffer of this length, whose last octet stays zero.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Begins MPI by `begin`; where the launcher speaks PMI, this rank publishes meanwhile.
pub(crate) fn publish_during(begin: impl FnOnce() -> c_int) -> c_int {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    // The library and profilers begin MPI by further names from within the first.
    if BEGUN.swap(true, Ordering::Relaxed) {
        return begin();
    }
    let relay = PmiRelay::begin(own_text);
    let code = begin();
    if let Some(pmi) = relay.and_then(PmiRelay::end) {
        if threads_may_call_at_once() {
            pmi.read_all();
        }
        // Nobody else sets it: PMI and PMIx are never the launchers of one process.
        let _ = INTERFACE.set(Interface::Pmi(pmi));
    }
    code
}

/// True unless MPI says that one thread calls it at a time. Its levels are 0 to 3 in MPICH, and
/// multiples of 1,024 in the standard's own binary interface (MPI-5.0, section 20.2).
fn threads_may_call_at_once() -> bool {
    type QueryThread = unsafe extern "C" fn(*mut c_int) -> c_int;
    let Some(found) = find(c"PMPI_Query_thread") else {
        return true;
    };
    let mut level = -1;
    // SAFETY: the MPI standard gives this signature.
    let query: QueryThread = unsafe { std::mem::transmute(found) };
    // SAFETY: a place for the result. Any thread may ask at any time.
    unsafe { query(&mut level) };
    !matches!(level, 0..=2 | 1024 | 2048)
}

/// See [`ReadPresence`].
///
/// # Safety
/// `to` must have `room` octets.
pub(crate) unsafe extern "C" fn read_presence(rank: c_int, to: *mut c_char, room: usize) -> c_int {
    let published = u32::try_from(rank)
        .ok()
        .and_then(|rank| match INTERFACE.get()? {
            Interface::Pmix(pmix) => pmix.read(rank),
            Interface::Pmi(pmi) => pmi.read(rank),
        });
    let (text, is_host) = match published {
        None => return UNKNOWN,
        Some(Published::Text(text)) => (text, false),
        Some(Published::Nothing(host)) => (host.unwrap_or_default(), true),
    };
    let length = text.len().min(room).min(text::LONGEST + 1);
    // SAFETY: passed on to the caller.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), to.cast(), length) };
    let length = length as c_int;
    if is_host { -1 - length } else { length }
}
