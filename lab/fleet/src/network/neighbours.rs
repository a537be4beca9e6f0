//! The LLDP and CDP rows of every device, from the frames that reach it.
use super::habit::RoutingReport;
use super::spanning_tree::SpanningTreeState;
use super::tables::{if_index, own_address, port_name, tunnel_index};
use super::wiring::{NetworkWiring, NodeRole, NodeSocket, WiredNode};
use inventory::Mac;
use inventory::observation::{
    CdpNeighbour, LldpNeighbour, LldpPort, LldpTable, NeighbourId, PortIdKind, SystemCapabilities,
};
use std::collections::{BTreeMap, BTreeSet};

/// The rows of every asked device.
#[derive(Default)]
pub(super) struct HeardFrames {
    lldp: BTreeMap<usize, Vec<LldpNeighbour>>,
    cdp: BTreeMap<usize, Vec<CdpNeighbour>>,
    /// Cables of which a row tells the far end, and who that is.
    pub(super) announced: BTreeSet<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FrameProtocol {
    Lldp,
    Cdp,
}

impl FrameProtocol {
    fn speaks(self, node: &WiredNode) -> bool {
        match self {
            FrameProtocol::Lldp => node.speaks,
            FrameProtocol::Cdp => node.cdp,
        }
    }

    /// True if a bridge that does not speak it passes it on. All bridges pass CDP on; one that
    /// nobody sees, with two cables, would be a cable for any observer.
    fn passes(self, node: &WiredNode) -> bool {
        match self {
            FrameProtocol::Lldp => node.transparent,
            FrameProtocol::Cdp => {
                node.bridges() && (node.asked || node.sockets.len() > 2 && !node.listed)
            }
        }
    }
}

/// The names that only one device has.
fn unique_names(wiring: &NetworkWiring) -> BTreeSet<&str> {
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for node in &wiring.nodes {
        *times.entry(&node.called).or_default() += 1;
    }
    let once = times
        .into_iter()
        .filter(|(name, n)| *n == 1 && !name.is_empty());
    once.map(|(name, _)| name).collect()
}

pub(super) fn received(wiring: &NetworkWiring, span: &SpanningTreeState) -> HeardFrames {
    let mut received = HeardFrames::default();
    let unique = unique_names(wiring);
    for protocol in [FrameProtocol::Lldp, FrameProtocol::Cdp] {
        for (from, sender) in wiring.nodes.iter().enumerate() {
            if !protocol.speaks(sender) {
                continue;
            }
            for socket in 0..sender.sockets.len() {
                for to in hearers(wiring, span, (from, socket), protocol) {
                    if wiring.nodes[to.0].asked {
                        received.add(wiring, protocol, (from, socket), to, &unique);
                    }
                }
            }
        }
    }
    for (n, node) in wiring.nodes.iter().enumerate().filter(|(_, n)| n.asked) {
        for &(port, (former, socket)) in &node.stale {
            let sender = &wiring.nodes[former];
            let row = neighbour_row(node, port, sender, sender.sockets[socket].ports[0]);
            received.lldp.entry(n).or_default().push(row);
        }
        for (tunnel, &far) in node.tunnels.iter().enumerate() {
            let row = cdp_row(
                &wiring.nodes[far],
                tunnel_index(tunnel),
                "Tunnel0".to_owned(),
            );
            received.cdp.entry(n).or_default().push(row);
        }
    }
    received
}

impl HeardFrames {
    fn add(
        &mut self,
        wiring: &NetworkWiring,
        protocol: FrameProtocol,
        (from, socket): NodeSocket,
        (to, at): NodeSocket,
        unique: &BTreeSet<&str>,
    ) {
        let (sender, hearer) = (&wiring.nodes[from], &wiring.nodes[to]);
        let ports = &hearer.sockets[at].ports;
        for (i, &sent) in sender.sockets[socket].ports.iter().enumerate() {
            let own = ports[i.min(ports.len() - 1)];
            match protocol {
                FrameProtocol::Lldp => {
                    let rows = self.lldp.entry(to).or_default();
                    match hearer.habit.pooled {
                        true => rows.extend(
                            ports
                                .iter()
                                .map(|&at| neighbour_row(hearer, at, sender, sent)),
                        ),
                        false => rows.push(neighbour_row(hearer, own, sender, sent)),
                    }
                }
                FrameProtocol::Cdp => {
                    let row = cdp_row(sender, if_index(hearer, own), full_port_name(sender, sent));
                    self.cdp.entry(to).or_default().push(row);
                }
            }
        }
        let named = unique.contains(sender.called.as_str());
        let known = match (protocol, sender.chassis) {
            (FrameProtocol::Lldp, _) if hearer.habit.deaf => false,
            (FrameProtocol::Lldp, None) => true,
            (FrameProtocol::Lldp, Some(nobody)) => {
                !nobody.is_station() && named && !hearer.habit.sparse
            }
            (FrameProtocol::Cdp, _) => named || sender.called.is_empty(),
        };
        if known && wiring.far(from, socket) == (to, at) {
            self.announced.insert(sender.sockets[socket].cable);
        }
    }

