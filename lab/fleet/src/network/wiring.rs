//! Nodes and the cables between them.
use super::habit::DeviceHabit;
use super::{NetworkOptions, NetworkShape};
use fastrand::Rng;
use inventory::{BitsPerSec, Mac};
use std::collections::BTreeSet;

/// The number of ports without a cable on each switch.
const SPARE: u32 = 3;

/// The number of a node, and that of a socket of it.
pub(super) type NodeSocket = (usize, usize);

/// The nodes and cables of a network.
pub(super) struct NetworkWiring {
    /// Switches first, then unmanaged bridges, then hosts.
    pub(super) nodes: Vec<WiredNode>,
    pub(super) cables: Vec<WiredCable>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeRole {
    Switch,
    /// A bridge that the inventory does not list, without spanning tree.
    Unmanaged,
    Host,
}

pub(super) struct WiredNode {
    pub(super) name: String,
    pub(super) role: NodeRole,
    /// It is in the inventory but does not answer.
    pub(super) silent: bool,
    /// It sends and receives LLDP frames.
    pub(super) speaks: bool,
    /// It passes LLDP frames on.
    pub(super) transparent: bool,
    pub(super) priority: u16,
    pub(super) address: Mac,
    pub(super) habit: DeviceHabit,
    /// The ends of its cables.
    pub(super) sockets: Vec<CableSocket>,
    /// Ports without a cable; true for those that are up all the same.
    pub(super) spare: Vec<(u32, bool)>,
}

/// A node's end of a cable.
pub(super) struct CableSocket {
    pub(super) cable: usize,
    /// The number of the cable's end, 0 or 1.
    pub(super) end: usize,
    /// Its ports, counted from 1; several for an aggregate.
    pub(super) ports: Vec<u32>,
    /// The number of the aggregate, counted from 1.
    pub(super) aggregate: Option<u32>,
}

/// A cable, or an aggregate of several alike. The i-th ports of its two sockets are joined.
pub(super) struct WiredCable {
    pub(super) ends: [NodeSocket; 2],
    pub(super) width: usize,
    /// The rate of each cable.
    pub(super) rate: BitsPerSec,
}

impl NetworkWiring {
    /// The node and socket at the other end.
    pub(super) fn far(&self, node: usize, socket: usize) -> NodeSocket {
        let CableSocket { cable, end, .. } = self.nodes[node].sockets[socket];
        self.cables[cable].ends[1 - end]
    }

