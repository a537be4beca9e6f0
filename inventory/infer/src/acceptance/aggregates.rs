//! Aggregates (IEEE 802.1AX): cables whose ends are members of one aggregate are one link with
//! members. Not every device reports which ports are members; then the ports of known cables and
//! the bridge's table show it.
use super::known::Known;
use super::unreported_members::UnreportedMembers;
use crate::claims::{Claim, EndPort};
use crate::facts::device::DeviceFacts;
use crate::facts::ports::PortIx;
use crate::facts::{DeviceIx, DevicePortIx, Facts, NodeIx};
use crate::networks::ends_at_own_port;
use inventory::evidence::Evidence;
use inventory::natural_order::natural;
use inventory::observation::{InterfaceKind, StpState};
use inventory::topology::{LinkGrade, NodeKind};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The aggregates at both ends of a cable, the end with the smaller name first.
pub(crate) type AggregateEnds = [(NodeIx, Option<PortIx>); 2];

fn aggregates_of(known: &Known<'_>, claim: &Claim) -> AggregateEnds {
    let mut ends = claim.ends.each_ref().map(|end| {
        let port = end.device_port(known.facts);
        (end.node, port.and_then(|p| known.aggregate(p)))
    });
    ends.sort_by_key(|(node, _)| known.name(*node));
    ends
}

/// Cables by the aggregates that have them as members. Cables of no aggregate are left out.
pub(crate) fn groups<'c>(
    known: &Known<'_>,
    claims: impl IntoIterator<Item = (usize, &'c Claim)>,
) -> BTreeMap<AggregateEnds, Vec<usize>> {
    let mut groups: BTreeMap<AggregateEnds, Vec<usize>> = BTreeMap::new();
    for (i, claim) in claims {
        let ends = aggregates_of(known, claim);
        if ends.iter().any(|(_, aggregate)| aggregate.is_some()) {
            groups.entry(ends).or_default().push(i);
        }
    }
    groups
}

/// The ports at which a node has the claims, in their natural order.
fn ports_at<'c>(facts: &'c Facts<'_>, claims: &[&'c Claim], node: NodeIx) -> Vec<&'c str> {
    let named = claims.iter().map(|claim| claim.port_name(facts, node));
    let mut ports: Vec<&str> = named.collect();
    ports.sort_by_cached_key(|port| natural(port));
    ports.dedup();
    ports
}

/// Some devices list the neighbours of all members at every member. If the other end tells the
/// cables apart, its statement counts. Otherwise there are as many cables as ports, and they are
/// matched in the order of the ports.
pub(super) fn match_members(known: &Known<'_>, mut claims: Vec<Claim>) -> Vec<Claim> {
    let mut dropped = BTreeSet::new();
    let mut guessed = Vec::new();
    let all = groups(known, claims.iter().enumerate());
    for ([(a, _), (b, _)], all) in all.into_iter().filter(|(_, all)| all.len() > 1) {
        let sure: Vec<usize> = all
            .iter()
            .copied()
            .filter(|&i| claims[i].is_confirmed())
            .collect();
        let [of_all, of_sure] = [&all, &sure].map(|numbers| {
            let own: Vec<&Claim> = numbers.iter().map(|i| &claims[*i]).collect();
            [a, b].map(|node| ports_at(known.facts, &own, node))
        });
        let is_certain = of_sure == of_all && of_all.iter().all(|ports| ports.len() == sure.len());
        let [at_a, at_b] = of_all;
        if is_certain {
            dropped.extend(all.iter().filter(|i| !sure.contains(i)));
        } else if at_a.len() == at_b.len() && at_a.len() > 1 && all.len() == at_a.len() * at_b.len()
        {
            // Each port names each one of the other end: nothing tells which cables there are.
            let kept: BTreeSet<(&str, &str)> = at_a.into_iter().zip(at_b).collect();
            let (right, wrong): (Vec<usize>, Vec<usize>) = all.iter().partition(|i| {
                let [at_a, at_b] = [a, b].map(|node| claims[**i].port_name(known.facts, node));
                kept.contains(&(at_a, at_b))
            });
            dropped.extend(wrong);
            guessed.extend(right);
        }
    }
    for i in guessed {
        claims[i].evidence.push(Evidence::MembersGuessed);
    }
    let mut number = 0..;
    claims.retain(|_| !number.next().is_some_and(|i: usize| dropped.contains(&i)));
    claims
}

/// With more candidates than this, no aggregate is sought.
const MOST_OPEN: usize = 1024;

