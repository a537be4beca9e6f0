//! The scheme that measurements say is best, per message size.
//!
//! Source: aapc-2007 section 6 (*tuned scheduling based*: the best of all schemes, found by an automatic tuning system; of how it
//! decides the paper says nothing).
//! Input: times of repeated calls, by scheme and message size.
//! Guarantee: for every size measured, the simplest scheme that is not significantly slower than the fastest one. Nothing is
//! chosen from gaps: every candidate has at least [`REPETITIONS`] times at every size.
//! Cost: O(times * log times).
//! Deviations: the paper takes the best outright. Differences within the noise would then make the choice change from one size,
//! or one measurement, to the next; here the simpler scheme stays.
use super::scheme::Scheme;
use inventory::Bytes;
use std::collections::BTreeMap;

/// With fewer times of a scheme at a size its noise cannot be told.
pub const REPETITIONS: usize = 3;

/// How long calls took.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// Under which scheme.
    pub scheme: Scheme,
    /// Bytes a rank sends to each other rank.
    pub size: Bytes,
    /// Seconds of each repetition.
    pub seconds: Vec<f64>,
}

/// Why nothing is chosen.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TuneError {
    /// Nothing to choose among, or nothing measured.
    #[error("tuning: no {0}; nothing is chosen")]
    Empty(&'static str),
    /// A candidate without enough times.
    #[error("tuning: scheme {scheme} at {} bytes: measured {times} times, at least {REPETITIONS} are needed; nothing is chosen", size.0)]
    Missing {
        /// The candidate.
        scheme: Scheme,
        /// The size others were measured at.
        size: Bytes,
        /// What there is.
        times: usize,
    },
    /// A time that is none.
    #[error("tuning: scheme {scheme} at {} bytes: a call of {seconds} seconds; nothing is chosen", size.0)]
    NoTime {
        /// The candidate.
        scheme: Scheme,
        /// The size.
        size: Bytes,
        /// The time.
        seconds: f64,
    },
}

/// A scheme's times at one size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    /// The scheme.
    pub scheme: Scheme,
    /// Median, in seconds.
    pub median: f64,
    /// Standard error of that median, in seconds: 1.2533 σ / sqrt(times), σ estimated by 1.4826 times the median
    /// absolute deviation, as for normal noise.
    pub error: f64,
    /// How many times.
    pub times: usize,
}

/// From this size on, up to the next one, this scheme.
#[derive(Debug, Clone, PartialEq)]
pub struct Range {
    /// The first size; the first range begins at 0.
    pub from: Bytes,
    /// The scheme.
    pub scheme: Scheme,
}

/// What was chosen, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Tuned {
    /// In ascending order; neighbours differ.
    pub ranges: Vec<Range>,
    /// By size, ascending: the figures of all candidates, fastest first.
    pub evidence: Vec<(Bytes, Vec<Figure>)>,
}

impl Tuned {
    /// The scheme for messages of this size.
    pub fn scheme(&self, size: Bytes) -> Scheme {
        self.ranges.iter().rev().find(|range| range.from <= size).map_or(Scheme::NO_SYNC, |range| range.scheme)
    }
}

/// Chooses among `candidates`, the simplest first: what the order of the list says. Of equally measured schemes the
/// first one is taken; [`Scheme::table_5`] has the paper's order.
///
/// Measurements of schemes that are no candidates do not count, except that their sizes must be measured for all.
///
/// # Errors
/// [`TuneError`]; nothing is chosen then.
pub fn tuned(candidates: &[Scheme], measurements: &[Measurement]) -> Result<Tuned, TuneError> {
    if candidates.is_empty() {
        return Err(TuneError::Empty("candidates"));
    }
    let mut times: BTreeMap<Bytes, BTreeMap<Scheme, Vec<f64>>> = BTreeMap::new();
    for Measurement { scheme, size, seconds } in measurements {
        if let Some(&seconds) = seconds.iter().find(|seconds| !(seconds.is_finite() && **seconds > 0.0)) {
            return Err(TuneError::NoTime { scheme: *scheme, size: *size, seconds });
        }
        times.entry(*size).or_default().entry(*scheme).or_default().extend(seconds);
    }
    if times.is_empty() {
        return Err(TuneError::Empty("measurements"));
    }
    let mut tuned = Tuned { ranges: Vec::new(), evidence: Vec::new() };
    for (size, of_size) in times {
        let figures = candidates.iter().map(|&scheme| figure(scheme, size, of_size.get(&scheme))).collect::<Result<Vec<_>, _>>()?;
        let scheme = simplest_of_the_fastest(&figures);
        if tuned.ranges.last().is_none_or(|last| last.scheme != scheme) {
            let from = if tuned.ranges.is_empty() { Bytes(0) } else { size };
            tuned.ranges.push(Range { from, scheme });
        }
        let mut fastest_first = figures;
        fastest_first.sort_by(|a, b| a.median.total_cmp(&b.median));
        tuned.evidence.push((size, fastest_first));
    }
    Ok(tuned)
}

