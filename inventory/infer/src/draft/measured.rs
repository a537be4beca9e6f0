//! Flows between hosts: the trunks behind a bridge that nobody asked. The flat bridge, on which all
//! hosts of its place hang, becomes the bridge of the way in, with a further bridge for each trunk. A
//! trunk that parts the hosts as one cable between bridges does is that cable.
//!
//! Measurements change nothing that protocols or the operator state: a trunk that would part hosts
//! elsewhere, or hosts that the operator has on one bridge, raises an alarm. A place whose hosts are
//! not those that were measured keeps its flat bridge.
use crate::claims::ClaimEnd;
use crate::draft::measured_parts::{MeasuredPart, parts};
use crate::draft::{DraftLink, DraftNetwork};
use crate::facts::NodeIx;
use crate::ranking::ClaimGrounds;
use inventory::BitsPerSec;
use inventory::alarm::arguments::MeasuredConflict;
use inventory::alarm::{Alarm, AlarmKind};
use inventory::evidence::{Evidence, FlowFinding};
use inventory::mapped_place::{MappedPlace, PlaceTrunk};
use inventory::topology::{LinkState, Node, NodeKind};
use petgraph::unionfind::UnionFind;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The network with the trunks of all places that are as they were measured.
pub(crate) fn with_trunks(mut draft: DraftNetwork<'_>) -> DraftNetwork<'_> {
    let facts = draft.facts;
    let places = &facts.scope.mapped.places;
    if places.is_empty() {
        return draft;
    }
    for part in parts(&draft) {
        let Some(place) = part.place(&draft, places) else {
            continue;
        };
        draft.alarm_moved(&part, place);
        draft.take_rates(&part, place);
        let left = part.left(&draft, place);
        let bridges = part.bridges.iter();
        let bridges: Vec<PlaceCables<'_>> = bridges
            .map(|bridge| PlaceCables::new(&draft, *bridge, place, &left))
            .collect();
        let alarms = draft.alarms.len();
        let mut trunks: Vec<Vec<TrunkClaim<'_>>> = bridges.iter().map(|_| Vec::new()).collect();
        for trunk in &place.trunks {
            match trunk_place(&draft, &bridges, trunk) {
                Ok(TrunkPlace::New(bridge, claim)) => trunks[bridge].push(claim),
                Ok(TrunkPlace::Cables(cables)) => draft.take_trunk(&cables, place, trunk),
                Ok(TrunkPlace::Elsewhere) => {}
                Err(against) => draft.alarm_otherwise(part.bridges[0], trunk, against),
            }
        }
        // A measurement that the network contradicts somewhere settles no rates.
        if draft.alarms.len() == alarms {
            bridges
                .iter()
                .for_each(|cables| cables.take_unfilled(&mut draft));
            draft.forget_unknown_rates(&part);
        }
        for (cables, trunks) in bridges.iter().zip(trunks) {
            cables.add_all(&mut draft, trunks);
        }
    }
    draft
}

/// The place of a trunk in a part of the network.
enum TrunkPlace<'p> {
    /// Behind this one of its bridges, where no cable is known.
    New(usize, TrunkClaim<'p>),
    /// It is these cables, one behind the other.
    Cables(Vec<usize>),
    /// It does not part the hosts, or only one from the others.
    Elsewhere,
}

/// Finds the place of a trunk. The error says what the network contradicts it with.
fn trunk_place<'p>(
    draft: &DraftNetwork<'_>,
    bridges: &[PlaceCables<'p>],
    trunk: &'p PlaceTrunk,
) -> Result<TrunkPlace<'p>, MeasuredConflict> {
    let (mut cables, mut fits, mut against) = (Vec::new(), false, None);
    for (number, bridge) in bridges.iter().enumerate() {
        match bridge.fit(draft, trunk) {
            BridgeFit::New(claim) => return Ok(TrunkPlace::New(number, claim)),
            BridgeFit::Cables(own) => cables.extend(own),
            BridgeFit::Elsewhere => fits = true,
            BridgeFit::Against(conflict) => against = Some(conflict),
        }
    }
    match against {
        _ if !cables.is_empty() => Ok(TrunkPlace::Cables(cables)),
        Some(conflict) if !fits => Err(conflict),
        _ => Ok(TrunkPlace::Elsewhere),
    }
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

    /// The trunks between the bridges are known now: no alarm says the opposite, unless nothing tells
    /// the rate of a cable.
    fn forget_unknown_rates(&mut self, part: &MeasuredPart) {
        let alone = self.facts.scope.lists_no_switch();
        if alone
            && self.links.iter().any(|link| {
                link.ends.iter().any(|end| part.bridges.contains(&end.node)) && link.is_open(self)
            })
        {
            return;
        }
        let names: Vec<String> = part
            .bridges
            .iter()
            .map(|b| self.name(*b).to_owned())
            .collect();
        self.alarms.retain(|alarm| {
            let is_unknown = matches!(
                alarm.kind,
                AlarmKind::HostsOnPort { .. } | AlarmKind::HostsInNetwork { .. }
            );
            !(is_unknown && names.iter().any(|name| alarm.subject.is_node(name)))
        });
    }

    /// Tells of hosts whose link was lost since. One that hears a switch is known to be there.
    fn alarm_moved(&mut self, part: &MeasuredPart, place: &MappedPlace) {
        let moved = place
            .moved(|host| self.facts.views.get(host)?.host.as_ref())
            .into_iter()
            .filter(|host| {
                let node = self.facts.node_named(host);
                node.and_then(|node| part.hosts.get(&node))
                    .is_none_or(Option::is_none)
            });
        let moved: Vec<String> = moved.map(str::to_owned).collect();
        if !moved.is_empty() {
            let bridge = self.name(part.bridges[0]);
            let alarm = Alarm::node(bridge, AlarmKind::MeasuredBefore { hosts: moved });
            self.alarms.push(alarm);
        }
    }

    /// Tells that a trunk cannot be.
    fn alarm_otherwise(&mut self, bridge: NodeIx, trunk: &PlaceTrunk, against: MeasuredConflict) {
        let kind = AlarmKind::MeasuredOtherwise {
            side: trunk.side.clone(),
            against,
        };
        let alarm = Alarm::node(self.name(bridge), kind);
        self.alarms.push(alarm);
    }

    /// Where nobody states the rate of a host's cable, flows do: the card of a virtual machine has
    /// none.
    fn take_rates(&mut self, part: &MeasuredPart, place: &MappedPlace) {
        for number in 0..self.links.len() {
            let mut ends = self.links[number].ends.iter().map(|end| end.node);
            let Some(host) = ends.find(|node| part.hosts.contains_key(node)) else {
                continue;
            };
            let reached = place.rates.get(self.name(host)).copied();
            let link = &mut self.links[number];
            let is_alone = self.facts.scope.lists_no_switch();
            let Some(rate) = reached.filter(|_| {
                is_alone
                    && link
                        .evidence
                        .iter()
                        .any(|e| matches!(e, Evidence::SharesNetwork(_) | Evidence::Hears { .. }))
            }) else {
                continue;
            };
            // The rate that a card states stays: flows over slow trunks tell too little of it.
            if !link.rate_is_known() {
                link.take_measured(rate, FlowFinding::Reached(rate));
            }
        }
    }

    /// The cables are a trunk that flows filled.
    fn take_trunk(&mut self, cables: &[usize], place: &MappedPlace, trunk: &PlaceTrunk) {
        for cable in cables {
            let link = &mut self.links[*cable];
            let is_filled =
                |e: &Evidence| matches!(e, Evidence::Measured(FlowFinding::Filled { .. }));
            let rate = match link.evidence.iter().any(is_filled) {
                true => trunk.rate.min(link.rate),
                false => trunk.rate,
            };
            link.take_measured(rate, filled(place, trunk));
            link.grade = link.grade.max(ClaimGrounds::Measured.grade());
        }
    }
}

