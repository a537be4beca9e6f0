//! The network as inferred: nodes, links, each with the evidence for it.
mod one_network;

use crate::config::topology_file::{
    self, CardSpread, FurtherCard, TopologyCable, TopologyFile, TopologyHost, is_name, plain_name,
};
use crate::messages::alarm::Alarm;
use crate::messages::cluster_reason::ClusterReason;
use crate::messages::evidence::{Evidence, SideBySide};
use crate::model::natural_order::natural;
use crate::model::networks::Network;
use crate::model::stages::{StageCable, StagedNetwork};
use crate::model::tree::{Tree, TreeError};
use crate::{BitsPerSec, Mac};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::net::IpAddr;
use std::num::NonZeroU8;

pub use crate::model::link_state::LinkState;

/// The inferred network. Serializes as `discover --format json` of the contract.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Topology {
    /// Switches first, then hosts, each by name.
    pub nodes: Vec<Node>,
    /// Ordered by (a, a_port, b, b_port).
    pub links: Vec<Link>,
    /// Hosts that share a tree.
    pub clusters: Vec<Cluster>,
    /// Contradictions, failures, and other problems that an operator should look at.
    pub alarms: Vec<Alarm>,
    /// The name of the STP root bridge, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_bridge: Option<String>,
    /// The root bridges of the other spanning trees, if routers divide the network into several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further_root_bridges: Vec<String>,
    /// The networks, the main one first, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<Network>,
    /// The name of the one network that this is, if it was taken out of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// The addresses at the ends of links over which flows spread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub way_addresses: Vec<WayAddress>,
}

/// An address at an end of one of several ways.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WayAddress {
    /// The router.
    pub node: String,
    pub port: String,
    /// The address of that port.
    pub address: IpAddr,
}

/// A switch, a host, or a node between them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// The inventory's name, or else sysName, or else the chassis id.
    pub name: String,
    pub kind: NodeKind,
    /// The MAC address that names it, if one is known.
    pub chassis: Option<Mac>,
    /// True if it stopped answering. Its links below are then as last seen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stale: bool,
}

/// The kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeKind {
    /// A managed switch.
    Switch,
    /// A host that runs ranks.
    Host,
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
    /// Port name at `b`; empty if unknown.
    pub b_port: String,
    /// The cables of an aggregate; empty for a single cable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<AggregateMember>,
    /// The slower end's rate.
    pub rate_bps: BitsPerSec,
    /// The state that STP gives it.
    pub state: LinkState,
    pub grade: LinkGrade,
    /// The evidence for it.
    #[serde(flatten, with = "crate::messages::written")]
    pub evidence: Vec<Evidence>,
}

/// One cable of an aggregate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AggregateMember {
    /// Port name at the link's `a`.
    pub a_port: String,
    /// Port name at the link's `b`.
    pub b_port: String,
}

/// The certainty of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkGrade {
    /// Stated by an end of the link itself.
    Certain,
    /// Follows from the addresses that other devices learned.
    Inferred,
    /// The evidence allows more than one interpretation.
    Ambiguous,
}

/// Hosts that share a spanning tree without a router, a slow or a long link between them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cluster {
    pub name: String,
    /// Its hosts, by name.
    pub hosts: Vec<String>,
    /// The reasons why these hosts are together and no others are with them.
    #[serde(flatten, with = "crate::messages::written")]
    pub reasons: Vec<ClusterReason>,
}