/// The ports of a device's known cables, by the node at the other end.
type PortsByNeighbour = BTreeMap<NodeIx, BTreeSet<PortIx>>;

/// The aggregates that devices do not report, and those whose far end is one of several devices. If the ends of known cables take no part in
/// bridging, an aggregate does in their place: it is the base port that LLDP does not know. If
/// there are several, the rate decides.
pub(super) fn unreported(known: &Known<'_>) -> (UnreportedMembers, HashSet<DevicePortIx>) {
    let mut cables: BTreeMap<DeviceIx, PortsByNeighbour> = BTreeMap::new();
    // Spanning tree blocks only one end of a cable, and the other is designated (IEEE 802.1D-2004, 17.3).
    // If both block, neither takes part.
    let mut idle = blocked_members(known);
    let mut apart = BTreeSet::new();
    for claim in &known.cables {
        let ends = claim
            .ends
            .each_ref()
            .map(|end| end.device_port(known.facts));
        if let [Some(a), Some(b)] = ends
            && known.blocks(a)
            && known.blocks(b)
        {
            idle.extend([a, b]);
        }
        if ends_at_own_port(known.facts, &claim.ends) {
            apart.extend(ends.into_iter().flatten());
        }
        for (near, far) in [(0, 1), (1, 0)].map(|(i, j)| (&claim.ends[i], &claim.ends[j])) {
            if let Some((device, port)) = near.device_port(known.facts) {
                let ports = cables.entry(device).or_default();
                ports.entry(far.node).or_default().insert(port);
            }
        }
    }
    let (mut all, mut open) = (UnreportedMembers::default(), HashSet::new());
    for (device, cables) in cables {
        let found = UnreportedAggregates::new(known, device, &cables, [&idle, &apart]);
        let (members, unclear) = found.members();
        for (member, aggregate) in members {
            all.add((device, member), aggregate);
        }
        open.extend(unclear.into_iter().map(|port| (device, port)));
    }
    (all, open)
}

/// The ports that block beside an aggregate which forwards to the same designated bridge at the rate of all of
/// them, where nothing is known of their far ends.
fn blocked_members(known: &Known<'_>) -> BTreeSet<DevicePortIx> {
    let facts = known.facts;
    let mut blocked: BTreeMap<(DeviceIx, NodeIx), BTreeSet<PortIx>> = BTreeMap::new();
    for claim in &known.cables {
        let [a, b] = &claim.ends;
        for (near, far) in [(a, b), (b, a)] {
            let far_state = far.device_port(facts).and_then(|at| known.state(at));
            if let Some((device, port)) = near.device_port(facts)
                && known.state((device, port)) == Some(StpState::Blocking)
                && far_state.is_none()
            {
                let ports = blocked.entry((device, far.node)).or_default();
                ports.insert(port);
            }
        }
    }
    blocked
        .into_iter()
        .filter(|((device, _), ports)| stand_beside_aggregate(&facts[*device], ports))
        .flat_map(|((device, _), ports)| ports.into_iter().map(move |port| (device, port)))
        .collect()
}

/// True if a device has an aggregate, without members by its tables, that forwards to where these ports lead, at
/// the rate of all of them.
fn stand_beside_aggregate(own: &DeviceFacts, ports: &BTreeSet<PortIx>) -> bool {
    let rates = ports.iter().map(|port| own.ports[*port].rate);
    let rate: Option<u64> = rates.map(|rate| rate.map(|r| r.0)).sum();
    own.ports.iter().any(|(aggregate, row)| {
        let beyond = own.designated_at(aggregate);
        let mut members = own.ports.iter().filter_map(|(_, port)| port.aggregate);
        row.kind == InterfaceKind::Aggregate
            && row.up
            && row.rate.map(|own| own.0) == rate
            && own.ports.state(aggregate) == Some(StpState::Forwarding)
            && beyond.is_some()
            && ports.iter().all(|port| own.designated_at(*port) == beyond)
            && !members.any(|of| of == aggregate)
    })
}

/// The ports of a device that may belong to aggregates which it does not report.
struct UnreportedAggregates<'k, 'f> {
    known: &'k Known<'f>,
    device: DeviceIx,
    /// The ports that no forwarding database uses, although their cables are known, by neighbour.
    hidden: BTreeMap<NodeIx, Vec<PortIx>>,
    /// Those through which the device may be managed.
    apart: BTreeSet<PortIx>,
    /// The ports that databases use and LLDP does not know.
    open: Vec<PortIx>,
}

