//! The places that hosts state. LLDP heard on a card is as certain as LLDP heard on a port, since
//! no bridge passes it on. CDP and the designated port of a BPDU (IEEE 802.1D-2004, 9.3.1) may come
//! from behind a bridge that sends no frames of its own.
//!
//! A host speaks of its own cable. So its statement adds to the switches' statements, and never
//! overrules those that are certain.
use super::InferredNetwork;
use super::attachments::{HostAttachment, PortsByMac};
use super::device::{DeviceTables, Port, show};
use super::host_statements::HostStatement;
use super::identity::{ListedNode, NeighbourIdentity, NodeDirectory};
use super::trunks::slower;
use inventory::BitsPerSec;
use inventory::alarm::{AlarmKind, HostElsewhere};
use inventory::evidence::{DevicePort, Evidence, NeighbourProtocol, RecognizedBy};
use inventory::host_report::{DiscoveryProtocol, HeardContent, HeardFrame};
use inventory::observation::{BridgeId, LldpNeighbour, NeighbourId};
use inventory::topology::{AggregateMember, Link, LinkGrade, LinkState};
use std::collections::BTreeSet;

/// A switch that never answered, and the name of its port, as a host states them.
pub(super) struct SilentSwitchPort {
    pub(super) switch: String,
    pub(super) port: String,
    pub(super) card: String,
    pub(super) rate: Option<BitsPerSec>,
    pub(super) evidence: Evidence,
}

/// The places that a host claims.
#[derive(Default)]
pub(super) struct HostClaims<'d, 'a> {
    /// By LLDP.
    pub(super) certain: Vec<HostAttachment<'d, 'a>>,
    /// By CDP or BPDU.
    pub(super) inferred: Vec<HostAttachment<'d, 'a>>,
    /// On switches that are not among the devices.
    pub(super) mute: Vec<SilentSwitchPort>,
}

/// The places that are named by the frames which a host hears.
pub(super) fn claims<'d, 'a>(
    host: &str,
    word: &HostStatement<'_>,
    devices: &'d [DeviceTables<'a>],
    directory: &NodeDirectory<'a>,
    is_trunk: &dyn Fn(&DeviceTables<'_>, &Port) -> bool,
) -> HostClaims<'d, 'a> {
    let mut claims = HostClaims::default();
    for HeardFrame { nic, said, .. } in &word.report.heard {
        let Some(card) = word.card(nic).filter(|c| c.up) else {
            continue;
        };
        let Some((switch, by)) = named(said, directory) else {
            continue;
        };
        let evidence = Evidence::Hears {
            protocol: protocol(said),
            at: DevicePort::new(host, nic),
            from: DevicePort::new(switch, port_said(said)),
            by,
            old: word.old,
        };
        let Some(device) = devices.iter().find(|d| d.name == switch) else {
            if is_lldp(said) {
                claims.mute.push(SilentSwitchPort {
                    switch: switch.to_owned(),
                    port: port_said(said),
                    card: nic.clone(),
                    rate: card.rate,
                    evidence,
                });
            }
            continue;
        };
        let Some(port) = port(device, said).filter(|p| !device.is_down(p)) else {
            continue;
        };
        let grade = if is_lldp(said) {
            LinkGrade::Certain
        } else {
            LinkGrade::Inferred
        };
        claims.add(HostAttachment {
            trunk: is_trunk(device, &port),
            device,
            port,
            host_port: nic.clone(),
            rate: card.rate,
            grade,
            evidence: vec![evidence],
            old: word.old,
            own: true,
            members: vec![],
        });
    }
    claims
}

impl<'d, 'a> HostClaims<'d, 'a> {
    /// Adds a place, or only its evidence if the place is known.
    fn add(&mut self, claim: HostAttachment<'d, 'a>) {
        let list = if claim.grade == LinkGrade::Certain {
            &mut self.certain
        } else {
            &mut self.inferred
        };
        match list.iter_mut().find(|s| s.is_at(claim.device, &claim.port)) {
            Some(seat) => seat.evidence.extend(claim.evidence),
            None => list.push(claim),
        }
    }
}

fn is_lldp(said: &HeardContent) -> bool {
    matches!(
        said,
        HeardContent::Neighbour {
            protocol: DiscoveryProtocol::Lldp,
            ..
        }
    )
}

/// The switch that sent a frame, and the key by which it is recognized if that is not its address.
fn named<'a>(
    said: &HeardContent,
    directory: &NodeDirectory<'a>,
) -> Option<(&'a str, Option<RecognizedBy>)> {
    match said {
        HeardContent::Neighbour { .. } => match directory.identify(&row(said)?) {
            NeighbourIdentity::Known {
                node: ListedNode::Switch(name),
                by,
            } => Some((name, Some(by))),
            _ => None,
        },
        HeardContent::Bpdu { bridge, .. } => Some((directory.switch_of(bridge.address)?, None)),
    }
}

