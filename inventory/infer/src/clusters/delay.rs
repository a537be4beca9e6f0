//! Long links, found by round-trip times: every pair of hosts on different sides is far apart, and
//! pairs on one side are near.
//!
//! Noise only adds to a round trip, and it adds to pairs and hosts, not to links. So one near pair
//! across a link proves that the link is short. Far pairs prove nothing unless long links explain
//! (nearly) all of them.
use super::forest::{JoinCause, SpanningForest};
use super::probes::ProbedPairs;
use super::{ClusterInput, ForestCut, NodeGroups};
use inventory::cluster_reason::{ClusterReason, ForestEdge};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A far round trip takes at least this many times as long as a near one.
const FACTOR: u32 = 4;
/// It also takes at least this much longer, in microseconds: 50 km of fibre and back. A smaller
/// difference is not worth saving start-ups.
const MARGIN_US: u32 = 500;
/// At least this many pairs must be far across a link, two of them without a common host, because a
/// slow host is not a long link.
const PAIRS: usize = 4;
/// At most one pair in this many may be between near and far.
const BETWEEN: usize = 20;
/// At most one far pair in this many may be far without a long link.
const UNEXPLAINED: usize = 10;

/// Two hosts, and the round-trip time between them in microseconds.
#[derive(Clone, Copy)]
struct PairDelay {
    ends: [usize; 2],
    us: u32,
}

/// The long links inside each group.
pub(super) fn long_links(
    seen: &ClusterInput<'_>,
    forest: &SpanningForest,
    probes: &ProbedPairs,
    groups: &NodeGroups,
) -> Vec<ForestCut> {
    let mut trips: BTreeMap<usize, Vec<PairDelay>> = BTreeMap::new();
    for (ends, us) in probes.trips().filter(|([a, b], _)| {
        forest.is_placed(*a) && forest.is_placed(*b) && groups.of[*a] == groups.of[*b]
    }) {
        trips
            .entry(groups.of[ends[0]])
            .or_default()
            .push(PairDelay { ends, us });
    }
    trips
        .into_values()
        .flat_map(|trips| in_group(seen, forest, trips))
        .collect()
}

/// Tries every gap in the round-trip times, the shortest times first.
fn in_group(
    seen: &ClusterInput<'_>,
    forest: &SpanningForest,
    mut trips: Vec<PairDelay>,
) -> Vec<ForestCut> {
    trips.sort_by_key(|t| (t.us, t.ends));
    let (mut near, mut far) = (0, 0);
    while near < trips.len() {
        let limit = trips[near]
            .us
            .saturating_mul(FACTOR)
            .max(trips[near].us.saturating_add(MARGIN_US));
        while far < trips.len() && trips[far].us < limit {
            far += 1;
        }
        if trips.len() - far < PAIRS {
            break;
        }
        if (far - near - 1) * BETWEEN > trips.len() {
            near += 1;
            continue;
        }
        let cuts = explained(seen, forest, &trips[..=near], &trips[far..]);
        if !cuts.is_empty() {
            return cuts;
        }
        near = far;
    }
    Vec::new()
}

/// The smallest set of links between switches that only far pairs cross, if these links explain the
/// far pairs.
fn explained(
    seen: &ClusterInput<'_>,
    forest: &SpanningForest,
    near: &[PairDelay],
    far: &[PairDelay],
) -> Vec<ForestCut> {
    // A host that is near no other is slow itself, or proves nothing about links.
    let social: BTreeSet<usize> = near.iter().flat_map(|t| t.ends).collect();
    let far: Vec<&PairDelay> = far
        .iter()
        .filter(|t| t.ends.iter().all(|h| social.contains(h)))
        .collect();
    let mut short = BTreeSet::new();
    for trip in near {
        forest.path(trip.ends[0], trip.ends[1], |e| {
            short.insert(e);
        });
    }
    let mut across: BTreeMap<usize, Vec<&PairDelay>> = BTreeMap::new();
    for trip in &far {
        forest.path(trip.ends[0], trip.ends[1], |e| {
            let ends = [forest.edges[e].a, forest.edges[e].b];
            if !ends.iter().any(|n| seen.is_host(*n)) && !short.contains(&e) {
                across.entry(e).or_default().push(trip);
            }
        });
    }
    let most = near.last().map_or(0, |t| t.us);
    let (cuts, unexplained) = cuts(seen, forest, across, (far.len(), most));
    if unexplained * UNEXPLAINED > far.len() {
        return Vec::new();
    }
    cuts
}

