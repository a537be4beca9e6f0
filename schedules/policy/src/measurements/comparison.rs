//! The check that tuned calls keep their promise: they are never slower than the library's own by
//! more than a margin.
//!
//! Source: the estimators of [`super::CallTiming`], applied to ratios of pairs. The calls of a pair
//! follow each other, so other load of the machine affects both, and a drift between pairs does not
//! count as noise. Guarantee: the verdict is [`ComparisonVerdict::Holds`] or
//! [`ComparisonVerdict::Slower`] only if the ratio is on that side of the margin by twice its
//! standard error.
use super::{CallTiming, REPETITIONS, center};
use crate::decision_table::{Collective, Way};
use inventory::Bytes;
use serde::{Deserialize, Serialize};

/// A tuned call may take this many times the time of the library's own.
pub const MARGIN: f64 = 1.02;

/// Tuned calls with blocks of one size, compared with the library's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TunedComparison {
    pub collective: Collective,
    /// The library's own routine.
    pub own: CallTiming,
    /// The call as the runtime serves it.
    pub tuned: CallTiming,
    /// Median of the ratios of each tuned call's time to its partner's, in millionths.
    pub ratio_ppm: u64,
    /// Standard error of that median, in millionths.
    pub error_ppm: u64,
}

/// The result of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ComparisonVerdict {
    /// The tuned call was faster, by more than the noise.
    Faster,
    /// The tuned call is within the margin.
    Holds,
    /// The noise is too large for a result.
    Open,
    /// The tuned call is beyond the margin.
    Slower,
}

impl TunedComparison {
    /// Compares pairs of seconds, the library's own first; `None` for fewer than [`REPETITIONS`]
    /// pairs or for invalid times.
    pub fn from_pairs(
        collective: Collective,
        block: Bytes,
        pairs: &[(f64, f64)],
    ) -> Option<TunedComparison> {
        let (of_library, of_tuned): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let own = CallTiming::from_runs(block, &of_library)?;
        let tuned = CallTiming::from_runs(block, &of_tuned)?;
        let (ratio, error) = center(
            &pairs
                .iter()
                .map(|(own, tuned)| tuned / own)
                .collect::<Vec<_>>(),
        );
        let [ratio_ppm, error_ppm] = [ratio, error].map(|part| (part * 1e6).round() as u64);
        (pairs.len() >= REPETITIONS).then_some(TunedComparison {
            collective,
            own,
            tuned,
            ratio_ppm,
            error_ppm,
        })
    }

    /// The time of a tuned call divided by its partner's.
    pub fn ratio(&self) -> f64 {
        self.ratio_ppm as f64 / 1e6
    }

    /// The uncertainty of the ratio: twice its standard error.
    pub fn noise(&self) -> f64 {
        2.0 * self.error_ppm as f64 / 1e6
    }

    /// The result.
    pub fn verdict(&self) -> ComparisonVerdict {
        let noise = self.noise();
        match self.ratio() {
            ratio if ratio + noise < 1.0 => ComparisonVerdict::Faster,
            ratio if ratio + noise <= MARGIN => ComparisonVerdict::Holds,
            ratio if ratio - noise > MARGIN => ComparisonVerdict::Slower,
            _ => ComparisonVerdict::Open,
        }
    }
}

/// A way of the table that was tried again at a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WayTrial {
    /// The way of the table at that size.
    pub way: Way,
    /// Its comparison with the library's own routine.
    pub comparison: TunedComparison,
}

impl WayTrial {
    /// True if the way may stay.
    pub fn confirms(&self) -> bool {
        self.comparison.verdict() == ComparisonVerdict::Faster
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(ratios: &[f64]) -> ComparisonVerdict {
        // The machine slows down meanwhile, which affects both calls of a pair alike.
        let pairs: Vec<(f64, f64)> = (1..)
            .zip(ratios)
            .map(|(i, ratio)| (f64::from(i), f64::from(i) * ratio))
            .collect();
        TunedComparison::from_pairs(Collective::Alltoall, Bytes(8), &pairs)
            .unwrap()
            .verdict()
    }

    #[test]
    fn what_is_beyond_the_noise_is_told_and_nothing_else() {
        assert_eq!(
            verdict(&[0.9, 0.91, 0.89, 0.9, 0.9, 0.9]),
            ComparisonVerdict::Faster
        );
        assert_eq!(
            verdict(&[1.001, 1.0, 1.002, 0.999, 1.0, 1.001]),
            ComparisonVerdict::Holds
        );
        assert_eq!(
            verdict(&[1.05, 1.051, 1.049, 1.05, 1.05, 1.05]),
            ComparisonVerdict::Slower
        );
        assert_eq!(verdict(&[0.8, 1.3, 1.0, 0.7, 1.4]), ComparisonVerdict::Open);
        assert_eq!(
            verdict(&[1.02, 1.03, 1.01, 1.05, 0.99]),
            ComparisonVerdict::Open,
            "at the margin"
        );
        assert!(
            ComparisonVerdict::Holds < ComparisonVerdict::Open
                && ComparisonVerdict::Open < ComparisonVerdict::Slower
        );
    }

    #[test]
    fn one_call_that_was_held_up_changes_nothing() {
        assert_eq!(
            verdict(&[1.0, 1.001, 40.0, 0.999, 1.0, 1.0, 1.0]),
            ComparisonVerdict::Holds
        );
    }

    #[test]
    fn medians_are_those_of_each_side() {
        let pairs = [(1.0, 2.0), (3.0, 3.0), (2.0, 2.0)];
        let comparison =
            TunedComparison::from_pairs(Collective::Allgather, Bytes(8), &pairs).unwrap();
        assert_eq!(
            (
                comparison.own.seconds(),
                comparison.tuned.seconds(),
                comparison.ratio()
            ),
            (2.0, 2.0, 1.0)
        );
        assert_eq!(
            TunedComparison::from_pairs(Collective::Allgather, Bytes(8), &pairs[..2]),
            None
        );
        assert_eq!(
            TunedComparison::from_pairs(Collective::Allgather, Bytes(8), &[(1.0, 0.0); 3]),
            None
        );
    }
}
