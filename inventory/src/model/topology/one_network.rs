//! One of several networks, taken out of the topology.
use super::{Link, LinkState, NodeKind, Topology};
use crate::messages::evidence::Evidence;
use crate::model::networks::{Network, UnknownNetwork};
use std::collections::HashSet;

impl Topology {
    /// The network of this name alone. The list of all networks stays.
    pub fn in_network(&self, name: &str) -> Result<Topology, UnknownNetwork> {
        match self.networks.iter().find(|network| network.name == name) {
            Some(chosen) => {
                let others = self.others(chosen);
                // Only what stays is copied.
                let nodes = self.nodes.iter().filter(|node| !others.has(&node.name));
                let links = self
                    .links
                    .iter()
                    .filter(|link| !others.has_end_of(link) && chosen.has_link(link));
                let part = Topology {
                    nodes: nodes.cloned().collect(),
                    links: links.cloned().collect(),
                    clusters: self.clusters.clone(),
                    alarms: self.alarms.clone(),
                    root_bridge: self.root_bridge.clone(),
                    further_root_bridges: self.further_root_bridges.clone(),
                    networks: self.networks.clone(),
                    network: None,
                    way_addresses: self.way_addresses.clone(),
                };
                Ok(part.without_rest_of(chosen, &others))
            }
            None => {
                let known = self.networks.iter().map(|other| other.name.clone());
                Err(UnknownNetwork::new(name, known.collect()))
            }
        }
    }

    /// The main network alone: that to which its hosts' links can bring most. The whole, if there is only
    /// one.
    #[must_use]
    pub fn main_network(mut self) -> Topology {
        match self.networks.first().cloned() {
            Some(main) => {
                let others = self.others(&main);
                self.nodes.retain(|node| !others.has(&node.name));
                self.links
                    .retain(|link| !others.has_end_of(link) && main.has_link(link));
                self.without_rest_of(&main, &others)
            }
            None => self,
        }
    }

    /// The facts about the network that this is; `None` if there is only one.
    pub fn own_network(&self) -> Option<&Network> {
        let mut networks = self.networks.iter();
        if let Some(name) = &self.network {
            return networks.find(|network| network.name == *name);
        }
        // There may be twenty hosts a switch, and a network is asked for often.
        networks.find(|network| {
            let mut inner = (self.nodes.iter()).filter(|node| node.kind != NodeKind::Host);
            inner.any(|node| network.switches.contains(&node.name))
        })
    }

    /// The nodes of other networks.
    fn others(&self, chosen: &Network) -> OtherNodes {
        let mut others: HashSet<String> = self.networks.iter().flat_map(members).collect();
        for own in members(chosen) {
            others.remove(&own);
        }
        OtherNodes(others)
    }

    /// Leaves the other nodes out of clusters and root bridges, and gives links their states in it.
    fn without_rest_of(mut self, chosen: &Network, others: &OtherNodes) -> Topology {
        self.network = Some(chosen.name.clone());
        if !chosen.vlans.is_empty() {
            for link in &mut self.links {
                link.state = chosen.state(link);
            }
        }
        for cluster in &mut self.clusters {
            cluster.hosts.retain(|host| !others.has(host));
        }
        self.clusters.retain(|cluster| !cluster.hosts.is_empty());
        let mut roots = self
            .root_bridge
            .take()
            .into_iter()
            .chain(std::mem::take(&mut self.further_root_bridges))
            .filter(|root| !others.has(root));
        self.root_bridge = roots.next();
        self.further_root_bridges = roots.collect();
        self
    }
}

fn members(network: &Network) -> Vec<String> {
    let members = network.switches.iter().chain(&network.hosts);
    members.cloned().collect()
}

/// The nodes of networks that are not chosen.
struct OtherNodes(HashSet<String>);

impl OtherNodes {
    fn has(&self, node: &str) -> bool {
        self.0.contains(node)
    }

    fn has_end_of(&self, link: &Link) -> bool {
        self.has(&link.a) || self.has(&link.b)
    }
}

impl Network {
    /// True if a link of its switches belongs to it, and not to another network on the same switches.
    pub fn has_link(&self, link: &Link) -> bool {
        let mut vlans = link.evidence.iter().filter_map(|evidence| match evidence {
            Evidence::InVlan(vlan) => Some(vlan),
            _ => None,
        });
        vlans.next().is_none_or(|vlan| self.vlans.contains(vlan))
    }

    /// The state of a link in it, where VLANs on the same cable have states of their own.
    fn state(&self, link: &Link) -> LinkState {
        let mut states = link.evidence.iter().filter_map(|evidence| match evidence {
            Evidence::StateInVlan(vlan, state) if self.vlans.contains(vlan) => Some(*state),
            _ => None,
        });
        states.next().unwrap_or(link.state)
    }
}
