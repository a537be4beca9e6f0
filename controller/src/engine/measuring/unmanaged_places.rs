//! The places where no switch answers: hosts on a bridge that nobody asked. Where no switch is listed,
//! the switches that hosts hear belong to the place of their bridge.
use super::target::{MappingTarget, TargetSubject};
use inventory::evidence::Evidence;
use inventory::topology::{Link, NodeKind, Topology};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// With fewer hosts on a bridge no trunk behind it can bound a schedule.
const LEAST_HOSTS: usize = 3;

/// The bridges of a topology, by the places that they belong to.
pub(super) struct UnmanagedPlaces<'t> {
    topology: &'t Topology,
    kinds: HashMap<&'t str, NodeKind>,
    /// The first bridge of the place of each bridge and switch.
    place_of: BTreeMap<&'t str, &'t str>,
}

impl<'t> UnmanagedPlaces<'t> {
    /// `alone` is set where the inventory lists no switch.
    pub(super) fn new(topology: &'t Topology, alone: bool) -> UnmanagedPlaces<'t> {
        let kinds = topology.kinds();
        let names = topology.nodes.iter().map(|node| node.name.as_str());
        let members = names.filter(|name| match kinds.get(name) {
            Some(NodeKind::Unmanaged) => true,
            Some(NodeKind::Switch) => alone,
            _ => false,
        });
        let mut places = UnmanagedPlaces {
            topology,
            place_of: members.map(|name| (name, name)).collect(),
            kinds,
        };
        // Flows distinguished bridges of one place, and cables of switches lead on to others.
        let carrying = topology.links.iter().filter(|link| link.carries_frames());
        let inside: Vec<&Link> = carrying.filter(|link| places.is_inside(link)).collect();
        inside.into_iter().for_each(|link| places.join(link));
        places
    }

    /// True for a cable within a place.
    fn is_inside(&self, link: &Link) -> bool {
        let ends = [&link.a, &link.b].map(|end| end.as_str());
        ends.iter().all(|end| self.place_of.contains_key(end))
            && (link.is_measured() || ends.iter().any(|end| self.kinds[end] == NodeKind::Switch))
    }

    fn join(&mut self, link: &Link) {
        let [a, b] = [&link.a, &link.b].map(|end| self.place_of[end.as_str()]);
        let whole = if self.order(a) < self.order(b) { a } else { b };
        for place in self.place_of.values_mut().filter(|p| **p == a || **p == b) {
            *place = whole;
        }
    }

    /// The bridge of a network is the first of its place, then the way in, which has the shortest
    /// name.
    fn order(&self, name: &'t str) -> (bool, bool, usize, &'t str) {
        let mut links = self
            .topology
            .links
            .iter()
            .filter(|link| link.a == name || link.b == name);
        let is_of_network = links.any(|link| {
            link.evidence
                .iter()
                .any(|e| matches!(e, Evidence::SharesNetwork(_)))
        });
        let is_switch = self.kinds[name] == NodeKind::Switch;
        (is_switch, !is_of_network, name.len(), name)
    }

    /// All places with some hosts, but those of one switch and nothing else.
    pub(super) fn targets(&self) -> Vec<MappingTarget> {
        let mut hosts: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let carrying = self.topology.links.iter();
        for link in carrying.filter(|link| link.carries_frames()) {
            let is_host = self.kinds.get(link.b.as_str()) == Some(&NodeKind::Host);
            if let Some(place) = self.place_of.get(link.a.as_str()).filter(|_| is_host) {
                hosts.entry(place).or_default().insert(&link.b);
            }
        }
        hosts
            .into_iter()
            .filter(|(bridge, hosts)| {
                self.kinds[bridge] == NodeKind::Unmanaged && hosts.len() >= LEAST_HOSTS
            })
            .map(|(bridge, hosts)| MappingTarget {
                subject: TargetSubject::Bridge(bridge.to_owned()),
                hosts: hosts.into_iter().map(str::to_owned).collect(),
            })
            .collect()
    }

    /// True if nothing tells the rate of a switch's cable in this place.
    pub(super) fn is_open(&self, place: &MappingTarget) -> bool {
        let TargetSubject::Bridge(bridge) = &place.subject else {
            return false;
        };
        let mut links = self
            .topology
            .links
            .iter()
            .filter(|link| self.place_of.get(link.a.as_str()) == Some(&bridge.as_str()));
        links.any(|link| {
            self.is_inside(link) && link.evidence.iter().any(|e| matches!(e, Evidence::Rate(_)))
        })
    }
}
