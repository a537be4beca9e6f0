//! The places of hosts where the inventory lists no switch: hosts with addresses in one network are
//! on one bridge that nobody asked. Flows between the hosts tell what is behind it. A host that hears
//! a switch is on that switch, and the switch is on the bridge; if all hosts of the network hear the
//! same one, there is no bridge. Networks that have a switch in common have one bridge.
//!
//! A host is on the network that most hosts share, then on the one with the fastest cards, then on
//! the lowest. The MAC or network address that the inventory states for a host decides before.
use super::announced_switches::{AnnouncedAttachment, announced_attachments};
use super::shared_ports::on_unmanaged_bridge;
use crate::acceptance::findings::Findings;
use crate::acceptance::known::Known;
use crate::claims::{ClaimEnd, EndPort, slower};
use crate::draft::{DraftLink, operator};
use crate::facts::host_statements::own_addresses;
use crate::facts::{Facts, NodeIx};
use inventory::BitsPerSec;
use inventory::address::{is_reached_from_elsewhere, network_of};
use inventory::alarm::AlarmKind;
use inventory::alarm::arguments::{HostNotFound, are_measurable};
use inventory::evidence::{AssumedRate, Evidence};
use inventory::host_report::Nic;
use inventory::topology::{LinkGrade, LinkState};
use inventory::topology_file::plain_name;
use petgraph::unionfind::UnionFind;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::net::IpAddr;

/// Behind fewer hosts there is no trunk to find.
const LEAST_UNKNOWN: usize = 3;

/// The first address of a network, and the length of its prefix.
type NetworkPrefix = (IpAddr, u8);

/// The cards of hosts in one network, by the hosts' nodes.
type NetworkCards<'f> = BTreeMap<NodeIx, &'f Nic>;

/// The hosts of networks that share a bridge.
#[derive(Default)]
struct BridgedHosts<'f> {
    networks: Vec<NetworkPrefix>,
    hosts: Vec<(NodeIx, &'f Nic, NetworkPrefix)>,
}

/// The links of all hosts to the switch that they hear, or to the bridge of their network, and of
/// these switches to the bridge, with an alarm for each bridge, and for each host that shares no
/// network.
pub(super) fn place_hosts(known: &Known<'_>, found: &mut Findings<'_, '_>) -> Vec<DraftLink> {
    let facts = known.facts;
    let networks = networks(facts);
    let mut placed: BTreeMap<NodeIx, (NetworkPrefix, &Nic)> = BTreeMap::new();
    for (host, _, _) in facts.hosts() {
        if operator::states_place_of(facts, host) {
            continue;
        }
        match best_network(&networks, host) {
            Some(place) => drop(placed.insert(host, place)),
            None => found.alarm(
                host,
                AlarmKind::HostUnfound {
                    why: HostNotFound::SharesNoNetwork,
                },
            ),
        }
    }
    // Bridges first, so that no switch takes the name of one.
    let mut bridges: BTreeMap<NetworkPrefix, NodeIx> = BTreeMap::new();
    for (network, _) in placed.values() {
        let bridge = bridges.entry(*network);
        bridge.or_insert_with(|| found.unmanaged_bridge(&bridge_name(*network)));
    }
    let cards = placed.iter().map(|(host, (_, card))| (*host, *card));
    let mut places = announced_attachments(facts, &cards.collect(), found);
    let mut links = Vec::new();
    for group in bridged(known, &placed, &mut places) {
        let bridge = bridges[&group.networks[0]];
        links.extend(place_group(facts, found, &group, (bridge, &mut places)));
    }
    links
}

/// The hosts on each bridge. A switch in several networks joins them, unless the operator states one
/// of their bridges, and therefore how they are joined: then the switch does not count.
fn bridged<'f>(
    known: &Known<'_>,
    placed: &BTreeMap<NodeIx, (NetworkPrefix, &'f Nic)>,
    places: &mut BTreeMap<NodeIx, AnnouncedAttachment>,
) -> Vec<BridgedHosts<'f>> {
    let networks: BTreeSet<NetworkPrefix> = placed.values().map(|(network, _)| *network).collect();
    let networks: Vec<NetworkPrefix> = networks.into_iter().collect();
    let number = |host: &NodeIx| networks.binary_search(&placed[host].0).unwrap_or_default();
    let mut of_switch: BTreeMap<NodeIx, BTreeSet<usize>> = BTreeMap::new();
    for (host, place) in &*places {
        of_switch
            .entry(place.end().node)
            .or_default()
            .insert(number(host));
    }
    let (foreign, own): (HashMap<_, _>, HashMap<_, _>) =
        of_switch.into_iter().partition(|(_, of)| {
            let bridges = of.iter().map(|network| bridge_name(networks[*network]));
            let mut stated = bridges.filter_map(|bridge| known.stated_bridge(&bridge));
            of.len() > 1 && stated.next().is_some()
        });
    places.retain(|_, place| !foreign.contains_key(&place.end().node));
    let mut joined = UnionFind::new(networks.len());
    for of in own.values() {
        for other in of {
            joined.union(of.first().copied().unwrap_or_default(), *other);
        }
    }
    let mut groups: BTreeMap<usize, BridgedHosts<'f>> = BTreeMap::new();
    for (place, network) in networks.iter().enumerate() {
        groups
            .entry(joined.find(place))
            .or_default()
            .networks
            .push(*network);
    }
    for (host, (network, card)) in placed {
        let group = groups.entry(joined.find(number(host))).or_default();
        group.hosts.push((*host, card, *network));
    }
    groups.into_values().collect()
}

