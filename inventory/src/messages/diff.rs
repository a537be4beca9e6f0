//! The changes between two topologies, in words for operators. Evidence, alarms and order are not
//! compared: they vary while the network is the same.
use crate::messages::wording::{counted, short_list};
use crate::model::difference::TopologyDifference;
use crate::model::natural_order::{NaturalKey, natural};
use crate::model::topology::{Link, LinkGrade, LinkState, NodeKind, Topology};
use crate::{BitsPerSec, TopologyFile};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NetworkChange {
    /// A switch, router or bridge is new. Hosts are reported by their cables.
    Appeared(String),
    /// A switch, router or bridge is gone.
    Gone(String),
    /// A switch stopped answering.
    Stale(String),
    /// A switch answers again.
    Answers(String),
    /// A host without a place now has one.
    Attached(String, SwitchPort),
    /// A host lost its place.
    Lost(String, SwitchPort),
    /// A host changed its port.
    Moved {
        host: String,
        /// The former place.
        from: SwitchPort,
        /// The new place.
        to: SwitchPort,
    },
    /// More than one place fits a host.
    Ambiguous(String, Vec<SwitchPort>),
    /// A cable between switches is new.
    Linked(LinkEnds),
    /// A cable between switches is gone.
    Unlinked(LinkEnds),
    /// STP changed the state of a link.
    State(LinkEnds, LinkState, LinkState),
    /// The rate of a link changed.
    Rate(LinkEnds, BitsPerSec, BitsPerSec),
    /// The grade of a link changed.
    Grade(LinkEnds, LinkGrade, LinkGrade),
    /// The root bridge changed, or the switches no longer agree on it.
    RootBridge(Option<String>, Option<String>),
    /// A host is in another cluster.
    Joined(String, String),
    /// A host keeps its place, but is no longer in a cluster.
    Left(String, String),
    /// The network was split or joined: the new clusters.
    Clusters(Vec<String>),
}

/// A port of a switch.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SwitchPort {
    pub switch: String,
    /// The port's name.
    pub port: String,
}

/// The ends of a link, with ports if the names alone do not tell it from a parallel one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkEnds {
    pub a: String,
    /// The other end.
    pub b: String,
    /// Port names at `a` and `b`, if there are several links between them.
    pub ports: Option<(String, String)>,
}

/// All differences from `old` to `new`: nodes, hosts, cables, root bridge, clusters, each sorted by
/// name.
pub fn diff(old: &Topology, new: &Topology) -> Vec<NetworkChange> {
    TopologyDifference::between(old, new).map_or_else(Vec::new, |d| d.changes())
}

/// The hosts that offer another number of ranks than before, or have another address: a line for each
/// change, because all agents of a fleet may start at once.
pub fn host_changes(old: &TopologyFile, new: &TopologyFile) -> Vec<String> {
    let mut offers: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
    let mut addresses: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, host) in &new.hosts {
        let Some(was) = old.hosts.get(name) else {
            continue;
        };
        if was.ranks != host.ranks {
            offers.entry(host.ranks).or_default().push(name);
        }
        if was.address != host.address {
            let found = match (was.address, host.address) {
                (_, None) => "no address",
                (None, Some(_)) => "an address now",
                (Some(_), Some(_)) => "another address",
            };
            addresses.entry(found).or_default().push(name);
        }
    }
    let ranks = offers.into_iter().map(|(ranks, hosts)| {
        let verb = if hosts.len() == 1 { "offers" } else { "offer" };
        let named = short_list(hosts.into_iter());
        format!("{named} {verb} {}", counted(ranks, "rank"))
    });
    let places = addresses.into_iter().map(|(address, hosts)| {
        let verb = if hosts.len() == 1 { "has" } else { "have" };
        format!("{} {verb} {address}", short_list(hosts.into_iter()))
    });
    ranks.chain(places).collect()
}

impl TopologyDifference {
    /// The difference in words: see [`diff`].
    pub fn changes(&self) -> Vec<NetworkChange> {
        whole(&self.before, &self.after)
    }
}

