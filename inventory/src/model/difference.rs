//! The parts in which two topologies differ, as two small topologies.
//!
//! Source: own. Input: two topologies. Guarantee: [`diff`](crate::messages::diff::diff) and every other
//! comparison by names, links of a pair of nodes, places of a host and clusters of a host finds the
//! same in the parts as in the wholes; a property test compares them. Cost: one pass over both.
//! Equal parts at the beginning and at the end are compared in place, without any memory; only
//! the parts between are looked up. So one host that moved among 20,000 costs a comparison of the
//! links, and everything that follows works on a handful of them. Deviations: evidence and alarms
//! are not compared, as they vary while the network is the same.
use crate::model::topology::{Cluster, Link, Node, NodeKind, Topology};
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// The parts in which two topologies differ, with all that is needed to judge them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopologyDifference {
    /// The part of the earlier topology.
    pub before: Topology,
    /// The part of the later topology.
    pub after: Topology,
}

impl TopologyDifference {
    /// The difference of two topologies; `None` if they are equal but for evidence, alarms, the
    /// reasons of clusters, and order.
    pub fn between(before: &Topology, after: &Topology) -> Option<TopologyDifference> {
        let nodes = unequal(&before.nodes, &after.nodes, node_key);
        let links = unequal(&before.links, &after.links, link_key);
        let moved = moved_between_clusters(&before.clusters, &after.clusters);
        if nodes.is_empty() && links.is_empty() && moved.is_none() && roots(before) == roots(after)
        {
            return None;
        }
        let joined = moved.unwrap_or_default();
        let scope = DifferenceScope {
            nodes: nodes.iter().map(|n| n.name.as_str()).collect(),
            pairs: links.iter().map(|l| pair(l)).collect(),
            attached: links
                .iter()
                .map(|l| l.b.as_str())
                .chain(joined.iter().copied())
                .collect(),
            joined,
        };
        let links = [before, after].map(|t| scope.links(t));
        // A node that only one side links must not seem to be new or gone.
        let ends = links.iter().flatten().flat_map(|l| [&l.a, &l.b]);
        let named: HashSet<&str> = ends
            .map(String::as_str)
            .chain(scope.nodes.iter().copied())
            .chain(scope.joined.iter().copied())
            .collect();
        Some(TopologyDifference {
            before: scope.part(before, &links[0], &named),
            after: scope.part(after, &links[1], &named),
        })
    }

    /// The hosts with a link that differs; `None` if anything else differs, such as a link between
    /// switches or the kind of a node.
    pub fn only_hosts(&self) -> Option<HashSet<&str>> {
        let (before, after) = (&self.before, &self.after);
        let hosts = [before, after].map(|t| t.names(NodeKind::Host).collect::<HashSet<_>>());
        let same_names = before
            .clusters
            .iter()
            .map(|c| &c.name)
            .eq(after.clusters.iter().map(|c| &c.name));
        if roots(before) != roots(after) || !same_names {
            return None;
        }
        let both: HashMap<&str, NodeKind> = before.kinds();
        let other_nodes = unequal(&before.nodes, &after.nodes, node_key)
            .into_iter()
            .any(|n| {
                n.kind != NodeKind::Host || both.get(n.name.as_str()).is_some_and(|k| *k != n.kind)
            });
        let links = unequal(&before.links, &after.links, link_key);
        if other_nodes
            || links.iter().any(|l| {
                let [a, b] = [&l.a, &l.b].map(|end| hosts.iter().any(|h| h.contains(end.as_str())));
                a || !b
            })
        {
            return None;
        }
        let clusters = before.clusters.iter().chain(&after.clusters);
        let members = clusters.flat_map(|c| c.hosts.iter().map(String::as_str));
        Some(links.iter().map(|l| l.b.as_str()).chain(members).collect())
    }
}

fn roots(t: &Topology) -> (Option<String>, Vec<String>) {
    (t.root_bridge.clone(), t.further_root_bridges.clone())
}

/// The names that belong to a difference.
struct DifferenceScope<'a> {
    /// Nodes that differ.
    nodes: HashSet<&'a str>,
    /// Pairs of nodes with a link that differs: parallel links are distinguished by each other.
    pairs: HashSet<(&'a str, &'a str)>,
    /// The far ends of such links: the other places of a host matter.
    attached: HashSet<&'a str>,
    /// Hosts that changed their cluster.
    joined: HashSet<&'a str>,
}

