//! The topology file of the contract: stated switches, hosts and cables.
mod contradiction;
mod division;
mod host;
mod written;

pub use host::{CardSpread, FurtherCard, TopologyHost};

use crate::config::input_form::ExpectedForm;
use crate::config::yaml;
use crate::model::link_state::LinkState;
use crate::model::networks::UnknownNetwork;
use crate::model::stages::{StageCable, StagedNetwork};
use crate::model::tree::{Tree, TreeError};
use crate::{BitsPerSec, Bytes};
use indexmap::IndexMap;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::num::NonZeroU8;
use std::time::Duration;
use written::WrittenTopology;

pub use crate::config::input_file_error::InputFileError;
pub use crate::model::node_names::{is_name, is_network_name, plain_name};

/// A topology file, checked: every name is unique, every reference resolves. Of several networks it is the
/// main one, to which its hosts' links can bring most, and has the others.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "WrittenTopology", into = "WrittenTopology")]
pub struct TopologyFile {
    /// The name of the network, if there are several.
    pub name: Option<String>,
    /// The prefix of its addresses, where it is stated.
    pub prefix: Option<IpNet>,
    /// The octets that a port of each of its switches holds at least, where that is stated.
    pub queue: Option<Bytes>,
    /// Switch names. In the lab the first one becomes the STP root bridge.
    pub switches: Vec<String>,
    /// Router names. Routers divide the network into parts with a spanning tree each. Usually there
    /// are none.
    pub routers: Vec<String>,
    /// Hosts by name, in rank order.
    pub hosts: IndexMap<String, TopologyHost>,
    /// Cables between switches, between routers, and from one to the other.
    pub links: Vec<TopologyCable>,
    /// Boxes that act as one switch, by its name.
    pub pairs: IndexMap<String, Vec<String>>,
    /// Clusters by name; empty: one cluster, found from the network.
    pub clusters: IndexMap<String, Vec<String>>,
    /// The other networks by name; none has others.
    pub networks: IndexMap<String, TopologyFile>,
}

/// A cable between two switches or routers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TopologyCable {
    /// One end.
    pub a: String,
    /// The other.
    pub b: String,
    /// The rate; that of all cables of an aggregate together.
    pub rate: BitsPerSec,
    /// The cables of an aggregate, or one.
    pub cables: NonZeroU8,
    /// The time that a bit takes through the cable, in each direction: about 5 us per kilometre of
    /// fibre.
    pub delay: Duration,
    /// The state of the link. Stated links forward unless marked `blocked`.
    pub state: Option<LinkState>,
    /// The address that answers at each end, where that routes.
    pub addresses: [Option<IpAddr>; 2],
}

impl TopologyCable {
    /// A single short cable that forwards.
    pub fn new(a: String, b: String, rate: BitsPerSec) -> TopologyCable {
        TopologyCable {
            a,
            b,
            rate,
            cables: NonZeroU8::MIN,
            delay: Duration::ZERO,
            state: None,
            addresses: [None; 2],
        }
    }
}

/// The rate of a cable if the file states none.
pub fn gigabit() -> BitsPerSec {
    BitsPerSec::GIGABIT
}

/// The ranks of a host if the file states no number.
pub fn one() -> u32 {
    1
}

impl TopologyFile {
    /// Reads a topology file; `file` is used only in messages.
    ///
    /// # Errors
    /// [`InputFileError`] for a text that is not a topology file or contradicts itself. A loop or a
    /// part without connection is not an error here, because the lab needs both;
    /// [`TopologyFile::tree`] reports it.
    pub fn parse(file: &str, text: &str) -> Result<TopologyFile, InputFileError> {
        let written: WrittenTopology =
            yaml::read(file, text).map_err(|e| e.of_form(text, ExpectedForm::Topology))?;
        TopologyFile::checked(&written, file, text)
    }

    /// Reads the topology of a plan, whose cables may name ports; `file` is used only in messages.
    ///
    /// # Errors
    /// See [`TopologyFile::parse`].
    pub fn parse_plan(file: &str, text: &str) -> Result<TopologyFile, InputFileError> {
        let mut plan = yaml::read(file, text)?;
        written::drop_ports(&mut plan);
        let read: Result<WrittenTopology, _> = serde_yaml::from_value(plan);
        let written = read.map_err(|error| InputFileError::yaml(file, &error))?;
        TopologyFile::checked(&written, file, text)
    }

