//! A routed hop between two hosts parts them, even if cables join them: then they are in two
//! virtual LANs.
//!
//! Hosts that no hop parts stay together as far as cables join them; hosts that were not probed
//! follow their switch. If a probe met no hop although the cables lead through a router, it took
//! another path, for example over a management network. Such a probe joins nothing.
use super::ClusterInput;
use super::forest::{JoinCause, SpanningForest};
use super::probes::{HostsBetween, ProbedPairs};
use inventory::alarm::{Alarm, AlarmKind};
use inventory::natural_order::natural;
use petgraph::unionfind::UnionFind;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The group of every node.
pub(super) fn groups(
    seen: &ClusterInput<'_>,
    forest: &SpanningForest,
    probes: &ProbedPairs,
    alarms: &mut Vec<Alarm>,
) -> Vec<usize> {
    let trees = forest.sides(&BTreeSet::new());
    let mut bridged = UnionFind::new(seen.nodes.len());
    let mut crossed = BTreeSet::new();
    for ([a, b], way) in probes.between() {
        if !matches!(way, HostsBetween::Nothing) {
            continue;
        }
        if trees[a] == trees[b] {
            bridged.union(a, b);
        } else if crossed.insert((trees[a].min(trees[b]), trees[a].max(trees[b]))) {
            alarms.push(between(seen, probes.direct([a, b]), AlarmKind::RouterUnmet));
        }
    }
    let mut apart = Vec::new();
    for ([a, b], way) in probes.between() {
        match way {
            HostsBetween::Nothing => {}
            // Where other probes bridge the two all the same, frames pass between them, and these hops are a detour.
            HostsBetween::Routers(hops) if bridged.find(a) != bridged.find(b) => {
                // Different trees are parted already.
                if trees[a] == trees[b] {
                    apart.push((a, b, hops));
                }
            }
            HostsBetween::Routers(hops) | HostsBetween::Contradiction(hops) => {
                alarms.push(between(
                    seen,
                    [a, b],
                    AlarmKind::ProbesDiffer {
                        hops: hops.to_vec(),
                    },
                ));
            }
        }
    }
    if apart.is_empty() {
        return trees;
    }
    let mut parts = HopPartition::new(bridged, apart.iter().map(|(a, b, _)| (*a, *b)));
    parts.follow_switches(seen, forest);
    let of: Vec<usize> = (0..seen.nodes.len()).map(|n| parts.of.find(n)).collect();
    // Two virtual LANs are one problem, however many pairs of their hosts were probed.
    let mut reported = BTreeSet::new();
    for (a, b, hops) in apart {
        if reported.insert((of[a].min(of[b]), of[a].max(of[b]))) {
            let hops = hops.to_vec();
            alarms.push(between(seen, [a, b], AlarmKind::VirtualLans { hops }));
        }
    }
    of
}

/// The result of the probes between two hosts.
fn between(seen: &ClusterInput<'_>, [a, b]: [usize; 2], kind: AlarmKind) -> Alarm {
    Alarm::between(seen.name(a), seen.name(b), kind)
}

/// Groups that grow along cables but never join hosts that a hop parts.
struct HopPartition {
    of: UnionFind<usize>,
    /// By representative of a group: the groups that it must not join.
    apart: BTreeMap<usize, HashSet<usize>>,
}

impl HopPartition {
    fn new(of: UnionFind<usize>, apart: impl Iterator<Item = (usize, usize)>) -> HopPartition {
        let mut parts = HopPartition {
            of,
            apart: BTreeMap::new(),
        };
        for (a, b) in apart {
            let (a, b) = (parts.of.find(a), parts.of.find(b));
            parts.apart.entry(a).or_default().insert(b);
            parts.apart.entry(b).or_default().insert(a);
        }
        parts
    }

    fn follow_switches(&mut self, seen: &ClusterInput<'_>, forest: &SpanningForest) {
        let mut at: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let (attachments, trunks): (Vec<_>, Vec<_>) = forest
            .edges
            .iter()
            .partition(|e| seen.is_host(e.b) && matches!(e.cause, JoinCause::Cable(_)));
        for edge in attachments {
            at.entry(edge.a).or_default().push(edge.b);
        }
        for (switch, mut hosts) in at {
            // Hosts with probes come first, so that the others join the switch's own group.
            hosts.sort_by_cached_key(|h| {
                (
                    !self.apart.contains_key(&self.of.find(*h)),
                    natural(seen.name(*h)),
                )
            });
            for (i, host) in hosts.iter().enumerate() {
                let joined = self.join(switch, *host);
                let _follows = joined || hosts[..i].iter().any(|other| self.join(*other, *host));
            }
        }
        for trunk in trunks {
            self.join(trunk.a, trunk.b);
        }
    }

    /// Joins two groups unless a hop is between them. Returns whether they are one group now.
    fn join(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.of.find(a), self.of.find(b));
        if a == b {
            return true;
        }
        if self.apart.get(&a).is_some_and(|others| others.contains(&b)) {
            return false;
        }
        self.of.union(a, b);
        let (kept, gone) = if self.of.find(a) == a { (a, b) } else { (b, a) };
        for other in self.apart.remove(&gone).unwrap_or_default() {
            if let Some(others) = self.apart.get_mut(&other) {
                others.remove(&gone);
                others.insert(kept);
            }
            self.apart.entry(kept).or_default().insert(other);
        }
        true
    }
}
