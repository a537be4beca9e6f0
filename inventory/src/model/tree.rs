//! The tree on which schedules are planned: hosts are leaves, switches are inner nodes, every cable
//! is an edge with a rate.
//!
//! Nodes are numbered: hosts `0..hosts()` in the given order, then switches. A *directed edge* is
//! `2v` from node `v` up to its parent, `2v + 1` down from the parent to `v`. All planners and
//! verifiers work on these numbers.
pub mod parallel_cables;
mod rank_leaves;

use crate::{BitsPerSec, Bytes};
use parallel_cables::TreeMembers;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// A node number: a host below [`Tree::hosts`], otherwise a switch.
pub type NodeNumber = u32;
/// A directed edge number.
pub type EdgeNumber = u32;

const NONE: u32 = u32::MAX;

/// A rooted tree of hosts and switches with a rate on every edge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    names: Vec<String>,
    hosts: u32,
    ranks: Vec<u32>,
    parent: Vec<u32>,
    rate: Vec<BitsPerSec>,
    depth: Vec<u32>,
    /// Parents before children.
    order: Vec<u32>,
    root: u32,
    members: TreeMembers,
    queue: Bytes,
    /// Hosts that are inner nodes, with their ranks as leaves below them.
    hosts_of_ranks: Vec<NodeNumber>,
}

/// The reason that a set of cables is not a tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TreeError {
    /// There is no host to plan for.
    #[error("topology has no host; nothing can be planned")]
    NoHost,
    /// A name that is neither a host nor a switch of the topology.
    #[error(
        "host \"{0}\" is not in the topology; known hosts are listed by `heddle discover` or in \
         the topology file"
    )]
    Unknown(String),
    /// A host was listed twice.
    #[error("host \"{0}\" is listed twice; each host takes part once")]
    Twice(String),
    /// More cables than a tree has.
    #[error(
        "link {0}-{1} closes a loop among forwarding links; frames would circle: mark the \
         redundant link `state: blocked`, or those over which flows spread `state: multipath`"
    )]
    Loop(String, String),
    /// Two cables between the same nodes.
    #[error(
        "two links join {0} and {1}, and both forward; frames would circle: leave one out, mark \
         one `state: blocked`, or mark members of an aggregate `state: multipath`"
    )]
    Parallel(String, String),
    /// The place of a host is not certain.
    #[error(
        "host \"{0}\": the evidence fits more than one place; nothing is planned until one \
         remains, see the alarms"
    )]
    Ambiguous(String),
    /// Some nodes are not connected.
    #[error(
        "\"{1}\" cannot be reached from \"{0}\" over forwarding links; the topology is in two parts"
    )]
    Apart(String, String),
}

/// A cable by the names of its ends, as used by [`Tree::new`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeCable<'a> {
    /// One end.
    pub a: &'a str,
    /// The other.
    pub b: &'a str,
    pub rate: BitsPerSec,
}

