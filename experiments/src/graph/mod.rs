//! Networks with redundant links: their spanning trees, and random networks to try schedules on.
//!
//! Source: allgather-switched-clusters, section 5 (the three ways to construct a tree). Input: a
//! topology file whose links may close loops. Guarantee: exactly the links of one spanning tree of
//! every connected part keep forwarding. Cost: O(links log links). Deviations: a part that is not
//! connected to the others gets a separate tree, and [`TopologyFile::tree`] reports it.
mod cluster;

use inventory::TopologyFile;
use inventory::topology::LinkState;
use std::collections::{HashMap, VecDeque};

pub use cluster::{HOSTS_PER_SWITCH, MEAN_DEGREE, REACH, random_cluster};
pub use schedules::random::SplitMix64;

/// The construction of a spanning tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TreeConstruction {
    /// From a random switch, the nearest switches first: low trees.
    BreadthFirst,
    /// From a random switch, always onwards from the switch found last: tall trees.
    DepthFirst,
    /// Links in random order, without those that would close a loop.
    Random,
}

/// The same network with every forwarding link outside the tree set to `blocked`. Links that are
/// already blocked stay blocked and are not used. The tree's first switch comes first, so that
/// [`TopologyFile::tree`] makes it the root.
pub fn spanning_tree(
    network: &TopologyFile,
    construction: TreeConstruction,
    random: &mut SplitMix64,
) -> TopologyFile {
    let graph = SwitchGraph::new(network);
    let root = if construction == TreeConstruction::Random {
        0
    } else {
        random.below(graph.near.len())
    };
    let in_tree = match construction {
        TreeConstruction::BreadthFirst => graph.breadth_first(root),
        TreeConstruction::DepthFirst => graph.depth_first(root),
        TreeConstruction::Random => graph.at_random(random),
    };
    let mut tree = network.clone();
    for (number, &(link, ..)) in graph.links.iter().enumerate() {
        if !in_tree[number] {
            tree.links[link].state = Some(LinkState::Blocked);
        }
    }
    if let Some(up_to_root) = tree.switches.get_mut(..=root) {
        up_to_root.rotate_right(1);
    }
    tree
}

/// Switches and forwarding links by number.
struct SwitchGraph {
    /// For each link its place in the file, and its two ends.
    links: Vec<(usize, usize, usize)>,
    /// For each switch its neighbours, each with the number of the link here.
    near: Vec<Vec<(usize, usize)>>,
}

impl SwitchGraph {
    fn new(network: &TopologyFile) -> SwitchGraph {
        let number: HashMap<&str, usize> = network
            .switches
            .iter()
            .zip(0..)
            .map(|(name, number)| (name.as_str(), number))
            .collect();
        let forwarding = network
            .links
            .iter()
            .enumerate()
            .filter(|(_, link)| link.state != Some(LinkState::Blocked));
        let ends = |name: &String| number.get(name.as_str()).copied();
        let links: Vec<_> = forwarding
            .filter_map(|(place, link)| Some((place, ends(&link.a)?, ends(&link.b)?)))
            .collect();
        let mut near = vec![Vec::new(); network.switches.len()];
        for (link, &(_, a, b)) in links.iter().enumerate() {
            near[a].push((b, link));
            near[b].push((a, link));
        }
        SwitchGraph { links, near }
    }

    /// The root, then the other switches. Those matter only where they are not connected to the
    /// root.
    fn starts(&self, root: usize) -> impl Iterator<Item = usize> {
        let all = self.near.len();
        (0..all).map(move |s| (root + s) % all)
    }

    fn breadth_first(&self, root: usize) -> Vec<bool> {
        let (mut in_tree, mut found) =
            (vec![false; self.links.len()], vec![false; self.near.len()]);
        for start in self.starts(root) {
            let mut queue =
                VecDeque::from_iter((!std::mem::replace(&mut found[start], true)).then_some(start));
            while let Some(at) = queue.pop_front() {
                for &(next, link) in &self.near[at] {
                    if !std::mem::replace(&mut found[next], true) {
                        in_tree[link] = true;
                        queue.push_back(next);
                    }
                }
            }
        }
        in_tree
    }

    fn depth_first(&self, root: usize) -> Vec<bool> {
        let (mut in_tree, mut found) =
            (vec![false; self.links.len()], vec![false; self.near.len()]);
        for start in self.starts(root) {
            // Each switch on the path, with the neighbours that are not visited yet.
            let mut way = Vec::from_iter(
                (!std::mem::replace(&mut found[start], true)).then(|| self.near[start].iter()),
            );
            while let Some(ahead) = way.last_mut() {
                match ahead.next() {
                    Some(&(next, link)) if !found[next] => {
                        found[next] = true;
                        in_tree[link] = true;
                        way.push(self.near[next].iter());
                    }
                    Some(_) => {}
                    None => drop(way.pop()),
                }
            }
        }
        in_tree
    }

