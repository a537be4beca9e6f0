//! A generated network in the types of `inventory`: the truth, the operator's inventory, and the
//! view of each device that is asked.
use super::habit::RoutingReport;
use super::neighbours::{self, HeardFrames};
use super::options::NetworkOptions;
use super::spanning_tree::SpanningTreeState;
use super::tables::{self, InterfaceLayers, management, port_name};
use super::traffic::{LearnedPort, LearnedRows};
use super::wiring::{NetworkWiring, NodeRole, NodeSocket, WiredNode};
use super::{LinkVoice, TrueNode};
use fastrand::Rng;
use indexmap::IndexMap;
use inventory::device_view::{DeviceView, DeviceViews};
use inventory::inventory_file::{Credential, Inventory, InventoryHost, InventorySwitch};
use inventory::observation::{NeighbourId, SystemGroup};
use inventory::secret::Secret;
use inventory::topology::{self, AggregateMember, Link, LinkGrade, LinkState, NodeKind};
use inventory::{BitsPerSec, Mac, Millis, Topology};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

pub(super) fn truth(wiring: &NetworkWiring, span: &SpanningTreeState) -> Topology {
    let links = (0..wiring.cables.len())
        .map(|cable| link(wiring, span, cable))
        .collect();
    Topology {
        nodes: wiring
            .nodes
            .iter()
            .map(|n| topology::Node {
                name: n.name.clone(),
                kind: match n.role {
                    NodeRole::Switch => NodeKind::Switch,
                    NodeRole::Unmanaged => NodeKind::Unmanaged,
                    NodeRole::Host | NodeRole::Phone => NodeKind::Host,
                    NodeRole::Router => NodeKind::Router,
                },
                chassis: Some(n.address),
                stale: n.listed && !n.asked && n.role == NodeRole::Switch,
            })
            .collect(),
        links,
        root_bridge: span.root.map(|n| wiring.nodes[n].name.clone()),
        ..Topology::default()
    }
}

fn link(wiring: &NetworkWiring, span: &SpanningTreeState, cable: usize) -> Link {
    let plug = &wiring.cables[cable];
    let [a, b] = plug.ends;
    let ports = |(node, socket): NodeSocket| wiring.nodes[node].sockets[socket].ports.iter();
    let members: Vec<AggregateMember> = ports(a)
        .zip(ports(b))
        .map(|(x, y)| AggregateMember {
            a_port: port_name(&wiring.nodes[a.0], *x),
            b_port: port_name(&wiring.nodes[b.0], *y),
        })
        .collect();
    let mut ends = plug.ends.iter();
    let in_aggregate = ends.any(|(n, s)| wiring.nodes[*n].sockets[*s].aggregate.is_some());
    Link {
        a: wiring.nodes[a.0].name.clone(),
        a_port: socket_name(wiring, a),
        b: wiring.nodes[b.0].name.clone(),
        b_port: socket_name(wiring, b),
        members: if plug.width > 1 || in_aggregate {
            members
        } else {
            vec![]
        },
        rate_bps: BitsPerSec(plug.whole_rate()),
        state: match plug.ends.into_iter().find(|end| is_own_end(*end, wiring)) {
            None if span.carries(wiring, cable) => LinkState::Forwarding,
            // Nobody can see that a port of a device that is not asked is its own.
            Some((node, _)) if !wiring.nodes[node].asked => LinkState::Unknown,
            _ => LinkState::Blocked,
        },
        grade: LinkGrade::Certain,
        evidence: vec![],
    }
}

/// Through the port by which a switch is managed it forwards nothing.
fn is_own_end((node, socket): NodeSocket, wiring: &NetworkWiring) -> bool {
    let node = &wiring.nodes[node];
    node.role == NodeRole::Switch && node.sockets[socket].apart
}

fn socket_name(wiring: &NetworkWiring, (node, socket): NodeSocket) -> String {
    let socket = &wiring.nodes[node].sockets[socket];
    match socket.aggregate {
        Some(a) if wiring.nodes[node].role == NodeRole::Switch => {
            wiring.nodes[node].habit.aggregate_name(a)
        }
        _ => port_name(&wiring.nodes[node], socket.ports[0]),
    }
}

pub(super) fn inventory(
    wiring: &NetworkWiring,
    options: &NetworkOptions,
    rng: &mut Rng,
) -> Inventory {
    let of =
        |is: fn(&WiredNode) -> bool| wiring.nodes.iter().enumerate().filter(move |(_, n)| is(n));
    // A device that is asked must be listed among the switches, whatever it is.
    // Without LLDP, a host is known by its address only.
    Inventory {
        switches: of(|n| n.asked || n.listed && n.role == NodeRole::Switch)
            .map(|(n, node)| {
                (
                    node.name.clone(),
                    InventorySwitch {
                        address: SocketAddr::new(management(n), 161).into(),
                        snmp: "default".to_owned(),
                        queue: None,
                    },
                )
            })
            .collect(),
        snmp: IndexMap::from([(
            "default".to_owned(),
            Credential::Community(Secret::new("public")),
        )]),
        hosts: of(|n| n.listed && !n.asked && n.role == NodeRole::Host)
            .map(|(_, node)| {
                let stated = !node.speaks || rng.f64() >= options.unstated;
                (
                    node.name.clone(),
                    InventoryHost {
                        mac: stated.then_some(node.address),
                        ..InventoryHost::default()
                    },
                )
            })
            .collect(),
        ..Inventory::default()
    }
}

