//! The addresses of hosts' cards where there are several networks: an agent reports them, or a switch learned
//! a station at the host's port and an ARP table, or an agent, has the station's address.
//!
//! Source: own. Input: networks, links, agents' reports, forwarding databases, ARP tables. Guarantee: an
//! address is in the stated prefix of its network; no two hosts of a network have one address; where
//! several stations are at a host's port and none is known to be the host's, it has none. Cost: one pass over
//! ARP tables, and one over the stations at hosts' ports, only where there are several networks.
use crate::facts::{Facts, NodeIx};
use inventory::Mac;
use inventory::address::{AddressLookup, is_reached_from_elsewhere};
use inventory::alarm::{Alarm, AlarmKind, AlarmSubject};
use inventory::networks::Network;
use inventory::topology::Link;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

/// The links of hosts, by switch.
pub(crate) struct HostPorts<'l>(HashMap<&'l str, Vec<(NodeIx, &'l Link)>>);

impl<'l> HostPorts<'l> {
    pub(crate) fn new(facts: &Facts<'_>, links: &'l [Link]) -> HostPorts<'l> {
        let mut ports: HashMap<&str, Vec<(NodeIx, &Link)>> = HashMap::new();
        for link in links {
            if let Some(host) = facts.node_named(&link.b)
                && facts.is_host(host)
            {
                ports.entry(&link.a).or_default().push((host, link));
            }
        }
        HostPorts(ports)
    }

    /// Those of a network.
    pub(crate) fn in_network<'s>(
        &'s self,
        network: &'s Network,
    ) -> impl Iterator<Item = &'s (NodeIx, &'l Link)> {
        let switches = network.switches.iter();
        switches
            .filter_map(|switch| self.0.get(switch.as_str()))
            .flatten()
            .filter(|(_, link)| network.has_link(link))
    }
}

/// Gives each network the addresses of its hosts. The alarms are about addresses that two hosts have.
pub(crate) fn add_addresses(
    facts: &Facts<'_>,
    ports: &HostPorts<'_>,
    networks: &mut [Network],
) -> Vec<Alarm> {
    let (reports, by_station) = (AddressLookup::new(facts.views), by_station(facts));
    let mut alarms = Vec::new();
    for network in networks {
        let mut hosts: BTreeMap<IpAddr, BTreeSet<&String>> = BTreeMap::new();
        let carrying = ports
            .in_network(network)
            .filter(|(_, link)| link.carries_frames());
        for (host, link) in carrying {
            let is_own = |ip: &IpAddr| network.prefix.is_none_or(|prefix| prefix.contains(ip));
            let own: Vec<IpAddr> = match reports.at_card(&link.b, &link.b_port) {
                Some((address, _)) if is_own(&address) => vec![address],
                _ => {
                    // IPv4 before IPv6, and then the lowest, as of an agent's card.
                    let station = station(facts, *host, link);
                    let all = station.and_then(|mac| by_station.get(&mac)).into_iter();
                    all.flatten().filter(|ip| is_own(ip)).copied().collect()
                }
            };
            for address in own {
                hosts.entry(address).or_default().insert(&link.b);
            }
        }
        for (address, hosts) in hosts {
            let hosts: Vec<String> = hosts.into_iter().cloned().collect();
            match &hosts[..] {
                [host] => network
                    .addresses
                    .entry(host.clone())
                    .or_default()
                    .push(address),
                _ => alarms.push(Alarm {
                    subject: AlarmSubject::other(&network.name),
                    kind: AlarmKind::AddressShared { address, hosts },
                }),
            }
        }
    }
    alarms
}

/// The addresses of each station, by the ARP tables of all devices, and by the agents of hosts.
fn by_station(facts: &Facts<'_>) -> HashMap<Mac, BTreeSet<IpAddr>> {
    let views = facts.views.values();
    let rows = views.clone().flat_map(|view| view.arp.iter().flatten());
    let resolved = rows.map(|row| (row.mac, (row.ip, u8::MAX)));
    let cards = views.flat_map(|view| view.host.iter().flat_map(|report| &report.nics));
    let reported = cards.flat_map(|card| {
        let addresses = card.addresses.iter().copied();
        card.mac
            .into_iter()
            .flat_map(move |mac| addresses.clone().map(move |own| (mac, own)))
    });
    let mut by_station: HashMap<Mac, BTreeSet<IpAddr>> = HashMap::new();
    for (mac, address) in resolved.chain(reported) {
        if is_reached_from_elsewhere(&address) {
            by_station.entry(mac).or_default().insert(address.0);
        }
    }
    by_station
}

/// The stations that the switch learned at a host's port.
pub(crate) fn stations<'f>(
    facts: &'f Facts<'_>,
    link: &Link,
) -> impl Iterator<Item = Mac> + Clone + use<'f> {
    let learned = facts.switch_port(link).map(|(device, port)| {
        let own = &facts[device];
        own.learned.behind(own.ports.whole(port))
    });
    learned.into_iter().flatten()
}

/// The station that is the host's card on a link: the host's own one, or the only one at the switch's port.
pub(crate) fn station(facts: &Facts<'_>, host: NodeIx, link: &Link) -> Option<Mac> {
    let named = link.b_port.parse().ok();
    if named.is_some() {
        return named;
    }
    let known: BTreeSet<Mac> = facts.identity.macs_of_host(host).collect();
    let behind = stations(facts, link);
    let own = behind.clone().filter(|mac| known.contains(mac));
    only(own).or_else(|| only(behind))
}

/// The station, if there is exactly one.
fn only(mut stations: impl Iterator<Item = Mac>) -> Option<Mac> {
    stations.next().filter(|_| stations.next().is_none())
}
