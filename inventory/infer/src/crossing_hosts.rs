//! Hosts that pass frames or packets from one network to another.
//!
//! Source: own. Input: networks with addresses, links, forwarding databases, probed paths. Guarantee: a host
//! is taken to be a bridge if a station that is another host's card in one network was learned at the
//! host's port in another network, and to be a router if probes met its address. Cost: one pass over the
//! stations at hosts' ports and one over probed paths, only where there are several networks.
use crate::facts::{Facts, NodeIx};
use crate::host_addresses::{HostPorts, station, stations};
use inventory::Mac;
use inventory::alarm::{Alarm, AlarmKind};
use inventory::networks::Network;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

/// The hosts with cards in several networks, by their addresses.
pub(crate) type RoutingHosts = HashMap<IpAddr, String>;

/// An alarm for each host behind which stations of another network were learned.
pub(crate) fn bridging(
    facts: &Facts<'_>,
    ports: &HostPorts<'_>,
    networks: &[Network],
) -> Vec<Alarm> {
    let mut owners: HashMap<Mac, (NodeIx, usize)> = HashMap::new();
    for (number, network) in networks.iter().enumerate() {
        for (host, link) in ports.in_network(network) {
            if let Some(card) = station(facts, *host, link) {
                owners.insert(card, (*host, number));
            }
        }
    }
    let mut joined: BTreeMap<&str, [&str; 2]> = BTreeMap::new();
    for (number, network) in networks.iter().enumerate() {
        for (host, link) in ports.in_network(network) {
            let foreign = stations(facts, link).find_map(|mac| {
                let (owner, other) = owners.get(&mac)?;
                (owner != host && *other != number).then_some(*other)
            });
            if let Some(other) = foreign {
                let mut names = [network.name.as_str(), networks[other].name.as_str()];
                names.sort_unstable();
                joined.insert(&link.b, names);
            }
        }
    }
    joined
        .into_iter()
        .map(|(host, networks)| {
            Alarm::node(
                host,
                AlarmKind::HostBridges {
                    networks: networks.map(str::to_owned),
                },
            )
        })
        .collect()
}

/// The hosts that may route between the networks, by address.
pub(crate) fn routing_hosts(networks: &[Network]) -> RoutingHosts {
    let mut cards: HashMap<&String, usize> = HashMap::new();
    for host in networks.iter().flat_map(|network| &network.hosts) {
        *cards.entry(host).or_default() += 1;
    }
    let all = networks.iter().flat_map(|network| &network.addresses);
    let several = all.filter(|(host, _)| cards.get(host).is_some_and(|count| *count > 1));
    let each = several.flat_map(|(host, all)| all.iter().map(move |ip| (*ip, host.clone())));
    each.collect()
}

/// An alarm for each host whose address probes met on the way between two others.
pub(crate) fn routing(facts: &Facts<'_>, hosts: &RoutingHosts) -> Vec<Alarm> {
    let mut met: BTreeMap<&String, AlarmKind> = BTreeMap::new();
    let reports = facts.views.values().filter_map(|view| view.host.as_ref());
    for report in reports.filter(|_| !hosts.is_empty()) {
        for path in &report.paths {
            for (address, host) in path
                .hops
                .iter()
                .flatten()
                .filter_map(|ip| hosts.get_key_value(ip))
            {
                met.entry(host).or_insert_with(|| AlarmKind::HostRoutes {
                    address: *address,
                    between: [report.host.clone(), path.to.clone()],
                });
            }
        }
    }
    met.into_iter()
        .map(|(host, kind)| Alarm::node(host, kind))
        .collect()
}
