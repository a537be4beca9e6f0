//! A complete tree with every host in its place, or the reasons why a network has none.
use super::counted_ways;
use inventory::Topology;
use inventory::address::{AddressLookup, shares_network};
use inventory::alarm::arguments::{LinkDoubt, TreeDoubt};
use inventory::device_view::{DeviceView, DeviceViews};
use inventory::host_report::SLOTS;
use inventory::inventory_file::Inventory;
use inventory::networks::Network;
use inventory::observation::{InterfaceRow, StpState};
use inventory::topology::{Link, LinkGrade, LinkState, NodeKind};
use inventory::topology_file::{self, TopologyFile, TopologyHost};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;

/// A network that can be published.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EpochCandidate {
    /// The inferred network, with the hosts put back that keep their place.
    pub(crate) network: Arc<Topology>,
    /// The same as a topology file.
    pub(crate) file: Arc<TopologyFile>,
    /// The file in a fixed order. Networks with equal keys need no new epoch.
    pub(crate) key: Arc<TopologyFile>,
}

/// The published network.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PublishedNetwork {
    /// The epoch's number.
    pub(crate) number: u64,
    /// See [`EpochCandidate::network`].
    pub(crate) network: Arc<Topology>,
    /// See [`EpochCandidate::key`].
    pub(crate) key: Arc<TopologyFile>,
}

impl EpochCandidate {
    /// Pairs a network with its topology file.
    pub(crate) fn new(
        network: impl Into<Arc<Topology>>,
        file: impl Into<Arc<TopologyFile>>,
    ) -> EpochCandidate {
        let (network, file) = (network.into(), file.into());
        let key = Arc::new(key(&file));
        EpochCandidate { network, file, key }
    }
}

impl EpochCandidate {
    /// Gives it the trees of further networks, and the main one's name.
    pub(crate) fn set_networks(&mut self, main: Option<&Network>, further: Vec<TopologyFile>) {
        let (name, prefix) = main.map_or((None, None), |n| (Some(n.name.clone()), n.prefix));
        if name == self.file.name && further.is_empty() && self.file.networks.is_empty() {
            return;
        }
        let (file, own) = (Arc::make_mut(&mut self.file), Arc::make_mut(&mut self.key));
        own.networks = further.iter().map(key).filter_map(with_name).collect();
        file.networks = further.into_iter().filter_map(with_name).collect();
        (file.name, own.name) = (name.clone(), name);
        (file.prefix, own.prefix) = (prefix, prefix);
    }

    /// Shares the key of the published network if it is the same, so that later comparisons need
    /// not look into it.
    pub(crate) fn share_key(&mut self, settled: &PublishedNetwork) {
        if self.key == settled.key {
            self.key = Arc::clone(&settled.key);
        }
    }
}

fn with_name(network: TopologyFile) -> Option<(String, TopologyFile)> {
    Some((network.name.clone()?, network))
}

impl PublishedNetwork {
    /// Turns a candidate into the published network.
    pub(crate) fn new(number: u64, candidate: EpochCandidate) -> PublishedNetwork {
        PublishedNetwork {
            number,
            network: candidate.network,
            key: candidate.key,
        }
    }
}

/// The file in a fixed order, so that the order of hosts and links makes no difference.
fn key(file: &TopologyFile) -> TopologyFile {
    let mut key = file.clone();
    for network in key.networks.values_mut() {
        *network = self::key(network);
    }
    key.networks.sort_keys();
    key.switches.sort();
    key.hosts.sort_keys();
    for link in &mut key.links {
        if link.a > link.b {
            std::mem::swap(&mut link.a, &mut link.b);
        }
        // A topology file may leave the state of such a link out.
        link.state = link.state.filter(|s| *s != LinkState::Forwarding);
    }
    key.links
        .sort_by(|x, y| (&x.a, &x.b, x.rate, x.state).cmp(&(&y.a, &y.b, y.rate, y.state)));
    key.clusters.sort_keys();
    key.clusters.values_mut().for_each(|hosts| hosts.sort());
    key
}

