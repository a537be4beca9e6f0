//! Acceptance: the one place that decides which claims hold. Readers propose in the order of the
//! ranking, and each sees what was accepted before. What is contradicted becomes ambiguous, with an
//! alarm that names both sides.
//!
//! A step reads what is known and returns what it found, or all cables with other grades. It changes nothing
//! itself.
//!
//! ```text
//! neighbours --shared_ports--> one cable a port   --overruled--> databases against protocols
//! next_routers --> cables between routers that no protocol names
//! designated, facing --segments--> cables that nobody names, bridges that nobody asked
//! edge       --> asked devices without forwarding database
//! all cables --aggregates--> links
//! ```
mod aggregates;
pub(crate) mod findings;
pub(crate) mod islands;
pub(crate) mod known;
mod overruled;
mod segments;
mod shared_ports;
pub(crate) mod silent_switches;
pub(crate) mod unreported_members;

use crate::claims::{Claim, ClaimEnd};
use crate::draft::{DraftLink, DraftNetwork};
use crate::facts::device::tells;
use crate::facts::{DevicePortIx, Facts};
use crate::readers::neighbours::NeighbourClaims;
use crate::readers::{designated, edge, facing, neighbours, next_routers};
use aggregates::AggregateEnds;
use findings::Findings;
use inventory::BitsPerSec;
use inventory::alarm::{Alarm, AlarmKind};
use inventory::evidence::{DevicePort, Evidence};
use inventory::natural_order::natural;
use inventory::observation::InterfaceKind;
use inventory::topology::{AggregateMember, LinkGrade, LinkState, NodeKind};
use known::Known;
use std::collections::HashSet;

/// The cables between devices: first those that devices name, then those that only tables and
/// spanning tree reveal.
pub(crate) fn accept_cables<'f>(facts: &'f Facts<'f>) -> Known<'f> {
    let (mut known, suspects) = accept_neighbours(facts, neighbours::propose(facts));
    known.revise(overruled::give_way);
    (known.unreported, known.unclear_aggregates) = aggregates::unreported(&known);
    known.revise(overruled::doubt_crossed);
    known.cables.extend(next_routers::propose(facts, &known));
    let pairs = designated::propose(facts, &known);
    segments::accept(&known, pairs).add_to(&mut known);
    if !facts.scope.policy.shows_unlisted {
        let missing = silent_switches::unplaced(&known);
        let mut found = Findings::new(&known);
        let pairs = designated::propose_silent(&known, &missing, &mut found);
        found.add_cables(pairs.iter().map(|pair| segments::joined(facts, pair)));
        found.done().add_to(&mut known);
    }
    let pairs = facing::propose(facts, &known);
    segments::accept(&known, pairs).add_to(&mut known);
    known.cables.extend(edge::propose(facts, &known));
    // Last: by now weaker evidence may have found the device in between.
    shared_ports::explain(&known, suspects).add_to(&mut known);
    known
}

/// Accepts what LLDP and CDP say: one cable a port.
fn accept_neighbours<'f>(
    facts: &'f Facts<'f>,
    found: NeighbourClaims,
) -> (Known<'f>, Vec<shared_ports::SuspectSegment>) {
    let NeighbourClaims {
        claims,
        mut refused,
        hosts,
        down,
    } = found;
    let mut known = Known::new(facts, hosts);
    let mut findings = Findings::new(&known);
    for (device, port) in down {
        let kind = AlarmKind::DownPortNames {
            at: facts[device].place(port),
        };
        findings.alarm(device.into(), kind);
    }
    findings.add_alarms(about_rows(facts));
    let claims = without_stations(&known, claims, &mut findings);
    let claims = aggregates::match_members(&known, claims);
    let suspects = shared_ports::resolve(&known, claims, &mut refused, &mut findings);
    findings.done().add_to(&mut known);
    let about_refused = shared_ports::about_refused(&known, refused, &suspects);
    known.alarms.extend(about_refused);
    (known, suspects)
}

/// The alarms about neighbours at tunnels and other interfaces without a cable, and about neighbours without any identity.
fn about_rows(facts: &Facts<'_>) -> Vec<Alarm> {
    let mut alarms = Vec::new();
    for (_, own) in facts.devices() {
        for row in &own.inside {
            let who = (&row.row.chassis, row.row.name.as_str());
            let neighbour = match who {
                (Some(id), "") => id.to_string(),
                (_, name) => name.to_owned(),
            };
            let at = own.place(row.port);
            let mut rows = own.neighbours.iter();
            let kind = match own.ports[row.port].kind {
                InterfaceKind::Tunnel => AlarmKind::OverTunnel { at, neighbour },
                // It is seen at a cable's end, too, where it counts.
                _ if rows.any(|r| (&r.row.chassis, r.row.name.as_str()) == who) => continue,
                _ => AlarmKind::HeardInside { at, neighbour },
            };
            alarms.push(Alarm::node(&own.name, kind));
        }
        for row in &own.neighbours {
            let nobody = row.row.chassis.as_ref().filter(|id| !tells(id));
            if let Some(id) = nobody.filter(|_| row.row.name.is_empty()) {
                let kind = AlarmKind::NobodysId {
                    at: own.place(row.port),
                    id: id.clone(),
                };
                alarms.push(Alarm::node(&own.name, kind));
            }
        }
    }
    alarms
}

