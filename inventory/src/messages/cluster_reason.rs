//! The reasons why hosts form one cluster and why others are not in it, with their words at the variant.
//!
//! They are written as evidence is: the texts in `reasons`, codes and arguments in `facts`.
use crate::BitsPerSec;
use crate::messages::evidence::{STATED, joined};
use crate::messages::wording::{listed, milliseconds, routed_hops};
use crate::messages::written::WrittenFact;
use crate::model::observation::BridgeId;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use thiserror::Error;

/// A fact that joins hosts to a cluster, or ends it.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(tag = "code", content = "arguments", rename_all = "kebab-case")]
pub enum ClusterReason {
    /// The operator states it in the inventory.
    #[error("{STATED}")]
    Stated,
    /// The operator states that these hosts are elsewhere.
    #[error("without {}: {STATED} to be elsewhere", listed(.0))]
    StatedElsewhere(Vec<String>),
    /// Its hosts are on one switch.
    #[error("hosts on {0}")]
    OneSwitch(String),
    /// No router is between its switches.
    #[error("no router between {}", listed(.0))]
    NoRouter(Vec<String>),
    /// Two switches name the same root bridge.
    #[error("{} and {} name one root bridge, {:04x}.{}", .0[0], .0[1], .1.priority, .1.address)]
    OneRootBridge([String; 2], BridgeId),
    /// A probe met no routed hop.
    #[error("no routed hop from {from} to {to}")]
    NoHop {
        /// The host that probed.
        from: String,
        /// The host that was probed.
        to: String,
    },
    /// A link that is slow compared with the hosts.
    #[error("{link} carries {rate}, hosts have {hosts}")]
    SlowLink {
        link: ForestEdge,
        rate: BitsPerSec,
        /// The rate of the hosts.
        hosts: BitsPerSec,
    },
    /// Links that take long to cross, according to round trips.
    #[error(
        "{}: round trips across take {} or more, others {} at most",
        joined(.links, " or "), milliseconds(*.least_us), milliseconds(*.most_us)
    )]
    LongLinks {
        /// The long link is one of these.
        links: Vec<ForestEdge>,
        /// The least round-trip time across, rounded, in microseconds.
        least_us: u32,
        /// The largest other round-trip time, rounded, in microseconds.
        most_us: u32,
    },
    /// Routers at which the cluster ends.
    #[error(
        "{} {}: the network beyond it has another spanning tree",
        listed(.0), if .0.len() == 1 { "is a router" } else { "are routers" }
    )]
    Routers(Vec<String>),
    /// A probe passed routers on the path to or from another cluster.
    #[error("{} {}", routed_hops(.hops), direction(.own, .other, .cluster.as_deref(), *.inward))]
    Routed {
        /// The routers; `None` for one that does not answer.
        hops: Vec<Option<IpAddr>>,
        /// The host in this cluster.
        own: String,
        /// The host in the other cluster.
        other: String,
        /// The other cluster's name, if it has one.
        cluster: Option<String>,
        /// True if the other host probed.
        inward: bool,
    },
    /// The number of further reasons like the one before.
    #[error("and {0} more such")]
    More(usize),
    /// The text read from a file.
    #[error("{0}")]
    ReadBack(String),
}

/// The link or path that joins two nodes in one spanning tree.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ForestEdge {
    /// The link between them.
    #[error("{0}-{1}")]
    Link(String, String),
    /// A path without a visible link.
    #[error("the way from {0} to {1}")]
    Way(String, String),
}

fn direction(own: &str, other: &str, cluster: Option<&str>, inward: bool) -> String {
    let other = match cluster {
        Some(cluster) => &format!("{other} in {cluster}"),
        None => other,
    };
    match inward {
        true => format!("from {other} to {own}"),
        false => format!("from {own} to {other}"),
    }
}

impl WrittenFact for ClusterReason {
    const TEXTS: &'static str = "reasons";
    const MAY_BE_LEFT_OUT: bool = true;

    fn of_text(text: String) -> ClusterReason {
        ClusterReason::ReadBack(text)
    }
}
