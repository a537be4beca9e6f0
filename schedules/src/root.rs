//! The schedule's root: the node at a bottleneck edge from which no subtree holds more than half of
//! the hosts.
//!
//! Source: aapc-2007 section 4.1. Input: a tree of at least three hosts. Guarantee: the largest
//! subtree's link is a bottleneck link (Lemma 1), so the AAPC needs `m0 * (n - m0)` phases. Cost:
//! O(nodes log nodes). Deviations: branches without hosts are skipped everywhere; the paper allows
//! only some of them. A host that others are cabled to counts as if it were cabled to a switch in
//! its place; in the paper hosts are always leaves.
use inventory::tree::{NodeNumber, Tree};

/// The root and the hosts of its subtrees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleRoot {
    /// A switch, or a host that others are cabled to.
    pub node: NodeNumber,
    /// Hosts of each subtree in ascending order. The largest subtree comes first; of equal ones,
    /// that with the smallest host number.
    pub subtrees: Vec<Vec<NodeNumber>>,
}

/// Finds the schedule's root of a tree with at least three hosts.
pub fn schedule_root(tree: &Tree) -> ScheduleRoot {
    let node = walk_to_root(tree);
    let hung = tree.hang_from(node);
    let mut subtree_of = vec![usize::MAX; hung.nodes() as usize];
    let mut subtrees: Vec<Vec<NodeNumber>> = Vec::new();
    for &v in hung.top_down() {
        let Some(parent) = hung.parent(v) else {
            continue;
        };
        subtree_of[v as usize] = if parent == node {
            subtrees.push(Vec::new());
            subtrees.len() - 1
        } else {
            subtree_of[parent as usize]
        };
        if hung.is_host(v) {
            subtrees[subtree_of[v as usize]].push(v);
        }
    }
    if tree.is_host(node) {
        subtrees.push(vec![node]);
    }
    subtrees.retain(|hosts| !hosts.is_empty());
    subtrees.iter_mut().for_each(|hosts| hosts.sort_unstable());
    subtrees.sort_by_key(|hosts| (std::cmp::Reverse(hosts.len()), hosts[0]));
    ScheduleRoot { node, subtrees }
}

/// Walks from a bottleneck link into its larger side, along links of the same load, until the hosts
/// fork.
fn walk_to_root(tree: &Tree) -> NodeNumber {
    let (n, below) = (tree.hosts(), tree.hosts_below());
    let links = tree
        .top_down()
        .iter()
        .filter_map(|&v| tree.parent(v).map(|parent| (v, parent)));
    let heaviest = links.rev().max_by_key(|&(v, _)| {
        let below = below[v as usize];
        u64::from(below) * u64::from(n - below)
    });
    let Some((child, parent)) = heaviest else {
        return tree.root();
    };
    let (mut at, mut from) = if n - below[child as usize] >= below[child as usize] {
        (parent, child)
    } else {
        (child, parent)
    };
    let neighbours = tree.neighbours();
    loop {
        let mut branches = neighbours[at as usize]
            .iter()
            .map(|&(w, _)| w)
            .filter(|&w| {
                let hosts_behind = match tree.parent(w) {
                    Some(parent) if parent == at => below[w as usize],
                    _ => n - below[at as usize],
                };
                w != from && hosts_behind > 0
            });
        match (branches.next(), branches.next()) {
            // The same hosts are on either side of the next link: it has the same load, and is a bottleneck, too.
            (Some(only), None) if !tree.is_host(at) => (at, from) = (only, at),
            _ => return at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacities::EdgeCapacities;
    use proptest::prelude::*;
    use samples::trees::{any_tree, topology};

    #[test]
    fn finds_the_root_of_the_papers_figure_1() {
        // aapc-2007, Figure 1: s4 has no hosts, and the way to the hosts of s5 has no fork.
        let tree = topology(
            "switches: [s0, s1, s2, s3, s4, s5]\nhosts: {n0: {switch: s0}, n1: {switch: s0}, \
             n2: {switch: s3}, n3: {switch: s5}, n4: {switch: s5}}\nlinks: [{a: s0, b: s1}, \
             {a: s1, b: s2}, {a: s2, b: s3}, {a: s1, b: s4}, {a: s3, b: s5}]",
        );
        let root = schedule_root(&tree);
        assert_eq!(tree.name(root.node), "s3");
        assert_eq!(root.subtrees, [vec![0, 1], vec![3, 4], vec![2]]);
    }

    proptest! {
        #[test]
        fn no_subtree_holds_more_than_half(tree in any_tree(3..=64)) {
            let root = schedule_root(&tree);
            let sizes: Vec<usize> = root.subtrees.iter().map(Vec::len).collect();
            prop_assert_eq!(sizes.iter().sum::<usize>(), tree.hosts() as usize);
            prop_assert!(2 * sizes[0] <= tree.hosts() as usize);
            prop_assert!(sizes.is_sorted_by(|a, b| a >= b));
            prop_assert_eq!(
                (sizes[0] * (tree.hosts() as usize - sizes[0])) as u64,
                crate::bound::bound(&tree, &EdgeCapacities::unit(&tree)).phases
            );
        }
    }
}
