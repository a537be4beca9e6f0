//! Trees of the nodes that share a spanning tree. Cables join them, or evidence of unseen cables.
use super::ClusterInput;
use super::probes::{HostsBetween, ProbedPairs};
use inventory::cluster_reason::ClusterReason;
use inventory::observation::BridgeId;
use inventory::topology::{LinkGrade, LinkState, NodeKind};
use petgraph::unionfind::UnionFind;
use std::collections::{BTreeSet, HashMap, HashSet};

/// A cable to a host, by its number among the links.
struct HostCable {
    host: usize,
    switch: usize,
    cable: usize,
}

/// Trees over all nodes; routers stand alone. Links that carry frames are used first, then links
/// that may carry frames, then other evidence.
pub(super) struct SpanningForest {
    pub(super) edges: Vec<NodeJoin>,
    /// By node: the edge upwards.
    up: Vec<Option<usize>>,
    depth: Vec<u32>,
    /// Parents before children.
    order: Vec<usize>,
    /// By node: true if it is connected to anything.
    placed: Vec<bool>,
}

/// Two nodes in one spanning tree.
pub(super) struct NodeJoin {
    /// One of them.
    pub(super) a: usize,
    /// The other.
    pub(super) b: usize,
    /// The evidence for it.
    pub(super) cause: JoinCause,
}

/// The evidence that two nodes share a spanning tree.
pub(super) enum JoinCause {
    /// A cable, by its number among the links.
    Cable(usize),
    /// Any other reason.
    Reason(ClusterReason),
}

impl SpanningForest {
    pub(super) fn new(seen: &ClusterInput<'_>, probes: &ProbedPairs) -> SpanningForest {
        let parts = UnionFind::new(seen.nodes.len());
        let mut growing = GrowingForest {
            wired: parts.clone(),
            parts,
            edges: Vec::new(),
        };
        let mut trunks: Vec<usize> = (0..seen.links.len()).collect();
        trunks.sort_by_key(|i| {
            (
                seen.links[*i].grade == LinkGrade::Ambiguous,
                standing(seen.links[*i].state),
            )
        });
        let mut attachments: Vec<HostCable> = Vec::new();
        for i in trunks {
            let Some([a, b]) = seen.ends[i] else {
                continue;
            };
            if !seen.is_host(b) && seen.links[i].grade != LinkGrade::Ambiguous {
                growing.wired.union(a, b);
            }
            // A fabric's routers part nothing.
            let is_way = seen.links[i].state == LinkState::Multipath;
            let mut kinds = [a, b].into_iter().map(|node| seen.kind(node));
            if kinds.any(|kind| kind == NodeKind::Router) && !is_way {
                continue;
            }
            match seen.kind(b) {
                NodeKind::Host => attachments.push(HostCable {
                    host: b,
                    switch: a,
                    cable: i,
                }),
                _ => growing.join(a, b, || JoinCause::Cable(i)),
            }
        }
        growing.join_by_root_bridge(seen);
        attachments.sort_by_key(|cable| cable.host);
        for attachments in attachments.chunk_by(|a, b| a.host == b.host) {
            let (first, tree) = (&attachments[0], growing.parts.find(attachments[0].switch));
            if attachments
                .iter()
                .all(|cable| growing.parts.find(cable.switch) == tree)
            {
                growing.join(first.switch, first.host, || JoinCause::Cable(first.cable));
            }
        }
        growing.join_by_probes(seen, probes);
        SpanningForest::grown(growing.edges, seen.nodes.len())
    }

    fn grown(edges: Vec<NodeJoin>, nodes: usize) -> SpanningForest {
        let mut near: Vec<Vec<(usize, usize)>> = vec![Vec::new(); nodes];
        for (i, edge) in edges.iter().enumerate() {
            near[edge.a].push((edge.b, i));
            near[edge.b].push((edge.a, i));
        }
        let (mut up, mut depth, mut order) =
            (vec![None; nodes], vec![0; nodes], Vec::with_capacity(nodes));
        let mut met = vec![false; nodes];
        for root in 0..nodes {
            let mut open = vec![root];
            while let Some(node) = open.pop() {
                if std::mem::replace(&mut met[node], true) {
                    continue;
                }
                order.push(node);
                for &(child, edge) in near[node].iter().filter(|(n, _)| !met[*n]) {
                    (up[child], depth[child]) = (Some(edge), depth[node] + 1);
                    open.push(child);
                }
            }
        }
        let placed = near.iter().map(|n| !n.is_empty()).collect();
        SpanningForest {
            edges,
            up,
            depth,
            order,
            placed,
        }
    }

    /// True if the node is connected to anything.
    pub(super) fn is_placed(&self, node: usize) -> bool {
        self.placed[node]
    }

