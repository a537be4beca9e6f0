//! The networks of a cluster: each has switches of its own, and a host may have a card in several.
use crate::model::node_names::is_network_name;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
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
        if let Some((other, theirs)) = before
            .iter()
            .find(|(_, other)| other.contains(&prefix) || prefix.contains(other))
        {
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
    /// The addresses of a host's card.
    pub fn addresses_of(&self, host: &str) -> &[IpAddr] {
        self.addresses.get(host).map_or(&[], Vec::as_slice)
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