    fn at_random(&self, random: &mut SplitMix64) -> Vec<bool> {
        let mut order: Vec<usize> = (0..self.links.len()).collect();
        random.shuffle(&mut order);
        // Each switch with the next switch towards the first switch of its part. The first switch
        // has itself.
        let (mut in_tree, mut towards) = (
            vec![false; self.links.len()],
            Vec::from_iter(0..self.near.len()),
        );
        for link in order {
            let (_, a, b) = self.links[link];
            let [a, b] = [a, b].map(|switch| first_of_part(&mut towards, switch));
            in_tree[link] = a != b;
            towards[a] = b;
        }
        in_tree
    }
}

/// The first switch of a switch's part. The path to it is halved for the next time.
fn first_of_part(towards: &mut [usize], mut switch: usize) -> usize {
    while towards[switch] != switch {
        towards[switch] = towards[towards[switch]];
        switch = towards[switch];
    }
    switch
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: [TreeConstruction; 3] = [
        TreeConstruction::BreadthFirst,
        TreeConstruction::DepthFirst,
        TreeConstruction::Random,
    ];

    fn forwarding(file: &TopologyFile) -> Vec<String> {
        let links = file
            .links
            .iter()
            .filter(|link| link.state != Some(LinkState::Blocked));
        links.map(|link| format!("{}-{}", link.a, link.b)).collect()
    }

    /// For each switch the path to it from the root of a tree, the root first.
    fn ways(tree: &SwitchGraph, root: usize) -> Vec<Vec<usize>> {
        let mut ways = vec![Vec::new(); tree.near.len()];
        let mut ahead = vec![(root, root)];
        while let Some((at, from)) = ahead.pop() {
            ways[at] = if at == from {
                Vec::new()
            } else {
                [ways[from].as_slice(), &[from]].concat()
            };
            ahead.extend(
                tree.near[at]
                    .iter()
                    .filter(|next| next.0 != from)
                    .map(|next| (next.0, at)),
            );
        }
        ways
    }

    #[test]
    fn a_ring_of_switches_is_opened_once() {
        let text = "switches: [a, b, c, d, e]\nhosts: {x: {switch: a}}\nlinks: [{a: a, b: b}, \
                    {a: b, b: c}, {a: c, b: d}, {a: d, b: e}, {a: e, b: a}, {a: a, b: b}]";
        let ring = TopologyFile::parse("ring", text).unwrap();
        assert!(ring.tree().is_err());
        for construction in ALL {
            let tree = spanning_tree(&ring, construction, &mut SplitMix64::new(1));
            assert_eq!(tree.links.len(), 6);
            assert_eq!(forwarding(&tree).len(), 4);
            assert_eq!(tree.tree().unwrap().nodes(), 6);
        }
        let mut roots: Vec<_> = (0..40)
            .map(|seed| {
                forwarding(&spanning_tree(
                    &ring,
                    TreeConstruction::BreadthFirst,
                    &mut SplitMix64::new(seed),
                ))
            })
            .collect();
        roots.sort();
        roots.dedup();
        assert_eq!(roots.len(), 5, "each switch is the root of another tree");
    }

    #[test]
    fn blocked_links_stay_out_and_parts_stay_apart() {
        let text = "switches: [a, b, c, d]\nhosts: {x: {switch: a}}\nlinks: [{a: a, b: b}, \
                    {a: b, b: c, state: blocked}, {a: c, b: d}, {a: d, b: c}]";
        let parts = TopologyFile::parse("parts", text).unwrap();
        for construction in ALL {
            let tree = spanning_tree(&parts, construction, &mut SplitMix64::new(3));
            assert_eq!(forwarding(&tree).len(), 2);
            assert!(tree.tree().unwrap_err().to_string().contains("two parts"));
        }
        let none = TopologyFile::default();
        for construction in ALL {
            assert_eq!(
                spanning_tree(&none, construction, &mut SplitMix64::new(3)),
                none
            );
        }
    }

    proptest! {
        #[test]
        fn every_construction_gives_a_tree_of_its_shape(
            switches in 1..60usize,
            seed in any::<u64>(),
        ) {
            let network = random_cluster(
                switches,
                switches * HOSTS_PER_SWITCH,
                &mut SplitMix64::new(seed),
            );
            for construction in ALL {
                let tree = spanning_tree(&network, construction, &mut SplitMix64::new(seed));
                prop_assert_eq!(
                    &tree,
                    &spanning_tree(&network, construction, &mut SplitMix64::new(seed))
                );
                prop_assert_eq!(
                    tree.tree().unwrap().nodes() as usize,
                    switches * (HOSTS_PER_SWITCH + 1)
                );
                let graph = SwitchGraph::new(&network);
                let root = network
                    .switches
                    .iter()
                    .position(|name| *name == tree.switches[0])
                    .unwrap();
                let ways = ways(
                    &SwitchGraph::new(&TopologyFile {
                        switches: network.switches.clone(),
                        ..tree
                    }),
                    root,
                );
                for &(_, a, b) in &graph.links {
                    match construction {
                        // No link leads down more than one level.
                        TreeConstruction::BreadthFirst => {
                            prop_assert!(ways[a].len().abs_diff(ways[b].len()) <= 1)
                        }
                        // Every link leads to a switch further up the same path.
                        TreeConstruction::DepthFirst => {
                            prop_assert!(ways[a].contains(&b) || ways[b].contains(&a))
                        }
                        TreeConstruction::Random => {}
                    }
                }
            }
        }
    }
}
