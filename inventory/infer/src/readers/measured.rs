//! Flows between hosts: the trunks behind a bridge that nobody asked. The flat bridge, on which all
//! hosts of its place hang, becomes the bridge of the way in, with a further bridge for each trunk.
//!
//! Measurements change nothing that protocols or the operator state: a trunk that would part hosts elsewhere, or
//! hosts that the operator has on one bridge, raises an alarm. A place whose hosts are not those that
//! were measured keeps its flat bridge.
use crate::claims::ClaimEnd;
use crate::draft::{DraftLink, DraftNetwork};
use crate::facts::NodeIx;
use crate::ranking::ClaimGrounds;
use inventory::alarm::{Alarm, AlarmKind, MeasuredConflict};
use inventory::evidence::{Evidence, FlowFinding};
use inventory::mapped_place::{MappedPlace, PlaceTrunk};
use inventory::topology::{LinkState, Node, NodeKind};
use petgraph::unionfind::UnionFind;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Adds the trunks of all places that are as they were measured.
pub(crate) fn apply(draft: &mut DraftNetwork<'_>) {
    let places = &draft.facts.scope.mapped.places;
    if places.is_empty() {
        return;
    }
    for bridge in bridges(draft) {
        let hosts = draft.hosts_at(bridge);
        // Where no switch is listed, a host that is silent or gone says nothing about the others.
        let alone = draft.facts.scope.lists_no_switch();
        let fits = |place: &&MappedPlace| match alone {
            true => place.covers(&hosts),
            false => place.is_about(&hosts),
        };
        let Some(place) = places.iter().find(fits) else {
            continue;
        };
        draft.alarm_moved(bridge, place);
        draft.take_rates(bridge, place);
        let cables = PlaceCables::new(draft, bridge, place);
        let alarms = draft.alarms.len();
        let mut trunks = cables.claims(draft);
        if draft.alarms.len() == alarms {
            draft.forget_unknown_rates(bridge);
        }
        // The outer trunks first, so that a cable ends up behind the innermost.
        trunks.sort_by_key(|trunk| std::cmp::Reverse(trunk.size));
        let mut own = vec![bridge];
        for (number, trunk) in trunks.iter().enumerate() {
            let outer = trunks[..number]
                .iter()
                .rposition(|outer| outer.holds(trunk));
            let far = cables.add(
                draft,
                trunk,
                &own,
                outer.map_or(bridge, |outer| own[outer + 1]),
            );
            own.push(far);
        }
    }
}

/// The bridges that nobody asked and that carry frames.
fn bridges(draft: &DraftNetwork<'_>) -> Vec<NodeIx> {
    let carrying = draft.links.iter().filter(|link| link.carries_frames());
    let ends: BTreeSet<NodeIx> = carrying
        .flat_map(|l| l.ends.each_ref().map(|e| e.node))
        .collect();
    let unmanaged = |node: &NodeIx| draft.kind(*node) == NodeKind::Unmanaged;
    ends.into_iter().filter(unmanaged).collect()
}