/// Cuts at the edges that most far pairs cross, until too few pairs are left. Also returns the
/// number of far pairs that no cut explains. `most` is the longest round trip of a near pair.
fn cuts(
    seen: &ClusterInput<'_>,
    forest: &SpanningForest,
    mut across: BTreeMap<usize, Vec<&PairDelay>>,
    (mut unexplained, most): (usize, u32),
) -> (Vec<ForestCut>, usize) {
    let mut cuts = Vec::new();
    // If the same pairs cross several links in a row, any one of these links explains them all.
    while let Some((&edge, trips)) = across
        .iter()
        .max_by_key(|(edge, trips)| (trips.len(), Reverse(**edge)))
        && trips.len() >= PAIRS
        && two_disjoint(trips)
    {
        let explained: BTreeSet<[usize; 2]> = trips.iter().map(|t| t.ends).collect();
        unexplained -= explained.len();
        let least = trips.iter().map(|t| t.us).min().unwrap_or_default();
        let same = across.iter().filter(|(_, trips)| {
            trips.len() == explained.len() && trips.iter().all(|t| explained.contains(&t.ends))
        });
        let links = same.map(|(edge, _)| link(seen, forest, *edge)).collect();
        let why = ClusterReason::LongLinks {
            links,
            least_us: at_least(least),
            most_us: at_most(most),
        };
        cuts.push(ForestCut { edge, why });
        for trips in across.values_mut() {
            trips.retain(|t| !explained.contains(&t.ends));
        }
    }
    (cuts, unexplained)
}

/// True if two of the pairs have no host in common.
fn two_disjoint(trips: &[&PairDelay]) -> bool {
    let [a, b] = trips[0].ends;
    let without = |h: usize| trips.iter().filter(move |t| !t.ends.contains(&h));
    // All pairs share a host with the first pair. No two are disjoint only if all share one host,
    // or if three hosts form a triangle.
    if trips
        .iter()
        .any(|t| !t.ends.contains(&a) && !t.ends.contains(&b))
    {
        return true;
    }
    without(a).any(|x| without(b).any(|y| x.ends.iter().all(|h| !y.ends.contains(h))))
}

/// The link or path that an edge of the forest stands for.
pub(super) fn link(seen: &ClusterInput<'_>, forest: &SpanningForest, edge: usize) -> ForestEdge {
    match forest.edges[edge].cause {
        JoinCause::Cable(i) => ForestEdge::Link(seen.links[i].a.clone(), seen.links[i].b.clone()),
        JoinCause::Reason(_) => {
            let [a, b] =
                [forest.edges[edge].a, forest.edges[edge].b].map(|n| seen.name(n).to_owned());
            ForestEdge::Way(a, b)
        }
    }
}

/// A time rounded down to one digit: `0.2 ms`, `30 ms`. Round trips vary between measurements, but
/// a reason should not.
fn at_least(us: u32) -> u32 {
    us / unit(us) * unit(us)
}

/// A time rounded up to one digit.
fn at_most(us: u32) -> u32 {
    us.div_ceil(unit(us)).saturating_mul(unit(us))
}

/// The value of a 1 in the place of its first digit.
fn unit(us: u32) -> u32 {
    10_u32.pow(us.max(1).ilog10())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_round() {
        assert_eq!(
            [0, 7, 187, 20_412, 999_999].map(at_least),
            [0, 7, 100, 20_000, 900_000]
        );
        assert_eq!(
            [1, 187, 20_412, u32::MAX].map(at_most),
            [1, 200, 30_000, 4_294_967_295]
        );
    }
}
