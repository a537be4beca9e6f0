//! The topology as lines of a tree: the root bridge first, and below each node the nodes that hang
//! on it.
use inventory::topology::{Link, LinkState, Node, NodeKind, Topology};
use std::cmp::Ordering;
use std::collections::{HashMap, VecDeque};

/// A node, by the place of its entry in the topology.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodePlace {
    /// One of the nodes.
    Known(usize),
    /// The topology knows only its name, as the first or the second end of a link.
    End(usize, bool),
}

impl NodePlace {
    /// The node in the topology; `None` if the topology knows only its name.
    pub(crate) fn node(self, topology: &Topology) -> Option<&Node> {
        match self {
            NodePlace::Known(at) => topology.nodes.get(at),
            NodePlace::End(..) => None,
        }
    }

    /// The node's name.
    pub(crate) fn name(self, topology: &Topology) -> &str {
        let name = match self {
            NodePlace::Known(at) => topology.nodes.get(at).map(|n| &n.name),
            NodePlace::End(at, first) => {
                let link = topology.links.get(at);
                link.map(|l| if first { &l.a } else { &l.b })
            }
        };
        name.map_or("", String::as_str)
    }
}

/// One line of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TreeBranch {
    /// The node of this line; on the line of a link outside the tree, the far end of that link.
    pub(crate) place: NodePlace,
    /// The node one level up.
    pub(crate) parent: Option<NodePlace>,
    /// The link to `parent`, by its place in the topology.
    pub(crate) link: Option<usize>,
    /// True if the link is outside the tree: it is blocked, or it closes a loop.
    pub(crate) outside: bool,
    /// Levels below the root.
    pub(crate) depth: usize,
    /// True for the switch or router with which the drawing begins.
    pub(crate) is_top: bool,
}

/// Compares two links below the same node, by their place in the topology.
pub(crate) type LinkOrder<'o> = &'o dyn Fn(usize, usize) -> Ordering;

/// The whole topology, each node once and each link once.
pub(crate) fn walk(topology: &Topology, order: LinkOrder<'_>) -> Vec<TreeBranch> {
    TreeWalk::new(topology).lines(order)
}

/// The line of the node `name`, and before it those of the nodes above it, the root first.
pub(crate) fn path(topology: &Topology, name: &str) -> Vec<TreeBranch> {
    let lines = walk(topology, &|a, b| a.cmp(&b));
    let Some(at) = lines
        .iter()
        .position(|l| !l.outside && l.place.name(topology) == name)
    else {
        return Vec::new();
    };
    let mut path = vec![lines[at]];
    for line in lines[..at].iter().rev() {
        if path.last().is_some_and(|below| line.depth < below.depth) && !line.outside {
            path.push(*line);
        }
    }
    path.reverse();
    path
}

struct TreeWalk<'a> {
    topology: &'a Topology,
    places: Vec<NodePlace>,
    /// The two ends of each link.
    ends: Vec<(usize, usize)>,
    /// For each node its tree links downwards, and the links outside the tree that it shows.
    below: Vec<Vec<(usize, bool)>>,
    roots: Vec<usize>,
}

impl<'a> TreeWalk<'a> {
    fn new(topology: &'a Topology) -> TreeWalk<'a> {
        let mut number: HashMap<&str, usize> = HashMap::with_capacity(topology.nodes.len());
        let mut places = Vec::with_capacity(topology.nodes.len());
        let mut find = |name: &'a str, place| {
            *number.entry(name).or_insert_with(|| {
                places.push(place);
                places.len() - 1
            })
        };
        for (at, node) in topology.nodes.iter().enumerate() {
            find(&node.name, NodePlace::Known(at));
        }
        let links = topology.links.iter().enumerate();
        let ends = links
            .map(|(at, l)| {
                let a = find(&l.a, NodePlace::End(at, true));
                (a, find(&l.b, NodePlace::End(at, false)))
            })
            .collect();
        let below = vec![Vec::new(); places.len()];
        let mut walk = TreeWalk {
            topology,
            places,
            ends,
            below,
            roots: Vec::new(),
        };
        walk.grow();
        walk
    }

    /// Hangs every node below the nearest root. Forwarding links come first; a link of unknown
    /// state counts where no other link leads to the node.
    fn grow(&mut self) {
        let mut near = vec![Vec::new(); self.places.len()];
        for (link, &(a, b)) in self.ends.iter().enumerate() {
            near[a].push(link);
            near[b].push(link);
        }
        let mut reached = vec![usize::MAX; self.places.len()];
        let mut in_tree = vec![false; self.ends.len()];
        let (mut turn, mut sure, mut unsure) = (0, VecDeque::new(), VecDeque::new());
        for root in self.candidates() {
            if reached[root] != usize::MAX {
                continue;
            }
            self.roots.push(root);
            let mut next = Some(root);
            while let Some(node) = next.take() {
                reached[node] = turn;
                turn += 1;
                for &link in &near[node] {
                    match self.topology.links[link].state {
                        LinkState::Forwarding | LinkState::Multipath => {
                            sure.push_back((node, link))
                        }
                        LinkState::Unknown => unsure.push_back((node, link)),
                        LinkState::Blocked => {}
                    }
                }
                while let Some((from, link)) = sure.pop_front().or_else(|| unsure.pop_front()) {
                    let to = self.other(link, from);
                    if reached[to] == usize::MAX {
                        in_tree[link] = true;
                        self.below[from].push((link, false));
                        next = Some(to);
                        break;
                    }
                }
            }
        }
        for (link, &(a, b)) in self.ends.iter().enumerate().filter(|(l, _)| !in_tree[*l]) {
            let upper = if reached[a] <= reached[b] { a } else { b };
            self.below[upper].push((link, true));
        }
    }

