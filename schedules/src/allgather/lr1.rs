//! LR1: switches in depth-first order, each with its own hosts in a row.
//!
//! Source: allgather-switched-clusters, Algorithm 1. Input: a tree. Guarantee: no directed edge
//! carries two messages of the ring (Theorem 1). Neighbours may be far apart. Cost: O(nodes log
//! nodes). Deviations: none.
use super::branches::{BranchTarget, RingBranches};
use inventory::tree::NodeNumber;

pub(super) fn ring(branches: &RingBranches) -> Vec<NodeNumber> {
    branches.walk(|junction| {
        let at = branches.at(junction);
        at.hosts
            .iter()
            .map(|&host| BranchTarget::Host(host))
            .chain(
                at.branches
                    .iter()
                    .map(|&branch| BranchTarget::Branch(branch)),
            )
            .collect()
    })
}
