//! A topology file as it is written: one list of switches, hosts and links for all networks.
//!
//! ```yaml
//! switches: [d1, m1]
//! hosts:
//!   n0: {cards: [{switch: d1, network: data, rate: 25G}, {switch: m1, network: management}]}
//! networks: {data: {prefix: 10.1.0.0/16}, management: {prefix: 10.2.0.0/16}}
//! ```
//!
use super::{CardSpread, TopologyCable, TopologyFile, TopologyHost, gigabit, one};
use crate::config::ranged_keys::{self, RangedEntry};
use crate::config::unique_keys;
use crate::model::topology::LinkState;
use crate::model::units;
use crate::{BitsPerSec, Bytes};
use indexmap::{IndexMap, IndexSet};
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use serde_yaml::Value;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::num::NonZeroU8;
use std::time::Duration;

#[derive(Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a map with switches, hosts and links"
)]
pub(super) struct WrittenTopology {
    #[serde(deserialize_with = "ranged_keys::list")]
    pub(super) switches: Vec<String>,
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "ranged_keys::list"
    )]
    pub(super) routers: Vec<String>,
    #[serde(deserialize_with = "ranged_keys::map")]
    pub(super) hosts: IndexMap<String, WrittenHost>,
    #[serde(default)]
    pub(super) links: Vec<WrittenLink>,
    #[serde(
        default,
        skip_serializing_if = "IndexMap::is_empty",
        deserialize_with = "ranged_keys::groups"
    )]
    pub(super) pairs: IndexMap<String, Vec<String>>,
    #[serde(
        default,
        skip_serializing_if = "IndexMap::is_empty",
        deserialize_with = "ranged_keys::groups"
    )]
    pub(super) clusters: IndexMap<String, Vec<String>>,
    #[serde(
        default,
        skip_serializing_if = "IndexMap::is_empty",
        deserialize_with = "unique_keys::map"
    )]
    pub(super) networks: IndexMap<String, WrittenNetwork>,
    /// Of each network that states none.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "units::size::optional"
    )]
    pub(super) queue: Option<Bytes>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a map like {prefix: 10.1.0.0/16}")]
pub(super) struct WrittenNetwork {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) prefix: Option<IpNet>,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "units::size::optional"
    )]
    pub(super) queue: Option<Bytes>,
}

/// A host with its only card, or with several.
#[derive(Default, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a map like {switch: s0}")]
pub(super) struct WrittenHost {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    switch: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    network: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rate: Option<BitsPerSec>,
    #[serde(
        default,
        skip_serializing_if = "Duration::is_zero",
        with = "units::duration"
    )]
    delay: Duration,
    #[serde(default = "one")]
    pub(super) ranks: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    address: Option<IpAddr>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) cards: Vec<WrittenCard>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) bond: Option<WrittenBond>,
    /// The number of cards, where each has an address of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) rails: Option<usize>,
}

/// Cards that are one aggregate.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum WrittenBond {
    Lacp,
}

/// A card of a host with several.
#[derive(Clone, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a map like {switch: s0, network: data}"
)]
pub(super) struct WrittenCard {
    pub(super) switch: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) network: Option<String>,
    #[serde(default = "gigabit")]
    pub(super) rate: BitsPerSec,
    #[serde(
        default,
        skip_serializing_if = "Duration::is_zero",
        with = "units::duration"
    )]
    pub(super) delay: Duration,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) address: Option<IpAddr>,
}

/// Leaves out the ports of cables, which only plans have.
pub(super) fn drop_ports(plan: &mut Value) {
    let hosts = plan.get_mut("hosts").and_then(Value::as_mapping_mut);
    for (_, host) in hosts.into_iter().flatten() {
        drop_keys(host, &["port"]);
        let cards = host.get_mut("cards").and_then(Value::as_sequence_mut);
        for card in cards.into_iter().flatten() {
            drop_keys(card, &["port"]);
        }
    }
    let links = plan.get_mut("links").and_then(Value::as_sequence_mut);
    for link in links.into_iter().flatten() {
        drop_keys(link, &["a_port", "b_port"]);
    }
}