impl Tree {
    /// Builds the tree of `hosts` (name, ranks) and `switches` over the forwarding `cables`.
    ///
    /// Switches without a host below them are kept; [`Tree::restrict`] drops those that a job does
    /// not need.
    ///
    /// # Errors
    /// See [`TreeError`]; every error names the object.
    pub fn new(
        hosts: &[(&str, u32)],
        switches: &[&str],
        cables: &[TreeCable<'_>],
    ) -> Result<Tree, TreeError> {
        if hosts.is_empty() {
            return Err(TreeError::NoHost);
        }
        let names: Vec<String> = hosts
            .iter()
            .map(|(n, _)| *n)
            .chain(switches.iter().copied())
            .map(str::to_owned)
            .collect();
        let mut number = HashMap::with_capacity(names.len());
        for (i, name) in names.iter().enumerate() {
            if number.insert(name.as_str(), i as u32).is_some() {
                return Err(TreeError::Twice(name.clone()));
            }
        }
        let find = |name: &str| {
            number
                .get(name)
                .copied()
                .ok_or_else(|| TreeError::Unknown(name.to_owned()))
        };
        let mut near: Vec<Vec<(u32, BitsPerSec)>> = vec![Vec::new(); names.len()];
        for cable in cables {
            let (a, b) = (find(cable.a)?, find(cable.b)?);
            near[a as usize].push((b, cable.rate));
            near[b as usize].push((a, cable.rate));
        }
        let root = if switches.is_empty() {
            0
        } else {
            hosts.len() as u32
        };
        Tree::grow(names, hosts.iter().map(|h| h.1).collect(), &near, root)
    }

    fn grow(
        names: Vec<String>,
        ranks: Vec<u32>,
        near: &[Vec<(u32, BitsPerSec)>],
        root: u32,
    ) -> Result<Tree, TreeError> {
        let n = names.len();
        let mut tree = Tree {
            hosts: ranks.len() as u32,
            ranks,
            parent: vec![NONE; n],
            rate: vec![BitsPerSec::default(); n],
            depth: vec![NONE; n],
            order: Vec::with_capacity(n),
            root,
            names,
            members: TreeMembers::default(),
            queue: UNSTATED_QUEUE,
            hosts_of_ranks: Vec::new(),
        };
        tree.depth[root as usize] = 0;
        let mut stack = vec![root];
        while let Some(u) = stack.pop() {
            tree.order.push(u);
            let mut parent_links = 0;
            // What comes last on the stack is taken first: so neighbours are walked in their order.
            for &(v, rate) in near[u as usize].iter().rev() {
                // The link by which the walk came is met once more here; a second one is a second cable.
                if v == tree.parent[u as usize] && parent_links == 0 {
                    parent_links = 1;
                } else if tree.depth[v as usize] != NONE {
                    let [a, b] = [u.min(v), u.max(v)].map(|n| tree.names[n as usize].clone());
                    let is_parallel = near[u as usize].iter().filter(|n| n.0 == v).count() > 1;
                    return Err(match is_parallel {
                        true => TreeError::Parallel(a, b),
                        false => TreeError::Loop(b, a),
                    });
                } else {
                    tree.depth[v as usize] = tree.depth[u as usize] + 1;
                    tree.parent[v as usize] = u;
                    tree.rate[v as usize] = rate;
                    stack.push(v);
                }
            }
        }
        match tree.depth.iter().position(|&d| d == NONE) {
            Some(lost) => Err(TreeError::Apart(
                tree.names[root as usize].clone(),
                tree.names[lost].clone(),
            )),
            None => Ok(tree),
        }
    }

    /// Number of hosts; hosts are the nodes `0..hosts()`.
    pub fn hosts(&self) -> u32 {
        self.hosts
    }

    /// Number of nodes, hosts and switches.
    pub fn nodes(&self) -> u32 {
        self.names.len() as u32
    }

    /// Number of directed edge numbers: twice the nodes. The root's own two are unused.
    pub fn edges(&self) -> u32 {
        2 * self.nodes()
    }

    /// A node's name.
    pub fn name(&self, node: NodeNumber) -> &str {
        &self.names[node as usize]
    }

    /// The hosts' names in their order.
    pub fn host_names(&self) -> &[String] {
        &self.names[..self.hosts as usize]
    }

    /// The number of ranks that a host offers.
    pub fn ranks(&self, host: NodeNumber) -> u32 {
        self.ranks[host as usize]
    }

    /// The host with this name.
    pub fn host(&self, name: &str) -> Option<NodeNumber> {
        self.host_names()
            .iter()
            .position(|n| n == name)
            .map(|i| i as NodeNumber)
    }

    /// True if the node is a host.
    pub fn is_host(&self, node: NodeNumber) -> bool {
        node < self.hosts
    }

    /// The topmost node. It is used only for the numbering: it is neither the STP root bridge nor a
    /// schedule's root.
    pub fn root(&self) -> NodeNumber {
        self.root
    }

    /// The node above; `None` at the root.
    pub fn parent(&self, node: NodeNumber) -> Option<NodeNumber> {
        Some(self.parent[node as usize]).filter(|&p| p != NONE)
    }

    /// Steps to the root.
    pub fn depth(&self, node: NodeNumber) -> u32 {
        self.depth[node as usize]
    }

    /// Every node, parents before children.
    pub fn top_down(&self) -> &[NodeNumber] {
        &self.order
    }

    /// Rate of the cable between a node and its parent; zero at the root.
    pub fn rate(&self, node: NodeNumber) -> BitsPerSec {
        self.rate[node as usize]
    }

    /// Neighbours of every node with the rate between, parent first, then children in
    /// [`Tree::top_down`] order.
    pub fn neighbours(&self) -> Vec<Vec<(NodeNumber, BitsPerSec)>> {
        let mut near = vec![Vec::new(); self.names.len()];
        for &v in &self.order {
            if let Some(p) = self.parent(v) {
                near[v as usize].push((p, self.rate(v)));
                near[p as usize].push((v, self.rate(v)));
            }
        }
        near
    }

    /// The two ends of a directed edge, from and to; `None` for the root's unused numbers.
    pub fn ends(&self, edge: EdgeNumber) -> Option<(NodeNumber, NodeNumber)> {
        let v = edge / 2;
        let p = self.parent(v)?;
        Some(if edge.is_multiple_of(2) {
            (v, p)
        } else {
            (p, v)
        })
    }

    /// Hosts below each node, a host counting itself.
    pub fn hosts_below(&self) -> Vec<u32> {
        self.count_below(&(0..self.hosts).collect::<Vec<_>>())
    }

    /// The number of these hosts below each node, a host counting itself.
    fn count_below(&self, hosts: &[NodeNumber]) -> Vec<u32> {
        let mut below = vec![0; self.names.len()];
        for &h in hosts {
            below[h as usize] = 1;
        }
        for &v in self.order.iter().rev() {
            if let Some(p) = self.parent(v) {
                below[p as usize] += below[v as usize];
            }
        }
        below
    }

    /// Calls `visit` with every directed edge on the path from `a` to `b`, in no particular order.
    pub fn path(&self, a: NodeNumber, b: NodeNumber, mut visit: impl FnMut(EdgeNumber)) {
        let (mut x, mut y) = (a, b);
        while x != y {
            if self.depth[x as usize] >= self.depth[y as usize] {
                visit(2 * x);
                x = self.parent[x as usize];
            } else {
                visit(2 * y + 1);
                y = self.parent[y as usize];
            }
        }
    }

    /// The same tree with another node as its root.
    pub fn hang_from(&self, root: NodeNumber) -> Tree {
        let near = self.neighbours();
        match Tree::grow(self.names.clone(), self.ranks.clone(), &near, root) {
            Ok(tree) => Tree {
                hosts_of_ranks: self.hosts_of_ranks.clone(),
                ..tree
                    .with_queue(Some(self.queue))
                    .with_members(&self.members_named(|v| self.name(v)))
            },
            Err(_) => unreachable!("a tree stays a tree under another root"),
        }
    }

    /// The tree of these hosts only, in the given order. Switches without any of them below are
    /// dropped. Switches between just two others stay, because their cables still limit.
    ///
    /// # Errors
    /// [`TreeError::NoHost`], [`TreeError::Unknown`], [`TreeError::Twice`].
    pub fn restrict<S: AsRef<str>>(&self, hosts: &[S]) -> Result<Tree, TreeError> {
        let names = self.host_names().iter().map(String::as_str);
        let number: HashMap<&str, NodeNumber> = names.zip(0..).collect();
        let mut seen = vec![false; self.hosts as usize];
        let mut keep = Vec::with_capacity(hosts.len());
        for name in hosts {
            let name = name.as_ref();
            let h = *number
                .get(name)
                .ok_or_else(|| TreeError::Unknown(name.to_owned()))?;
            if std::mem::replace(&mut seen[h as usize], true) {
                return Err(TreeError::Twice(name.to_owned()));
            }
            keep.push(h);
        }
        if keep.is_empty() {
            return Err(TreeError::NoHost);
        }
        Ok(self.keep(&keep))
    }

    /// The lowest node that has so many hosts below. The nodes above it carry nothing.
    fn lowest_above(&self, hosts: u32, below: &[u32]) -> NodeNumber {
        let mut down = self.order.iter().copied();
        let lowest = down.rfind(|&v| below[v as usize] == hosts);
        lowest.unwrap_or(self.root)
    }

    /// [`Tree::restrict`] by number; `hosts` holds each host once.
    fn keep(&self, hosts: &[NodeNumber]) -> Tree {
        let total = hosts.len() as u32;
        let below = self.count_below(hosts);
        let top = self.lowest_above(total, &below);
        // Hosts are the first nodes of each tree, in the order in which they are asked for.
        let mut new = vec![NONE; self.names.len()];
        for (i, &h) in hosts.iter().enumerate() {
            new[h as usize] = i as u32;
        }
        let mut old: Vec<NodeNumber> = hosts.to_vec();
        let mut order = Vec::new();
        for &v in &self.order {
            // Above the lowest node with all of these hosts below, nothing passes.
            let above = self.depth[v as usize] < self.depth[top as usize]
                || (v != top && below[v as usize] == total && !self.is_host(v));
            if below[v as usize] == 0 || above {
                continue;
            }
            if !self.is_host(v) {
                new[v as usize] = old.len() as u32;
                old.push(v);
            }
            order.push(new[v as usize]);
        }
        let parent = old.iter().map(|&v| match v == top {
            true => NONE,
            false => new[self.parent[v as usize] as usize],
        });
        Tree {
            members: self.members.kept(&old, top),
            queue: self.queue,
            hosts_of_ranks: (0..)
                .zip(&old)
                .filter_map(|(node, &v)| self.holds_ranks(v).then_some(node))
                .collect(),
            names: old
                .iter()
                .map(|&v| self.names[v as usize].clone())
                .collect(),
            hosts: total,
            ranks: hosts.iter().map(|&h| self.ranks[h as usize]).collect(),
            rate: old
                .iter()
                .map(|&v| match v == top {
                    true => BitsPerSec::default(),
                    false => self.rate[v as usize],
                })
                .collect(),
            depth: old
                .iter()
                .map(|&v| self.depth[v as usize] - self.depth[top as usize])
                .collect(),
            parent: parent.collect(),
            order,
            root: new[top as usize],
        }
    }
}

/// The queue of a port of which nobody says more: many small switches have this, and heddle's lab.
const UNSTATED_QUEUE: Bytes = Bytes(128 << 10);

impl Tree {
    /// The octets that each port of its switches holds, at least.
    pub fn queue(&self) -> Bytes {
        self.queue
    }

