//! Waits until a condition holds.
use std::fmt::Display;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The time limit of every wait, even on a busy machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);
/// The time between two looks.
const REST: Duration = Duration::from_millis(100);

/// Waits until `look` returns something.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    until_or_why(what, LIMIT, || look().ok_or("nothing there"))
}

/// Waits until the condition is true.
pub(crate) fn until_so(what: &str, mut holds: impl FnMut() -> bool) {
    until(what, || holds().then_some(()));
}

/// Waits until `look` returns something. At the limit it fails with the last reason.
pub(crate) fn until_or_why<T, W: Display>(
    what: &str,
    limit: Duration,
    mut look: impl FnMut() -> Result<T, W>,
) -> T {
    let end = Instant::now() + limit;
    loop {
        match look() {
            Ok(found) => return found,
            Err(why) => assert!(
                Instant::now() < end,
                "{what}: not so after {limit:?}: {why}"
            ),
        }
        sleep(REST);
    }
}
