//! The tables of a device: interfaces, spanning tree, forwarding database, and how its interfaces
//! are layered.
use super::habit::{AggregateReport, TreeReport};
use super::spanning_tree::{self, SpanningTreeState};
use super::traffic::{FrameStation, LearnedPort, RowAge};
use super::wiring::{CableSocket, NetworkWiring, NodeRole, NodeSocket, WiredNode};
use inventory::observation::{
    ArpEntry, BridgeId, BridgePort, BridgeTable, FdbEntry, InterfaceKind, InterfaceRow, StpState,
};
use inventory::{BitsPerSec, Mac};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

/// ifStackTable of a device: the higher interface and the lower one, by ifIndex. A view has no place
/// for all of it.
pub type InterfaceLayers = Vec<(u32, u32)>;

/// ifIndex of the first tunnel.
const TUNNELS: u32 = 1_500;

/// Interfaces with their layers.
#[derive(Default)]
struct InterfaceList {
    rows: Vec<InterfaceRow>,
    layers: InterfaceLayers,
}

impl InterfaceList {
    fn add(&mut self, kind: InterfaceKind, row: InterfaceRow) {
        self.rows.push(InterfaceRow { kind, ..row });
    }

    /// Adds an interface, and its logical unit if it has one.
    fn add_with_unit(&mut self, kind: InterfaceKind, row: InterfaceRow, unit: Option<u32>) {
        if let Some(index) = unit {
            let name = format!("{}.0", row.name);
            self.layers.push((index, row.index));
            let unit = InterfaceRow {
                index,
                descr: name.clone(),
                name,
                aggregate: None,
                ..row.clone()
            };
            self.add(InterfaceKind::Virtual, unit);
        }
        self.add(kind, row);
    }
}

/// The interfaces of a device, in the order of ifIndex.
pub(super) fn interfaces(
    wiring: &NetworkWiring,
    number: usize,
) -> (Vec<InterfaceRow>, InterfaceLayers) {
    let node = &wiring.nodes[number];
    let mut all = InterfaceList::default();
    match node.role {
        NodeRole::Switch => switch_ports(wiring, node, &mut all),
        _ => station_ports(wiring, node, &mut all),
    }
    for (&far, index) in node.tunnels.iter().zip(TUNNELS..) {
        let name = format!("Tunnel{}", index - TUNNELS);
        let tunnel = InterfaceRow {
            index,
            descr: name.clone(),
            name,
            alias: format!("to {}", wiring.nodes[far].called),
            up: true,
            ..InterfaceRow::default()
        };
        all.add(InterfaceKind::Tunnel, tunnel);
    }
    all.rows.sort_by_key(|i| i.index);
    (all.rows, all.layers)
}

/// ifIndex of a tunnel.
pub(super) fn tunnel_index(tunnel: usize) -> u32 {
    TUNNELS + tunnel as u32
}

