//! The addresses of hosts' cards where there are several networks: an agent reports them, or a switch learned
//! a station at the host's port and an ARP table has the station's address.
//!
//! Source: own. Input: networks, links, agents' reports, forwarding databases, ARP tables. Guarantee: an
//! address by ARP is in the stated prefix of its network; no two hosts of a network have one address; where
//! several stations are at a host's port and none is known to be the host's, it has none. Cost: one pass over
//! ARP tables, and one over the stations at hosts' ports, only where there are several networks.
use crate::facts::{Facts, NodeIx};
use crate::networks::switch_port;
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
    pub(crate) fn of<'s>(
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
    let (reports, resolved) = (AddressLookup::new(facts.views), resolved(facts));
    let mut alarms = Vec::new();
    for network in networks {
        let mut hosts: BTreeMap<IpAddr, BTreeSet<&String>> = BTreeMap::new();
        let carrying = ports.of(network).filter(|(_, link)| link.carries_frames());
        for (host, link) in carrying {
            // IPv4 before IPv6, and then the lowest, as of an agent's card.
            let by_arp = || resolved.get(&station(facts, *host, link)?);
            let is_own = |ip: &&IpAddr| network.prefix.is_none_or(|prefix| prefix.contains(*ip));
            let own: Vec<IpAddr> = match reports.of(&link.b, &link.b_port) {
                Some((address, _)) => vec![address],
                None => by_arp()
                    .into_iter()
                    .flatten()
                    .filter(is_own)
                    .copied()
                    .collect(),
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
                    subject: AlarmSubject::OneNetwork(network.name.clone()),
                    kind: AlarmKind::AddressShared(address, hosts),
                }),
            }
        }
    }
    alarms
}

/// The addresses of each station, by the ARP tables of all devices.
fn resolved(facts: &Facts<'_>) -> HashMap<Mac, BTreeSet<IpAddr>> {
    let mut resolved: HashMap<Mac, BTreeSet<IpAddr>> = HashMap::new();
    let rows = facts
        .views
        .values()
        .flat_map(|view| view.arp.iter().flatten());
    for row in rows.filter(|row| is_reached_from_elsewhere(&(row.ip, u8::MAX))) {
        resolved.entry(row.mac).or_default().insert(row.ip);
    }
    resolved
}

/// The stations that the switch learned at a host's port.
pub(crate) fn stations<'f>(
    facts: &'f Facts<'_>,
    link: &Link,
) -> impl Iterator<Item = Mac> + Clone + use<'f> {
    let learned = switch_port(facts, link).map(|(device, port)| {
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
    let only = |mut macs: Vec<Mac>| macs.pop().filter(|_| macs.is_empty());
    let behind = stations(facts, link);
    let own = only(behind.clone().filter(|mac| known.contains(mac)).collect());
    own.or_else(|| only(behind.collect()))
}
