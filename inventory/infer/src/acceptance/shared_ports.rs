//! A port holds one cable. If several neighbours are seen on it, a device in between passes LLDP
//! on, against IEEE 802.1AB-2005, 8.1: the ports share a segment.
use super::findings::{Additions, Findings};
use super::known::Known;
use crate::claims::{Claim, ClaimEnd, EndPort, RefusedStatement};
use crate::facts::{DevicePortIx, NodeIx};
use crate::ranking::ClaimGrounds;
use inventory::alarm::{Alarm, AlarmKind};
use inventory::evidence::Evidence;
use inventory::topology::LinkGrade;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Ends that hear each other although a device is in between. Weaker evidence may identify that
/// device.
pub(super) struct SuspectSegment {
    ends: Vec<ClaimEnd>,
    evidence: Vec<Evidence>,
}

/// If several statements are about one port, the one that both ends make is kept, provided that the others
/// could have been confirmed, too. If all nodes on a segment hear each other, a device joins them.
/// Otherwise nothing distinguishes them, and all are ambiguous.
pub(super) fn resolve(
    known: &Known<'_>,
    mut claims: Vec<Claim>,
    refused: &mut Vec<RefusedStatement>,
    found: &mut Findings<'_, '_>,
) -> Vec<SuspectSegment> {
    let mut seen = HashSet::new();
    claims.retain(|claim| seen.insert(claim.ends.clone()));
    let claims = without_denied(known, claims, refused);
    let mut claims: Vec<Option<Claim>> = claims.into_iter().map(Some).collect();
    let mut suspects = Vec::new();
    for all in segments(&claims) {
        let all: Vec<Claim> = all.into_iter().filter_map(|i| claims[i].take()).collect();
        suspects.extend(SharedSegment::new(known, all).settle(known, found));
    }
    suspects
}

/// The claims that meet at ports, directly or through other claims.
fn segments(claims: &[Option<Claim>]) -> Vec<Vec<usize>> {
    let mut at: HashMap<&ClaimEnd, Vec<usize>> = HashMap::new();
    for (i, claim) in claims.iter().enumerate() {
        for end in claim.iter().flat_map(Claim::known_ends) {
            at.entry(end).or_default().push(i);
        }
    }
    let mut met = vec![false; claims.len()];
    let mut segments = Vec::new();
    for first in 0..claims.len() {
        let (mut all, mut next) = (vec![], vec![first]);
        while let Some(i) = next.pop() {
            if !std::mem::replace(&mut met[i], true) {
                all.push(i);
                let ends = claims[i].iter().flat_map(Claim::known_ends);
                next.extend(ends.flat_map(|end| &at[end]));
            }
        }
        if !all.is_empty() {
            all.sort_unstable();
            segments.push(all);
        }
    }
    segments
}

/// True if the node could confirm a statement about itself.
fn hears(known: &Known<'_>, node: NodeIx) -> bool {
    known
        .facts
        .device_of(node)
        .is_some_and(|d| known.facts[d].hears)
}

/// Drops a statement of one end that the other end could confirm but does not, if another cable on
/// the port is confirmed.
fn without_denied(
    known: &Known<'_>,
    mut claims: Vec<Claim>,
    refused: &mut Vec<RefusedStatement>,
) -> Vec<Claim> {
    let mut at: BTreeMap<ClaimEnd, Vec<usize>> = BTreeMap::new();
    for (i, claim) in claims.iter().enumerate() {
        for end in claim.known_ends() {
            at.entry(end.clone()).or_default().push(i);
        }
    }
    let mut announced_at: HashSet<(&ClaimEnd, NodeIx)> = HashSet::new();
    for claim in &claims {
        announced_at.extend(
            claim
                .ends
                .iter()
                .map(|end| (end, claim.other(end.node).node)),
        );
    }
    let mut dropped = BTreeSet::new();
    let mut outdated = Vec::new();
    for (end, all) in at {
        let (confirmed, others): (Vec<usize>, Vec<usize>) =
            all.iter().partition(|i| claims[**i].is_confirmed());
        // A single old row is an outdated row; several rows belong to a segment.
        let ([one], [other]) = (&confirmed[..], &others[..]) else {
            continue;
        };
        let (one, other) = (*one, *other);
        let may_be_denied = claims[other].grade == LinkGrade::Certain
            || (claims[other].ends.iter()).all(|end| hears(known, end.node));
        // A third node that both ends hear at the ports of the cable is on a segment with them.
        let third = claims[other].other(end.node).node;
        let mut ends = claims[one].ends.iter();
        if !may_be_denied || ends.all(|end| announced_at.contains(&(end, third))) {
            continue;
        }
        let (evidence, refusal) = contradiction(known, &claims[other], &claims[one], &end);
        refused.extend(refusal);
        outdated.push((one, evidence));
        dropped.insert(other);
    }
    for (confirmed, evidence) in outdated {
        claims[confirmed].evidence.push(evidence);
    }
    let mut number = 0..;
    claims.retain(|_| !number.next().is_some_and(|i: usize| dropped.contains(&i)));
    claims
}

