//! The networks of a cluster: switches between which frames may cross cables, and the hosts with a card
//! there.
//!
//! Source: own. Input: nodes and cables. Guarantee: switches that any cable may join, or any switch whose
//! place is unknown, are of one network; so are switches that no host joins, which one host would need to
//! be in both. VLANs on the same switches are two networks if a host has a card on a port of each. A host
//! joins no switches: a bridge between its cards makes it a switch, which it says.
//! Cost: one pass over the cables, nearly.
use crate::claims::ClaimEnd;
use crate::draft::DraftLink;
use crate::facts::{DevicePortIx, Facts, NodeIx};
use inventory::evidence::Evidence;
use inventory::networks::Network;
use inventory::topology::{Link, Node, NodeKind};
use petgraph::unionfind::UnionFind;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// A device with fewer bridge ports may not tell all of them.
pub(crate) const LEAST_BRIDGE_PORTS: usize = 2;

/// True if a device forwards nothing through the port at this end of a cable: it is none of its bridge
/// ports, no station was learned there, and the other end learned the device itself there and nobody else.
pub(crate) fn is_own_port(facts: &Facts<'_>, end: &ClaimEnd, other: &ClaimEnd) -> bool {
    let (Some((device, port)), Some((far, far_port))) =
        (end.device_port(facts), other.device_port(facts))
    else {
        return false;
    };
    let (own, far) = (&facts[device], &facts[far]);
    let (whole, far_port) = (own.ports.whole(port), far.ports.whole(far_port));
    if [port, whole]
        .iter()
        .any(|port| own.ports[*port].bridge.is_some())
    {
        return false;
    }
    let bridge_ports = own.ports.iter().filter(|(_, port)| port.bridge.is_some());
    let mut behind = far.learned.behind(far_port);
    bridge_ports.count() >= LEAST_BRIDGE_PORTS
        && own.learned.behind(whole).len() == 0
        && behind.len() > 0
        && behind.all(|mac| own.macs.contains(&mac))
}

/// True if a device forwards nothing through one end of a cable.
pub(crate) fn ends_at_own_port(facts: &Facts<'_>, [a, b]: &[ClaimEnd; 2]) -> bool {
    is_own_port(facts, a, b) || is_own_port(facts, b, a)
}

/// Switches between which frames may cross cables.
pub(crate) struct BridgedParts {
    parts: UnionFind<usize>,
    /// The parts in which a switch that was asked does not tell the VLANs of its ports.
    untold: HashSet<usize>,
}

/// A part, and the VLAN of a host's port there; 0 if it is not known.
pub(crate) type NetworkKey = (usize, u16);

impl BridgedParts {
    /// From the ends of all cables but those of hosts and those through which nothing is forwarded.
    pub(crate) fn new(
        facts: &Facts<'_>,
        nodes: &[Node],
        cables: impl Iterator<Item = [NodeIx; 2]>,
        unplaced: &[NodeIx],
    ) -> BridgedParts {
        let mut parts = UnionFind::new(nodes.len());
        for [a, b] in cables.filter(|ends| {
            !ends
                .iter()
                .any(|end| nodes[end.0 as usize].kind == NodeKind::Host)
        }) {
            parts.union(a.0 as usize, b.0 as usize);
        }
        // A switch whose place is unknown may join any two parts.
        if let Some((first, _)) = unplaced.split_first() {
            for (number, node) in nodes.iter().enumerate() {
                if node.kind != NodeKind::Host {
                    parts.union(number, first.0 as usize);
                }
            }
        }
        let numbers = (0..).zip(nodes);
        let devices = numbers.filter_map(|(number, node)| match node.kind {
            NodeKind::Host => None,
            _ => facts
                .device_of(facts.node_named(&node.name)?)
                .map(|device| (number, device)),
        });
        let silent = devices.filter(|(_, device)| {
            let mut ports = facts[*device].ports.iter();
            ports.all(|(_, port)| port.vlan.is_none())
        });
        let untold = silent.map(|(number, _)| parts.find(number)).collect();
        BridgedParts { parts, untold }
    }

    /// The part of a switch, and the VLAN of its port at this end.
    pub(crate) fn at(&self, facts: &Facts<'_>, end: &ClaimEnd) -> NetworkKey {
        self.with_vlan(facts, self.part(end.node), end.device_port(facts))
    }