impl Topology {
    /// The tree of forwarding links under the attached hosts, one rank each. Switches without a
    /// connection to a host are left out, and so are hosts without a place.
    ///
    /// # Errors
    /// [`TreeError::Ambiguous`] for a host with more than one place; [`TreeError::Loop`] and
    /// [`TreeError::Apart`] for links that are not a tree.
    pub fn tree(&self) -> Result<Tree, TreeError> {
        if let Some(link) = self
            .links
            .iter()
            .find(|l| l.grade == LinkGrade::Ambiguous && self.kind(&l.b) == Some(NodeKind::Host))
        {
            return Err(TreeError::Ambiguous(link.b.clone()));
        }
        let carrying: Vec<&Link> = self.links.iter().filter(|l| l.carries_frames()).collect();
        let attached: HashSet<&str> = carrying.iter().map(|l| l.b.as_str()).collect();
        let hosts: Vec<&str> = self
            .names(NodeKind::Host)
            .filter(|h| attached.contains(h))
            .collect();
        let numbers: HashMap<&str, usize> = self
            .nodes
            .iter()
            .enumerate()
            .map(|(i, n)| (n.name.as_str(), i))
            .collect();
        let mut neighbours = vec![Vec::new(); self.nodes.len()];
        for link in &carrying {
            if let (Some(&a), Some(&b)) =
                (numbers.get(link.a.as_str()), numbers.get(link.b.as_str()))
            {
                neighbours[a].push(b);
                neighbours[b].push(a);
            }
        }
        // A switch counts if a host can be reached from it.
        let mut inhabited = vec![false; self.nodes.len()];
        let mut reached: Vec<usize> = hosts.iter().map(|h| numbers[h]).collect();
        while let Some(node) = reached.pop() {
            if !std::mem::replace(&mut inhabited[node], true) {
                reached.extend(&neighbours[node]);
            }
        }
        let inner = self
            .nodes
            .iter()
            .filter(|n| n.kind != NodeKind::Host)
            .map(|n| n.name.as_str());
        let switches: Vec<&str> = inner.filter(|s| inhabited[numbers[s]]).collect();
        let known: HashSet<&str> = hosts.iter().chain(&switches).copied().collect();
        let cables = carrying
            .iter()
            .filter(|l| known.contains(l.a.as_str()) && known.contains(l.b.as_str()));
        let network = StagedNetwork {
            hosts: hosts.iter().map(|h| (*h, 1)).collect(),
            cables: cables.map(|link| link.cable()).collect(),
            switches,
            pairs: Vec::new(),
        };
        network.tree()
    }

    /// The name of its stage in the tree for each switch that is in one with others.
    pub fn stages(&self) -> HashMap<&str, String> {
        let (hosts, inner): (Vec<&Node>, Vec<&Node>) = self
            .nodes
            .iter()
            .partition(|node| node.kind == NodeKind::Host);
        let carrying = self.links.iter().filter(|link| link.carries_frames());
        let network = StagedNetwork {
            hosts: hosts.iter().map(|host| (host.name.as_str(), 1)).collect(),
            switches: inner.iter().map(|node| node.name.as_str()).collect(),
            cables: carrying.map(Link::cable).collect(),
            pairs: Vec::new(),
        };
        match self.links.iter().any(|l| l.state == LinkState::Multipath) {
            true => network.stages(),
            false => HashMap::new(),
        }
    }

    /// The unambiguous attachments of hosts: the switch, and the neighbour's name for the host's end of
    /// the cable.
    pub fn attachments(&self) -> HashMap<&str, (&str, &str)> {
        let kinds = self.kinds();
        let links = self.links.iter().filter(|l| {
            l.grade != LinkGrade::Ambiguous && kinds.get(l.b.as_str()) == Some(&NodeKind::Host)
        });
        links
            .map(|l| (l.b.as_str(), (l.a.as_str(), l.b_port.as_str())))
            .collect()
    }

    /// The network as a topology file: the root bridge first, hosts with one place and one rank
    /// each, and every link between switches and routers, with its state if it does not forward.
    /// Links without a certain place have the state `unknown`. A host with cables to several places
    /// is left out, because a file has one place for each. Names lose the characters that files do
    /// not allow.
    pub fn to_file(&self) -> TopologyFile {
        self.with_plain_names().as_file()
    }

    fn as_file(&self) -> TopologyFile {
        let bridges = self
            .nodes
            .iter()
            .filter(|n| matches!(n.kind, NodeKind::Switch | NodeKind::Unmanaged));
        let mut switches: Vec<String> = bridges.map(|n| n.name.clone()).collect();
        switches.sort_by_key(|s| {
            (
                Some(s) != self.root_bridge.as_ref(),
                !self.further_root_bridges.contains(s),
            )
        });
        let kinds = self.kinds();
        let (to_hosts, trunks): (Vec<&Link>, Vec<&Link>) = self
            .links
            .iter()
            .filter(|l| kinds.contains_key(l.b.as_str()))
            .partition(|l| kinds[l.b.as_str()] == NodeKind::Host);
        // A file does not list routers without links.
        let routers = self
            .names(NodeKind::Router)
            .filter(|name| trunks.iter().any(|l| l.a == *name || l.b == *name));
        let hosts = hosts_in_file(&to_hosts);
        let answers = self.first_answers();
        TopologyFile {
            switches,
            routers: routers.map(str::to_owned).collect(),
            links: trunks.iter().map(|link| link.in_file(&answers)).collect(),
            clusters: self.clusters_in_file(&hosts),
            hosts,
            ..TopologyFile::default()
        }
    }

