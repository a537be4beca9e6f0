//! Jobs measure the ways of their calls while they run. This module keeps these times for later
//! jobs.
//!
//! ```text
//! job --LearnedTiming--> job record --controller--> learned.json --helper--> a later job
//! ```
//!
//! | module | one idea |
//! |---|---|
//! | [`place`] | where a figure holds: hosts, ranks, cables, library |
//! | [`figures`] | `learned.json`: the figures that jobs learned, by place, within bounds |
//! | `verdict` | one verdict of several jobs |
//! | [`ways`] | the verdicts of all places |
pub mod figures;
pub mod place;
mod verdict;
pub mod ways;

pub use figures::LearnedFigures;
pub use place::{LearnedPlace, RankLayout};
pub use ways::LearnedWays;

use crate::decision_table::{Collective, Way};
use crate::noise;
use crate::recorded_name::RecordedName;
use inventory::Bytes;
use serde::{Deserialize, Serialize};

/// The times of calls of a collective that went one way, in one size class, as a job learned them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LearnedTiming<C = Collective, W = Way> {
    pub collective: C,
    /// The class: blocks from this size, a power of two, up to twice it ([`size_class`]).
    pub from: Bytes,
    pub way: W,
    /// The number of timed calls.
    pub samples: u32,
    /// The mean time of a call, in nanoseconds.
    pub mean_ns: u64,
    /// The standard error of that mean, in nanoseconds.
    pub error_ns: u64,
}

impl LearnedTiming {
    /// True if these calls took less time than the others, by more than twice the standard error of
    /// the difference.
    pub fn is_faster_than(&self, other: &LearnedTiming) -> bool {
        let noise = 2.0 * noise::of_both(self.error_ns as f64, other.error_ns as f64);
        other.mean_ns as f64 - self.mean_ns as f64 > noise
    }
}

/// One call is enough of a way that took longer than the fastest one by this factor: noise is less.
const HOPELESS: f64 = 1.5;

/// Keeps the timings that rest on so many calls, and those of ways that are hopeless beside them:
/// nobody tries such a way often.
pub(crate) fn retain_sound(timings: &mut Vec<LearnedTiming>, samples: u32) {
    let known = timings.iter().filter(|timing| timing.samples >= samples);
    let fastest = known.map(|timing| timing.mean_ns).min();
    timings.retain(|timing| {
        timing.samples >= samples
            || fastest.is_some_and(|fastest| timing.mean_ns as f64 > fastest as f64 * HOPELESS)
    });
}

/// The same in a record, which another version of heddle may have written.
pub type RecordedTiming = LearnedTiming<RecordedName<Collective>, RecordedName<Way>>;

impl RecordedTiming {
    /// The timing, if this version knows its collective and its way.
    pub fn known(&self) -> Option<LearnedTiming> {
        Some(LearnedTiming {
            collective: *self.collective.known()?,
            way: *self.way.known()?,
            from: self.from,
            samples: self.samples,
            mean_ns: self.mean_ns,
            error_ns: self.error_ns,
        })
    }
}

impl From<LearnedTiming> for RecordedTiming {
    fn from(timing: LearnedTiming) -> RecordedTiming {
        LearnedTiming {
            collective: timing.collective.into(),
            way: timing.way.into(),
            from: timing.from,
            samples: timing.samples,
            mean_ns: timing.mean_ns,
            error_ns: timing.error_ns,
        }
    }
}

/// The size class of a block: the largest power of two that is not larger; 0 for an empty block.
pub fn size_class(block: u64) -> Bytes {
    Bytes(block.checked_ilog2().map_or(0, |exponent| 1 << exponent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_holds_blocks_up_to_twice_its_size() {
        let classes = [0, 1, 2, 3, 4, 1023, 1024, 2047, u64::MAX].map(|block| size_class(block).0);
        assert_eq!(classes, [0, 1, 2, 2, 4, 512, 1024, 1024, 1 << 63]);
    }

    #[test]
    fn a_timing_of_another_version_is_read_and_written_as_it_stands() {
        let json = concat!(
            r#"{"collective":"scan","from":1024,"way":"ring tcp","samples":9,"#,
            r#""mean_ns":1000,"error_ns":10}"#
        );
        let foreign: RecordedTiming = serde_json::from_str(json).unwrap();
        assert_eq!(foreign.known(), None);
        assert_eq!(serde_json::to_string(&foreign).unwrap(), json);
        let ours: RecordedTiming =
            serde_json::from_str(&json.replace("scan", "allgather")).unwrap();
        assert_eq!(ours.known().map(RecordedTiming::from), Some(ours));
    }
}