impl<'k, 'f> UnreportedAggregates<'k, 'f> {
    fn new(
        known: &'k Known<'f>,
        device: DeviceIx,
        cables: &PortsByNeighbour,
        [idle, apart]: [&BTreeSet<DevicePortIx>; 2],
    ) -> UnreportedAggregates<'k, 'f> {
        let own = &known.facts[device];
        let rows = own.neighbours.iter().map(|row| row.port);
        let named: BTreeSet<PortIx> = own.lldp_ports.ports().chain(rows).collect();
        let reported: BTreeSet<PortIx> =
            own.ports.iter().filter_map(|(_, p)| p.aggregate).collect();
        // Spanning tree states nothing of a member, or calls it disabled or blocked although it is up.
        let is_idle = |port: PortIx| {
            let facts = &own.ports[port];
            let says_nothing = facts.bridge.as_ref().is_some_and(|b| b.state.is_none());
            let takes_no_part = says_nothing || idle.contains(&(device, port));
            own.root_bridge.is_some() && facts.up && takes_no_part
        };
        let has_aggregates = own
            .ports
            .iter()
            .any(|(port, p)| p.is_aggregate() && p.up && own.ports.state(port).is_some());
        let is_hidden = |port: &PortIx| {
            own.ports[*port].aggregate.is_none()
                && own.ports.whole(*port) == *port
                && !own.ports[*port].is_aggregate()
                && (own.ports[*port].bridge.is_none() || has_aggregates && is_idle(*port))
        };
        let hidden = cables
            .iter()
            .map(|(far, ports)| (*far, ports.iter().copied().filter(is_hidden).collect()))
            .filter(|(_, ports): &(_, Vec<_>)| !ports.is_empty())
            .collect();
        // The unit of an aggregate stands for it; the unit of a cable's end is none.
        let open = own.ports.iter().map(|(port, _)| port).filter(|port| {
            let facts = &own.ports[own.ports.whole(*port)];
            facts.bridge.is_some()
                && facts.up
                && own.ports[*port].carrier.is_none()
                && !reported.contains(port)
                && (own.ports[*port].is_aggregate()
                    || own.ports.whole(*port) == *port
                        && !named.is_empty()
                        && !named.contains(port))
        });
        UnreportedAggregates {
            known,
            device,
            hidden,
            apart: apart
                .iter()
                .filter(|at| at.0 == device)
                .map(|at| at.1)
                .collect(),
            open: open.collect(),
        }
    }

    /// Each member with its aggregate, and the aggregates whose members are not known.
    fn members(&self) -> (Vec<(PortIx, PortIx)>, Vec<PortIx>) {
        if self.hidden.is_empty() || self.open.len() > MOST_OPEN {
            return (vec![], vec![]);
        }
        let (mut members, mut unclear) = (Vec::new(), Vec::new());
        if let Some((all, aggregate)) = self.at_a_pair() {
            return (
                all.into_iter().map(|port| (port, aggregate)).collect(),
                unclear,
            );
        }
        let mut left: BTreeSet<NodeIx> = self.hidden.keys().copied().collect();
        for &aggregate in &self.open {
            match self.neighbour_of(aggregate) {
                Some(far) => {
                    left.remove(&far);
                    let ports = self.hidden[&far].iter();
                    members.extend(ports.map(|port| (*port, aggregate)));
                }
                None => unclear.push(aggregate),
            }
        }
        unclear.retain(|aggregate| !self.leads_to_hosts(*aggregate, &left));
        (members, unclear)
    }

    /// The members of the only aggregate, if they lead to two switches that act as one: its rate is that of
    /// all together.
    fn at_a_pair(&self) -> Option<(Vec<PortIx>, PortIx)> {
        let [aggregate] = self.open[..] else {
            return None;
        };
        let own = &self.known.facts[self.device];
        let plain = self.hidden.values().filter(|ports| self.any_plain(ports));
        let ports = plain.clone().flatten().copied();
        let all: Vec<PortIx> = ports.filter(|port| !self.apart.contains(port)).collect();
        let rate = self.rate(aggregate);
        let is_whole = plain.count() == 2 && rate.is_some() && rate == self.total(&all);
        // Links over which a switch routes are no bridge ports, either.
        (is_whole && !own.routes()).then_some((all, aggregate))
    }

    /// True if a port may belong to an aggregate: management ports do not.
    fn any_plain(&self, ports: &[PortIx]) -> bool {
        !ports.iter().all(|port| self.apart.contains(port))
    }

