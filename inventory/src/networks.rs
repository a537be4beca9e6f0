//! The networks of a cluster: each has switches of its own, and a host may have a card in several.
use crate::evidence::Evidence;
use crate::topology::{Link, LinkState, NodeKind, Topology};
use crate::topology_file::is_network_name;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};
use std::net::IpAddr;

/// A network that an operator names by its addresses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a map like {prefix: 10.1.0.0/16}")]
pub struct StatedNetwork {
    /// The addresses of its hosts begin so.
    pub prefix: IpNet,
}

/// The network that cannot have its name or its prefix, and why.
pub(crate) fn contradiction<'n>(
    networks: impl Iterator<Item = (&'n String, Option<IpNet>)>,
) -> Option<(&'n str, String)> {
    let mut before: Vec<(&str, IpNet)> = Vec::new();
    for (name, prefix) in networks {
        if !is_network_name(name) {
            let problem = format!(
                "name {name:?}: expected 1 to 64 letters, digits, \"-\", \"_\" or \".\", and no \
                 \".\" first"
            );
            return Some((name, problem));
        }
        let Some(prefix) = prefix else { continue };
        let overlaps =
            |(_, other): &&(&str, IpNet)| other.contains(&prefix) || prefix.contains(other);
        if let Some((other, theirs)) = before.iter().find(overlaps) {
            let problem = format!(
                "prefix {prefix} overlaps {theirs} of network \"{other}\"; each network has its own"
            );
            return Some((name, problem));
        }
        before.push((name, prefix));
    }
    None
}

/// One of several networks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Network {
    /// Its name: the stated one, else that of its root bridge, or of its first switch.
    pub name: String,
    /// The stated prefix of its addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<IpNet>,
    /// Its switches, unmanaged bridges and routers.
    pub switches: Vec<String>,
    /// The hosts with a card in it.
    pub hosts: Vec<String>,
    /// The addresses of these cards by host, as agents and ARP tables have them, the best one first.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub addresses: BTreeMap<String, Vec<IpAddr>>,
    /// The VLANs of its hosts' ports, if it shares switches with another network.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vlans: Vec<u16>,
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

    /// The addresses of a host's card.
    pub fn addresses_of(&self, host: &str) -> &[IpAddr] {
        self.addresses.get(host).map_or(&[], Vec::as_slice)
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

/// A name that is not that of a network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no network \"{name}\"; there {}", those(.known))]
pub struct UnknownNetwork {
    name: String,
    known: Vec<String>,
}

impl UnknownNetwork {
    /// A name that is none of these.
    pub(crate) fn new(name: &str, known: Vec<String>) -> UnknownNetwork {
        UnknownNetwork {
            name: name.to_owned(),
            known,
        }
    }
}

fn those(known: &[String]) -> String {
    match known {
        [] => "is only one, which needs no name".to_owned(),
        several => format!("are {}", several.join(", ")),
    }
}

impl Topology {
    /// The network of this name alone. The list of all networks stays.
    ///
    /// # Errors
    /// [`UnknownNetwork`]
    pub fn in_network(&self, name: &str) -> Result<Topology, UnknownNetwork> {
        match self.networks.iter().find(|network| network.name == name) {
            Some(chosen) => {
                let others = self.others(chosen);
                // Only what stays is copied.
                let nodes = self.nodes.iter().filter(|node| !others.has(&node.name));
                let own = |link: &&Link| !others.has_end_of(link) && chosen.has_link(link);
                let links = self.links.iter().filter(own);
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

    /// What is known of the network that this is; `None` if there is only one.
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
        let members = |network: &Network| -> Vec<String> {
            let members = network.switches.iter().chain(&network.hosts);
            members.cloned().collect()
        };
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
        let roots = self.root_bridge.take().into_iter();
        let roots = roots.chain(std::mem::take(&mut self.further_root_bridges));
        let mut roots = roots.filter(|root| !others.has(root));
        self.root_bridge = roots.next();
        self.further_root_bridges = roots.collect();
        self
    }
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
