//! The places that hosts state. LLDP received on a card is as certain as LLDP received on a port, since
//! no bridge passes it on. CDP and the designated port of a BPDU (IEEE 802.1D-2004, 9.3.1) may come
//! from behind a bridge that sends no frames of its own.
//!
//! A host speaks of its own cable. So its statement adds to the switches' statements, and never
//! overrules those that are certain.
use crate::claims::EndPort;
use crate::facts::host_statements::HostStatement;
use crate::facts::identity::NeighbourIdentity;
use crate::facts::ports::PortIx;
use crate::facts::unlisted::stated_kind;
use crate::facts::{DeviceIx, DevicePortIx, Facts, NodeIx};
use crate::places::attachment::Attachment;
use inventory::evidence::{DevicePort, Evidence, NeighbourProtocol, RecognizedBy};
use inventory::host_report::{DiscoveryProtocol, HeardContent, HeardFrame};
use inventory::observation::{BridgeId, LldpNeighbour, NeighbourId};
use inventory::topology::{LinkGrade, NodeKind};
use inventory::{BitsPerSec, Mac};

/// A switch that never answered, and the name of its port, as a host states them.
pub(crate) struct SilentSwitchPort {
    pub(crate) switch: NodeIx,
    pub(crate) port: String,
    pub(crate) card: String,
    pub(crate) rate: Option<BitsPerSec>,
    pub(crate) evidence: Evidence,
}

/// The places that a host claims.
#[derive(Default)]
pub(crate) struct HostClaims {
    /// By LLDP.
    pub(crate) certain: Vec<Attachment>,
    /// By CDP or BPDU.
    pub(crate) inferred: Vec<Attachment>,
    /// On switches that are not among the devices.
    pub(crate) silent: Vec<SilentSwitchPort>,
}

/// The places that are named by the frames which a host hears.
pub(crate) fn propose(
    facts: &Facts<'_>,
    host: NodeIx,
    statement: &HostStatement<'_>,
    is_trunk: &dyn Fn(DevicePortIx) -> bool,
) -> HostClaims {
    let mut claims = HostClaims::default();
    for HeardFrame { nic, content, .. } in &statement.report.frames {
        let Some(card) = statement.card(nic).filter(|c| c.up) else {
            continue;
        };
        let Some((switch, by)) = sender(facts, host, content) else {
            continue;
        };
        let (from, at) = (facts.name(switch), DevicePort::new(facts.name(host), nic));
        let evidence = hears(content, at, from, by, statement.old);
        let Some(device) = facts.device_of(switch) else {
            if is_lldp(content) {
                claims.silent.push(SilentSwitchPort {
                    switch,
                    port: announced_port(content),
                    card: nic.clone(),
                    rate: card.rate,
                    evidence,
                });
            }
            continue;
        };
        let Some(port) = port(facts, device, content) else {
            continue;
        };
        let known = port.index();
        // The frame came before the switch's port went down: LLDP holds for minutes.
        if known.is_some_and(|p| !facts[device].ports[p].up) {
            continue;
        }
        let grade = if is_lldp(content) {
            LinkGrade::Certain
        } else {
            LinkGrade::Inferred
        };
        claims.add(Attachment {
            trunk: known.is_some_and(|p| is_trunk((device, p))),
            rate: card.rate,
            old: statement.old,
            own: true,
            ..Attachment::new(device, port, nic.clone(), grade, vec![evidence])
        });
    }
    claims
}

/// A bridge that nobody listed and that a host hears: where no switch is listed, the switch at the
/// other end of its cable.
pub(crate) struct HeardStranger<'a> {
    content: &'a HeardContent,
    /// Its identifiers, in the form of a switch's table row.
    pub(crate) row: LldpNeighbour,
    pub(crate) protocol: NeighbourProtocol,
    card: &'a str,
}

/// The bridges that nobody listed and that a host hears on these cards. Other hosts of the inventory,
/// and stations, are none.
pub(crate) fn strangers<'a>(
    facts: &Facts<'_>,
    host: NodeIx,
    statement: &HostStatement<'a>,
    cards: &[&str],
) -> Vec<HeardStranger<'a>> {
    let frames = statement.report.frames.iter();
    frames
        .filter(|frame| cards.contains(&frame.nic.as_str()))
        .filter_map(|frame| {
            let content = &frame.content;
            let row = row(content).or_else(|| bridge_row(content))?;
            let is_bridge = stated_kind(&row) != NodeKind::Host;
            let who = facts.identity.identify(&row, host);
            let is_stranger = is_bridge && matches!(who, NeighbourIdentity::Stranger);
            is_stranger.then_some(HeardStranger {
                content,
                row,
                protocol: protocol(content),
                card: &frame.nic,
            })
        })
        .collect()
}