fn switch_ports(wiring: &NetworkWiring, node: &WiredNode, all: &mut InterfaceList) {
    let habit = &node.habit;
    let mac = |port| {
        Some(match habit.one_address {
            true => node.address,
            false => node.port_address(port),
        })
    };
    let port = |port, up, rate, aggregate| InterfaceRow {
        index: habit.index(port),
        name: habit.name(port),
        descr: habit.descr(port),
        alias: habit.alias(port),
        mac: mac(port),
        rate,
        up,
        aggregate,
        ..InterfaceRow::default()
    };
    for &(n, up) in &node.spare {
        let row = port(n, up, None, None);
        let unit = habit.unit(row.index);
        all.add_with_unit(InterfaceKind::Cable, row, unit);
    }
    for (number, socket) in node.sockets.iter().enumerate() {
        let cable = &wiring.cables[socket.cable];
        let aggregate = socket
            .aggregate
            .filter(|_| habit.aggregates == AggregateReport::Members)
            .map(|a| habit.aggregate_index(a));
        for &n in &socket.ports {
            let row = port(n, true, Some(cable.rate), aggregate);
            let unit = habit.unit(row.index);
            all.add_with_unit(InterfaceKind::Cable, row, unit);
        }
        let leads = node.leads_aggregate(number) && habit.aggregates != AggregateReport::Unlisted;
        if let Some(a) = socket.aggregate.filter(|_| leads) {
            let members = node.sockets.iter().filter(|s| s.aggregate == Some(a));
            let rates = members.map(|s| wiring.cables[s.cable].whole_rate());
            let row = InterfaceRow {
                index: habit.aggregate_index(a),
                name: habit.aggregate_name(a),
                descr: habit.aggregate_name(a),
                mac: mac(socket.ports[0]),
                rate: Some(BitsPerSec(rates.sum())),
                up: true,
                ..InterfaceRow::default()
            };
            unit_layers(node, socket, row.index, &mut all.layers);
            let unit = habit.unit(row.index);
            all.add_with_unit(InterfaceKind::Aggregate, row, unit);
        }
    }
    vlans(node, all);
}

/// The unit of an aggregate is above the units of its members.
fn unit_layers(
    node: &WiredNode,
    socket: &CableSocket,
    aggregate: u32,
    layers: &mut InterfaceLayers,
) {
    let habit = &node.habit;
    if let Some(unit) = habit.unit(aggregate) {
        let members = socket.ports.iter().map(|p| habit.index(*p));
        layers.extend(members.filter_map(|m| Some((unit, habit.unit(m)?))));
    }
}

/// VLAN interfaces, with the address of the device or of a port.
fn vlans(node: &WiredNode, all: &mut InterfaceList) {
    let ports: Vec<u32> = node.sockets.iter().map(|s| s.ports[0]).collect();
    // They come before the ports or after them.
    let first = if node.habit.index(1) > 100 { 1 } else { 1_000 };
    for vlan in 0..node.habit.vlans {
        let name = format!("Vlan{}", 10 * (vlan + 1));
        let shared = ports.get(vlan as usize % ports.len().max(1));
        let mac = match shared {
            Some(&port) if node.habit.shares_addresses() => node.port_address(port),
            _ => node.address,
        };
        let row = InterfaceRow {
            index: first + vlan,
            descr: name.clone(),
            name,
            mac: Some(mac),
            rate: Some(BitsPerSec::GIGABIT),
            up: true,
            ..InterfaceRow::default()
        };
        all.add(InterfaceKind::Vlan, row);
    }
}

/// The interfaces of a host, a router or a telephone.
fn station_ports(wiring: &NetworkWiring, node: &WiredNode, all: &mut InterfaceList) {
    for socket in &node.sockets {
        let port = socket.ports[0];
        let rate = Some(wiring.cables[socket.cable].rate);
        let mac = Some(own_address(node, port));
        all.add(
            InterfaceKind::Cable,
            station_row(if_index(node, port), port_name(node, port), mac, rate),
        );
    }
    if node.role == NodeRole::Host {
        all.add(
            InterfaceKind::Loopback,
            station_row(1, "lo".to_owned(), None, None),
        );
        if node.bridges() {
            let mac = Some(node.address);
            all.add(
                InterfaceKind::Bridge,
                station_row(100, "br0".to_owned(), mac, None),
            );
        }
    }
}

fn station_row(
    index: u32,
    name: String,
    mac: Option<Mac>,
    rate: Option<BitsPerSec>,
) -> InterfaceRow {
    InterfaceRow {
        index,
        descr: name.clone(),
        name,
        mac,
        rate,
        up: true,
        ..InterfaceRow::default()
    }
}

/// The address of a port that its frames carry.
pub(super) fn own_address(node: &WiredNode, port: u32) -> Mac {
    match node.role {
        NodeRole::Host | NodeRole::Phone if port == 1 => node.address,
        _ => node.port_address(port),
    }
}

