//! Tables of the ports that devices name for hosts: by LLDP, by learned addresses, and by known
//! cables.
use super::HostAttachment;
use crate::InferenceScope;
use crate::InferredNetwork;
use crate::device::{DeviceTables, Port, show};
use crate::identity::{ListedNode, NeighbourIdentity, NodeDirectory};
use crate::trunks::TrunkLink;
use inventory::Mac;
use inventory::alarm::{HostElsewhere, NamedNode};
use inventory::evidence::{DevicePort, Evidence, NeighbourProtocol};
use inventory::observation::NeighbourId;
use inventory::topology::{LinkGrade, NodeKind};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Ports by the MAC addresses learned on them.
pub(crate) type PortsByMac<'d, 'a> = HashMap<Mac, Vec<(&'d DeviceTables<'a>, Port)>>;

/// The ports at which switches hear each host by LLDP.
pub(super) fn announced<'d, 'a>(
    devices: &'d [DeviceTables<'a>],
    directory: &NodeDirectory<'a>,
    is_trunk: &dyn Fn(&DeviceTables<'_>, &Port) -> bool,
) -> HashMap<&'a str, Vec<HostAttachment<'d, 'a>>> {
    let mut seats: HashMap<&str, Vec<HostAttachment<'_, '_>>> = HashMap::new();
    for device in devices {
        for row in device
            .lldp()
            .into_iter()
            .flat_map(|l| &l.neighbours)
            .filter(|r| r.local_port != 0)
        {
            let NeighbourIdentity::Known {
                node: ListedNode::Host(host),
                by,
            } = directory.identify(row)
            else {
                continue;
            };
            let port = device.local_port(row.local_port);
            let seats = seats.entry(host).or_default();
            if device.is_down(&port)
                || seats
                    .iter()
                    .any(|s| s.device.name == device.name && s.port == port)
            {
                continue;
            }
            let host_port = match &row.port {
                Some(NeighbourId::Text(text)) => text.clone(),
                Some(id) if row.port_descr.is_empty() => show(id),
                _ => row.port_descr.clone(),
            };
            let evidence = vec![Evidence::Names {
                protocol: NeighbourProtocol::Lldp,
                at: DevicePort::new(device.name, &port.name),
                neighbour: host.to_owned(),
                by,
                stale: device.stale(),
                down: false,
            }];
            let (trunk, old) = (is_trunk(device, &port), device.stale());
            let (grade, rate, members) = (LinkGrade::Certain, None, vec![]);
            seats.push(HostAttachment {
                device,
                port,
                host_port,
                rate,
                grade,
                evidence,
                trunk,
                old,
                own: false,
                members,
            });
        }
    }
    seats
}

/// The neighbours that answering switches hear on their ports by LLDP.
pub(super) struct NeighboursByPort<'a>(HashMap<(&'a str, Port), BTreeSet<ListedNode<'a>>>);

pub(super) fn occupants<'a>(
    devices: &[DeviceTables<'a>],
    directory: &NodeDirectory<'a>,
) -> NeighboursByPort<'a> {
    let mut occupants: HashMap<_, BTreeSet<ListedNode<'_>>> = HashMap::new();
    for device in devices.iter().filter(|d| !d.stale()) {
        for row in device.lldp().into_iter().flat_map(|l| &l.neighbours) {
            if let NeighbourIdentity::Known { node, .. } = directory.identify(row) {
                occupants
                    .entry((device.name, device.local_port(row.local_port)))
                    .or_default()
                    .insert(node);
            }
        }
    }
    NeighboursByPort(occupants)
}

impl NeighboursByPort<'_> {
    /// The other hosts at the place that a host claims.
    pub(super) fn of(&self, claim: &HostAttachment<'_, '_>, host: &str) -> Option<HostElsewhere> {
        let others = self
            .0
            .get(&(claim.device.name, claim.port.clone()))?
            .iter()
            .filter(|o| **o != ListedNode::Host(host));
        let others: Vec<NamedNode> = others.map(|o| NamedNode::from(*o)).collect();
        (!others.is_empty()).then_some(HostElsewhere::Taken(others))
    }
}

/// The ports on which the hosts' MAC addresses are learned.
pub(super) fn learned<'d, 'a>(
    devices: &'d [DeviceTables<'a>],
    directory: &NodeDirectory<'a>,
    scope: &InferenceScope<'a>,
) -> PortsByMac<'d, 'a> {
    let wanted: BTreeSet<Mac> = scope
        .hosts
        .keys()
        .flat_map(|h| directory.macs_of_host(h))
        .collect();
    let mut learned: PortsByMac<'_, '_> = HashMap::new();
    for device in devices {
        for entry in device.learned().iter().filter(|e| wanted.contains(&e.mac)) {
            let Some(port) = device.base_port(entry.port).filter(|p| !device.is_down(p)) else {
                continue;
            };
            let at = learned.entry(entry.mac).or_default();
            if !at.iter().any(|(d, p)| d.name == device.name && *p == port) {
                at.push((device, port));
            }
        }
    }
    learned
}

/// Ports with known cables to other switches, and their aggregates; then the ports on shared
/// segments, with the bridge that stands for each segment.
type TrunkPorts<'a> = (HashSet<(&'a str, String)>, BridgesByPort<'a>);

/// The bridges that stand for shared segments, by switch and port.
pub(super) type BridgesByPort<'a> = HashMap<(&'a str, String), String>;

pub(super) fn trunk_ports<'a>(
    devices: &[DeviceTables<'a>],
    trunks: &[TrunkLink],
    found: &InferredNetwork,
) -> TrunkPorts<'a> {
    let numbers: HashMap<&str, &DeviceTables<'a>> = devices.iter().map(|d| (d.name, d)).collect();
    let (mut inner, mut shared) = (HashSet::new(), HashMap::new());
    for trunk in trunks {
        for (near, far) in [
            (&trunk.link.a, &trunk.link.b),
            (&trunk.link.b, &trunk.link.a),
        ] {
            let Some((device, port)) = numbers
                .get(near.as_str())
                .and_then(|d| Some((*d, trunk.end(near)?)))
            else {
                continue;
            };
            let bridge = found
                .nodes
                .get(far)
                .is_some_and(|n| n.kind == NodeKind::Unmanaged);
            let members = port
                .index
                .into_iter()
                .flat_map(|index| device.names_of(index));
            for name in [
                Some(port.name.clone()),
                device.aggregate(port).map(|p| p.name),
            ]
            .into_iter()
            .flatten()
            .chain(members)
            {
                match bridge {
                    true => _ = shared.insert((device.name, name), far.clone()),
                    false => _ = inner.insert((device.name, name)),
                }
            }
        }
    }
    (inner, shared)
}

/// The device that hears each host, if one does.
pub(super) fn named<'a>(
    numbers: &HashMap<&str, usize>,
    announced: &HashMap<&'a str, Vec<HostAttachment<'_, 'a>>>,
) -> HashMap<&'a str, usize> {
    let heard = |seats: &[HostAttachment<'_, '_>]| {
        seats
            .iter()
            .find(|s| !s.trunk)
            .map(|s| numbers[s.device.name])
    };
    announced
        .iter()
        .filter_map(|(host, seats)| Some((*host, heard(seats)?)))
        .collect()
}
