//! Pairs of nodes, and the ways between them.
use super::LabPlan;
use crate::error::{LabError, LabResult};
use inventory::BitsPerSec;
use petgraph::algo::astar;
use petgraph::graph::{NodeIndex, UnGraph};
use std::collections::HashMap;

impl LabPlan {
    /// The two nodes of `A-B`. Names may contain hyphens, so the lab's own names decide. `None` if
    /// there is no such pair.
    pub fn ends<'a>(&self, pair: &'a str) -> Option<(&'a str, &'a str)> {
        let mut splits = pair
            .match_indices('-')
            .map(|(at, _)| (&pair[..at], &pair[at + 1..]));
        splits.find(|(a, b)| self.node(a).is_ok() && self.node(b).is_ok())
    }

    /// The rate of the slowest cable on the shortest way between two nodes over the main network.
    /// Cables that are cut, or that STP is expected to block, are no part of a way.
    ///
    /// # Errors
    /// [`LabError::Refused`] for an unknown node, and if there is no way.
    pub fn slowest_between(&self, from: &str, to: &str) -> LabResult<BitsPerSec> {
        self.node(from)?;
        self.node(to)?;
        let mut network = UnGraph::<&str, BitsPerSec>::default();
        let nodes: HashMap<&str, NodeIndex> = self
            .nodes
            .iter()
            .map(|node| (node.name.as_str(), network.add_node(&node.name)))
            .collect();
        for cable in self
            .cables
            .iter()
            .filter(|c| !c.cut && !c.expect_blocked && self.is_main(c))
        {
            network.add_edge(
                nodes[&cable.a.node[..]],
                nodes[&cable.b.node[..]],
                cable.rate,
            );
        }
        let way = astar(
            &network,
            nodes[from],
            |node| node == nodes[to],
            |_| 1,
            |_| 0,
        )
        .map(|(_, nodes)| nodes)
        .unwrap_or_default();
        let rates = way
            .windows(2)
            .filter_map(|pair| network.find_edge(pair[0], pair[1]))
            .map(|cable| network[cable]);
        rates.min().ok_or_else(|| {
            LabError::Refused(format!(
                "no cables join {from} and {to} now; look with: heddle lab status"
            ))
        })
    }
}
