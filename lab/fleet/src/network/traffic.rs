//! What bridges learn: of each frame the port its sender is behind.
use super::Options;
use super::span::Span;
use super::wiring::{Role, Wiring};
use fastrand::Rng;
use std::collections::{BTreeMap, VecDeque};

/// Where a bridge learned a station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    Socket(usize),
    /// A port that nothing is plugged into any more.
    Spare(u32),
}

/// By node: the stations it learned, by their nodes.
pub(super) type Learned = Vec<BTreeMap<usize, Exit>>;

/// The tree frames travel on.
struct Tree {
    /// The way to node 0 from each: by which socket, and to whom.
    up: Vec<Option<(usize, usize)>>,
    depth: Vec<usize>,
}

pub(super) fn learned(wiring: &Wiring, span: &Span, options: &Options, rng: &mut Rng) -> Learned {
    let tree = Tree::new(wiring, span);
    let hosts: Vec<usize> = (0..wiring.nodes.len()).filter(|n| wiring.nodes[*n].role == Role::Host).collect();
    let mut learned: Learned = vec![BTreeMap::new(); wiring.nodes.len()];
    let movers: Vec<usize> = hosts.iter().copied().filter(|_| rng.f64() < options.moved).collect();
    movers.into_iter().for_each(|host| former(wiring, &tree, host, &hosts, &mut learned, rng));
    if hosts.len() > 1 {
        for &host in &hosts {
            for _ in 0..options.talks {
                let other = hosts[rng.usize(..hosts.len())];
                tree.talk(wiring, host, other, &mut learned);
            }
        }
    }
    if options.seed_frames {
        hosts.iter().for_each(|host| broadcast(wiring, span, *host, &mut learned));
    }
    if let (true, Some(&manager)) = (options.in_band, hosts.first()) {
        let answering = |n: &usize| wiring.nodes[*n].role == Role::Switch && !wiring.nodes[*n].silent;
        (0..wiring.nodes.len()).filter(answering).for_each(|n| tree.talk(wiring, n, manager, &mut learned));
    }
    learned.iter_mut().for_each(|rows| rows.retain(|_, _| rng.f64() >= options.forgotten));
    learned
}

/// A host was elsewhere before, and talked there with some.
fn former(wiring: &Wiring, tree: &Tree, host: usize, hosts: &[usize], learned: &mut Learned, rng: &mut Rng) {
    let switches: Vec<usize> = (0..wiring.nodes.len()).filter(|n| wiring.nodes[*n].role == Role::Switch).collect();
    let place = switches[rng.usize(..switches.len())];
    for _ in 0..2 {
        let path = tree.path(wiring, hosts[rng.usize(..hosts.len())], place);
        for (node, socket) in path.into_iter().filter(|(n, _)| wiring.nodes[*n].role == Role::Switch) {
            learned[node].insert(host, Exit::Socket(socket));
        }
    }
    // A port that goes down takes its rows with it.
    if let Some((port, true)) = wiring.nodes[place].spare.first() {
        learned[place].insert(host, Exit::Spare(*port));
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

    /// Two talk: every bridge between learns both.
    fn talk(&self, wiring: &Wiring, a: usize, b: usize, learned: &mut Learned) {
        for (from, to) in [(a, b), (b, a)] {
            for (node, socket) in self.path(wiring, to, from) {
                if wiring.nodes[node].role == Role::Switch {
                    learned[node].insert(from, Exit::Socket(socket));
                }
            }
        }
    }
}

/// Every bridge sees it.
fn broadcast(wiring: &Wiring, span: &Span, host: usize, learned: &mut Learned) {
    let mut next = vec![(host, usize::MAX)];
    while let Some((node, from)) = next.pop() {
        for socket in (0..wiring.nodes[node].sockets.len()).filter(|s| *s != from) {
            let (far, back) = wiring.far(node, socket);
            if span.carries(wiring, wiring.nodes[node].sockets[socket].cable) {
                learned[far].insert(host, Exit::Socket(back));
                next.push((far, back));
            }
        }
    }
}
