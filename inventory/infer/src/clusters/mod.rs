//! Finds clusters: hosts that share a spanning tree, without a routed hop, a slow link or a long
//! link between them.
//!
//! Source: lg-2008 section 2: clusters whose own networks are faster, and nearer, than the backbone
//! between them. The thresholds are this project's and are documented where they are used. Input:
//! the links found, the root bridges that the switches name, the measurements of host agents, the
//! operator's statements. Guarantee: a partition of the hosts that have a place. Without any host
//! agent, cables and root bridges decide; a host that was never probed belongs to its switch.
//! Contradictory evidence splits nothing and becomes an alarm; the operator's statements win. Cost:
//! O(n log n) in links and probes, times the links of a path.
//!
//! ```text
//! forest  nodes that share a spanning tree
//! hops    parted by routers between them
//! delay   parted by long links
//! slow    parted by slow links
//! stated  joined and parted by the operator: the clusters
//! ```
mod delay;
mod forest;
mod hops;
mod probes;
mod reasons;
mod slow;
mod stated;
#[cfg(test)]
mod tests;
mod unseen_routers;

use crate::crossing_hosts::RoutingHosts;
use crate::networks::LinkNodes;
use forest::SpanningForest;
use indexmap::IndexMap;
use inventory::alarm::Alarm;
use inventory::cluster_reason::ClusterReason;
use inventory::device_view::DeviceViews;
use inventory::natural_order::natural;
use inventory::topology::{Cluster, Link, Node, NodeKind};
use probes::ProbedPairs;
use std::collections::{BTreeMap, BTreeSet, HashMap};

pub(crate) use unseen_routers::unseen_routers;

/// The facts from which clusters are inferred.
pub(crate) struct ClusterInput<'a> {
    /// All nodes, each name once.
    pub(crate) nodes: &'a [Node],
    /// Links between them.
    pub(crate) links: &'a [Link],
    /// The nodes of each link.
    pub(crate) ends: &'a LinkNodes,
    /// The switches' statements about their root bridge, and the hosts' measured paths to other
    /// hosts; by the nodes' names.
    pub(crate) views: &'a DeviceViews,
    /// The operator's clusters: hosts by cluster.
    pub(crate) stated: &'a IndexMap<String, Vec<String>>,
    /// Hosts with cards in several networks: a path through one tells nothing about either network.
    pub(crate) routing: &'a RoutingHosts,
}

impl<'a> ClusterInput<'a> {
    fn kind(&self, node: usize) -> NodeKind {
        self.nodes[node].kind
    }

    fn is_host(&self, node: usize) -> bool {
        self.kind(node) == NodeKind::Host
    }

    fn name(&self, node: usize) -> &'a str {
        &self.nodes[node].name
    }
}

/// The clusters by name, and alarms about contradictions.
pub(crate) fn clusters(seen: &ClusterInput<'_>) -> (Vec<Cluster>, Vec<Alarm>) {
    let probes = ProbedPairs::new(seen);
    let forest = SpanningForest::new(seen, &probes);
    let mut alarms = Vec::new();
    let mut groups = NodeGroups::new(&forest);
    groups.of = hops::groups(seen, &forest, &probes, &mut alarms);
    let mut cuts = delay::long_links(seen, &forest, &probes, &groups);
    groups.cut(&forest, &cuts);
    cuts.extend(slow::slow_links(seen, &forest, &mut groups));
    let found = described(seen, &forest, &probes, &groups, &cuts);
    (stated::applied(seen, &probes, found, &mut alarms), alarms)
}

/// A link that is too slow or too long for the hosts on both sides, and the reason: an edge of the
/// forest.
struct ForestCut {
    edge: usize,
    why: ClusterReason,
}

/// A partition of the nodes, by number.
struct NodeGroups {
    of: Vec<usize>,
}

impl NodeGroups {
    /// Each tree of the forest as a group.
    fn new(forest: &SpanningForest) -> NodeGroups {
        NodeGroups {
            of: forest.sides(&BTreeSet::new()),
        }
    }

    /// Parts the nodes on different sides of a cut.
    fn cut(&mut self, forest: &SpanningForest, cuts: &[ForestCut]) {
        let sides = forest.sides(&cuts.iter().map(|c| c.edge).collect());
        let mut numbers = HashMap::new();
        for (of, side) in self.of.iter_mut().zip(sides) {
            let next = numbers.len();
            *of = *numbers.entry((*of, side)).or_insert(next);
        }
    }

    /// The members of each group whose kind `fits` accepts, in the order of nodes.
    fn members(&self, fits: impl Fn(usize) -> bool) -> BTreeMap<usize, Vec<usize>> {
        let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (node, group) in self.of.iter().enumerate().filter(|(node, _)| fits(*node)) {
            members.entry(*group).or_default().push(node);
        }
        members
    }
}

/// The groups that have hosts, with names and reasons.
fn described(
    seen: &ClusterInput<'_>,
    forest: &SpanningForest,
    probes: &ProbedPairs,
    groups: &NodeGroups,
    cuts: &[ForestCut],
) -> Vec<Cluster> {
    let inner = groups.members(|n| matches!(seen.kind(n), NodeKind::Switch | NodeKind::Unmanaged));
    let hosts = groups.members(|n| seen.is_host(n) && forest.is_placed(n));
    // Named after the first switch, because hosts come and go, and the root bridge may change.
    let named = hosts.iter().map(|(group, hosts)| {
        let own = inner.get(group).map_or(hosts, |switches| switches);
        let first = own
            .iter()
            .map(|n| (seen.kind(*n) != NodeKind::Switch, seen.name(*n)))
            .min_by_key(|(is_bridge, name)| (*is_bridge, natural(name)));
        (*group, first.map_or("", |(_, name)| name))
    });
    let first: BTreeMap<usize, &str> = named.collect();
    let mut order: Vec<usize> = hosts.keys().copied().collect();
    order.sort_by_cached_key(|g| (natural(first[g]), hosts[g].first().copied()));
    let mut taken = BTreeSet::new();
    let names: BTreeMap<usize, String> = order
        .iter()
        .map(|g| (*g, unique(&format!("cluster-{}", first[g]), &mut taken)))
        .collect();
    let mut reasons = reasons::reasons(seen, forest, probes, groups, cuts, &names);
    order
        .iter()
        .map(|group| {
            let mut own: Vec<String> = hosts[group]
                .iter()
                .map(|n| seen.name(*n).to_owned())
                .collect();
            // Nodes may come in any order, on which clusters must not depend.
            own.sort_by_cached_key(|h| natural(h));
            Cluster {
                name: names[group].clone(),
                hosts: own,
                reasons: reasons.remove(group).unwrap_or_default(),
            }
        })
        .collect()
}

/// The name itself, or the first free name with a number appended.
fn unique(name: &str, taken: &mut BTreeSet<String>) -> String {
    let free = (2..).map(|n| format!("{name}-{n}"));
    let name = std::iter::once(name.to_owned())
        .chain(free)
        .find(|n| !taken.contains(n))
        .unwrap_or_default();
    taken.insert(name.clone());
    name
}