    /// The same tree of switches whose ports hold so much at least, where that is known.
    #[must_use]
    pub fn with_queue(self, queue: Option<Bytes>) -> Tree {
        Tree {
            queue: queue.unwrap_or(UNSTATED_QUEUE),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cable<'a>(a: &'a str, b: &'a str) -> TreeCable<'a> {
        TreeCable {
            a,
            b,
            rate: BitsPerSec::GIGABIT,
        }
    }

    pub(super) fn sample() -> Tree {
        let cables = [
            cable("s0", "s1"),
            cable("s1", "s2"),
            cable("n0", "s0"),
            cable("n1", "s0"),
            cable("n2", "s1"),
            cable("n3", "s2"),
        ];
        Tree::new(
            &[("n0", 1), ("n1", 1), ("n2", 1), ("n3", 2)],
            &["s0", "s1", "s2"],
            &cables,
        )
        .unwrap()
    }

    #[test]
    fn path_visits_every_edge_once_in_its_direction() {
        let t = sample();
        let mut ends = Vec::new();
        t.path(0, 3, |e| {
            ends.push(
                t.ends(e)
                    .map(|(a, b)| format!("{}>{}", t.name(a), t.name(b)))
                    .unwrap(),
            )
        });
        ends.sort();
        assert_eq!(ends, ["n0>s0", "s0>s1", "s1>s2", "s2>n3"]);
        assert_eq!(t.hosts_below()[t.root() as usize], 4);
    }

    #[test]
    fn restriction_keeps_only_what_carries() {
        let t = sample().restrict(&["n3", "n2"]).unwrap();
        assert_eq!(t.host_names(), ["n3", "n2"]);
        assert_eq!((t.nodes(), t.name(t.root())), (4, "s1"));
        let one = sample().restrict(&["n1"]).unwrap();
        assert_eq!((one.hosts(), one.nodes(), one.root()), (1, 1, 0));
    }

    #[test]
    fn refuses_what_is_no_tree() {
        assert!(refusal(&[], &[]).contains("no host"));
        assert!(refusal(&[("n0", 1)], &[cable("n0", "s0")]).contains("two parts"));
        let double = [cable("n0", "s0"), cable("s0", "s1"), cable("s1", "s0")];
        let message = refusal(&[("n0", 1)], &double);
        assert!(
            message.starts_with("two links join s0 and s1,"),
            "{message}"
        );
        assert!(refusal(&[("n0", 1), ("n0", 1)], &[]).contains("twice"));
        assert!(
            sample()
                .restrict(&["n9"])
                .unwrap_err()
                .to_string()
                .contains("n9")
        );
    }

    fn refusal(hosts: &[(&str, u32)], cables: &[TreeCable<'_>]) -> String {
        Tree::new(hosts, &["s0", "s1"], cables)
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn hanging_from_another_node_keeps_paths() {
        let t = sample();
        for root in 0..t.nodes() {
            let u = t.hang_from(root);
            assert_eq!(edges(&t), edges(&u));
        }
    }

    fn edges(t: &Tree) -> Vec<(NodeNumber, NodeNumber)> {
        let mut v = Vec::new();
        t.path(1, 3, |e| v.push(t.ends(e).unwrap()));
        v.sort();
        v
    }
}
