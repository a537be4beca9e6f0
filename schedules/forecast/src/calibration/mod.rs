//! The time of a call, from calls that were measured: contention, acknowledgements, tokens and the
//! cost of messages are in it, because they were in them.
//!
//! Source: contention-signature-alltoall section IV divides the time of an exchange by its time
//! without contention, and finds the ratio to be a property of network and routine. Here the ratio
//! depends on the call, too ([`CallProfile`]), and the measured calls of the same routine tell it:
//! the mean of their logarithms, weighted by the inverse distance (Shepard, A two-dimensional
//! interpolation function for irregularly-spaced data, 1968). Input: a tree, a routine, a block
//! size. Guarantee: where a call was measured, its own time weighs most. The stated error is what
//! nine of ten predictions of this routine keep for a shape of network that was left out. Cost:
//! O(measured calls), and the profile's. Deviations: the paper fits two parameters by least squares
//! on one network. They cannot tell blocks that wait for a retransmission timer from longer ones
//! that do not.
mod comparison;
mod profile;
mod routine;
mod shapes;
#[cfg(test)]
mod tests;

pub use comparison::{WayComparison, WayPrediction, calibrated_ways};
pub use profile::CallProfile;
pub use routine::TimedRoutine;
pub use shapes::{BenchCell, BenchShape, shipped_cells};

use crate::tuning;
use inventory::tree::{NodeNumber, Tree};
use inventory::{Bytes, Mpi};
use policy::decision_table::{Collective, DecisionGrounds, Way};
use policy::learned::{LearnedFigures, LearnedPlace, LearnedTiming};
use policy::measurements::TuningRun;
use std::sync::OnceLock;

/// Calls that differ by so little in every way that matters weigh alike.
const ALIKE: f64 = 0.3;
/// How fast the weight of a call falls with its distance.
const STEEPNESS: i32 = 3;
/// A call is unlike all measured ones if its distance from each is larger: four times the block or
/// thirty times the rate.
const FAR: f64 = 6.0;
/// The share of predictions that keep the stated error.
const KEEPING: f64 = 0.9;
/// A call measured on the network that a prediction is for counts as so many measured elsewhere.
const OWN_NETWORK: f64 = 100.0;

/// A measured call.
#[derive(Debug, Clone)]
pub struct MeasuredCall {
    pub collective: Collective,
    pub routine: TimedRoutine,
    /// The call's demands on its network.
    pub profile: CallProfile,
    /// Median time, in seconds.
    pub seconds: f64,
    /// The network: calls on the same one are left out together when errors are estimated.
    pub network: String,
    /// How many calls elsewhere it counts as.
    pub weight: f64,
}

impl MeasuredCall {
    /// The logarithm of the time as a multiple of the least one.
    fn ratio(&self) -> f64 {
        (self.seconds / self.profile.least).ln()
    }
}

/// A predicted time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CalibratedTime {
    /// Seconds of a call.
    pub seconds: f64,
    /// The share of the time by which nine of ten predictions of this routine are wrong at most;
    /// `None` where the routine was not measured on two networks, or no call like this one was.
    pub error: Option<f64>,
}

/// Measured calls, from which others are predicted.
#[derive(Debug, Clone, Default)]
pub struct CallCalibration {
    calls: Vec<MeasuredCall>,
}

impl CallCalibration {
    /// From these calls.
    pub fn fitted_to(calls: Vec<MeasuredCall>) -> CallCalibration {
        CallCalibration { calls }
    }