fn figure(scheme: Scheme, size: Bytes, seconds: Option<&Vec<f64>>) -> Result<Figure, TuneError> {
    let mut seconds = seconds.cloned().unwrap_or_default();
    let times = seconds.len();
    if times < REPETITIONS {
        return Err(TuneError::Missing { scheme, size, times });
    }
    let center = median(&mut seconds);
    let mut deviations: Vec<f64> = seconds.iter().map(|s| (s - center).abs()).collect();
    Ok(Figure { scheme, median: center, error: 1.2533 * 1.4826 * median(&mut deviations) / (times as f64).sqrt(), times })
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { f64::midpoint(values[middle - 1], values[middle]) }
}

/// The first one whose median is above the least by no more than twice the standard error of the difference.
fn simplest_of_the_fastest(figures: &[Figure]) -> Scheme {
    let Some(fastest) = figures.iter().min_by(|a, b| a.median.total_cmp(&b.median)) else { return Scheme::NO_SYNC };
    let as_fast = |figure: &&Figure| figure.median - fastest.median <= 2.0 * figure.error.hypot(fastest.error);
    figures.iter().find(as_fast).unwrap_or(fastest).scheme
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scheme(text: &str) -> Scheme {
        text.parse().unwrap()
    }

    fn measured(text: &str, size: u64, seconds: &[f64]) -> Measurement {
        Measurement { scheme: scheme(text), size: Bytes(size), seconds: seconds.to_vec() }
    }

    #[test]
    fn the_fastest_wins_unless_a_simpler_one_is_as_fast() {
        let candidates = ["none", "sender(4)", "sender"].map(scheme);
        let measurements = [
            // No difference beyond the noise: the simplest.
            measured("none", 1024, &[1.00, 1.04, 0.97, 1.02]),
            measured("sender(4)", 1024, &[0.99, 1.03, 0.96, 1.01]),
            measured("sender", 1024, &[1.40, 1.41, 1.39, 1.40]),
            // Clear differences.
            measured("none", 65536, &[3.0, 3.1, 2.9, 3.0]),
            measured("sender(4)", 65536, &[2.0, 2.1, 1.9, 2.0]),
            measured("sender", 65536, &[1.5, 1.51, 1.49, 1.5]),
            // An outlier moves no median.
            measured("none", 4096, &[1.0, 1.0, 1.0, 1.0]),
            measured("sender(4)", 4096, &[0.8, 0.8, 9.9]),
            measured("sender(4)", 4096, &[0.8]),
            measured("sender", 4096, &[0.9, 0.9, 0.9]),
        ];
        let tuned = tuned(&candidates, &measurements).unwrap();
        let range = |from, text| Range { from: Bytes(from), scheme: scheme(text) };
        assert_eq!(tuned.ranges, [range(0, "none"), range(4096, "sender(4)"), range(65536, "sender")]);
        assert_eq!(
            (tuned.scheme(Bytes(0)), tuned.scheme(Bytes(4095)), tuned.scheme(Bytes(4096))),
            (candidates[0], candidates[0], candidates[1])
        );
        assert_eq!(tuned.scheme(Bytes(u64::MAX)), candidates[2]);
        let (size, figures) = &tuned.evidence[1];
        assert_eq!((*size, figures.len(), figures[0].scheme, figures[0].median, figures[0].times), (Bytes(4096), 3, candidates[1], 0.8, 4));
    }

    #[test]
    fn neighbours_of_one_scheme_are_one_range() {
        let times = |size| measured("barrier", size, &[1.0, 1.0, 1.0]);
        let tuned = tuned(&[scheme("barrier")], &[times(8), times(64), times(1)]).unwrap();
        assert_eq!((tuned.ranges.len(), tuned.evidence.len(), tuned.ranges[0].from), (1, 3, Bytes(0)));
    }

    #[test]
    fn gaps_and_nonsense_are_refused() {
        let candidates = ["none", "dummy"].map(scheme);
        let refused = |measurements: &[Measurement]| tuned(&candidates, measurements).unwrap_err().to_string();
        let none = measured("none", 8, &[1.0, 1.1, 0.9]);
        assert_eq!(
            refused(std::slice::from_ref(&none)),
            "tuning: scheme dummy at 8 bytes: measured 0 times, at least 3 are needed; nothing is chosen"
        );
        assert!(refused(&[none.clone(), measured("dummy", 8, &[1.0, 1.0])]).contains("measured 2 times"));
        assert!(refused(&[none.clone(), measured("dummy", 9, &[1.0; 3])]).contains("dummy at 8 bytes"));
        assert!(refused(&[none.clone(), measured("dummy", 8, &[1.0, f64::NAN, 1.0])]).contains("NaN seconds"));
        assert!(refused(&[none.clone(), measured("dummy", 8, &[1.0, 0.0, 1.0])]).contains("a call of 0 seconds"));
        assert!(refused(&[]).contains("no measurements"));
        assert!(tuned(&[], &[none]).unwrap_err().to_string().contains("no candidates"));
    }
}
