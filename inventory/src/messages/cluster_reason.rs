//! The reasons why hosts form one cluster and why others are not in it. The texts exist in
//! `Display` only.
use crate::BitsPerSec;
use crate::messages::evidence::STATED;
use crate::messages::wording::{milliseconds, routed_hops, short_list};
use crate::model::observation::BridgeId;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::net::IpAddr;

/// A fact that joins hosts to a cluster, or ends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClusterReason {
    /// The operator states it in the inventory.
    Stated,
    /// The operator states that these hosts are elsewhere.
    StatedElsewhere(Vec<String>),
    /// Its hosts are on one switch.
    OneSwitch(String),
    /// No router is between its switches.
    NoRouter(Vec<String>),
    /// Two switches name the same root bridge.
    OneRootBridge([String; 2], BridgeId),
    /// A probe met no routed hop.
    NoHop {
        /// The host that probed.
        from: String,
        /// The host that was probed.
        to: String,
    },
    /// A link that is slow compared with the hosts.
    SlowLink {
        link: ForestEdge,
        rate: BitsPerSec,
        /// The rate of the hosts.
        hosts: BitsPerSec,
    },
    /// Links that take long to cross, according to round trips.
    LongLinks {
        /// The long link is one of these.
        links: Vec<ForestEdge>,
        /// The least round-trip time across, rounded, in microseconds.
        least_us: u32,
        /// The largest other round-trip time, rounded, in microseconds.
        most_us: u32,
    },
    /// Routers at which the cluster ends.
    Routers(Vec<String>),
    /// A probe passed routers on the path to or from another cluster.
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
    More(usize),
    /// The text read from a file.
    ReadBack(String),
}

/// The link or path that joins two nodes in one spanning tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForestEdge {
    /// The link between them.
    Link(String, String),
    /// A path without a visible link.
    Way(String, String),
}

impl fmt::Display for ForestEdge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ForestEdge::Link(a, b) => write!(f, "{a}-{b}"),
            ForestEdge::Way(a, b) => write!(f, "the way from {a} to {b}"),
        }
    }
}

impl fmt::Display for ClusterReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |names: &[String]| short_list(names.iter().map(String::as_str));
        match self {
            ClusterReason::Stated => f.write_str(STATED),
            ClusterReason::StatedElsewhere(hosts) => {
                write!(f, "without {}: {STATED} to be elsewhere", names(hosts))
            }
            ClusterReason::OneSwitch(switch) => write!(f, "hosts on {switch}"),
            ClusterReason::NoRouter(switches) => write!(f, "no router between {}", names(switches)),
            ClusterReason::OneRootBridge([a, b], root) => {
                let BridgeId { priority, address } = root;
                write!(
                    f,
                    "{a} and {b} name one root bridge, {priority:04x}.{address}"
                )
            }
            ClusterReason::NoHop { from, to } => write!(f, "no routed hop from {from} to {to}"),
            ClusterReason::SlowLink { link, rate, hosts } => {
                write!(f, "{link} carries {rate}, hosts have {hosts}")
            }
            ClusterReason::Routers(routers) => {
                let verb = match routers.len() {
                    1 => "is a router",
                    _ => "are routers",
                };
                let names = names(routers);
                write!(
                    f,
                    "{names} {verb}: the network beyond it has another spanning tree"
                )
            }
            ClusterReason::More(more) => write!(f, "and {more} more such"),
            ClusterReason::ReadBack(text) => f.write_str(text),
            ClusterReason::LongLinks { .. } | ClusterReason::Routed { .. } => self.measured(f),
        }
    }
}

impl ClusterReason {
    /// Reasons that the probes of hosts give.
    fn measured(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClusterReason::LongLinks {
                links,
                least_us,
                most_us,
            } => {
                let links: Vec<String> = links.iter().map(ForestEdge::to_string).collect();
                let (least, most) = (milliseconds(*least_us), milliseconds(*most_us));
                write!(
                    f,
                    "{}: round trips across take {least} or more, others {most} at most",
                    links.join(" or ")
                )
            }
            ClusterReason::Routed {
                hops,
                own,
                other,
                cluster,
                inward,
            } => {
                let other = match cluster {
                    Some(cluster) => format!("{other} in {cluster}"),
                    None => other.clone(),
                };
                let (from, to) = if *inward {
                    (&other, own)
                } else {
                    (own, &other)
                };
                write!(f, "{} from {from} to {to}", routed_hops(hops))
            }
            _ => Ok(()),
        }
    }
}

impl Serialize for ClusterReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ClusterReason {
    /// Reads a text from a file. Only texts that decisions depend on become facts again.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ClusterReason, D::Error> {
        let text = String::deserialize(deserializer)?;
        Ok(if text == STATED {
            ClusterReason::Stated
        } else {
            ClusterReason::ReadBack(text)
        })
    }
}
