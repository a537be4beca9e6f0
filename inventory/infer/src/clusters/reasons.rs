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
    let name = |node: usize| seen.nodes[node].name.clone();
    let inner =
        groups.members(|n| matches!(seen.nodes[n].kind, NodeKind::Switch | NodeKind::Unmanaged));
    let reason = |nodes: Vec<usize>| match nodes[..] {
        [one] => ClusterReason::OneSwitch(name(one)),
        _ => ClusterReason::NoRouter(nodes.into_iter().map(name).collect()),
    };
    inner
        .into_iter()
        .map(|(group, nodes)| (group, vec![reason(nodes)]))
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
            if seen.nodes[router].kind == NodeKind::Router
                && seen.nodes[other].kind != NodeKind::Router
                && groups.of[router] != groups.of[other]
            {
                routers
                    .entry(groups.of[other])
                    .or_default()
                    .insert(&seen.nodes[router].name);
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
    let of = |node: usize| groups.of[node];
    for ([a, b], ..) in
        probes.routed(|a, b| (of(a) != of(b)).then(|| (of(a).min(of(b)), of(a).max(of(b)))))
    {
        for (here, there) in [(a, b), (b, a)] {
            let (hops, inward) = match (
                probes.routers_met(here, there),
                probes.routers_met(there, here),
            ) {
                (Some(hops), _) => (hops, false),
                (None, Some(hops)) => (hops, true),
                (None, None) => continue,
            };
            let [own, other] = [here, there].map(|n| seen.nodes[n].name.clone());
            let reason = ClusterReason::Routed {
                hops: hops.to_vec(),
                own,
                other,
                cluster: names.get(&of(there)).cloned(),
                inward,
            };
            routed.entry(of(here)).or_default().push(reason);
        }
    }
    routed
}