/// The same, with every node and link of both looked at.
pub(crate) fn whole(old: &Topology, new: &Topology) -> Vec<NetworkChange> {
    let mut changes = Vec::new();
    nodes(old, new, &mut changes);
    hosts(old, new, &mut changes);
    cables(old, new, &mut changes);
    if old.root_bridge != new.root_bridge {
        changes.push(NetworkChange::RootBridge(
            old.root_bridge.clone(),
            new.root_bridge.clone(),
        ));
    }
    if cluster_names(old) != cluster_names(new) {
        changes.push(NetworkChange::Clusters(
            new.clusters.iter().map(|c| c.name.clone()).collect(),
        ));
    } else {
        members(old, new, &mut changes);
    }
    changes
}

fn cluster_names(t: &Topology) -> BTreeSet<String> {
    t.clusters
        .iter()
        .map(|c| c.name.clone())
        .collect::<BTreeSet<_>>()
}

fn nodes(old: &Topology, new: &Topology, changes: &mut Vec<NetworkChange>) {
    let (before, after): (BTreeMap<_, _>, BTreeMap<_, _>) = (inner_nodes(old), inner_nodes(new));
    for (key, (name, stale)) in &after {
        match before.get(key) {
            None => changes.push(NetworkChange::Appeared(name.clone())),
            Some((_, was)) if was == stale => {}
            Some(_) if *stale => changes.push(NetworkChange::Stale(name.clone())),
            Some(_) => changes.push(NetworkChange::Answers(name.clone())),
        }
    }
    changes.extend(
        before
            .iter()
            .filter(|(k, _)| !after.contains_key(*k))
            .map(|(_, (name, _))| NetworkChange::Gone(name.clone())),
    );
}

fn inner_nodes(t: &Topology) -> BTreeMap<NaturalKey, (String, bool)> {
    t.nodes
        .iter()
        .filter(|n| n.kind != NodeKind::Host)
        .map(|n| (natural(&n.name), (n.name.clone(), n.stale)))
        .collect()
}

fn hosts(old: &Topology, new: &Topology, changes: &mut Vec<NetworkChange>) {
    let (before, after) = (places(old), places(new));
    let names: BTreeSet<_> = before.keys().chain(after.keys()).cloned().collect();
    for key in names {
        let host = after
            .get(&key)
            .or(before.get(&key))
            .map(|(n, _)| n.clone())
            .unwrap_or_default();
        match (
            &before
                .get(&key)
                .map(|(_, p)| p.iter().cloned().collect::<Vec<_>>())
                .unwrap_or_default()[..],
            &after
                .get(&key)
                .map(|(_, p)| p.iter().cloned().collect::<Vec<_>>())
                .unwrap_or_default()[..],
        ) {
            (was, is) if was == is => {}
            ([], [to]) => changes.push(NetworkChange::Attached(host, to.clone())),
            ([from, ..], []) => changes.push(NetworkChange::Lost(host, from.clone())),
            ([from], [to]) => changes.push(NetworkChange::Moved {
                host,
                from: from.clone(),
                to: to.clone(),
            }),
            (several, [to]) => {
                let from = several.iter().find(|p| *p != to).unwrap_or(to).clone();
                changes.push(NetworkChange::Moved {
                    host,
                    from,
                    to: to.clone(),
                });
            }
            (_, several) => changes.push(NetworkChange::Ambiguous(host, several.to_vec())),
        }
    }
}

/// Hosts that changed their cluster. A host that appears or disappears is reported by its cable.
fn members(old: &Topology, new: &Topology, changes: &mut Vec<NetworkChange>) {
    let (before, after) = (clusters_of_hosts(old), clusters_of_hosts(new));
    let (places_before, places_after) = (places(old), places(new));
    let stays = |key: &NaturalKey| {
        places_after.contains_key(key) && places_before.get(key) == places_after.get(key)
    };
    for (key, (host, cluster)) in &after {
        match before.get(key) {
            Some((_, was)) if was == cluster => {}
            None if !stays(key) => {}
            _ => changes.push(NetworkChange::Joined(host.clone(), cluster.clone())),
        }
    }
    for (_, (host, cluster)) in before
        .iter()
        .filter(|(key, _)| !after.contains_key(*key) && stays(key))
    {
        changes.push(NetworkChange::Left(host.clone(), cluster.clone()));
    }
}

