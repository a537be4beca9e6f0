//! Neighbours by spanning tree. Each segment has one designated port, and every other port on it
//! names that port (IEEE 802.1D-2004, 17.21; RFC 4188, dot1dStpPortDesignatedBridge). So a root
//! port or a blocked port names the port that it faces. Bridges without spanning tree between the
//! two pass its frames on and stay unseen.
use super::segments::{OpenPorts, SegmentEnd, SegmentPair};
use crate::acceptance::findings::Findings;
use crate::acceptance::known::Known;
use crate::facts::ports::PortIx;
use crate::facts::{DeviceIx, DevicePortIx, Facts, NodeIx};
use crate::learned_between::are_parted;
use crate::ranking::ClaimGrounds;
use inventory::Mac;
use inventory::alarm::AlarmKind;
use inventory::evidence::{Evidence, SilentBridge};
use inventory::observation::{BridgePort, StpState};
use inventory::topology::NodeKind;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// With more ports on one segment than this, only the pairs with its designated port are made.
const MOST_ON_SEGMENT: usize = 64;

/// Pairs of open ports of which one names the other as its designated port.
pub(crate) fn propose(facts: &Facts<'_>, known: &Known<'_>) -> Vec<SegmentPair> {
    let open = OpenPorts::new(known);
    let mut pairs = Vec::new();
    for (device, port, row) in bridge_ports(facts) {
        let Some((other, far)) = designated(facts, device, row) else {
            continue;
        };
        let ends = [SegmentEnd::At(other, far), SegmentEnd::At(device, port)];
        if !open.admit(&ends) {
            continue;
        }
        let evidence = vec![Evidence::DesignatedPort {
            at: facts[device].place(port),
            designated: facts[other].place(far),
        }];
        pairs.push(SegmentPair {
            ends,
            evidence,
            sure: true,
            // Bridges without spanning tree pass its frames on. Stations between show them.
            parted: are_parted(known, (other, far), (device, port)),
            grounds: ClaimGrounds::Designated,
        });
    }
    with_neighbours(pairs)
}

/// Pairs of open ports and the bridges that do not answer, which spanning tree names as designated
/// there. Such a bridge is known by an address that others name, or only by its identifier. If one
/// switch is missing and one address is unknown, the address belongs to that switch, unless a bridge that
/// neighbours name without its name may be that switch.
pub(crate) fn propose_silent(
    known: &Known<'_>,
    missing: &[NodeIx],
    found: &mut Findings<'_, '_>,
) -> Vec<SegmentPair> {
    let facts = known.facts;
    let all_known = facts
        .devices()
        .all(|(_, d)| !d.bridges || d.bridge_address.is_some());
    let named = foreign_designated(known);
    let owner = |address: Mac| {
        let owner = facts.identity.owner_of(address);
        owner.filter(|o| !facts.is_host(*o))
    };
    let strange: BTreeSet<Mac> = named
        .iter()
        .map(|n| n.2)
        .filter(|address| owner(*address).is_none())
        .collect();
    let mut cabled = known.cables.iter().flat_map(|cable| &cable.ends);
    let has_strangers = cabled.any(|end| {
        let is_bridge = matches!(known.kind(end.node), NodeKind::Switch | NodeKind::Unmanaged);
        is_bridge && facts.is_unlisted(end.node)
    });
    let mut pairs = Vec::new();
    for (device, port, address) in named {
        let (node, bridge) = match (owner(address), missing) {
            (Some(node), _) => {
                let name = known.name(node).to_owned();
                (node, SilentBridge::Known(name, address))
            }
            (None, [one]) if strange.len() == 1 && !has_strangers => {
                let name = known.name(*one).to_owned();
                (*one, SilentBridge::OnlyMissing(name, address))
            }
            // Otherwise it may be an asked bridge that does not state its own address.
            (None, _) if all_known => {
                let name = format!("bridge-{}", address.to_string().replace(':', "-"));
                let node = found.add_node(&name, NodeKind::Unmanaged);
                found.alarm(node, AlarmKind::BridgeUnknown { address });
                (node, SilentBridge::Unknown(address))
            }
            _ => continue,
        };
        pairs.push(SegmentPair {
            ends: [SegmentEnd::At(device, port), SegmentEnd::Dark(vec![node])],
            evidence: vec![Evidence::DesignatedBridge {
                at: facts[device].place(port),
                bridge,
            }],
            sure: true,
            parted: false,
            grounds: ClaimGrounds::Designated,
        });
    }
    pairs
}

