//! What bridges learn: of each frame the port its sender is behind, until the row is too old.
use super::Options;
use super::span::Span;
use super::wiring::{Role, Wiring};
use fastrand::Rng;
use std::collections::{BTreeMap, VecDeque};

/// Nothing older is looked at, in seconds: the longest ageing time there is.
const LONG: u32 = 1_800;

/// How long ago a frame was sent, in seconds.
pub(super) type Age = u32;

/// Where a bridge learned a station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    Socket(usize),
    /// A port that nothing is plugged into any more.
    Spare(u32),
}

/// By node: the stations it learned, by their nodes, and when last.
pub(super) type Learned = Vec<BTreeMap<usize, (Age, Exit)>>;

/// A host that moved: when, from which switch, and from which port of it, if that is still up.
struct Move {
    ago: Age,
    from: usize,
    port: Option<u32>,
}

struct Traffic<'w> {
    wiring: &'w Wiring,
    tree: Tree,
    moves: BTreeMap<usize, Move>,
    learned: Learned,
}

/// The tree frames travel on.
struct Tree {
    /// The way to node 0 from each: by which socket, and to whom.
    up: Vec<Option<(usize, usize)>>,
    depth: Vec<usize>,
}

pub(super) fn learned(wiring: &Wiring, span: &Span, options: &Options, rng: &mut Rng) -> Learned {
    let of = |role| (0..wiring.nodes.len()).filter(|n| wiring.nodes[*n].role == role).collect::<Vec<usize>>();
    let (hosts, switches) = (of(Role::Host), of(Role::Switch));
    let mut moves = BTreeMap::new();
    let movers: Vec<usize> = hosts.iter().copied().filter(|_| rng.f64() < options.moved).collect();
    for host in movers {
        let from = switches[rng.usize(..switches.len())];
        // A port that goes down takes its rows with it.
        let port = wiring.nodes[from].spare.first().and_then(|&(port, up)| up.then_some(port));
        moves.insert(host, Move { ago: rng.u32(..300), from, port });
    }
    let mut traffic = Traffic { wiring, tree: Tree::new(wiring, span), moves, learned: vec![BTreeMap::new(); wiring.nodes.len()] };
    for &host in &hosts {
        for _ in 0..options.talks {
            traffic.talk(host, hosts[rng.usize(..hosts.len())], rng.u32(..options.window.max(1)));
        }
    }
    // Who is on a bridge that passes LLDP on, and was never heard, cannot be told from nobody.
    let unseen = |host: &usize| wiring.nodes[*host].role == Role::Host && wiring.nodes[wiring.far(*host, 0).0].transparent;
    hosts.iter().filter(|h| options.seed_frames || unseen(h)).for_each(|host| traffic.broadcast(span, *host));
    if let (true, Some(&manager)) = (options.in_band, hosts.first()) {
        let answering = switches.iter().filter(|n| !wiring.nodes[**n].silent);
        answering.for_each(|n| traffic.talk(*n, manager, 1));
    }
    let mut learned = traffic.learned;
    for (rows, node) in learned.iter_mut().zip(&wiring.nodes) {
        let ageing = node.habit.ageing;
        rows.retain(|station, (age, _)| *age <= ageing && (rng.f64() >= options.forgotten || unseen(station)));
    }
    learned
}

impl Traffic<'_> {
    /// Where a station was at a time: at a node.
    fn place(&self, station: usize, age: Age) -> usize {
        self.moves.get(&station).filter(|m| age > m.ago).map_or(station, |m| m.from)
    }

    /// Two talk: every bridge between learns both.
    fn talk(&mut self, a: usize, b: usize, age: Age) {
        for (from, to) in [(a, b), (b, a)] {
            let place = self.place(from, age);
            if place != from
                && let Some(port) = self.moves[&from].port
            {
                self.learn(place, from, age, Exit::Spare(port));
            }
            for (node, socket) in self.tree.path(self.wiring, self.place(to, age), place) {
                self.learn(node, from, age, Exit::Socket(socket));
            }
        }
    }

    /// A broadcast just now: every bridge sees it.
    fn broadcast(&mut self, span: &Span, host: usize) {
        let wiring = self.wiring;
        let mut next = vec![(host, usize::MAX)];
        while let Some((node, from)) = next.pop() {
            for socket in (0..wiring.nodes[node].sockets.len()).filter(|s| *s != from) {
                if span.carries(wiring, wiring.nodes[node].sockets[socket].cable) {
                    let (far, back) = wiring.far(node, socket);
                    self.learn(far, host, 0, Exit::Socket(back));
                    next.push((far, back));
                }
            }
        }
    }

    /// The latest counts.
    fn learn(&mut self, node: usize, station: usize, age: Age, exit: Exit) {
        if self.wiring.nodes[node].role == Role::Switch && age <= LONG {
            let row = self.learned[node].entry(station).or_insert((age, exit));
            if age <= row.0 {
                *row = (age, exit);
            }
        }
    }
}

impl Tree {
    fn new(wiring: &Wiring, span: &Span) -> Tree {
        let mut tree = Tree { up: vec![None; wiring.nodes.len()], depth: vec![usize::MAX; wiring.nodes.len()] };
        let mut next = VecDeque::from([0]);
        tree.depth[0] = 0;
        while let Some(node) = next.pop_front() {
            for (socket, plug) in wiring.nodes[node].sockets.iter().enumerate().filter(|(_, s)| span.carries(wiring, s.cable)) {
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

    /// The nodes from one to another, the last excluded, each with its socket towards it.
    fn path(&self, wiring: &Wiring, from: usize, to: usize) -> Vec<(usize, usize)> {
        let (mut a, mut b) = (from, to);
        let (mut path, mut down) = (vec![], vec![]);
        while a != b {
            if self.depth[a] >= self.depth[b] {
                let Some((socket, above)) = self.up[a] else { break };
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
