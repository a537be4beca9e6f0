//! The networks of a cluster: each has switches of its own, and a host may have a card in several.
use crate::topology::Topology;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// One of several networks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Network {
    /// Its name: that of its root bridge, or of its first switch.
    pub name: String,
    /// Its switches, unmanaged bridges and routers.
    pub switches: Vec<String>,
    /// The hosts with a card in it.
    pub hosts: Vec<String>,
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
    pub fn in_network(self, name: &str) -> Result<Topology, UnknownNetwork> {
        match self.networks.iter().find(|network| network.name == name) {
            Some(chosen) => {
                let chosen = chosen.clone();
                Ok(self.without_others(&chosen))
            }
            None => {
                let known = self.networks.into_iter().map(|other| other.name);
                Err(UnknownNetwork::new(name, known.collect()))
            }
        }
    }

    /// The main network alone: that to which its hosts' links can bring most. The whole, if there is only
    /// one.
    #[must_use]
    pub fn main_network(self) -> Topology {
        match self.networks.first().cloned() {
            Some(main) => self.without_others(&main),
            None => self,
        }
    }

    /// True if this is the main network, or the whole.
    pub fn is_main(&self) -> bool {
        let main = self.networks.first();
        main.is_none_or(|main| {
            self.nodes
                .iter()
                .any(|node| main.switches.contains(&node.name))
        })
    }

    fn without_others(mut self, chosen: &Network) -> Topology {
        let members = |network: &Network| -> Vec<String> {
            let members = network.switches.iter().chain(&network.hosts);
            members.cloned().collect()
        };
        let mut gone: HashSet<String> = self.networks.iter().flat_map(members).collect();
        for own in members(chosen) {
            gone.remove(&own);
        }
        self.nodes.retain(|node| !gone.contains(&node.name));
        self.links
            .retain(|link| !gone.contains(&link.a) && !gone.contains(&link.b));
        for cluster in &mut self.clusters {
            cluster.hosts.retain(|host| !gone.contains(host));
        }
        self.clusters.retain(|cluster| !cluster.hosts.is_empty());
        let roots = self.root_bridge.take().into_iter();
        let roots = roots.chain(std::mem::take(&mut self.further_root_bridges));
        let mut roots = roots.filter(|root| !gone.contains(root));
        self.root_bridge = roots.next();
        self.further_root_bridges = roots.collect();
        self
    }
}
