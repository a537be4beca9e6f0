//! Nodes and the cables between them.
use super::habit::DeviceHabit;
use super::options::NetworkOptions;
use fastrand::Rng;
use inventory::{BitsPerSec, Mac};

/// The number of ports without a cable on each switch.
const SPARE: u32 = 3;

/// The number of a node, and that of a socket of it.
pub(super) type NodeSocket = (usize, usize);

/// The nodes and cables of a network.
pub(super) struct NetworkWiring {
    /// Switches first, then unmanaged bridges, then hosts, routers and telephones.
    pub(super) nodes: Vec<WiredNode>,
    pub(super) cables: Vec<WiredCable>,
    /// The networks beside the main one.
    pub(super) beside: Vec<NetworkBeside>,
}

/// A network beside the main one.
#[derive(Default)]
pub(super) struct NetworkBeside {
    pub(super) switches: Vec<usize>,
    /// The cards of hosts, and the ports by which switches of other networks are managed.
    pub(super) stations: Vec<NodeSocket>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeRole {
    Switch,
    /// A bridge that the inventory does not list, without spanning tree.
    Unmanaged,
    /// A host; one with several cables has a virtual bridge, with guests.
    Host,
    /// Each of its interfaces is a station.
    Router,
    /// A telephone: a bridge with a cable to a host, or without.
    Phone,
}

pub(super) struct WiredNode {
    /// Its name in the inventory and in the truth; no other node has it.
    pub(super) name: String,
    /// Its own name for itself; others may have it, too.
    pub(super) called: String,
    pub(super) role: NodeRole,
    /// The inventory lists it.
    pub(super) listed: bool,
    /// It answers by SNMP.
    pub(super) asked: bool,
    /// It sends and receives LLDP frames.
    pub(super) speaks: bool,
    /// It passes LLDP frames on.
    pub(super) transparent: bool,
    /// It sends and receives CDP frames. Other bridges pass them on.
    pub(super) cdp: bool,
    pub(super) priority: u16,
    pub(super) address: Mac,
    /// The address that it announces, if that is not its own.
    pub(super) chassis: Option<Mac>,
    /// The address in its bridge identifier, if it acts as one with another switch.
    pub(super) pair_address: Option<Mac>,
    pub(super) habit: DeviceHabit,
    /// Nodes to which it has a tunnel.
    pub(super) tunnels: Vec<usize>,
    /// Ports whose former neighbours it still lists, and the former neighbours' sockets.
    pub(super) stale: Vec<(u32, NodeSocket)>,
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
    /// No frame passes between it and another socket: a host's card in another network, or the port
    /// by which a switch is managed.
    pub(super) apart: bool,
}

/// A cable, or an aggregate of several alike. The i-th ports of its two sockets are joined.
pub(super) struct WiredCable {
    pub(super) ends: [NodeSocket; 2],
    pub(super) width: usize,
    /// The rate of each cable.
    pub(super) rate: BitsPerSec,
}

impl NetworkWiring {
    /// The numbers of the nodes of a role.
    pub(super) fn of_role(&self, role: NodeRole) -> impl Iterator<Item = usize> {
        (0..self.nodes.len()).filter(move |n| self.nodes[*n].role == role)
    }

    /// The node and socket at the other end.
    pub(super) fn far(&self, node: usize, socket: usize) -> NodeSocket {
        let CableSocket { cable, end, .. } = self.nodes[node].sockets[socket];
        self.cables[cable].ends[1 - end]
    }

    pub(super) fn plug(&mut self, a: usize, b: usize, width: usize, rate: BitsPerSec) {
        let cable = self.cables.len();
        let ends = [a, b].map(|n| (n, self.nodes[n].sockets.len()));
        for (end, &(node, _)) in ends.iter().enumerate() {
            self.nodes[node].sockets.push(CableSocket {
                cable,
                end,
                ports: vec![0; width],
                aggregate: None,
                apart: false,
            });
        }
        self.cables.push(WiredCable { ends, width, rate });
    }

