//! What an inventory must not say.
use super::{Inventory, InventoryTiming};
use crate::address::AddressFault;
use crate::sanitize::{LABEL, is_label};
use crate::topology::LinkState;
use crate::topology_file::is_name;
use crate::units;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::time::Duration;

/// A contradiction and where the text shows it best.
#[derive(Debug, thiserror::Error)]
#[error("{problem}")]
pub(super) struct InventoryContradiction {
    pub(super) section: &'static str,
    pub(super) name: String,
    pub(super) problem: String,
}

impl Inventory {
    pub(super) fn contradiction(&self) -> Option<InventoryContradiction> {
        let at = |section, name: &str, problem| {
            Some(InventoryContradiction {
                section,
                name: name.to_owned(),
                problem,
            })
        };
        if self.switches.is_empty() {
            return at(
                "switches",
                "switches",
                "switches: none stated; expected at least one like s0: {address: 10.0.0.1}"
                    .to_owned(),
            );
        }
        for (section, name) in self
            .switches
            .keys()
            .map(|n| ("switches", n))
            .chain(self.hosts.keys().map(|n| ("hosts", n)))
        {
            if !is_name(name) {
                return at(
                    section,
                    name,
                    format!(
                        "name {name:?}: expected 1 to 64 letters, digits, \"-\", \"_\" or \".\""
                    ),
                );
            }
        }
        if let Some(name) = self.hosts.keys().find(|n| self.switches.contains_key(*n)) {
            return at(
                "hosts",
                name,
                format!(
                    "host \"{name}\": a switch has this name; every switch and host needs its own"
                ),
            );
        }
        for (name, host) in &self.hosts {
            if let Some((address, wrong)) = host
                .address
                .and_then(|a| Some((a, AddressFault::of_stated(a)?)))
            {
                return at(
                    "hosts",
                    name,
                    format!(
                        "host \"{name}\": address {address}: {wrong}; expected the host's own on \
                         the cluster network"
                    ),
                );
            }
        }
        for (name, switch) in &self.switches {
            if !self.snmp.contains_key(&switch.snmp) {
                let known = self
                    .snmp
                    .keys()
                    .map(String::as_str)
                    .collect::<Vec<_>>()
                    .join(", ");
                let known = if known.is_empty() {
                    "none, expected one like snmp: {default: {version: 2c, community: NAME}}"
                } else {
                    &known
                };
                return at(
                    "switches",
                    name,
                    format!(
                        "switch \"{name}\": unknown credential \"{}\"; known under snmp: {known}",
                        switch.snmp
                    ),
                );
            }
        }
        if let Some((a, b, address)) =
            shared(self.switches.iter().map(|(n, s)| (n, Some(s.address))))
        {
            return at(
                "switches",
                b,
                format!("switch \"{b}\": address {address} is that of switch \"{a}\" already"),
            );
        }
        if let Some((a, b, mac)) = shared(self.hosts.iter().map(|(n, h)| (n, h.mac))) {
            return at(
                "hosts",
                b,
                format!("host \"{b}\": MAC address {mac} is claimed by host \"{a}\" already"),
            );
        }
        if let Some((a, b, address)) = shared(self.hosts.iter().map(|(n, h)| (n, h.address))) {
            return at(
                "hosts",
                b,
                format!("host \"{b}\": address {address} is that of host \"{a}\" already"),
            );
        }
        for (name, host) in &self.hosts {
            if let Some(mac) = host.mac.filter(|m| !m.is_station()) {
                return at(
                    "hosts",
                    name,
                    format!("host \"{name}\": MAC address {mac} is none of a station"),
                );
            }
            if let Some(ranks) = host.ranks.filter(|r| !(1..=65_536).contains(r)) {
                return at(
                    "hosts",
                    name,
                    format!("host \"{name}\": ranks {ranks}: expected 1 to 65536"),
                );
            }
        }
        if let Some(contradiction) = self
            .cluster_contradiction()
            .or_else(|| self.box_contradiction())
            .or_else(|| self.link_contradiction())
        {
            return Some(contradiction);
        }
        self.timing
            .contradiction()
            .and_then(|(name, problem)| at("timing", name, problem))
    }

