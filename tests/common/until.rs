//! Waiting for something to come about.
use std::fmt::Display;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Nothing takes longer, even on a busy machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);
/// Between two looks.
const REST: Duration = Duration::from_millis(100);

/// Waits until there is something.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    until_or_why(what, LIMIT, || look().ok_or("nothing there"))
}

/// Waits until it is so.
pub(crate) fn until_so(what: &str, mut holds: impl FnMut() -> bool) {
    until(what, || holds().then_some(()));
}

/// Waits until there is something, or tells why there is not, in the end.
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
