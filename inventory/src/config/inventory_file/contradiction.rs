//! Contradictions in an inventory.
use super::{Inventory, InventoryCable, InventoryTiming};
use crate::config::sanitize::{LABEL, is_label};
use crate::config::topology_file::is_name;
use crate::config::yaml::{PlaceStep, line_of};
use crate::model::address::AddressFault;
use crate::model::topology::LinkState;
use crate::model::{networks, units};
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::time::Duration;

/// A contradiction, and its best place in the text.
#[derive(Debug, thiserror::Error)]
#[error("{problem}")]
pub(super) struct InventoryContradiction {
    pub(super) section: &'static str,
    pub(super) name: String,
    /// The number of the link, from 0; links have no name.
    pub(super) link: Option<usize>,
    pub(super) problem: String,
}

impl InventoryContradiction {
    fn new(section: &'static str, name: &str, problem: String) -> InventoryContradiction {
        InventoryContradiction {
            section,
            name: name.to_owned(),
            link: None,
            problem,
        }
    }

    /// The line in the text of the inventory.
    pub(super) fn line(&self, text: &str) -> Option<usize> {
        let step = self
            .link
            .map_or(PlaceStep::Name(&self.name), PlaceStep::Item);
        line_of(text, &[PlaceStep::Name(self.section), step])
    }

    /// Checks that a name is valid.
    fn of_name(section: &'static str, name: &str) -> Option<InventoryContradiction> {
        (!is_name(name)).then(|| {
            let problem =
                format!("name {name:?}: expected 1 to 64 letters, digits, \"-\", \"_\" or \".\"");
            InventoryContradiction::new(section, name, problem)
        })
    }
}

impl Inventory {
    pub(super) fn contradiction(&self) -> Option<InventoryContradiction> {
        self.name_contradiction()
            .or_else(|| self.address_contradiction())
            .or_else(|| self.credential_contradiction())
            .or_else(|| self.duplicate_contradiction())
            .or_else(|| self.host_contradiction())
            .or_else(|| self.cluster_contradiction())
            .or_else(|| self.network_contradiction())
            .or_else(|| self.box_contradiction())
            .or_else(|| self.link_contradiction())
            .or_else(|| {
                let (name, problem) = self.timing.contradiction()?;
                Some(InventoryContradiction::new("timing", name, problem))
            })
    }

    fn network_contradiction(&self) -> Option<InventoryContradiction> {
        let stated = self.networks.iter();
        let networks = stated.map(|(name, network)| (name, Some(network.prefix)));
        let (name, problem) = networks::contradiction(networks)?;
        let problem = format!("network \"{name}\": {problem}");
        Some(InventoryContradiction::new("networks", name, problem))
    }

    /// Checks that there is a switch or a host, and that every switch and host has a name of its own.
    fn name_contradiction(&self) -> Option<InventoryContradiction> {
        if self.switches.is_empty() && self.hosts.is_empty() {
            return Some(InventoryContradiction::new(
                "switches",
                "switches",
                "switches: none stated, and no hosts; expected at least one like \
                 s0: {address: 10.0.0.1}, or, where no switch can be asked, hosts with agents"
                    .to_owned(),
            ));
        }
        let switches = self.switches.keys().map(|n| ("switches", n));
        let hosts = self.hosts.keys().map(|n| ("hosts", n));
        if let Some(contradiction) = switches
            .chain(hosts)
            .find_map(|(section, name)| InventoryContradiction::of_name(section, name))
        {
            return Some(contradiction);
        }
        let name = self.hosts.keys().find(|n| self.switches.contains_key(*n))?;
        let problem =
            format!("host \"{name}\": a switch has this name; every switch and host needs its own");
        Some(InventoryContradiction::new("hosts", name, problem))
    }

    /// Checks that the address of a host is one that a host can have.
    fn address_contradiction(&self) -> Option<InventoryContradiction> {
        self.hosts.iter().find_map(|(name, host)| {
            let address = host.address?;
            let wrong = AddressFault::of_stated(address)?;
            let problem = format!(
                "host \"{name}\": address {address}: {wrong}; expected the host's own on the \
                 cluster network"
            );
            Some(InventoryContradiction::new("hosts", name, problem))
        })
    }

