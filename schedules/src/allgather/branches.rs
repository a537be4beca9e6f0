//! The tree as rings see it: the hosts and branches at each junction. Branches that lead to no host
//! are left out.
//!
//! By Lemma 2 of allgather-switched-clusters a ring is free of contention exactly if the hosts of
//! every subtree stand in a row. So every such ring is a walk down the tree, and the algorithms
//! differ only in the order at each junction.
use inventory::tree::{NodeNumber, Tree};

/// A tree without the nodes that carry nothing.
pub(super) struct RingBranches {
    /// The uppermost junction. Where there is one host, that host.
    pub(super) root: NodeNumber,
    /// The junctions, each before those below it.
    pub(super) junctions: Vec<NodeNumber>,
    /// The content of each node's junction.
    hanging: Vec<JunctionContent>,
}

/// The content of a junction. A junction is a switch, or a host that others are cabled to.
#[derive(Default)]
pub(super) struct JunctionContent {
    /// Hosts on it in ascending order. A host that is a junction counts itself.
    pub(super) hosts: Vec<NodeNumber>,
    /// Junctions below it.
    pub(super) branches: Vec<NodeNumber>,
}

/// The next step of a walk.
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
        // The nodes above the lowest node that has every host below it carry nothing.
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

    /// The number of nodes of the tree, including those left out.
    pub(super) fn nodes(&self) -> usize {
        self.hanging.len()
    }

    pub(super) fn at(&self, junction: NodeNumber) -> &JunctionContent {
        &self.hanging[junction as usize]
    }

    /// The hosts in the order of a walk. `visit` gives the order at each junction.
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
