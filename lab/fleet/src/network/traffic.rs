//! The learning of bridges: from each frame the port towards its sender, until the row is too old.
use super::options::NetworkOptions;
use super::spanning_tree::SpanningTreeState;
use super::wiring::{NetworkWiring, NodeRole, NodeSocket};
use fastrand::Rng;
use std::collections::{BTreeMap, VecDeque};

/// Older frames are ignored, in seconds: the longest ageing time of any device.
const LONG: u32 = 1_800;

/// The time since a frame was sent, in seconds.
pub(super) type RowAge = u32;

/// The port at which a bridge learned a station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LearnedPort {
    Socket(usize),
    /// A port that nothing is plugged into any more.
    Spare(u32),
}

/// A station: a node, and the socket of a router's interface or of one that is apart, or 0.
pub(super) type FrameStation = NodeSocket;

/// By node: the stations that it learned, each with the age and the port of its latest frame.
pub(super) type LearnedRows = Vec<BTreeMap<FrameStation, (RowAge, LearnedPort)>>;

/// The move of a host: its time, the old switch, and the old port if that is still up.
struct HostMove {
    ago: RowAge,
    from: usize,
    port: Option<u32>,
}

struct FrameTraffic<'w> {
    wiring: &'w NetworkWiring,
    tree: ForwardingTree,
    moves: BTreeMap<usize, HostMove>,
    learned: LearnedRows,
}

/// The tree on which frames travel.
struct ForwardingTree {
    /// By node: the socket towards node 0, and the next node there.
    up: Vec<Option<(usize, usize)>>,
    depth: Vec<usize>,
}

/// The stations that every switch learned from the traffic that the options describe.
pub(super) fn learned(
    wiring: &NetworkWiring,
    span: &SpanningTreeState,
    options: &NetworkOptions,
    rng: &mut Rng,
) -> LearnedRows {
    let [hosts, switches] =
        [NodeRole::Host, NodeRole::Switch].map(|role| wiring.of_role(role).collect::<Vec<_>>());
    let mut stations: Vec<FrameStation> = hosts.iter().map(|n| (*n, 0)).collect();
    stations.extend(wiring.of_role(NodeRole::Phone).map(|n| (n, 0)));
    for router in wiring.of_role(NodeRole::Router) {
        stations.extend((0..wiring.nodes[router].sockets.len()).map(|s| (router, s)));
    }
    let mut traffic = FrameTraffic {
        wiring,
        tree: ForwardingTree::new(wiring, span),
        moves: moves(wiring, &hosts, &switches, options, rng),
        learned: vec![BTreeMap::new(); wiring.nodes.len()],
    };
    for network in std::iter::once(&stations).chain(wiring.beside.iter().map(|b| &b.stations)) {
        for &station in network {
            for _ in 0..options.talks {
                let peer = network[rng.usize(..network.len())];
                traffic.talk(station, peer, rng.u32(..options.window.max(1)));
            }
        }
    }
    // Nothing shows a host that never sent, if it is on a bridge that passes LLDP on.
    let unseen = |&(node, _): &FrameStation| {
        wiring.nodes[node].role == NodeRole::Host && wiring.nodes[wiring.far(node, 0).0].transparent
    };
    let beside = wiring.beside.iter().flat_map(|b| &b.stations);
    stations
        .iter()
        .chain(beside)
        .filter(|s| options.seed_frames || unseen(s))
        .for_each(|station| traffic.broadcast(span, *station));
    if let (true, Some(&manager)) = (options.in_band, stations.first()) {
        let answering = switches.iter().filter(|n| wiring.nodes[**n].asked);
        answering.for_each(|n| traffic.talk((*n, 0), manager, 1));
    }
    traffic.manage();
    let mut learned = traffic.learned;
    for (rows, node) in learned.iter_mut().zip(&wiring.nodes) {
        let ageing = node.habit.ageing;
        let kept = (1.0 - options.forgotten) * node.habit.served.unwrap_or_default();
        rows.retain(|station, (age, _)| *age <= ageing && (rng.f64() < kept || unseen(station)));
    }
    learned
}

/// The hosts that moved lately, each from a switch drawn at random.
fn moves(
    wiring: &NetworkWiring,
    hosts: &[usize],
    switches: &[usize],
    options: &NetworkOptions,
    rng: &mut Rng,
) -> BTreeMap<usize, HostMove> {
    let mut moves = BTreeMap::new();
    let movers: Vec<usize> = hosts
        .iter()
        .copied()
        .filter(|_| rng.f64() < options.moved)
        .collect();
    for host in movers {
        let from = switches[rng.usize(..switches.len())];
        // A port that goes down takes its rows with it.
        let spare = wiring.nodes[from].spare.first();
        let port = spare.and_then(|&(port, up)| up.then_some(port));
        let ago = rng.u32(..300);
        moves.insert(host, HostMove { ago, from, port });
    }
    moves
}