/// The bridges that name each port as the designated one of a segment of theirs: their own ports.
pub(crate) fn named_designated(facts: &Facts<'_>) -> HashMap<DevicePortIx, Vec<DevicePortIx>> {
    let mut named: HashMap<DevicePortIx, Vec<DevicePortIx>> = HashMap::new();
    for (device, port, row) in bridge_ports(facts) {
        if let Some(far) = designated(facts, device, row) {
            named.entry(far).or_default().push((device, port));
        }
    }
    named
}

/// All bridge ports of all devices.
fn bridge_ports<'f>(
    facts: &'f Facts<'_>,
) -> impl Iterator<Item = (DeviceIx, PortIx, &'f BridgePort)> {
    facts.devices().flat_map(|(device, own)| {
        let ports = own.ports.iter();
        ports.filter_map(move |(port, p)| Some((device, port, p.bridge.as_ref()?)))
    })
}

/// Open ports on segments whose designated bridge is not among the devices, with the bridge's
/// address.
fn foreign_designated(known: &Known<'_>) -> Vec<(DeviceIx, PortIx, Mac)> {
    let facts = known.facts;
    let open = OpenPorts::new(known);
    let mut found: Vec<(DeviceIx, PortIx, Mac)> = bridge_ports(facts)
        .filter(|(device, port, _)| open.is_free((*device, *port)))
        .filter_map(|(device, port, row)| {
            let named = row.designated_bridge.filter(|_| takes_part(row))?.address;
            // At most ports a bridge is designated itself.
            let own = &facts[device];
            let is_own = own.macs.contains(&named) || own.common_ids.contains(&named);
            (!is_own && !named.names_nobody()).then_some((device, port, named))
        })
        .collect();
    if !found.is_empty() {
        let devices = facts.devices().map(|(_, device)| device);
        let ids = devices.flat_map(|device| device.macs.iter().chain(&device.common_ids));
        let asked: HashSet<&Mac> = ids.collect();
        found.retain(|(_, _, named)| !asked.contains(named));
    }
    found
}

fn takes_part(port: &BridgePort) -> bool {
    matches!(
        port.state,
        Some(StpState::Blocking | StpState::Forwarding | StpState::Listening | StpState::Learning)
    )
}

/// The designated port of a port's segment, if another device has it. A port that takes no part in
/// spanning tree names none.
fn designated(facts: &Facts<'_>, own: DeviceIx, port: &BridgePort) -> Option<(DeviceIx, PortIx)> {
    if !takes_part(port) {
        return None;
    }
    let named = port.designated_bridge?.address;
    if facts[own].common_ids.contains(&named) {
        return None;
    }
    let owner = facts.identity.owner_of(named)?;
    let device = facts.device_of(owner).filter(|d| *d != own)?;
    // The number is 12 bits of the identifier, 8 before IEEE 802.1t.
    let id = u32::from(port.designated_port?);
    let ports = &facts[device].ports;
    let far = [id & 0xfff, id & 0xff]
        .into_iter()
        .find_map(|n| ports.by_base(n))?;
    Some((device, far))
}

/// Ports that name the same designated port share its segment with each other, too.
fn with_neighbours(pairs: Vec<SegmentPair>) -> Vec<SegmentPair> {
    let mut at: BTreeMap<&SegmentEnd, Vec<&SegmentPair>> = BTreeMap::new();
    for pair in &pairs {
        at.entry(&pair.ends[0]).or_default().push(pair);
    }
    let mut all = Vec::new();
    for on_segment in at.values().filter(|all| all.len() <= MOST_ON_SEGMENT) {
        for (i, pair) in on_segment.iter().enumerate() {
            for other in &on_segment[..i] {
                if other.ends[1].device() != pair.ends[1].device() {
                    all.push(SegmentPair {
                        ends: [other.ends[1].clone(), pair.ends[1].clone()],
                        evidence: vec![],
                        ..(*pair).clone()
                    });
                }
            }
        }
    }
    all.extend(pairs);
    all
}
