//! Neighbours by spanning tree. Each segment has one designated port, and every other port on it
//! names that port (IEEE 802.1D-2004, 17.21; RFC 4188, dot1dStpPortDesignatedBridge). So a root
//! port or a blocked port names the port that it faces. Bridges without spanning tree between the
//! two pass its frames on and stay unseen.
use super::{SegmentEnd, SegmentPair, SilentLinkContext};
use crate::InferredNetwork;
use crate::device::Port;
use inventory::Mac;
use inventory::alarm::AlarmKind;
use inventory::evidence::{DevicePort, Evidence, SilentBridge};
use inventory::observation::{BridgePort, StpState};
use inventory::topology::NodeKind;
use std::collections::{BTreeSet, HashSet};

pub(super) fn pairs(context: &SilentLinkContext<'_, '_>) -> Vec<SegmentPair> {
    let mut pairs = Vec::new();
    for (number, device) in context.devices.iter().enumerate() {
        for port in device.view.bridge.iter().flat_map(|b| &b.ports) {
            let Some((other, far)) = designated(context, number, port) else {
                continue;
            };
            let Some(near) = device.base_port(port.number) else {
                continue;
            };
            let designated = DevicePort::new(context.devices[other].name, &far.name);
            let evidence = vec![Evidence::DesignatedPort {
                at: DevicePort::new(device.name, &near.name),
                designated,
            }];
            pairs.push(SegmentPair {
                ends: [SegmentEnd::At(other, far), SegmentEnd::At(number, near)],
                evidence,
                sure: true,
                parted: false,
            });
        }
    }
    pairs.retain(|p| context.open(&p.ends));
    with_neighbours(pairs)
}

/// Ports on segments whose designated bridge does not answer. The bridge is known by an address
/// that others name, or only by the identifier. If one switch is missing and one address is
/// unknown, the address belongs to that switch.
pub(super) fn silent_designated(
    context: &SilentLinkContext<'_, '_>,
    missing: &[&str],
    found: &mut InferredNetwork,
) -> Vec<SegmentPair> {
    let all_told = context
        .devices
        .iter()
        .all(|d| d.view.bridge.as_ref().is_none_or(|b| b.address.is_some()));
    let named = foreign_designated(context);
    let strange: BTreeSet<Mac> = named
        .iter()
        .map(|n| n.2)
        .filter(|a| context.directory.switch_of(*a).is_none())
        .collect();
    let mut pairs = Vec::new();
    for (number, near, address) in named {
        let (name, bridge) = match (context.directory.switch_of(address), missing) {
            (Some(owner), _) => (
                owner.to_owned(),
                SilentBridge::Known(owner.to_owned(), address),
            ),
            (None, [one]) if strange.len() == 1 => (
                (*one).to_owned(),
                SilentBridge::OnlyMissing((*one).to_owned(), address),
            ),
            (None, _) if all_told => {
                let name = format!("bridge-{}", address.to_string().replace(':', "-"));
                found.alarm(&name, AlarmKind::BridgeUnknown(address));
                found.node(&name, NodeKind::Unmanaged);
                (name, SilentBridge::Unknown(address))
            }
            _ => continue,
        };
        let at = DevicePort::new(context.devices[number].name, &near.name);
        pairs.push(SegmentPair {
            ends: [SegmentEnd::At(number, near), SegmentEnd::Dark(vec![name])],
            evidence: vec![Evidence::DesignatedBridge { at, bridge }],
            sure: true,
            parted: false,
        });
    }
    pairs
}

/// Open ports on segments whose designated bridge is not among the devices: the device's number,
/// the port and the bridge's address.
fn foreign_designated(context: &SilentLinkContext<'_, '_>) -> Vec<(usize, Port, Mac)> {
    let own: HashSet<Mac> = context
        .devices
        .iter()
        .flat_map(|d| {
            let bridge = d.view.bridge.iter().filter_map(|b| b.address);
            bridge.chain(d.macs())
        })
        .collect();
    let mut named = Vec::new();
    for (number, device) in context.devices.iter().enumerate() {
        let ports = device.view.bridge.iter().flat_map(|b| &b.ports);
        for port in ports.filter(|p| takes_part(p)) {
            let address = port
                .designated_bridge
                .map(|b| b.address)
                .filter(|a| !own.contains(a) && a.is_station());
            let near = device.base_port(port.number).filter(|p| {
                context.open(&[SegmentEnd::At(number, p.clone()), SegmentEnd::Dark(vec![])])
            });
            if let (Some(address), Some(near)) = (address, near) {
                named.push((number, near, address));
            }
        }
    }
    named
}

fn takes_part(port: &BridgePort) -> bool {
    matches!(
        port.state,
        Some(StpState::Blocking | StpState::Forwarding | StpState::Listening | StpState::Learning)
    )
}

/// The designated port of a port's segment, if another device has it. A port that takes no part in
/// spanning tree names none.
fn designated(
    context: &SilentLinkContext<'_, '_>,
    own: usize,
    port: &BridgePort,
) -> Option<(usize, Port)> {
    if !takes_part(port) {
        return None;
    }
    let owner = context
        .directory
        .switch_of(port.designated_bridge?.address)?;
    let number = context.numbers.get(owner).copied().filter(|n| *n != own)?;
    // The number is 12 bits of the identifier, 8 before IEEE 802.1t.
    let id = u32::from(port.designated_port?);
    let far = [id & 0xfff, id & 0xff]
        .into_iter()
        .find_map(|n| context.devices[number].base_port(n))?;
    Some((number, far))
}

/// Ports that name the same designated port share its segment with each other, too.
fn with_neighbours(pairs: Vec<SegmentPair>) -> Vec<SegmentPair> {
    let mut all = Vec::new();
    for (i, pair) in pairs.iter().enumerate() {
        for other in &pairs[..i] {
            if other.ends[0] == pair.ends[0] && other.ends[1].device() != pair.ends[1].device() {
                all.push(SegmentPair {
                    ends: [other.ends[1].clone(), pair.ends[1].clone()],
                    evidence: vec![],
                    sure: true,
                    parted: false,
                });
            }
        }
    }
    all.extend(pairs);
    all
}
