//! Claims that forwarding databases contradict.
//!
//! A bridge that does not speak a neighbour protocol may pass its frames on: CDP always, LLDP
//! against IEEE 802.1AB-2005, 8.1. If such a bridge was asked, its database shows that it is
//! between the two ends: it has one behind one port, and the other behind another.
//!
//! A bridge that nobody asked leaves weaker traces. Either a station is learned at both ends as
//! beyond the other, as if its frames came in between (Y. Breitbart et al., "Topology discovery in
//! heterogeneous IP networks", INFOCOM 2000: the databases of two ports that face each other have
//! no address in common), or spanning tree names a third bridge as the designated one.
use super::known::Known;
use crate::claims::{Claim, ClaimEnd};
use crate::facts::device::DeviceFacts;
use crate::facts::ports::PortIx;
use crate::facts::{DeviceIx, DevicePortIx, Facts, NodeIx};
use crate::learned_between::{LEAST, STALE, denies, foreign_behind, is_foreign, stations_between};
use crate::ranking::ClaimGrounds;
use crate::readers::designated::named_designated;
use inventory::Mac;
use inventory::alarm::{Alarm, AlarmKind};
use inventory::evidence::Evidence;
use inventory::observation::StpState;
use inventory::topology::LinkGrade;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// A port with more stations than this is hardly one neighbour's: a telephone has one host behind it.
const MOST_AT_EDGE: usize = 3;

/// So many stations do not pass a bridge without leaving a row, however soon it forgets them.
const MOST_FORGOTTEN: usize = 5;

/// A longer database is not compared, station by station, with those of all bridges.
const MOST_ROWS: usize = 4096;

/// The cables without the claims between whose ends an asked bridge is, with an alarm for each of those. A
/// neighbour that nobody asked moves to the port at which the last of these bridges learned it.
pub(super) fn give_way(known: &Known<'_>, cables: Vec<Claim>) -> (Vec<Claim>, Vec<Alarm>) {
    let facts = known.facts;
    // Bridges that pass LLDP on, and bridges that pass CDP on.
    let mute = [
        mute_bridges(facts, |d| d.speaks_lldp),
        mute_bridges(facts, |d| d.speaks_cdp),
    ];
    if mute.iter().all(Vec::is_empty) {
        return (cables, Vec::new());
    }
    let (mut kept, mut alarms) = (Vec::new(), Vec::new());
    let mut at_bridges = HashSet::new();
    for claim in cables {
        let between = if claim.grounds.gives_way_to_databases() {
            bridges_between(known, &claim, &mute[by_cdp(&claim)])
        } else {
            vec![]
        };
        if between.is_empty() {
            kept.push(claim);
            continue;
        }
        // A bridge that does not speak CDP has to forward it; a bridge that forwards LLDP is at
        // fault.
        if claim.grounds != ClaimGrounds::NamedByCdp {
            let why = between[0].evidence(facts, known, &claim);
            alarms.push(doubted(known, &claim, why));
        }
        kept.extend(moved(known, &claim, &between));
        let cables = at_bridge(facts, known, &claim, &between).into_iter();
        kept.extend(cables.filter(|cable| at_bridges.insert(cable.ends.clone())));
    }
    (kept, alarms)
}

/// The alarm about a claim that databases contradict.
fn doubted(known: &Known<'_>, claim: &Claim, why: Evidence) -> Alarm {
    let ends = known.places(claim);
    let name = known.name(claim.ends[0].node);
    Alarm::node(name, AlarmKind::CableDoubted { ends, why })
}

/// A bridge between the ends of a claim, and its ports towards them.
struct BridgeBetween {
    bridge: DeviceIx,
    toward: [PortIx; 2],
}

impl BridgeBetween {
    fn evidence(&self, facts: &Facts<'_>, known: &Known<'_>, claim: &Claim) -> Evidence {
        Evidence::BridgeBetween {
            ports: self.toward.map(|port| facts[self.bridge].place(port)),
            ends: claim
                .ends
                .each_ref()
                .map(|end| known.name(end.node).to_owned()),
        }
    }
}

