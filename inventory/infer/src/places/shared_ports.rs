//! Hosts by the port at which they are: alone, or behind an unmanaged bridge.
use super::port_tables::TrunkPorts;
use crate::acceptance::findings::Findings;
use crate::claims::ClaimEnd;
use crate::draft::DraftLink;
use crate::facts::{DevicePortIx, Facts, NodeIx};
use crate::learned_between::stations_between;
use inventory::alarm::AlarmKind;
use inventory::evidence::{DevicePort, Evidence};
use inventory::topology::{LinkGrade, LinkState};
use inventory::topology_file::plain_name;
use std::collections::HashSet;

/// Adds the links of hosts with one attachment. If another host may have the port, too, they are
/// inferred. Several hosts on one port get a bridge between.
pub(super) fn add_attached(
    facts: &Facts<'_>,
    found: &mut Findings<'_, '_>,
    (mut attached, trunks): (Vec<DraftLink>, &TrunkPorts),
    mut links: Vec<DraftLink>,
) -> Vec<DraftLink> {
    let disputed: HashSet<ClaimEnd> = links
        .iter()
        .filter(|l| l.grade == LinkGrade::Ambiguous)
        .map(|l| l.ends[0].clone())
        .collect();
    attached.sort_by(|one, other| one.ends[0].cmp(&other.ends[0]));
    let mut made = Vec::new();
    let mut attached = attached.into_iter().peekable();
    while let Some(first) = attached.next() {
        let end = first.ends[0].clone();
        let mut here = vec![first];
        here.extend(std::iter::from_fn(|| {
            attached.next_if(|link| link.ends[0] == end)
        }));
        if disputed.contains(&end) {
            let at = DevicePort::new(found.name(end.node), end.port_name(facts));
            for link in &mut here {
                link.grade = match link.grade {
                    LinkGrade::Certain => LinkGrade::Inferred,
                    // In generated networks 23 of 51 such places were wrong.
                    _ => LinkGrade::Ambiguous,
                };
                link.evidence.push(Evidence::OthersPossible(at.clone()));
            }
        }
        let bridge = end.device_port(facts).and_then(|p| trunks.bridges.get(&p));
        match (here.len(), bridge) {
            (_, Some(bridge)) => links.extend(below(*bridge, here)),
            (1, None) => links.extend(here),
            _ => links.extend(on_unmanaged_bridge(facts, found, &mut made, (end, here))),
        }
    }
    links
}

/// Cables hosts to a bridge. The names of its ports are not known.
fn below(bridge: NodeIx, links: Vec<DraftLink>) -> impl Iterator<Item = DraftLink> {
    links.into_iter().map(move |mut link| {
        link.ends[0] = ClaimEnd::somewhere(bridge);
        link.grade = link.grade.max(LinkGrade::Inferred);
        link
    })
}

/// The unmanaged bridge behind a port, with its hosts.
pub(super) struct BridgeBehind {
    port: Option<DevicePortIx>,
    hosts: Vec<NodeIx>,
    bridge: NodeIx,
}

/// Several hosts behind one port: an unmanaged bridge is between. Where the same stations are behind ports of two
/// switches, it has a cable to each.
pub(super) fn on_unmanaged_bridge(
    facts: &Facts<'_>,
    found: &mut Findings<'_, '_>,
    made: &mut Vec<BridgeBehind>,
    (end, links): (ClaimEnd, Vec<DraftLink>),
) -> Vec<DraftLink> {
    let mut up = DraftLink {
        ends: [end.clone(), end.clone()],
        members: vec![],
        rate: links[0].rate,
        state: LinkState::Unknown,
        grade: LinkGrade::Inferred,
        evidence: vec![Evidence::HostsOnPort(links.len())],
    };
    let port = end.device_port(facts);
    let hosts: Vec<NodeIx> = links.iter().map(|l| l.ends[1].node).collect();
    let same = made.iter().find(|other| {
        let ports = other.port.zip(port).filter(|_| other.hosts == hosts);
        ports.is_some_and(|(a, b)| a.0 != b.0 && !stations_between(facts, a, b).is_empty())
    });
    if let Some(same) = same {
        up.ends[1] = ClaimEnd::somewhere(same.bridge);
        return vec![up];
    }
    let place = DevicePort::new(found.name(end.node), end.port_name(facts));
    let name = format!("{}-{}", place.device, plain_name(&place.port));
    let bridge = found.unmanaged_bridge(&name);
    let names = hosts.iter().map(|host| found.name(*host).to_owned());
    let kind = AlarmKind::HostsOnPort {
        at: place,
        hosts: names.collect(),
    };
    found.alarm(bridge, kind);
    up.ends[1] = ClaimEnd::somewhere(bridge);
    made.push(BridgeBehind {
        port,
        hosts,
        bridge,
    });
    std::iter::once(up).chain(below(bridge, links)).collect()
}