    /// Devices that cannot be asked have names of their own.
    fn box_contradiction(&self) -> Option<InventoryContradiction> {
        let mut seen: HashSet<&String> = self.switches.keys().chain(self.hosts.keys()).collect();
        for (section, name) in self
            .routers
            .iter()
            .map(|n| ("routers", n))
            .chain(self.unmanaged.iter().map(|n| ("unmanaged", n)))
        {
            let at = |problem| {
                Some(InventoryContradiction {
                    section,
                    name: name.clone(),
                    problem,
                })
            };
            if !is_name(name) {
                return at(format!(
                    "name {name:?}: expected 1 to 64 letters, digits, \"-\", \"_\" or \".\""
                ));
            }
            if !seen.insert(name) {
                return at(format!(
                    "{section}: name \"{name}\" is taken; every device needs its own"
                ));
            }
        }
        None
    }

    /// A link has two ends among what is listed, and a port holds one cable.
    fn link_contradiction(&self) -> Option<InventoryContradiction> {
        let inner = |n: &str| {
            self.switches.contains_key(n)
                || [&self.routers, &self.unmanaged]
                    .iter()
                    .any(|l| l.iter().any(|x| x == n))
        };
        let mut taken = HashSet::new();
        for link in &self.links {
            let name = format!("link {}-{}", link.a, link.b);
            let at = |end: &str, problem: String| {
                Some(InventoryContradiction {
                    section: "links",
                    name: end.to_owned(),
                    problem: format!("{name}: {problem}"),
                })
            };
            if !inner(&link.a) {
                return at(
                    &link.a,
                    format!(
                        "\"{}\" is none of switches, routers and unmanaged; a host comes second, \
                         as b",
                        link.a
                    ),
                );
            }
            if !inner(&link.b) && !self.hosts.contains_key(&link.b) {
                return at(
                    &link.b,
                    format!(
                        "\"{}\" is none of switches, routers, unmanaged and hosts",
                        link.b
                    ),
                );
            }
            if link.a == link.b {
                return at(&link.a, "both ends are the same device".to_owned());
            }
            if link.state == Some(LinkState::Unknown) {
                return at(
                    &link.a,
                    "state: expected forwarding or blocked; leave it out where it is as found"
                        .to_owned(),
                );
            }
            for (node, port) in link.ends() {
                if !is_label(port) {
                    return at(node, format!("port {port:?}: expected {LABEL}"));
                }
                // A host has one place, whatever its ports are called.
                let host = self.hosts.contains_key(node);
                if (host || !port.is_empty()) && !taken.insert((node, if host { "" } else { port }))
                {
                    return at(
                        node,
                        format!("\"{node}\" {port} is an end of another link already"),
                    );
                }
            }
        }
        None
    }

    /// A cluster is of hosts, and a host is in one.
    fn cluster_contradiction(&self) -> Option<InventoryContradiction> {
        let mut first = HashMap::new();
        for (cluster, hosts) in &self.clusters {
            let at = |problem| {
                Some(InventoryContradiction {
                    section: "clusters",
                    name: cluster.clone(),
                    problem,
                })
            };
            if !is_name(cluster) {
                return at(format!(
                    "cluster {cluster:?}: expected 1 to 64 letters, digits, \"-\", \"_\" or \".\""
                ));
            }
            for host in hosts {
                if !self.hosts.contains_key(host) {
                    return at(format!(
                        "cluster \"{cluster}\": unknown host \"{host}\"; list it under hosts"
                    ));
                }
                if let Some(other) = first.insert(host, cluster) {
                    return at(format!(
                        "cluster \"{cluster}\": host \"{host}\" is in cluster \"{other}\" \
                         already; each host is in one"
                    ));
                }
            }
        }
        None
    }
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

/// The first two names that have one value.
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

/// The line (from 1) where `name` is declared within a top-level section; `None` where the text
/// hides it.
pub(super) fn line_of(text: &str, section: &str, name: &str) -> Option<usize> {
    let bounded = |line: &str, word: &str| {
        line.match_indices(word).any(|(at, _)| {
            let outside =
                |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && !"-_.".contains(c));
            outside(line[..at].chars().next_back())
                && outside(line[at + word.len()..].chars().next())
        })
    };
    let within = text
        .lines()
        .enumerate()
        .skip_while(|(_, line)| !line.starts_with(section));
    let lines: Vec<_> = within
        .enumerate()
        .take_while(|(i, (_, l))| *i == 0 || !l.starts_with(|c: char| c.is_alphabetic()))
        .collect();
    lines
        .iter()
        .find(|(i, (_, line))| {
            (*i > 0 || name != section || lines.len() == 1) && bounded(line, name)
        })
        .or(lines.first())
        .map(|(_, (n, _))| n + 1)
}
