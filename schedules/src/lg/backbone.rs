//! The order of the messages between clusters.
//!
//! Source: lg-2008 section 4, the inter-cluster phase: `ceil(n2 / n1)` steps, in each of which a host has at most one partner.
//! Input: the messages, the widths of the edges inside clusters, how many messages the backbone may carry at once.
//! Guarantee: in a step every host sends one message at most and receives one at most, no edge inside a cluster carries more
//! than its width, no backbone edge more than the limit. For two clusters of one switch each the steps are the paper's.
//! Cost: O(steps * messages * path length).
//! Deviations: the paper's clusters are one switch each; here the switches inside count. A step takes those messages first whose
//! worst edge, or host, has most steps to go; that is a heuristic.
use super::Transfer;
use super::clusters::Clusters;
use crate::capacities::Capacities;
use inventory::tree::{Edge, Tree};
use std::cmp::Reverse;

/// The steps, in order. `at_once` limits the messages on each directed backbone edge; 0 is taken as 1.
pub(super) fn steps(tree: &Tree, clusters: &Clusters, messages: Vec<Transfer>, at_once: Option<u64>) -> Vec<Vec<Transfer>> {
    let limits = Limits::new(tree, clusters, &messages, at_once);
    let step = limits.most_urgent_first();
    let mut steps = vec![Vec::new(); step.iter().max().map_or(0, |last| last + 1)];
    step.into_iter().zip(messages).for_each(|(step, message)| steps[step].push(message));
    steps
}

/// What messages of a step compete for: sending hosts, receiving hosts, edges.
struct Limits {
    /// By limit: how many messages of one step.
    width: Vec<u64>,
    /// By limit: how many messages in all.
    load: Vec<u64>,
    /// By message: the limits it is under.
    of: Vec<Vec<u32>>,
}

impl Limits {
    fn new(tree: &Tree, clusters: &Clusters, messages: &[Transfer], at_once: Option<u64>) -> Limits {
        let (hosts, capacities) = (tree.hosts(), Capacities::of(tree));
        let abroad = at_once.map_or(u64::MAX, |limit| limit.max(1));
        let edge_width = |edge: Edge| if clusters.inside(edge).is_some() { capacities.width(edge) } else { abroad };
        let width: Vec<u64> = std::iter::repeat_n(1, 2 * hosts as usize).chain((0..tree.edges()).map(edge_width)).collect();
        let under = |m: &Transfer| {
            let mut limits = vec![m.from, hosts + m.to];
            tree.path(m.from, m.to, |edge| limits.push(2 * hosts + edge));
            limits
        };
        let mut of: Vec<Vec<u32>> = messages.iter().map(under).collect();
        let mut load = vec![0; width.len()];
        of.iter().flatten().for_each(|&limit| load[limit as usize] += 1);
        // What all messages fit in decides nothing.
        of.iter_mut().for_each(|limits| limits.retain(|&limit| width[limit as usize] < load[limit as usize]));
        Limits { width, load, of }
    }

    /// The step of each message, filled one after the other.
    fn most_urgent_first(&self) -> Vec<usize> {
        let mut load = self.load.clone();
        let mut steps = vec![0; self.of.len()];
        let mut waiting: Vec<usize> = (0..self.of.len()).collect();
        for step in 0.. {
            if waiting.is_empty() {
                break;
            }
            waiting.sort_by_cached_key(|&message| Reverse(self.urgency(&load, message)));
            let mut free = self.width.clone();
            waiting.retain(|&message| {
                let limits = &self.of[message];
                if limits.iter().any(|&limit| free[limit as usize] == 0) {
                    return true;
                }
                for &limit in limits {
                    free[limit as usize] -= 1;
                    load[limit as usize] -= 1;
                }
                steps[message] = step;
                false
            });
        }
        steps
    }

    /// How many steps the tightest of a message's limits needs for all that waits, then how many all its limits need.
    fn urgency(&self, load: &[u64], message: usize) -> (u64, u64) {
        let needs = |&limit: &u32| load[limit as usize].div_ceil(self.width[limit as usize]);
        let limits = self.of[message].iter();
        (limits.clone().map(needs).max().unwrap_or(0), limits.map(needs).sum())
    }
}