    /// The LLDP and CDP tables of a device.
    pub(super) fn take(&mut self, number: usize, node: &WiredNode) -> LldpTable {
        let mut table = match node.speaks {
            true => own_table(node),
            false => LldpTable::default(),
        };
        let rows = self.lldp.remove(&number).unwrap_or_default();
        if node.speaks && !node.habit.deaf {
            table.neighbours = rows;
        }
        if node.cdp {
            table.cdp.device.clone_from(&node.called);
            table.cdp.neighbours = self.cdp.remove(&number).unwrap_or_default();
        }
        table
    }
}

fn full_port_name(node: &WiredNode, port: u32) -> String {
    match node.role {
        NodeRole::Switch => node.habit.descr(port),
        _ => port_name(node, port),
    }
}

/// The device's own data in LLDP.
fn own_table(node: &WiredNode) -> LldpTable {
    let used = node.sockets.iter().flat_map(|s| s.ports.iter().copied());
    let mut numbers: Vec<u32> = used.chain(node.spare.iter().map(|s| s.0)).collect();
    numbers.sort_unstable();
    LldpTable {
        chassis: Some(chassis(node)),
        name: node.called.clone(),
        capabilities: Some(capabilities(node)),
        ports: numbers
            .into_iter()
            .map(|n| LldpPort {
                number: local_number(node, n),
                kind: Some(port_kind(node)),
                id: port_id(node, n),
                descr: full_port_name(node, n),
            })
            .collect(),
        ..LldpTable::default()
    }
}

fn local_number(node: &WiredNode, port: u32) -> u32 {
    match node.role {
        NodeRole::Switch => node.habit.lldp(port),
        _ => if_index(node, port),
    }
}

fn capabilities(node: &WiredNode) -> SystemCapabilities {
    SystemCapabilities {
        bridge: node.bridges() && node.role != NodeRole::Phone,
        router: node.role == NodeRole::Router || node.habit.routing == RoutingReport::Announced,
    }
}

/// The chassis id that a device announces.
pub(super) fn chassis(node: &WiredNode) -> NeighbourId {
    match node.chassis {
        Some(address) => NeighbourId::Mac(address),
        None if node.habit.is_named() && node.called == node.name => {
            NeighbourId::Text(node.name.clone())
        }
        None => NeighbourId::Mac(chassis_address(node)),
    }
}

/// The address that a device would announce as its chassis, if nothing is wrong with it.
pub(super) fn chassis_address(node: &WiredNode) -> Mac {
    node.habit.chassis_address(node.address)
}

/// The port id that a device announces.
fn port_id(node: &WiredNode, port: u32) -> NeighbourId {
    match node.role {
        NodeRole::Switch => node.habit.port_id(port, |p| node.port_address(p)),
        NodeRole::Router => NeighbourId::Text(port_name(node, port)),
        _ => NeighbourId::Mac(own_address(node, port)),
    }
}

/// The subtype of the port ids that a device announces.
fn port_kind(node: &WiredNode) -> PortIdKind {
    match node.role {
        NodeRole::Switch => node.habit.port_kind(),
        NodeRole::Router => PortIdKind::InterfaceName,
        _ => PortIdKind::MacAddress,
    }
}

/// The row that a receiver keeps about a sender.
fn neighbour_row(hearer: &WiredNode, at: u32, sender: &WiredNode, from: u32) -> LldpNeighbour {
    let full = !hearer.habit.sparse;
    let described = !hearer.habit.portless;
    LldpNeighbour {
        local_port: local_number(hearer, at),
        chassis: Some(chassis(sender)),
        port: described.then(|| port_id(sender, from)),
        port_descr: if described {
            full_port_name(sender, from)
        } else {
            String::new()
        },
        name: if full {
            sender.called.clone()
        } else {
            String::new()
        },
        capabilities: full.then(|| capabilities(sender)),
        port_kind: described.then(|| port_kind(sender)),
        ..LldpNeighbour::default()
    }
}

/// The CDP row about a sender, at an interface.
fn cdp_row(sender: &WiredNode, if_index: u32, port: String) -> CdpNeighbour {
    let device = match sender.called.as_str() {
        "" => NeighbourId::Mac(sender.address),
        called => NeighbourId::Text(called.to_owned()),
    };
    CdpNeighbour {
        if_index,
        device: Some(device),
        port: Some(NeighbourId::Text(port)),
        capabilities: Some(capabilities(sender)),
        ..CdpNeighbour::default()
    }
}

/// The receivers of a frame: the next nodes that speak the protocol, beyond bridges that pass it
/// on.
fn hearers(
    wiring: &NetworkWiring,
    span: &SpanningTreeState,
    from: NodeSocket,
    protocol: FrameProtocol,
) -> Vec<NodeSocket> {
    let mut hearers = Vec::new();
    let mut next = vec![from];
    while let Some(out) = next.pop() {
        let (node, socket) = wiring.far(out.0, out.1);
        let far = &wiring.nodes[node];
        if protocol.speaks(far) {
            hearers.push((node, socket));
        } else if protocol.passes(far) && span.forwards((node, socket)) {
            let onward = wiring.onward((node, socket)).map(|s| (node, s));
            next.extend(onward.filter(|end| span.forwards(*end)));
        }
    }
    hearers
}