impl FrameTraffic<'_> {
    /// The bridge or host from which a station sends at a time: its own, or the old switch of a
    /// host that moved since.
    fn place(&self, (node, socket): FrameStation, age: RowAge) -> usize {
        if self.is_beside((node, socket)) {
            return self.wiring.far(node, socket).0;
        }
        self.moves
            .get(&node)
            .filter(|m| age > m.ago)
            .map_or(node, |m| m.from)
    }

    /// True for an interface of a router, a host's card in another network, and the port by which a
    /// switch is managed: frames come from there, and from nowhere else in the node.
    fn is_beside(&self, (node, socket): FrameStation) -> bool {
        let node = &self.wiring.nodes[node];
        let socket = node.sockets.get(socket);
        node.role == NodeRole::Router || socket.is_some_and(|socket| socket.apart)
    }

    /// A station in the last network beside the main one asks the switches that are managed there.
    fn manage(&mut self) {
        let wiring = self.wiring;
        let Some((network, &manager)) = wiring
            .beside
            .last()
            .and_then(|last| Some((last, last.stations.first()?)))
        else {
            return;
        };
        let switches = network.switches.iter().map(|n| (*n, 0));
        let ports = network.stations.iter().copied();
        let managed = ports.filter(|(n, _)| wiring.nodes[*n].role == NodeRole::Switch);
        for station in switches
            .chain(managed)
            .filter(|(n, _)| wiring.nodes[*n].asked)
        {
            self.talk(station, manager, 1);
        }
    }

    /// Two stations talk, and every bridge between them learns both.
    fn talk(&mut self, a: FrameStation, b: FrameStation, age: RowAge) {
        for (from, to) in [(a, b), (b, a)] {
            let place = self.place(from, age);
            if self.is_beside(from) {
                let (far, back) = self.wiring.far(from.0, from.1);
                self.learn(far, from, age, LearnedPort::Socket(back));
            } else if place != from.0
                && let Some(port) = self.moves[&from.0].port
            {
                self.learn(place, from, age, LearnedPort::Spare(port));
            }
            for (node, socket) in self.tree.path(self.wiring, self.place(to, age), place) {
                self.learn(node, from, age, LearnedPort::Socket(socket));
            }
        }
    }

    /// A station broadcasts now, and every bridge learns it.
    fn broadcast(&mut self, span: &SpanningTreeState, station: FrameStation) {
        let wiring = self.wiring;
        let mut next = Vec::new();
        // A host with guests sends only out of its own cable, as far as bridges can learn.
        let first = wiring.far(station.0, station.1);
        if span.carries(wiring, wiring.nodes[station.0].sockets[station.1].cable) {
            self.learn(first.0, station, 0, LearnedPort::Socket(first.1));
            next.push(first);
        }
        while let Some((node, from)) = next.pop() {
            for socket in wiring.onward((node, from)) {
                if span.carries(wiring, wiring.nodes[node].sockets[socket].cable) {
                    let (far, back) = wiring.far(node, socket);
                    self.learn(far, station, 0, LearnedPort::Socket(back));
                    next.push((far, back));
                }
            }
        }
    }

    /// Learns a station; the latest frame counts.
    fn learn(&mut self, node: usize, station: FrameStation, age: RowAge, exit: LearnedPort) {
        let own = &self.wiring.nodes[node];
        let learns = own.role == NodeRole::Switch
            && !matches!(exit, LearnedPort::Socket(socket) if own.sockets[socket].apart);
        if learns && node != station.0 && age <= LONG {
            let row = self.learned[node].entry(station).or_insert((age, exit));
            if age <= row.0 {
                *row = (age, exit);
            }
        }
    }
}

impl ForwardingTree {
    fn new(wiring: &NetworkWiring, span: &SpanningTreeState) -> ForwardingTree {
        let mut tree = ForwardingTree {
            up: vec![None; wiring.nodes.len()],
            depth: vec![usize::MAX; wiring.nodes.len()],
        };
        let mut next: VecDeque<usize> = wiring.beside.iter().map(|b| b.switches[0]).collect();
        next.push_front(0);
        next.iter().for_each(|root| tree.depth[*root] = 0);
        while let Some(node) = next.pop_front() {
            for (socket, plug) in wiring.nodes[node]
                .sockets
                .iter()
                .enumerate()
                .filter(|(_, s)| !s.apart && span.carries(wiring, s.cable))
            {
                let (far, back) = wiring.far(node, socket);
                // Frames do not pass a router, nor from one network to another.
                if tree.depth[far] == usize::MAX
                    && wiring.nodes[far].role != NodeRole::Router
                    && !wiring.nodes[far].sockets[back].apart
                {
                    debug_assert_eq!(wiring.nodes[far].sockets[back].cable, plug.cable);
                    tree.depth[far] = tree.depth[node] + 1;
                    tree.up[far] = Some((back, node));
                    next.push_back(far);
                }
            }
        }
        tree
    }

    /// The nodes on the path from one to another without the last, each with its socket on the
    /// path.
    fn path(&self, wiring: &NetworkWiring, from: usize, to: usize) -> Vec<(usize, usize)> {
        let (mut a, mut b) = (from, to);
        let (mut path, mut down) = (vec![], vec![]);
        while a != b {
            if self.depth[a] >= self.depth[b] {
                let Some((socket, above)) = self.up[a] else {
                    break;
                };
                path.push((a, socket));
                a = above;
            } else {
                let Some((socket, _)) = self.up[b] else { break };
                down.push(wiring.far(b, socket));
                b = down[down.len() - 1].0;
            }
        }
        path.extend(down.into_iter().rev());
        path
    }
}