/// The evidence that a dropped statement adds to the confirmed cable, and the refusal if another port
/// made it.
fn contradiction(
    known: &Known<'_>,
    dropped: &Claim,
    confirmed: &Claim,
    at: &ClaimEnd,
) -> (Evidence, Option<RefusedStatement>) {
    // If only one end states a cable, that end comes first.
    let [naming, named] = known.places(dropped);
    if dropped.ends[0].node == at.node {
        let named = named.device;
        return (Evidence::AlsoNames { at: naming, named }, None);
    }
    let cable = known.places(confirmed);
    let kind = AlarmKind::NamedByOther {
        at: naming.clone(),
        named: named.clone(),
        cable,
    };
    let refusal = dropped.ends[0]
        .device_port(known.facts)
        .map(|at| RefusedStatement { at, kind });
    (Evidence::NamedUnconfirmed { at: naming, named }, refusal)
}

/// The alarms about refused statements at ports that are left without any neighbour. Silent
/// devices are left out, because their rows may be old.
pub(super) fn about_refused(
    known: &Known<'_>,
    refused: Vec<RefusedStatement>,
    suspects: &[SuspectSegment],
) -> Vec<Alarm> {
    let facts = known.facts;
    let mut taken: HashSet<DevicePortIx> = known.announced_hosts.keys().copied().collect();
    let ends = known.cables.iter().flat_map(|c| &c.ends);
    let suspected = suspects.iter().flat_map(|s| &s.ends);
    taken.extend(ends.chain(suspected).filter_map(|e| e.device_port(facts)));
    let untold = refused
        .into_iter()
        .filter(|refused| !facts[refused.at.0].stale && !taken.contains(&refused.at));
    untold
        .map(|refused| Alarm::node(&facts[refused.at.0].name, refused.kind))
        .collect()
}

/// Cables that meet at ports.
struct SharedSegment {
    claims: Vec<Claim>,
    /// Each node on the segment, and the ports that are reported to be on it.
    points: BTreeMap<NodeIx, BTreeSet<EndPort>>,
    /// The ends that hear others.
    hearing: BTreeSet<ClaimEnd>,
    /// The hosts that announce themselves at each end.
    hosts: BTreeMap<ClaimEnd, BTreeSet<NodeIx>>,
}

impl SharedSegment {
    fn new(known: &Known<'_>, claims: Vec<Claim>) -> SharedSegment {
        let mut points: BTreeMap<NodeIx, BTreeSet<EndPort>> = BTreeMap::new();
        for end in claims.iter().flat_map(|c| &c.ends) {
            points.entry(end.node).or_default().insert(end.port.clone());
        }
        let ends: BTreeSet<ClaimEnd> = claims.iter().flat_map(Claim::known_ends).cloned().collect();
        SharedSegment {
            points,
            hosts: ends
                .iter()
                .filter_map(|end| {
                    let port = end.device_port(known.facts)?;
                    Some((end.clone(), known.announced_hosts.get(&port)?.clone()))
                })
                .collect(),
            hearing: ends
                .into_iter()
                .filter(|end| hears(known, end.node))
                .collect(),
            claims,
        }
    }

    /// Its cables, unless a device may be in between.
    fn settle(self, known: &Known<'_>, found: &mut Findings<'_, '_>) -> Option<SuspectSegment> {
        let alone = self.claims.len() == 1;
        let whole = self.is_whole(known);
        // Recordings hold rows of many moments.
        let mixed = known.facts.scope.policy.mixes_moments;
        if alone && (!whole || mixed || self.hosts.is_empty()) {
            found.add_cables(self.claims);
        } else if whole && !mixed {
            return Some(self.suspect());
        } else {
            self.unclear(known, found);
        }
        None
    }

