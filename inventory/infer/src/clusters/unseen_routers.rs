//! A router that the packets of host agents pass and that no switch names. Without it the network
//! would be in parts, and planning would be impossible.
//!
//! The router stands for everything in between: one node, cabled to each part that packets went
//! from or to, at the part's first root bridge. It is added only if packets arrived: parts without
//! any connection stay apart. Its links are *inferred*, with the rate of the slowest host, and an
//! alarm states the assumption.
use super::ClusterInput;
use super::probes::ProbedPairs;
use inventory::BitsPerSec;
use inventory::alarm::{Alarm, AlarmKind};
use inventory::evidence::{AssumedRate, Evidence};
use inventory::natural_order::natural;
use inventory::topology::{Link, LinkGrade, LinkState, Node, NodeKind};
use petgraph::unionfind::UnionFind;
use std::collections::{BTreeMap, BTreeSet};

/// A router to add, with its alarm.
pub(crate) struct UnseenRouter {
    /// The router.
    pub(crate) node: Node,
    /// Its cables.
    pub(crate) links: Vec<Link>,
    /// The alarm that states the assumption.
    pub(crate) alarm: Alarm,
}

/// A router for every set of parts that packets pass between. `roots`: the root bridges.
pub(crate) fn unseen_routers(seen: &ClusterInput<'_>, roots: &[String]) -> Vec<UnseenRouter> {
    let probes = ProbedPairs::new(seen);
    if probes.arrived().next().is_none() {
        return Vec::new();
    }
    let parts = bridged_parts(seen);
    let mut joined = UnionFind::new(seen.nodes.len());
    let mut ways: Vec<(usize, Evidence)> = Vec::new();
    for ([a, b], hops) in probes.arrived() {
        // The first packets between two parts are evidence enough.
        if parts.find(a) != parts.find(b) && joined.union(parts.find(a), parts.find(b)) {
            let [from, to] = [a, b].map(|n| seen.name(n).to_owned());
            ways.push((
                parts.find(a),
                Evidence::RoutedHops {
                    hops: hops.to_vec(),
                    from,
                    to,
                },
            ));
        }
    }
    let mut by_router: BTreeMap<usize, (BTreeSet<usize>, Vec<Evidence>)> = BTreeMap::new();
    let involved: BTreeSet<usize> = (0..seen.nodes.len()).map(|n| parts.find(n)).collect();
    for part in involved {
        by_router
            .entry(joined.find(part))
            .or_default()
            .0
            .insert(part);
    }
    for (part, way) in ways {
        by_router.entry(joined.find(part)).or_default().1.push(way);
    }
    let mut taken: BTreeSet<String> = seen.nodes.iter().map(|n| n.name.clone()).collect();
    let several = by_router
        .into_values()
        .filter(|(parts, ways)| parts.len() > 1 && !ways.is_empty());
    several
        .map(|(of, ways)| {
            let parts_of = of.iter();
            let places = parts_of.filter_map(|part| place(seen, roots, |n| parts.find(n) == *part));
            let name = super::unique("unseen-router", &mut taken);
            router(seen, name, &places.collect(), ways)
        })
        .collect()
}

/// The parts of the network that are joined by links which carry frames.
fn bridged_parts(seen: &ClusterInput<'_>) -> UnionFind<usize> {
    let mut parts = UnionFind::new(seen.nodes.len());
    for (link, ends) in seen.links.iter().zip(seen.ends) {
        if let Some([a, b]) = ends.filter(|_| link.carries_frames()) {
            parts.union(a, b);
        }
    }
    parts
}

/// The node of a part that is assumed to be cabled to the router: a router of the part, its root
/// bridge, or its first switch.
fn place(
    seen: &ClusterInput<'_>,
    roots: &[String],
    inside: impl Fn(usize) -> bool,
) -> Option<usize> {
    (0..seen.nodes.len())
        .filter(|n| inside(*n) && !seen.is_host(*n))
        .min_by_key(|n| {
            let node = &seen.nodes[*n];
            let rank = match node.kind {
                NodeKind::Router => 0,
                _ if roots.contains(&node.name) => 1,
                NodeKind::Switch => 2,
                NodeKind::Unmanaged | NodeKind::Host => 3,
            };
            (rank, natural(&node.name))
        })
}

fn router(
    seen: &ClusterInput<'_>,
    name: String,
    at: &BTreeSet<usize>,
    ways: Vec<Evidence>,
) -> UnseenRouter {
    let rate_bps = seen
        .links
        .iter()
        .filter(|l| {
            seen.nodes
                .iter()
                .any(|n| n.kind == NodeKind::Host && n.name == l.b)
        })
        .map(|l| l.rate_bps)
        .min()
        .unwrap_or(BitsPerSec::GIGABIT);
    let mut evidence = ways;
    evidence.truncate(4);
    evidence.push(Evidence::PlaceAssumed);
    evidence.push(Evidence::Rate(AssumedRate::AsSlowestHost(rate_bps)));
    let ends = at.iter().map(|n| seen.name(*n).to_owned()).collect();
    let kind = AlarmKind::RouterUnseen {
        way: evidence[0].clone(),
        at: ends,
        rate: rate_bps,
    };
    UnseenRouter {
        links: at
            .iter()
            .map(|n| Link {
                a: seen.name(*n).to_owned(),
                a_port: String::new(),
                b: name.clone(),
                b_port: String::new(),
                members: vec![],
                rate_bps,
                state: LinkState::Forwarding,
                grade: LinkGrade::Inferred,
                evidence: evidence.clone(),
            })
            .collect(),
        alarm: Alarm::node(&name, kind),
        node: Node::new(name, NodeKind::Router),
    }
}
