//! LR2: a host of the switch itself before and after each of its branches, so that neighbours are
//! at most two switches apart.
//!
//! Source: allgather-switched-clusters, Theorem 2 and Algorithm 2. Input: a tree in which every
//! switch has at least as many hosts as neighbouring switches. Guarantee: no contention, and two
//! neighbours are at most two switches apart. No ring does better wherever there are two switches,
//! and no other tree has such a ring. Cost: O(nodes log nodes). Deviations: a host that others are
//! cabled to counts as a switch that has this host on it. On trees with such hosts the condition is
//! sufficient but not necessary.
use super::RingRefusal;
use super::branches::{BranchTarget, RingBranches};
use inventory::tree::{NodeNumber, Tree};

pub(super) fn ring(tree: &Tree, branches: &RingBranches) -> Result<Vec<NodeNumber>, RingRefusal> {
    for &junction in &branches.junctions {
        let at = branches.at(junction);
        let neighbours = at.branches.len() + usize::from(junction != branches.root);
        if at.hosts.len() < neighbours {
            return Err(RingRefusal::TooFewHosts {
                switch: tree.name(junction).to_owned(),
                hosts: at.hosts.len(),
                neighbours,
            });
        }
    }
    Ok(branches.walk(|junction| {
        let at = branches.at(junction);
        let (between, rest) = at.hosts.split_at(at.branches.len());
        let pairs = between
            .iter()
            .zip(&at.branches)
            .flat_map(|(&host, &branch)| [BranchTarget::Host(host), BranchTarget::Branch(branch)]);
        pairs
            .chain(rest.iter().map(|&host| BranchTarget::Host(host)))
            .collect()
    }))
}
