//! The reasons why hosts form a cluster, and why other hosts are not in it.
use super::forest::{JoinCause, SpanningForest};
use super::probes::ProbedPairs;
use super::{ClusterInput, ForestCut, NodeGroups};
use inventory::cluster_reason::ClusterReason;
use inventory::topology::NodeKind;
use std::collections::{BTreeMap, BTreeSet};

/// At most this many reasons of a kind.
const EACH: usize = 4;

/// The reasons of each group; those that join it come first. `names`: of groups that have hosts.
pub(super) fn reasons(
    seen: &ClusterInput<'_>,
    forest: &SpanningForest,
    probes: &ProbedPairs,
    groups: &NodeGroups,
    cuts: &[ForestCut],
    names: &BTreeMap<usize, String>,
) -> BTreeMap<usize, Vec<ClusterReason>> {
    let kinds = [
        switches(seen, groups),
        joins(forest, groups),
        parted(forest, groups, cuts),
        routers(seen, groups),
        routed(seen, probes, groups, names),
    ];
    let mut reasons: BTreeMap<usize, Vec<ClusterReason>> = BTreeMap::new();
    for (group, mut new) in kinds.into_iter().flatten() {
        let more = new.len().saturating_sub(EACH);
        new.truncate(EACH);
        let own = reasons.entry(group).or_default();
        own.extend(new);
        own.extend((more > 0).then_some(ClusterReason::More(more)));
    }
    reasons
}

type ReasonsByGroup = BTreeMap<usize, Vec<ClusterReason>>;

fn switches(seen: &ClusterInput<'_>, groups: &NodeGroups) -> ReasonsByGroup {
    let inner = groups.members(|n| matches!(seen.kind(n), NodeKind::Switch | NodeKind::Unmanaged));
    inner
        .into_iter()
        .map(|(group, nodes)| {
            let mut names: Vec<String> = nodes.iter().map(|n| seen.name(*n).to_owned()).collect();
            let reason = match names.len() {
                1 => ClusterReason::OneSwitch(names.remove(0)),
                _ => ClusterReason::NoRouter(names),
            };
            (group, vec![reason])
        })
        .collect()
}

/// The reason that joins a group without visible cables.
fn joins(forest: &SpanningForest, groups: &NodeGroups) -> ReasonsByGroup {
    let mut joins = ReasonsByGroup::new();
    for edge in &forest.edges {
        if let (JoinCause::Reason(why), true) =
            (&edge.cause, groups.of[edge.a] == groups.of[edge.b])
        {
            joins
                .entry(groups.of[edge.a])
                .or_default()
                .push(why.clone());
        }
    }
    joins
}

/// The cut links at which each group ends.
fn parted(forest: &SpanningForest, groups: &NodeGroups, cuts: &[ForestCut]) -> ReasonsByGroup {
    let mut parted = ReasonsByGroup::new();
    for cut in cuts {
        let edge = &forest.edges[cut.edge];
        for group in [edge.a, edge.b].map(|n| groups.of[n]) {
            parted.entry(group).or_default().push(cut.why.clone());
        }
    }
    parted
}

/// Routers that a group's switches or hosts are cabled to.
fn routers(seen: &ClusterInput<'_>, groups: &NodeGroups) -> ReasonsByGroup {
    let mut routers: BTreeMap<usize, BTreeSet<&str>> = BTreeMap::new();
    for &[a, b] in seen.ends.iter().flatten() {
        for (router, other) in [(a, b), (b, a)] {
            if seen.kind(router) == NodeKind::Router
                && seen.kind(other) != NodeKind::Router
                && groups.of[router] != groups.of[other]
            {
                routers
                    .entry(groups.of[other])
                    .or_default()
                    .insert(seen.name(router));
            }
        }
    }
    routers
        .into_iter()
        .map(|(group, names)| {
            let all = names.into_iter().map(str::to_owned).collect();
            (group, vec![ClusterReason::Routers(all)])
        })
        .collect()
}

/// For each other group one pair of hosts with a router between. The router has its address as the
/// group's own host met it, if that host probed, because a router has another address on each side.
fn routed(
    seen: &ClusterInput<'_>,
    probes: &ProbedPairs,
    groups: &NodeGroups,
    names: &BTreeMap<usize, String>,
) -> ReasonsByGroup {
    let mut routed = ReasonsByGroup::new();
    let pairs = probes.routed(|a, b| {
        let (a, b) = (groups.of[a], groups.of[b]);
        (a != b).then(|| (a.min(b), a.max(b)))
    });
    for ([a, b], ..) in pairs {
        for (here, there) in [(a, b), (b, a)] {
            let (hops, inward) = match (
                probes.routers_met(here, there),
                probes.routers_met(there, here),
            ) {
                (Some(hops), _) => (hops, false),
                (None, Some(hops)) => (hops, true),
                (None, None) => continue,
            };
            let [own, other] = [here, there].map(|n| seen.name(n).to_owned());
            let reason = ClusterReason::Routed {
                hops: hops.to_vec(),
                own,
                other,
                cluster: names.get(&groups.of[there]).cloned(),
                inward,
            };
            routed.entry(groups.of[here]).or_default().push(reason);
        }
    }
    routed
}