    /// From the calls that heddle's authors measured: docs/figures.md.
    pub fn shipped() -> &'static CallCalibration {
        static SHIPPED: OnceLock<CallCalibration> = OnceLock::new();
        SHIPPED.get_or_init(|| {
            let calls = shipped_cells().iter().filter_map(BenchCell::call);
            CallCalibration::fitted_to(calls.collect())
        })
    }

    /// With the calls of a run of `heddle tune`, if its hosts are cabled as they were.
    #[must_use]
    pub fn with(mut self, run: &TuningRun, tree: &Tree) -> CallCalibration {
        let Some(ranks) = ranks_of(run, tree) else {
            return self;
        };
        let measured = run.figures.iter().chain(&run.early).filter_map(|figure| {
            let (collective, block) = (figure.collective, figure.timing.block);
            let number = ranks.hosts();
            let routine = TimedRoutine::for_way(figure.way, run.mpi, collective, number, block)?;
            Some(MeasuredCall {
                collective,
                routine,
                profile: CallProfile::predicted(&ranks, collective, routine, block)?,
                seconds: figure.timing.seconds(),
                network: "tuned".to_owned(),
                weight: OWN_NETWORK,
            })
        });
        self.calls.extend(measured);
        self
    }

    /// With the calls of which jobs learned on these hosts and cables, as far as their votes let them
    /// be told.
    #[must_use]
    pub fn with_learned(mut self, figures: &LearnedFigures, tree: &Tree) -> CallCalibration {
        let ways = figures.ways();
        let places = figures.places().map(|(place, ..)| place);
        self.calls
            .extend(places.flat_map(|place| learned_calls(place, &ways.for_place(place), tree)));
        self
    }

    /// The calls.
    pub fn calls(&self) -> &[MeasuredCall] {
        &self.calls
    }

    /// The time of a call that goes a way under a library; `None` for ways that nobody measured,
    /// and where nothing is sent.
    pub fn time(
        &self,
        tree: &Tree,
        (way, mpi): (Way, Mpi),
        collective: Collective,
        block: Bytes,
    ) -> Option<CalibratedTime> {
        let routine = TimedRoutine::for_way(way, mpi, collective, tree.hosts(), block)?;
        let profile = CallProfile::predicted(tree, collective, routine, block)?;
        Some(CalibratedTime {
            seconds: self.seconds(collective, routine, &profile, None)?,
            error: self.error(collective, routine, &profile),
        })
    }

    /// The time of a call, from all calls but those on one network.
    pub fn seconds(
        &self,
        collective: Collective,
        routine: TimedRoutine,
        profile: &CallProfile,
        without: Option<&str>,
    ) -> Option<f64> {
        let calls = self.calls.iter();
        let others =
            calls.filter(|call| call.collective == collective && without != Some(&*call.network));
        // A routine that was never measured is like those that come closest to it.
        TimedRoutine::substitutes()
            .into_iter()
            .find_map(|stands_for| {
                let like = others.clone();
                nearby(
                    profile,
                    like.filter(|call| stands_for(call.routine, routine)),
                )
            })
    }

    /// Nine of ten predictions of a routine are off by less than this, where each of its calls is
    /// predicted from the calls on other networks. `None` far from all of its calls.
    fn error(
        &self,
        collective: Collective,
        routine: TimedRoutine,
        profile: &CallProfile,
    ) -> Option<f64> {
        let own: Vec<&MeasuredCall> = self
            .calls
            .iter()
            .filter(|call| (call.collective, call.routine) == (collective, routine))
            .collect();
        if own.iter().all(|call| profile.distance(&call.profile) > FAR) {
            return None;
        }
        let mut off: Vec<f64> = own
            .iter()
            .filter_map(|call| {
                let others = own.iter().filter(|other| other.network != call.network);
                Some((nearby(&call.profile, others.copied())? / call.seconds - 1.0).abs())
            })
            .collect();
        off.sort_by(f64::total_cmp);
        let place = (off.len() as f64 * KEEPING).ceil() as usize;
        off.get(place.checked_sub(1)?).copied()
    }
}

/// The calls of which jobs learned at a place; none if its cables have changed since.
fn learned_calls(
    place: &LearnedPlace,
    timings: &[LearnedTiming],
    tree: &Tree,
) -> Vec<MeasuredCall> {
    let found = LearnedPlace::find(tree, &place.hosts, &place.layout, place.mpi).ok();
    let Some((_, between)) = found.filter(|(now, _)| now == place) else {
        return Vec::new();
    };
    let Some(mpi) = place.mpi.measured() else {
        return Vec::new();
    };
    let host_of = place.layout.host_of();
    let ranks: Vec<(String, NodeNumber)> = host_of
        .iter()
        .enumerate()
        .map(|(rank, &host)| (format!("{host}:{rank}"), host))
        .collect();
    let Ok(ranks) = between.with_ranks(&ranks) else {
        return Vec::new();
    };
    timings
        .iter()
        .filter_map(|timing| {
            let (collective, block) = (timing.collective, timing.from);
            let routine = TimedRoutine::for_way(timing.way, mpi, collective, ranks.hosts(), block)?;
            Some(MeasuredCall {
                collective,
                routine,
                profile: CallProfile::predicted(&ranks, collective, routine, block)?,
                seconds: timing.mean_ns as f64 / 1e9,
                network: "learned".to_owned(),
                weight: OWN_NETWORK,
            })
        })
        .collect()
}

/// The ranks of a run as leaves of the tree; `None` if the cables have changed since.
fn ranks_of(run: &TuningRun, tree: &Tree) -> Option<Tree> {
    if tuning::grounds(run, tree) == DecisionGrounds::Stale {
        return None;
    }
    let ranks: Option<Vec<(String, u32)>> = run
        .place
        .hosts
        .iter()
        .enumerate()
        .map(|(rank, host)| Some((format!("{host}:{rank}"), tree.host(host)?)))
        .collect();
    tree.with_ranks(&ranks?).ok()
}

/// The least time of a call, multiplied as in these calls; `None` without calls.
fn nearby<'a>(profile: &CallProfile, calls: impl Iterator<Item = &'a MeasuredCall>) -> Option<f64> {
    let (mut sum, mut weights) = (0.0, 0.0);
    for call in calls {
        let weight = call.weight / (ALIKE + profile.distance(&call.profile)).powi(STEEPNESS);
        sum += weight * call.ratio();
        weights += weight;
    }
    (weights > 0.0).then(|| profile.least * (sum / weights).exp())
}