/// The candidate that a network makes, or the reasons against it; `published` is the same network as
/// published.
pub(crate) fn whole(
    inventory: &Inventory,
    views: &DeviceViews,
    network: impl Into<Arc<Topology>>,
    published: Option<&TopologyFile>,
) -> Result<EpochCandidate, Vec<TreeDoubt>> {
    let mut network = network.into();
    if inventory.measuring.is_some() {
        network = counted_ways::cables_apart(network);
    }
    let kinds = network.kinds();
    let doubtful = network
        .links
        .iter()
        .filter(|l| {
            [&l.a, &l.b].iter().all(|n| {
                matches!(
                    kinds.get(n.as_str()),
                    Some(NodeKind::Switch | NodeKind::Unmanaged)
                )
            })
        })
        .filter_map(|l| Some(TreeDoubt::Link(l.a.clone(), l.b.clone(), doubt(l, views)?)));
    let mut reasons: Vec<TreeDoubt> = doubtful.collect();
    let file = file(inventory, views, &network, published);
    reasons.extend(cut_off(&file));
    if reasons.is_empty() {
        reasons.extend(file.tree().err().map(TreeDoubt::Torn));
    }
    drop(kinds);
    if reasons.is_empty() {
        Ok(EpochCandidate::new(network, file))
    } else {
        Err(reasons)
    }
}

fn doubt(l: &Link, views: &DeviceViews) -> Option<LinkDoubt> {
    match l.state {
        LinkState::Unknown if in_transition(views, l) => Some(LinkDoubt::InTransition),
        LinkState::Unknown => Some(LinkDoubt::Unsaid),
        LinkState::Blocked => None,
        LinkState::Forwarding | LinkState::Multipath => {
            (l.grade == LinkGrade::Ambiguous).then_some(LinkDoubt::Ambiguous)
        }
    }
}

/// The network as a topology file: hosts in the order of the inventory, and only the switches and
/// routers that forwarding links connect.
fn file(
    inventory: &Inventory,
    views: &DeviceViews,
    network: &Topology,
    published: Option<&TopologyFile>,
) -> TopologyFile {
    let mut file = network.to_file();
    file.hosts.sort_by_cached_key(|name, _| {
        let rank = inventory.hosts.get_index_of(name);
        (rank.is_none(), rank, rank.is_none().then(|| name.clone()))
    });
    let attachments = network.attachments();
    let addresses = AddressLookup::new(views);
    let own = network.own_network();
    let mut holders = HashMap::new();
    for (name, host) in &mut file.hosts {
        let published = published.and_then(|published| published.hosts.get(name));
        host.ranks = ranks(inventory, views, name, published).unwrap_or(host.ranks);
        let reported = attachments
            .get(name.as_str())
            .and_then(|(_, card)| addresses.at_card(name, card));
        let stated = inventory.hosts.get(name).and_then(|h| h.address);
        // The inventory comes first, then the agent, then ARP tables, of which rows come and go. The
        // published address stays until one of them has another, and not this one.
        let before = published.and_then(|published| published.address);
        let known = stated
            .filter(|stated| may_be_of(network, own, name, (*stated, reported)))
            .or(reported.map(|(address, _)| address));
        host.address = known.or_else(|| {
            let all = own.map_or(&[][..], |own| own.addresses_of(name));
            let stays = before.filter(|before| all.contains(before));
            stays.or(all.first().copied()).or(before)
        });
        if let Some(held) = known.filter(|_| known == before) {
            holders.insert(held, name.clone());
        }
    }
    leave_to_holders(&mut file, &holders, inventory, published);
    drop_strangers(&mut file, inventory);
    file.queue = inventory
        .queue(file.inner(), views)
        .map(|least| least.octets);
    file
}

/// A host does not get the address that another one had when it was published, and still has, unless
/// the inventory states it: an agent that runs under a wrong name reports its own machine's.
fn leave_to_holders(
    file: &mut TopologyFile,
    holders: &HashMap<IpAddr, String>,
    inventory: &Inventory,
    published: Option<&TopologyFile>,
) {
    for (name, host) in &mut file.hosts {
        let stated = inventory.hosts.get(name).and_then(|host| host.address);
        let holder = host.address.and_then(|address| holders.get(&address));
        if stated.is_none() && holder.is_some_and(|holder| holder != name) {
            let before = published.and_then(|published| published.hosts.get(name));
            host.address = before.and_then(|host| host.address);
        }
    }
}

/// True if a host's stated address can be that of its card in this network: of several it is in one.
fn may_be_of(
    network: &Topology,
    own: Option<&Network>,
    host: &str,
    (stated, reported): (IpAddr, Option<(IpAddr, u8)>),
) -> bool {
    let prefix = own.and_then(|own| own.prefix);
    match (own, prefix, reported) {
        (None, ..) => true,
        (_, Some(prefix), _) => prefix.contains(&stated),
        (_, None, Some((card, length))) => shares_network(card, stated, length),
        (own, None, None) => {
            let resolved = network
                .networks
                .iter()
                .find(|network| network.addresses_of(host).contains(&stated));
            own == resolved.or(network.networks.first())
        }
    }
}

