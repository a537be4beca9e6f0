//! Links so slow that LG pays off: the blocks that must cross such a link take longer than the
//! steps that LG adds on both sides.
//!
//! Source: the bounds in schedules (aapc-2007 section 3) for an all-to-all with one block per pair.
//! Whatever the algorithm, `n1 * n2` blocks cross a link between `n1` and `n2` hosts. LG sends them
//! in few messages; for that it first passes at most one additional block per host over each host's
//! cable. It pays off if the link needs far longer than that:
//! `n1 * n2 / rate >= PAYS * (n1 + n2 - 1) / rate of a host`. A link as fast as a host's is never
//! slow, however many hosts it joins, because schedules without LG keep it busy, too.
use super::delay::link;
use super::forest::{JoinCause, SpanningForest};
use super::{ClusterInput, ForestCut, NodeGroups};
use inventory::BitsPerSec;
use inventory::cluster_reason::ClusterReason;
use std::collections::BTreeMap;

/// The link must need at least this many times the time of LG's own exchange.
const PAYS: u64 = 4;
/// A slow link has at most the rate of a host divided by this.
const PART: u64 = 2;

/// The slow links inside each group, slowest first; parts the groups.
pub(super) fn slow_links(
    seen: &ClusterInput<'_>,
    forest: &SpanningForest,
    groups: &mut NodeGroups,
) -> Vec<ForestCut> {
    let mut cuts = Vec::new();
    loop {
        // Each cut leaves fewer hosts on the sides of the other links, so these are judged again.
        let next = slowest(seen, forest, groups);
        if next.is_empty() {
            return cuts;
        }
        groups.cut(forest, &next);
        cuts.extend(next);
    }
}

/// The slowest link of each group for which LG pays off.
fn slowest(
    seen: &ClusterInput<'_>,
    forest: &SpanningForest,
    groups: &NodeGroups,
) -> Vec<ForestCut> {
    let hosts = groups.members(|n| seen.is_host(n));
    let host_rates = typical(seen, forest, groups);
    let below = forest.below(&groups.of, |n| u64::from(seen.is_host(n)));
    let mut worst: BTreeMap<usize, (BitsPerSec, usize)> = BTreeMap::new();
    for (i, edge) in forest.edges.iter().enumerate() {
        let group = groups.of[edge.a];
        let Some(rate) = rate(seen, forest, i).filter(|_| {
            group == groups.of[edge.b] && !seen.is_host(edge.a) && !seen.is_host(edge.b)
        }) else {
            continue;
        };
        let Some(&host) = host_rates.get(&group) else {
            continue;
        };
        let sides = [below[i], hosts[&group].len() as u64 - below[i]];
        if pays(rate, host, sides) && worst.get(&group).is_none_or(|(slowest, _)| rate < *slowest) {
            worst.insert(group, (rate, i));
        }
    }
    worst
        .into_iter()
        .map(|(group, (rate, edge))| ForestCut {
            edge,
            why: ClusterReason::SlowLink {
                link: link(seen, forest, edge),
                rate,
                hosts: host_rates[&group],
            },
        })
        .collect()
}

fn pays(rate: BitsPerSec, host: BitsPerSec, [n1, n2]: [u64; 2]) -> bool {
    let [rate, host] = [rate, host].map(|r| u128::from(r.0));
    let crossing = u128::from(n1) * u128::from(n2) * host;
    let added = u128::from((n1 + n2).saturating_sub(1)) * rate;
    n1.min(n2) >= 2 && rate * u128::from(PART) <= host && crossing >= u128::from(PAYS) * added
}

/// The rate of a cable, if it is known.
fn rate(seen: &ClusterInput<'_>, forest: &SpanningForest, edge: usize) -> Option<BitsPerSec> {
    let JoinCause::Cable(i) = forest.edges[edge].cause else {
        return None;
    };
    let link = &seen.links[i];
    link.rate_is_known().then_some(link.rate_bps)
}

/// The median rate of the hosts' cables in each group.
fn typical(
    seen: &ClusterInput<'_>,
    forest: &SpanningForest,
    groups: &NodeGroups,
) -> BTreeMap<usize, BitsPerSec> {
    let mut rates: BTreeMap<usize, Vec<BitsPerSec>> = BTreeMap::new();
    for (i, edge) in forest
        .edges
        .iter()
        .enumerate()
        .filter(|(_, e)| seen.is_host(e.b))
    {
        rates
            .entry(groups.of[edge.b])
            .or_default()
            .extend(rate(seen, forest, i));
    }
    rates
        .into_iter()
        .filter_map(|(group, mut rates)| {
            rates.sort_unstable();
            Some((group, *rates.get(rates.len() / 2)?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_pays_from_the_ratio_the_bound_gives() {
        let g = |tenths: u64| BitsPerSec(tenths * 100_000_000);
        assert!(
            pays(g(5), g(10), [8, 8]) && !pays(g(6), g(10), [8, 8]),
            "half a host's rate"
        );
        assert!(
            !pays(g(5), g(10), [2, 2]) && !pays(g(4), g(10), [2, 2]) && pays(g(3), g(10), [2, 2]),
            "2 * 2 * 10 >= 4 * 3 * 3"
        );
        assert!(
            !pays(BitsPerSec(1), g(10), [1, 100]),
            "one host sends as many messages by lg as without"
        );
        assert!(!pays(BitsPerSec(0), BitsPerSec(0), [0, 0]));
    }
}
