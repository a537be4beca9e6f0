//! The names that an operator gives networks by the prefixes of their addresses.
//!
//! Source: own. Input: networks, ARP tables, what agents say of hosts' cards. Guarantee: a stated name
//! goes to the network with the most addresses of its prefix, and to one only. If that network has another
//! name already, both are on the same cards: tagged VLANs, or several addresses of one card. Cost: one pass
//! over ARP tables and forwarding databases, only where an operator names networks.
use crate::facts::Facts;
use crate::host_addresses::{self, HostPorts};
use indexmap::IndexMap;
use inventory::Mac;
use inventory::alarm::{Alarm, AlarmKind, AlarmSubject};
use inventory::device_view::DeviceViews;
use inventory::networks::{Network, StatedNetwork};
use inventory::topology::Link;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

/// Names the networks, and adds those on the cards of others, without hosts yet. Gives an alarm for each
/// stated one of which no address is seen.
pub(crate) fn named(
    stated: &IndexMap<String, StatedNetwork>,
    facts: &Facts<'_>,
    links: &[Link],
    networks: &mut Vec<Network>,
) -> Vec<Alarm> {
    if stated.is_empty() {
        return Vec::new();
    }
    let addresses = addresses(facts.views);
    let ports = HostPorts::new(facts, links);
    let by_network = networks
        .iter()
        .map(|network| match network.vlans.is_empty() {
            true => stations(facts.views, network),
            // Databases of shared switches have the stations of all their VLANs.
            false => {
                let links = ports.in_network(network);
                let behind = links.flat_map(|(_, link)| host_addresses::stations(facts, link));
                behind.collect()
            }
        });
    let stations: Vec<HashSet<Mac>> = by_network.collect();
    let mut alarms = Vec::new();
    // The most addresses first: a wrong ARP row names no network.
    let mut matches = Vec::new();
    for (name, StatedNetwork { prefix }) in stated {
        let within = addresses.iter().filter(|(ip, _)| prefix.contains(*ip));
        let own: Vec<&HashSet<Mac>> = within.map(|(_, macs)| macs).collect();
        if own.is_empty() {
            alarms.push(Alarm {
                subject: AlarmSubject::other(name),
                kind: AlarmKind::NetworkUnseen { prefix: *prefix },
            });
            continue;
        }
        for (number, stations) in stations.iter().enumerate() {
            let own = own.iter().filter(|macs| !macs.is_disjoint(stations));
            let count = own.count();
            matches.push((Reverse(count), number, name));
        }
    }
    matches.sort();
    name(stated, matches, networks);
    alarms
}

/// Gives names by the number of addresses of each stated network in each of the networks.
fn name(
    stated: &IndexMap<String, StatedNetwork>,
    matches: Vec<(Reverse<usize>, usize, &String)>,
    networks: &mut Vec<Network>,
) {
    let mut taken: HashSet<&String> = HashSet::new();
    let mut is_named = vec![false; networks.len()];
    for &(Reverse(count), number, name) in &matches {
        if count > 0 && !is_named[number] && taken.insert(name) {
            is_named[number] = true;
            let network = &mut networks[number];
            network.name.clone_from(name);
            network.prefix = Some(stated[name].prefix);
        }
    }
    for (Reverse(count), number, name) in matches {
        // One address may be a wrong ARP row.
        if count > 1 && taken.insert(name) {
            networks.push(Network {
                name: name.clone(),
                prefix: Some(stated[name].prefix),
                hosts: Vec::new(),
                ..networks[number].clone()
            });
        }
    }
}

/// Gives the networks on the cards of others the hosts with an address there. Those of less than two hosts
/// are left out; where one network is left, there are not several.
pub(crate) fn add_hosts(networks: &mut Vec<Network>) {
    networks.retain_mut(|network| {
        let has_own_cards = !network.hosts.is_empty();
        if !has_own_cards {
            network.hosts = network.addresses.keys().cloned().collect();
        }
        has_own_cards || network.hosts.len() > 1
    });
    if networks.len() < 2 {
        networks.clear();
    }
}

/// The stations with each address, by ARP tables and agents.
fn addresses(views: &DeviceViews) -> HashMap<IpAddr, HashSet<Mac>> {
    let mut addresses: HashMap<IpAddr, HashSet<Mac>> = HashMap::new();
    for view in views.values() {
        for row in view.arp.iter().flatten() {
            addresses.entry(row.ip).or_default().insert(row.mac);
        }
        for card in view.host.iter().flat_map(|report| &report.nics) {
            for (address, _) in &card.addresses {
                addresses.entry(*address).or_default().extend(card.mac);
            }
        }
    }
    addresses
}

/// The stations that the switches of a network learned.
fn stations(views: &DeviceViews, network: &Network) -> HashSet<Mac> {
    let views = network
        .switches
        .iter()
        .filter_map(|switch| views.get(switch));
    let rows = views.flat_map(|view| view.fdb.iter().flatten());
    rows.map(|row| row.mac).collect()
}