fn drop_keys(entry: &mut Value, keys: &[&str]) {
    if let Some(entry) = entry.as_mapping_mut() {
        entry.retain(|key, _| key.as_str().is_none_or(|key| !keys.contains(&key)));
    }
}

impl RangedEntry for WrittenHost {
    type Written = WrittenHost;

    fn spread(written: Option<WrittenHost>, names: &[String]) -> Result<Vec<WrittenHost>, String> {
        let name = names.first().map_or("", String::as_str);
        let host = written
            .filter(|host| host.switch.is_some() || !host.cards.is_empty())
            .ok_or_else(|| {
                format!("host \"{name}\": expected its switch, as in {name}: {{switch: s0}}")
            })?;
        let is_one_card = host.switch.is_some()
            || host.network.is_some()
            || host.rate.is_some()
            || host.address.is_some();
        if is_one_card && !host.cards.is_empty() {
            return Err(format!(
                "host \"{name}\": cards beside a switch, rate, network or address; write these with \
                 each card"
            ));
        }
        if host.bond.is_some() && host.rails.is_some() {
            return Err(format!(
                "host \"{name}\": bond and rails; its cards have one address, or one each"
            ));
        }
        let mut addresses = host.cards.iter().map(|card| card.address);
        if names.len() > 1 && addresses.any(|a| a.is_some()) | host.address.is_some() {
            return Err(format!(
                "host \"{name}\" and what follows: {} hosts have one address; expected each host \
                 with its own",
                names.len()
            ));
        }
        Ok(vec![host; names.len()])
    }
}

impl WrittenHost {
    /// Its cards, the only one or all.
    pub(super) fn all_cards(&self) -> Vec<WrittenCard> {
        match &self.switch {
            Some(switch) => vec![WrittenCard {
                switch: switch.clone(),
                network: self.network.clone(),
                rate: self.rate.unwrap_or_else(gigabit),
                delay: self.delay,
                address: self.address,
            }],
            None => self.cards.clone(),
        }
    }
}

/// A cable; `network` names the only one that uses it, where its ends are in several.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a map like {a: s0, b: s1}")]
pub(super) struct WrittenLink {
    pub(super) a: String,
    pub(super) b: String,
    #[serde(default = "gigabit")]
    rate: BitsPerSec,
    #[serde(default = "one_cable", skip_serializing_if = "is_one_cable")]
    cables: NonZeroU8,
    #[serde(
        default,
        skip_serializing_if = "Duration::is_zero",
        with = "units::duration"
    )]
    delay: Duration,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    state: Option<LinkState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    a_address: Option<IpAddr>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    b_address: Option<IpAddr>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) network: Option<String>,
}

fn one_cable() -> NonZeroU8 {
    NonZeroU8::MIN
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields so")]
fn is_one_cable(cables: &NonZeroU8) -> bool {
    *cables == NonZeroU8::MIN
}

impl WrittenLink {
    pub(super) fn new(cable: &TopologyCable, network: Option<String>) -> WrittenLink {
        let TopologyCable {
            a,
            b,
            rate,
            cables,
            delay,
            state,
            addresses: [a_address, b_address],
        } = cable.clone();
        WrittenLink {
            a,
            b,
            rate,
            cables,
            delay,
            state,
            a_address,
            b_address,
            network,
        }
    }

    pub(super) fn cable(&self) -> TopologyCable {
        TopologyCable {
            a: self.a.clone(),
            b: self.b.clone(),
            rate: self.rate,
            cables: self.cables,
            delay: self.delay,
            state: self.state,
            addresses: [self.a_address, self.b_address],
        }
    }
}

impl From<TopologyFile> for WrittenTopology {
    fn from(file: TopologyFile) -> WrittenTopology {
        let mut written = WrittenTopology {
            switches: Vec::new(),
            routers: Vec::new(),
            hosts: IndexMap::new(),
            links: Vec::new(),
            pairs: IndexMap::new(),
            clusters: file.clusters.clone(),
            networks: IndexMap::new(),
            queue: file.queue.filter(|_| file.networks.is_empty()),
        };
        let parts: Vec<CablesOfNetwork<'_>> =
            file.all_networks().map(CablesOfNetwork::new).collect();
        for number in 0..parts.len() {
            written.add(number, &parts);
        }
        written
    }
}

/// A network, and how often it has each cable.
struct CablesOfNetwork<'f> {
    file: &'f TopologyFile,
    inner: HashSet<&'f str>,
    counts: HashMap<&'f TopologyCable, usize>,
}