    fn checked(
        written: &WrittenTopology,
        file: &str,
        text: &str,
    ) -> Result<TopologyFile, InputFileError> {
        let divided = written
            .divided()
            .map_err(|found| found.in_text(file, text))?;
        match divided.contradiction() {
            None => Ok(divided),
            Some(found) => Err(found.in_text(file, text)),
        }
    }

    /// Reads a topology file whose links must be one tree in each network.
    ///
    /// # Errors
    /// [`InputFileError`] as of [`TopologyFile::parse`], and with the line for links that are no
    /// tree.
    pub fn parse_tree(file: &str, text: &str) -> Result<(TopologyFile, Tree), InputFileError> {
        let parsed = TopologyFile::parse(file, text)?;
        for network in parsed.networks.values() {
            network
                .tree()
                .map_err(|error| network.no_tree(&error).in_text(file, text))?;
        }
        let tree = parsed
            .tree()
            .map_err(|error| parsed.no_tree(&error).in_text(file, text))?;
        Ok((parsed, tree))
    }

    /// This network and the others.
    pub fn all_networks(&self) -> impl Iterator<Item = &TopologyFile> {
        std::iter::once(self).chain(self.networks.values())
    }

    /// This network without the others.
    #[must_use]
    pub fn alone(&self) -> TopologyFile {
        TopologyFile {
            name: self.name.clone(),
            prefix: self.prefix,
            queue: self.queue,
            switches: self.switches.clone(),
            routers: self.routers.clone(),
            hosts: self.hosts.clone(),
            links: self.links.clone(),
            pairs: self.pairs.clone(),
            clusters: self.clusters.clone(),
            networks: IndexMap::new(),
        }
    }

    /// The network of this name alone.
    pub fn in_network(mut self, name: &str) -> Result<TopologyFile, UnknownNetwork> {
        if self.name.as_deref() == Some(name) {
            self.networks.clear();
            return Ok(self);
        }
        self.networks.swap_remove(name).ok_or_else(|| {
            let known = self
                .all_networks()
                .filter_map(|network| network.name.clone());
            UnknownNetwork::new(name, known.collect())
        })
    }

    /// The network in which a host has this address, or whose prefix it has.
    pub fn network_of(&self, address: IpAddr) -> Option<&TopologyFile> {
        let by_host = self.all_networks().find(|network| {
            let mut addresses = network.hosts.values().flat_map(TopologyHost::addresses);
            addresses.any(|own| own == address)
        });
        by_host.or_else(|| {
            self.all_networks()
                .find(|network| network.prefix.is_some_and(|own| own.contains(&address)))
        })
    }

    /// The sum of its hosts' links, and the number of hosts.
    fn capacity(&self) -> (u128, usize) {
        let cards = self.hosts.values().flat_map(TopologyHost::cards);
        let rates = cards.map(|(_, rate)| u128::from(rate.0));
        (rates.sum(), self.hosts.len())
    }

    /// True if both ends of the cable are in this network.
    fn has_ends_of(&self, cable: &TopologyCable) -> bool {
        let mut ends = [&cable.a, &cable.b].into_iter();
        ends.all(|end| self.switches.contains(end) || self.routers.contains(end))
    }

    /// Switches and routers, the inner nodes of the network.
    pub fn inner(&self) -> impl Iterator<Item = &str> {
        self.switches
            .iter()
            .chain(&self.routers)
            .map(String::as_str)
    }

    /// The tree of the links that carry frames: those without a state, and those stated as
    /// `forwarding` or `multipath`. Routers are inner nodes of it, like switches; what is side by side is one
    /// node ([`stages`](crate::model::stages)).
    ///
    /// # Errors
    /// See [`TreeError`].
    pub fn tree(&self) -> Result<Tree, TreeError> {
        Ok(self.staged().tree()?.with_queue(self.queue))
    }

