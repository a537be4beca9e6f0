//! A network as people look at it: each stage is one node, and the ways between two nodes are one link.
use crate::BitsPerSec;
use crate::config::name_ranges::fold;
use crate::model::topology::{Link, LinkState, Node, Topology};
use std::collections::{BTreeSet, HashMap};

/// The network, and what it folds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoldedNetwork {
    /// The network with stages as nodes. Links within a stage are left out.
    pub topology: Topology,
    /// By link of it: the links that are its ways, several where flows spread.
    pub ways: Vec<Vec<FoldedWay>>,
    /// The name of its stage for each switch that is in one.
    pub stages: HashMap<String, String>,
}

/// A link of the network, as one of those that are one link of the folded one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoldedWay {
    /// Its number.
    pub link: usize,
    /// True if its ends are the other way around.
    pub is_reversed: bool,
}

fn is_way(link: &Link) -> bool {
    link.state == LinkState::Multipath
}

impl Topology {
    /// The network with each stage as one node; `None` where flows spread over nothing.
    pub fn folded(&self) -> Option<FoldedNetwork> {
        if !self.links.iter().any(is_way) {
            return None;
        }
        let stages = self.stages();
        let node = |name: &str| stages.get(name).map_or(name, String::as_str).to_owned();
        let ways = self.folded_ways(&node);
        let links: Vec<Link> = ways.iter().map(|own| self.one_link(own, &node)).collect();
        let nodes = self.folded_nodes(&node);
        let topology = Topology {
            nodes,
            links,
            clusters: self.clusters.clone(),
            alarms: self.alarms.clone(),
            root_bridge: self.root_bridge.as_deref().map(node),
            further_root_bridges: self.further_root_bridges.iter().map(|r| node(r)).collect(),
            networks: self.networks.clone(),
            network: self.network.clone(),
            way_addresses: Vec::new(),
        };
        let stages = stages.into_iter();
        Some(FoldedNetwork {
            topology,
            ways,
            stages: stages
                .map(|(name, stage)| (name.to_owned(), stage))
                .collect(),
        })
    }

    /// By link of the folded network: its ways.
    fn folded_ways(&self, node: &impl Fn(&str) -> String) -> Vec<Vec<FoldedWay>> {
        let mut ways: Vec<Vec<FoldedWay>> = Vec::new();
        let mut of_ends: HashMap<[String; 2], (usize, bool)> = HashMap::new();
        for (number, link) in self.links.iter().enumerate() {
            let (a, b) = (node(&link.a), node(&link.b));
            let is_reversed = a > b;
            let ends = if is_reversed { [b, a] } else { [a, b] };
            if ends[0] == ends[1] {
                continue;
            }
            let way = |is_reversed| FoldedWay {
                link: number,
                is_reversed,
            };
            match of_ends.get(&ends).filter(|_| is_way(link)) {
                Some(&(at, first)) => ways[at].push(way(is_reversed != first)),
                None => {
                    if is_way(link) {
                        of_ends.insert(ends, (ways.len(), is_reversed));
                    }
                    ways.push(vec![way(false)]);
                }
            }
        }
        ways
    }

    fn folded_nodes(&self, node: &impl Fn(&str) -> String) -> Vec<Node> {
        let mut nodes: Vec<Node> = Vec::new();
        let mut place: HashMap<String, usize> = HashMap::new();
        for own in &self.nodes {
            let name = node(&own.name);
            let at = *place.entry(name.clone()).or_insert(nodes.len());
            match nodes.get_mut(at) {
                Some(stage) => stage.stale |= own.stale,
                None => nodes.push(Node {
                    name,
                    ..own.clone()
                }),
            }
        }
        nodes
    }

    /// One link for some between the same two nodes.
    fn one_link(&self, own: &[FoldedWay], node: &impl Fn(&str) -> String) -> Link {
        let first = &self.links[own[0].link];
        let (a, b) = (node(&first.a), node(&first.b));
        let ways = own.iter().map(|way| &self.links[way.link]);
        let ports = |at: &str| {
            let own = ways.clone().map(|link| match node(&link.a) == at {
                true => link.a_port.clone(),
                false => link.b_port.clone(),
            });
            let own: BTreeSet<String> = own.collect();
            fold(own.into_iter().collect())
        };
        if own.len() == 1 {
            return Link {
                a,
                b,
                ..first.clone()
            };
        }
        Link {
            a_port: ports(&a),
            b_port: ports(&b),
            rate_bps: BitsPerSec(ways.clone().map(|link| link.rate_bps.0).sum()),
            grade: ways
                .clone()
                .map(|link| link.grade)
                .max()
                .unwrap_or(first.grade),
            a,
            b,
            ..first.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::NodeKind;

    #[test]
    fn spines_are_one_node_with_one_link_to_each_leaf() {
        let way = LinkState::Multipath;
        let plain = LinkState::Forwarding;
        let mut network = Topology {
            links: vec![
                link("l1", "p1", "s1", "q1", way),
                link("l1", "p2", "s2", "q1", way),
                link("l2", "p1", "s1", "q2", way),
                link("l2", "p2", "s2", "q2", way),
                link("s1", "q9", "s2", "q9", plain),
                link("l1", "p3", "n0", "", plain),
                link("l2", "p3", "n1", "", plain),
            ],
            ..Topology::default()
        };
        for (name, kind) in [
            ("l1", NodeKind::Switch),
            ("l2", NodeKind::Switch),
            ("s1", NodeKind::Router),
            ("s2", NodeKind::Router),
            ("n0", NodeKind::Host),
            ("n1", NodeKind::Host),
        ] {
            network.nodes.push(Node::new(name, kind));
        }
        network.nodes[3].stale = true;
        let folded = network.folded().unwrap();
        let ways: Vec<Vec<usize>> = folded
            .ways
            .iter()
            .map(|ways| ways.iter().map(|way| way.link).collect())
            .collect();
        assert_eq!(ways, [vec![0, 1], vec![2, 3], vec![5], vec![6]]);
        let nodes: Vec<(&str, bool)> = (folded.topology.nodes.iter())
            .map(|node| (node.name.as_str(), node.stale))
            .collect();
        assert_eq!(nodes[..3], [("l1", false), ("l2", false), ("s[1-2]", true)]);
        let trunk = &folded.topology.links[1];
        let ends = [&trunk.a, &trunk.a_port, &trunk.b, &trunk.b_port];
        assert_eq!(ends, ["l2", "p[1-2]", "s[1-2]", "q2"]);
        assert_eq!(trunk.rate_bps, BitsPerSec(2 * BitsPerSec::GIGABIT.0));
        for link in &mut network.links {
            link.state = plain;
        }
        assert_eq!(network.folded(), None);
    }

    fn link(a: &str, a_port: &str, b: &str, b_port: &str, state: LinkState) -> Link {
        Link {
            state,
            ..Link::new(a, a_port, b, b_port)
        }
    }
}