fn clusters_of_hosts(t: &Topology) -> BTreeMap<NaturalKey, (String, String)> {
    t.clusters
        .iter()
        .flat_map(|c| {
            c.hosts
                .iter()
                .map(|h| (natural(h), (h.clone(), c.name.clone())))
        })
        .collect()
}

/// The place of each host, by host name in natural order.
fn places(t: &Topology) -> BTreeMap<NaturalKey, (String, BTreeSet<SwitchPort>)> {
    let mut places: BTreeMap<_, (String, BTreeSet<SwitchPort>)> = BTreeMap::new();
    for link in host_links(t) {
        let entry = places
            .entry(natural(&link.b))
            .or_insert_with(|| (link.b.clone(), BTreeSet::new()));
        entry.1.insert(SwitchPort {
            switch: link.a.clone(),
            port: link.a_port.clone(),
        });
    }
    places
}

fn host_links(t: &Topology) -> impl Iterator<Item = &Link> {
    let hosts: BTreeSet<&str> = t.names(NodeKind::Host).collect();
    t.links.iter().filter(move |l| hosts.contains(l.b.as_str()))
}

/// Links by their ends, each with true if it is a host's. A host's name for its own port does not
/// matter.
fn by_ends(t: &Topology) -> BTreeMap<[NaturalKey; 4], (&Link, bool)> {
    let hosts: BTreeSet<&str> = t.names(NodeKind::Host).collect();
    let keyed = t.links.iter().map(|l| {
        let host = hosts.contains(l.b.as_str());
        let far = if host {
            NaturalKey::default()
        } else {
            natural(&l.b_port)
        };
        (
            [natural(&l.a), natural(&l.a_port), natural(&l.b), far],
            (l, host),
        )
    });
    keyed.collect()
}

/// The changes of links that stay, including those of hosts that did not move.
fn cables(old: &Topology, new: &Topology, changes: &mut Vec<NetworkChange>) {
    let (before, after) = (by_ends(old), by_ends(new));
    for (link, _) in before
        .iter()
        .filter(|(k, (_, host))| !host && !after.contains_key(*k))
        .map(|(_, l)| l)
    {
        changes.push(NetworkChange::Unlinked(link_ends(link, old, new)));
    }
    for (key, (link, host)) in &after {
        let Some((was, _)) = before.get(key) else {
            if !host {
                changes.push(NetworkChange::Linked(link_ends(link, old, new)));
            }
            continue;
        };
        if was.state != link.state {
            changes.push(NetworkChange::State(
                link_ends(link, old, new),
                was.state,
                link.state,
            ));
        }
        if was.rate_bps != link.rate_bps {
            changes.push(NetworkChange::Rate(
                link_ends(link, old, new),
                was.rate_bps,
                link.rate_bps,
            ));
        }
        if was.grade != link.grade {
            changes.push(NetworkChange::Grade(
                link_ends(link, old, new),
                was.grade,
                link.grade,
            ));
        }
    }
}

fn is_one_of_several(l: &Link, old: &Topology, new: &Topology) -> bool {
    [old, new].iter().any(|t| {
        t.links
            .iter()
            .filter(|x| (&x.a, &x.b) == (&l.a, &l.b))
            .count()
            > 1
    })
}

fn link_ends(l: &Link, old: &Topology, new: &Topology) -> LinkEnds {
    LinkEnds {
        a: l.a.clone(),
        b: l.b.clone(),
        ports: is_one_of_several(l, old, new).then(|| (l.a_port.clone(), l.b_port.clone())),
    }
}