/// The views of the devices that are asked, and the layers of their interfaces.
pub(super) fn views(
    wiring: &NetworkWiring,
    span: &SpanningTreeState,
    learned: &LearnedRows,
    received: &mut HeardFrames,
    rng: &mut Rng,
) -> (DeviceViews, BTreeMap<String, InterfaceLayers>) {
    let mut views = DeviceViews::new();
    let mut all_layers = BTreeMap::new();
    for (number, node) in wiring.nodes.iter().enumerate().filter(|(_, n)| n.asked) {
        let (interfaces, layers) = tables::interfaces(wiring, number);
        let bridges = node.role == NodeRole::Switch && !node.habit.bridgeless;
        let mut rows = tables::fdb(wiring, number, &learned[number]);
        rng.shuffle(&mut rows);
        let view = DeviceView {
            seen: Some(Millis(1)),
            system: Some(SystemGroup {
                name: node.called.clone(),
                descr: "generated".to_owned(),
                uptime: 100,
                services: Some(services(node)),
            }),
            interfaces: Some(interfaces),
            lldp: Some(received.take(number, node)),
            bridge: bridges.then(|| tables::bridge(wiring, span, number)),
            fdb: node.serves_rows().then_some(rows),
            arp: node
                .habit
                .resolves
                .then(|| tables::arp(wiring, &learned[number])),
            ..DeviceView::default()
        };
        views.insert(node.name.clone(), view);
        all_layers.insert(node.name.clone(), layers);
    }
    (views, all_layers)
}

/// sysServices (RFC 3418): a bridge, a router, or a host with applications.
fn services(node: &WiredNode) -> u32 {
    match node.role {
        NodeRole::Router => 4,
        NodeRole::Switch if node.habit.routing != RoutingReport::Nothing => 6,
        NodeRole::Host => 72,
        _ => 2,
    }
}

/// The bridges of each network, the main one first.
pub(super) fn networks(wiring: &NetworkWiring) -> Vec<BTreeSet<String>> {
    let beside = || wiring.beside.iter().map(|network| &network.switches);
    let main = names_of(
        &mut (0..wiring.nodes.len()).filter(|n| {
            let role = wiring.nodes[*n].role;
            matches!(role, NodeRole::Switch | NodeRole::Unmanaged)
                && !beside().any(|switches| switches.contains(n))
        }),
        wiring,
    );
    let others = beside().map(|switches| names_of(&mut switches.iter().copied(), wiring));
    std::iter::once(main).chain(others).collect()
}

fn names_of(numbers: &mut dyn Iterator<Item = usize>, wiring: &NetworkWiring) -> BTreeSet<String> {
    numbers.map(|n| wiring.nodes[n].name.clone()).collect()
}

/// The truth about each node.
pub(super) fn nodes(wiring: &NetworkWiring) -> BTreeMap<String, TrueNode> {
    let all = wiring.nodes.iter();
    all.map(|n| (n.name.clone(), true_node(n))).collect()
}

fn true_node(n: &WiredNode) -> TrueNode {
    let ports = n.sockets.iter().flat_map(|s| s.ports.iter());
    let spare = n.spare.iter().map(|(p, _)| p);
    let mut addresses: Vec<Mac> = ports.chain(spare).map(|p| n.port_address(*p)).collect();
    addresses.extend([n.address, neighbours::chassis_address(n)]);
    if let NeighbourId::Mac(announced) = neighbours::chassis(n) {
        addresses.push(announced);
    }
    TrueNode {
        called: n.called.clone(),
        addresses,
        asked: n.asked,
        listed: n.listed,
        bridges: n.bridges(),
        speaks: n.speaks || n.cdp,
    }
}

/// By cable: what tells of it.
pub(super) fn voices(
    wiring: &NetworkWiring,
    span: &SpanningTreeState,
    learned: &LearnedRows,
    received: &HeardFrames,
) -> Vec<LinkVoice> {
    let learned_at = |(node, socket): NodeSocket, station: Option<usize>| {
        wiring.nodes[node].serves_rows()
            && learned[node].iter().any(|(from, (_, exit))| {
                *exit == LearnedPort::Socket(socket) && station.is_none_or(|s| from.0 == s)
            })
    };
    let voice = |cable: usize| {
        let [a, b] = wiring.cables[cable].ends;
        let is = |end: NodeSocket, role| wiring.nodes[end.0].role == role;
        // The inventory states the address of a host's first card only.
        let is_known = |end: NodeSocket| {
            let node = &wiring.nodes[end.0];
            node.role == NodeRole::Host && (node.asked || !node.sockets[end.1].apart)
        };
        let by_tables = match (is(a, NodeRole::Switch), is(b, NodeRole::Switch)) {
            (true, true) => learned_at(a, None) && learned_at(b, None),
            (true, false) => is_known(b) && learned_at(a, Some(b.0)),
            (false, true) => is_known(a) && learned_at(b, Some(a.0)),
            (false, false) => false,
        };
        match by_tables && span.carries(wiring, cable) {
            _ if received.announced.contains(&cable) => LinkVoice::Spoken,
            true => LinkVoice::Learned,
            false => LinkVoice::Hidden,
        }
    };
    (0..wiring.cables.len()).map(voice).collect()
}