    /// Checks that every switch names a credential of the file.
    fn credential_contradiction(&self) -> Option<InventoryContradiction> {
        let (name, switch) = self
            .switches
            .iter()
            .find(|(_, switch)| !self.snmp.contains_key(&switch.snmp))?;
        let names: Vec<&str> = self.snmp.keys().map(String::as_str).collect();
        let known = if names.is_empty() {
            "none, expected one like snmp: {default: {version: 2c, community: NAME}}".to_owned()
        } else {
            names.join(", ")
        };
        let problem = format!(
            "switch \"{name}\": unknown credential \"{}\"; known under snmp: {known}",
            switch.snmp
        );
        Some(InventoryContradiction::new("switches", name, problem))
    }

    /// Checks that no address is stated twice.
    fn duplicate_contradiction(&self) -> Option<InventoryContradiction> {
        let switches = self.switches.iter().map(|(n, s)| (n, Some(&s.address)));
        if let Some((a, b, address)) = shared(switches) {
            let problem =
                format!("switch \"{b}\": address {address} is that of switch \"{a}\" already");
            return Some(InventoryContradiction::new("switches", b, problem));
        }
        if let Some((a, b, mac)) = shared(self.hosts.iter().map(|(n, h)| (n, h.mac))) {
            let problem =
                format!("host \"{b}\": MAC address {mac} is claimed by host \"{a}\" already");
            return Some(InventoryContradiction::new("hosts", b, problem));
        }
        let (a, b, address) = shared(self.hosts.iter().map(|(n, h)| (n, h.address)))?;
        let problem = format!("host \"{b}\": address {address} is that of host \"{a}\" already");
        Some(InventoryContradiction::new("hosts", b, problem))
    }

    /// Checks that the MAC address of a host can belong to a station, and that its ranks are in
    /// bounds.
    fn host_contradiction(&self) -> Option<InventoryContradiction> {
        self.hosts.iter().find_map(|(name, host)| {
            let problem = if let Some(mac) = host.mac.filter(|m| !m.is_station()) {
                format!("host \"{name}\": MAC address {mac} is none of a station")
            } else {
                let ranks = host.ranks.filter(|r| !(1..=65_536).contains(r))?;
                format!("host \"{name}\": ranks {ranks}: expected 1 to 65536")
            };
            Some(InventoryContradiction::new("hosts", name, problem))
        })
    }

    /// Checks that devices that cannot be asked have names of their own.
    fn box_contradiction(&self) -> Option<InventoryContradiction> {
        let mut seen: HashSet<&String> = self.switches.keys().chain(self.hosts.keys()).collect();
        for (section, name) in self
            .routers
            .iter()
            .map(|n| ("routers", n))
            .chain(self.unmanaged.iter().map(|n| ("unmanaged", n)))
        {
            if let Some(contradiction) = InventoryContradiction::of_name(section, name) {
                return Some(contradiction);
            }
            if !seen.insert(name) {
                let problem =
                    format!("{section}: name \"{name}\" is taken; every device needs its own");
                return Some(InventoryContradiction::new(section, name, problem));
            }
        }
        None
    }

    /// Checks that a link has two ends among the listed devices, and that a port holds one cable.
    fn link_contradiction(&self) -> Option<InventoryContradiction> {
        let mut taken = HashSet::new();
        for (number, link) in self.links.iter().enumerate() {
            if let Some((end, problem)) = self.misplaced_end(link) {
                return of_link(end, problem, number, link);
            }
            if link.state == Some(LinkState::Unknown) {
                return of_link(
                    &link.a,
                    "state: expected forwarding or blocked; leave it out where it is as found"
                        .to_owned(),
                    number,
                    link,
                );
            }
            for (node, port) in link.ends() {
                if !is_label(port) {
                    return of_link(
                        node,
                        format!("port {port:?}: expected {LABEL}"),
                        number,
                        link,
                    );
                }
                // A host has one place, whatever the names of its ports.
                let host = self.hosts.contains_key(node);
                if (host || !port.is_empty()) && !taken.insert((node, if host { "" } else { port }))
                {
                    return of_link(
                        node,
                        format!("\"{node}\" {port} is an end of another link already"),
                        number,
                        link,
                    );
                }
            }
        }
        None
    }

