//! The addresses of hosts' cards where there are several networks: an agent reports them, or a switch learned
//! a station at the host's port and an ARP table has the station's address.
//!
//! Source: own. Input: networks, links, agents' reports, forwarding databases, ARP tables. Guarantee: an
//! address by ARP is in the stated prefix of its network; no two hosts of a network have one address; where
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

/// Gives each network the addresses of its hosts. The alarms are about addresses that two hosts have.
pub(crate) fn add_addresses(
    facts: &Facts<'_>,
    links: &[Link],
    networks: &mut [Network],
) -> Vec<Alarm> {
    if networks.is_empty() {
        return Vec::new();
    }
    let (reports, resolved) = (AddressLookup::new(facts.views), resolved(facts));
    let mut by_switch: HashMap<&str, Vec<(NodeIx, &Link)>> = HashMap::new();
    for link in links.iter().filter(|link| link.carries_frames()) {
        if let Some(host) = facts.node_named(&link.b)
            && facts.is_host(host)
        {
            by_switch.entry(&link.a).or_default().push((host, link));
        }
    }
    let mut alarms = Vec::new();
    for network in networks {
        let mut hosts: BTreeMap<IpAddr, BTreeSet<&String>> = BTreeMap::new();
        for (host, link) in network
            .switches
            .iter()
            .flat_map(|s| by_switch.get(s.as_str()))
            .flatten()
        {
            let by_arp = || {
                let mut all = resolved.get(&station(facts, *host, link)?)?.iter();
                // IPv4 before IPv6, and then the lowest, as of an agent's card.
                all.find(|ip| network.prefix.is_none_or(|prefix| prefix.contains(*ip)))
            };
            let reported = reports.of(&link.b, &link.b_port);
            let address = reported.map(|(address, _)| address);
            if let Some(address) = address.or_else(|| by_arp().copied()) {
                hosts.entry(address).or_default().insert(&link.b);
            }
        }
        for (address, hosts) in hosts {
            let hosts: Vec<String> = hosts.into_iter().cloned().collect();
            match &hosts[..] {
                [host] => _ = network.addresses.insert(host.clone(), address),
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

/// The station that is the host's card on a link: the host's own one, or the only one at the switch's port.
fn station(facts: &Facts<'_>, host: NodeIx, link: &Link) -> Option<Mac> {
    let named = link.b_port.parse().ok();
    if named.is_some() {
        return named;
    }
    let device = &facts[facts.device_of(facts.node_named(&link.a)?)?];
    let port = device
        .ports
        .whole(device.ports.by_exact_name(&link.a_port)?);
    let behind = device.learned.behind(port);
    let known: BTreeSet<Mac> = facts.identity.macs_of_host(host).collect();
    let only = |mut macs: Vec<Mac>| macs.pop().filter(|_| macs.is_empty());
    let own = only(behind.clone().filter(|mac| known.contains(mac)).collect());
    own.or_else(|| only(behind.collect()))
}
