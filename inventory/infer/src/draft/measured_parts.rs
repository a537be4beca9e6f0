//! The parts of the network that flows measure as one place: a bridge that nobody asked, with its
//! hosts. Where no switch is listed, switches that hosts hear belong to it, with what is behind their
//! ports.
use crate::draft::{DraftLink, DraftNetwork};
use crate::facts::NodeIx;
use inventory::evidence::Evidence;
use inventory::mapped_place::MappedPlace;
use inventory::topology::NodeKind;
use petgraph::unionfind::UnionFind;
use std::collections::{BTreeMap, BTreeSet};

/// Bridges that nobody asked, and hosts.
pub(crate) struct MeasuredPart {
    /// The first one is that of the network.
    pub(crate) bridges: Vec<NodeIx>,
    /// All its hosts, with the switch that each hears.
    pub(crate) hosts: BTreeMap<NodeIx, Option<NodeIx>>,
}

/// All parts of a network.
pub(crate) fn parts(draft: &DraftNetwork<'_>) -> Vec<MeasuredPart> {
    let mut joined = UnionFind::new(draft.nodes.len());
    if draft.facts.scope.lists_no_switch() {
        for link in draft.carrying_links() {
            let [a, b] = link.ends.each_ref().map(|end| end.node);
            let kinds = [a, b].map(|node| draft.kind(node));
            let are_bridges = kinds
                .iter()
                .all(|kind| matches!(kind, NodeKind::Switch | NodeKind::Unmanaged));
            if are_bridges && kinds.contains(&NodeKind::Switch) {
                joined.union(a.0, b.0);
            }
        }
    }
    let mut parts: BTreeMap<u32, MeasuredPart> = BTreeMap::new();
    for bridge in bridges(draft) {
        let part = parts
            .entry(joined.find(bridge.0))
            .or_insert_with(|| MeasuredPart {
                bridges: Vec::new(),
                hosts: BTreeMap::new(),
            });
        part.bridges.push(bridge);
    }
    for link in draft.carrying_links() {
        let [a, b] = link.ends.each_ref().map(|end| end.node);
        for (near, host) in [(a, b), (b, a)] {
            if draft.kind(host) == NodeKind::Host
                && let Some(part) = parts.get_mut(&joined.find(near.0))
            {
                let switch = (draft.kind(near) == NodeKind::Switch).then_some(near);
                part.hosts.insert(host, switch);
            }
        }
    }
    parts.into_values().collect()
}

/// The bridges that nobody asked and that carry frames.
fn bridges(draft: &DraftNetwork<'_>) -> Vec<NodeIx> {
    let carrying = draft.links.iter().filter(|link| link.carries_frames());
    let ends: BTreeSet<NodeIx> = carrying
        .flat_map(|l| l.ends.each_ref().map(|e| e.node))
        .collect();
    ends.into_iter()
        .filter(|node| draft.kind(*node) == NodeKind::Unmanaged)
        .collect()
}

impl MeasuredPart {
    /// The measurement that is about this part. Where no switch is listed, a host that is silent or
    /// gone says nothing about the others, and one that hears a switch has its place.
    pub(crate) fn place<'p>(
        &self,
        draft: &DraftNetwork<'_>,
        places: &'p [MappedPlace],
    ) -> Option<&'p MappedPlace> {
        let mut hosts: Vec<&str> = self.hosts.keys().map(|host| draft.name(*host)).collect();
        hosts.sort_unstable();
        if !draft.facts.scope.lists_no_switch() {
            return places.iter().find(|place| place.is_about(&hosts));
        }
        let open = self.hosts.iter().filter(|(_, switch)| switch.is_none());
        let open: Vec<&str> = open.map(|(host, _)| draft.name(*host)).collect();
        let fits = places.iter().filter(|place| place.covers(&open));
        let common = fits.map(|place| {
            let measured = place.hosts.iter();
            let own = measured.filter(|host| hosts.binary_search(&host.as_str()).is_ok());
            (own.count(), place)
        });
        let most = common.max_by_key(|(common, _)| *common);
        most.filter(|(common, _)| *common > 0)
            .map(|(_, place)| place)
    }

    /// The hosts of a measurement that are on another switch now.
    pub(crate) fn left<'p>(
        &self,
        draft: &DraftNetwork<'_>,
        place: &'p MappedPlace,
    ) -> BTreeSet<&'p str> {
        let facts = draft.facts;
        let hosts = place.hosts.iter().map(String::as_str);
        let left = hosts.filter(|name| {
            let host = facts.node_named(name);
            let on = host.and_then(|host| self.hosts.get(&host));
            on.is_some_and(|switch| {
                let report = facts.views.get(*name).and_then(|view| view.host.as_ref());
                place.has_left(name, switch.map(|node| draft.name(node)), report)
            })
        });
        left.collect()
    }
}

impl DraftLink {
    /// True if nothing tells the rate of a cable from a switch to another bridge.
    pub(crate) fn is_open(&self, draft: &DraftNetwork<'_>) -> bool {
        let is_stated = self.rate_is_known() && !self.is_assumed();
        let kinds = self.ends.each_ref().map(|end| draft.kind(end.node));
        let leads_on = !kinds.contains(&NodeKind::Host) && !kinds.contains(&NodeKind::Router);
        !is_stated && leads_on && kinds.contains(&NodeKind::Switch)
    }

    /// True for the way to several hosts behind one port: its rate is that of a host.
    fn is_assumed(&self) -> bool {
        let mut evidence = self.evidence.iter();
        evidence
            .clone()
            .any(|e| matches!(e, Evidence::HostsOnPort(_)))
            && !evidence.any(|e| matches!(e, Evidence::Measured(_)))
    }
}
