//! The links of a tree's edges, several of them side by side in a stage, and the path of each message
//! over them.
//!
//! A *path number* says which cable of each edge a message takes: the place of the first edge's cable,
//! and so many times the cables of that edge the place of the next one's. Without path numbers each edge
//! is one link, whatever lies side by side in it.
mod choice;
#[cfg(test)]
mod tests;
pub mod traced;

pub use choice::{choose, in_turn};

use crate::capacities::EdgeCapacities;
use crate::message::Message;
use inventory::tree::{EdgeNumber, Tree};

/// A directed link: twice the number of its cable, and one more on the way down.
pub type LinkNumber = u32;
/// The cables that a message takes.
pub type PathNumber = u32;

/// The links of a tree, and the paths of messages over them.
#[derive(Debug, Clone)]
pub struct MessagePaths<'a> {
    tree: &'a Tree,
    /// By message; empty if each edge is one link.
    paths: &'a [PathNumber],
    /// By node: the first cable to its parent, and the number of all cables at the end.
    first: Vec<u32>,
}

impl<'a> MessagePaths<'a> {
    /// The paths of messages in their order. Without any, each edge is one link.
    pub fn new(tree: &'a Tree, paths: &'a [PathNumber]) -> MessagePaths<'a> {
        let mut first = vec![0];
        first.extend((0..tree.nodes()).scan(0, |all, node| {
            *all += match paths {
                [] => 1,
                _ => tree.member_cables(node).len().max(1) as u32,
            };
            Some(*all)
        }));
        MessagePaths { tree, paths, first }
    }

    /// True if messages have paths of their own.
    pub fn are_chosen(&self) -> bool {
        !self.paths.is_empty()
    }

    /// The tree.
    pub fn tree(&self) -> &'a Tree {
        self.tree
    }

    /// True if the port at the link's beginning is a switch's.
    pub fn is_port(&self, link: LinkNumber) -> bool {
        let ends = self.tree.ends(self.edge(link).0);
        ends.is_some_and(|(from, _)| !self.tree.is_host(from))
    }

    /// The number of directed links.
    pub fn links(&self) -> usize {
        2 * self.first[self.tree.nodes() as usize] as usize
    }

    /// The edge that a link is part of, and its place in it.
    pub fn edge(&self, link: LinkNumber) -> (EdgeNumber, usize) {
        let node = self.first.partition_point(|&first| first <= link / 2) - 1;
        let place = link / 2 - self.first[node];
        (2 * node as EdgeNumber + link % 2, place as usize)
    }

    /// The messages that a link carries at once.
    pub fn width(&self, link: LinkNumber, capacities: &EdgeCapacities) -> u64 {
        let (edge, place) = self.edge(link);
        match self.tree.member_cables(edge / 2).get(place) {
            Some(cable) if !self.paths.is_empty() => capacities.cable_width(edge, *cable),
            _ => capacities.width(edge),
        }
    }

    /// Calls `visit` with every link on the path of the message of this number, in no particular order.
    pub fn visit(&self, number: u32, m: Message, mut visit: impl FnMut(LinkNumber)) {
        let mut rest = self.paths.get(number as usize).copied().unwrap_or(0);
        self.tree.path(m.src, m.dst, |edge| {
            let (node, way_down) = (edge as usize / 2, edge % 2);
            let (first, cables) = (self.first[node], self.first[node + 1] - self.first[node]);
            visit(2 * (first + rest % cables) + way_down);
            rest /= cables;
        });
    }

    /// True if the path leaves each box that it enters, and takes no cable that is not there.
    pub fn is_whole(&self, number: u32, m: Message) -> bool {
        let mut cables = EdgesOfPath::new(self.tree, m);
        let rest = cables.set(self.paths.get(number as usize).copied().unwrap_or(0));
        let edges = &cables.edges;
        rest == 0
            && edges
                .windows(2)
                .all(|pair| meets(self.tree, &pair[0], &pair[1]))
    }
}

/// An edge of a path, and the cable of it that is taken.
#[derive(Debug, Clone, Copy)]
struct PathEdge {
    edge: EdgeNumber,
    /// So much more is a path number for the next cable of this edge.
    unit: PathNumber,
    cables: u32,
    place: u32,
}

/// The edges from a message's sender to its receiver, in this order.
#[derive(Debug, Clone)]
struct EdgesOfPath {
    edges: Vec<PathEdge>,
}

impl EdgesOfPath {
    fn new(tree: &Tree, m: Message) -> EdgesOfPath {
        let (mut edges, mut down) = (Vec::new(), Vec::new());
        let mut unit: PathNumber = 1;
        tree.path(m.src, m.dst, |edge| {
            let cables = tree.member_cables(edge / 2).len().max(1) as u32;
            let there = PathEdge {
                edge,
                unit,
                cables,
                place: 0,
            };
            unit = unit.saturating_mul(cables);
            match edge.is_multiple_of(2) {
                true => edges.push(there),
                false => down.push(there),
            }
        });
        edges.extend(down.into_iter().rev());
        EdgesOfPath { edges }
    }

    /// Takes the cables of this path; gives what the number is too large by.
    fn set(&mut self, path: PathNumber) -> PathNumber {
        let last = self
            .edges
            .iter()
            .map(|edge| edge.unit.saturating_mul(edge.cables));
        let rest = last.max().map_or(0, |all| path / all.max(1));
        for edge in &mut self.edges {
            edge.place = path / edge.unit % edge.cables;
        }
        rest
    }

    /// None if so many ways have no number.
    fn number(&self) -> Option<PathNumber> {
        self.edges.iter().try_fold(0, |number: PathNumber, edge| {
            let has_number = edge.place == 0 || edge.unit < PathNumber::MAX;
            let part = edge.unit.checked_mul(edge.place).filter(|_| has_number)?;
            number.checked_add(part)
        })
    }
}

/// True if the second of two edges of a path goes on at the box at which the first one ends.
fn meets(tree: &Tree, one: &PathEdge, next: &PathEdge) -> bool {
    let boxes = [(one, true), (next, false)].map(|(at, is_over)| {
        let cables = tree.member_cables(at.edge / 2);
        let cable = cables.get(at.place as usize)?;
        let is_above = at.edge.is_multiple_of(2) == is_over;
        Some(if is_above { cable.above } else { cable.below })
    });
    match boxes {
        [Some(arrives), Some(leaves)] => arrives == leaves,
        _ => true,
    }
}