impl<'f> CablesOfNetwork<'f> {
    fn new(file: &'f TopologyFile) -> CablesOfNetwork<'f> {
        let mut counts = HashMap::new();
        for cable in &file.links {
            *counts.entry(cable).or_default() += 1;
        }
        CablesOfNetwork {
            file,
            inner: file.inner().collect(),
            counts,
        }
    }

    fn has_ends_of(&self, cable: &TopologyCable) -> bool {
        [&cable.a, &cable.b]
            .iter()
            .all(|end| self.inner.contains(end.as_str()))
    }

    fn count(&self, cable: &TopologyCable) -> usize {
        self.counts.get(cable).copied().unwrap_or_default()
    }
}

impl WrittenTopology {
    /// Adds the network with this number among all.
    fn add(&mut self, number: usize, all: &[CablesOfNetwork<'_>]) {
        let part = all[number].file;
        let network = part.name.clone();
        if let Some(name) = network.clone() {
            let (prefix, queue) = (part.prefix, part.queue);
            self.networks.insert(name, WrittenNetwork { prefix, queue });
        }
        add_missing(&mut self.switches, &part.switches);
        add_missing(&mut self.routers, &part.routers);
        let pairs = part.pairs.iter();
        self.pairs
            .extend(pairs.map(|(name, boxes)| (name.clone(), boxes.clone())));
        for (name, host) in &part.hosts {
            let written = self.hosts.entry(name.clone()).or_default();
            written.add(host, network.clone());
        }
        for cable in &part.links {
            let count = all[number].count(cable);
            let mut with_ends = (0..all.len()).filter(|other| all[*other].has_ends_of(cable));
            let is_first = with_ends.clone().next() == Some(number);
            // A network with both ends and without this link must not get it back.
            let is_for_all = with_ends.all(|other| all[other].count(cable) == count);
            if is_first || !is_for_all {
                let own = network.clone().filter(|_| !is_for_all);
                self.links.push(WrittenLink::new(cable, own));
            }
        }
    }
}

fn add_missing(names: &mut Vec<String>, others: &[String]) {
    // Of one network there are no doubles, and a large one has many names.
    if names.is_empty() {
        names.extend_from_slice(others);
        return;
    }
    let mut known: IndexSet<String> = names.drain(..).collect();
    known.extend(others.iter().cloned());
    names.extend(known);
}

impl WrittenHost {
    fn add(&mut self, host: &TopologyHost, network: Option<String>) {
        self.ranks = host.ranks;
        let card = WrittenCard {
            switch: host.switch.clone(),
            network: network.clone(),
            rate: host.rate,
            delay: host.delay,
            address: host.address,
        };
        if card.network.is_some() || !host.further_cards.is_empty() {
            self.cards.push(card);
            self.add_further(host, network);
            return;
        }
        (self.switch, self.rate) = (Some(card.switch), Some(card.rate));
        (self.delay, self.address) = (card.delay, card.address);
    }

    /// The other cards on the same network.
    fn add_further(&mut self, host: &TopologyHost, network: Option<String>) {
        if host.further_cards.is_empty() {
            return;
        }
        match host.spread {
            CardSpread::Lacp => self.bond = Some(WrittenBond::Lacp),
            CardSpread::Rails => self.rails = Some(host.further_cards.len() + 1),
        }
        let further = host.further_cards.iter().map(|card| WrittenCard {
            switch: card.switch.clone(),
            network: network.clone(),
            rate: card.rate,
            delay: host.delay,
            address: card.address,
        });
        self.cards.extend(further);
    }
}