/// The bridges with learned stations that do not speak a protocol.
fn mute_bridges(facts: &Facts<'_>, speaks: impl Fn(&DeviceFacts) -> bool) -> Vec<DeviceIx> {
    let mute = facts
        .devices()
        .filter(|(_, d)| d.bridges && !d.learned.is_empty() && !speaks(d));
    mute.map(|(device, _)| device).collect()
}

/// 1 for a claim by CDP, 0 for a claim by LLDP.
fn by_cdp(claim: &Claim) -> usize {
    usize::from(claim.grounds == ClaimGrounds::NamedByCdp)
}

/// The asked bridges that do not speak the protocol of a claim and are between its ends.
fn bridges_between(known: &Known<'_>, claim: &Claim, mute: &[DeviceIx]) -> Vec<BridgeBetween> {
    let ends = claim.ends.each_ref().map(|end| end.node);
    mute.iter()
        .copied()
        .filter(|b| !ends.contains(&NodeIx::from(*b)))
        .filter_map(|bridge| {
            // A bridge that has the two behind different ports is on the path between them.
            let [x, y] = &claim.ends;
            let toward = [toward(known, bridge, x)?, toward(known, bridge, y)?];
            let is_apart = toward[0] != toward[1]
                && !claim
                    .ends
                    .iter()
                    .zip(toward)
                    .all(|(end, port)| is_managed_through(known, bridge, port, end));
            let is_between = is_apart && !is_passed_by(known, bridge, claim);
            is_between.then_some(BridgeBetween { bridge, toward })
        })
        .collect()
}

/// True if a bridge may have a device behind a port only because it carries the device's management: it
/// learned the device alone there, and the device has a port besides those of its bridge.
fn is_managed_through(known: &Known<'_>, bridge: DeviceIx, port: PortIx, end: &ClaimEnd) -> bool {
    let facts = known.facts;
    let Some(device) = facts.device_of(end.node) else {
        return false;
    };
    let own = &facts[device];
    let mut behind = facts[bridge].learned.behind(port);
    let has_bridge = own.ports.iter().any(|(_, port)| port.bridge.is_some());
    behind.all(|mac| own.macs.contains(&mac))
        && has_bridge
        && own.ports.iter().any(|(at, port)| {
            let is_plain = port.up && port.is_cable() && port.bridge.is_none();
            is_plain && port.aggregate.is_none() && own.learned.behind(at).len() == 0
        })
}

/// True if frames of many stations went from one end to the other, and a bridge learned none of them. Between
/// the two it would have.
fn is_passed_by(known: &Known<'_>, bridge: DeviceIx, claim: &Claim) -> bool {
    let facts = known.facts;
    let ends = claim.ends.each_ref().map(|end| end.device_port(facts));
    let [Some((a, p)), Some((b, q))] = ends.map(|end| end.map(|at| known.whole(at))) else {
        return false;
    };
    let (here, there) = (&facts[a].learned, &facts[b].learned);
    if here.len().max(there.len()) > MOST_ROWS {
        return false;
    }
    let passed = here
        .shared(there)
        // Behind the port at one end and not at the other: frames of this station went from end to
        // end.
        .filter(|(_, x, y)| (*x == p) != (*y == q));
    let mut count = 0;
    for (mac, _, _) in passed.filter(|(mac, _, _)| is_foreign(facts, [a, b], *mac)) {
        if facts[bridge].learned.port_of(mac).is_some() {
            return false;
        }
        count += 1;
    }
    count > MOST_FORGOTTEN
}