    /// An end of a link that is not allowed there, and the reason.
    fn misplaced_end<'l>(&self, link: &'l InventoryCable) -> Option<(&'l str, String)> {
        let (a, b) = (link.a.as_str(), link.b.as_str());
        if !self.is_inner(a) {
            let problem = format!(
                "\"{a}\" is none of switches, routers and unmanaged; a host comes second, as b"
            );
            return Some((a, problem));
        }
        if !self.is_inner(b) && !self.hosts.contains_key(b) {
            let problem = format!("\"{b}\" is none of switches, routers, unmanaged and hosts");
            return Some((b, problem));
        }
        (a == b).then(|| (a, "both ends are the same device".to_owned()))
    }

    fn is_inner(&self, n: &str) -> bool {
        self.switches.contains_key(n) || self.routers.iter().chain(&self.unmanaged).any(|x| x == n)
    }

    /// Checks that a cluster consists of hosts, and that a host is in one cluster only.
    fn cluster_contradiction(&self) -> Option<InventoryContradiction> {
        let mut first = HashMap::new();
        for (cluster, hosts) in &self.clusters {
            if !is_name(cluster) {
                return of_cluster(
                    format!(
                        "cluster {cluster:?}: expected 1 to 64 letters, digits, \"-\", \"_\" or \".\""
                    ),
                    cluster,
                );
            }
            for host in hosts {
                if !self.hosts.contains_key(host) {
                    return of_cluster(
                        format!(
                            "cluster \"{cluster}\": unknown host \"{host}\"; list it under hosts"
                        ),
                        cluster,
                    );
                }
                if let Some(other) = first.insert(host, cluster) {
                    return of_cluster(
                        format!(
                            "cluster \"{cluster}\": host \"{host}\" is in cluster \"{other}\" \
                         already; each host is in one"
                        ),
                        cluster,
                    );
                }
            }
        }
        None
    }
}

fn of_link(
    end: &str,
    problem: String,
    number: usize,
    link: &InventoryCable,
) -> Option<InventoryContradiction> {
    let problem = format!("link {}-{}: {problem}", link.a, link.b);
    let contradiction = InventoryContradiction::new("links", end, problem);
    Some(InventoryContradiction {
        link: Some(number),
        ..contradiction
    })
}

fn of_cluster(problem: String, cluster: &str) -> Option<InventoryContradiction> {
    Some(InventoryContradiction::new("clusters", cluster, problem))
}

impl InventoryTiming {
    fn contradiction(&self) -> Option<(&'static str, String)> {
        let hour = Duration::from_secs(3600);
        for (name, value, least) in [
            ("hold_down", self.hold_down, 0),
            ("poll", self.poll, 10),
            ("full", self.full, 100),
            ("timeout", self.timeout, 1),
        ] {
            if value < Duration::from_millis(least) || value > hour {
                return Some((
                    name,
                    format!(
                        "timing {name}: {}: expected {least}ms to 1h",
                        units::duration::show(value)
                    ),
                ));
            }
        }
        (self.retries > 16).then(|| {
            (
                "retries",
                format!("timing retries: {}: expected 0 to 16", self.retries),
            )
        })
    }
}

/// The first two names that have the same value.
fn shared<'a, K: Eq + Hash + Copy>(
    items: impl Iterator<Item = (&'a String, Option<K>)>,
) -> Option<(&'a String, &'a String, K)> {
    let mut owner = HashMap::new();
    for (name, key) in items {
        let Some(key) = key else { continue };
        if let Some(first) = owner.insert(key, name) {
            return Some((first, name, key));
        }
    }
    None
}
