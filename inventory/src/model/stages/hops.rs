//! The hops that answer along the ways of a routed stage: a packet that has travelled too far is answered by the
//! router at which it arrived, with the address of the port there (traceroute).
use crate::config::topology_file::TopologyFile;
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
    /// The hops that answer along the ways, by the names of the topology file.
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
        let ways = plain.links.iter();
        let ways = ways.filter(|link| link.state == LinkState::Multipath);
        hops(ways.map(|link| {
            let ends = [(&link.a, &link.a_port), (&link.b, &link.b_port)];
            ends.map(|(end, port)| {
                let there = addresses.get(&(end.as_str(), port.as_str()));
                (end.as_str(), there.map_or(&[][..], Vec::as_slice))
            })
        }))
    }
}

impl Topology {
    /// By router and port: the first of the addresses that answer there.
    pub(crate) fn first_answers(&self) -> HashMap<(&str, &str), IpAddr> {
        let mut answers: HashMap<(&str, &str), IpAddr> = HashMap::new();
        for way in &self.way_addresses {
            let there = answers.entry((&way.node, &way.port));
            let least = there.or_insert(way.address);
            *least = way.address.min(*least);
        }
        answers
    }
}

impl TopologyFile {
    /// The hops that answer along the ways, where the file states it.
    pub fn hops(&self) -> Vec<WayHop> {
        let ways = self.links.iter();
        let ways = ways.filter(|link| link.state == Some(LinkState::Multipath));
        hops(ways.map(|link| {
            let [a, b] = &link.addresses;
            [(link.a.as_str(), a.as_slice()), (&link.b, b.as_slice())]
        }))
    }
}

/// The hops of ways, of which each end has a name and addresses.
fn hops<'a>(ways: impl Iterator<Item = [(&'a str, &'a [IpAddr]); 2]>) -> Vec<WayHop> {
    let mut places: HashMap<[&str; 2], u32> = HashMap::new();
    let mut hops = Vec::new();
    for [a, b] in ways {
        let next = places.entry([a.0.min(b.0), a.0.max(b.0)]).or_default();
        let cable = std::mem::replace(next, *next + 1);
        for ((from, _), (at, addresses)) in [(a, b), (b, a)] {
            hops.extend(addresses.iter().map(|&address| WayHop {
                from: from.to_owned(),
                at: at.to_owned(),
                cable,
                address,
            }));
        }
    }
    hops
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::model::topology::{Link, Node, NodeKind, WayAddress};

    #[test]
    fn each_cable_between_two_routers_has_answers_of_its_own() {
        let nodes = [("leaf 1", NodeKind::Switch), ("spine1", NodeKind::Router)];
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
        let expected = [
            "leaf-1 spine1 0 10.0.0.1",
            "leaf-1 spine1 1 10.0.0.2",
            "spine1 leaf-1 1 10.0.0.4",
        ];
        assert_eq!(shown, expected);
        let file = topology.to_file().to_yaml();
        let read = TopologyFile::parse("t", &file).unwrap();
        assert_eq!(read.hops(), topology.hops());
    }

    fn link(a_port: &str, b_port: &str, state: LinkState) -> Link {
        Link {
            state,
            ..Link::new("leaf 1", a_port, "spine1", b_port)
        }
    }

    fn address(node: &str, port: &str, last: u8) -> WayAddress {
        WayAddress {
            node: node.into(),
            port: port.into(),
            address: [10, 0, 0, last].into(),
        }
    }
}