/// The port behind which a bridge has the node of an end: by the node's own addresses, or else by
/// the stations that it has at its other ports.
fn toward(known: &Known<'_>, bridge: DeviceIx, end: &ClaimEnd) -> Option<PortIx> {
    let facts = known.facts;
    let learned = &facts[bridge].learned;
    let Some(device) = facts.device_of(end.node) else {
        let chassis = known.nodes[end.node.0 as usize].chassis?;
        return learned.port_of(chassis);
    };
    let own = &facts[device];
    let macs = own.macs.iter().chain(&own.likely_macs);
    let by_own: BTreeSet<PortIx> = macs.filter_map(|mac| learned.port_of(*mac)).collect();
    if by_own.len() == 1 {
        return by_own.first().copied();
    }
    if own.learned.len() > MOST_ROWS {
        return None;
    }
    let port = end.device_port(facts).map(|p| known.whole(p).1)?;
    let mut stations: BTreeMap<PortIx, usize> = BTreeMap::new();
    for (_, here, there) in own.learned.shared(learned) {
        if here != port {
            *stations.entry(there).or_default() += 1;
        }
    }
    let all: usize = stations.values().sum();
    let (port, most) = stations.into_iter().max_by_key(|(_, n)| *n)?;
    (most >= LEAST && (all - most) * STALE <= all).then_some(port)
}

/// The cables from the only bridge between two devices that name each other by LLDP to their ports,
/// where each is alone behind a port of the bridge.
fn at_bridge(
    facts: &Facts<'_>,
    known: &Known<'_>,
    claim: &Claim,
    between: &[BridgeBetween],
) -> Vec<Claim> {
    let [only] = between else { return vec![] };
    let own = &facts[only.bridge];
    let ends = claim.ends.iter().zip(only.toward);
    let cables = ends.map(|(end, port)| {
        let (device, _) = end.device_port(facts)?;
        let macs: Vec<Mac> = own.learned.behind(port).collect();
        let alone = !macs.is_empty() && macs.iter().all(|mac| facts[device].macs.contains(mac));
        // Nothing says which member of an aggregate leads there.
        let is_one = !own.ports[port].is_aggregate();
        (alone && is_one).then(|| {
            let learned = Evidence::LearnedAtEdge {
                at: own.place(port),
                macs,
                stale: own.stale,
            };
            let evidence = vec![learned, only.evidence(facts, known, claim)];
            let ends = [ClaimEnd::at(only.bridge, port), end.clone()];
            Claim::new(facts, ends, ClaimGrounds::LearnedAtEdge, evidence)
        })
    });
    let all: Option<Vec<Claim>> = cables.collect();
    all.filter(|_| claim.is_confirmed()).unwrap_or_default()
}

/// The claim that takes the place of one between whose ends bridges are: the neighbour that nobody
/// asked is at the bridge that is nearest to it.
fn moved(known: &Known<'_>, claim: &Claim, between: &[BridgeBetween]) -> Option<Claim> {
    let facts = known.facts;
    let side = claim
        .ends
        .iter()
        .position(|end| facts.device_of(end.node).is_none())?;
    let chassis = known.nodes[claim.ends[side].node.0 as usize].chassis?;
    let last = between.iter().find(|b| {
        let port = b.toward[side];
        let others = between.iter().filter(|o| o.bridge != b.bridge);
        let mut macs = others.flat_map(|o| &facts[o.bridge].macs);
        !macs.any(|mac| facts[b.bridge].learned.port_of(*mac) == Some(port))
    })?;
    let at = ClaimEnd::at(last.bridge, last.toward[side]);
    let evidence = vec![
        Evidence::LearnedAtEdge {
            at: facts[last.bridge].place(last.toward[side]),
            macs: vec![chassis],
            stale: facts[last.bridge].stale,
        },
        last.evidence(facts, known, claim),
    ];
    let ends = [at, claim.ends[side].clone()];
    let mut moved = Claim::new(facts, ends, ClaimGrounds::LearnedAtEdge, evidence);
    // Where many stations are, a further bridge may be.
    let learned = &facts[last.bridge].learned;
    if learned.behind(last.toward[side]).len() > MOST_AT_EDGE {
        moved.lower(LinkGrade::Ambiguous);
    }
    Some(moved)
}

