//! Stages: switches or cables side by side, over which flows spread: the spines of a fabric, a pair of
//! switches that act as one, the cables of an aggregate.
//!
//! Source: own; the levels are those of a folded Clos network (Leiserson 1985, fat trees). Input: cables, of
//! which some are ways beside others. Guarantee: with each stage as one node, and with the sum of the rates
//! between two nodes, fabrics of leaves and spines, of pods, of paired switches and of rails are trees, and
//! what an edge carries is what its cables carry together; one flow gets a single way. A network without
//! ways stays as it is. Cost: one pass over the cables a level. Deviations: a spine that reaches some of the
//! leaves only, but several, counts with all that it has, and what is no fabric may stay without a tree.
//!
//! A way on no loop is an aggregate's cable and beside no other box. By the rest, a node's level is the
//! number of ways between it and where hosts are. Nodes of a level with a common neighbour on the level below
//! are one stage.
pub mod choices;
pub mod flows;
pub mod folded;
pub mod hops;

use crate::BitsPerSec;
use crate::config::name_ranges::fold;
use crate::model::tree::parallel_cables::{NamedCable, NamedMembers};
use crate::model::tree::{Tree, TreeCable, TreeError};
use petgraph::algo::bridges::bridges;
use petgraph::graph::UnGraph;
use petgraph::unionfind::UnionFind;
use petgraph::visit::EdgeRef;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::num::NonZeroU8;

/// The most stages that are found by loops instead of levels.
const MOST_LOOPS: usize = 64;

/// A cable, by the names of its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StageCable<'a> {
    /// One end.
    pub a: &'a str,
    /// The other.
    pub b: &'a str,
    pub rate: BitsPerSec,
    /// True if flows spread over it and others.
    pub is_way: bool,
    /// So many cables of an aggregate share the rate.
    pub parts: NonZeroU8,
}

/// Hosts, switches and cables, some of them ways beside each other.
#[derive(Debug, Clone, Default)]
pub struct StagedNetwork<'a> {
    /// Names and ranks.
    pub hosts: Vec<(&'a str, u32)>,
    /// Names of the inner nodes.
    pub switches: Vec<&'a str>,
    /// All cables that carry frames.
    pub cables: Vec<StageCable<'a>>,
    /// Boxes that act as one switch, by its name.
    pub pairs: Vec<(&'a str, Vec<&'a str>)>,
}

impl<'a> StagedNetwork<'a> {
    /// The tree in which each stage is one node. It has the pair's name, or those of its switches as
    /// `spine[1-4]`.
    ///
    /// # Errors
    /// See [`TreeError`]
    pub fn tree(&self) -> Result<Tree, TreeError> {
        if self.pairs.is_empty()
            && self
                .cables
                .iter()
                .all(|cable| !cable.is_way && cable.parts.get() == 1)
        {
            let cables: Vec<_> = self.cables.iter().map(StageCable::alone).collect();
            return Tree::new(&self.hosts, &self.switches, &cables);
        }
        let stages = self.stages();
        let node = |name: &'a str| stages.get(name).map_or(name, String::as_str);
        let mut switches: Vec<&str> = Vec::new();
        let mut met = HashSet::new();
        for name in self.switches.iter().map(|name| node(name)) {
            if met.insert(name) {
                switches.push(name);
            }
        }
        let mut cables: Vec<TreeCable<'_>> = Vec::new();
        let mut stage_edges: HashMap<[&str; 2], usize> = HashMap::new();
        let mut members: BTreeMap<usize, NamedMembers<'_>> = BTreeMap::new();
        for cable in &self.cables {
            let (a, b) = (node(cable.a), node(cable.b));
            let ends = if a < b { [a, b] } else { [b, a] };
            let is_at_pair = self.pairs.iter().any(|(pair, _)| ends.contains(pair));
            let is_way = cable.is_way || is_at_pair;
            let at = match stage_edges.get(&ends) {
                _ if a == b => continue,
                Some(&edge) if is_way => {
                    let sum = cables[edge].rate.0.saturating_add(cable.rate.0);
                    cables[edge].rate = BitsPerSec(sum);
                    edge
                }
                _ => {
                    if is_way {
                        stage_edges.insert(ends, cables.len());
                    }
                    let rate = cable.rate;
                    cables.push(TreeCable { a, b, rate });
                    cables.len() - 1
                }
            };
            if is_way || cable.parts.get() > 1 || a != cable.a || b != cable.b {
                let nodes = [cables[at].a, cables[at].b];
                let boxes = if nodes == [a, b] {
                    [cable.a, cable.b]
                } else {
                    [cable.b, cable.a]
                };
                let named = members.entry(at).or_insert_with(|| NamedMembers {
                    nodes,
                    cables: Vec::new(),
                });
                named.cables.push(cable.named(boxes));
            }
        }
        let members: Vec<NamedMembers<'_>> = members.into_values().collect();
        Ok(Tree::new(&self.hosts, &switches, &cables)?.with_members(&members))
    }