    /// Its hosts, switches and the links that carry frames.
    pub fn staged(&self) -> StagedNetwork<'_> {
        let trunks = self
            .links
            .iter()
            .filter(|link| {
                let state = link.state.unwrap_or(LinkState::Forwarding);
                matches!(state, LinkState::Forwarding | LinkState::Multipath)
            })
            .map(|link| StageCable {
                a: &link.a,
                b: &link.b,
                rate: link.rate,
                is_way: link.state == Some(LinkState::Multipath),
                parts: link.cables,
            });
        let uplinks = self.hosts.iter().flat_map(|(name, host)| {
            host.cards().map(|(switch, rate)| StageCable {
                a: name,
                b: switch,
                rate,
                is_way: !host.further_cards.is_empty(),
                parts: NonZeroU8::MIN,
            })
        });
        StagedNetwork {
            hosts: self
                .hosts
                .iter()
                .map(|(n, h)| (n.as_str(), h.ranks))
                .collect(),
            switches: self.inner().collect(),
            cables: trunks.chain(uplinks).collect(),
            pairs: (self.pairs.iter())
                .map(|(name, own)| (name.as_str(), own.iter().map(String::as_str).collect()))
                .collect(),
        }
    }

    /// The file as text, readable by [`TopologyFile::parse`].
    pub fn to_yaml(&self) -> String {
        serde_yaml::to_string(self)
            .unwrap_or_else(|e| unreachable!("plain maps and strings always serialize: {e}"))
    }
}

impl TryFrom<WrittenTopology> for TopologyFile {
    type Error = String;