    /// The clusters, if there are several or the operator states the only one.
    fn clusters_in_file(
        &self,
        hosts: &IndexMap<String, topology_file::TopologyHost>,
    ) -> IndexMap<String, Vec<String>> {
        match &self.clusters[..] {
            [] => IndexMap::new(),
            [one] if !one.reasons.contains(&ClusterReason::Stated) => IndexMap::new(),
            several => several
                .iter()
                .map(|c| {
                    let placed = c.hosts.iter().filter(|h| hosts.contains_key(*h));
                    (c.name.clone(), placed.cloned().collect())
                })
                .collect(),
        }
    }

    /// The same network with names that every file allows. Other characters become hyphens; of
    /// several names that are then equal, all but the first get a number.
    pub fn with_plain_names(&self) -> Cow<'_, Topology> {
        if self.nodes.iter().all(|node| is_name(&node.name)) {
            return Cow::Borrowed(self);
        }
        let mut taken: HashSet<String> = self
            .nodes
            .iter()
            .filter(|n| is_name(&n.name))
            .map(|n| n.name.clone())
            .collect();
        let mut names: HashMap<&str, String> = HashMap::new();
        for node in self.nodes.iter().filter(|n| !is_name(&n.name)) {
            let plain: String = plain_name(&node.name).chars().take(56).collect();
            let candidates =
                std::iter::once(plain.clone()).chain((2..).map(|n: u32| format!("{plain}-{n}")));
            if let Some(name) = candidates
                .into_iter()
                .find(|name| is_name(name) && !taken.contains(name))
            {
                taken.insert(name.clone());
                names.insert(&node.name, name);
            }
        }
        let mut plain = self.clone();
        let clusters = plain.clusters.iter_mut().flat_map(|c| &mut c.hosts);
        let links = plain.links.iter_mut().flat_map(|l| [&mut l.a, &mut l.b]);
        let networks = (plain.networks.iter_mut()).flat_map(|network| {
            let members = network.switches.iter_mut().chain(&mut network.hosts);
            members.chain(std::iter::once(&mut network.name))
        });
        let ways = plain.way_addresses.iter_mut().map(|way| &mut way.node);
        for name in plain
            .nodes
            .iter_mut()
            .map(|n| &mut n.name)
            .chain(clusters)
            .chain(links)
            .chain(networks)
            .chain(ways)
            .chain(&mut plain.root_bridge)
            .chain(&mut plain.further_root_bridges)
        {
            if let Some(new) = names.get(name.as_str()) {
                name.clone_from(new);
            }
        }
        Cow::Owned(plain)
    }

    /// True if this switch is the root of a spanning tree.
    pub fn is_root_bridge(&self, name: &str) -> bool {
        self.root_bridge
            .iter()
            .chain(&self.further_root_bridges)
            .any(|r| r == name)
    }

    /// The kind of a node; `None` for a name that the topology does not have.
    pub fn kind(&self, name: &str) -> Option<NodeKind> {
        self.nodes.iter().find(|n| n.name == name).map(|n| n.kind)
    }

    /// [`Topology::kind`] of every node, for callers that ask about many.
    pub fn kinds(&self) -> HashMap<&str, NodeKind> {
        self.nodes
            .iter()
            .map(|n| (n.name.as_str(), n.kind))
            .collect()
    }

    /// The names of all nodes of a kind, in order.
    pub fn names(&self, kind: NodeKind) -> impl Iterator<Item = &str> {
        self.nodes
            .iter()
            .filter(move |n| n.kind == kind)
            .map(|n| n.name.as_str())
    }
}