/// A neighbour in the form of a switch's table row.
fn row(said: &HeardContent) -> Option<LldpNeighbour> {
    let HeardContent::Neighbour {
        chassis,
        port,
        port_descr,
        name,
        capabilities,
        protocol,
    } = said
    else {
        return None;
    };
    // CDP has no chassis: its device ID is a name.
    let (chassis, name) = match (protocol, chassis) {
        (DiscoveryProtocol::Cdp, NeighbourId::Text(device)) if name.is_empty() => {
            (None, device.clone())
        }
        _ => (Some(chassis.clone()), name.clone()),
    };
    Some(LldpNeighbour {
        chassis,
        port: Some(port.clone()),
        port_descr: port_descr.clone(),
        name,
        capabilities: *capabilities,
        ..LldpNeighbour::default()
    })
}

fn protocol(said: &HeardContent) -> NeighbourProtocol {
    match said {
        HeardContent::Neighbour { protocol, .. } => (*protocol).into(),
        HeardContent::Bpdu { .. } => NeighbourProtocol::Stp,
    }
}

fn port_said(said: &HeardContent) -> String {
    match said {
        HeardContent::Neighbour {
            port: NeighbourId::Mac(_),
            port_descr,
            ..
        } if !port_descr.is_empty() => port_descr.clone(),
        HeardContent::Neighbour { port, .. } => show(port),
        HeardContent::Bpdu { port, .. } => format!("port {port:04x}"),
    }
}

/// The port that sent a frame, by the switch's name for it.
fn port(device: &DeviceTables<'_>, said: &HeardContent) -> Option<Port> {
    match said {
        HeardContent::Neighbour {
            port, port_descr, ..
        } => Some(
            device
                .remote_port(Some(port), port_descr)
                .unwrap_or_else(|| Port {
                    name: port_said(said),
                    index: None,
                }),
        ),
        HeardContent::Bpdu { bridge, port, .. } => designated(device, *bridge, *port),
    }
}

/// The port with this identifier: by the switch's own table, or else by the 12 bits that are its
/// number (IEEE 802.1D-2004, 9.2.7).
fn designated(device: &DeviceTables<'_>, bridge: BridgeId, port: u16) -> Option<Port> {
    let ports = &device.view.bridge.as_ref()?.ports;
    let own = |p: &&inventory::observation::BridgePort| {
        p.designated_port == Some(port)
            && p.designated_bridge
                .is_some_and(|b| b.address == bridge.address)
    };
    let by_table = ports
        .iter()
        .find(own)
        .map(|p| device.indexed_port(p.if_index));
    by_table.or_else(|| device.base_port(u32::from(port & 0x0fff)))
}

/// Adds the host's certain statements to the switches' statements by LLDP. If the two contradict
/// each other, the switches' statements win, and an alarm is raised.
pub(super) fn confirm<'d, 'a>(
    host: &str,
    mut announced: Vec<HostAttachment<'d, 'a>>,
    claimed: Vec<HostAttachment<'d, 'a>>,
    taken: impl Fn(&HostAttachment<'d, 'a>) -> Option<HostElsewhere>,
    found: &mut InferredNetwork,
) -> Vec<HostAttachment<'d, 'a>> {
    let mut further = Vec::new();
    let mut confirmed = BTreeSet::new();
    for claim in claimed {
        // A port that cannot be identified by its name is taken for the port that the switch
        // states.
        let same = |s: &HostAttachment<'_, '_>| {
            s.is_at(claim.device, &claim.port)
                || (claim.port.index.is_none() && s.device.name == claim.device.name)
        };
        match announced.iter().position(same) {
            Some(at) => {
                confirmed.insert(at);
                announced[at].join(claim);
            }
            None => further.push(claim),
        }
    }
    let unconfirmed: Vec<DevicePort> = (0..announced.len())
        .filter(|i| !confirmed.contains(i) && !announced[*i].old)
        .map(|i| announced[i].place())
        .collect();
    for claim in further {
        let against = taken(&claim).or_else(|| {
            (!unconfirmed.is_empty()).then(|| HostElsewhere::Seen(unconfirmed.clone()))
        });
        match against {
            None => announced.push(claim),
            Some(_) if claim.old => {}
            Some(against) => found.alarm(
                host,
                AlarmKind::HostContradicted {
                    at: claim.place(),
                    against,
                },
            ),
        }
    }
    announced
}

/// Adds the host's weaker statements to the places at which its addresses were learned.
pub(super) fn add_weak_evidence<'d, 'a>(
    mut seats: Vec<HostAttachment<'d, 'a>>,
    claimed: Vec<HostAttachment<'d, 'a>>,
) -> Vec<HostAttachment<'d, 'a>> {
    for claim in claimed {
        match seats
            .iter()
            .position(|s| s.is_at(claim.device, &claim.port))
        {
            Some(at) => seats[at].join(claim),
            None if claim.old && !seats.is_empty() => {}
            None => seats.push(claim),
        }
    }
    seats
}