    /// The node at the other end of an aggregate.
    fn neighbour_of(&self, aggregate: PortIx) -> Option<NodeIx> {
        let rate = self.rate(aggregate);
        let only = self.open.len() == 1;
        let groups = self.hidden.values();
        let plain = groups.filter(|ports| self.any_plain(ports)).count();
        let mut fitting = self.hidden.iter().filter(|(_, ports)| {
            only && plain == 1 && self.any_plain(ports)
                || rate.is_some() && rate == self.total(ports)
        });
        let far = fitting.next().filter(|_| fitting.next().is_none());
        // A rate that several aggregates have distinguishes none of them.
        let alike = self.open.iter().filter(|p| self.rate(**p) == rate).count();
        far.filter(|_| alike == 1 || only)
            .map(|(far, _)| *far)
            .or_else(|| self.designated_beyond(aggregate))
    }

    /// True if stations are behind an aggregate that none of the neighbours can have there: all route, and none is
    /// among the stations.
    fn leads_to_hosts(&self, aggregate: PortIx, neighbours: &BTreeSet<NodeIx>) -> bool {
        let facts = self.known.facts;
        let own = &facts[self.device];
        let mut behind = own.learned.behind(own.ports.whole(aggregate));
        behind.len() > 0
            && neighbours
                .iter()
                .all(|node| self.known.kind(*node) == NodeKind::Router)
            && !behind.any(|mac| {
                facts
                    .identity
                    .owner_of(mac)
                    .is_some_and(|o| neighbours.contains(&o))
            })
    }

    /// The neighbour that spanning tree names on the segment of an aggregate.
    fn designated_beyond(&self, aggregate: PortIx) -> Option<NodeIx> {
        let facts = self.known.facts;
        let whole = facts[self.device].ports.whole(aggregate);
        let named = facts[self.device].designated_at(whole)?;
        let far = facts.identity.owner_of(named)?;
        self.hidden.contains_key(&far).then_some(far)
    }

    fn rate(&self, port: PortIx) -> Option<u64> {
        self.known.facts[self.device].ports[port].rate.map(|r| r.0)
    }

    fn total(&self, ports: &[PortIx]) -> Option<u64> {
        let rates: Vec<u64> = ports.iter().filter_map(|p| self.rate(*p)).collect();
        let sum = rates.iter().copied().fold(0, u64::saturating_add);
        (!rates.is_empty()).then_some(sum)
    }
}

/// The claims of each link: several cables between the same aggregates are one link. Ambiguous
/// cables stay alone.
pub(super) fn links(known: &Known<'_>) -> Vec<(Option<AggregateEnds>, Vec<usize>)> {
    let sure = known
        .cables
        .iter()
        .enumerate()
        .filter(|(_, c)| c.grade != LinkGrade::Ambiguous);
    let groups = groups(known, sure);
    let mut links: Vec<(Option<AggregateEnds>, Vec<usize>)> = groups
        .into_iter()
        .filter(|(_, all)| all.len() > 1)
        .map(|(ends, all)| (Some(ends), all))
        .collect();
    let members: BTreeSet<usize> = links.iter().flat_map(|(_, all)| all.clone()).collect();
    let single = (0..known.cables.len()).filter(|i| !members.contains(i));
    links.extend(single.map(|i| (None, vec![i])));
    links
}

/// The aggregate at the end of cables of which no port is known there: the only one that leads to no
/// known node and has as many members as there are cables.
pub(super) fn unnamed(
    known: &Known<'_>,
    node: NodeIx,
    cables: &[Claim],
    taken: &HashSet<DevicePortIx>,
) -> Option<PortIx> {
    let device = known.facts.device_of(node)?;
    if cables
        .iter()
        .any(|c| c.end(node).is_some_and(|e| e.port.index().is_some()))
    {
        return None;
    }
    let mut members: BTreeMap<PortIx, usize> = BTreeMap::new();
    for (_, port) in known.facts[device].ports.iter().filter(|(_, p)| p.up) {
        if let Some(aggregate) = port.aggregate.filter(|a| !taken.contains(&(device, *a))) {
            *members.entry(aggregate).or_default() += 1;
        }
    }
    let mut fitting = members.into_iter().filter(|(_, n)| *n == cables.len());
    let (aggregate, _) = fitting.next()?;
    fitting.next().is_none().then_some(aggregate)
}

/// The port of an end as a link of one cable has it.
pub(super) fn end_port(aggregate: Option<PortIx>) -> EndPort {
    aggregate.map_or(EndPort::Unknown, EndPort::At)
}
