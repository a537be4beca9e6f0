//! Whether the network is a tree at all. Rounds that the best tree explains badly are measured again:
//! a flow that is equally fast each time does not differ by noise.
use crate::likelihood::{FitFigures, Measurements};
use crate::rounds::{HostFlow, MeasuredRound};
use std::collections::HashMap;

/// Rounds that are measured again, and how often each.
const DOUBTFUL: usize = 3;
const AGAIN: usize = 3;
/// All of them.
pub(crate) const ROUNDS_AGAIN: usize = DOUBTFUL * AGAIN;
/// The best tree is doubtful from these parts on. On emulated trees, also with other traffic, most
/// figures stay far below.
const DOUBTFUL_SUMS: f64 = 0.1;
const DOUBTFUL_PARTS: f64 = 0.3;
/// A flow is slowed down below this part of its rate alone.
const SLOWED: f64 = 0.8;
/// Flows that were slowed down without which nothing is reported.
const LEAST_FLOWS: f64 = 6.0;
/// A logarithm of a ratio that is larger says no more.
const LARGEST: f64 = 1.0;
/// The variances, of logarithms of rates, from which no tree explains the rounds. Simulated trees
/// stay below 0.07, and networks that are none have 0.1 and more.
const MISFIT: f64 = 0.09;
const CHANGE: f64 = 0.1;
/// Less suffices where it is so many times the change: on simulated trees it is not twice as much.
const CLEAR_MISFIT: f64 = 0.04;
const CLEAR: f64 = 4.0;
/// The variance at full rate of a flow of about a hundred datagrams, of which chance drops some.
/// Trees had three times as much at most.
const OF_CHANCE: f64 = 0.01;
const MORE_THAN_CHANCE: f64 = 3.1;
/// Slower flows have few datagrams.
const SLOWEST: f64 = 0.03;

/// Why no tree explains the rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeMisfit {
    /// The same flows are equally fast each time, and far from what any tree lets expect: cables are
    /// chosen by addresses, or the way back is not the way there.
    Steady,
    /// The same flows have other rates each time: cables are chosen for each flow, or there is other
    /// traffic.
    Changing,
}

/// True if the best tree explains little.
pub(crate) fn is_doubtful(figures: FitFigures) -> bool {
    let sums = figures.slow_sums.max(figures.fast_sums);
    let alone = figures.slow_alone.max(figures.slow_nearly);
    sums.max(alone) > DOUBTFUL_SUMS || figures.far_parts > DOUBTFUL_PARTS
}

/// The rounds that the tree explains worst, each several times.
pub(crate) fn rounds_again(rounds: &[MeasuredRound], excess: &[Vec<f64>]) -> Vec<Vec<HostFlow>> {
    let mut order: Vec<usize> = (0..rounds.len()).collect();
    order.sort_by(|a, b| misfit_of(&excess[*b]).total_cmp(&misfit_of(&excess[*a])));
    order.truncate(DOUBTFUL);
    order
        .repeat(AGAIN)
        .iter()
        .map(|r| rounds[*r].flows.iter().map(|f| f.flow).collect())
        .collect()
}

fn misfit_of(excess: &[f64]) -> f64 {
    excess.iter().map(|e| e.powi(2).min(0.5)).sum()
}

/// Judges the rounds that were measured several times.
pub(crate) fn misfit(measurements: &Measurements, excess: &[Vec<f64>]) -> Option<TreeMisfit> {
    let (mut flows, mut misfit, mut change, mut chance) = (0.0, 0.0, 0.0, 0.0);
    for rounds in measured_again(measurements.rounds) {
        let times_of = |flow: usize| rounds.iter().map(move |r| excess[*r][flow]);
        for flow in 0..excess[rounds[0]].len() {
            let times: Vec<f64> = times_of(flow).collect();
            let parts = rounds.iter().map(|r| measurements.part_of_alone(*r, flow));
            let rate = parts.fold(1.0, f64::min);
            // The excess is the logarithm of the expected rate over the measured one.
            let expected = measurements.part_of_alone(rounds[0], flow) * times[0].exp();
            // Neither slow nor expected to be: it tells nothing about shared cables.
            if rate.min(expected) > SLOWED {
                continue;
            }
            let limited = times.iter().map(|e| e.clamp(-LARGEST, LARGEST));
            let times: Vec<f64> = limited.collect();
            let count = times.len() as f64;
            let mean = times.iter().sum::<f64>() / count;
            let around: f64 = times.iter().map(|e| (e - mean).powi(2)).sum();
            let variance = around / (count - 1.0);
            flows += 1.0;
            // The square of a mean of n figures exceeds that of the true mean by the variance over
            // n.
            misfit += mean * mean - variance / count;
            change += variance;
            // The slower a flow, the fewer its datagrams, and the more their number varies by
            // chance.
            chance += OF_CHANCE / rate.max(SLOWEST);
        }
    }
    if flows < LEAST_FLOWS {
        None
    } else if change > CHANGE * flows && change > MORE_THAN_CHANCE * chance {
        Some(TreeMisfit::Changing)
    } else {
        let is_far = misfit > MISFIT * flows && misfit > change;
        let is_clear = misfit > CLEAR_MISFIT * flows && misfit > CLEAR * change;
        (is_far || is_clear).then_some(TreeMisfit::Steady)
    }
}

/// The rounds of the same flows. The first time does not count: it was chosen for its figures.
fn measured_again(rounds: &[MeasuredRound]) -> Vec<Vec<usize>> {
    let mut same: HashMap<Vec<HostFlow>, Vec<usize>> = HashMap::new();
    for (r, round) in rounds.iter().enumerate() {
        let flows = round.flows.iter().map(|f| f.flow).collect();
        same.entry(flows).or_default().push(r);
    }
    let mut again: Vec<Vec<usize>> = same
        .into_values()
        .filter(|times| times.len() > AGAIN)
        .map(|times| times[1..].to_vec())
        .collect();
    again.sort();
    again
}
