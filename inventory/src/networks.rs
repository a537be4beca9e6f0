//! The networks of a cluster: each has switches of its own, and a host may have a card in several.
use crate::topology::{Link, NodeKind, Topology};
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

fn those(known: &[String]) -> String {
    match known {
        [] => "is only one, which needs no name".to_owned(),
        several => format!("are {}", several.join(", ")),
    }
}

impl Topology {
    /// The network of this name alone; without a name the main one: that to which its hosts' links can
    /// bring most. The list of all networks stays.
    ///
    /// # Errors
    /// [`UnknownNetwork`]
    pub fn in_network(mut self, name: Option<&str>) -> Result<Topology, UnknownNetwork> {
        let named = |network: &&Network| name.is_none_or(|name| network.name == name);
        let Some(chosen) = self.networks.iter().find(named).cloned() else {
            return match name {
                None => Ok(self),
                Some(name) => Err(UnknownNetwork {
                    name: name.to_owned(),
                    known: self.networks.into_iter().map(|other| other.name).collect(),
                }),
            };
        };
        let own: HashSet<&str> = chosen.switches.iter().map(String::as_str).collect();
        let others = self.networks.iter().filter(|other| **other != chosen);
        let (mut gone, mut elsewhere) = (HashSet::new(), HashSet::new());
        for other in others {
            gone.extend(
                other
                    .switches
                    .iter()
                    .filter(|switch| !own.contains(switch.as_str()))
                    .cloned(),
            );
            elsewhere.extend(
                other
                    .hosts
                    .iter()
                    .filter(|host| !chosen.hosts.contains(host))
                    .cloned(),
            );
        }
        let is_in = |name: &String| !gone.contains(name) && !elsewhere.contains(name);
        self.nodes.retain(|node| is_in(&node.name));
        self.links
            .retain(|link: &Link| is_in(&link.a) && is_in(&link.b));
        for cluster in &mut self.clusters {
            cluster.hosts.retain(|host| is_in(host));
        }
        self.clusters.retain(|cluster| !cluster.hosts.is_empty());
        let roots = self.root_bridge.take().into_iter();
        let roots = roots.chain(std::mem::take(&mut self.further_root_bridges));
        let mut roots = roots.filter(is_in);
        self.root_bridge = roots.next();
        self.further_root_bridges = roots.collect();
        Ok(self)
    }

    /// True if the host has a card in another network than the main one only.
    pub fn is_elsewhere(&self, host: &str) -> bool {
        let has = |network: &Network| network.hosts.iter().any(|own| own == host);
        self.kind(host) == Some(NodeKind::Host)
            && self.networks.first().is_some_and(|main| !has(main))
            && self.networks.iter().any(has)
    }
}