/// Leaves out what no forwarding link connects, and other devices at the edge (a phone, a printer, an
/// unlisted host, the uplink to the world), which do not matter to a schedule.
fn drop_strangers(file: &mut TopologyFile, inventory: &Inventory) {
    let cards = file.hosts.values().flat_map(TopologyHost::cards);
    let with_cards: HashSet<&str> = cards.map(|(switch, _)| switch).collect();
    let needed: HashSet<String> = with_cards.into_iter().map(str::to_owned).collect();
    let reached = reached(file);
    file.switches
        .retain(|s| reached.contains(s) || needed.contains(s));
    file.routers.retain(|r| reached.contains(r));
    while let Some(leaf) = file
        .switches
        .iter()
        .chain(&file.routers)
        .find(|s| {
            !needed.contains(s.as_str())
                && !inventory.switches.contains_key(s.as_str())
                && cables(file, s) < 2
        })
        .cloned()
    {
        file.switches.retain(|s| *s != leaf);
        file.routers.retain(|r| *r != leaf);
        file.links.retain(|l| l.a != leaf && l.b != leaf);
    }
    let keep: HashSet<&String> = file.switches.iter().chain(&file.routers).collect();
    file.links
        .retain(|l| keep.contains(&l.a) && keep.contains(&l.b));
}

fn cables(file: &TopologyFile, s: &str) -> usize {
    file.links.iter().filter(|l| l.a == s || l.b == s).count()
}

/// The number of ranks on a host. The inventory comes first, then the agent. The published number
/// stays until an agent reports one.
fn ranks(
    inventory: &Inventory,
    views: &DeviceViews,
    host: &str,
    published: Option<&topology_file::TopologyHost>,
) -> Option<u32> {
    let stated = inventory.hosts.get(host).and_then(|h| h.ranks);
    stated
        .or_else(|| {
            views
                .get(host)?
                .host
                .as_ref()
                .map(|report| report.slots)
                .filter(|slots| SLOTS.contains(slots))
        })
        .or(published.map(|h| h.ranks))
}

/// The switches that forwarding links connect to the first host's switch.
fn reached(file: &TopologyFile) -> BTreeSet<String> {
    let mut near: HashMap<&str, Vec<&str>> = HashMap::new();
    for link in file
        .links
        .iter()
        .filter(|l| l.state != Some(LinkState::Blocked))
    {
        near.entry(&link.a).or_default().push(&link.b);
        near.entry(&link.b).or_default().push(&link.a);
    }
    // A host on several switches is reached if one of them is.
    for host in file.hosts.values() {
        for card in &host.further_cards {
            near.entry(&host.switch).or_default().push(&card.switch);
            near.entry(&card.switch).or_default().push(&host.switch);
        }
    }
    let mut reached = BTreeSet::new();
    let mut open: Vec<&str> = file
        .hosts
        .values()
        .next()
        .map(|h| h.switch.as_str())
        .into_iter()
        .collect();
    while let Some(switch) = open.pop() {
        if reached.insert(switch.to_owned()) {
            open.extend(near.get(switch).into_iter().flatten());
        }
    }
    reached
}

/// The hosts that forwarding links do not reach, if there are any.
fn cut_off(file: &TopologyFile) -> Option<TreeDoubt> {
    let reached = reached(file);
    let lost: Vec<String> = file
        .hosts
        .iter()
        .filter(|(_, h)| !reached.contains(&h.switch))
        .map(|(n, _)| n.clone())
        .collect();
    let from = file.hosts.keys().next()?.clone();
    (!lost.is_empty()).then_some(TreeDoubt::CutOff { from, lost })
}

/// Returns whether a port at an end of the link listens or learns.
pub(crate) fn in_transition(views: &DeviceViews, link: &Link) -> bool {
    link.state != LinkState::Forwarding
        && [
            port_moves(&link.a, &link.a_port, views),
            port_moves(&link.b, &link.b_port, views),
        ]
        .contains(&Some(true))
}

fn port_moves(switch: &str, port: &str, views: &DeviceViews) -> Option<bool> {
    let view = views.get(switch)?;
    let index = interface(view, port)?.index;
    let port = view
        .bridge
        .as_ref()?
        .ports
        .iter()
        .find(|p| p.if_index == index)?;
    Some(matches!(
        port.state,
        Some(StpState::Listening | StpState::Learning)
    ))
}

pub(crate) fn interface<'a>(view: &'a DeviceView, name: &str) -> Option<&'a InterfaceRow> {
    view.interfaces.as_ref()?.iter().find(|i| i.name == name)
}

#[cfg(test)]
pub(crate) mod tests;
