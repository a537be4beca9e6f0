//! A generated network in the types of `inventory`: the truth, the operator's inventory, and the
//! view of each switch.
use super::NetworkOptions;
use super::spanning_tree::{self, SpanningTreeState};
use super::traffic::{LearnedPort, LearnedRows, RowAge};
use super::wiring::{NetworkWiring, NodeRole, NodeSocket, WiredNode};
use fastrand::Rng;
use indexmap::IndexMap;
use inventory::device_view::{DeviceView, DeviceViews};
use inventory::inventory_file::{Credential, Inventory, InventoryHost, InventorySwitch};
use inventory::observation::{
    ArpEntry, BridgePort, BridgeTable, FdbEntry, InterfaceRow, LldpNeighbour, LldpPort, LldpTable,
    NeighbourId, StpState, SystemCapabilities, SystemGroup,
};
use inventory::secret::Secret;
use inventory::topology::{self, AggregateMember, Link, LinkGrade, LinkState, NodeKind};
use inventory::{BitsPerSec, Millis, Topology};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

pub(super) fn truth(wiring: &NetworkWiring, span: &SpanningTreeState) -> Topology {
    let kind = |role| match role {
        NodeRole::Switch => NodeKind::Switch,
        NodeRole::Unmanaged => NodeKind::Unmanaged,
        NodeRole::Host => NodeKind::Host,
    };
    let node = |n: &WiredNode| topology::Node {
        name: n.name.clone(),
        kind: kind(n.role),
        chassis: Some(n.address),
        stale: n.silent,
    };
    let links = (0..wiring.cables.len())
        .map(|cable| link(wiring, span, cable))
        .collect();
    Topology {
        nodes: wiring.nodes.iter().map(node).collect(),
        links,
        root_bridge: span.root.map(|n| wiring.nodes[n].name.clone()),
        ..Topology::default()
    }
}

fn link(wiring: &NetworkWiring, span: &SpanningTreeState, cable: usize) -> Link {
    let plug = &wiring.cables[cable];
    let [a, b] = plug.ends;
    let ports = |(node, socket): NodeSocket| wiring.nodes[node].sockets[socket].ports.iter();
    let member = |(x, y): (&u32, &u32)| AggregateMember {
        a_port: port_name(wiring, a.0, *x),
        b_port: port_name(wiring, b.0, *y),
    };
    let members: Vec<AggregateMember> = ports(a).zip(ports(b)).map(member).collect();
    Link {
        a: wiring.nodes[a.0].name.clone(),
        a_port: socket_name(wiring, a),
        b: wiring.nodes[b.0].name.clone(),
        b_port: socket_name(wiring, b),
        members: if plug.width > 1 { members } else { vec![] },
        rate_bps: BitsPerSec(plug.rate.0 * plug.width as u64),
        state: if span.carries(wiring, cable) {
            LinkState::Forwarding
        } else {
            LinkState::Blocked
        },
        grade: LinkGrade::Certain,
        evidence: vec![],
    }
}

fn port_name(wiring: &NetworkWiring, node: usize, port: u32) -> String {
    let node = &wiring.nodes[node];
    match node.role {
        NodeRole::Switch => node.habit.name(port),
        NodeRole::Unmanaged => String::new(),
        NodeRole::Host => "eth0".to_owned(),
    }
}

fn socket_name(wiring: &NetworkWiring, (node, socket): NodeSocket) -> String {
    let socket = &wiring.nodes[node].sockets[socket];
    match socket.aggregate {
        Some(a) if wiring.nodes[node].role == NodeRole::Switch => {
            wiring.nodes[node].habit.aggregate_name(a)
        }
        _ => port_name(wiring, node, socket.ports[0]),
    }
}

pub(super) fn inventory(
    wiring: &NetworkWiring,
    options: &NetworkOptions,
    rng: &mut Rng,
) -> Inventory {
    let of = |role| {
        wiring
            .nodes
            .iter()
            .enumerate()
            .filter(move |(_, n)| n.role == role)
    };
    let switch = |(n, node): (usize, &WiredNode)| {
        (
            node.name.clone(),
            InventorySwitch {
                address: SocketAddr::new(management(n), 161),
                snmp: "default".to_owned(),
            },
        )
    };
    // Without LLDP, a host is known by its address only.
    let host = |(_, node): (usize, &WiredNode)| {
        let stated = !node.speaks || rng.f64() >= options.unstated;
        (
            node.name.clone(),
            InventoryHost {
                mac: stated.then_some(node.address),
                ..InventoryHost::default()
            },
        )
    };
    Inventory {
        switches: of(NodeRole::Switch).map(switch).collect(),
        snmp: IndexMap::from([(
            "default".to_owned(),
            Credential::Community(Secret::new("public")),
        )]),
        hosts: of(NodeRole::Host).map(host).collect(),
        ..Inventory::default()
    }
}

/// The management address of a switch.
fn management(node: usize) -> IpAddr {
    let [_, _, c, d] = (node as u32 + 1).to_be_bytes();
    IpAddr::V4(Ipv4Addr::new(10, 0, c, d))
}

