//! The rates that a plan and a tree let each pair of hosts have, and the likelihood of others.
use super::expected::WatchedPlan;
use super::host_pairs::{HostPairs, by_hosts};
use inventory::tree::{NodeNumber, Tree};

/// How far a pair's rate lies outside of what is expected, as a logarithm.
const SPREAD: f64 = 0.12;
/// The part of the pairs that is slow for reasons of its own, by anything up to a factor of 20.
const ODD: f64 = 0.1;
// The logarithm of that factor is 3.
const ODD_DENSITY: f64 = ODD / 3.0;
/// Two expectations of each pair: its rate may be anything between them.
pub(super) struct ExpectedPairs([HostPairs; 2]);

impl ExpectedPairs {
    pub(super) fn new(
        plan: &WatchedPlan,
        tree: &Tree,
        between: &Tree,
        host_of: &[NodeNumber],
    ) -> Option<ExpectedPairs> {
        Some(ExpectedPairs(plan.slowness(tree)?.map(|slowness| {
            let mut of_ranks = vec![vec![None; host_of.len()]; host_of.len()];
            for (message, slowness) in slowness {
                of_ranks[message.src as usize][message.dst as usize] = Some(slowness);
            }
            by_hosts(between, host_of, |from, to| of_ranks[from][to])
        })))
    }

    fn range(&self, from: usize, to: usize) -> Option<(f64, f64)> {
        let [a, b] = self.0.each_ref().map(|pairs| pairs[from][to]);
        Some((a?.min(b?), a?.max(b?)))
    }

    /// How far each pair lies outside of them.
    pub(super) fn beyond(&self, measured: &HostPairs) -> HostPairs {
        let hosts = measured.len();
        let pair = |from: usize, to: usize| {
            let (value, (least, most)) = (measured[from][to]?, self.range(from, to)?);
            Some(value - value.clamp(least, most))
        };
        (0..hosts)
            .map(|from| (0..hosts).map(|to| pair(from, to)).collect())
            .collect()
    }

    /// The logarithm of the probability of what is left of each pair. A pair says so much at most:
    /// what is odd about it may have a reason of its own.
    pub(super) fn likelihood(&self, left: &HostPairs) -> f64 {
        let hosts = left.len();
        let density = |from: usize, to: usize| {
            let (rest, (least, most)) = (left[from][to]?, self.range(from, to)?);
            let far = rest / SPREAD;
            // Even between the two rates and normal beyond them; by this width all probabilities sum to 1.
            let width = most - least + SPREAD * std::f64::consts::TAU.sqrt();
            let usual = (-far * far / 2.0).exp() / width;
            Some(((1.0 - ODD) * usual + ODD_DENSITY).ln())
        };
        (0..hosts)
            .flat_map(|from| (0..hosts).filter_map(move |to| density(from, to)))
            .sum()
    }
}