impl fmt::Display for NetworkChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NetworkChange::Appeared(node) => write!(f, "switch {node} is new"),
            NetworkChange::Gone(node) => write!(f, "switch {node} is gone"),
            NetworkChange::Stale(node) => write!(f, "switch {node} is stale"),
            NetworkChange::Answers(node) => write!(f, "switch {node} answers again"),
            NetworkChange::Attached(host, at) => write!(f, "{host} is on {at}"),
            NetworkChange::Lost(host, from) => {
                write!(f, "{host} is seen nowhere, it was on {from}")
            }
            NetworkChange::Moved { host, from, to } => {
                write!(f, "{host} moved from {from} to {to}")
            }
            NetworkChange::Ambiguous(host, places) => {
                let places: Vec<String> = places.iter().map(SwitchPort::to_string).collect();
                write!(f, "{host} may be on {}", places.join(" or "))
            }
            NetworkChange::Linked(ends) => write!(f, "link {ends} is new"),
            NetworkChange::Unlinked(ends) => write!(f, "link {ends} is gone"),
            NetworkChange::State(ends, from, to) => write!(f, "link {ends}: {from} → {to}"),
            NetworkChange::Rate(ends, from, to) => write!(f, "link {ends}: rate {from} → {to}"),
            NetworkChange::Grade(ends, from, to) => write!(f, "link {ends}: {from} → {to}"),
            NetworkChange::RootBridge(from, to) => {
                write!(f, "root bridge: {} → {}", agreed(from), agreed(to))
            }
            NetworkChange::Joined(host, cluster) => write!(f, "{host} joined {cluster}"),
            NetworkChange::Left(host, cluster) => write!(f, "{host} left {cluster}"),
            NetworkChange::Clusters(names) if names.is_empty() => write!(f, "no cluster is left"),
            NetworkChange::Clusters(names) if names.len() == 1 => {
                write!(f, "one cluster: {}", names[0])
            }
            NetworkChange::Clusters(names) => {
                write!(f, "{} clusters: {}", names.len(), names.join(", "))
            }
        }
    }
}

fn agreed(n: &Option<String>) -> String {
    n.clone().unwrap_or_else(|| "not agreed on".to_owned())
}

impl fmt::Display for SwitchPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port.as_str() {
            "" => write!(f, "{}", self.switch),
            port => write!(f, "{} port {port}", self.switch),
        }
    }
}