    /// The name of its stage for each switch that is in one with others.
    pub fn stages(&self) -> HashMap<&'a str, String> {
        let mut members: BTreeMap<usize, Vec<&'a str>> = BTreeMap::new();
        let mut levels = StageLevels::new(self);
        levels.set_apart_bridges();
        levels.join_pairs(self);
        levels.join_by_level();
        levels.join_loops();
        let first = self.hosts.len();
        for (number, name) in (first..).zip(&self.switches) {
            let stage = levels.stages.find(number);
            members.entry(stage).or_default().push(name);
        }
        let named = members.into_values().filter(|names| names.len() > 1);
        named
            .flat_map(|names| {
                let name = self.stage_name(&names);
                names.into_iter().map(move |member| (member, name.clone()))
            })
            .collect()
    }

    fn stage_name(&self, members: &[&str]) -> String {
        let is_all = |pair: &&(&str, Vec<&str>)| {
            pair.1.len() == members.len() && pair.1.iter().all(|name| members.contains(name))
        };
        match self.pairs.iter().find(is_all) {
            Some((name, _)) => (*name).to_owned(),
            None => fold(members.iter().map(|name| (*name).to_owned()).collect()),
        }
    }
}

impl<'a> StageCable<'a> {
    fn named(&self, ends: [&'a str; 2]) -> NamedCable<'a> {
        NamedCable {
            ends,
            rate: self.rate,
            parts: self.parts,
        }
    }

    fn alone(&self) -> TreeCable<'a> {
        TreeCable {
            a: self.a,
            b: self.b,
            rate: self.rate,
        }
    }
}

/// Which nodes are one stage, by number: hosts first.
struct StageLevels {
    stages: UnionFind<usize>,
    hosts: usize,
    /// Neighbours over ways.
    ways: Vec<BTreeSet<usize>>,
    /// Neighbours over other cables.
    alone: Vec<Vec<usize>>,
    numbers: usize,
}

impl StageLevels {
    fn new(network: &StagedNetwork<'_>) -> StageLevels {
        let hosts = network.hosts.iter().map(|(name, _)| *name);
        let names = hosts.chain(network.switches.iter().copied());
        let number: HashMap<&str, usize> = names.zip(0..).collect();
        let numbers = network.hosts.len() + network.switches.len();
        let mut ways = vec![BTreeSet::new(); numbers];
        let mut alone = vec![Vec::new(); numbers];
        for cable in &network.cables {
            let (Some(&a), Some(&b)) = (number.get(cable.a), number.get(cable.b)) else {
                continue;
            };
            if cable.is_way {
                ways[a].insert(b);
                ways[b].insert(a);
            } else {
                alone[a].push(b);
                alone[b].push(a);
            }
        }
        StageLevels {
            stages: UnionFind::new(numbers),
            hosts: network.hosts.len(),
            ways,
            alone,
            numbers,
        }
    }

    /// A way on no loop is beside nothing: cables of an aggregate, or a spine that reaches a single leaf.
    fn set_apart_bridges(&mut self) {
        let ways = self.ways.iter().zip(0..).flat_map(|(near, node)| {
            let after = near.range(node + 1..);
            after.map(move |&other| (node, other))
        });
        let lone = self.alone.iter().zip(0..);
        let alone = lone.flat_map(|(near, node)| near.iter().map(move |&other| (node, other)));
        let edges: BTreeSet<(usize, usize)> = ways
            .chain(alone.filter(|(node, other)| node < other))
            .collect();
        let cables: UnGraph<(), (), usize> = UnGraph::from_edges(edges);
        let found: Vec<_> = bridges(&cables)
            .map(|edge| [edge.source().index(), edge.target().index()])
            .collect();
        for [a, b] in found {
            if self.ways[a].remove(&b) {
                self.ways[b].remove(&a);
                self.alone[a].push(b);
                self.alone[b].push(a);
            }
        }
    }

