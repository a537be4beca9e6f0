//! The machine for one test at a time. A lab, an MPI job or a flood fully uses two cores, and a
//! test that measures time needs them for itself. All tests are threads of one process, so a lock
//! of the process keeps such tests apart; light tests run beside them.
use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, PoisonError};

static MACHINE: Mutex<()> = Mutex::new(());

thread_local! {
    static HAS_IT: Cell<bool> = const { Cell::new(false) };
}

/// While a test has this, no other test runs a lab, a job or a flood.
pub(crate) struct Alone(
    #[expect(dead_code, reason = "held until it is dropped")] MutexGuard<'static, ()>,
);

/// Waits for the machine. The time limits of a test begin after this.
pub(crate) fn alone() -> Alone {
    assert!(
        !HAS_IT.get(),
        "this test has the machine already and would wait for itself"
    );
    let machine = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    HAS_IT.set(true);
    Alone(machine)
}

impl Drop for Alone {
    fn drop(&mut self) {
        HAS_IT.set(false);
    }
}
