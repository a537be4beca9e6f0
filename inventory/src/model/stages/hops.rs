//! What answers along the ways of a routed stage: a packet that has travelled too far is answered by the
//! router at which it arrived, with the address of the port there (traceroute).
use crate::model::link_state::LinkState;
use crate::model::topology::Topology;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::net::IpAddr;

/// A cable of a stage in one direction, and what answers at its end.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WayHop {
    /// The box that it leaves.
    pub from: String,
    /// The box at which it arrives.
    pub at: String,
    /// Its place among the cables between these two, in the order of the topology file.
    pub cable: u32,
    /// The address there.
    pub address: IpAddr,
}

impl Topology {
    /// What answers along the ways, by the names of the topology file.
    pub fn hops(&self) -> Vec<WayHop> {
        if self.way_addresses.is_empty() {
            return Vec::new();
        }
        let plain = self.with_plain_names();
        let mut addresses: HashMap<(&str, &str), Vec<IpAddr>> = HashMap::new();
        for way in &plain.way_addresses {
            let at = (way.node.as_str(), way.port.as_str());
            addresses.entry(at).or_default().push(way.address);
        }
        let mut places: HashMap<[&str; 2], u32> = HashMap::new();
        let mut hops = Vec::new();
        let ways = plain.links.iter();
        for link in ways.filter(|link| link.state == LinkState::Multipath) {
            let (a, b) = (link.a.as_str(), link.b.as_str());
            let next = places.entry([a.min(b), a.max(b)]).or_default();
            let cable = std::mem::replace(next, *next + 1);
            for (from, at, port) in [(a, b, &link.b_port), (b, a, &link.a_port)] {
                let there = addresses.get(&(at, port.as_str()));
                hops.extend(there.into_iter().flatten().map(|&address| WayHop {
                    from: from.to_owned(),
                    at: at.to_owned(),
                    cable,
                    address,
                }));
            }
        }
        hops
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BitsPerSec;
    use crate::model::topology::{Link, LinkGrade, Node, NodeKind};

    #[test]
    fn each_cable_between_two_routers_has_answers_of_its_own() {
        let nodes = [("leaf 1", NodeKind::Switch), ("spine1", NodeKind::Router)];
        let link = |a_port: &str, b_port: &str, state| Link {
            a: "leaf 1".into(),
            a_port: a_port.into(),
            b: "spine1".into(),
            b_port: b_port.into(),
            members: vec![],
            rate_bps: BitsPerSec::GIGABIT,
            state,
            grade: LinkGrade::Certain,
            evidence: vec![],
        };
        let address = |node: &str, port: &str, last: u8| WayAddress {
            node: node.into(),
            port: port.into(),
            address: [10, 0, 0, last].into(),
        };
        let topology = Topology {
            nodes: nodes.map(|(name, kind)| Node::new(name, kind)).into(),
            links: vec![
                link("u1", "d1", LinkState::Multipath),
                link("u2", "d2", LinkState::Multipath),
                link("u3", "d3", LinkState::Blocked),
            ],
            way_addresses: vec![
                address("spine1", "d1", 1),
                address("spine1", "d2", 2),
                address("spine1", "d3", 3),
                address("leaf 1", "u2", 4),
            ],
            ..Topology::default()
        };
        let shown: Vec<String> = topology
            .hops()
            .iter()
            .map(|hop| format!("{} {} {} {}", hop.from, hop.at, hop.cable, hop.address))
            .collect();
        assert_eq!(
            shown,
            [
                "leaf-1 spine1 0 10.0.0.1",
                "leaf-1 spine1 1 10.0.0.2",
                "spine1 leaf-1 1 10.0.0.4"
            ]
        );
    }
}
