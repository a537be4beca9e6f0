//! LG (Local Group): an all-to-all among clusters that sends few and large messages over the links
//! between them.
//!
//! Source: lg-2008; contention-signature-alltoall section VI.B. Input: a tree and a partition of
//! its hosts into clusters ([`ClusterPartition`]). Guarantee: every block reaches its destination
//! and crosses between clusters once; `max(nX, nY)` messages go from cluster X to cluster Y; inside
//! clusters no two messages of a step collide. Cost: O(blocks), the cost of each cluster's own
//! schedule, and the cost of ordering the messages between clusters (`backbone.rs`). Deviations:
//! - There may be any number of clusters of any size. With one cluster the schedule is the
//!   cluster's own. `proxies.rs` names the errors of the printed algorithm.
//! - The local phase follows each cluster's own contention-free schedule. The message from one host
//!   to another in the same cluster carries its block, and all blocks for which the other host is
//!   proxy.
mod backbone;
mod clusters;
mod proxies;
#[cfg(test)]
pub(crate) mod tests;

pub use clusters::{ClusterError, ClusterPartition, HostCluster};

use crate::alltoall;
use crate::bound::PhaseBound;
use crate::capacities::EdgeCapacities;
use crate::message::Message;
use crate::synchronization::SyncKind;
use inventory::tree::{NodeNumber, Tree};
use std::collections::HashMap;

/// The name of the algorithm in JSON and on the command line.
pub const LG: &str = "lg";

/// A whole all-to-all among clusters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LgSchedule {
    /// The hosts' names in the order of their numbers.
    pub hosts: Vec<String>,
    /// The clusters of these hosts.
    pub clusters: Vec<HostCluster>,
    /// The backbone edge that has most to carry for its rate: no algorithm moves fewer blocks over
    /// it. With one cluster, or one host, nothing crosses: load 0, and both ends are the first
    /// host.
    pub bound: PhaseBound,
    /// The number of messages in which the load crosses that edge.
    pub messages: u64,
    /// The steps, one after the other. A host sends blocks that it holds when the step begins.
    /// First come the steps within clusters, then those between clusters.
    pub steps: Vec<Vec<Transfer>>,
}

/// One message with the blocks of several hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    /// The sending host.
    pub from: NodeNumber,
    /// The receiving host.
    pub to: NodeNumber,
    /// The blocks it carries, each from host `src` for host `dst`.
    pub blocks: Vec<Message>,
}

/// Plans the all-to-all among the tree's hosts, all blocks of one size. `at_once` limits the
/// messages that each directed edge between clusters carries in a step. `None` sets no limit, as in
/// the paper.
pub fn plan(tree: &Tree, clusters: &ClusterPartition, at_once: Option<u64>) -> LgSchedule {
    let abroad = proxies::messages(clusters);
    let (bound, messages) = bottleneck(tree, clusters, &abroad);
    let mut steps = local_steps(tree, clusters, &abroad);
    steps.extend(backbone::steps(tree, clusters, abroad, at_once));
    LgSchedule {
        hosts: tree.host_names().to_vec(),
        clusters: clusters.list().to_vec(),
        bound,
        messages,
        steps,
    }
}

/// The all-to-alls of all clusters, at the same time. A message also carries the blocks that its
/// receiver passes on.
fn local_steps(
    tree: &Tree,
    clusters: &ClusterPartition,
    abroad: &[Transfer],
) -> Vec<Vec<Transfer>> {
    let mut to_pass_on: HashMap<(NodeNumber, NodeNumber), Vec<Message>> = HashMap::new();
    for message in abroad {
        message.blocks.iter().for_each(|b| {
            to_pass_on
                .entry((b.src, message.from))
                .or_default()
                .push(*b)
        });
    }
    let mut steps: Vec<Vec<Transfer>> = Vec::new();
    for cluster in clusters.list().iter().filter(|c| c.hosts.len() > 1) {
        for (step, phase) in own_phases(tree, cluster).into_iter().enumerate() {
            if step == steps.len() {
                steps.push(Vec::new());
            }
            steps[step].extend(phase.into_iter().map(|m| {
                let (from, to) = (cluster.hosts[m.src as usize], cluster.hosts[m.dst as usize]);
                let mut blocks = vec![Message { src: from, dst: to }];
                blocks.append(&mut to_pass_on.remove(&(from, to)).unwrap_or_default());
                Transfer { from, to, blocks }
            }));
        }
    }
    steps
}

/// The phases of a cluster's all-to-all; hosts are numbered as in `cluster.hosts`.
fn own_phases(tree: &Tree, cluster: &HostCluster) -> Vec<Vec<Message>> {
    let names: Vec<&str> = cluster.hosts.iter().map(|&h| tree.name(h)).collect();
    let own = tree.restrict(&names).unwrap_or_else(|e| {
        unreachable!("a cluster's hosts are hosts of the tree, each once: {e}")
    });
    alltoall::plan(&own, SyncKind::None).phases
}

/// The backbone edge whose blocks need the longest time, and the messages that carry them.
fn bottleneck(tree: &Tree, clusters: &ClusterPartition, abroad: &[Transfer]) -> (PhaseBound, u64) {
    let capacities = EdgeCapacities::from_tree(tree);
    let mut load = vec![(0u64, 0u64); tree.edges() as usize];
    for message in abroad {
        tree.path(message.from, message.to, |edge| {
            let (blocks, messages) = &mut load[edge as usize];
            (*blocks, *messages) = (*blocks + message.blocks.len() as u64, *messages + 1);
        });
    }
    let between = (0..tree.edges())
        .filter(|&edge| clusters.inside(edge).is_none() && load[edge as usize].0 > 0);
    let phases = between.map(|edge| {
        let (blocks, _) = load[edge as usize];
        (blocks.div_ceil(capacities.width(edge).max(1)), edge)
    });
    let most = phases.rev().max_by_key(|(phases, _)| *phases);
    let bottleneck = most.and_then(|(phases, edge)| Some((phases, edge, tree.ends(edge)?)));
    let Some((phases, edge, (from, to))) = bottleneck else {
        return (PhaseBound::of_nothing(tree), 0);
    };
    let (blocks, messages) = load[edge as usize];
    (
        PhaseBound {
            phases,
            edge: (tree.name(from).to_owned(), tree.name(to).to_owned()),
            load: blocks,
            capacity: capacities.width(edge),
        },
        messages,
    )
}