    fn with_vlan(&self, facts: &Facts<'_>, part: usize, port: Option<DevicePortIx>) -> NetworkKey {
        let known = port.filter(|_| !self.untold.contains(&part));
        let vlan = known.and_then(|(device, port)| {
            let ports = &facts[device].ports;
            ports[port].vlan.or(ports[ports.whole(port)].vlan)
        });
        (part, vlan.unwrap_or_default())
    }

    /// The number of a switch's part.
    pub(crate) fn part(&self, node: NodeIx) -> usize {
        self.parts.find(node.0 as usize)
    }
}

/// The ends of links by number, where a host has a number of its own in each part in which it has a card:
/// no frame goes from one card to the other.
pub(crate) struct SplitHosts<'p> {
    facts: &'p Facts<'p>,
    parts: &'p BridgedParts,
    /// By node: the part in which its own number stands for it.
    first: Vec<Option<NetworkKey>>,
    further: HashMap<(usize, NetworkKey), usize>,
    /// The numbers so far.
    pub(crate) count: usize,
}

/// A part with hosts.
#[derive(Default)]
struct HostedPart {
    /// Their nodes' numbers, in order and each once.
    hosts: Vec<usize>,
    /// The rates of its hosts' links, together.
    rate: u64,
}

impl<'p> SplitHosts<'p> {
    pub(crate) fn new(
        facts: &'p Facts<'p>,
        parts: &'p BridgedParts,
        nodes: usize,
    ) -> SplitHosts<'p> {
        SplitHosts {
            facts,
            parts,
            first: vec![None; nodes],
            further: HashMap::new(),
            count: nodes,
        }
    }

    /// The numbers of the ends of a link.
    pub(crate) fn ends(&mut self, nodes: &[Node], link: &DraftLink) -> [usize; 2] {
        let [a, b] = link.nodes();
        match [a, b].map(|node| nodes[node].kind == NodeKind::Host) {
            [true, false] => [self.card(a, &link.ends[1]), b],
            [false, true] => [a, self.card(b, &link.ends[0])],
            _ => [a, b],
        }
    }

    fn card(&mut self, host: usize, switch: &ClaimEnd) -> usize {
        let part = self.parts.at(self.facts, switch);
        if *self.first[host].get_or_insert(part) == part {
            return host;
        }
        *self.further.entry((host, part)).or_insert_with(|| {
            self.count += 1;
            self.count - 1
        })
    }
}

/// The numbers of the two nodes of each link, if both are among the nodes.
pub(crate) type LinkNodes = Vec<Option<[usize; 2]>>;

/// The nodes of links, by their names.
pub(crate) fn link_nodes(nodes: &[Node], links: &[Link]) -> LinkNodes {
    let names = nodes.iter().enumerate();
    let number: HashMap<&str, usize> = names.map(|(i, n)| (n.name.as_str(), i)).collect();
    links
        .iter()
        .map(|link| Some([*number.get(link.a.as_str())?, *number.get(link.b.as_str())?]))
        .collect()
}

/// The networks, the main one first; none if there is only one. A part is another network if a host has a
/// card there and one in the main network: parts without a common host are torn pieces of one.
pub(crate) fn networks(
    facts: &Facts<'_>,
    nodes: &[Node],
    (links, ends): (&[Link], &LinkNodes),
    roots: &[String],
) -> Vec<Network> {
    let of_hosts = links.iter().zip(ends).filter_map(|(link, ends)| {
        let [switch, host] = ends.filter(|_| link.carries_frames())?;
        let is_at_edge = [switch, host].map(|node| nodes[node].kind == NodeKind::Host);
        (is_at_edge == [false, true]).then_some((link, switch, host))
    });
    // Most clusters have one: no host is at the far end of two links.
    let mut met = vec![false; nodes.len()];
    if (of_hosts.clone()).all(|(_, _, host)| !std::mem::replace(&mut met[host], true)) {
        return Vec::new();
    }
    let number = |node: usize| NodeIx(u32::try_from(node).unwrap_or(u32::MAX));
    let cables = links.iter().zip(ends).filter_map(|(link, ends)| {
        let is_own = link.evidence.iter().any(Evidence::is_of_own_port);
        Some(ends.filter(|_| !is_own)?.map(number))
    });
    let parts = BridgedParts::new(facts, nodes, cables, &[]);
    let mut hosted: BTreeMap<NetworkKey, HostedPart> = BTreeMap::new();
    for (link, switch, host) in of_hosts {
        let port = facts.switch_port(link);
        let key = parts.with_vlan(facts, parts.part(number(switch)), port);
        let part = hosted.entry(key).or_default();
        part.hosts.push(host);
        part.rate = part.rate.saturating_add(link.rate_bps.0);
    }
    for part in hosted.values_mut() {
        part.hosts.sort_unstable();
        part.hosts.dedup();
    }
    let mut networks = merged(nodes, &parts, &hosted);
    if networks.len() < 2 {
        return Vec::new();
    }
    name_by_roots(&mut networks, roots);
    networks
}

