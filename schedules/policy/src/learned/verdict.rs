//! The verdict of several jobs on the ways of one size class.
//!
//! Each job votes for the way that it found fastest. Times of different jobs are not compared,
//! because every way takes longer on a loaded network. All jobs of one user together weigh at most
//! as two jobs, so that one user with many records cannot outvote two users with three jobs. The
//! verdict gives a way's time only if at least half of the jobs measured that way. It never gives a
//! way that lost the vote a shorter time than the winner. A way that a job tried too few times to know
//! its time has no part in the vote. Where too few jobs know a way's time, the verdict gives a guess, with
//! too few samples to decide anything: the next job then knows what trying the way costs.
use super::{LearnedTiming, retain_sound};
use crate::decision_table::Way;
use std::cmp::Reverse;
use std::collections::HashMap;

/// A job needs this many samples of a way to know its time; fewer of a hopeless one.
const SAMPLES: u32 = 3;
/// The weight of a job alone, and of all jobs of a user together.
const JOB: u64 = 1 << 20;
const USER: u64 = 2 * JOB;

/// The timings of one job in the class.
pub(super) struct JobBallot<'a> {
    pub(super) user: &'a str,
    pub(super) timings: Vec<LearnedTiming>,
}

/// A ballot and its weight.
struct WeighedBallot {
    /// Of the ways whose times the job knows.
    timings: Vec<LearnedTiming>,
    /// Of those that it tried too few times.
    guesses: Vec<LearnedTiming>,
    weight: u64,
}

impl WeighedBallot {
    fn timing(&self, way: Way) -> Option<&LearnedTiming> {
        self.timings.iter().find(|timing| timing.way == way)
    }

    /// All that it tried.
    fn tried(&self) -> impl Iterator<Item = &LearnedTiming> {
        self.timings.iter().chain(&self.guesses)
    }

    /// The time of a way, or what it took where that is not known well.
    fn about(&self, way: Way) -> Option<&LearnedTiming> {
        self.tried().find(|timing| timing.way == way)
    }

    /// The way with the smallest mean; the library's own routine unless another one is faster by
    /// more than the noise.
    fn vote(&self) -> Option<Way> {
        let fastest = self.timings.iter().min_by_key(|timing| timing.mean_ns)?;
        match self.timing(Way::Native) {
            Some(own) if !fastest.is_faster_than(own) => Some(Way::Native),
            _ => Some(fastest.way),
        }
    }
}

/// The timings that follow from the ballots, the way to go first; empty where no job compared ways.
pub(super) fn of(ballots: Vec<JobBallot<'_>>) -> Vec<LearnedTiming> {
    let ballots = weighed(ballots);
    let Some(winner) = winner(&ballots) else {
        return Vec::new();
    };
    let Some(won) = median(&ballots, |ballot| ballot.timing(winner).copied()) else {
        return Vec::new();
    };
    let mut ways: Vec<Way> = Vec::new();
    for timing in ballots.iter().flat_map(WeighedBallot::tried) {
        if timing.way != winner && !ways.contains(&timing.way) {
            ways.push(timing.way);
        }
    }
    ways.sort_by_cached_key(Way::to_string);
    let known = |way: Way| beside(&ballots, &won, |ballot| ballot.timing(way));
    let own = known(Way::Native).filter(|_| winner != Way::Native);
    // The jobs made sure of it, each for itself.
    let margin = own.map_or(u64::MAX, |own| (own.mean_ns - won.mean_ns) / 3);
    let lost = ways.iter().filter_map(|&way| {
        known(way).or_else(|| {
            let guess = beside(&ballots, &won, |ballot| ballot.about(way))?;
            let samples = guess.samples.min(SAMPLES - 1);
            Some(LearnedTiming { samples, ..guess })
        })
    });
    std::iter::once(won)
        .chain(lost)
        .map(|timing| LearnedTiming {
            error_ns: timing.error_ns.min(margin),
            ..timing
        })
        .collect()
}

/// The time of a way that lost, if at least half of the jobs tell one.
fn beside(
    ballots: &[WeighedBallot],
    won: &LearnedTiming,
    reported: impl Fn(&WeighedBallot) -> Option<&LearnedTiming>,
) -> Option<LearnedTiming> {
    let all: u64 = ballots.iter().map(|ballot| ballot.weight).sum();
    let telling = ballots.iter().filter(|ballot| reported(ballot).is_some());
    if 2 * telling.map(|ballot| ballot.weight).sum::<u64>() < all {
        return None;
    }
    let timing = median(ballots, |ballot| {
        scaled(reported(ballot)?, ballot.timing(won.way), won)
    })?;
    let mean_ns = timing.mean_ns.max(won.mean_ns);
    Some(LearnedTiming { mean_ns, ..timing })
}

