//! The places where no switch answers: hosts on a bridge that nobody asked.
use super::mapping_target::{MappingTarget, TargetSubject};
use inventory::topology::{Link, NodeKind, Topology};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// With fewer hosts on a bridge no trunk behind it can bound a schedule.
const LEAST_HOSTS: usize = 3;
/// All places of a topology.
pub(super) fn unmanaged_places(topology: &Topology) -> Vec<MappingTarget> {
    let kinds: HashMap<&str, NodeKind> = topology
        .nodes
        .iter()
        .map(|n| (n.name.as_str(), n.kind))
        .collect();
    let is = |name: &str, kind| kinds.get(name) == Some(&kind);
    // Flows told bridges of one place apart; the way in has the shortest name.
    let mut place_of: BTreeMap<&str, &str> = BTreeMap::new();
    let bridges = topology
        .nodes
        .iter()
        .filter(|n| n.kind == NodeKind::Unmanaged);
    place_of.extend(bridges.map(|n| (n.name.as_str(), n.name.as_str())));
    let both = |l: &&Link| [&l.a, &l.b].iter().all(|end| is(end, NodeKind::Unmanaged));
    for link in topology
        .links
        .iter()
        .filter(both)
        .filter(|l| l.is_measured())
    {
        let [a, b] = [place_of[link.a.as_str()], place_of[link.b.as_str()]];
        let whole = if (a.len(), a) < (b.len(), b) { a } else { b };
        for place in place_of.values_mut().filter(|p| **p == a || **p == b) {
            *place = whole;
        }
    }
    let mut hosts: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let carrying = topology.links.iter().filter(|link| link.carries_frames());
    for link in carrying.filter(|link| is(&link.b, NodeKind::Host)) {
        if let Some(place) = place_of.get(link.a.as_str()) {
            hosts.entry(place).or_default().insert(&link.b);
        }
    }
    let place = |(bridge, hosts): (&str, BTreeSet<&str>)| MappingTarget {
        subject: TargetSubject::Bridge(bridge.to_owned()),
        hosts: hosts.into_iter().map(str::to_owned).collect(),
    };
    let several = hosts
        .into_iter()
        .filter(|(_, hosts)| hosts.len() >= LEAST_HOSTS);
    several.map(place).collect()
}