/// The cables, with a lower grade for claims that leave a trace of a bridge that nobody asked, and alarms about
/// those.
///
/// The cable itself stays, because bridges must not pass LLDP on (IEEE 802.1D-2004, 7.12.6), while
/// tables that are read one after the other, hosts that move and VLANs give the same picture as a
/// bridge in between.
pub(super) fn doubt_crossed(known: &Known<'_>, mut cables: Vec<Claim>) -> (Vec<Claim>, Vec<Alarm>) {
    let facts = known.facts;
    let named = named_designated(facts);
    // They count for claims of one side only.
    let mut grounds = cables.iter().map(|claim| claim.grounds);
    let joined = match grounds.all(|grounds| grounds == ClaimGrounds::NamedByBoth) {
        true => BTreeMap::new(),
        false => forwarding_neighbours(known, &cables),
    };
    let mut alarms = Vec::new();
    for claim in cables
        .iter_mut()
        .filter(|c| c.grade != LinkGrade::Ambiguous)
    {
        let ends = claim.ends.each_ref().map(|end| end.device_port(facts));
        let third = ends.into_iter().flatten().find_map(|at| {
            third_bridge(known, at, claim).or_else(|| third_on_segment(known, &named, at, claim))
        });
        let crossed = match ends {
            [Some(a), Some(b)] => crossed(known, [a, b]),
            _ => None,
        };
        // A single station may just be moving.
        let strong = third.is_some() || crossed.as_ref().is_some_and(|c| c.0 > 1);
        let one_sided = !claim.is_confirmed();
        let Some(why) = third
            .or(crossed.map(|c| c.1))
            .or_else(|| one_sided.then(|| elsewhere(known, &joined, ends)).flatten())
        else {
            continue;
        };
        // A cable that both ends state by LLDP stands against tables, which are read one after the
        // other. A cable that one end states and databases deny is old, or another node's.
        let weak = claim.grade == LinkGrade::Inferred;
        if weak && !strong && matches!(why, Evidence::LearnedBetween { .. }) {
            continue;
        }
        // Recordings hold rows of many moments and VLANs.
        let alarming = weak || strong && !facts.scope.policy.mixes_moments;
        if alarming {
            alarms.push(doubted(known, claim, why.clone()));
        }
        let has_third = matches!(why, Evidence::ThirdDesignated { .. });
        claim.lower(match weak || has_third {
            true => LinkGrade::Ambiguous,
            false => LinkGrade::Inferred,
        });
        claim.evidence.push(why);
    }
    (cables, alarms)
}

/// Stations that both of two facing ports learned, or that one learned although the other blocks:
/// their number, and the first one.
fn crossed(known: &Known<'_>, ends: [DevicePortIx; 2]) -> Option<(usize, Evidence)> {
    let facts = known.facts;
    let [(a, p), (b, q)] = ends.map(|end| known.whole(end));
    // A blocked port still sends its own frames.
    let found: Vec<Mac> = if known.blocks((b, q)) {
        foreign_behind(facts, (a, p), b).take(1).collect()
    } else if known.blocks((a, p)) {
        foreign_behind(facts, (b, q), a).take(1).collect()
    } else {
        stations_between(facts, (a, p), (b, q))
    };
    let mac = *found.first()?;
    let ends = ends.map(|(device, port)| facts[device].place(port));
    Some((found.len(), Evidence::LearnedBetween { mac, ends }))
}

/// A third bridge that does not speak LLDP and is on the segment of a port: it names the port as its
/// designated one.
fn third_on_segment(
    known: &Known<'_>,
    named: &HashMap<DevicePortIx, Vec<DevicePortIx>>,
    at: DevicePortIx,
    claim: &Claim,
) -> Option<Evidence> {
    let facts = known.facts;
    let on_segment = named.get(&known.whole(at))?.iter();
    let mut thirds = on_segment.filter(|(device, _)| {
        let is_end = claim.ends.iter().any(|e| e.node == NodeIx::from(*device));
        !is_end && !facts[*device].speaks_lldp
    });
    thirds
        .next()
        .map(|(device, port)| Evidence::DesignatedPort {
            at: facts[*device].place(*port),
            designated: facts[at.0].place(at.1),
        })
}