impl DraftNetwork<'_> {
    /// A further bridge that nobody asked. Names are nobody else's.
    fn add_bridge(&mut self, mut name: String) -> NodeIx {
        while self.nodes.iter().any(|node| node.name == name) {
            name.push('+');
        }
        let node = NodeIx(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(Node::new(name, NodeKind::Unmanaged));
        node
    }

    /// The trunks behind the bridge are known now: no alarm says the opposite.
    fn forget_unknown_rates(&mut self, bridge: NodeIx) {
        let name = self.name(bridge).to_owned();
        self.alarms.retain(|alarm| {
            let is_unknown = matches!(
                alarm.kind,
                AlarmKind::HostsOnPort(..) | AlarmKind::HostsInNetwork { .. }
            );
            !(is_unknown && alarm.subject.is_node(&name))
        });
    }

    /// Tells of hosts whose link was lost since.
    fn alarm_moved(&mut self, bridge: NodeIx, place: &MappedPlace) {
        let report = |host: &str| self.facts.views.get(host)?.host.as_ref();
        let moved: Vec<String> = place.moved(report).into_iter().map(str::to_owned).collect();
        if !moved.is_empty() {
            let alarm = Alarm::node(self.name(bridge), AlarmKind::MeasuredBefore(moved));
            self.alarms.push(alarm);
        }
    }

    /// Where nobody states the rate of a host's cable, flows do: the card of a virtual machine has
    /// none.
    fn take_rates(&mut self, bridge: NodeIx, place: &MappedPlace) {
        for number in 0..self.links.len() {
            let Some(host) = self.links[number].far_end(bridge) else {
                continue;
            };
            let reached = place.rates.get(self.name(host)).copied();
            let link = &mut self.links[number];
            let is_alone = |e: &Evidence| matches!(e, Evidence::SharesNetwork(_));
            let Some(rate) = reached.filter(|_| link.evidence.iter().any(is_alone)) else {
                continue;
            };
            if !link.rate_is_known() {
                link.rate = rate;
                link.evidence.retain(|e| !matches!(e, Evidence::Rate(_)));
                let reached = FlowFinding::Reached(rate);
                link.evidence.push(Evidence::Measured(reached));
            }
        }
    }

    /// The names of the hosts on a bridge, sorted.
    fn hosts_at(&self, bridge: NodeIx) -> Vec<&str> {
        let ends = self.links.iter().filter(|link| link.carries_frames());
        let far = ends.filter_map(|link| link.far_end(bridge));
        let mut hosts: Vec<&str> = far
            .filter(|node| self.kind(*node) == NodeKind::Host)
            .map(|node| self.name(node))
            .collect();
        hosts.sort_unstable();
        hosts
    }
}

impl DraftLink {
    /// The node at its other end, if one end is at this node.
    fn far_end(&self, node: NodeIx) -> Option<NodeIx> {
        let [a, b] = self.ends.each_ref().map(|end| end.node);
        match (a == node, b == node) {
            (true, false) => Some(b),
            (false, true) => Some(a),
            _ => None,
        }
    }
}

/// The cables of a bridge, each with the measured hosts behind it.
struct PlaceCables<'p> {
    bridge: NodeIx,
    place: &'p MappedPlace,
    /// The numbers of links.
    behind: BTreeMap<usize, HashSet<String>>,
    /// Hosts of the place that are not on the bridge now.
    absent: Vec<&'p str>,
}

/// A trunk, by the cables of the flat bridge that are behind it.
struct TrunkClaim<'p> {
    trunk: &'p PlaceTrunk,
    behind: BTreeSet<usize>,
    /// The cables behind it, with those of absent hosts.
    size: usize,
}

impl TrunkClaim<'_> {
    /// True if all hosts behind the other trunk are behind this one, too.
    fn holds(&self, other: &TrunkClaim<'_>) -> bool {
        let mut inner = other.trunk.side.iter();
        inner.all(|host| self.trunk.side.contains(host))
    }
}

