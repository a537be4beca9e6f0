//! The tree as rings see it: what hangs from each junction, without branches that lead to no host.
//!
//! By Lemma 2 of allgather-switched-clusters a ring is free of contention exactly where the hosts
//! of every subtree stand in a row. So every such ring is a walk down the tree, and the algorithms
//! differ only in the order at each junction.
use inventory::tree::{NodeNumber, Tree};

/// A tree without what carries nothing.
pub(super) struct RingBranches {
    /// The junction that everything hangs from; the host itself where there is but one.
    pub(super) root: NodeNumber,
    /// Where branches meet, each before those that hang from it.
    pub(super) junctions: Vec<NodeNumber>,
    /// By node.
    hanging: Vec<JunctionContent>,
}

/// What hangs from a junction: a switch, or a host that others are cabled to.
#[derive(Default)]
pub(super) struct JunctionContent {
    /// Hosts on it in ascending order; a host that is a junction counts itself.
    pub(super) hosts: Vec<NodeNumber>,
    /// Junctions below it.
    pub(super) branches: Vec<NodeNumber>,
}

/// Where a walk goes next.
pub(super) enum BranchTarget {
    Host(NodeNumber),
    Branch(NodeNumber),
}

impl RingBranches {
    pub(super) fn new(tree: &Tree) -> RingBranches {
        let below = tree.hosts_below();
        let mut hanging: Vec<JunctionContent> = (0..tree.nodes())
            .map(|_| JunctionContent::default())
            .collect();
        let is_junction = |v: NodeNumber| !tree.is_host(v) || below[v as usize] > 1;
        for &v in tree.top_down().iter().filter(|&&v| below[v as usize] > 0) {
            if tree.is_host(v) && is_junction(v) {
                hanging[v as usize].hosts.push(v);
            }
            if let Some(parent) = tree.parent(v) {
                let JunctionContent { hosts, branches } = &mut hanging[parent as usize];
                if is_junction(v) {
                    branches.push(v)
                } else {
                    hosts.push(v)
                }
            }
        }
        hanging.iter_mut().for_each(|at| at.hosts.sort_unstable());
        // Nodes above the lowest one that has every host below it carry nothing.
        let root = tree
            .top_down()
            .iter()
            .copied()
            .rfind(|&v| below[v as usize] == tree.hosts())
            .unwrap_or(tree.root());
        let downwards = tree.top_down().iter().copied().skip_while(|&v| v != root);
        let junctions = downwards
            .filter(|&v| below[v as usize] > 0 && is_junction(v))
            .collect();
        RingBranches {
            root,
            junctions,
            hanging,
        }
    }

    /// Nodes of the tree, the ones left out too.
    pub(super) fn nodes(&self) -> usize {
        self.hanging.len()
    }

    pub(super) fn at(&self, junction: NodeNumber) -> &JunctionContent {
        &self.hanging[junction as usize]
    }

    /// The hosts as met on a walk that visits what hangs from each junction in the order that
    /// `visit` gives.
    pub(super) fn walk(
        &self,
        mut visit: impl FnMut(NodeNumber) -> Vec<BranchTarget>,
    ) -> Vec<NodeNumber> {
        if self.junctions.is_empty() {
            return vec![self.root];
        }
        let mut ring = Vec::new();
        let mut ahead = vec![BranchTarget::Branch(self.root)];
        while let Some(next) = ahead.pop() {
            match next {
                BranchTarget::Host(host) => ring.push(host),
                BranchTarget::Branch(junction) => ahead.extend(visit(junction).into_iter().rev()),
            }
        }
        ring
    }
}
