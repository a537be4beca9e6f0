//! Evidence that two routers are next to each other.
use super::DevicePort;
use crate::Mac;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// The reason why a router is known to be next to another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NextRouterProof {
    /// The two have the addresses of this subnet, which has no room for others.
    Subnet(IpAddr, u8),
    /// It has routes with this next hop.
    NextHop(IpAddr),
    /// It has a BGP session with this peer.
    Peer(IpAddr),
    /// It has this address at this station.
    Station(IpAddr, Mac),
}

impl NextRouterProof {
    /// Its text for two ports.
    pub(super) fn between(&self, at: &DevicePort, to: &DevicePort) -> String {
        let (at, to) = (at.short(), to.short());
        match self {
            NextRouterProof::Subnet(network, length) => {
                format!(
                    "IP: {at} and {to} have the addresses of {network}/{length}, which has room for two"
                )
            }
            NextRouterProof::NextHop(address) => {
                format!("routes: {at} has the next hop {address}, of {to}")
            }
            NextRouterProof::Peer(address) => format!("BGP: {at} has the peer {address}, of {to}"),
            NextRouterProof::Station(address, mac) => {
                format!("ARP: {at} has {address} at {mac}, of {to}")
            }
        }
    }
}