    /// The sockets through which a bridge sends a frame on that came in at another one.
    pub(super) fn onward(&self, (node, from): NodeSocket) -> impl Iterator<Item = usize> {
        let node = &self.nodes[node];
        let passes = node.bridges() && !node.sockets[from].apart;
        let others = (0..node.sockets.len()).filter(move |socket| *socket != from && passes);
        others.filter(|socket| !node.sockets[*socket].apart)
    }
}

impl WiredCable {
    /// The rate of its cables together, in bits a second.
    pub(super) fn whole_rate(&self) -> u64 {
        self.rate.0 * self.width as u64
    }
}

impl WiredNode {
    /// True unless an earlier socket belongs to the same aggregate.
    pub(super) fn leads_aggregate(&self, socket: usize) -> bool {
        let aggregate = self.sockets[socket].aggregate;
        let mut earlier = self.sockets[..socket].iter();
        aggregate.is_none() || !earlier.any(|s| s.aggregate == aggregate)
    }

    /// True if frames pass through it.
    pub(super) fn bridges(&self) -> bool {
        match self.role {
            NodeRole::Switch | NodeRole::Unmanaged | NodeRole::Phone => true,
            NodeRole::Host => self.sockets.iter().filter(|socket| !socket.apart).count() > 1,
            NodeRole::Router => false,
        }
    }

    /// True if an observer can read what it learned. Without a list of its bridge ports it serves no database.
    pub(super) fn serves_rows(&self) -> bool {
        let is_listed = self.role == NodeRole::Switch && !self.habit.bridgeless;
        self.asked && is_listed && self.habit.served.is_some()
    }

    /// True if frames pass through it and it takes no part in spanning tree.
    pub(super) fn bridges_plainly(&self) -> bool {
        self.bridges() && self.role != NodeRole::Switch
    }

    /// The address of a port; port 0 has the node's own.
    pub(super) fn port_address(&self, port: u32) -> Mac {
        let Mac([a, b, c, d, e, f]) = self.address;
        let number = (u32::from_be_bytes([c, d, e, f])).wrapping_add(port);
        let [c, d, e, f] = number.to_be_bytes();
        Mac([a, b, c, d, e, f])
    }
}

pub(super) fn node(name: String, role: NodeRole, kind: u8, number: usize) -> WiredNode {
    let [_, _, _, _, a, b, c, d] = ((number as u64) << 10).to_be_bytes();
    WiredNode {
        called: name.clone(),
        name,
        role,
        listed: matches!(role, NodeRole::Switch | NodeRole::Host),
        asked: role == NodeRole::Switch,
        speaks: false,
        transparent: false,
        cdp: false,
        priority: 0x8000,
        address: Mac([2, kind, a, b, c, d]),
        chassis: None,
        pair_address: None,
        habit: DeviceHabit::default(),
        tunnels: vec![],
        stale: vec![],
        sockets: vec![],
        spare: vec![],
    }
}

/// The switch of this number in the network of this letter.
pub(super) fn switch(
    letter: char,
    number: usize,
    options: &NetworkOptions,
    rng: &mut Rng,
) -> WiredNode {
    WiredNode {
        asked: rng.f64() >= options.silent,
        speaks: rng.f64() >= options.mute,
        transparent: rng.f64() < options.transparent,
        priority: if options.habits {
            0x1000 * rng.u16(1..9)
        } else {
            0x8000
        },
        habit: if options.habits {
            DeviceHabit::any(&options.odd, rng)
        } else {
            DeviceHabit::default()
        },
        ..node(
            format!("{letter}{number}"),
            NodeRole::Switch,
            letter as u8,
            number,
        )
    }
}

/// A further unmanaged bridge.
pub(super) fn unmanaged(
    wiring: &mut NetworkWiring,
    options: &NetworkOptions,
    rng: &mut Rng,
) -> usize {
    let number = wiring.nodes.len() - options.switches;
    let transparent = rng.f64() < options.transparent;
    wiring.nodes.push(WiredNode {
        transparent,
        ..node(format!("u{number}"), NodeRole::Unmanaged, b'u', number)
    });
    wiring.nodes.len() - 1
}

/// Numbers the ports of cables, and the aggregates.
pub(super) fn number_ports(wiring: &mut NetworkWiring, options: &NetworkOptions, rng: &mut Rng) {
    for node in &mut wiring.nodes {
        let used: usize = node.sockets.iter().map(|s| s.ports.len()).sum();
        let switch = node.role == NodeRole::Switch;
        let spare = if switch { SPARE } else { 0 };
        let mut numbers: Vec<u32> = (1..=used as u32 + spare).collect();
        if options.habits && switch {
            rng.shuffle(&mut numbers);
        }
        let mut free = numbers.into_iter();
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