fn bridge_name((address, prefix): NetworkPrefix) -> String {
    plain_name(&format!("net-{address}-{prefix}"))
}

/// The networks in which at least two hosts have a card, each with an address of its own.
fn networks<'f>(facts: &'f Facts<'_>) -> BTreeMap<NetworkPrefix, NetworkCards<'f>> {
    // Bridges of virtual machines have the same address on every host.
    let owned: HashSet<(NodeIx, IpAddr)> = own_addresses(facts).into_iter().collect();
    let mut networks: BTreeMap<NetworkPrefix, NetworkCards<'f>> = BTreeMap::new();
    for (node, _, stated) in facts.hosts() {
        let Some(statement) = facts.host_statements.get(&node) else {
            continue;
        };
        for card in statement.cards.iter().filter(|card| card.up) {
            let own = card.addresses.iter();
            let own = own.filter(|(ip, _)| {
                owned.contains(&(node, *ip)) && stated.address.is_none_or(|address| address == *ip)
            });
            for (ip, prefix) in own.filter(|address| is_reached_from_elsewhere(address)) {
                let network = (network_of(*ip, *prefix), *prefix);
                networks.entry(network).or_default().insert(node, card);
            }
        }
    }
    networks.retain(|_, cards| cards.len() > 1);
    networks
}

fn best_network<'f>(
    networks: &BTreeMap<NetworkPrefix, NetworkCards<'f>>,
    host: NodeIx,
) -> Option<(NetworkPrefix, &'f Nic)> {
    let own = networks
        .iter()
        .filter_map(|(network, cards)| Some((*network, cards, *cards.get(&host)?)));
    own.min_by_key(|(network, cards, _)| {
        let rates = cards.values().filter_map(|card| card.rate);
        let slowest = rates.min().map_or(0, |rate| rate.0);
        (Reverse(cards.len()), Reverse(slowest), *network)
    })
    .map(|(network, _, card)| (network, card))
}

/// The links of the hosts on a bridge, and of the switches that they hear.
fn place_group(
    facts: &Facts<'_>,
    found: &mut Findings<'_, '_>,
    group: &BridgedHosts<'_>,
    (bridge, places): (NodeIx, &mut BTreeMap<NodeIx, AnnouncedAttachment>),
) -> Vec<DraftLink> {
    let mut flat = Vec::new();
    let mut ports: BTreeMap<ClaimEnd, Vec<DraftLink>> = BTreeMap::new();
    let mut switches: BTreeMap<NodeIx, HeardSwitch> = BTreeMap::new();
    for (host, card, network) in &group.hosts {
        match places.remove(host) {
            Some(place) => {
                let switch = switches.entry(place.end().node).or_default();
                switch.networks.insert(*network);
                switch.fastest = switch.fastest.max(place.rate);
                ports
                    .entry(place.end().clone())
                    .or_default()
                    .push(place.link);
            }
            None => flat.push(on_bridge(bridge, *host, card, *network)),
        }
    }
    let is_whole = flat.is_empty() && switches.len() == 1 && !facts.is_stated(bridge);
    if group.hosts.len() >= LEAST_UNKNOWN && !is_whole {
        let networks: Vec<String> = group.networks.iter().map(written).collect();
        let kind = AlarmKind::HostsInNetwork {
            network: networks.join(" and "),
            are_measurable: are_measurable(group.hosts.len()),
            switches: switches.len(),
        };
        found.alarm(bridge, kind);
    }
    let mut links = flat;
    for (end, here) in ports {
        match here.len() > 1 && end.port.means_one() {
            true => links.extend(on_unmanaged_bridge(
                facts,
                found,
                &mut Vec::new(),
                (end, here),
            )),
            false => links.extend(here),
        }
    }
    let up = switches.iter().filter(|_| !is_whole);
    links.extend(up.map(|(node, switch)| switch.link(found, *node, bridge)));
    links
}

/// A switch that hosts hear.
#[derive(Default)]
struct HeardSwitch {
    networks: BTreeSet<NetworkPrefix>,
    /// The rate of its fastest host, if any is known.
    fastest: Option<BitsPerSec>,
}

impl HeardSwitch {
    /// Its way to the others, of which nothing tells the rate.
    fn link(&self, found: &Findings<'_, '_>, switch: NodeIx, bridge: NodeIx) -> DraftLink {
        let networks = self.networks.iter().map(written);
        let mut evidence: Vec<Evidence> = networks.map(Evidence::SharesNetwork).collect();
        let rate = slower([self.fastest, None], &mut evidence);
        if self.fastest.is_some() {
            let assumed = AssumedRate::AsFastestHost(found.name(switch).to_owned());
            evidence.push(Evidence::Rate(assumed));
        }
        DraftLink {
            rate,
            ends: [switch, bridge].map(ClaimEnd::somewhere),
            members: vec![],
            state: LinkState::Unknown,
            grade: LinkGrade::Inferred,
            evidence,
        }
    }
}

fn written((address, prefix): &NetworkPrefix) -> String {
    format!("{address}/{prefix}")
}

/// The link of a host that hears no switch.
fn on_bridge(bridge: NodeIx, host: NodeIx, card: &Nic, network: NetworkPrefix) -> DraftLink {
    let mut evidence = vec![Evidence::SharesNetwork(written(&network))];
    DraftLink {
        rate: slower([card.rate, None::<BitsPerSec>], &mut evidence),
        ends: [
            ClaimEnd::somewhere(bridge),
            ClaimEnd::new(host, EndPort::Named(card.name.clone())),
        ],
        members: vec![],
        state: LinkState::Unknown,
        grade: LinkGrade::Inferred,
        evidence,
    }
}