    fn join_pairs(&mut self, network: &StagedNetwork<'_>) {
        let number: HashMap<&str, usize> =
            network.switches.iter().copied().zip(self.hosts..).collect();
        for (_, boxes) in &network.pairs {
            let mut boxes = boxes.iter().filter_map(|name| number.get(name));
            if let Some(first) = boxes.next() {
                for other in boxes {
                    self.stages.union(*first, *other);
                }
            }
        }
    }

    /// Where hosts are: hosts with several cards, and switches with ways and a cable to something without.
    fn is_edge(&self, node: usize) -> bool {
        !self.ways[node].is_empty()
            && (node < self.hosts
                || self.alone[node]
                    .iter()
                    .any(|other| self.ways[*other].is_empty()))
    }

    fn join_by_level(&mut self) {
        let mut level: Vec<usize> = (0..self.numbers).filter(|n| self.is_edge(*n)).collect();
        let mut met: BTreeSet<usize> = level.iter().copied().collect();
        while !level.is_empty() {
            let mut next = BTreeSet::new();
            let mut above: HashMap<usize, usize> = HashMap::new();
            for node in level {
                let stage = self.stages.find(node);
                for &other in self.ways[node].iter().filter(|other| !met.contains(other)) {
                    next.insert(other);
                    let first = *above.entry(stage).or_insert(other);
                    self.stages.union(first, other);
                }
            }
            met.extend(&next);
            level = next.into_iter().collect();
        }
    }

    /// Two nodes with two common neighbours over ways are a loop still: a spine with hosts of its own, say.
    /// Of those the two with the fewest hosts are one stage, until there is none.
    fn join_loops(&mut self) {
        for _ in 0..MOST_LOOPS {
            let Some((one, other)) = self.loop_of_ways() else {
                return;
            };
            self.stages.union(one, other);
        }
    }

    fn loop_of_ways(&self) -> Option<(usize, usize)> {
        let mut near: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        let mut own_hosts: HashMap<usize, usize> = HashMap::new();
        for (node, others) in self.ways.iter().enumerate() {
            let stage = self.stages.find(node);
            let others = others.iter().map(|other| self.stages.find(*other));
            let beside = near.entry(stage).or_default();
            beside.extend(others.filter(|other| *other != stage));
            let hosts = self.alone[node].iter().filter(|other| **other < self.hosts);
            *own_hosts.entry(stage).or_default() += hosts.count();
        }
        if is_forest(&near) {
            return None;
        }
        let mut common: HashMap<(usize, usize), usize> = HashMap::new();
        for beside in near.values() {
            let beside: Vec<usize> = beside.iter().copied().collect();
            for (at, &one) in beside.iter().enumerate() {
                let others = beside[at + 1..].iter().filter(|_| one >= self.hosts);
                for &other in others.filter(|other| **other >= self.hosts) {
                    *common.entry((one, other)).or_default() += 1;
                }
            }
        }
        // Without hosts nothing tells leaves from spines, of which there usually are fewer.
        let loops = common.into_iter().filter(|(_, shared)| *shared > 1);
        loops
            .min_by_key(|((one, other), shared)| {
                let hosts = own_hosts[one] + own_hosts[other];
                (hosts, Reverse(*shared), *one, *other)
            })
            .map(|(ends, _)| ends)
    }
}

/// True if the neighbours of these nodes close no loop.
fn is_forest(near: &BTreeMap<usize, BTreeSet<usize>>) -> bool {
    let numbers = near.keys().next_back().map_or(0, |last| last + 1);
    let mut parts: UnionFind<usize> = UnionFind::new(numbers);
    near.iter().all(|(&node, beside)| {
        let mut later = beside.range(node + 1..);
        later.all(|&other| parts.union(node, other))
    })
}

#[cfg(test)]
mod tests;