    /// The node's edge upwards and the node above it.
    fn above(&self, node: usize) -> Option<(usize, usize)> {
        let edge = self.up[node]?;
        Some((
            edge,
            if self.edges[edge].a == node {
                self.edges[edge].b
            } else {
                self.edges[edge].a
            },
        ))
    }

    /// Calls `visit` with every edge between two nodes of one tree.
    pub(super) fn path(&self, a: usize, b: usize, mut visit: impl FnMut(usize)) {
        let (mut x, mut y) = (a, b);
        while x != y {
            let (lower, other) = if self.depth[x] >= self.depth[y] {
                (x, y)
            } else {
                (y, x)
            };
            let Some((edge, parent)) = self.above(lower) else {
                return;
            };
            visit(edge);
            (x, y) = (parent, other);
        }
    }

    /// By node: the topmost node that it is connected to when these edges are cut.
    pub(super) fn sides(&self, cut: &BTreeSet<usize>) -> Vec<usize> {
        let mut side: Vec<usize> = (0..self.up.len()).collect();
        for &node in &self.order {
            if let Some((_, parent)) = self.above(node).filter(|(edge, _)| !cut.contains(edge)) {
                side[node] = side[parent];
            }
        }
        side
    }

    /// For every edge: the sum of `of` over the nodes on its far side from the root. Sums end at
    /// the border of a group.
    pub(super) fn below(&self, group: &[usize], of: impl Fn(usize) -> u64) -> Vec<u64> {
        let mut sum: Vec<u64> = (0..self.up.len()).map(of).collect();
        let mut below = vec![0; self.edges.len()];
        for &node in self.order.iter().rev() {
            if let Some((edge, parent)) = self
                .above(node)
                .filter(|(_, parent)| group[node] == group[*parent])
            {
                below[edge] = sum[node];
                sum[parent] += sum[node];
            }
        }
        below
    }
}

/// The rank of a link in the order in which links are used.
fn standing(state: LinkState) -> u8 {
    match state {
        LinkState::Forwarding | LinkState::Multipath => 0,
        LinkState::Unknown => 1,
        LinkState::Blocked => 2,
    }
}

/// A forest under construction.
struct GrowingForest {
    parts: UnionFind<usize>,
    /// The nodes that cables join, also through routers.
    wired: UnionFind<usize>,
    edges: Vec<NodeJoin>,
}

impl GrowingForest {
    fn join(&mut self, a: usize, b: usize, cause: impl FnOnce() -> JoinCause) {
        self.wired.union(a, b);
        if self.parts.union(a, b) {
            self.edges.push(NodeJoin {
                a,
                b,
                cause: cause(),
            });
        }
    }

    /// Switches that name the same root bridge are in its spanning tree (IEEE 802.1D-2004, 17.2),
    /// even if silent switches are between them.
    fn join_by_root_bridge(&mut self, seen: &ClusterInput<'_>) {
        let fresh = seen.views.iter().filter(|(_, view)| view.stale.is_none());
        let named = fresh.filter_map(|(name, view)| {
            let root = view.bridge.as_ref()?.root_bridge?;
            root.address.is_station().then_some((name.as_str(), root))
        });
        let named: Vec<(&str, BridgeId)> = named.collect();
        let naming: HashSet<&str> = named.iter().map(|(name, _)| *name).collect();
        let nodes = seen.nodes.iter().enumerate();
        let number: HashMap<&str, usize> = nodes
            .map(|(i, node)| (node.name.as_str(), i))
            .filter(|(name, _)| naming.contains(name))
            .collect();
        let mut first: HashMap<BridgeId, usize> = HashMap::new();
        for (name, root) in named {
            let Some(&node) = number.get(name) else {
                continue;
            };
            // Spanning tree ends at routers.
            if seen.kind(node) == NodeKind::Router {
                continue;
            }
            let other = *first.entry(root).or_insert(node);
            self.join(other, node, || {
                let ends = [other, node].map(|n| seen.name(n).to_owned());
                JoinCause::Reason(ClusterReason::OneRootBridge(ends, root))
            });
        }
    }

    /// Two hosts are bridged if packets between them pass no router, unless cables lead from one to
    /// the other through a known router.
    fn join_by_probes(&mut self, seen: &ClusterInput<'_>, probes: &ProbedPairs) {
        for ([a, b], between) in probes.between() {
            if matches!(between, HostsBetween::Nothing) && !self.wired.equiv(a, b) {
                self.join(a, b, || {
                    let [from, to] = [a, b].map(|n| seen.name(n).to_owned());
                    JoinCause::Reason(ClusterReason::NoHop { from, to })
                });
            }
        }
    }
}
