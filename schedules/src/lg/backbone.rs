//! The order of the messages between clusters.
//!
//! Source: lg-2008 section 4, the inter-cluster phase: `ceil(n2 / n1)` steps, in each of which a
//! host has at most one partner. Input: the messages, the widths of the edges inside clusters, and
//! the number of messages that the backbone may carry at once. Guarantee: in a step every host
//! sends at most one message and receives at most one, no edge inside a cluster carries more than
//! its width, and no backbone edge more than the limit. Where only the hosts limit, as in the
//! paper, there are as many steps as the busiest host has messages to send, or to receive. For two
//! clusters these steps are those of the paper. Cost: O(messages * hosts) where only the hosts
//! limit, otherwise O(steps * messages * path length). Deviations: the paper's clusters are one
//! switch each; here the switches inside count. Where they or the limit matter, a step takes those
//! messages first whose worst edge, or host, needs the most further steps; that is a heuristic.
use super::Transfer;
use super::clusters::ClusterPartition;
use crate::capacities::EdgeCapacities;
use crate::capacity::colour::EdgeColouring;
use inventory::tree::Tree;
use std::cmp::Reverse;
use std::collections::HashMap;

/// The steps, in order. `at_once` limits the messages on each directed backbone edge; 0 counts as
/// 1.
pub(super) fn steps(
    tree: &Tree,
    clusters: &ClusterPartition,
    messages: Vec<Transfer>,
    at_once: Option<u64>,
) -> Vec<Vec<Transfer>> {
    let limits = StepLimits::new(tree, clusters, &messages, at_once);
    let by_hosts = one_partner_a_step(tree.hosts(), &messages);
    let step = if limits.kept_by(&by_hosts) {
        by_hosts
    } else {
        limits.most_urgent_first(&by_hosts)
    };
    let mut steps = vec![Vec::new(); step.iter().max().map_or(0, |last| last + 1)];
    step.into_iter()
        .zip(messages)
        .for_each(|(step, message)| steps[step].push(message));
    steps
}

/// The step of each message where only the hosts limit. Senders and receivers are a bipartite
/// graph, and the steps are its colours.
fn one_partner_a_step(hosts: u32, messages: &[Transfer]) -> Vec<usize> {
    let mut degree = vec![0; 2 * hosts as usize];
    messages
        .iter()
        .flat_map(|m| [m.from, hosts + m.to])
        .for_each(|end| degree[end as usize] += 1);
    let steps = degree.into_iter().max().unwrap_or(0);
    let mut colouring = EdgeColouring::new(hosts as usize, hosts as usize, steps);
    messages
        .iter()
        .for_each(|m| colouring.add(m.from as usize, m.to as usize));
    let partners = (0..hosts).flat_map(|from| (0..steps).map(move |step| (from, step)));
    let of: HashMap<(u32, u32), usize> = partners
        .filter_map(|(from, step)| {
            Some((
                (from, colouring.right_of(from as usize, step)? as u32),
                step,
            ))
        })
        .collect();
    messages.iter().map(|m| of[&(m.from, m.to)]).collect()
}

/// The resources that the messages of a step compete for: sending hosts, receiving hosts, edges.
struct StepLimits {
    /// For each limit the number of messages that one step allows.
    width: Vec<u64>,
    /// For each limit the number of all its messages.
    load: Vec<u64>,
    /// For each message the limits it is under.
    of: Vec<Vec<u32>>,
}

impl StepLimits {
    fn new(
        tree: &Tree,
        clusters: &ClusterPartition,
        messages: &[Transfer],
        at_once: Option<u64>,
    ) -> StepLimits {
        let (hosts, capacities) = (tree.hosts(), EdgeCapacities::from_tree(tree));
        let abroad = at_once.map_or(u64::MAX, |limit| limit.max(1));
        let width: Vec<u64> = std::iter::repeat_n(1, 2 * hosts as usize)
            .chain((0..tree.edges()).map(|edge| {
                if clusters.inside(edge).is_some() {
                    capacities.width(edge)
                } else {
                    abroad
                }
            }))
            .collect();
        let mut of: Vec<Vec<u32>> = messages
            .iter()
            .map(|m| {
                let mut limits = vec![m.from, hosts + m.to];
                tree.path(m.from, m.to, |edge| limits.push(2 * hosts + edge));
                limits
            })
            .collect();
        let mut load = vec![0; width.len()];
        of.iter()
            .flatten()
            .for_each(|&limit| load[limit as usize] += 1);
        // A limit that allows all its messages at once decides nothing.
        of.iter_mut().for_each(|limits| {
            limits.retain(|&limit| width[limit as usize] < load[limit as usize])
        });
        StepLimits { width, load, of }
    }

    /// True if the messages can be sent in these steps.
    fn kept_by(&self, step: &[usize]) -> bool {
        let mut taken: HashMap<(usize, u32), u64> = HashMap::new();
        let mut uses = self
            .of
            .iter()
            .zip(step)
            .flat_map(|(limits, &step)| limits.iter().map(move |&limit| (step, limit)));
        uses.all(|used| {
            let taken = taken.entry(used).or_insert(0);
            *taken += 1;
            *taken <= self.width[used.1 as usize]
        })
    }

    /// The step of each message. Steps are filled one after the other; `order` decides between
    /// messages that are equally urgent.
    fn most_urgent_first(&self, order: &[usize]) -> Vec<usize> {
        let mut load = self.load.clone();
        let mut steps = vec![0; self.of.len()];
        let mut waiting: Vec<usize> = (0..self.of.len()).collect();
        waiting.sort_by_key(|&message| order[message]);
        for step in 0.. {
            if waiting.is_empty() {
                break;
            }
            let needs: Vec<u64> = load
                .iter()
                .zip(&self.width)
                .map(|(load, width)| load.div_ceil(*width))
                .collect();
            waiting.sort_by_cached_key(|&message| Reverse(self.urgency(&needs, message)));
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

    /// The number of steps that the tightest limit of a message needs for all waiting messages,
    /// then the number that all its limits need.
    fn urgency(&self, needs: &[u64], message: usize) -> (u64, u64) {
        let steps = self.of[message].iter().map(|&limit| needs[limit as usize]);
        (steps.clone().max().unwrap_or(0), steps.sum())
    }
}
