//! Shares of the machine. Tests are threads of one process, so the process hands the shares out, in
//! the order in which they are asked for. The shares are sized for two cores: an MPI job keeps one
//! of them busy, and a lab waits most of its time. A flood, or a test that measures time, takes the
//! whole machine. Light tests take no share and run beside the others.
use std::cell::Cell;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The part of the machine that a test needs.
#[derive(Clone, Copy)]
pub(crate) enum MachinePart {
    /// A lab without MPI jobs, or a daemon.
    Quarter = 1,
    /// An MPI job, in a lab or not.
    Half = 2,
    /// Nobody else may have a part at the same time.
    Whole = 4,
}

struct ShareQueue {
    /// The ticket of the next test that asks.
    next: u64,
    /// The ticket of the test whose turn it is. Those behind it wait, so that nobody who asks for
    /// much waits forever.
    turn: u64,
    taken: u8,
}

static QUEUE: Mutex<ShareQueue> = Mutex::new(ShareQueue {
    next: 0,
    turn: 0,
    taken: 0,
});
static CHANGED: Condvar = Condvar::new();

thread_local! {
    static HAS_ONE: Cell<bool> = const { Cell::new(false) };
}

fn queue() -> MutexGuard<'static, ShareQueue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A part of the machine, given back when this is dropped.
pub(crate) struct MachineShare(MachinePart);

impl MachinePart {
    /// Waits for the part. The time limits of a test begin after this.
    pub(crate) fn take(self) -> MachineShare {
        assert!(
            !HAS_ONE.get(),
            "this test has a part of the machine already and could wait for itself"
        );
        let mut drawn = queue();
        let ticket = drawn.next;
        drawn.next += 1;
        let mut queue = CHANGED
            .wait_while(drawn, |queue| {
                queue.turn != ticket || queue.taken + self as u8 > MachinePart::Whole as u8
            })
            .unwrap_or_else(PoisonError::into_inner);
        queue.turn += 1;
        queue.taken += self as u8;
        CHANGED.notify_all();
        HAS_ONE.set(true);
        MachineShare(self)
    }
}

impl Drop for MachineShare {
    fn drop(&mut self) {
        HAS_ONE.set(false);
        queue().taken -= self.0 as u8;
        CHANGED.notify_all();
    }
}