    fn plug(&mut self, a: usize, b: usize, width: usize, rate: BitsPerSec) {
        let cable = self.cables.len();
        let ends = [a, b].map(|n| (n, self.nodes[n].sockets.len()));
        for (end, &(node, _)) in ends.iter().enumerate() {
            self.nodes[node].sockets.push(CableSocket {
                cable,
                end,
                ports: vec![0; width],
                aggregate: None,
            });
        }
        self.cables.push(WiredCable { ends, width, rate });
    }
}

impl WiredNode {
    /// The address of a port; port 0 has the node's own.
    pub(super) fn port_address(&self, port: u32) -> Mac {
        let Mac([a, b, c, d, e, f]) = self.address;
        let number = (u32::from_be_bytes([c, d, e, f])).wrapping_add(port);
        let [c, d, e, f] = number.to_be_bytes();
        Mac([a, b, c, d, e, f])
    }
}

pub(super) fn wiring(options: &NetworkOptions, rng: &mut Rng) -> NetworkWiring {
    let mut wiring = NetworkWiring {
        nodes: (0..options.switches)
            .map(|n| switch(n, options, rng))
            .collect(),
        cables: vec![],
    };
    switches(&mut wiring, options, rng);
    let bridges = wiring.nodes.len();
    hosts(&mut wiring, bridges, options, rng);
    // A transparent bridge with two ends cannot be distinguished from a cable.
    wiring
        .nodes
        .iter_mut()
        .filter(|n| n.sockets.len() < 3)
        .for_each(|n| n.transparent = false);
    number_ports(&mut wiring, options, rng);
    wiring
}

fn node(name: String, role: NodeRole, kind: u8, number: usize) -> WiredNode {
    let [_, _, _, _, a, b, c, d] = ((number as u64) << 10).to_be_bytes();
    WiredNode {
        name,
        role,
        silent: false,
        speaks: false,
        transparent: false,
        priority: 0x8000,
        address: Mac([2, kind, a, b, c, d]),
        habit: DeviceHabit::default(),
        sockets: vec![],
        spare: vec![],
    }
}

fn switch(number: usize, options: &NetworkOptions, rng: &mut Rng) -> WiredNode {
    WiredNode {
        silent: rng.f64() < options.silent,
        speaks: rng.f64() >= options.mute,
        transparent: rng.f64() < options.transparent,
        priority: if options.habits {
            0x1000 * rng.u16(1..9)
        } else {
            0x8000
        },
        habit: if options.habits {
            DeviceHabit::any(rng)
        } else {
            DeviceHabit::default()
        },
        ..node(format!("s{number}"), NodeRole::Switch, b's', number)
    }
}

/// Cables the switches: a tree in the wanted shape, unmanaged bridges in some of its cables, and
/// further cables that close rings.
fn switches(wiring: &mut NetworkWiring, options: &NetworkOptions, rng: &mut Rng) {
    let count = options.switches;
    let mut joined = BTreeSet::new();
    for n in 1..count {
        let above = match options.shape {
            NetworkShape::Row => n - 1,
            NetworkShape::Star => 0,
            NetworkShape::Random => rng.usize(..n),
            NetworkShape::Fan(fan) => (n - 1) / fan.max(1),
            // The other spines are below the first leaf.
            NetworkShape::Spines(spines) if n < spines && spines < count => spines,
            NetworkShape::Spines(_) => 0,
        };
        joined.insert((above.min(n), above.max(n)));
    }
    let tree: Vec<(usize, usize)> = joined.iter().copied().collect();
    for (a, b) in tree {
        match rng.f64() < options.unmanaged {
            true => between(wiring, [a, b], options, rng),
            false => trunk(wiring, a, b, options, rng),
        }
    }
    if options.spanning_tree {
        rings(wiring, &mut joined, options, rng);
    }
}

fn rings(
    wiring: &mut NetworkWiring,
    joined: &mut BTreeSet<(usize, usize)>,
    options: &NetworkOptions,
    rng: &mut Rng,
) {
    let count = options.switches;
    if let NetworkShape::Spines(spines) = options.shape {
        for (a, b) in (0..spines.min(count)).flat_map(|a| (spines..count).map(move |b| (a, b))) {
            if joined.insert((a, b)) {
                trunk(wiring, a, b, options, rng);
            }
        }
    }
    for _ in 0..options.redundant {
        let (a, b) = (rng.usize(..count), rng.usize(..count));
        if a != b && joined.insert((a.min(b), a.max(b))) {
            trunk(wiring, a.min(b), a.max(b), options, rng);
        }
    }
}

fn trunk(wiring: &mut NetworkWiring, a: usize, b: usize, options: &NetworkOptions, rng: &mut Rng) {
    let width = if rng.f64() < options.aggregates {
        rng.usize(2..=4)
    } else {
        1
    };
    let rates = [BitsPerSec::GIGABIT, BitsPerSec(10_000_000_000)];
    wiring.plug(a, b, width, rates[rng.usize(..2)]);
}

/// Joins two switches by an unmanaged bridge.
fn between(wiring: &mut NetworkWiring, ends: [usize; 2], options: &NetworkOptions, rng: &mut Rng) {
    let number = wiring.nodes.len() - options.switches;
    let transparent = rng.f64() < options.transparent;
    wiring.nodes.push(WiredNode {
        transparent,
        ..node(format!("u{number}"), NodeRole::Unmanaged, b'u', number)
    });
    let bridge = wiring.nodes.len() - 1;
    ends.into_iter()
        .for_each(|end| wiring.plug(end, bridge, 1, BitsPerSec::GIGABIT));
}

/// Plugs hosts into switches and unmanaged bridges.
fn hosts(wiring: &mut NetworkWiring, mut bridges: usize, options: &NetworkOptions, rng: &mut Rng) {
    for n in 0..options.switches {
        if rng.f64() < options.unmanaged {
            let transparent = rng.f64() < options.transparent;
            let number = bridges - options.switches;
            wiring.nodes.push(WiredNode {
                transparent,
                ..node(format!("u{number}"), NodeRole::Unmanaged, b'u', number)
            });
            wiring.plug(n, bridges, 1, BitsPerSec::GIGABIT);
            bridges += 1;
        }
    }
    for n in 0..options.hosts {
        // Regular networks are even.
        let seat = if options.habits {
            rng.usize(..bridges)
        } else {
            n % bridges
        };
        let speaks = rng.f64() < options.host_lldp;
        wiring.nodes.push(WiredNode {
            speaks,
            ..node(format!("n{n}"), NodeRole::Host, b'h', n)
        });
        let host = wiring.nodes.len() - 1;
        wiring.plug(seat, host, 1, BitsPerSec::GIGABIT);
    }
}

/// Numbers the ports of cables, and the aggregates.
fn number_ports(wiring: &mut NetworkWiring, options: &NetworkOptions, rng: &mut Rng) {
    for node in &mut wiring.nodes {
        let used: usize = node.sockets.iter().map(|s| s.ports.len()).sum();
        let spare = if node.role == NodeRole::Switch {
            SPARE
        } else {
            0
        };
        let mut free: Vec<u32> = (1..=used as u32 + spare).collect();
        if options.habits {
            rng.shuffle(&mut free);
        }
        let mut free = free.into_iter();
        let mut aggregates = 0;
        for socket in &mut node.sockets {
            socket
                .ports
                .iter_mut()
                .zip(&mut free)
                .for_each(|(port, number)| *port = number);
            if socket.ports.len() > 1 {
                aggregates += 1;
                socket.aggregate = Some(aggregates);
            }
        }
        node.spare = free
            .map(|port| (port, options.habits && rng.f64() < 0.3))
            .collect();
    }
}
