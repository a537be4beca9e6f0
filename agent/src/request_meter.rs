//! How long a switch takes to answer SNMP requests, and how often it does not.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The upper limits of the buckets of times, in seconds. The last bucket has none.
pub const ANSWER_TIMES: [f64; 11] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
];

/// The way in which a request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestFailure {
    /// No answer, after all tries.
    Timeout,
    /// The switch refuses the credential.
    Refused,
    /// The switch answers with an error, or with nonsense.
    Error,
}

impl RequestFailure {
    /// Each way.
    pub const ALL: [RequestFailure; 3] = [
        RequestFailure::Timeout,
        RequestFailure::Refused,
        RequestFailure::Error,
    ];
}

/// Counts one switch's requests; all threads may count.
#[derive(Debug, Default)]
pub struct RequestMeter {
    /// Answers by their time; the last bucket has all that took longer.
    answers: [AtomicU64; ANSWER_TIMES.len() + 1],
    nanos: AtomicU64,
    failures: [AtomicU64; RequestFailure::ALL.len()],
}

/// Requests so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RequestTotals {
    /// Answers by their time, in the buckets of [`ANSWER_TIMES`].
    pub answers: [u64; ANSWER_TIMES.len() + 1],
    /// Seconds that all answers took together.
    pub seconds: f64,
    /// Failures, in the order of [`RequestFailure::ALL`].
    pub failures: [u64; RequestFailure::ALL.len()],
}

impl RequestMeter {
    pub(crate) fn answered(&self, after: Duration) {
        let seconds = after.as_secs_f64();
        let bucket = ANSWER_TIMES.partition_point(|limit| *limit < seconds);
        self.answers[bucket].fetch_add(1, Relaxed);
        let nanos = u64::try_from(after.as_nanos()).unwrap_or(u64::MAX);
        self.nanos.fetch_add(nanos, Relaxed);
    }

    pub(crate) fn failed(&self, how: RequestFailure) {
        self.failures[how as usize].fetch_add(1, Relaxed);
    }

    /// The requests so far.
    pub fn totals(&self) -> RequestTotals {
        RequestTotals {
            answers: self.answers.each_ref().map(|count| count.load(Relaxed)),
            seconds: Duration::from_nanos(self.nanos.load(Relaxed)).as_secs_f64(),
            failures: self.failures.each_ref().map(|count| count.load(Relaxed)),
        }
    }
}

impl RequestTotals {
    /// All answers.
    pub fn answered(&self) -> u64 {
        self.answers.iter().sum()
    }

    /// The sum of two switches' requests.
    pub fn plus(mut self, other: &RequestTotals) -> RequestTotals {
        let answers = self.answers.iter_mut().zip(&other.answers);
        let failures = self.failures.iter_mut().zip(&other.failures);
        answers.chain(failures).for_each(|(own, more)| *own += more);
        self.seconds += other.seconds;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_and_failures_are_counted_where_they_belong() {
        let meter = RequestMeter::default();
        for ms in [1, 3, 3, 9_000] {
            meter.answered(Duration::from_millis(ms));
        }
        meter.failed(RequestFailure::Refused);
        let totals = meter.totals();
        assert_eq!(totals.answers, [1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!((totals.answered(), totals.failures), (4, [0, 1, 0]));
        assert!((totals.seconds - 9.007).abs() < 1e-9);
        assert_eq!(totals.plus(&totals).answered(), 8);
    }
}