pub(super) fn views(
    wiring: &NetworkWiring,
    span: &SpanningTreeState,
    learned: &LearnedRows,
    rng: &mut Rng,
) -> DeviceViews {
    let mut heard = neighbours(wiring, span);
    let answering = wiring
        .nodes
        .iter()
        .enumerate()
        .filter(|(_, n)| n.role == NodeRole::Switch && !n.silent);
    let view = |(n, node): (usize, &WiredNode)| {
        let rows = heard.remove(&n).unwrap_or_default();
        (
            node.name.clone(),
            view(wiring, span, n, rows, &learned[n], rng),
        )
    };
    answering.map(view).collect()
}

fn view(
    wiring: &NetworkWiring,
    span: &SpanningTreeState,
    number: usize,
    neighbours: Vec<LldpNeighbour>,
    learned: &BTreeMap<usize, (RowAge, LearnedPort)>,
    rng: &mut Rng,
) -> DeviceView {
    let node = &wiring.nodes[number];
    let mut rows = fdb(wiring, number, learned);
    rng.shuffle(&mut rows);
    DeviceView {
        seen: Some(Millis(1)),
        system: Some(SystemGroup {
            name: node.name.clone(),
            descr: "generated".to_owned(),
            uptime: 100,
            services: Some(2),
        }),
        interfaces: Some(interfaces(wiring, number)),
        lldp: Some(lldp(node, neighbours)),
        bridge: Some(bridge(wiring, span, number)),
        fdb: Some(rows),
        arp: node.habit.resolves.then(|| arp(wiring, learned)),
        ..DeviceView::default()
    }
}

fn interfaces(wiring: &NetworkWiring, number: usize) -> Vec<InterfaceRow> {
    let node = &wiring.nodes[number];
    let habit = &node.habit;
    let mac = |port| {
        Some(if habit.one_address {
            node.address
        } else {
            node.port_address(port)
        })
    };
    let port = |port, up, rate, aggregate| InterfaceRow {
        index: habit.index(port),
        name: habit.name(port),
        descr: habit.descr(port),
        mac: mac(port),
        rate,
        up,
        aggregate,
        ..InterfaceRow::default()
    };
    let mut all: Vec<InterfaceRow> = node
        .spare
        .iter()
        .map(|&(n, up)| port(n, up, None, None))
        .collect();
    for socket in &node.sockets {
        let cable = &wiring.cables[socket.cable];
        let aggregate = socket
            .aggregate
            .filter(|_| !habit.keeps_members_secret)
            .map(|a| habit.aggregate_index(a));
        all.extend(
            socket
                .ports
                .iter()
                .map(|&n| port(n, true, Some(cable.rate), aggregate)),
        );
        all.extend(socket.aggregate.map(|a| InterfaceRow {
            index: habit.aggregate_index(a),
            name: habit.aggregate_name(a),
            descr: habit.aggregate_name(a),
            mac: mac(socket.ports[0]),
            rate: Some(BitsPerSec(cable.rate.0 * cable.width as u64)),
            up: true,
            ..InterfaceRow::default()
        }));
    }
    all.sort_by_key(|i| i.index);
    all
}

fn lldp(node: &WiredNode, neighbours: Vec<LldpNeighbour>) -> LldpTable {
    if !node.speaks {
        return LldpTable::default();
    }
    let habit = &node.habit;
    let used = node.sockets.iter().flat_map(|s| s.ports.iter().copied());
    let mut numbers: Vec<u32> = used.chain(node.spare.iter().map(|s| s.0)).collect();
    numbers.sort_unstable();
    let port = |n: u32| LldpPort {
        number: habit.lldp(n),
        kind: None,
        id: habit.port_id(n, node.port_address(n)),
        descr: habit.descr(n),
    };
    LldpTable {
        chassis: Some(habit.chassis(&node.name, node.address)),
        name: node.name.clone(),
        capabilities: Some(SystemCapabilities {
            bridge: true,
            router: false,
        }),
        ports: numbers.into_iter().map(port).collect(),
        neighbours: if habit.deaf { vec![] } else { neighbours },
        ..LldpTable::default()
    }
}

/// The LLDP rows of every node, from the frames that reach it.
fn neighbours(
    wiring: &NetworkWiring,
    span: &SpanningTreeState,
) -> BTreeMap<usize, Vec<LldpNeighbour>> {
    let mut heard: BTreeMap<usize, Vec<LldpNeighbour>> = BTreeMap::new();
    let speaking = wiring.nodes.iter().enumerate().filter(|(_, n)| n.speaks);
    for (from, sender) in speaking {
        for (socket, plug) in sender.sockets.iter().enumerate() {
            for (to, at) in hearers(wiring, span, (from, socket)) {
                let hearer = &wiring.nodes[to];
                let ports = &hearer.sockets[at].ports;
                let rows = heard.entry(to).or_default();
                for (i, &sent) in plug.ports.iter().enumerate() {
                    let row = |at: u32| neighbour_row(hearer, at, sender, sent);
                    match hearer.habit.pooled {
                        true => rows.extend(ports.iter().map(|&at| row(at))),
                        false => rows.push(row(ports[i.min(ports.len() - 1)])),
                    }
                }
            }
        }
    }
    heard
}