/// ifIndex of a port.
pub(super) fn if_index(node: &WiredNode, port: u32) -> u32 {
    match node.role {
        NodeRole::Switch => node.habit.index(port),
        NodeRole::Host => port + 1,
        _ => port,
    }
}

/// ifName of a port.
pub(super) fn port_name(node: &WiredNode, port: u32) -> String {
    match node.role {
        NodeRole::Switch => node.habit.name(port),
        NodeRole::Unmanaged => String::new(),
        NodeRole::Host if port == 1 => "eth0".to_owned(),
        NodeRole::Host if !node.bridges() => format!("eth{}", port - 1),
        NodeRole::Host => format!("vnet{}", port - 2),
        NodeRole::Router => format!("Gi0/{port}"),
        NodeRole::Phone => format!("Port {port}"),
    }
}

/// The address of a station.
pub(super) fn station_address(wiring: &NetworkWiring, (node, socket): FrameStation) -> Mac {
    let node = &wiring.nodes[node];
    let own = node
        .sockets
        .get(socket)
        .filter(|own| own.apart || node.role == NodeRole::Router);
    match own {
        Some(own) if !node.habit.one_address => own_address(node, own.ports[0]),
        _ => node.address,
    }
}

/// The spanning tree of one port, as its device reports it.
#[derive(Clone, Copy)]
struct ReportedTree {
    report: TreeReport,
    own: BridgeId,
}

impl ReportedTree {
    /// The bridge itself, and one of its ports.
    fn own_port(self, number: u32) -> (BridgeId, u16) {
        // The upper four bits are the port's priority (IEEE 802.1D-2004, 9.2.7): 128, the usual one.
        (self.own, 0x8000 | (number & 0xfff) as u16)
    }

    /// A port that is the designated one of its segment.
    fn designated_port(self, number: u32, if_index: u32, state: StpState) -> BridgePort {
        self.port(number, if_index, state, self.own_port(number))
    }

    /// A port with its state and the designated bridge and port.
    fn port(
        self,
        number: u32,
        if_index: u32,
        state: StpState,
        designated: (BridgeId, u16),
    ) -> BridgePort {
        let (state, designated) = match self.report {
            TreeReport::Served => (Some(state), Some(designated)),
            TreeReport::Nothing => (None, None),
            TreeReport::Disabled => (Some(StpState::Disabled), Some(self.own_port(number))),
        };
        BridgePort {
            number,
            if_index,
            state,
            designated_bridge: designated.map(|d| d.0),
            designated_port: designated.map(|d| d.1),
        }
    }
}

pub(super) fn bridge(
    wiring: &NetworkWiring,
    span: &SpanningTreeState,
    number: usize,
) -> BridgeTable {
    let node = &wiring.nodes[number];
    let own = spanning_tree::id(wiring, number);
    let root_bridge = span.roots[number];
    let report = match (node.habit.tree, root_bridge) {
        (TreeReport::Served, None) => TreeReport::Nothing,
        // A device that takes part in spanning tree does not call its ports disabled.
        (TreeReport::Disabled, Some(_)) => TreeReport::Served,
        (report, _) => report,
    };
    let mut ports = bridge_ports(wiring, span, number, ReportedTree { report, own });
    ports.sort_by_key(|p| p.number);
    let root = match report {
        TreeReport::Served => root_bridge.map(|n| spanning_tree::id(wiring, n)),
        TreeReport::Nothing => None,
        TreeReport::Disabled => Some(own),
    };
    BridgeTable {
        address: Some(node.address),
        root_bridge: root,
        priority: node.priority,
        top_changes: 1,
        ports,
        ..BridgeTable::default()
    }
}

