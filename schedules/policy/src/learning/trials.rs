//! The times of one way at the calls of a question, and what they say beside another way's.

use super::{CallClass, CandidateWay, RowTimes};
use crate::decision_table::Way;
use crate::learned::LearnedTiming;
use crate::noise;
use std::collections::VecDeque;

/// The rows of a way that are remembered: the newest.
const REMEMBERED: usize = 12;
/// Rows of one way differ at least by this part of their mean, however alike the first ones were.
const LEAST_NOISE: f64 = 0.03;
/// A difference of so many standard errors does not come by chance.
const CLEAR: f64 = 2.5;
/// With fewer rows nothing is clear but what is twice as long.
const FEWEST: usize = 3;
const HOPELESS: f64 = 2.0;
/// The same of the first row, which has few calls: a process that another one keeps waiting once doubles
/// its time.
const HOPELESS_AT_ONCE: f64 = 4.0;
/// After few rows a way leads if its calls take less than this part of the other way's time.
const LEAD: f64 = 0.9;
/// After so many rows a way that is not clearly faster is not tried any more.
const ENOUGH: usize = 8;

/// Calls, and the octets of their blocks together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct CallAmounts {
    pub(super) calls: u32,
    pub(super) octets: u64,
}

impl CallAmounts {
    pub(super) fn add(&mut self, block: u64, calls: u32) {
        self.calls += calls;
        let octets = block.saturating_mul(calls.into());
        self.octets = self.octets.saturating_add(octets);
    }
}

/// One way, as the calls of a job went it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct WayTrials {
    pub(super) way: Way,
    /// The time of a call by what is known before the first one, as a multiple of the fastest
    /// way's.
    pub(super) expected: f64,
    /// True if earlier jobs measured that, and this one has found nothing else.
    pub(super) is_known: bool,
    /// Nanoseconds an octet of a block, of each row.
    rows: VecDeque<f64>,
    /// The same of the newest row, since the first rank came to each call.
    pub(super) crossed: Option<f64>,
    /// Timed calls in all rows, the forgotten ones too.
    timed: u32,
    /// Octets of the blocks of all calls.
    octets: u64,
    /// A call of this job went it.
    pub(super) has_gone: bool,
    /// It is not tried any more.
    pub(super) is_out: bool,
}

/// The relation of a way's times to those of the fastest one so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TrialVerdict {
    Faster,
    Slower,
    /// There is no gain that so many rows could have missed.
    Alike,
    Open,
}

impl WayTrials {
    pub(super) fn new(candidate: CandidateWay) -> WayTrials {
        let CandidateWay {
            way,
            expected,
            is_known,
        } = candidate;
        WayTrials {
            way,
            expected,
            is_known,
            rows: VecDeque::new(),
            crossed: None,
            timed: 0,
            octets: 0,
            has_gone: false,
            is_out: false,
        }
    }

    /// The timed calls of a row took so long.
    pub(super) fn add(&mut self, times: RowTimes, timed: CallAmounts, all: CallAmounts) {
        if self.rows.len() == REMEMBERED {
            self.rows.pop_front();
        }
        let [took, crossed] = [times.since_last, times.since_first]
            .map(|time| time.as_nanos() as f64 / timed.octets.max(1) as f64);
        self.rows.push_back(took);
        self.crossed = Some(crossed);
        self.timed = self.timed.saturating_add(timed.calls);
        self.octets = self.octets.saturating_add(all.octets);
    }

    /// Forgets all times but their mean, which is expected from now on. Of the fastest way the newest row
    /// stays, which has the change.
    pub(super) fn forget(&mut self, usual: f64, is_fastest: bool) {
        if let Some(mean) = self.mean() {
            self.expected = mean / usual;
        }
        self.is_known = false;
        let stays = usize::from(is_fastest);
        self.rows.drain(..self.rows.len().saturating_sub(stays));
    }

    /// Calls with blocks of the smallest size of their class.
    pub(super) fn timing(&self, class: CallClass) -> LearnedTiming {
        let [mean_ns, error_ns] = [self.mean().unwrap_or(0.0), self.error()]
            .map(|octet| (octet * class.from.0 as f64) as u64);
        LearnedTiming {
            collective: class.collective,
            from: class.from,
            way: self.way,
            samples: self.timed,
            mean_ns,
            error_ns,
        }
    }

    /// Seconds that all calls would have taken beyond their own at so many nanoseconds an octet.
    pub(super) fn saved(&self, octet: f64) -> f64 {
        let own = self.mean().unwrap_or(octet);
        self.octets as f64 * (octet - own) / 1e9
    }

    pub(super) fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Nanoseconds an octet; `None` before the first row.
    pub(super) fn mean(&self) -> Option<f64> {
        (!self.rows.is_empty()).then(|| self.rows.iter().sum::<f64>() / self.rows.len() as f64)
    }

    /// The newest row, in nanoseconds an octet.
    pub(super) fn last(&self) -> Option<f64> {
        self.rows.back().copied()
    }

    /// The mean of the rows before the newest one; `None` where they are few.
    pub(super) fn before_last(&self) -> Option<f64> {
        let before = self.rows.len().saturating_sub(1);
        let sum: f64 = self.rows.iter().take(before).sum();
        (before >= FEWEST - 1).then(|| sum / before as f64)
    }

    /// The standard error of the mean.
    pub(super) fn error(&self) -> f64 {
        let (n, mean) = (self.rows.len() as f64, self.mean().unwrap_or(0.0));
        let squares: f64 = self.rows.iter().map(|row| (row - mean).powi(2)).sum();
        // By n - 1, as the mean comes from the same rows (Bessel); one row has no deviation.
        let deviation = (squares / (n - 1.0).max(1.0)).sqrt();
        deviation.max(LEAST_NOISE * mean) / n.max(1.0).sqrt()
    }

    /// True if this way's calls were clearly faster so far, where too few are known for a verdict.
    pub(super) fn leads(&self, fastest: &WayTrials) -> bool {
        let is_few = self.rows().min(fastest.rows()) < FEWEST;
        is_few && !self.is_out && self.is_ahead_of(fastest.mean())
    }

    /// True if this way's calls were clearly faster than so many nanoseconds an octet.
    pub(super) fn is_ahead_of(&self, usual: Option<f64>) -> bool {
        let means = self.mean().zip(usual);
        means.is_some_and(|(own, usual)| own < LEAD * usual)
    }

    /// The comparison of the rows of both.
    pub(super) fn beside(&self, fastest: &WayTrials) -> TrialVerdict {
        let (Some(own), Some(best)) = (self.mean(), fastest.mean()) else {
            return TrialVerdict::Open;
        };
        let few = self.rows().min(fastest.rows()) < FEWEST;
        let noise = CLEAR * noise::of_both(self.error(), fastest.error());
        let hopeless = if self.rows() == 1 {
            HOPELESS_AT_ONCE
        } else {
            HOPELESS
        };
        if own > hopeless * best || (!few && own - best > noise) {
            TrialVerdict::Slower
        } else if !few && best - own > noise {
            TrialVerdict::Faster
        } else if self.rows() >= ENOUGH {
            TrialVerdict::Alike
        } else {
            TrialVerdict::Open
        }
    }
}
