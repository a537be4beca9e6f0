//! Waiting in the place of busy polling.
//!
//! After a few empty polls in a row, `epoll_wait` with timeout zero (MPICH over UCX) and
//! `sched_yield` (Open MPI with `mpi_yield_when_idle`) wait up to a millisecond for the thread's
//! last epoll instance to become ready. The wait reads nothing, so edge-triggered events are not
//! lost. Every other call goes to the kernel unchanged.
use libc::{c_int, epoll_event, pollfd, timespec};
use std::cell::Cell;

/// After this many empty polls in a row, the thread is taken to be waiting.
const PATIENCE: u32 = 3;

static WAIT: timespec = timespec {
    tv_sec: 0,
    tv_nsec: 1_000_000,
};

thread_local! {
    /// The epoll instance polled last; -1: none yet.
    static LAST: Cell<c_int> = const { Cell::new(-1) };
    static EMPTY: Cell<u32> = const { Cell::new(0) };
}

/// `epoll_wait(2)`.
///
/// # Safety
/// As for epoll_wait(2): `events` has room for `room` events.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn epoll_wait(
    epoll: c_int,
    events: *mut epoll_event,
    room: c_int,
    timeout: c_int,
) -> c_int {
    if timeout != 0 {
        // A thread that waits here does not poll without end.
        EMPTY.set(0);
        // SAFETY: the caller's promise.
        return unsafe { kernel_epoll_wait(epoll, events, room, timeout) };
    }
    LAST.set(epoll);
    if waits() {
        wait_for(epoll);
    }
    // SAFETY: the caller's promise.
    let ready = unsafe { kernel_epoll_wait(epoll, events, room, 0) };
    if ready == 0 {
        EMPTY.set(EMPTY.get().saturating_add(1));
    } else {
        EMPTY.set(0);
    }
    ready
}

/// `sched_yield(2)`.
#[unsafe(no_mangle)]
pub extern "C" fn sched_yield() -> c_int {
    let epoll = LAST.get();
    EMPTY.set(EMPTY.get().saturating_add(1));
    if epoll >= 0 && waits() {
        wait_for(epoll);
        return 0;
    }
    // SAFETY: no arguments.
    unsafe { libc::syscall(libc::SYS_sched_yield) as c_int }
}

fn waits() -> bool {
    EMPTY.get() >= PATIENCE
}

/// Waits up to a millisecond until a file has something to read, without reading it. True if it
/// has.
pub(crate) fn wait_for(file: c_int) -> bool {
    let mut one = pollfd {
        fd: file,
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one pollfd, one timespec, no signal mask; a file closed meanwhile answers at once.
    unsafe { libc::ppoll(&raw mut one, 1, &raw const WAIT, std::ptr::null()) != 0 }
}

unsafe fn kernel_epoll_wait(
    epoll: c_int,
    events: *mut epoll_event,
    room: c_int,
    timeout: c_int,
) -> c_int {
    let none = std::ptr::null::<libc::sigset_t>();
    // SAFETY: epoll_pwait without a mask is epoll_wait, on every architecture; the caller promised
    // the events' room.
    unsafe { libc::syscall(libc::SYS_epoll_pwait, epoll, events, room, timeout, none, 8) as c_int }
}
