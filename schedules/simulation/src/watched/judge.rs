//! The moved cable that explains the rates best, if one does.
use super::arrivals::BlockArrivals;
use super::expected::WatchedPlan;
use super::expected_pairs::ExpectedPairs;
use super::host_pairs::{HostPairs, by_hosts};
use super::suspects;
use inventory::alarm::arguments::{SuspectedMove, moved};
use inventory::tree::{EdgeNumber, NodeNumber, Tree};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A pair that is slower by more than this is worth a question.
const SLOW: f64 = -0.35;
/// Fewer slow pairs than this are worth none.
const LEAST_SLOW: usize = 3;
/// The hosts that are asked whether they moved: those with the most slow pairs.
const MOST_HOSTS: usize = 8;
/// Moves times the cables that the messages of each cross, in one judgement at most: some seconds. Moves
/// of hosts come before moves of trunks.
const MOST_WORK: usize = 12_000_000;
/// How much better a move must explain the rates than the published tree does, as a logarithm.
pub const LEAST_GAIN: f64 = 20.0;

/// The evidence of one window of calls against the published tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TreeSuspicion {
    /// The move that explains the rates best.
    pub best: SuspectedMove,
    /// How much better than the published tree: the logarithm of the ratio of probabilities.
    pub gain: f64,
    /// The other moves that explain them about as well.
    pub others: Vec<SuspectedMove>,
    /// Pairs of hosts, sender first, that the published tree does not let be so slow.
    pub slow: Vec<(String, String)>,
}

impl TreeSuspicion {
    /// All moves, the best first.
    pub fn moves(&self) -> Vec<SuspectedMove> {
        [std::slice::from_ref(&self.best), &self.others].concat()
    }
}

impl fmt::Display for TreeSuspicion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&moved(&self.moves(), self.slow.len()))
    }
}

/// Moves within this of the best one are not distinguished from it.
const ALIKE: f64 = 6.0;

/// Judges the rates of a process set whose rank `r` runs on `host_of[r]` of the tree between its
/// hosts. `None` if the published tree explains them as well as any move.
pub fn judge(
    between: &Tree,
    host_of: &[NodeNumber],
    arrivals: &BlockArrivals,
) -> Option<TreeSuspicion> {
    if arrivals.ranks() != host_of.len() {
        return None;
    }
    let plan = WatchedPlan::new(between, host_of)?;
    let measured = by_hosts(between, host_of, |from, to| {
        arrivals.share(from, to).map(f64::ln)
    });
    let explain = |tree: &Tree| {
        let expected = ExpectedPairs::new(&plan, tree, between, host_of)?;
        let left = unexplained(between, &expected.beyond(&measured));
        Some((expected.likelihood(&left), left))
    };
    let (published, left) = explain(between)?;
    let slow = slow_pairs(&left);
    if slow.len() < LEAST_SLOW {
        return None;
    }
    let mut suspects = suspects::moves(between, &most_slow(&slow, measured.len()));
    suspects.truncate(most_moves(plan.crossings()));
    let gain = |to: SuspectedMove| {
        let (likelihood, _) = explain(&suspects::moved(between, &to)?)?;
        Some((likelihood - published, to))
    };
    let mut gains: Vec<(f64, SuspectedMove)> = suspects.into_iter().filter_map(gain).collect();
    gains.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut gains = gains.into_iter();
    let (gain, best) = gains.next().filter(|(gain, _)| *gain >= LEAST_GAIN)?;
    let name = |host: usize| between.name(host as u32).to_owned();
    Some(TreeSuspicion {
        best,
        gain,
        others: gains
            .take_while(|(other, _)| *other > gain - ALIKE)
            .map(|(_, other)| other)
            .collect(),
        slow: slow.iter().map(|&(a, b)| (name(a), name(b))).collect(),
    })
}

fn most_moves(crossings: usize) -> usize {
    MOST_WORK / crossings.max(1)
}

fn slow_pairs(left: &HostPairs) -> Vec<(usize, usize)> {
    left.iter()
        .enumerate()
        .flat_map(|(from, row)| {
            row.iter()
                .enumerate()
                .filter_map(|(to, rest)| rest.filter(|r| *r < SLOW).map(|_| (from, to)))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// The hosts with the most slow pairs, most first.
fn most_slow(slow: &[(usize, usize)], hosts: usize) -> Vec<NodeNumber> {
    let mut count = vec![0; hosts];
    slow.iter().for_each(|&(a, b)| {
        count[a] += 1;
        count[b] += 1;
    });
    let mut order: Vec<usize> = (0..hosts).filter(|host| count[*host] > 0).collect();
    order.sort_by_key(|host| std::cmp::Reverse(count[*host]));
    order.truncate(MOST_HOSTS);
    order.into_iter().map(|host| host as NodeNumber).collect()
}

/// Rounds of fitting, each kind of cause in turn.
const ROUNDS: usize = 6;

/// The slowness of each pair that no single host or trunk explains. Every host and every direction of
/// a trunk explains as much as the middle one of its pairs is slower. No cause makes a pair faster.
pub(super) fn unexplained(tree: &Tree, pairs: &HostPairs) -> HostPairs {
    let mut causes: Vec<Vec<(usize, usize)>> = vec![Vec::new(); tree.edges() as usize];
    for (from, row) in pairs.iter().enumerate() {
        for (to, _) in row.iter().enumerate().filter(|(_, pair)| pair.is_some()) {
            // The first edge is the sender's cable, the last one the receiver's.
            tree.path(from as u32, to as u32, |edge: EdgeNumber| {
                causes[edge as usize].push((from, to));
            });
        }
    }
    causes.retain(|pairs| !pairs.is_empty());
    let mut taken = vec![0.0f64; causes.len()];
    let mut left = pairs.clone();
    for _ in 0..ROUNDS {
        for (of, taken) in causes.iter().zip(&mut taken) {
            let middle = median(of.iter().filter_map(|&(a, b)| left[a][b]));
            let more = (*taken + middle).min(0.0) - *taken;
            *taken += more;
            for &(a, b) in of {
                left[a][b] = left[a][b].map(|value| value - more);
            }
        }
    }
    left
}

/// The middle one; 0 of none.
pub(super) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use samples::trees::row;

    fn plan(tree: &Tree) -> WatchedPlan {
        WatchedPlan::new(tree, &(0..tree.hosts()).collect::<Vec<_>>()).unwrap()
    }

    /// The moves that windows of a process set with slow pairs everywhere ask for, and those that are
    /// simulated at most.
    fn moves(tree: &Tree) -> (usize, usize) {
        let hosts: Vec<NodeNumber> = (0..MOST_HOSTS as NodeNumber).collect();
        let all = suspects::moves(tree, &hosts).len();
        (all, most_moves(plan(tree).crossings()))
    }

    #[test]
    fn the_largest_process_sets_are_judged_in_bounded_work() {
        for tree in [row(64, 2), row(16, 8)] {
            let ((all, most), crossings) = (moves(&tree), plan(&tree).crossings());
            assert!(all > most && most * crossings <= MOST_WORK);
            // The host with the most slow pairs may have moved to half of the switches.
            assert!(most >= 30, "{most}");
        }
        assert_eq!(most_moves(0), MOST_WORK);
    }

    #[test]
    fn every_move_on_a_common_cluster_is_simulated() {
        for tree in [row(2, 16), row(4, 8), row(8, 4), row(16, 2), row(4, 16)] {
            let (all, most) = moves(&tree);
            assert!(all <= most, "{all} of {most}");
        }
    }
}