impl fmt::Display for LinkEnds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.a, self.b)?;
        match &self.ports {
            Some((a, b)) => write!(f, " ({a}-{b})"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::alarm::{Alarm, AlarmKind, AlarmSubject};
    use crate::messages::evidence::Evidence;
    use crate::model::topology::{Cluster, Node};

    fn link(a: &str, a_port: &str, b: &str, b_port: &str) -> Link {
        Link {
            evidence: vec![Evidence::Stated],
            ..Link::new(a, a_port, b, b_port)
        }
    }

    fn sample() -> Topology {
        Topology {
            nodes: vec![
                Node::new("s0", NodeKind::Switch),
                Node::new("s1", NodeKind::Switch),
                Node::new("n2", NodeKind::Host),
                Node::new("n3", NodeKind::Host),
                Node::new("n10", NodeKind::Host),
            ],
            links: vec![
                link("s0", "swp1", "s1", "swp1"),
                link("s0", "swp4", "n3", "eth0"),
                link("s1", "swp4", "n10", "eth0"),
                link("s1", "swp5", "n2", "eth0"),
            ],
            clusters: vec![Cluster {
                name: "cluster".into(),
                hosts: vec!["n2".into(), "n3".into(), "n10".into()],
                reasons: vec![],
            }],
            root_bridge: Some("s0".into()),
            ..Topology::default()
        }
    }

    fn words(change: impl FnOnce(&mut Topology)) -> Vec<String> {
        let mut new = sample();
        change(&mut new);
        diff(&sample(), &new)
            .iter()
            .map(NetworkChange::to_string)
            .collect()
    }

    #[test]
    fn ranks_and_addresses_of_hosts_are_changes() {
        let [old, new] = [
            "n0: {switch: s0, address: 10.0.0.1}, n1: {switch: s0, address: 10.0.0.2}, n2: {switch: s0}",
            "n0: {switch: s0, ranks: 4}, n1: {switch: s0, ranks: 4, address: 10.0.0.9}, \
             n2: {switch: s0, address: 10.0.0.3}, n3: {switch: s0}",
        ]
        .map(|hosts| {
            let file = format!("switches: [s0]\nhosts: {{{hosts}}}\n");
            TopologyFile::parse("t", &file).unwrap()
        });
        let changes = [
            "n0, n1 offer 4 ranks",
            "n2 has an address now",
            "n1 has another address",
            "n0 has no address",
        ];
        assert_eq!(host_changes(&old, &new), changes);
        assert!(host_changes(&new, &new).is_empty());
    }

    #[test]
    fn evidence_alarms_and_order_are_no_change() {
        let seen = words(|t| {
            t.links.reverse();
            t.nodes.reverse();
            t.links[0].evidence.clear();
            t.links[0].b_port = "02:00:00:00:00:01".into();
            t.alarms.push(Alarm {
                subject: AlarmSubject::node("s0"),
                kind: AlarmKind::Loop,
            });
        });
        assert_eq!(seen, [] as [&str; 0]);
    }

    #[test]
    fn every_change_in_words() {
        assert_eq!(
            words(|t| t.links[1] = link("s1", "swp7", "n3", "eth0")),
            ["n3 moved from s0 port swp4 to s1 port swp7"]
        );
        assert_eq!(
            words(|t| t.links[0].state = LinkState::Blocked),
            ["link s0-s1: forwarding → blocked"]
        );
        assert_eq!(
            words(|t| t.links[0].rate_bps = BitsPerSec::mega(100)),
            ["link s0-s1: rate 1G → 100M"]
        );
        assert_eq!(words(|t| t.nodes[1].stale = true), ["switch s1 is stale"]);
        assert_eq!(
            words(|t| drop(t.links.remove(1))),
            ["n3 is seen nowhere, it was on s0 port swp4"]
        );
        assert_eq!(
            words(|t| t.links.push(link("s0", "swp9", "n3", "eth0"))),
            ["n3 may be on s0 port swp4 or s0 port swp9"]
        );
        assert_eq!(
            words(|t| t.links.push(link("s0", "swp2", "s1", "swp2"))),
            ["link s0-s1 (swp2-swp2) is new"]
        );
        assert_eq!(words(|t| drop(t.links.remove(0))), ["link s0-s1 is gone"]);
        assert_eq!(
            words(|t| t.links[1].grade = LinkGrade::Inferred),
            ["link s0-n3: certain → inferred"]
        );
        assert_eq!(
            words(|t| t.root_bridge = None),
            ["root bridge: s0 → not agreed on"]
        );
        assert_eq!(
            words(|t| t.nodes.push(Node::new("s2", NodeKind::Switch))),
            ["switch s2 is new"]
        );
        assert_eq!(words(|t| t.clusters.clear()), ["no cluster is left"]);
        assert_eq!(
            words(|t| drop(t.clusters[0].hosts.remove(1))),
            ["n3 left cluster"]
        );
    }

    #[test]
    fn back_again_is_the_opposite() {
        let (mut new, old) = (sample(), sample());
        new.links.remove(1);
        new.nodes[0].stale = true;
        let back: Vec<String> = diff(&new, &old)
            .iter()
            .map(NetworkChange::to_string)
            .collect();
        assert_eq!(back, ["switch s0 answers again", "n3 is on s0 port swp4"]);
        let mut new = sample();
        new.clusters[0].hosts.clear();
        let back: Vec<String> = diff(&new, &old)
            .iter()
            .map(NetworkChange::to_string)
            .collect();
        assert_eq!(
            back,
            [
                "n2 joined cluster",
                "n3 joined cluster",
                "n10 joined cluster"
            ]
        );
    }
}