/// The ballots of jobs that compared ways, each with its weight.
fn weighed(mut ballots: Vec<JobBallot<'_>>) -> Vec<WeighedBallot> {
    for ballot in &mut ballots {
        let timings = &mut ballot.timings;
        timings.retain(|timing| {
            timing.mean_ns > 0 && timing.samples > 0 && timing.way.serves(timing.collective)
        });
    }
    let read = ballots.into_iter().map(|ballot| {
        let mut sound = ballot.timings.clone();
        retain_sound(&mut sound, SAMPLES);
        (sound, ballot)
    });
    // A job with one way has compared nothing.
    let compared: Vec<_> = read.filter(|(sound, _)| sound.len() > 1).collect();
    let mut jobs: HashMap<&str, u64> = HashMap::new();
    for (_, ballot) in &compared {
        *jobs.entry(ballot.user).or_default() += 1;
    }
    compared
        .into_iter()
        .map(|(timings, mut ballot)| {
            ballot.timings.retain(|timing| !timings.contains(timing));
            WeighedBallot {
                weight: JOB.min(USER / jobs[ballot.user]),
                timings,
                guesses: ballot.timings,
            }
        })
        .collect()
}

/// The way to go: the library's own routine, unless more than half of the votes are for others;
/// else the one of these with the most votes. Of two with as many, the faster one.
fn winner(ballots: &[WeighedBallot]) -> Option<Way> {
    let mut votes: Vec<(Way, u64)> = Vec::new();
    for (way, weight) in ballots.iter().filter_map(|b| Some((b.vote()?, b.weight))) {
        match votes.iter_mut().find(|(known, _)| *known == way) {
            Some((_, sum)) => *sum += weight,
            None => votes.push((way, weight)),
        }
    }
    let all: u64 = votes.iter().map(|(_, weight)| weight).sum();
    let own = votes.iter().find(|(way, _)| *way == Way::Native);
    if let Some((way, weight)) = own
        && 2 * weight >= all
    {
        return Some(*way);
    }
    votes
        .into_iter()
        .filter(|(way, _)| *way != Way::Native)
        .max_by_key(|(way, weight)| {
            let timing = median(ballots, |ballot| ballot.timing(*way).copied());
            let mean = timing.map_or(u64::MAX, |timing| timing.mean_ns);
            (*weight, Reverse(mean), Reverse(way.to_string()))
        })
        .map(|(way, _)| way)
}

/// A timing as it would be where the winner takes the time that all jobs together say.
fn scaled(
    timing: &LearnedTiming,
    winner: Option<&LearnedTiming>,
    won: &LearnedTiming,
) -> Option<LearnedTiming> {
    let there = winner?.mean_ns;
    let [mean_ns, error_ns] = [timing.mean_ns, timing.error_ns].map(|ns| {
        let here = u128::from(ns) * u128::from(won.mean_ns) / u128::from(there);
        u64::try_from(here).unwrap_or(u64::MAX)
    });
    Some(LearnedTiming {
        mean_ns,
        error_ns,
        ..*timing
    })
}

/// The timing whose mean is the weighted median of those that ballots give, with all their samples.
/// Between two middle ones it is the slower one.
fn median(
    ballots: &[WeighedBallot],
    timing: impl Fn(&WeighedBallot) -> Option<LearnedTiming>,
) -> Option<LearnedTiming> {
    let mut timings: Vec<(LearnedTiming, u64)> = ballots
        .iter()
        .filter_map(|ballot| Some((timing(ballot)?, ballot.weight)))
        .collect();
    timings.sort_by_key(|(timing, _)| (timing.mean_ns, timing.error_ns));
    let all: u64 = timings.iter().map(|(_, weight)| weight).sum();
    let samples = timings
        .iter()
        .fold(0u32, |sum, (timing, _)| sum.saturating_add(timing.samples));
    let mut below = 0;
    let middle = timings.iter().find(|(_, weight)| {
        below += weight;
        2 * below > all
    })?;
    Some(LearnedTiming {
        samples,
        ..middle.0
    })
}
