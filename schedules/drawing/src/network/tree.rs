//! The switches in the order of the spanning tree, each with its hosts and its further links.
use inventory::natural_order::natural;
use inventory::topology::{Link, Node, NodeKind, Topology};
use std::collections::{HashMap, HashSet};

/// The network as a drawing needs it.
pub(super) struct DrawnTree<'a> {
    /// Each after the one above it.
    pub(super) switches: Vec<DrawnSwitch<'a>>,
    /// The links between switches that are not in the tree.
    pub(super) beside: Vec<usize>,
    /// The hosts without any link.
    pub(super) lost: Vec<&'a str>,
}

/// A switch, a router or an unmanaged bridge.
pub(super) struct DrawnSwitch<'a> {
    pub(super) node: &'a Node,
    /// The switch above, and the link to it.
    pub(super) above: Option<(usize, usize)>,
    /// The switches below, in the order of its ports.
    pub(super) below: Vec<usize>,
    /// The number of switches above it.
    pub(super) depth: usize,
    /// Its links to hosts, in the order of its ports.
    pub(super) hosts: Vec<usize>,
    /// Its links to switches that are not in the tree.
    pub(super) beside: Vec<usize>,
}

/// The link seen from `name`: its port there, the other end, and the port at that end.
pub(super) fn seen_from<'a>(link: &'a Link, name: &str) -> (&'a str, &'a str, &'a str) {
    if link.a == name {
        (&link.a_port, &link.b, &link.b_port)
    } else {
        (&link.b_port, &link.a, &link.a_port)
    }
}

impl<'a> DrawnTree<'a> {
    pub(super) fn from_topology(topology: &'a Topology) -> DrawnTree<'a> {
        let mut growing = GrowingTree::new(topology);
        for name in topology.roots() {
            if let Some(node) = growing.nodes.get(name).copied() {
                growing.grow(node);
            }
        }
        growing.finish()
    }
}

struct GrowingTree<'a> {
    topology: &'a Topology,
    nodes: HashMap<&'a str, &'a Node>,
    links: HashMap<&'a str, Vec<usize>>,
    reached: HashSet<&'a str>,
    used: HashSet<usize>,
    switches: Vec<DrawnSwitch<'a>>,
}

impl<'a> GrowingTree<'a> {
    fn new(topology: &'a Topology) -> GrowingTree<'a> {
        let mut links: HashMap<&str, Vec<usize>> = HashMap::new();
        for (i, link) in topology.links.iter().enumerate() {
            links.entry(&link.a).or_default().push(i);
            links.entry(&link.b).or_default().push(i);
        }
        for (name, own) in &mut links {
            own.sort_by_cached_key(|&i| {
                let (port, other, _) = seen_from(&topology.links[i], name);
                (natural(port), natural(other))
            });
        }
        GrowingTree {
            topology,
            nodes: topology
                .nodes
                .iter()
                .map(|n| (n.name.as_str(), n))
                .collect(),
            links,
            reached: HashSet::new(),
            used: HashSet::new(),
            switches: Vec::new(),
        }
    }

    fn is_host(&self, name: &str) -> bool {
        self.nodes
            .get(name)
            .is_none_or(|n| n.kind == NodeKind::Host)
    }

    /// Adds a switch and everything below it.
    fn grow(&mut self, root: &'a Node) {
        if !self.reached.insert(&root.name) {
            return;
        }
        let mut ahead = vec![(root, None)];
        while let Some((node, above)) = ahead.pop() {
            let number = self.add(node, above);
            let first = ahead.len();
            for link in self
                .links
                .get(node.name.as_str())
                .cloned()
                .unwrap_or_default()
            {
                let (_, other, _) = seen_from(&self.topology.links[link], &node.name);
                let carries = self.topology.links[link].carries_frames();
                if carries && !self.is_host(other) && self.reached.insert(other) {
                    self.used.insert(link);
                    ahead.push((self.nodes[other], Some((number, link))));
                }
            }
            ahead[first..].reverse();
        }
    }

    fn add(&mut self, node: &'a Node, above: Option<(usize, usize)>) -> usize {
        let number = self.switches.len();
        let depth = above.map_or(0, |(parent, _)| self.switches[parent].depth + 1);
        if let Some((parent, _)) = above {
            self.switches[parent].below.push(number);
        }
        self.switches.push(DrawnSwitch {
            node,
            above,
            below: Vec::new(),
            depth,
            hosts: Vec::new(),
            beside: Vec::new(),
        });
        number
    }

    /// Gives each link that is not in the tree to its ends.
    fn finish(mut self) -> DrawnTree<'a> {
        let mut switches = std::mem::take(&mut self.switches);
        let (mut beside, mut placed) = (HashSet::new(), HashSet::new());
        for switch in &mut switches {
            for &link in self
                .links
                .get(switch.node.name.as_str())
                .into_iter()
                .flatten()
            {
                let (_, other, _) = seen_from(&self.topology.links[link], &switch.node.name);
                if self.is_host(other) {
                    placed.insert(other);
                    switch.hosts.push(link);
                } else if !self.used.contains(&link) {
                    beside.insert(link);
                    switch.beside.push(link);
                }
            }
        }
        let mut beside: Vec<usize> = beside.into_iter().collect();
        beside.sort_unstable();
        let lost = self
            .topology
            .names(NodeKind::Host)
            .filter(|h| !placed.contains(h));
        DrawnTree {
            beside,
            lost: lost.collect(),
            switches,
        }
    }
}