/// Raises an alarm about each neighbour that the inventory should list. In a living network a
/// station that it does not list does not belong to it.
fn without_stations(
    known: &Known<'_>,
    claims: Vec<Claim>,
    findings: &mut Findings<'_, '_>,
) -> Vec<Claim> {
    let facts = known.facts;
    if facts.scope.policy.shows_unlisted {
        return claims;
    }
    let mut kept = Vec::new();
    for claim in claims {
        let [near, far] = claim.ends.each_ref().map(|end| end.node);
        if !facts.is_unlisted(far) {
            kept.push(claim);
            continue;
        }
        let at = DevicePort::new(known.name(near), claim.ends[0].port_name(facts));
        match known.kind(far) {
            NodeKind::Host => findings.alarm(far, AlarmKind::StationUnlisted { at }),
            kind => {
                findings.alarm(far, AlarmKind::DeviceUnlisted { at, what: kind });
                kept.push(claim);
            }
        }
    }
    kept
}

impl<'f> DraftNetwork<'f> {
    /// The links of all accepted cables, and of hosts.
    pub(crate) fn new(mut known: Known<'f>, hosts: Vec<DraftLink>) -> DraftNetwork<'f> {
        let mut all = hosts;
        let groups = aggregates::links(&known);
        let taken = known.taken();
        let cables = std::mem::take(&mut known.cables);
        all.extend(links(&known, groups, cables, &taken));
        DraftNetwork {
            facts: known.facts,
            nodes: known.nodes,
            links: all,
            alarms: known.alarms,
            unreported: known.unreported,
            dropped: HashSet::new(),
        }
    }
}

/// The links of all accepted cables. `groups` are the cables of each, by number; `taken`: the ports of all.
fn links(
    known: &Known<'_>,
    groups: Vec<(Option<AggregateEnds>, Vec<usize>)>,
    cables: Vec<Claim>,
    taken: &HashSet<DevicePortIx>,
) -> Vec<DraftLink> {
    let mut cables: Vec<Option<Claim>> = cables.into_iter().map(Some).collect();
    groups
        .into_iter()
        .map(|(ends, all)| {
            let cables: Vec<Claim> = all.into_iter().filter_map(|i| cables[i].take()).collect();
            match ends {
                Some(ends) => {
                    let ends = ends.map(|(node, port)| {
                        (
                            node,
                            port.or_else(|| aggregates::unnamed(known, node, &cables, taken)),
                        )
                    });
                    aggregate(known, &ends, cables)
                }
                None => single(cables),
            }
        })
        .collect()
}

fn single(mut cables: Vec<Claim>) -> DraftLink {
    let claim = cables.remove(0);
    DraftLink {
        ends: claim.ends,
        members: vec![],
        rate: claim.rate,
        state: LinkState::Unknown,
        grade: claim.grade,
        evidence: claim.evidence,
    }
}

/// The link of several cables between the same aggregates.
fn aggregate(known: &Known<'_>, ends: &AggregateEnds, cables: Vec<Claim>) -> DraftLink {
    let facts = known.facts;
    let mut members: Vec<AggregateMember> = cables
        .iter()
        .map(|claim| AggregateMember {
            a_port: claim.port_name(facts, ends[0].0).to_owned(),
            b_port: claim.port_name(facts, ends[1].0).to_owned(),
        })
        .collect();
    members.sort_by_cached_key(|m| (natural(&m.a_port), natural(&m.b_port)));
    let ends = ends.map(|(node, port)| ClaimEnd::new(node, aggregates::end_port(port)));
    let [a, b] = ends.each_ref().map(|end| {
        let name = end.port.index().map(|_| end.port_name(facts).to_owned());
        (known.name(end.node).to_owned(), name)
    });
    let mut evidence = vec![Evidence::Aggregate {
        cables: members.len(),
        a,
        b,
    }];
    let rates = cables.iter().map(|c| c.rate.0);
    let rate = BitsPerSec(rates.fold(0, u64::saturating_add));
    // An aggregate is as sure as the least sure of its cables.
    let grade = cables.iter().map(|c| c.grade).max();
    evidence.extend(cables.into_iter().flat_map(|c| c.evidence));
    DraftLink {
        ends,
        members,
        rate,
        state: LinkState::Unknown,
        grade: grade.unwrap_or(LinkGrade::Inferred),
        evidence,
    }
}
