//! The topology as lines of a tree: the root bridge first, and below each node the nodes that hang
//! on it.
use inventory::topology::{Link, LinkState, Node, Topology};
use std::cmp::Ordering;
use std::collections::{HashMap, VecDeque};

/// One line of the tree.
#[derive(Debug, Clone)]
pub(crate) struct TreeBranch<'a> {
    /// The node of this line; on the line of a link outside the tree, the far end of that link.
    pub(crate) name: &'a str,
    /// The node in the topology; `None` if the topology knows only its name.
    pub(crate) node: Option<&'a Node>,
    /// The node one level up.
    pub(crate) parent: Option<&'a str>,
    /// The link to `parent`, by its place in the topology.
    pub(crate) link: Option<usize>,
    /// True if the link is outside the tree: it is blocked, or it closes a loop.
    pub(crate) outside: bool,
    /// Levels below the root.
    pub(crate) depth: usize,
}

/// Compares two links below the same node, by their place in the topology.
pub(crate) type LinkOrder<'o> = &'o dyn Fn(usize, usize) -> Ordering;

/// The whole topology, each node once and each link once.
pub(crate) fn walk<'a>(topology: &'a Topology, order: LinkOrder<'_>) -> Vec<TreeBranch<'a>> {
    TreeWalk::new(topology).lines(order)
}

struct TreeWalk<'a> {
    topology: &'a Topology,
    names: Vec<&'a str>,
    nodes: Vec<Option<&'a Node>>,
    /// The two ends of each link.
    ends: Vec<(usize, usize)>,
    /// For each node its tree links downwards, and the links outside the tree that it shows.
    below: Vec<Vec<(usize, bool)>>,
    roots: Vec<usize>,
}

impl<'a> TreeWalk<'a> {
    fn new(topology: &'a Topology) -> TreeWalk<'a> {
        let mut number: HashMap<&str, usize> = HashMap::new();
        let mut names = Vec::new();
        let mut nodes = Vec::new();
        for node in &topology.nodes {
            number.entry(&node.name).or_insert_with(|| {
                names.push(node.name.as_str());
                nodes.push(Some(node));
                names.len() - 1
            });
        }
        let mut find = |name: &'a str| {
            *number.entry(name).or_insert_with(|| {
                names.push(name);
                nodes.push(None);
                names.len() - 1
            })
        };
        let ends = topology
            .links
            .iter()
            .map(|l| (find(&l.a), find(&l.b)))
            .collect();
        let below = vec![Vec::new(); names.len()];
        let mut walk = TreeWalk {
            topology,
            names,
            nodes,
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
        let mut near = vec![Vec::new(); self.names.len()];
        for (link, &(a, b)) in self.ends.iter().enumerate() {
            near[a].push(link);
            near[b].push(link);
        }
        let mut reached = vec![usize::MAX; self.names.len()];
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
                        LinkState::Forwarding => sure.push_back((node, link)),
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

    /// The root bridge, then switches, then everything else.
    fn candidates(&self) -> Vec<usize> {
        let mut all: Vec<usize> = (0..self.names.len()).collect();
        let rank = |n: usize| {
            (
                !self.topology.is_root_bridge(self.names[n]),
                self.nodes[n].is_none_or(|n| n.kind == inventory::topology::NodeKind::Host),
            )
        };
        all.sort_by_key(|&n| rank(n));
        all
    }

    fn other(&self, link: usize, from: usize) -> usize {
        let (a, b) = self.ends[link];
        if a == from { b } else { a }
    }

    fn lines(mut self, order: LinkOrder<'_>) -> Vec<TreeBranch<'a>> {
        for below in &mut self.below {
            below.sort_by(|&(x, _), &(y, _)| order(x, y));
        }
        let mut lines = Vec::new();
        for &root in &self.roots {
            lines.push(TreeBranch {
                name: self.names[root],
                node: self.nodes[root],
                parent: None,
                link: None,
                outside: false,
                depth: 0,
            });
            // The remaining links of each node on the path down to the present one.
            let mut stack = vec![(root, self.below[root].iter())];
            while let Some((node, below)) = stack.last_mut() {
                let Some(&(link, outside)) = below.next() else {
                    stack.pop();
                    continue;
                };
                let parent = Some(self.names[*node]);
                let to = self.other(link, *node);
                lines.push(TreeBranch {
                    name: self.names[to],
                    node: self.nodes[to],
                    parent,
                    link: Some(link),
                    outside,
                    depth: stack.len(),
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
    use inventory::BitsPerSec;
    use inventory::topology::{LinkGrade, NodeKind};

    fn link(a: &str, b: &str, state: LinkState) -> Link {
        let (a, b) = (a.to_owned(), b.to_owned());
        Link {
            a,
            a_port: String::new(),
            b,
            b_port: String::new(),
            members: vec![],
            rate_bps: BitsPerSec::GIGABIT,
            state,
            grade: LinkGrade::Certain,
            evidence: vec![],
        }
    }

    fn drawn(links: Vec<Link>, names: &[&str], root: &str) -> Vec<String> {
        let kind = |n: &str| {
            if n.starts_with('s') {
                NodeKind::Switch
            } else {
                NodeKind::Host
            }
        };
        let nodes = names.iter().map(|n| Node::new(*n, kind(n))).collect();
        let topology = Topology {
            nodes,
            links,
            root_bridge: Some(root.into()),
            ..Topology::default()
        };
        let line = |b: &TreeBranch<'_>| {
            format!(
                "{}{}{}",
                "  ".repeat(b.depth),
                if b.outside { "+" } else { "" },
                b.name
            )
        };
        walk(&topology, &|a, b| a.cmp(&b))
            .iter()
            .map(line)
            .collect()
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
}