/// By device: the ports that face it over cables that both ends name and let frames cross.
fn forwarding_neighbours(
    known: &Known<'_>,
    cables: &[Claim],
) -> BTreeMap<DeviceIx, Vec<DevicePortIx>> {
    let mut joined: BTreeMap<DeviceIx, Vec<DevicePortIx>> = BTreeMap::new();
    for claim in cables.iter().filter(|claim| claim.is_confirmed()) {
        let ends = claim
            .ends
            .each_ref()
            .map(|end| end.device_port(known.facts));
        if let [Some(a), Some(b)] = ends
            && [a, b]
                .iter()
                .all(|at| known.state(*at) == Some(StpState::Forwarding))
        {
            joined.entry(a.0).or_default().push(known.whole(b));
            joined.entry(b.0).or_default().push(known.whole(a));
        }
    }
    joined
}

/// The end that has the other one behind another port than the claimed one; or, where the other one serves no
/// database, a neighbour of it.
fn elsewhere(
    known: &Known<'_>,
    joined: &BTreeMap<DeviceIx, Vec<DevicePortIx>>,
    ends: [Option<DevicePortIx>; 2],
) -> Option<Evidence> {
    let facts = known.facts;
    let [Some(a), Some(b)] = ends.map(|end| end.map(|e| known.whole(e))) else {
        return None;
    };
    [(a, b.0), (b, a.0)].into_iter().find_map(|(at, other)| {
        let beyond = joined
            .get(&other)
            .filter(|_| facts[other].learned.is_empty());
        let mut beyond = beyond.into_iter().flatten();
        let node = match denies(facts, at, other) {
            true => other,
            false => beyond.find(|port| are_apart(facts, at, **port))?.0,
        };
        Some(Evidence::LearnedElsewhere {
            at: facts[at.0].place(at.1),
            node: facts[node].name.clone(),
        })
    })
}

/// True if a port that forwards does not lead to a device whose other port this is: the stations behind the
/// device's further ports are behind another port here.
fn are_apart(facts: &Facts<'_>, (own, port): DevicePortIx, (far, back): DevicePortIx) -> bool {
    let (here, there) = (&facts[own].learned, &facts[far].learned);
    if own == far || here.behind(port).len() == 0 || here.len().max(there.len()) > MOST_ROWS {
        return false;
    }
    let beyond = there.shared(here).filter(|(_, at, _)| *at != back);
    let (mut all, mut apart) = (0, 0);
    for (_, _, at) in beyond {
        all += 1;
        apart += usize::from(at != port);
    }
    apart >= LEAST && (all - apart) * STALE <= all
}

/// A third bridge that spanning tree names on a cable between two devices that both state their own
/// address.
fn third_bridge(known: &Known<'_>, at: DevicePortIx, claim: &Claim) -> Option<Evidence> {
    let facts = known.facts;
    let named = facts[at.0].designated_at(at.1)?;
    let ends: Vec<&DeviceFacts> = claim
        .ends
        .iter()
        .filter_map(|end| facts.device_of(end.node))
        .map(|d| &facts[d])
        .collect();
    let all_known = ends.len() == 2 && ends.iter().all(|d| d.bridge_address.is_some());
    let owner = facts
        .identity
        .owner_of(named)
        .filter(|o| !facts.is_host(*o));
    let on_it = match owner {
        Some(owner) => claim.ends.iter().any(|end| end.node == owner),
        None => !all_known || ends.iter().any(|d| d.macs.contains(&named)),
    };
    let bridge = owner.map_or_else(|| named.to_string(), |o| known.name(o).to_owned());
    let at = facts[at.0].place(at.1);
    (!on_it).then_some(Evidence::ThirdDesignated { at, bridge })
}
