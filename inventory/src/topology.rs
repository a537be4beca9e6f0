//! The network as inferred: nodes, links, each with the evidence for it.
use crate::{BitsPerSec, Mac};
use serde::{Deserialize, Serialize};

/// What is believed about the network. Serializes as `discover --format json` of the contract.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Topology {
    /// Switches first, then hosts, each by name.
    pub nodes: Vec<Node>,
    /// Ordered by (a, a_port, b, b_port).
    pub links: Vec<Link>,
    /// Hosts that share a tree.
    pub clusters: Vec<Cluster>,
    /// Contradictions, failures, things an operator should look at.
    pub alarms: Vec<Alarm>,
    /// The name of the STP root bridge, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_bridge: Option<String>,
}

/// A switch, host, or something between them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// The inventory's name, else sysName, else the chassis id.
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
    /// The MAC address that names it, where one is known.
    pub chassis: Option<Mac>,
    /// Whether it stopped answering; its links below are then as last seen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stale: bool,
}

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeKind {
    /// A managed switch.
    Switch,
    /// A host that runs ranks.
    Host,
    /// A router.
    Router,
    /// A bridge that speaks no management protocol.
    Unmanaged,
}

/// A cable, or an aggregate of cables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// One end; switches before hosts, then by name.
    pub a: String,
    /// Port name at `a`.
    pub a_port: String,
    /// The other end.
    pub b: String,
    /// Port name at `b`; empty where nothing says it.
    pub b_port: String,
    /// The cables of an aggregate; empty for a single cable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<Member>,
    /// The slower end's rate.
    pub rate_bps: BitsPerSec,
    /// Whether STP lets it carry frames.
    pub state: LinkState,
    /// How sure.
    pub grade: Grade,
    /// Why it is believed, one short line each.
    pub evidence: Vec<String>,
}

/// One cable of an aggregate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Port name at the link's `a`.
    pub a_port: String,
    /// Port name at the link's `b`.
    pub b_port: String,
}

/// Whether a link carries frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkState {
    /// Both ends forward.
    Forwarding,
    /// STP blocks one end.
    Blocked,
    /// No STP evidence, or between states.
    #[default]
    Unknown,
}

/// How sure a link is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// Stated by an end of the link itself.
    Certain,
    /// Follows from what others learned.
    Inferred,
    /// More than one reading fits the evidence.
    Ambiguous,
}

/// Hosts that share a spanning tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cluster {
    /// Its name.
    pub name: String,
    /// Its hosts, by name.
    pub hosts: Vec<String>,
}

/// Something an operator should look at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Alarm {
    /// What it is about: a node or `a-b`.
    pub about: String,
    /// Object, place, problem, consequence, hint.
    pub text: String,
}
