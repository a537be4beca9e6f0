//! Whether calls take longer than they did: Page's cumulative sum (Biometrika 41, 1954), in seconds.
use std::time::Duration;

/// Calls may become longer by this part without a question.
const SLACK: f64 = 0.05;
/// Calls that take so many times as long, or as short, have changed at once. Shorter rows may do so by
/// chance.
const SUDDEN: f64 = 1.5;
const SHORTEST: Duration = Duration::from_millis(20);
/// The seconds lost beyond that which say that something has changed. One row loses a third at most,
/// as a single one may be long for reasons of its own.
const CHANGED: f64 = 1.0;
const MOST_OF_A_ROW: f64 = CHANGED / 3.0;

/// True if a row that took so long shows a change by half: its calls took so many times as long as those
/// before.
pub(super) fn is_sudden(took: Duration, ratio: f64) -> bool {
    took >= SHORTEST && !(1.0 / SUDDEN..=SUDDEN).contains(&ratio)
}

/// The time that the fastest way loses beside what it took at first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CallDrift {
    /// Nanoseconds an octet.
    usual: f64,
    /// Seconds.
    lost: f64,
}

impl CallDrift {
    /// A call takes so many nanoseconds an octet so far.
    pub(super) fn beside(usual: f64) -> CallDrift {
        CallDrift { usual, lost: 0.0 }
    }

    /// Nanoseconds an octet before the change.
    pub(super) fn usual(&self) -> f64 {
        self.usual
    }

    /// The next row took so long, at so many nanoseconds an octet. True if calls have become longer.
    pub(super) fn add(&mut self, took: Duration, octet: f64) -> bool {
        let lost = (1.0 - SLACK - self.usual / octet) * took.as_secs_f64();
        self.lost = (self.lost + lost.min(MOST_OF_A_ROW)).max(0.0);
        self.lost >= CHANGED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of so many seconds until calls that take `factor` times as long are noticed.
    fn rows(seconds: f64, factor: f64) -> Option<usize> {
        let mut drift = CallDrift::beside(10.0);
        let took = Duration::from_secs_f64(seconds);
        (1..=1000).find(|_| drift.add(took, 10.0 * factor))
    }

    #[test]
    fn a_change_is_noticed_after_some_seconds_and_rows() {
        assert_eq!(rows(4.0, 1.25), Some(3));
        assert_eq!(rows(60.0, 100.0), Some(3));
        assert_eq!(rows(1.0, 1.25), Some(7));
        assert_eq!(rows(1.0, 1.13), Some(16));
        assert_eq!(rows(4.0, 1.04), None);
        assert_eq!(rows(4.0, 0.5), None);
    }

    #[test]
    fn rows_that_are_long_now_and_then_are_no_change() {
        let mut drift = CallDrift::beside(10.0);
        let is_changed = (0..1000).any(|row| {
            let octet = if row % 10 == 0 { 20.0 } else { 10.0 };
            drift.add(Duration::from_secs(4), octet)
        });
        assert!(!is_changed);
    }
}
