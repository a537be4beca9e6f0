//! The places of hosts where the inventory lists no switch: hosts with addresses in one network are
//! on one bridge that nobody asked. Flows between the hosts tell what is behind it.
//!
//! A host is on the network that most hosts share, then on the one with the fastest cards, then on
//! the lowest. The MAC or network address that the inventory states for a host decides before.
use crate::acceptance::known::Known;
use crate::claims::{ClaimEnd, EndPort, slower};
use crate::draft::DraftLink;
use crate::facts::host_statements::own_addresses;
use crate::facts::{Facts, NodeIx};
use crate::readers::operator;
use inventory::BitsPerSec;
use inventory::address::{is_reached_from_elsewhere, network_of};
use inventory::alarm::{AlarmKind, HostNotFound};
use inventory::evidence::Evidence;
use inventory::host_report::Nic;
use inventory::topology::{LinkGrade, LinkState, NodeKind};
use inventory::topology_file::plain_name;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::net::IpAddr;

/// Behind fewer hosts there is no trunk to find.
const LEAST_UNKNOWN: usize = 3;

/// The first address of a network, and the length of its prefix.
type Network = (IpAddr, u8);

/// The cards of hosts in one network, by the hosts' nodes.
type NetworkCards<'f> = BTreeMap<NodeIx, &'f Nic>;

/// The links of all hosts to the bridge of their network, with an alarm for each bridge, and for
/// each host that shares no network.
pub(super) fn place_hosts(known: &mut Known<'_>) -> Vec<DraftLink> {
    let facts = known.facts;
    let networks = networks(facts);
    let mut placed: BTreeMap<Network, NetworkCards<'_>> = BTreeMap::new();
    for (host, _, _) in facts.hosts() {
        if operator::states_place_of(facts, host) {
            continue;
        }
        match best_network(&networks, host) {
            Some((network, card)) => {
                placed.entry(network).or_default().insert(host, card);
            }
            None => known.alarm(host, AlarmKind::HostUnfound(HostNotFound::SharesNoNetwork)),
        }
    }
    let on_bridge = |(network, cards)| on_bridge(known, network, &cards);
    placed.into_iter().flat_map(on_bridge).collect()
}

/// The networks in which at least two hosts have a card, each with an address of its own.
fn networks<'f>(facts: &'f Facts<'_>) -> BTreeMap<Network, NetworkCards<'f>> {
    // Bridges of virtual machines have the same address on every host.
    let owned: HashSet<(NodeIx, IpAddr)> = own_addresses(facts).into_iter().collect();
    let mut networks: BTreeMap<Network, NetworkCards<'f>> = BTreeMap::new();
    for (node, _, stated) in facts.hosts() {
        let Some(statement) = facts.host_statements.get(&node) else {
            continue;
        };
        let is_meant = |ip: IpAddr| stated.address.is_none_or(|address| address == ip);
        for card in statement.cards.iter().filter(|card| card.up) {
            let own = card.addresses.iter();
            let own = own.filter(|(ip, _)| owned.contains(&(node, *ip)) && is_meant(*ip));
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
    networks: &BTreeMap<Network, NetworkCards<'f>>,
    host: NodeIx,
) -> Option<(Network, &'f Nic)> {
    let own = networks
        .iter()
        .filter_map(|(network, cards)| Some((*network, cards, *cards.get(&host)?)));
    let order = |(network, cards, _): &(Network, &NetworkCards<'_>, &Nic)| {
        let rates = cards.values().filter_map(|card| card.rate);
        let slowest = rates.min().map_or(0, |rate| rate.0);
        (Reverse(cards.len()), Reverse(slowest), *network)
    };
    own.min_by_key(order)
        .map(|(network, _, card)| (network, card))
}

fn on_bridge(
    known: &mut Known<'_>,
    (address, prefix): Network,
    cards: &NetworkCards<'_>,
) -> Vec<DraftLink> {
    let network = format!("{address}/{prefix}");
    let mut name = plain_name(&format!("net-{address}-{prefix}"));
    let is_others = |node: NodeIx| known.kind(node) != NodeKind::Unmanaged;
    while known.facts.node_named(&name).is_some_and(is_others) {
        name.push('+');
    }
    let bridge = known.add_node(&name, NodeKind::Unmanaged);
    if cards.len() >= LEAST_UNKNOWN {
        let kind = AlarmKind::HostsInNetwork(network.clone(), cards.len());
        known.alarm(bridge, kind);
    }
    let link = |(host, card): (&NodeIx, &&Nic)| {
        let mut evidence = vec![Evidence::SharesNetwork(network.clone())];
        DraftLink {
            rate: slower([card.rate, None::<BitsPerSec>], &mut evidence),
            ends: [
                ClaimEnd::somewhere(bridge),
                ClaimEnd::new(*host, EndPort::Named(card.name.clone())),
            ],
            members: vec![],
            state: LinkState::Unknown,
            grade: LinkGrade::Inferred,
            evidence,
        }
    };
    cards.iter().map(link).collect()
}
