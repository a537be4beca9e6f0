//! The spanning tree of a wiring.
//!
//! Source: IEEE 802.1D-2004, 17.6 (priority vectors), 17.14 (path costs). Input: bridges with
//! identifiers, cables with rates; bridges without spanning tree join their cables into one
//! segment. Guarantee: the root bridge, root ports and designated ports that the standard's
//! comparison of priority vectors gives. Cost: (bridges + ports) log bridges. Deviations: bridges
//! of unequal protocol versions and edge ports are not modelled.
use super::wiring::{NetworkWiring, NodeRole, NodeSocket};
use inventory::observation::BridgeId;
use petgraph::unionfind::UnionFind;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// The result of spanning tree.
pub(super) struct SpanningTreeState {
    /// The root bridge of the main network; `None` where no spanning tree runs.
    pub(super) root: Option<usize>,
    /// By node: the root bridge of its network.
    pub(super) roots: Vec<Option<usize>>,
    /// By node and socket: the designated port of the segment.
    designated: Vec<Vec<NodeSocket>>,
    /// By node and socket: true if frames pass.
    forwards: Vec<Vec<bool>>,
}

impl SpanningTreeState {
    pub(super) fn new(wiring: &NetworkWiring, runs: bool) -> SpanningTreeState {
        let forwards = wiring
            .nodes
            .iter()
            .map(|node| vec![true; node.sockets.len()])
            .collect();
        let designated = (0..wiring.nodes.len())
            .map(|n| (0..wiring.nodes[n].sockets.len()).map(|s| (n, s)).collect())
            .collect();
        let mut span = SpanningTreeState {
            root: None,
            roots: vec![None; wiring.nodes.len()],
            designated,
            forwards,
        };
        if runs {
            span.settle(wiring);
        }
        span
    }

    /// The state of bridges that act as one in pairs: all forward.
    pub(super) fn of_pairs(roots: Vec<Option<usize>>, designated: Vec<Vec<NodeSocket>>) -> Self {
        SpanningTreeState {
            root: roots.first().copied().flatten(),
            roots,
            forwards: designated.iter().map(|own| vec![true; own.len()]).collect(),
            designated,
        }
    }

    pub(super) fn forwards(&self, (node, socket): NodeSocket) -> bool {
        self.forwards[node][socket]
    }

    /// True if frames pass a cable.
    pub(super) fn carries(&self, wiring: &NetworkWiring, cable: usize) -> bool {
        wiring.cables[cable]
            .ends
            .iter()
            .all(|end| self.forwards(*end))
    }

    /// The designated port of a port's segment.
    pub(super) fn designated(&self, (node, socket): NodeSocket) -> NodeSocket {
        self.designated[node][socket]
    }

    fn settle(&mut self, wiring: &NetworkWiring) {
        let segments = segments(wiring);
        let segment_of: BTreeMap<NodeSocket, usize> = segments
            .iter()
            .enumerate()
            .flat_map(|(g, ends)| ends.iter().map(move |e| (*e, g)))
            .collect();
        let mut costs = vec![u64::MAX; wiring.nodes.len()];
        // The best bridge of those that no root bridge reaches is the root bridge of its network.
        while let Some(root) = wiring
            .of_role(NodeRole::Switch)
            .filter(|n| costs[*n] == u64::MAX)
            .min_by_key(|n| id(wiring, *n))
        {
            add_costs(&mut costs, wiring, root, &segments, &segment_of);
            let reached = self.roots.iter_mut().zip(&costs);
            reached
                .filter(|(own, cost)| own.is_none() && **cost < u64::MAX)
                .for_each(|(own, _)| *own = Some(root));
        }
        self.root = self.roots.first().copied().flatten();
        for ends in &segments {
            let Some(&best) = ends
                .iter()
                .min_by_key(|(n, s)| (costs[*n], id(wiring, *n), port_id(wiring, (*n, *s))))
            else {
                continue;
            };
            for &(node, socket) in ends {
                self.designated[node][socket] = best;
            }
        }
        for node in wiring.of_role(NodeRole::Switch) {
            let sockets = 0..wiring.nodes[node].sockets.len();
            let not_own = sockets
                .clone()
                .filter(|s| self.designated[node][*s].0 != node);
            let root_port = not_own.min_by_key(|s| {
                let best = self.designated[node][*s];
                (
                    costs[best.0] + cost(wiring, (node, *s)),
                    id(wiring, best.0),
                    port_id(wiring, best),
                    port_id(wiring, (node, *s)),
                )
            });
            for socket in sockets {
                self.forwards[node][socket] =
                    self.designated[node][socket] == (node, socket) || Some(socket) == root_port;
            }
        }
    }
}