/// Compares the host's certain statement with the places at which its addresses were learned. If
/// answering switches learned the claimed card's address elsewhere, and not at the claimed place,
/// these are two places; an old statement is then ignored.
pub(super) fn compare_with_learned<'d, 'a>(
    claimed: Vec<HostAttachment<'d, 'a>>,
    edges: Vec<HostAttachment<'d, 'a>>,
    word: &HostStatement<'_>,
    learned: &PortsByMac<'_, '_>,
) -> Vec<HostAttachment<'d, 'a>> {
    let speaks_against = |edge: &HostAttachment<'_, '_>| {
        !edge.old
            && claimed
                .iter()
                .any(|claim| learned_elsewhere(claim, word, learned, edge))
    };
    let (against, fitting): (Vec<_>, Vec<_>) = edges.into_iter().partition(speaks_against);
    if !against.is_empty() && word.old {
        return against;
    }
    let mut seats = claimed;
    for edge in fitting {
        if let Some(seat) = seats.iter_mut().find(|s| s.is_at(edge.device, &edge.port)) {
            seat.evidence.extend(edge.evidence);
        }
    }
    if !against.is_empty() {
        seats.extend(against);
        seats
            .iter_mut()
            .for_each(|s| s.grade = LinkGrade::Ambiguous);
    }
    seats
}

fn learned_elsewhere(
    claim: &HostAttachment<'_, '_>,
    word: &HostStatement<'_>,
    learned: &PortsByMac<'_, '_>,
    edge: &HostAttachment<'_, '_>,
) -> bool {
    // The members of a bond share an address.
    let Some(card) = word.card(&claim.host_port).filter(|c| c.master.is_none()) else {
        return false;
    };
    let at = card.mac.and_then(|mac| learned.get(&mac));
    let is_at =
        |seat: &HostAttachment<'_, '_>| at.into_iter().flatten().any(|(d, p)| seat.is_at(d, p));
    is_at(edge) && !is_at(claim)
}

/// Places a host on the one switch that it hears and that never answered. Returns whether there is
/// one.
pub(super) fn place_on_silent_switch(
    host: &str,
    mute: &[SilentSwitchPort],
    found: &mut InferredNetwork,
) -> bool {
    let [
        SilentSwitchPort {
            switch,
            port,
            card,
            rate,
            evidence,
        },
    ] = mute
    else {
        return false;
    };
    let mut evidence = vec![evidence.clone()];
    found.links.push(Link {
        a: switch.clone(),
        a_port: port.clone(),
        b: host.to_owned(),
        b_port: card.clone(),
        members: vec![],
        rate_bps: slower([*rate, None], &mut evidence),
        state: LinkState::Unknown,
        grade: LinkGrade::Certain,
        evidence,
    });
    true
}

/// Several cables of one bond, or of one aggregate, on one switch are one seat. Their rates add up
/// only if the switch spreads frames over them, too, because a bond alone may use one cable at a
/// time.
pub(super) fn merge_bonds<'d, 'a>(
    seats: Vec<HostAttachment<'d, 'a>>,
    word: Option<&HostStatement<'_>>,
) -> Vec<HostAttachment<'d, 'a>> {
    let [first, rest @ ..] = &seats[..] else {
        return seats;
    };
    if rest.is_empty() || rest.iter().any(|s| s.device.name != first.device.name) {
        return seats;
    }
    let master = |s: &HostAttachment<'_, '_>| word?.card(&s.host_port)?.master.clone();
    let aggregate = |s: &HostAttachment<'_, '_>| s.device.aggregate(&s.port);
    let (bond, lag) = (master(first), aggregate(first));
    let same_bond = bond.is_some() && seats.iter().all(|s| master(s) == bond);
    let same_lag = lag.is_some() && seats.iter().all(|s| aggregate(s) == lag);
    if !same_bond && !same_lag {
        return seats;
    }
    let member = |s: &HostAttachment<'_, '_>| AggregateMember {
        a_port: s.port.name.clone(),
        b_port: s.host_port.clone(),
    };
    let rates: Option<Vec<BitsPerSec>> = seats.iter().map(HostAttachment::slower).collect();
    let rate = rates.and_then(|r| {
        if same_lag {
            Some(BitsPerSec(
                r.iter().map(|r| r.0).fold(0, u64::saturating_add),
            ))
        } else {
            r.into_iter().min()
        }
    });
    let mut evidence = vec![Evidence::HostBond {
        cables: seats.len(),
        bond: bond.clone(),
        aggregated: same_lag,
    }];
    evidence.extend(seats.iter().flat_map(|s| s.evidence.iter().cloned()));
    let port = lag.filter(|_| same_lag).unwrap_or(Port {
        name: String::new(),
        index: None,
    });
    vec![HostAttachment {
        device: first.device,
        port,
        host_port: bond.unwrap_or_default(),
        rate,
        grade: seats
            .iter()
            .map(|s| s.grade)
            .max()
            .unwrap_or(LinkGrade::Inferred),
        evidence,
        trunk: seats.iter().any(|s| s.trunk),
        old: seats.iter().all(|s| s.old),
        own: seats.iter().all(|s| s.own),
        members: seats.iter().map(member).collect(),
    }]
}