/// The only network, as one of several that share its cards.
pub(crate) fn whole(nodes: &[Node], links: &[Link], roots: &[String]) -> Network {
    let carrying = links.iter().filter(|link| link.carries_frames());
    let linked: HashSet<&str> = carrying.map(|link| link.b.as_str()).collect();
    let (hosts, switches): (Vec<_>, Vec<_>) =
        (nodes.iter()).partition(|node| node.kind == NodeKind::Host);
    let hosts = hosts
        .into_iter()
        .filter(|host| linked.contains(host.name.as_str()));
    let network = Network {
        switches: switches.into_iter().map(|node| node.name.clone()).collect(),
        hosts: hosts.map(|node| node.name.clone()).collect(),
        ..Network::default()
    };
    let mut networks = [network];
    name_by_roots(&mut networks, roots);
    let [network] = networks;
    network
}

/// Names each network after its root bridge, or its first switch; and after its VLAN, if it shares them.
fn name_by_roots(networks: &mut [Network], roots: &[String]) {
    for network in networks {
        let mut switches = network.switches.iter();
        let root = switches.find(|switch| roots.contains(switch));
        let root = root.or(network.switches.first()).map_or("", String::as_str);
        network.name = match network.vlans.first() {
            Some(vlan) => format!("{root}-vlan{vlan}"),
            None => root.to_owned(),
        };
    }
}

/// The parts with hosts as networks without names, the main one first, with its torn pieces. Nodes are in
/// the order of their names, and so are the hosts of each network.
fn merged(
    nodes: &[Node],
    parts: &BridgedParts,
    hosted: &BTreeMap<NetworkKey, HostedPart>,
) -> Vec<Network> {
    // A host whose card there is down makes no other network the main one.
    let Some((main, of_main)) = hosted
        .iter()
        .max_by_key(|(key, hosted)| (hosted.rate, hosted.hosts.len(), Reverse(**key)))
    else {
        return Vec::new();
    };
    // Once for each part: asked again for each of its switches, this would take hosts times switches.
    let mut networks: BTreeMap<(bool, NetworkKey), (Network, Vec<usize>)> = BTreeMap::new();
    let mut wholes: HashMap<usize, BTreeSet<(bool, NetworkKey)>> = HashMap::new();
    for (own, part) in hosted {
        let whole = if part
            .hosts
            .iter()
            .any(|host| of_main.hosts.binary_search(host).is_ok())
        {
            *own
        } else {
            *main
        };
        let whole = (whole != *main, whole);
        wholes.entry(own.0).or_default().insert(whole);
        let (network, hosts) = networks.entry(whole).or_default();
        hosts.extend(&part.hosts);
        network.vlans.extend(Some(own.1).filter(|vlan| *vlan != 0));
    }
    let switches = (0..)
        .zip(nodes)
        .filter(|(_, node)| node.kind != NodeKind::Host);
    for (number, node) in switches {
        for whole in wholes
            .get(&parts.part(NodeIx(number)))
            .into_iter()
            .flatten()
        {
            let (network, _) = networks.entry(*whole).or_default();
            network.switches.push(node.name.clone());
        }
    }
    let sharing = wholes.into_values().filter(|wholes| wholes.len() > 1);
    let sharing: BTreeSet<(bool, NetworkKey)> = sharing.flatten().collect();
    networks
        .into_iter()
        .map(|(whole, (mut network, mut hosts))| {
            hosts.sort_unstable();
            hosts.dedup();
            let names = hosts.into_iter().map(|host| nodes[host].name.clone());
            network.hosts = names.collect();
            if !sharing.contains(&whole) {
                network.vlans.clear();
            }
            network
        })
        .collect()
}