    /// True if all nodes that hear any other hear all others, or at least two of them.
    fn is_whole(&self, known: &Known<'_>) -> bool {
        let mut joined: BTreeMap<NodeIx, BTreeSet<NodeIx>> = BTreeMap::new();
        for claim in &self.claims {
            let [a, b] = claim.ends.each_ref().map(|end| end.node);
            joined.entry(a).or_default().insert(b);
            joined.entry(b).or_default().insert(a);
        }
        let hosts: BTreeSet<&NodeIx> = self.hosts.values().flatten().collect();
        let one_port_each = self.points.iter().all(|(node, ports)| {
            let ports = ports.iter().filter(|p| p.means_one()).map(|port| {
                match (known.facts.device_of(*node), port) {
                    (Some(device), EndPort::At(port)) => {
                        EndPort::At(known.whole((device, *port)).1)
                    }
                    _ => port.clone(),
                }
            });
            ports.collect::<BTreeSet<_>>().len() <= 1
        });
        let all_hear_all = self.hearing.iter().all(|end| {
            let announced = self.hosts.get(end);
            joined[&end.node].len() + 1 == self.points.len()
                && (hosts.iter()).all(|host| announced.is_some_and(|all| all.contains(*host)))
        });
        one_port_each && (all_hear_all || joined.values().all(|others| others.len() > 1))
    }

    fn suspect(self) -> SuspectSegment {
        SuspectSegment {
            ends: self
                .points
                .into_iter()
                .map(|(node, ports)| ClaimEnd {
                    node,
                    port: ports
                        .into_iter()
                        .max_by_key(|p| (p.index().is_some(), p.means_one()))
                        .unwrap_or(EndPort::Unknown),
                })
                .collect(),
            evidence: self.claims.into_iter().flat_map(|c| c.evidence).collect(),
        }
    }

    fn unclear(mut self, known: &Known<'_>, found: &mut Findings<'_, '_>) {
        let mut at: BTreeMap<&ClaimEnd, BTreeSet<NodeIx>> = BTreeMap::new();
        for claim in &self.claims {
            for (end, other) in [(0, 1), (1, 0)].map(|(i, j)| (&claim.ends[i], &claim.ends[j])) {
                if end.port.means_one() {
                    at.entry(end).or_default().insert(other.node);
                }
            }
        }
        for (end, others) in at.into_iter().filter(|(_, others)| others.len() > 1) {
            let place = inventory::evidence::DevicePort::new(
                known.name(end.node),
                end.port_name(known.facts),
            );
            let mut names: Vec<String> = others.iter().map(|n| known.name(*n).to_owned()).collect();
            names.sort();
            found.alarm(
                end.node,
                AlarmKind::SeveralOnCable {
                    at: place,
                    neighbours: names,
                },
            );
        }
        for claim in &mut self.claims {
            claim.lower(LinkGrade::Ambiguous);
        }
        found.add_cables(self.claims);
    }
}

fn concerning(node: &str, evidence: &[Evidence]) -> Vec<Evidence> {
    let own = evidence.iter().filter(|evidence| evidence.concerns(node));
    own.cloned().collect()
}

/// The device between ends that hear each other: an unlisted bridge, if nothing else explains their
/// ports.
pub(super) fn explain(known: &Known<'_>, suspects: Vec<SuspectSegment>) -> Additions {
    let mut found = Findings::new(known);
    let ends = known.cables.iter().flat_map(Claim::known_ends);
    let taken: HashSet<ClaimEnd> = ends.cloned().collect();
    for SuspectSegment { ends, evidence } in suspects {
        let (cabled, open): (Vec<_>, Vec<_>) = ends.into_iter().partition(|e| taken.contains(e));
        match (&open[..], &cabled[..]) {
            ([], _) => {}
            ([one], [other, ..]) => {
                let ends = [one.clone(), other.clone()];
                let own = concerning(known.name(one.node), &evidence);
                let grounds = ClaimGrounds::FacingInDoubt;
                let claim = Claim::new(known.facts, ends, grounds, own);
                found.add_cables([claim]);
            }
            _ => {
                found.join_by_bridge(&open, |end| concerning(known.name(end.node), &evidence));
            }
        }
    }
    found.done()
}