/// The finding that flows filled a trunk.
fn filled(place: &MappedPlace, trunk: &PlaceTrunk) -> FlowFinding {
    FlowFinding::Filled {
        times: trunk.filled,
        probability: trunk.probability,
        hosts: place.hosts.len() + place.beside.len(),
        rounds: place.rounds,
        moved: place.moved,
        at: place.at,
    }
}

impl DraftLink {
    /// Flows tell the rate.
    fn take_measured(&mut self, rate: BitsPerSec, finding: FlowFinding) {
        self.rate = rate;
        self.evidence.retain(|e| !matches!(e, Evidence::Rate(_)));
        self.evidence.push(Evidence::Measured(finding));
    }

    /// The node at its other end, if one end is at this node.
    pub(super) fn far_end(&self, node: NodeIx) -> Option<NodeIx> {
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
    /// Hosts of the place that have no place in the network now.
    absent: Vec<&'p str>,
    /// Those that have the place in which they were measured, and the absent ones.
    hosts: Vec<&'p str>,
}

/// The place of a trunk at a bridge.
enum BridgeFit<'p> {
    /// Behind the bridge, where no cable is known.
    New(TrunkClaim<'p>),
    /// It is the one cable to a switch or bridge that parts the hosts in this way, or both of two.
    Cables(Vec<usize>),
    /// It does not part the hosts, or only one from the others.
    Elsewhere,
    /// It cannot be there.
    Against(MeasuredConflict),
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
    /// Hosts that have `left` tell nothing about its cables.
    fn new(
        draft: &DraftNetwork<'_>,
        bridge: NodeIx,
        place: &'p MappedPlace,
        left: &BTreeSet<&str>,
    ) -> PlaceCables<'p> {
        // The network without the bridge falls apart into what is behind each of its cables.
        let mut parts = UnionFind::new(draft.nodes.len());
        for link in draft
            .carrying_links()
            .filter(|link| link.far_end(bridge).is_none())
        {
            let [a, b] = link.nodes();
            parts.union(a, b);
        }
        let staying = place
            .hosts
            .iter()
            .filter(|host| !left.contains(host.as_str()));
        let measured = staying.clone().chain(&place.beside);
        let hosts: Vec<(&String, usize)> = measured
            .filter_map(|name| Some((name, draft.facts.node_named(name)?.0 as usize)))
            .collect();
        let carrying = draft
            .links
            .iter()
            .enumerate()
            .filter(|(_, link)| link.carries_frames());
        let behind = carrying.filter_map(|(number, link)| {
            let part = parts.find(link.far_end(bridge)?.0 as usize);
            let inside = hosts.iter().filter(|(_, node)| parts.find(*node) == part);
            Some((number, inside.map(|(name, _)| (*name).clone()).collect()))
        });
        let behind: BTreeMap<usize, HashSet<String>> = behind.collect();
        let hosts: Vec<&str> = staying.map(String::as_str).collect();
        PlaceCables {
            bridge,
            place,
            absent: hosts
                .iter()
                .copied()
                .filter(|host| !behind.values().any(|hosts| hosts.contains(*host)))
                .collect(),
            hosts,
            behind,
        }
    }

