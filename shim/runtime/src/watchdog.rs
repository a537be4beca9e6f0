//! The watchdog, off unless `HEDDLE_WATCHDOG` names a number of seconds: a thread that says what a
//! rank waits for when it has waited that long. It looks only at what the waiting thread wrote down
//! before, so it works where MPI itself hangs.
use crate::settings::RuntimeSettings;
use crate::{signals, stderr};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// The reason for which a thread waits.
#[derive(Debug)]
struct ThreadWait {
    since: Instant,
    what: String,
    reported: bool,
}

#[derive(Debug)]
struct HangWatchdog {
    after: Duration,
    waiting: Mutex<HashMap<ThreadId, ThreadWait>>,
}

impl HangWatchdog {
    fn new(after: Duration) -> HangWatchdog {
        HangWatchdog {
            after,
            waiting: Mutex::default(),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<ThreadId, ThreadWait>> {
        self.waiting
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The waits that have lasted too long at `now` and are not reported yet.
    fn overdue(&self, now: Instant) -> Vec<String> {
        let mut waiting = self.waiting();
        let late = waiting
            .values_mut()
            .filter(|w| !w.reported && now.saturating_duration_since(w.since) >= self.after);
        let mut lines: Vec<String> = late
            .map(|w| {
                w.reported = true;
                format!(
                    "watchdog: {} s without progress: {}",
                    self.after.as_secs_f64(),
                    w.what
                )
            })
            .collect();
        lines.sort_unstable();
        lines
    }
}

fn watch() -> Option<&'static HangWatchdog> {
    static WATCH: OnceLock<Option<HangWatchdog>> = OnceLock::new();
    static THREAD: OnceLock<()> = OnceLock::new();
    let watch = WATCH
        .get_or_init(|| RuntimeSettings::here().watchdog.map(HangWatchdog::new))
        .as_ref()?;
    THREAD.get_or_init(|| {
        // Without a thread it says nothing; the job is not worse off for it.
        let _ = signals::with_signals_blocked(|| {
            thread::Builder::new()
                .name("heddle-watchdog".into())
                .spawn(move || {
                    loop {
                        // A wait is reported late by a quarter of its limit at most.
                        thread::sleep(watch.after / 4);
                        watch
                            .overdue(Instant::now())
                            .iter()
                            .for_each(|line| stderr::write_line(line));
                    }
                })
        });
    });
    Some(watch)
}

/// True if it wants to see every call.
pub fn is_on() -> bool {
    watch().is_some()
}

/// This thread has moved on, and waits for `what` now.
pub fn begin_wait(what: impl FnOnce() -> String) {
    if let Some(watch) = watch() {
        let waiting = ThreadWait {
            since: Instant::now(),
            what: what(),
            reported: false,
        };
        watch.waiting().insert(thread::current().id(), waiting);
    }
}

/// This thread waits for nothing any more.
pub fn end_wait() {
    if let Some(watch) = watch() {
        watch.waiting().remove(&thread::current().id());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_once_what_lasts_too_long() {
        let watch = HangWatchdog::new(Duration::from_secs(2));
        let began = Instant::now();
        let waiting = ThreadWait {
            since: began,
            what: "rank 3: the block of rank 1".into(),
            reported: false,
        };
        watch.waiting().insert(thread::current().id(), waiting);
        assert_eq!(
            watch.overdue(began + Duration::from_secs(1)),
            [] as [&str; 0]
        );
        let late = began + Duration::from_secs(3);
        assert_eq!(
            watch.overdue(late),
            ["watchdog: 2 s without progress: rank 3: the block of rank 1"]
        );
        assert_eq!(watch.overdue(late), [] as [&str; 0]);
    }
}