    fn try_from(written: WrittenTopology) -> Result<TopologyFile, String> {
        written.divided().map_err(|found| found.problem())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "switches: [s0, s1]\nhosts:\n  n0: {switch: s0}\n  n1: \
                        {switch: s1, rate: 100M, ranks: 2}\nlinks:\n  - \
                        {a: s0, b: s1, rate: 10G}\n";

    #[test]
    fn names_what_is_expected_as_it_is_written() {
        for (text, expected) in [
            ("everything", "a map with switches, hosts and links"),
            ("switches: [s0]\nhosts: {n0: s0}", "a map like {switch: s0}"),
            (
                "switches: [s0]\nhosts: {}\nlinks: [s0-s1]",
                "a map like {a: s0, b: s1}",
            ),
        ] {
            let message = TopologyFile::parse("t.yaml", text).unwrap_err().to_string();
            assert!(
                message.ends_with(&format!("expected {expected}")),
                "{message}"
            );
        }
    }

    #[test]
    fn mistakes_of_a_first_day_are_reported_with_their_line() {
        for (text, message) in [
            (
                "switches:\n  s0: {address: 10.0.0.1}\nsnmp: {default: {version: 2c, community: \
                 public}}\nhosts: [n0]\n",
                "t.yaml: this is an inventory, which names switches to ask; expected a topology",
            ),
            (
                "switches: {s0: {}}\nhosts: {n0: {switch: s0}}",
                "t.yaml:1: switches: a map stands here; expected a list of names, like [s0, s1]",
            ),
            (
                "\u{feff}switches: [s0]\nhosts: {n0: {switch: s1}}",
                "t.yaml:2: host \"n0\"",
            ),
            ("", "t.yaml: the file is empty"),
            (
                "switches: [s0, s1]\nhosts:\n  n0: {switch: s0}\nlinks:\n- {a: s0, b: s1}\n\
                 - {a: s1, b: s0}\n",
                "t.yaml:6: two links join s0 and s1, and both forward",
            ),
            (
                "switches: [s0, s1]\nhosts:\n  n0: {switch: s0}\nlinks:\n- {a: s0, b: n0}\n",
                "t.yaml:5: link s0-n0: \"n0\" is a host; links join switches",
            ),
            (
                "switches: [s0,\n  s1]\nhosts:\n  n0: {switch: s0}\n",
                "t.yaml:2: \"s1\" cannot be reached from \"s0\"",
            ),
            (
                "switches: [s0]\nhosts: {}\nlinks: []\n",
                "t.yaml:2: topology has no host",
            ),
        ] {
            let error = TopologyFile::parse_tree("t.yaml", text).unwrap_err();
            assert!(error.to_string().starts_with(message), "{text:?}: {error}");
        }
    }

    #[test]
    fn reads_the_contract_form_and_writes_it_back() {
        let t = TopologyFile::parse("t.yaml", GOOD).unwrap();
        assert_eq!(t.hosts["n0"].rate, BitsPerSec::GIGABIT);
        assert_eq!(t.hosts["n1"].ranks, 2);
        assert_eq!(TopologyFile::parse("t.yaml", &t.to_yaml()).unwrap(), t);
        assert_eq!(t.tree().unwrap().hosts(), 2);
    }

    #[test]
    fn an_aggregate_keeps_its_cables() {
        let text = GOOD.replace("rate: 10G", "rate: 10G, cables: 2");
        let t = TopologyFile::parse("t.yaml", &text).unwrap();
        assert_eq!(TopologyFile::parse("t.yaml", &t.to_yaml()).unwrap(), t);
        let tree = t.tree().unwrap();
        let cables = (0..tree.nodes()).flat_map(|node| tree.member_cables(node));
        let flows: Vec<u64> = cables.map(|cable| cable.flow_rate().0).collect();
        assert_eq!(flows, [5_000_000_000]);
        for wrong in ["0", "256", "-1"] {
            let text = text.replace("cables: 2", &format!("cables: {wrong}"));
            assert!(TopologyFile::parse("t.yaml", &text).is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_file_line_and_expectation() {
        assert!(
            parse_error("switches: [s0]\nhosts:\n  n0: {swich: s0}\n").contains("t.yaml:3"),
            "{}",
            parse_error("switches: [s0]\nhosts:\n  n0: {swich: s0}\n")
        );
        assert!(parse_error("switches: [s0\n").starts_with("t.yaml:"));
        assert!(
            parse_error("switches: [s0]\nhosts: {n0: {switch: s1}}")
                .contains("unknown switch \"s1\"")
        );
        assert!(parse_error("switches: [s0, s0]\nhosts: {}").contains("twice"));
        assert!(parse_error("switches: [s0]\nhosts: {s0: {switch: s0}}").contains("twice"));
        assert!(parse_error("switches: [s0]\nhosts: {n0: {switch: s0, rate: 0}}").contains("rate"));
        assert_eq!(
            parse_error("switches: [s0]\nhosts: {n0: {switch: s0, address: 255.255.255.255}}"),
            "t.yaml:2: host \"n0\": address 255.255.255.255: a broadcast address; expected the \
             host's own, by which other ranks reach it"
        );
        assert!(
            TopologyFile::parse(
                "t.yaml",
                "switches: [s0]\nhosts: {n0: {switch: s0, address: 127.0.0.1}}"
            )
            .is_ok()
        );
        assert!(
            parse_error("switches: [s0]\nhosts: {n0: {switch: s0}, n0: {switch: s0}}")
                .contains("n0")
        );
        assert!(parse_error("switches: [\"s\\e31m\"]\nhosts: {}").contains("letters"));
        let odd = parse_error("switches: [\"s\\e[31m\"]\nhosts: {}");
        assert!(
            odd.contains("brackets do not pair") && !odd.contains('\u{1b}'),
            "{odd}"
        );
    }

    fn parse_error(text: &str) -> String {
        TopologyFile::parse("t.yaml", text).unwrap_err().to_string()
    }

    #[test]
    fn names_may_be_ranges() {
        let text = "switches: ['s[0-1]']\nhosts:\n  n[00-02]: {switch: s0, ranks: 2}\n  m: \
                    {switch: s1}\nlinks: [{a: s0, b: s1}]\nclusters: {west: ['n[00-02]']}\n";
        let file = TopologyFile::parse("t.yaml", text).unwrap();
        assert_eq!(file.switches, ["s0", "s1"]);
        assert_eq!(
            file.hosts.keys().collect::<Vec<_>>(),
            ["n00", "n01", "n02", "m"]
        );
        assert_eq!(file.hosts["n02"].ranks, 2);
        assert_eq!(file.clusters["west"].len(), 3);
        assert_eq!(
            TopologyFile::parse("t.yaml", &file.to_yaml()),
            Ok(file),
            "written out"
        );
        let twice = error_of_hosts("  n[0-2]: {switch: s0}");
        assert!(
            twice.starts_with("t.yaml:4:") && twice.contains("\"n1\" declared twice"),
            "{twice}"
        );
        for (hosts, problem) in [
            ("  n[5-9]:", "host \"n5\": expected its switch"),
            (
                "  n[5-9]: {switch: s0, address: 10.0.0.1}",
                "5 hosts have one address",
            ),
            ("  n[5-99999]: {switch: s0}", "more than 65536 names"),
        ] {
            assert!(
                error_of_hosts(hosts).contains(problem),
                "{}",
                error_of_hosts(hosts)
            );
        }
    }

    fn error_of_hosts(hosts: &str) -> String {
        let text = format!("switches: [s0]\nhosts:\n  n1: {{switch: s0}}\n{hosts}\n");
        TopologyFile::parse("t.yaml", &text)
            .unwrap_err()
            .to_string()
    }

    const SITES: &str = "switches: [s0, s1]\nrouters: [r0, r1]\nhosts: \
        {n0: {switch: s0, delay: 100us}, n1: {switch: s1}, n2: {switch: r1}}\nlinks: \
        [{a: s0, b: r0}, {a: r0, b: r1, rate: 10M, delay: 10ms}, {a: r1, b: s1}]\nclusters: {west: [n0], east: [n1, n2]}\n";

    #[test]
    fn routers_are_inner_nodes_and_cables_have_a_delay() {
        let t = TopologyFile::parse("t.yaml", SITES).unwrap();
        assert_eq!(
            (t.links[1].delay, t.hosts["n0"].delay),
            (Duration::from_millis(10), Duration::from_micros(100))
        );
        assert_eq!(t.links[0].delay, Duration::ZERO);
        assert_eq!(TopologyFile::parse("t.yaml", &t.to_yaml()).unwrap(), t);
        let tree = t.tree().unwrap();
        assert_eq!((tree.hosts(), tree.nodes()), (3, 7));
        let plain = TopologyFile::parse("t.yaml", GOOD).unwrap().to_yaml();
        assert!(
            !plain.contains("routers") && !plain.contains("delay"),
            "{plain}"
        );
    }

    #[test]
    fn refuses_routers_and_delays_that_make_no_sense() {
        assert_eq!(
            error_of_sites("a: s0, b: r0", "a: s0, b: r7"),
            "t.yaml:4: link s0-r7: \"r7\" is neither switch nor router; known switches: s0, s1; \
             known routers: r0, r1"
        );
        assert!(
            error_of_sites("[r0, r1]", "[r0, r1, r2]")
                .contains("router \"r2\": no link ends at it")
        );
        assert!(error_of_sites("[r0, r1]", "[r0, r1, s1]").contains("name \"s1\" declared twice"));
        assert!(error_of_sites("b: s1}]", "b: r1}]").contains("both ends are the same router"));
        assert!(
            error_of_sites("switch: r1", "switch: n0")
                .contains("host \"n2\": \"n0\" is neither switch nor router")
        );
        assert!(
            error_of_sites("delay: 10ms", "delay: 1001ms")
                .contains("link r0-r1: delay 1001ms: expected at most 1s")
        );
        assert!(
            error_of_sites("delay: 100us", "delay: 2s")
                .contains("host \"n0\": delay 2s: expected at most 1s")
        );
        for bad in ["10", "-1ms", "1.5ms", "fast"] {
            assert!(
                error_of_sites("delay: 10ms", &format!("delay: {bad}"))
                    .contains("a time with its unit"),
                "{bad}"
            );
        }
    }

    fn error_of_sites(from: &str, to: &str) -> String {
        TopologyFile::parse("t.yaml", &SITES.replace(from, to))
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn a_loop_is_reported_when_the_tree_is_asked_for() {
        let text = "switches: [s0, s1, s2]\nhosts: {n0: {switch: s0}}\nlinks: [{a: s0, b: s1}, \
                    {a: s1, b: s2}, {a: s2, b: s0}]";
        let t = TopologyFile::parse("t.yaml", text).unwrap();
        assert!(t.tree().unwrap_err().to_string().contains("loop"));
        let open = text.replace("{a: s2, b: s0}", "{a: s2, b: s0, state: blocked}");
        assert_eq!(
            TopologyFile::parse("t.yaml", &open)
                .unwrap()
                .tree()
                .unwrap()
                .nodes(),
            4
        );
    }
}