impl DifferenceScope<'_> {
    fn links<'t>(&self, whole: &'t Topology) -> Vec<&'t Link> {
        whole
            .links
            .iter()
            .filter(|l| {
                self.attached.contains(l.b.as_str())
                    || self.pairs.contains(&pair(l))
                    || self.nodes.contains(l.a.as_str())
                    || self.nodes.contains(l.b.as_str())
            })
            .collect()
    }

    fn part(&self, whole: &Topology, links: &[&Link], named: &HashSet<&str>) -> Topology {
        let nodes = whole.nodes.iter();
        let clusters = whole.clusters.iter().map(|c| Cluster {
            name: c.name.clone(),
            hosts: c
                .hosts
                .iter()
                .filter(|h| self.joined.contains(h.as_str()))
                .cloned()
                .collect(),
            reasons: c.reasons.clone(),
        });
        Topology {
            clusters: clusters.collect(),
            nodes: nodes
                .filter(|n| named.contains(n.name.as_str()))
                .cloned()
                .collect(),
            links: links.iter().map(|l| (*l).clone()).collect(),
            alarms: Vec::new(),
            root_bridge: whole.root_bridge.clone(),
            further_root_bridges: whole.further_root_bridges.clone(),
            networks: whole.networks.clone(),
            network: whole.network.clone(),
            way_addresses: Vec::new(),
        }
    }
}

fn node_key(node: &Node) -> impl Hash + Eq + '_ {
    (node.name.as_str(), node.kind, node.stale)
}

fn link_key(l: &Link) -> impl Hash + Eq + '_ {
    let ends = (
        l.a.as_str(),
        l.a_port.as_str(),
        l.b.as_str(),
        l.b_port.as_str(),
    );
    (ends, l.rate_bps, l.state, l.grade)
}

/// The two ends, in an order that does not depend on the side from which the link is written.
fn pair(link: &Link) -> (&str, &str) {
    let (a, b) = (link.a.as_str(), link.b.as_str());
    (a.min(b), a.max(b))
}

/// The elements of either side that the other side does not have as often.
fn unequal<'a, T, K: Hash + Eq>(
    before: &'a [T],
    after: &'a [T],
    key: impl Fn(&'a T) -> K,
) -> Vec<&'a T> {
    let same = |(x, y): &(&'a T, &'a T)| key(x) == key(y);
    let head = before.iter().zip(after).take_while(same).count();
    let (before, after) = (&before[head..], &after[head..]);
    let ends = before.iter().rev().zip(after.iter().rev());
    let tail = ends.take_while(same).count();
    let (before, after) = (&before[..before.len() - tail], &after[..after.len() - tail]);
    let mut surplus: HashMap<K, i32> = HashMap::with_capacity(before.len());
    before
        .iter()
        .for_each(|x| *surplus.entry(key(x)).or_default() += 1);
    after
        .iter()
        .for_each(|x| *surplus.entry(key(x)).or_default() -= 1);
    surplus.retain(|_, n| *n != 0);
    if surplus.is_empty() {
        return Vec::new();
    }
    let both = before.iter().chain(after);
    both.filter(|&x| surplus.contains_key(&key(x))).collect()
}

/// The hosts that are in another cluster than before, or in one and then in none; `None` if the
/// clusters and their hosts are the same.
fn moved_between_clusters<'a>(
    before: &'a [Cluster],
    after: &'a [Cluster],
) -> Option<HashSet<&'a str>> {
    let mut both = before.iter().zip(after);
    if before.len() == after.len() && both.all(|(x, y)| x.name == y.name && x.hosts == y.hosts) {
        return None;
    }
    let (was, is) = (members(before), members(after));
    let moved: HashSet<&str> = unequal(&was, &is, |m| *m)
        .into_iter()
        .map(|m| m.0)
        .collect();
    (!moved.is_empty() || names(before) != names(after)).then_some(moved)
}

fn members(clusters: &[Cluster]) -> Vec<(&str, &str)> {
    let each = clusters.iter().flat_map(|c| {
        let name = c.name.as_str();
        c.hosts.iter().map(move |host| (host.as_str(), name))
    });
    each.collect::<Vec<(&str, &str)>>()
}

fn names(clusters: &[Cluster]) -> HashSet<&str> {
    clusters.iter().map(|c| c.name.as_str()).collect()
}

#[cfg(test)]
mod tests;