fn bridge_ports(
    wiring: &NetworkWiring,
    span: &SpanningTreeState,
    number: usize,
    tree: ReportedTree,
) -> Vec<BridgePort> {
    let node = &wiring.nodes[number];
    let habit = &node.habit;
    let untold = ReportedTree {
        report: TreeReport::Nothing,
        ..tree
    };
    let mut ports = Vec::new();
    let unlisted = habit.aggregates == AggregateReport::Unlisted;
    for socket in (0..node.sockets.len()).filter(|s| {
        (unlisted || node.leads_aggregate(*s)) && (!node.sockets[*s].apart || habit.lists_routed)
    }) {
        let end = (number, socket);
        if unlisted && node.sockets[socket].aggregate.is_some() {
            let members = node.sockets[socket].ports.iter();
            ports.extend(members.map(|p| {
                untold.designated_port(habit.base(*p), habit.index(*p), StpState::Disabled)
            }));
            continue;
        }
        let tree = match node.sockets[socket].apart {
            true => untold,
            false => tree,
        };
        ports.push(socket_port(wiring, span, end, tree));
        if node.sockets[socket].aggregate.is_some() && habit.aggregates == AggregateReport::Tree {
            for &p in &node.sockets[socket].ports {
                let index = habit.index(p);
                ports.push(tree.designated_port(habit.base(p), index, StpState::Disabled));
            }
        }
    }
    for &(n, up) in &node.spare {
        let state = if up {
            StpState::Forwarding
        } else {
            StpState::Disabled
        };
        let index = habit.unit(habit.index(n)).unwrap_or(habit.index(n));
        ports.push(tree.designated_port(habit.base(n), index, state));
    }
    ports
}

/// The bridge port of a socket: its port, or its aggregate.
fn socket_port(
    wiring: &NetworkWiring,
    span: &SpanningTreeState,
    end: NodeSocket,
    tree: ReportedTree,
) -> BridgePort {
    let node = &wiring.nodes[end.0];
    let socket = &node.sockets[end.1];
    let plain = match socket.aggregate {
        Some(a) => node.habit.aggregate_index(a),
        None => node.habit.index(socket.ports[0]),
    };
    let state = if span.forwards(end) {
        StpState::Forwarding
    } else {
        StpState::Blocking
    };
    let spanned = span.designated(end);
    let designated = match wiring.nodes[spanned.0].role {
        NodeRole::Switch => spanned,
        _ => end,
    };
    tree.port(
        spanning_tree::base_port(wiring, end),
        node.habit.unit(plain).unwrap_or(plain),
        state,
        (
            spanning_tree::id(wiring, designated.0),
            spanning_tree::port_id(wiring, designated),
        ),
    )
}

pub(super) fn fdb(
    wiring: &NetworkWiring,
    number: usize,
    learned: &BTreeMap<FrameStation, (RowAge, LearnedPort)>,
) -> Vec<FdbEntry> {
    learned
        .iter()
        .filter(|(station, _)| station.0 != number)
        .map(|(station, exit)| {
            FdbEntry::new(
                station_address(wiring, *station),
                match &exit.1 {
                    LearnedPort::Socket(socket) => {
                        spanning_tree::base_port(wiring, (number, *socket))
                    }
                    LearnedPort::Spare(port) => wiring.nodes[number].habit.base(*port),
                },
            )
        })
        .collect()
}

/// The ARP rows of the switches that it learned.
pub(super) fn arp(
    wiring: &NetworkWiring,
    learned: &BTreeMap<FrameStation, (RowAge, LearnedPort)>,
) -> Vec<ArpEntry> {
    let switches = learned
        .keys()
        .filter(|(n, _)| wiring.nodes[*n].role == NodeRole::Switch);
    switches
        .map(|&station| ArpEntry::new(management(station.0), station_address(wiring, station)))
        .collect()
}

/// The management address of a device.
pub(super) fn management(node: usize) -> IpAddr {
    let [_, b, c, d] = (node as u32 + 1).to_be_bytes();
    IpAddr::V4(Ipv4Addr::new(10, b, c, d))
}
