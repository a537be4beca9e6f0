//! The learning of bridges: from each frame the port towards its sender, until the row is too old.
use super::NetworkOptions;
use super::spanning_tree::SpanningTreeState;
use super::wiring::{NetworkWiring, NodeRole};
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

/// By node: the stations that it learned, each with the age and the port of its latest frame.
pub(super) type LearnedRows = Vec<BTreeMap<usize, (RowAge, LearnedPort)>>;

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
    let of = |role| {
        (0..wiring.nodes.len())
            .filter(|n| wiring.nodes[*n].role == role)
            .collect::<Vec<usize>>()
    };
    let (hosts, switches) = (of(NodeRole::Host), of(NodeRole::Switch));
    let mut traffic = FrameTraffic {
        wiring,
        tree: ForwardingTree::new(wiring, span),
        moves: moves(wiring, &hosts, &switches, options, rng),
        learned: vec![BTreeMap::new(); wiring.nodes.len()],
    };
    for &host in &hosts {
        for _ in 0..options.talks {
            let peer = hosts[rng.usize(..hosts.len())];
            traffic.talk(host, peer, rng.u32(..options.window.max(1)));
        }
    }
    // Nothing shows a host that was never heard, if it is on a bridge that passes LLDP on.
    let unseen = |host: &usize| {
        wiring.nodes[*host].role == NodeRole::Host
            && wiring.nodes[wiring.far(*host, 0).0].transparent
    };
    hosts
        .iter()
        .filter(|h| options.seed_frames || unseen(h))
        .for_each(|host| traffic.broadcast(span, *host));
    if let (true, Some(&manager)) = (options.in_band, hosts.first()) {
        let answering = switches.iter().filter(|n| !wiring.nodes[**n].silent);
        answering.for_each(|n| traffic.talk(*n, manager, 1));
    }
    let mut learned = traffic.learned;
    for (rows, node) in learned.iter_mut().zip(&wiring.nodes) {
        let ageing = node.habit.ageing;
        rows.retain(|station, (age, _)| {
            *age <= ageing && (rng.f64() >= options.forgotten || unseen(station))
        });
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
    /// The node of a station at a time: itself, or the old switch of a host that moved since.
    fn place(&self, station: usize, age: RowAge) -> usize {
        self.moves
            .get(&station)
            .filter(|m| age > m.ago)
            .map_or(station, |m| m.from)
    }

    /// Two stations talk, and every bridge between them learns both.
    fn talk(&mut self, a: usize, b: usize, age: RowAge) {
        for (from, to) in [(a, b), (b, a)] {
            let place = self.place(from, age);
            if place != from
                && let Some(port) = self.moves[&from].port
            {
                self.learn(place, from, age, LearnedPort::Spare(port));
            }
            for (node, socket) in self.tree.path(self.wiring, self.place(to, age), place) {
                self.learn(node, from, age, LearnedPort::Socket(socket));
            }
        }
    }

    /// A station broadcasts now, and every bridge learns it.
    fn broadcast(&mut self, span: &SpanningTreeState, host: usize) {
        let wiring = self.wiring;
        let mut next = vec![(host, usize::MAX)];
        while let Some((node, from)) = next.pop() {
            for socket in (0..wiring.nodes[node].sockets.len()).filter(|s| *s != from) {
                if span.carries(wiring, wiring.nodes[node].sockets[socket].cable) {
                    let (far, back) = wiring.far(node, socket);
                    self.learn(far, host, 0, LearnedPort::Socket(back));
                    next.push((far, back));
                }
            }
        }
    }

    /// Learns a station; the latest frame counts.
    fn learn(&mut self, node: usize, station: usize, age: RowAge, exit: LearnedPort) {
        if self.wiring.nodes[node].role == NodeRole::Switch && age <= LONG {
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
        let mut next = VecDeque::from([0]);
        tree.depth[0] = 0;
        while let Some(node) = next.pop_front() {
            for (socket, plug) in wiring.nodes[node]
                .sockets
                .iter()
                .enumerate()
                .filter(|(_, s)| span.carries(wiring, s.cable))
            {
                let (far, back) = wiring.far(node, socket);
                if tree.depth[far] == usize::MAX {
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
