//! The allgather as a logical ring: each host sends to the next one, `n - 1` times, first its own block and then
//! what it got last.
//!
//! Source: allgather-switched-clusters, Algorithm 1 (LR1).
//! Input: a tree.
//! Guarantee: no directed edge carries two of the ring's messages (Theorem 1), so at unit capacity it is optimal.
//! Cost: O(nodes log nodes).
//! Deviations: none.
use inventory::tree::{Node, Tree};

/// The one ring there is yet.
pub(crate) const LR1: &str = "lr1";

/// An allgather among `hosts`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allgather {
    /// How it was planned: `lr1`.
    pub algorithm: &'static str,
    /// The hosts' names in the order of their numbers.
    pub hosts: Vec<String>,
    /// Host numbers; each sends to the next, the last to the first.
    pub ring: Vec<u32>,
    /// Switches on the longest way between two neighbours of the ring (the paper's path length: one switch counts 1).
    pub longest_path: u32,
    /// Whether no directed edge carries two of its messages.
    pub contention_free: bool,
}

/// Plans the ring: switches in depth-first order, each with its own hosts in ascending order.
pub fn plan(tree: &Tree) -> Allgather {
    let ring = depth_first(tree);
    let longest_path = neighbours(&ring).map(|(a, b)| switches_between(tree, a, b)).max().unwrap_or(0);
    Allgather { algorithm: LR1, hosts: tree.host_names().to_vec(), ring, longest_path, contention_free: true }
}

impl Allgather {
    /// The same ring with hosts numbered as in `hosts`; `None` if those are not the same hosts.
    pub fn renumbered(&self, hosts: &[String]) -> Option<Allgather> {
        let number: std::collections::HashMap<&str, u32> = hosts.iter().zip(0..).map(|(name, i)| (name.as_str(), i)).collect();
        let ring = self.ring.iter().map(|&h| number.get(self.hosts.get(h as usize)?.as_str()).copied()).collect::<Option<Vec<u32>>>()?;
        (hosts.len() == self.hosts.len()).then(|| Allgather { hosts: hosts.to_vec(), ring, ..self.clone() })
    }
}

/// Who sends to whom along a ring; nobody where there is one host.
pub(crate) fn neighbours(ring: &[u32]) -> impl Iterator<Item = (u32, u32)> + '_ {
    let others = if ring.len() > 1 { ring.len() } else { 0 };
    ring.iter().copied().zip(ring.iter().copied().cycle().skip(1)).take(others)
}

fn depth_first(tree: &Tree) -> Vec<Node> {
    let mut children: Vec<Vec<Node>> = vec![Vec::new(); tree.nodes() as usize];
    for &v in tree.top_down() {
        if let Some(parent) = tree.parent(v) {
            children[parent as usize].push(v);
        }
    }
    let mut ring = Vec::with_capacity(tree.hosts() as usize);
    let mut stack = vec![tree.root()];
    while let Some(v) = stack.pop() {
        if tree.is_host(v) {
            ring.push(v);
        }
        // Popped from the end: a switch's own hosts first, then switches as they come in the tree.
        let (mut own, switches): (Vec<Node>, Vec<Node>) = children[v as usize].iter().partition(|&&c| tree.is_host(c));
        own.sort_unstable();
        stack.extend(switches.into_iter().rev().chain(own.into_iter().rev()));
    }
    ring
}

fn switches_between(tree: &Tree, a: Node, b: Node) -> u32 {
    let mut edges = 0u32;
    tree.path(a, b, |_| edges += 1);
    edges.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{any_tree, star};
    use proptest::prelude::*;
    use std::collections::HashSet;

    #[test]
    fn hosts_of_a_switch_are_neighbours() {
        let ring = plan(&star(&[2, 2, 1]));
        assert_eq!((ring.ring, ring.longest_path), (vec![0, 1, 2, 3, 4], 3));
        let one_switch = plan(&star(&[4]));
        assert_eq!((one_switch.ring, one_switch.longest_path), (vec![0, 1, 2, 3], 1));
        let alone = plan(&star(&[1]));
        assert_eq!((alone.ring, alone.longest_path, alone.contention_free), (vec![0], 0, true));
    }

    #[test]
    fn renumbering_keeps_the_ring() {
        let ring = plan(&star(&[2, 1]));
        let hosts = ["n2", "n0", "n1"].map(String::from);
        assert_eq!(ring.renumbered(&hosts).unwrap().ring, [1, 2, 0]);
        assert_eq!(ring.renumbered(&hosts[..2]), None);
        assert_eq!(ring.renumbered(&["n2", "n0", "n9"].map(String::from)), None);
    }

    proptest! {
        #[test]
        fn every_host_once_and_no_edge_twice(tree in any_tree(1..=64)) {
            let plan = plan(&tree);
            let hosts: HashSet<u32> = plan.ring.iter().copied().collect();
            prop_assert_eq!(hosts.len(), tree.hosts() as usize);
            let mut edges = HashSet::new();
            for (a, b) in neighbours(&plan.ring) {
                let mut free = true;
                tree.path(a, b, |edge| free &= edges.insert(edge));
                prop_assert!(free);
            }
        }
    }
}