    /// The place of a trunk at this bridge.
    fn fit(&self, draft: &DraftNetwork<'_>, trunk: &'p PlaceTrunk) -> BridgeFit<'p> {
        let side: HashSet<&str> = trunk.side.iter().map(String::as_str).collect();
        let (mut behind, mut beside, mut parted) = (BTreeSet::new(), BTreeSet::new(), false);
        for (number, hosts) in &self.behind {
            match hosts.iter().filter(|h| side.contains(h.as_str())).count() {
                0 if hosts.is_empty() => {}
                0 => drop(beside.insert(*number)),
                all if all == hosts.len() => drop(behind.insert(*number)),
                _ => parted = true,
            }
        }
        // A trunk elsewhere has all hosts of the place on one side.
        let own = self.hosts.iter().filter(|h| side.contains(**h));
        let is_inside = (1..self.hosts.len()).contains(&own.count());
        let absent = self.absent.iter().filter(|h| side.contains(**h)).count();
        let size = behind.len() + absent;
        let rest = self.behind.len() + self.absent.len() - size;
        if !is_inside {
            return BridgeFit::Elsewhere;
        }
        if parted {
            return BridgeFit::Against(MeasuredConflict::Protocols);
        }
        let same: Vec<usize> = [&behind, &beside]
            .into_iter()
            .filter_map(|cables| self.only_way_on(draft, cables))
            .collect();
        match size >= 2 && rest >= 2 {
            _ if !same.is_empty() => BridgeFit::Cables(same),
            true if behind
                .iter()
                .any(|n| draft.links[*n].evidence.contains(&Evidence::Stated)) =>
            {
                BridgeFit::Against(MeasuredConflict::Operator)
            }
            true => BridgeFit::New(TrunkClaim {
                trunk,
                behind,
                size,
            }),
            false => BridgeFit::Elsewhere,
        }
    }

    /// The cable, if it is the only one of these, and does not lead to a host. Hosts that are absent
    /// were behind it, as far as anybody knows.
    fn only_way_on(&self, draft: &DraftNetwork<'_>, cables: &BTreeSet<usize>) -> Option<usize> {
        let only = cables.first().copied().filter(|_| cables.len() == 1)?;
        let far = draft.links[only].far_end(self.bridge)?;
        let alone = draft.facts.scope.lists_no_switch();
        (alone && draft.kind(far) != NodeKind::Host).then_some(only)
    }

    /// Flows crossed the other cables between bridges, and filled none of them: each carries what the
    /// hosts on its smaller side send.
    fn take_unfilled(&self, draft: &mut DraftNetwork<'_>) {
        let place = self.place;
        for (number, hosts) in &self.behind {
            let behind_others = self.behind.iter().filter(|(other, _)| *other != number);
            let others: Vec<&String> = behind_others.flat_map(|(_, hosts)| hosts).collect();
            let sums = [hosts.iter().collect(), others].map(|side| {
                let rates = side.into_iter().filter_map(|host| place.rates.get(host));
                rates.fold(0_u64, |sum, rate| sum.saturating_add(rate.0))
            });
            let alone = draft.facts.scope.lists_no_switch();
            let rate = sums.into_iter().min().unwrap_or_default();
            if alone && rate > 0 && draft.links[*number].is_open(draft) {
                let finding = FlowFinding::NotFilled {
                    hosts: place.hosts.len(),
                    rounds: place.rounds,
                    moved: place.moved,
                    at: place.at,
                };
                draft.links[*number].take_measured(BitsPerSec(rate), finding);
            }
        }
    }

    /// Adds the trunks behind this bridge.
    fn add_all(&self, draft: &mut DraftNetwork<'_>, mut trunks: Vec<TrunkClaim<'_>>) {
        // The outer trunks first, so that a cable ends up behind the innermost.
        trunks.sort_by_key(|trunk| std::cmp::Reverse(trunk.size));
        let mut own = vec![self.bridge];
        for (number, trunk) in trunks.iter().enumerate() {
            let outer = trunks[..number]
                .iter()
                .rposition(|outer| outer.holds(trunk));
            let outer = outer.map_or(self.bridge, |outer| own[outer + 1]);
            own.push(self.add(draft, trunk, &own, outer));
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
        let mut ends = claim
            .behind
            .iter()
            .flat_map(|link| &draft.links[*link].ends)
            .map(|end| end.node);
        let near = ends.find(|node| own.contains(node)).unwrap_or(outer);
        for link in &claim.behind {
            let link = &mut draft.links[*link];
            let own = link.ends.iter_mut().find(|end| end.node == near);
            if let Some(own) = own {
                *own = ClaimEnd::somewhere(far);
            }
            link.evidence
                .retain(|e| !matches!(e, Evidence::Measured(FlowFinding::Behind(_))));
            let behind = FlowFinding::Behind(name.clone());
            link.evidence.push(Evidence::Measured(behind));
            link.grade = link.grade.max(ClaimGrounds::Measured.grade());
        }
        draft.links.push(DraftLink {
            ends: [near, far].map(ClaimEnd::somewhere),
            members: vec![],
            rate: claim.trunk.rate,
            state: LinkState::Forwarding,
            grade: ClaimGrounds::Measured.grade(),
            evidence: vec![Evidence::Measured(filled(self.place, claim.trunk))],
        });
        far
    }
}