    /// The roots, then everything else.
    fn candidates(&self) -> Vec<usize> {
        let roots = self.topology.roots().into_iter().enumerate();
        let order: HashMap<&str, usize> = roots.map(|(at, name)| (name, at)).collect();
        let mut all: Vec<usize> = (0..self.places.len()).collect();
        all.sort_by_cached_key(|&n| {
            let at = order.get(self.places[n].name(self.topology)).copied();
            at.unwrap_or(usize::MAX)
        });
        all
    }

    fn other(&self, link: usize, from: usize) -> usize {
        let (a, b) = self.ends[link];
        if a == from { b } else { a }
    }

    fn lines(mut self, order: LinkOrder<'_>) -> Vec<TreeBranch> {
        for below in &mut self.below {
            below.sort_by(|&(x, _), &(y, _)| order(x, y));
        }
        let mut lines = Vec::new();
        for (number, &root) in self.roots.iter().enumerate() {
            let node = self.places[root].node(self.topology);
            lines.push(TreeBranch {
                place: self.places[root],
                parent: None,
                link: None,
                outside: false,
                depth: 0,
                is_top: number == 0 && node.is_some_and(|n| n.kind != NodeKind::Host),
            });
            // The remaining links of each node on the path down to the present one.
            let mut stack = vec![(root, self.below[root].iter())];
            while let Some((node, below)) = stack.last_mut() {
                let Some(&(link, outside)) = below.next() else {
                    stack.pop();
                    continue;
                };
                let parent = Some(self.places[*node]);
                let to = self.other(link, *node);
                lines.push(TreeBranch {
                    place: self.places[to],
                    parent,
                    link: Some(link),
                    outside,
                    depth: stack.len(),
                    is_top: false,
                });
                if !outside {
                    stack.push((to, self.below[to].iter()));
                }
            }
        }
        lines
    }
}

/// The ports of `link` as seen from `from`: its own port and the port at the other end.
pub(crate) fn ports<'a>(link: &'a Link, from: &str) -> (&'a str, &'a str) {
    if link.a == from {
        (&link.a_port, &link.b_port)
    } else {
        (&link.b_port, &link.a_port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(a: &str, b: &str, state: LinkState) -> Link {
        let (a, b) = (a.to_owned(), b.to_owned());
        Link {
            state,
            ..Link::new(a, "", b, "")
        }
    }

    fn drawn(links: Vec<Link>, names: &[&str], root: &str) -> Vec<String> {
        let nodes = names.iter().map(|n| Node::new(*n, kind(n))).collect();
        let topology = Topology {
            nodes,
            links,
            root_bridge: Some(root.into()),
            ..Topology::default()
        };
        walk(&topology, &|a, b| a.cmp(&b))
            .iter()
            .map(|b| {
                format!(
                    "{}{}{}",
                    "  ".repeat(b.depth),
                    if b.outside { "+" } else { "" },
                    b.place.name(&topology)
                )
            })
            .collect()
    }

    fn kind(n: &str) -> NodeKind {
        if n.starts_with('s') {
            NodeKind::Switch
        } else {
            NodeKind::Host
        }
    }

    #[test]
    fn root_bridge_first_every_link_once() {
        use LinkState::{Blocked, Forwarding};
        let links = vec![
            link("s0", "s1", Forwarding),
            link("s0", "s2", Blocked),
            link("s1", "s2", Forwarding),
            link("s2", "n0", Forwarding),
        ];
        assert_eq!(
            drawn(links, &["s0", "s1", "s2", "n0"], "s1"),
            ["s1", "  s0", "    +s2", "  s2", "    n0"]
        );
    }

    #[test]
    fn loops_islands_and_unknown_ends_are_shown_too() {
        use LinkState::{Blocked, Forwarding, Unknown};
        let links = vec![
            link("s0", "s0", Forwarding),
            link("s0", "s1", Unknown),
            link("s0", "s1", Forwarding),
            link("s9", "n1", Blocked),
        ];
        let lines = drawn(links, &["s0", "s1", "n1"], "nowhere");
        assert_eq!(lines, ["s0", "  +s0", "  +s1", "  s1", "n1", "  +s9", "s9"]);
    }

    #[test]
    fn a_path_begins_at_the_root() {
        use LinkState::Forwarding;
        let names = ["s0", "s1", "n0", "n1"];
        let kinds = names.map(|n| Node::new(n, NodeKind::Switch));
        let topology = Topology {
            nodes: kinds.to_vec(),
            links: vec![
                link("s0", "n0", Forwarding),
                link("s0", "s1", Forwarding),
                link("s1", "n1", Forwarding),
            ],
            root_bridge: Some("s0".into()),
            ..Topology::default()
        };
        assert_eq!(names_on_path("n1", &topology), ["s0", "s1", "n1"]);
        assert_eq!(names_on_path("n9", &topology), [""; 0]);
    }

    fn names_on_path(name: &str, topology: &Topology) -> Vec<String> {
        let path = path(topology, name);
        let names = path.iter().map(|b| b.place.name(topology).to_owned());
        names.collect::<Vec<_>>()
    }
}