/// The bridge identifier of a switch.
pub(super) fn id(wiring: &NetworkWiring, node: usize) -> BridgeId {
    BridgeId {
        priority: wiring.nodes[node].priority,
        address: wiring.nodes[node]
            .pair_address
            .unwrap_or(wiring.nodes[node].address),
    }
}

/// The base port number of a socket.
pub(super) fn base_port(wiring: &NetworkWiring, (node, socket): NodeSocket) -> u32 {
    let node = &wiring.nodes[node];
    let socket = &node.sockets[socket];
    socket.aggregate.map_or_else(
        || node.habit.base(socket.ports[0]),
        |a| node.habit.aggregate_base(a),
    )
}

/// The identifier of a port: priority 128 and its number (IEEE 802.1D-2004, 9.2.7).
pub(super) fn port_id(wiring: &NetworkWiring, end: NodeSocket) -> u16 {
    0x8000 | (base_port(wiring, end) & 0xfff) as u16
}

/// The ports of switches, by segment.
fn segments(wiring: &NetworkWiring) -> Vec<Vec<NodeSocket>> {
    let mut parts = UnionFind::new(wiring.cables.len());
    for node in wiring.nodes.iter().filter(|n| n.bridges_plainly()) {
        let joined: Vec<usize> = node
            .sockets
            .iter()
            .filter(|s| !s.apart)
            .map(|s| s.cable)
            .collect();
        for pair in joined.windows(2) {
            parts.union(pair[0], pair[1]);
        }
    }
    let mut segments: BTreeMap<usize, Vec<NodeSocket>> = BTreeMap::new();
    for (number, cable) in wiring.cables.iter().enumerate() {
        let bridges = cable.ends.iter().filter(|(n, s)| {
            let node = &wiring.nodes[*n];
            node.role == NodeRole::Switch && !node.sockets[*s].apart
        });
        segments
            .entry(parts.find(number))
            .or_default()
            .extend(bridges);
    }
    segments.into_values().collect()
}

/// The path cost of a port (802.1D-2004, Table 17-3): 20,000 for a gigabit, inversely proportional
/// to the rate.
fn cost(wiring: &NetworkWiring, (node, socket): NodeSocket) -> u64 {
    let cable = &wiring.cables[wiring.nodes[node].sockets[socket].cable];
    20_000_000_000_000 / (cable.rate.0 * cable.width as u64).max(1)
}

/// The path cost to a root bridge of each bridge that reaches it.
fn add_costs(
    costs: &mut [u64],
    wiring: &NetworkWiring,
    root: usize,
    segments: &[Vec<NodeSocket>],
    segment_of: &BTreeMap<NodeSocket, usize>,
) {
    let mut heap = BinaryHeap::from([(Reverse(0), root)]);
    while let Some((Reverse(so_far), node)) = heap.pop() {
        if so_far >= costs[node] {
            continue;
        }
        costs[node] = so_far;
        let sockets = 0..wiring.nodes[node].sockets.len();
        for segment in sockets.filter_map(|socket| segment_of.get(&(node, socket))) {
            let others = segments[*segment]
                .iter()
                .filter(|(n, _)| costs[*n] == u64::MAX);
            heap.extend(others.map(|end| (Reverse(so_far + cost(wiring, *end)), end.0)));
        }
    }
}