/// The row that a receiver keeps about a sender.
fn neighbour_row(hearer: &WiredNode, at: u32, sender: &WiredNode, from: u32) -> LldpNeighbour {
    let full = !hearer.habit.sparse;
    let station = sender.role == NodeRole::Host;
    let address = sender.port_address(if station { 0 } else { from });
    LldpNeighbour {
        local_port: hearer.habit.lldp(at),
        chassis: Some(if station {
            NeighbourId::Mac(address)
        } else {
            sender.habit.chassis(&sender.name, sender.address)
        }),
        port: Some(if station {
            NeighbourId::Mac(address)
        } else {
            sender.habit.port_id(from, address)
        }),
        port_descr: if station {
            "eth0".to_owned()
        } else {
            sender.habit.descr(from)
        },
        name: if full {
            sender.name.clone()
        } else {
            String::new()
        },
        capabilities: full.then_some(SystemCapabilities {
            bridge: !station,
            router: false,
        }),
        ..LldpNeighbour::default()
    }
}

/// The receivers of an LLDP frame: the next nodes that speak LLDP, beyond bridges that pass it on.
fn hearers(wiring: &NetworkWiring, span: &SpanningTreeState, from: NodeSocket) -> Vec<NodeSocket> {
    let mut hearers = Vec::new();
    let mut next = vec![from];
    while let Some(out) = next.pop() {
        let (node, socket) = wiring.far(out.0, out.1);
        let far = &wiring.nodes[node];
        if far.speaks {
            hearers.push((node, socket));
        } else if far.role != NodeRole::Host && far.transparent && span.forwards((node, socket)) {
            next.extend(
                (0..far.sockets.len())
                    .filter(|s| *s != socket)
                    .map(|s| (node, s))
                    .filter(|end| span.forwards(*end)),
            );
        }
    }
    hearers
}

fn bridge(wiring: &NetworkWiring, span: &SpanningTreeState, number: usize) -> BridgeTable {
    let node = &wiring.nodes[number];
    let root = span.root.filter(|_| !node.habit.keeps_tree_secret);
    let port = |socket: usize| {
        let end = (number, socket);
        let index = match node.sockets[socket].aggregate {
            Some(a) => node.habit.aggregate_index(a),
            None => node.habit.index(node.sockets[socket].ports[0]),
        };
        let state = if span.forwards(end) {
            StpState::Forwarding
        } else {
            StpState::Blocking
        };
        let designated = span.designated(end);
        BridgePort {
            number: spanning_tree::base_port(wiring, end),
            if_index: index,
            state: root.map(|_| state),
            designated_bridge: root.map(|_| spanning_tree::id(wiring, designated.0)),
            designated_port: root.map(|_| spanning_tree::port_id(wiring, designated)),
        }
    };
    let spare = node.spare.iter().map(|&(n, up)| BridgePort {
        number: node.habit.base(n),
        if_index: node.habit.index(n),
        state: root.map(|_| {
            if up {
                StpState::Forwarding
            } else {
                StpState::Disabled
            }
        }),
        designated_bridge: root.map(|_| spanning_tree::id(wiring, number)),
        designated_port: root.map(|_| 0x8000 | (node.habit.base(n) & 0xfff) as u16),
    });
    let mut ports: Vec<BridgePort> = (0..node.sockets.len()).map(port).chain(spare).collect();
    ports.sort_by_key(|p| p.number);
    BridgeTable {
        address: Some(node.address),
        root_bridge: root.map(|n| spanning_tree::id(wiring, n)),
        priority: node.priority,
        top_changes: 1,
        ports,
        ..BridgeTable::default()
    }
}

fn fdb(
    wiring: &NetworkWiring,
    number: usize,
    learned: &BTreeMap<usize, (RowAge, LearnedPort)>,
) -> Vec<FdbEntry> {
    let port = |exit: &(RowAge, LearnedPort)| match &exit.1 {
        LearnedPort::Socket(socket) => spanning_tree::base_port(wiring, (number, *socket)),
        LearnedPort::Spare(port) => wiring.nodes[number].habit.base(*port),
    };
    learned
        .iter()
        .filter(|(n, _)| **n != number)
        .map(|(n, exit)| FdbEntry {
            mac: wiring.nodes[*n].address,
            port: port(exit),
        })
        .collect()
}

/// The ARP rows of the switches that it learned.
fn arp(wiring: &NetworkWiring, learned: &BTreeMap<usize, (RowAge, LearnedPort)>) -> Vec<ArpEntry> {
    let switches = learned
        .keys()
        .filter(|n| wiring.nodes[**n].role == NodeRole::Switch);
    switches
        .map(|&n| ArpEntry {
            ip: management(n),
            mac: wiring.nodes[n].address,
        })
        .collect()
}