impl<'p> PlaceCables<'p> {
    fn new(draft: &DraftNetwork<'_>, bridge: NodeIx, place: &'p MappedPlace) -> PlaceCables<'p> {
        // The network without the bridge falls apart into what is behind each of its cables.
        let mut parts = UnionFind::new(draft.nodes.len());
        let carrying = || {
            let links = draft.links.iter().enumerate();
            links.filter(|(_, link)| link.carries_frames())
        };
        for (_, link) in carrying().filter(|(_, link)| link.far_end(bridge).is_none()) {
            let [a, b] = link.nodes();
            parts.union(a, b);
        }
        let measured = place.hosts.iter().chain(&place.beside);
        let hosts: Vec<(&String, usize)> = measured
            .filter_map(|name| Some((name, draft.facts.node_named(name)?.0 as usize)))
            .collect();
        let behind = carrying().filter_map(|(number, link)| {
            let part = parts.find(link.far_end(bridge)?.0 as usize);
            let inside = hosts.iter().filter(|(_, node)| parts.find(*node) == part);
            Some((number, inside.map(|(name, _)| (*name).clone()).collect()))
        });
        let behind: BTreeMap<usize, HashSet<String>> = behind.collect();
        let is_absent = |host: &&String| !behind.values().any(|hosts| hosts.contains(*host));
        PlaceCables {
            bridge,
            place,
            absent: place
                .hosts
                .iter()
                .filter(is_absent)
                .map(String::as_str)
                .collect(),
            behind,
        }
    }

    /// The trunks between the cables. Those that contradict others' word raise alarms.
    fn claims(&self, draft: &mut DraftNetwork<'_>) -> Vec<TrunkClaim<'p>> {
        let mut claims = Vec::new();
        for trunk in &self.place.trunks {
            match self.claim(draft, trunk) {
                Ok(claim) => claims.extend(claim),
                Err(against) => {
                    let kind = AlarmKind::MeasuredOtherwise {
                        side: trunk.side.clone(),
                        against,
                    };
                    let alarm = Alarm::node(draft.name(self.bridge), kind);
                    draft.alarms.push(alarm);
                }
            }
        }
        claims
    }

    /// The cables behind a trunk; `None` if the trunk does not belong to this place.
    fn claim(
        &self,
        draft: &DraftNetwork<'_>,
        trunk: &'p PlaceTrunk,
    ) -> Result<Option<TrunkClaim<'p>>, MeasuredConflict> {
        let side: HashSet<&str> = trunk.side.iter().map(String::as_str).collect();
        let (mut behind, mut parted) = (BTreeSet::new(), false);
        for (number, hosts) in &self.behind {
            match hosts.iter().filter(|h| side.contains(h.as_str())).count() {
                0 => {}
                all if all == hosts.len() => drop(behind.insert(*number)),
                _ => parted = true,
            }
        }
        // A trunk elsewhere has all hosts of the place on one side.
        let own = self
            .place
            .hosts
            .iter()
            .filter(|h| side.contains(h.as_str()));
        let is_inside = (1..self.place.hosts.len()).contains(&own.count());
        let absent = self.absent.iter().filter(|h| side.contains(**h)).count();
        let size = behind.len() + absent;
        let rest = self.behind.len() + self.absent.len() - size;
        match (is_inside, parted) {
            (true, true) => Err(MeasuredConflict::Protocols),
            (true, false) if size >= 2 && rest >= 2 => {
                let stated = |n: &usize| draft.links[*n].evidence.contains(&Evidence::Stated);
                match behind.iter().any(stated) {
                    true => Err(MeasuredConflict::Operator),
                    false => Ok(Some(TrunkClaim {
                        trunk,
                        behind,
                        size,
                    })),
                }
            }
            _ => Ok(None),
        }
    }

    /// Adds a trunk, and moves the cables behind it to its far bridge, which it returns. `own` are
    /// the bridges of the place so far, `outer` is the one where it hangs if no cable tells.
    fn add(
        &self,
        draft: &mut DraftNetwork<'_>,
        claim: &TrunkClaim<'_>,
        own: &[NodeIx],
        outer: NodeIx,
    ) -> NodeIx {
        let far = draft.add_bridge(format!("{}-{}", draft.name(self.bridge), own.len()));
        let name = draft.name(far).to_owned();
        let ends = claim
            .behind
            .iter()
            .flat_map(|link| &draft.links[*link].ends);
        let mut ends = ends.map(|end| end.node);
        let near = ends.find(|node| own.contains(node)).unwrap_or(outer);
        for link in &claim.behind {
            let link = &mut draft.links[*link];
            let own = link.ends.iter_mut().find(|end| end.node == near);
            if let Some(own) = own {
                *own = ClaimEnd::somewhere(far);
            }
            let is_told = |e: &Evidence| matches!(e, Evidence::Measured(FlowFinding::Behind(_)));
            link.evidence.retain(|evidence| !is_told(evidence));
            let behind = FlowFinding::Behind(name.clone());
            link.evidence.push(Evidence::Measured(behind));
            link.grade = link.grade.max(ClaimGrounds::Measured.grade());
        }
        let place = self.place;
        let filled = FlowFinding::Filled {
            times: claim.trunk.filled,
            probability: claim.trunk.probability,
            hosts: place.hosts.len() + place.beside.len(),
            rounds: place.rounds,
            moved: place.moved,
            at: place.at,
        };
        draft.links.push(DraftLink {
            ends: [near, far].map(ClaimEnd::somewhere),
            members: vec![],
            rate: claim.trunk.rate,
            state: LinkState::Forwarding,
            grade: ClaimGrounds::Measured.grade(),
            evidence: vec![Evidence::Measured(filled)],
        });
        far
    }
}
