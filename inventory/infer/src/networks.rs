//! The networks of a cluster: switches between which frames may cross cables, and the hosts with a card
//! there.
//!
//! Source: own. Input: nodes and cables. Guarantee: switches that any cable may join, or any switch whose
//! place is unknown, are of one network; so are switches that no host joins, which one host would need to
//! be in both. A host joins no switches: a bridge between its cards makes it a switch, which it says.
//! Cost: one pass over the cables, nearly.
use crate::claims::ClaimEnd;
use crate::draft::DraftLink;
use crate::facts::{Facts, NodeIx};
use inventory::evidence::Evidence;
use inventory::networks::Network;
use inventory::topology::{Link, Node, NodeKind};
use petgraph::unionfind::UnionFind;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

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
pub(crate) struct BridgedParts(UnionFind<usize>);

impl BridgedParts {
    /// From the ends of all cables but those of hosts and those through which nothing is forwarded.
    pub(crate) fn new(
        nodes: &[Node],
        cables: impl Iterator<Item = [NodeIx; 2]>,
        unplaced: &[NodeIx],
    ) -> BridgedParts {
        let mut parts = UnionFind::new(nodes.len());
        let is_host = |node: NodeIx| nodes[node.0 as usize].kind == NodeKind::Host;
        for [a, b] in cables.filter(|ends| !ends.iter().any(|end| is_host(*end))) {
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
        BridgedParts(parts)
    }

    /// The number of a switch's part.
    pub(crate) fn of(&self, node: NodeIx) -> usize {
        self.0.find(node.0 as usize)
    }
}

/// The ends of links by number, where a host has a number of its own in each part in which it has a card:
/// no frame goes from one card to the other.
pub(crate) struct SplitHosts<'p> {
    parts: &'p BridgedParts,
    cards: HashMap<(usize, usize), usize>,
    hosts: HashSet<usize>,
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
    pub(crate) fn new(parts: &'p BridgedParts, nodes: usize) -> SplitHosts<'p> {
        SplitHosts {
            parts,
            cards: HashMap::new(),
            hosts: HashSet::new(),
            count: nodes,
        }
    }

    /// The numbers of the ends of a link.
    pub(crate) fn ends(&mut self, nodes: &[Node], link: &DraftLink) -> [usize; 2] {
        let [a, b] = link.nodes();
        let is_host = |node: usize| nodes[node].kind == NodeKind::Host;
        match (is_host(a), is_host(b)) {
            (true, false) => [self.card(a, &link.ends[1]), b],
            (false, true) => [a, self.card(b, &link.ends[0])],
            _ => [a, b],
        }
    }

    fn card(&mut self, host: usize, switch: &ClaimEnd) -> usize {
        let part = self.parts.of(switch.node);
        let (count, is_first) = (self.count, self.hosts.insert(host));
        let number = *self
            .cards
            .entry((host, part))
            .or_insert(if is_first { host } else { count });
        self.count += usize::from(number == count);
        number
    }
}

/// The networks, the main one first; none if there is only one. A part is another network if a host has a
/// card there and one in the main network: parts without a common host are torn pieces of one.
pub(crate) fn networks(nodes: &[Node], links: &[Link], roots: &[String]) -> Vec<Network> {
    // Most clusters have one: no host is at the far end of two links.
    let mut far_ends = HashSet::new();
    let mut carrying = links.iter().filter(|link| link.carries_frames());
    if carrying.all(|link| far_ends.insert(link.b.as_str())) {
        return Vec::new();
    }
    let numbers = (0..).zip(nodes);
    let numbers: HashMap<&str, NodeIx> = numbers
        .map(|(number, node)| (node.name.as_str(), NodeIx(number)))
        .collect();
    let ends = |link: &Link| {
        Some([
            *numbers.get(link.a.as_str())?,
            *numbers.get(link.b.as_str())?,
        ])
    };
    let cables = links
        .iter()
        .filter(|link| !link.evidence.iter().any(Evidence::is_of_own_port));
    let parts = BridgedParts::new(nodes, cables.filter_map(ends), &[]);
    let kind = |node: NodeIx| nodes[node.0 as usize].kind;
    let mut hosted: BTreeMap<usize, HostedPart> = BTreeMap::new();
    for link in links.iter().filter(|link| link.carries_frames()) {
        if let Some([switch, host]) = ends(link)
            && kind(host) == NodeKind::Host
            && kind(switch) != NodeKind::Host
        {
            let part = hosted.entry(parts.of(switch)).or_default();
            part.hosts.push(host.0 as usize);
            part.rate = part.rate.saturating_add(link.rate_bps.0);
        }
    }
    for part in hosted.values_mut() {
        part.hosts.sort_unstable();
        part.hosts.dedup();
    }
    let mut networks = merged(nodes, &parts, &hosted);
    if networks.len() < 2 {
        return Vec::new();
    }
    for network in &mut networks {
        let root = network
            .switches
            .iter()
            .find(|switch| roots.contains(switch));
        network
            .name
            .clone_from(root.unwrap_or(&network.switches[0]));
    }
    networks
}

/// The parts with hosts as networks without names, the main one first, with its torn pieces. Nodes are in
/// the order of their names, and so are the hosts of each network.
fn merged(
    nodes: &[Node],
    parts: &BridgedParts,
    hosted: &BTreeMap<usize, HostedPart>,
) -> Vec<Network> {
    // A host whose card there is down makes no other network the main one.
    let most =
        |(part, hosted): &(&usize, &HostedPart)| (hosted.rate, hosted.hosts.len(), Reverse(**part));
    let Some((main, of_main)) = hosted.iter().max_by_key(most) else {
        return Vec::new();
    };
    // Once for each part: asked again for each of its switches, this would take hosts times switches.
    let mut networks: BTreeMap<(bool, usize), (Network, Vec<usize>)> = BTreeMap::new();
    let mut wholes: HashMap<usize, (bool, usize)> = HashMap::new();
    for (own, part) in hosted {
        let is_of_main = |host: &usize| of_main.hosts.binary_search(host).is_ok();
        let whole = if part.hosts.iter().any(is_of_main) {
            *own
        } else {
            *main
        };
        let whole = (whole != *main, whole);
        wholes.insert(*own, whole);
        networks.entry(whole).or_default().1.extend(&part.hosts);
    }
    let switches = (0..)
        .zip(nodes)
        .filter(|(_, node)| node.kind != NodeKind::Host);
    for (number, node) in switches {
        if let Some(whole) = wholes.get(&parts.of(NodeIx(number))) {
            let (network, _) = networks.entry(*whole).or_default();
            network.switches.push(node.name.clone());
        }
    }
    let named = |(mut network, mut hosts): (Network, Vec<usize>)| {
        hosts.sort_unstable();
        hosts.dedup();
        let names = hosts.into_iter().map(|host| nodes[host].name.clone());
        network.hosts = names.collect();
        network
    };
    networks.into_values().map(named).collect()
}
