//! What a host agent says: its network cards, what it heard on them, and how far other hosts are.
//!
//! A host speaks for itself only. It reports whole states, not changes: a report replaces the one before, and a lost one
//! costs nothing.
use crate::observation::{BridgeId, Capabilities, Id};
use crate::{BitsPerSec, Mac, Millis};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// One host's report.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostReport {
    /// The name it goes by: that of the inventory.
    pub host: String,
    /// How many ranks it offers: the processors it may use, unless its operator stated another number.
    pub slots: u32,
    /// Its Ethernet cards.
    pub nics: Vec<Nic>,
    /// What its cards heard and what has not aged out since.
    pub heard: Vec<Heard>,
    /// Ways to other hosts, as probed.
    pub paths: Vec<Path>,
}

/// One network card.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nic {
    /// The system's name for it.
    pub name: String,
    /// Its own address; of a member of a bond its permanent one.
    pub mac: Option<Mac>,
    /// Its network addresses with their prefix lengths.
    pub addresses: Vec<(IpAddr, u8)>,
    /// Its rate; `None` where the system does not know.
    pub rate: Option<BitsPerSec>,
    /// Whether it has a carrier.
    pub up: bool,
    /// The bond or bridge it is a member of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub master: Option<String>,
    /// Octets received since the system started.
    pub in_octets: u64,
    /// Octets sent.
    pub out_octets: u64,
}

/// A frame heard on a card that tells of the bridge at the other end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Heard {
    /// The card's name.
    pub nic: String,
    /// When it was heard last, by the host's clock.
    pub at: Millis,
    /// What it said.
    pub said: Said,
}

/// What a heard frame said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Said {
    /// LLDP (IEEE 802.1AB) or CDP: no bridge passes on the first, those that do not speak CDP pass on the second.
    Neighbour {
        /// Which of the two.
        protocol: Protocol,
        /// Chassis ID, or CDP's device ID.
        chassis: Id,
        /// Port ID.
        port: Id,
        /// Port description; empty where not sent.
        port_descr: String,
        /// System name; empty where not sent.
        name: String,
        /// Enabled capabilities, where sent.
        capabilities: Option<Capabilities>,
    },
    /// A configuration or RST BPDU (IEEE 802.1D-2004, 9.3): who is designated for this segment.
    Bpdu {
        /// The root bridge.
        root_bridge: BridgeId,
        /// Cost of the designated bridge's way to it.
        root_path_cost: u32,
        /// The designated bridge.
        bridge: BridgeId,
        /// Its port, the whole 16 bits.
        port: u16,
    },
}

/// Which neighbour protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// IEEE 802.1AB.
    Lldp,
    /// Cisco's.
    Cdp,
}

/// The way to another host, as probed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Path {
    /// The other host's name.
    pub to: String,
    /// The address probed.
    pub address: IpAddr,
    /// Routers on the way in order, `None` for one that does not answer. Empty: no routed hop between.
    pub hops: Vec<Option<IpAddr>>,
    /// Whether the host itself answered; where not, `hops` is as far as the probes came.
    pub reached: bool,
    /// Round-trip times, where any probe was answered.
    pub round_trip: Option<RoundTrip>,
}

/// Round-trip times in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoundTrip {
    /// The shortest: what the cables cost, without queues.
    pub min_us: u32,
    /// The median.
    pub median_us: u32,
    /// How many probes were answered.
    pub samples: u32,
}

/// What the controller wants of an agent, in answer to a report.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Directions {
    /// Hosts to probe the way to.
    pub peers: Vec<Peer>,
    /// Milliseconds between two reports.
    pub every_ms: u64,
}

/// A host to probe.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    /// Its name.
    pub host: String,
    /// Where it answers.
    pub address: IpAddr,
}
