//! Threads of heddle's own take no signal: the application's handlers run on the application's
//! threads.
use nix::sys::signal::{SigSet, SigmaskHow, pthread_sigmask};

/// Runs `spawn` with all signals blocked: a thread it starts keeps them so.
pub(crate) fn with_signals_blocked<T>(spawn: impl FnOnce() -> T) -> T {
    let mut before = SigSet::empty();
    let blocked = pthread_sigmask(
        SigmaskHow::SIG_BLOCK,
        Some(&SigSet::all()),
        Some(&mut before),
    )
    .is_ok();
    let spawned = spawn();
    if blocked {
        // Restoring a mask that the system gave cannot fail.
        let _ = pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&before), None);
    }
    spawned
}