impl HeardStranger<'_> {
    /// The port that sent the frame.
    pub(crate) fn port(&self) -> EndPort {
        match announced_port(self.content) {
            port if port.is_empty() => EndPort::Unknown,
            port => EndPort::Named(port),
        }
    }

    /// The bridge that a BPDU names, and its port.
    pub(crate) fn designated(&self) -> Option<(Mac, u16)> {
        match self.content {
            HeardContent::Bpdu { bridge, port, .. } => Some((bridge.address, *port)),
            HeardContent::Neighbour { .. } => None,
        }
    }

    /// The evidence that the host is plugged into the switch of this name.
    pub(crate) fn evidence(&self, host: &str, switch: &str, old: bool) -> Evidence {
        let by = match &self.row {
            LldpNeighbour { name, .. } if name == switch => Some(RecognizedBy::OwnName),
            LldpNeighbour { chassis, .. } => chassis.clone().map(RecognizedBy::Chassis),
        };
        let at = DevicePort::new(host, self.card);
        hears(self.content, at, switch, by, old)
    }
}

/// The row of a bridge that sends BPDUs.
fn bridge_row(content: &HeardContent) -> Option<LldpNeighbour> {
    let HeardContent::Bpdu { bridge, .. } = content else {
        return None;
    };
    Some(LldpNeighbour {
        chassis: Some(NeighbourId::Mac(bridge.address)),
        ..LldpNeighbour::default()
    })
}

fn hears(
    content: &HeardContent,
    at: DevicePort,
    switch: &str,
    by: Option<RecognizedBy>,
    old: bool,
) -> Evidence {
    Evidence::Hears {
        protocol: protocol(content),
        at,
        from: DevicePort::new(switch, announced_port(content)),
        by,
        old,
    }
}

impl HostClaims {
    /// Adds a place, or only its evidence if the place is known.
    fn add(&mut self, claim: Attachment) {
        let list = if claim.grade == LinkGrade::Certain {
            &mut self.certain
        } else {
            &mut self.inferred
        };
        match list.iter_mut().find(|s| s.is_at(&claim)) {
            Some(attachment) => attachment.evidence.extend(claim.evidence),
            None => list.push(claim),
        }
    }
}

fn is_lldp(content: &HeardContent) -> bool {
    matches!(
        content,
        HeardContent::Neighbour {
            protocol: DiscoveryProtocol::Lldp,
            ..
        }
    )
}

/// The switch that sent a frame, and the key by which it is recognized if that is not its address.
fn sender(
    facts: &Facts<'_>,
    host: NodeIx,
    content: &HeardContent,
) -> Option<(NodeIx, Option<RecognizedBy>)> {
    let (node, by) = match content {
        HeardContent::Neighbour { .. } => match facts.identity.identify(&row(content)?, host) {
            NeighbourIdentity::Known(known) => (known.node, Some(known.by)),
            _ => return None,
        },
        HeardContent::Bpdu { bridge, .. } => (facts.identity.owner_of(bridge.address)?, None),
    };
    (!facts.is_host(node)).then_some((node, by))
}

/// A neighbour in the form of a switch's table row.
fn row(content: &HeardContent) -> Option<LldpNeighbour> {
    let HeardContent::Neighbour {
        chassis,
        port,
        port_descr,
        name,
        capabilities,
        protocol,
    } = content
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

fn protocol(content: &HeardContent) -> NeighbourProtocol {
    match content {
        HeardContent::Neighbour { protocol, .. } => (*protocol).into(),
        HeardContent::Bpdu { .. } => NeighbourProtocol::Stp,
    }
}

fn announced_port(content: &HeardContent) -> String {
    match content {
        HeardContent::Neighbour {
            port: NeighbourId::Mac(_),
            port_descr,
            ..
        } if !port_descr.is_empty() => port_descr.clone(),
        HeardContent::Neighbour { port, .. } => port.to_string(),
        HeardContent::Bpdu { port, .. } => format!("port {port:04x}"),
    }
}

/// The port that sent a frame, by the switch's name for it.
fn port(facts: &Facts<'_>, device: DeviceIx, content: &HeardContent) -> Option<EndPort> {
    match content {
        HeardContent::Neighbour {
            port, port_descr, ..
        } => {
            let listed = facts[device].remote_port(Some(port), port_descr);
            Some(listed.map_or_else(|| EndPort::Named(announced_port(content)), EndPort::At))
        }
        HeardContent::Bpdu { bridge, port, .. } => {
            designated(facts, device, *bridge, *port).map(EndPort::At)
        }
    }
}

/// The port with this identifier: by the switch's own table, or else by the 12 bits that are its
/// number (IEEE 802.1D-2004, 9.2.7).
fn designated(facts: &Facts<'_>, device: DeviceIx, bridge: BridgeId, port: u16) -> Option<PortIx> {
    let ports = &facts[device].ports;
    let own = ports.iter().find(|(_, p)| {
        p.bridge.as_ref().is_some_and(|row| {
            let named = row.designated_bridge.map(|b| b.address);
            row.designated_port == Some(port) && named == Some(bridge.address)
        })
    });
    own.map(|(port, _)| port)
        .or_else(|| ports.by_base(u32::from(port & 0x0fff)))
}