/// The hosts with one certain place whose link is not blocked, and those whose cards are beside each other.
fn hosts_in_file(links: &[&Link]) -> IndexMap<String, topology_file::TopologyHost> {
    // The first place of each, and whether it has others.
    let mut places: HashMap<&str, (&str, bool)> = HashMap::new();
    for link in links.iter().filter(|l| l.state != LinkState::Multipath) {
        let (first, has_others) = places.entry(&link.b).or_insert((&link.a, false));
        *has_others |= *first != link.a;
    }
    let mut hosts: IndexMap<String, topology_file::TopologyHost> = IndexMap::new();
    let usable = links
        .iter()
        .filter(|l| l.grade != LinkGrade::Ambiguous && l.state != LinkState::Blocked);
    for link in usable {
        let is_way = link.state == LinkState::Multipath;
        let is_only = match places.get(link.b.as_str()) {
            Some((_, has_others)) => !is_way && !has_others,
            None => is_way,
        };
        if !is_only {
            continue;
        }
        let (switch, rate) = (link.a.clone(), link.rate_bps);
        match hosts.get_mut(&link.b).filter(|_| is_way) {
            Some(host) => host.further_cards.push(FurtherCard::new(switch, rate)),
            None => {
                let host = TopologyHost {
                    spread: link.spread_of_cards(),
                    ..TopologyHost::new(switch, rate)
                };
                hosts.insert(link.b.clone(), host);
            }
        }
    }
    hosts.sort_by_cached_key(|name, _| natural(name));
    hosts
}

impl fmt::Display for LinkGrade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            LinkGrade::Certain => "certain",
            LinkGrade::Inferred => "inferred",
            LinkGrade::Ambiguous => "ambiguous",
        })
    }
}

impl Node {
    /// A node with a known name and kind, and no other facts.
    pub fn new(name: impl Into<String>, kind: NodeKind) -> Node {
        Node {
            name: name.into(),
            kind,
            chassis: None,
            stale: false,
        }
    }
}

impl Link {
    /// A cable between ports as most are: one gigabit per second, certain, forwarding; without its evidence.
    pub fn new(
        a: impl Into<String>,
        a_port: impl Into<String>,
        b: impl Into<String>,
        b_port: impl Into<String>,
    ) -> Link {
        Link {
            a: a.into(),
            a_port: a_port.into(),
            b: b.into(),
            b_port: b_port.into(),
            members: Vec::new(),
            rate_bps: BitsPerSec::GIGABIT,
            state: LinkState::Forwarding,
            grade: LinkGrade::Certain,
            evidence: Vec::new(),
        }
    }

    /// True if any evidence states the rate.
    pub fn rate_is_known(&self) -> bool {
        !self.evidence.iter().any(|e| matches!(e, Evidence::Rate(_)))
    }

    /// True if flows between hosts measured it, and no protocol states it.
    pub fn is_measured(&self) -> bool {
        self.evidence
            .iter()
            .any(|e| matches!(e, Evidence::Measured(_)))
    }

    /// True if frames certainly cross the link.
    pub fn carries_frames(&self) -> bool {
        let carries = matches!(self.state, LinkState::Forwarding | LinkState::Multipath);
        carries && self.grade != LinkGrade::Ambiguous
    }

    /// How flows choose it, if it is one of several cards of a host.
    fn spread_of_cards(&self) -> CardSpread {
        match self
            .evidence
            .iter()
            .any(|e| matches!(e, Evidence::SideBySide(SideBySide::Cards(_))))
        {
            true => CardSpread::Rails,
            false => CardSpread::Lacp,
        }
    }

    /// One, or those of an aggregate.
    fn cables(&self) -> NonZeroU8 {
        let cables = self.members.len().min(u8::MAX.into()) as u8;
        NonZeroU8::new(cables).unwrap_or(NonZeroU8::MIN)
    }

    fn in_file(&self, answers: &HashMap<(&str, &str), IpAddr>) -> TopologyCable {
        let state = match self.grade {
            LinkGrade::Ambiguous => LinkState::Unknown,
            _ => self.state,
        };
        TopologyCable {
            cables: self.cables(),
            state: Some(state).filter(|s| *s != LinkState::Forwarding),
            addresses: [(&self.a, &self.a_port), (&self.b, &self.b_port)]
                .map(|(end, port)| answers.get(&(end.as_str(), port.as_str())).copied()),
            ..TopologyCable::new(self.a.clone(), self.b.clone(), self.rate_bps)
        }
    }

    fn cable(&self) -> StageCable<'_> {
        StageCable {
            a: &self.a,
            b: &self.b,
            rate: self.rate_bps,
            is_way: self.state == LinkState::Multipath,
            parts: self.cables(),
        }
    }
}

#[cfg(test)]
mod tests;
