//! The nodes that a drawing of a network goes down from.
use super::stages::choices::RouterGraph;
use super::topology::{Link, LinkState, NodeKind, Topology};
use std::collections::HashSet;

impl Topology {
    /// Every node but hosts, in the order in which a drawing begins with them: the middle of a routed
    /// fabric, whose leaves each are the root bridge of their own; root bridges; of a fabric that has
    /// none the middle; all others.
    pub fn roots(&self) -> Vec<&str> {
        let inner: Vec<&str> = (self.nodes.iter())
            .filter(|node| node.kind != NodeKind::Host)
            .map(|node| node.name.as_str())
            .collect();
        let bridges = self.root_bridge.iter().chain(&self.further_root_bridges);
        let of_routers = self.middle(|kind| kind == NodeKind::Router);
        let mut roots: Vec<&str> = of_routers.into_iter().collect();
        roots.extend(bridges.map(String::as_str));
        if roots.is_empty() {
            roots.extend(self.middle(|kind| kind != NodeKind::Host));
        }
        roots.extend(inner);
        let mut seen = HashSet::new();
        roots.retain(|name| seen.insert(*name));
        roots
    }

    /// Of the nodes of a kind over which a fabric's leaves are joined, the first that is fewest links
    /// away from the node furthest from it. Flows spread to them, or, where one is left, no link
    /// joins two bridges.
    fn middle(&self, of_kind: impl Fn(NodeKind) -> bool) -> Option<&str> {
        if !self.nodes.iter().any(|node| of_kind(node.kind)) {
            return None;
        }
        let kinds = self.kinds();
        let inner: Vec<(&Link, [&str; 2])> = (self.links.iter())
            .filter(|link| link.carries_frames())
            .map(|link| (link, [link.a.as_str(), link.b.as_str()]))
            .filter(|(_, ends)| {
                !ends
                    .iter()
                    .any(|end| kinds.get(end) == Some(&NodeKind::Host))
            })
            .collect();
        let spread: HashSet<&str> = (inner.iter())
            .filter(|(link, _)| link.state == LinkState::Multipath)
            .flat_map(|(_, ends)| *ends)
            .collect();
        let is_routed_only = (inner.iter()).all(|(_, ends)| {
            ends.iter()
                .any(|end| kinds.get(end) == Some(&NodeKind::Router))
        });
        let graph = RouterGraph::new(inner.iter().map(|(_, ends)| *ends).enumerate());
        (self.nodes.iter())
            .filter(|node| of_kind(node.kind))
            .map(|node| node.name.as_str())
            .filter(|name| {
                let is_last = is_routed_only && kinds[name] == NodeKind::Router;
                spread.contains(name) || is_last && graph.links_of(name).nth(1).is_some()
            })
            .min_by_key(|name| graph.distances(name).furthest())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Node;

    fn link(a: &str, b: &str, state: LinkState) -> Link {
        Link {
            state,
            ..Link::new(a, "p".to_owned(), b, "q".to_owned())
        }
    }

    fn network(nodes: &[(&str, NodeKind)], links: Vec<Link>) -> Topology {
        Topology {
            nodes: nodes
                .iter()
                .map(|(name, kind)| Node::new(*name, *kind))
                .collect(),
            links,
            root_bridge: Some("l1".into()),
            further_root_bridges: vec!["l2".into()],
            ..Topology::default()
        }
    }

    const LEAVES: [(&str, NodeKind); 2] = [("l1", NodeKind::Switch), ("l2", NodeKind::Switch)];

    #[test]
    fn a_fabric_begins_at_its_spines_also_where_one_is_left() {
        let spines = [("t1", NodeKind::Router), ("t2", NodeKind::Router)];
        let nodes = [&LEAVES[..], &spines].concat();
        let ways = [("l1", "t1"), ("l1", "t2"), ("l2", "t1"), ("l2", "t2")]
            .map(|(leaf, spine)| link(leaf, spine, LinkState::Multipath));
        assert_eq!(
            network(&nodes, ways.to_vec()).roots(),
            ["t1", "l1", "l2", "t2"]
        );
        let of_one = ["l1", "l2"].map(|leaf| link(leaf, "t1", LinkState::Forwarding));
        let drained = network(&nodes, of_one.to_vec());
        assert_eq!(drained.roots(), ["t1", "l1", "l2", "t2"]);
    }

    #[test]
    fn a_router_beside_a_bridged_tree_is_not_above_it() {
        let nodes = [
            &LEAVES[..],
            &[("t1", NodeKind::Router), ("l3", NodeKind::Switch)],
        ]
        .concat();
        let links = [("l1", "l3"), ("l1", "t1"), ("l2", "t1")]
            .map(|(a, b)| link(a, b, LinkState::Forwarding));
        assert_eq!(
            network(&nodes, links.to_vec()).roots(),
            ["l1", "l2", "t1", "l3"]
        );
    }
}
