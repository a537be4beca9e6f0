//! The cables that lie side by side in one edge of a tree, by the boxes that they join.
//!
//! An edge between two switches of one box each, with one cable, has none. A node of several boxes is a
//! stage ([`crate::model::stages`]): what enters one of its boxes leaves that box.
use super::{NodeNumber, Tree};
use crate::BitsPerSec;
use std::collections::HashMap;
use std::num::NonZeroU8;

/// The number of a box: a switch, or a host, as it stands in the rack.
pub type BoxNumber = u32;

/// One of the cables of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberCable {
    /// The box at the lower node.
    pub below: BoxNumber,
    /// The box at the upper node.
    pub above: BoxNumber,
    pub rate: BitsPerSec,
    /// It is an aggregate of so many cables, or a single one. Nobody tells the cables of one aggregate apart.
    pub parts: NonZeroU8,
}

impl MemberCable {
    /// The most that one flow gets.
    pub fn flow_rate(self) -> BitsPerSec {
        BitsPerSec(self.rate.0 / u64::from(self.parts.get()))
    }
}

/// A cable between two nodes by the names of its boxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedCable<'a> {
    /// The box at each node.
    pub ends: [&'a str; 2],
    pub rate: BitsPerSec,
    /// See [`MemberCable::parts`].
    pub parts: NonZeroU8,
}

/// Cables between two nodes by the names of their boxes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedMembers<'a> {
    pub nodes: [&'a str; 2],
    pub cables: Vec<NamedCable<'a>>,
}

/// The boxes and cables of a tree's edges.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct TreeMembers {
    boxes: Vec<String>,
    /// By node: the cables to its parent. Empty if no edge has several.
    cables: Vec<Vec<MemberCable>>,
}

impl TreeMembers {
    /// Those of a tree that has the nodes `old` of this one, the first `top` of them its root.
    pub(super) fn kept(&self, old: &[NodeNumber], top: NodeNumber) -> TreeMembers {
        if self.cables.is_empty() {
            return TreeMembers::default();
        }
        TreeMembers {
            boxes: self.boxes.clone(),
            cables: old
                .iter()
                .map(|&v| match self.cables.get(v as usize) {
                    Some(cables) if v != top => cables.clone(),
                    _ => Vec::new(),
                })
                .collect(),
        }
    }
}

impl Tree {
    /// The cables side by side between a node and its parent; none where there is one only, and only one
    /// box at each end.
    pub fn member_cables(&self, node: NodeNumber) -> &[MemberCable] {
        let cables = self.members.cables.get(node as usize);
        cables.map_or(&[], Vec::as_slice)
    }

    /// True if some edge has cables side by side.
    pub fn has_members(&self) -> bool {
        self.members.cables.iter().any(|cables| cables.len() > 1)
    }

    /// The name of a box.
    pub fn box_name(&self, number: BoxNumber) -> &str {
        &self.members.boxes[number as usize]
    }

    /// The same tree with these cables on its edges. Those between other nodes are left out.
    #[must_use]
    pub fn with_members(mut self, edges: &[NamedMembers<'_>]) -> Tree {
        self.members = TreeMembers::default();
        if edges.is_empty() {
            return self;
        }
        let node: HashMap<&str, NodeNumber> =
            (self.names.iter().map(String::as_str)).zip(0..).collect();
        let (mut boxes, mut number) = (Vec::new(), HashMap::new());
        let mut cables = vec![Vec::new(); self.names.len()];
        for edge in edges {
            let [Some(&a), Some(&b)] = edge.nodes.map(|name| node.get(name)) else {
                continue;
            };
            let is_up = self.parent[a as usize] == b;
            if !is_up && self.parent[b as usize] != a {
                continue;
            }
            for cable in &edge.cables {
                let [at_a, at_b] = cable.ends.map(|name| {
                    *number.entry(name).or_insert_with(|| {
                        boxes.push(name.to_owned());
                        boxes.len() as BoxNumber - 1
                    })
                });
                let (below, above) = if is_up { (at_a, at_b) } else { (at_b, at_a) };
                cables[if is_up { a } else { b } as usize].push(MemberCable {
                    below,
                    above,
                    rate: cable.rate,
                    parts: cable.parts,
                });
            }
        }
        self.members = TreeMembers { boxes, cables };
        self
    }

    /// The same tree where a hash chooses among cables: those of each edge are one aggregate.
    #[must_use]
    pub fn by_hash(mut self) -> Tree {
        for cables in &mut self.members.cables {
            let rate = cables.iter().map(|cable| cable.rate.0).sum();
            let each = cables.iter().map(|cable| u32::from(cable.parts.get()));
            let parts = u8::try_from(each.sum::<u32>()).unwrap_or(u8::MAX);
            cables.truncate(1);
            if let Some(all) = cables.first_mut() {
                all.rate = BitsPerSec(rate);
                all.parts = NonZeroU8::new(parts).unwrap_or(all.parts);
            }
        }
        self
    }

    /// All cables that lie side by side, by names that nodes have or get.
    pub fn members_named<'n>(
        &'n self,
        name: impl Fn(NodeNumber) -> &'n str,
    ) -> Vec<NamedMembers<'n>> {
        let with_any = (0..self.nodes()).filter(|&v| !self.member_cables(v).is_empty());
        with_any
            .filter_map(|v| {
                Some(NamedMembers {
                    nodes: [name(v), name(self.parent(v)?)],
                    cables: self
                        .member_cables(v)
                        .iter()
                        .map(|m| NamedCable {
                            ends: [m.below, m.above].map(|at| self.box_name(at)),
                            rate: m.rate,
                            parts: m.parts,
                        })
                        .collect(),
                })
            })
            .collect()
    }
}
