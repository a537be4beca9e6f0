//! From a topology file as it is written to each network by itself.
//!
//! A network has the switches that links join to those of its cards; a switch or a link may be in several.
use super::contradiction::TopologyContradiction;
use super::written::{WrittenBond, WrittenCard, WrittenHost, WrittenTopology};
use super::{CardSpread, FurtherCard, TopologyFile, TopologyHost};
use crate::counted;
use crate::model::networks::contradiction;
use indexmap::IndexMap;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

impl WrittenTopology {
    /// Each network by itself, in the main one.
    ///
    /// # Errors
    /// A card or a link whose network is not clear, or networks that contradict each other.
    pub(super) fn divided(&self) -> Result<TopologyFile, TopologyContradiction<'_>> {
        self.check_networks()?;
        self.check_links()?;
        let hosts = self.hosts_by_network()?;
        if self.networks.is_empty() {
            let hosts = hosts.into_iter().next().unwrap_or_default();
            return Ok(TopologyFile {
                switches: self.switches.clone(),
                routers: self.routers.clone(),
                links: self.links.iter().map(|link| link.cable()).collect(),
                pairs: self.pairs.clone(),
                clusters: self.clusters.clone(),
                queue: self.queue,
                hosts,
                ..TopologyFile::default()
            });
        }
        let mut parts: Vec<TopologyFile> = (self.networks.iter())
            .zip(hosts)
            .map(|((name, network), hosts)| TopologyFile {
                name: Some(name.clone()),
                prefix: network.prefix,
                queue: network.queue.or(self.queue),
                ..self.part(name, hosts)
            })
            .collect();
        self.check_reach(&parts)?;
        // Of networks that are equally fast the first is the main one.
        let main = (0..parts.len()).max_by_key(|&n| (parts[n].capacity(), Reverse(n)));
        let mut whole = parts.remove(main.unwrap_or_default());
        self.add_unreached(&mut whole, &parts);
        whole.clusters = self.clusters.clone();
        let named = parts
            .into_iter()
            .filter_map(|part| Some((part.name.clone()?, part)));
        whole.networks = named.collect();
        Ok(whole)
    }

    /// Switches that belong to no network are an error of the main one.
    fn add_unreached(&self, main: &mut TopologyFile, others: &[TopologyFile]) {
        let reached: HashSet<String> = others
            .iter()
            .chain([&*main])
            .flat_map(|part| part.inner().map(str::to_owned))
            .collect();
        main.switches.extend(unreached(&self.switches, &reached));
        main.routers.extend(unreached(&self.routers, &reached));
        let links = self
            .links
            .iter()
            .filter(|link| !reached.contains(&link.a) || !reached.contains(&link.b));
        main.links.extend(links.map(|link| link.cable()));
    }

    /// All that links join to the switches of these hosts.
    fn part(&self, network: &str, hosts: IndexMap<String, TopologyHost>) -> TopologyFile {
        let own_links: Vec<_> = self
            .links
            .iter()
            .filter(|link| link.network.as_ref().is_none_or(|own| own == network))
            .collect();
        let mut near: HashMap<&str, Vec<&str>> = HashMap::new();
        for link in &own_links {
            near.entry(&link.a).or_default().push(&link.b);
            near.entry(&link.b).or_default().push(&link.a);
        }
        let mut reached = HashSet::new();
        let cards = hosts.values().flat_map(TopologyHost::cards);
        let mut open: Vec<&str> = cards.map(|(switch, _)| switch).collect();
        while let Some(node) = open.pop() {
            if reached.insert(node) {
                open.extend(near.get(node).into_iter().flatten());
            }
        }
        let links = own_links
            .iter()
            .filter(|link| reached.contains(link.a.as_str()) && reached.contains(link.b.as_str()));
        TopologyFile {
            switches: reached_of(&self.switches, &reached),
            routers: reached_of(&self.routers, &reached),
            links: links.map(|link| link.cable()).collect(),
            pairs: (self.pairs.iter())
                .filter(|(_, boxes)| boxes.iter().any(|name| reached.contains(name.as_str())))
                .map(|(name, boxes)| (name.clone(), boxes.clone()))
                .collect(),
            hosts: hosts.clone(),
            ..TopologyFile::default()
        }
    }

    fn check_networks(&self) -> Result<(), TopologyContradiction<'_>> {
        let networks = self.networks.iter();
        let found = contradiction(networks.map(|(name, network)| (name, network.prefix)));
        found.map_or(Ok(()), |(name, problem)| {
            Err(TopologyContradiction::of_network(name, problem))
        })
    }

    fn check_links(&self) -> Result<(), TopologyContradiction<'_>> {
        for (number, link) in self.links.iter().enumerate() {
            if let Some(network) = &link.network
                && !self.networks.contains_key(network)
            {
                let (cable, problem) = (link.cable(), self.unknown_network(network));
                return Err(TopologyContradiction::of_link(number, &cable, &problem));
            }
        }
        Ok(())
    }

    /// A link that names its network is between switches of that one.
    fn check_reach(&self, parts: &[TopologyFile]) -> Result<(), TopologyContradiction<'_>> {
        for (number, link) in self.links.iter().enumerate() {
            let part = parts.iter().find(|part| part.name == link.network);
            if part.is_some_and(|part| !part.has_ends_of(&link.cable())) {
                let name = link.network.as_deref().unwrap_or_default();
                let problem = format!("no card of network \"{name}\" is behind it");
                return Err(TopologyContradiction::of_link(
                    number,
                    &link.cable(),
                    &problem,
                ));
            }
        }
        Ok(())
    }

    fn unknown_network(&self, network: &str) -> String {
        if self.networks.is_empty() {
            return format!(
                "network \"{network}\": the file names no networks; list it, as in networks: \
                 {{{network}: {{prefix: 10.1.0.0/16}}}}"
            );
        }
        let names = self.networks.keys().map(String::as_str);
        let known = names.collect::<Vec<_>>().join(", ");
        format!("unknown network \"{network}\"; known networks: {known}")
    }

    /// The hosts of each network, in the order of the written networks; of the only one, if the file names
    /// none.
    fn hosts_by_network(
        &self,
    ) -> Result<Vec<IndexMap<String, TopologyHost>>, TopologyContradiction<'_>> {
        let mut networks = vec![IndexMap::new(); self.networks.len().max(1)];
        let mut addresses: HashMap<IpAddr, (&str, usize)> = HashMap::new();
        for (name, host) in &self.hosts {
            for card in host.all_cards() {
                let network = self
                    .network_of(&card)
                    .map_err(|p| TopologyContradiction::of_host(name, p))?;
                if let Some(address) = card.address
                    && let Some((other, theirs)) = addresses.insert(address, (name, network))
                    && theirs != network
                {
                    let problem = format!(
                        "address {address}: host \"{other}\" has it in another network; each card has \
                         its own"
                    );
                    return Err(TopologyContradiction::of_host(name, problem));
                }
                let hosts = &mut networks[network];
                let Some(first) = hosts.get_mut(name) else {
                    hosts.insert(name.clone(), host.with_card(card));
                    continue;
                };
                let Some(spread) = host.spread() else {
                    let problem = "two cards in one network: expected one card in each, or bond: lacp \
                                   or rails: 2 if flows spread over them";
                    return Err(TopologyContradiction::of_host(name, problem));
                };
                first.spread = spread;
                first.further_cards.push(FurtherCard {
                    switch: card.switch,
                    rate: card.rate,
                    address: card.address,
                });
            }
            if let Some(rails) = host.rails.filter(|rails| *rails != host.cards.len()) {
                let cards = host.cards.len();
                let problem = format!("rails: {rails}, but {}", counted(cards as u64, "card"));
                return Err(TopologyContradiction::of_host(name, problem));
            }
        }
        let empty = networks.iter().position(IndexMap::is_empty);
        match empty.and_then(|empty| self.networks.get_index(empty)) {
            Some((name, _)) => Err(TopologyContradiction::of_network(
                name,
                "no host has a card in it; add one, or leave the network out".to_owned(),
            )),
            None => Ok(networks),
        }
    }

    /// The number of a card's network: that which it names, or whose prefix its address has.
    fn network_of(&self, card: &WrittenCard) -> Result<usize, String> {
        let by_address = card.address.and_then(|address| {
            let networks = self.networks.values();
            let mut prefixes = networks.map(|n| n.prefix.filter(|p| p.contains(&address)));
            prefixes.position(|prefix| prefix.is_some())
        });
        let Some(name) = &card.network else {
            let is_only = self.networks.len() < 2;
            return by_address.or(is_only.then_some(0)).ok_or_else(|| {
                format!(
                    "the network of its card at {} is not clear; add network: NAME, or an address with \
                     its prefix",
                    card.switch
                )
            });
        };
        let found = self.networks.get_index_of(name);
        let number = found.ok_or_else(|| self.unknown_network(name))?;
        let prefix = self.networks[number].prefix;
        match (card.address, prefix) {
            (Some(address), Some(prefix)) if !prefix.contains(&address) => Err(format!(
                "address {address} is not in {prefix}, the prefix of network \"{name}\""
            )),
            _ => Ok(number),
        }
    }
}

fn unreached(names: &[String], reached: &HashSet<String>) -> Vec<String> {
    let lone = names.iter().filter(|name| !reached.contains(*name));
    lone.cloned().collect()
}

fn reached_of(names: &[String], reached: &HashSet<&str>) -> Vec<String> {
    let own = names.iter().filter(|name| reached.contains(name.as_str()));
    own.cloned().collect()
}

impl WrittenHost {
    fn with_card(&self, card: WrittenCard) -> TopologyHost {
        TopologyHost {
            delay: card.delay,
            ranks: self.ranks,
            address: card.address,
            ..TopologyHost::new(card.switch, card.rate)
        }
    }

    /// How flows choose among several cards on one network, if that is stated.
    fn spread(&self) -> Option<CardSpread> {
        let rails = self.rails.map(|_| CardSpread::Rails);
        rails.or(self.bond.map(|WrittenBond::Lacp| CardSpread::Lacp))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bytes;

    const TWO: &str = "\
switches: [d1, d2, m1]
hosts:
  n0: {cards: [{switch: d1, network: data, rate: 25G, address: 10.1.0.5}, {switch: m1, address: 10.2.0.5}]}
  n1: {cards: [{switch: d2, network: data, rate: 25G}, {switch: m1, network: management}], ranks: 2}
  login: {switch: m1, network: management}
links: [{a: d1, b: d2, rate: 100G}]
networks: {management: {prefix: 10.2.0.0/16}, data: {prefix: 10.1.0.0/16}}
";

    fn parsed(text: &str) -> TopologyFile {
        TopologyFile::parse("t.yaml", text).unwrap()
    }

    fn hosts(file: &TopologyFile) -> Vec<&str> {
        file.hosts.keys().map(String::as_str).collect()
    }

    #[test]
    fn each_network_is_a_file_of_its_own() {
        let data = parsed(TWO);
        assert_eq!(data.name.as_deref(), Some("data"));
        assert_eq!(data.switches, ["d1", "d2"]);
        assert_eq!(hosts(&data), ["n0", "n1"]);
        assert_eq!(data.hosts["n1"].ranks, 2);
        assert_eq!(data.tree().unwrap().hosts(), 2);
        let management = data.clone().in_network("management").unwrap();
        assert_eq!(management.switches, ["m1"]);
        assert_eq!(hosts(&management), ["n0", "n1", "login"]);
        assert_eq!(
            management.hosts["n0"].address,
            Some("10.2.0.5".parse().unwrap())
        );
        let own = data.clone().in_network("data").unwrap();
        assert!(own.networks.is_empty() && own.links == data.links);
        let error = data.clone().in_network("storage").unwrap_err().to_string();
        let known = "there is no network \"storage\"; there are data, management";
        assert_eq!(error, known);
        assert_eq!(parsed(&data.to_yaml()), data);
    }

    #[test]
    fn networks_on_the_same_cables_have_states_of_their_own() {
        let shared = parsed(
            "switches: [s0, s1, s2]\nhosts:\n  a: {cards: [{switch: s0, network: x, rate: 10G}, \
             {switch: s0, network: y}]}\n  b: {cards: [{switch: s2, network: x}, {switch: s2, \
             network: y}]}\nlinks:\n- {a: s0, b: s1}\n- {a: s1, b: s2, network: x}\n- {a: s1, b: s2, \
             network: y, state: blocked}\n- {a: s0, b: s2, network: y}\nnetworks: {x: {}, y: {}}\n",
        );
        assert_eq!(shared.links.len(), 2);
        assert_eq!(shared.networks["y"].links.len(), 3);
        assert_eq!(shared.tree().unwrap().hosts(), 2);
        assert_eq!(shared.networks["y"].tree().unwrap().hosts(), 2);
        assert_eq!(parsed(&shared.to_yaml()), shared);
    }

    #[test]
    fn networks_that_are_not_clear_are_refused_with_their_place() {
        for (old, new, expected) in [
            (
                "network: data, rate: 25G, address: 10.1.0.5",
                "rate: 25G",
                "t.yaml:3: host \"n0\": the network of its card at d1 is not clear; add network: NAME, or an \
                 address with its prefix",
            ),
            (
                "10.1.0.5",
                "10.2.0.9",
                "t.yaml:3: host \"n0\": address 10.2.0.9 is not in 10.1.0.0/16, the prefix of network \
                 \"data\"",
            ),
            (
                "network: management}\n",
                "network: storage}\n",
                "t.yaml:5: host \"login\": unknown network \"storage\"; known networks: management, data",
            ),
            (
                "prefix: 10.1.0.0/16",
                "prefix: 10.0.0.0/8",
                "t.yaml:7: network \"data\": prefix 10.0.0.0/8 overlaps 10.2.0.0/16 of network \
                 \"management\"; each network has its own",
            ),
            (
                "data: {prefix",
                "storage: {}, data: {prefix",
                "t.yaml:7: network \"storage\": no host has a card in it; add one, or leave the network out",
            ),
            (
                "{switch: m1, network: management}]",
                "{switch: d1, network: data}]",
                "t.yaml:4: host \"n1\": two cards in one network: expected one card in each, or \
                 bond: lacp or rails: 2 if flows spread over them",
            ),
            (
                "{a: d1, b: d2, ",
                "{a: d1, b: d2, network: x, ",
                "t.yaml:6: link d1-d2: unknown network \"x\"; known networks: management, data",
            ),
            (
                "login: {switch: m1",
                "login: {switch: m7",
                "t.yaml:5: host \"login\": unknown switch \"m7\"; known switches: m1",
            ),
            (
                "ranks: 2",
                "rate: 10G",
                "t.yaml:3: hosts: host \"n1\": cards beside a switch, rate, network or address; write these with \
                 each card",
            ),
        ] {
            assert!(TWO.contains(old), "{old}");
            let text = TWO.replacen(old, new, 1);
            let error = TopologyFile::parse("t.yaml", &text).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn a_link_is_of_a_network_that_has_its_ends() {
        let text = TWO.replace(
            "{a: d1, b: d2, rate: 100G}",
            "{a: d1, b: d2}, {a: d1, b: d2, network: management}",
        );
        let error = TopologyFile::parse("t.yaml", &text)
            .unwrap_err()
            .to_string();
        let expected = "t.yaml:6: link d1-d2: no card of network \"management\" is behind it";
        assert_eq!(error, expected);
    }

    #[test]
    fn what_is_written_is_read_as_it_was() {
        let twice = TWO.replace(
            "{a: d1, b: d2, rate: 100G}",
            "{a: d1, b: d2}, {a: d1, b: d2}",
        );
        let alone = "switches: [s0]\nhosts: {a: {switch: s0}}\nnetworks: {x: {}}\n";
        for text in [twice.as_str(), alone] {
            assert_eq!(parsed(&parsed(text).to_yaml()), parsed(text));
        }
    }

    #[test]
    fn a_network_is_listed_before_a_card_names_it() {
        let text = "switches: [s0]\nhosts: {a: {switch: s0, network: x}}";
        let error = TopologyFile::parse("t.yaml", text).unwrap_err().to_string();
        assert!(error.contains("the file names no networks"), "{error}");
    }

    const FABRIC: &str = "\
switches: [leaf1a, leaf1b, leaf2, spine1, spine2]
hosts:
  n0: {cards: [{switch: leaf1a, rate: 10G}, {switch: leaf1b, rate: 10G}], bond: lacp}
  n1: {cards: [{switch: leaf2, rate: 25G, address: 10.0.0.1}, {switch: leaf2, rate: 25G, address: 10.0.1.1}], rails: 2}
links:
- {a: leaf1a, b: spine1, rate: 40G, state: multipath}
- {a: leaf1b, b: spine2, rate: 40G, state: multipath}
- {a: leaf2, b: spine1, rate: 40G, state: multipath}
- {a: leaf2, b: spine2, rate: 40G, state: multipath}
- {a: leaf1a, b: leaf1b, rate: 100G}
pairs: {leaf1: [leaf1a, leaf1b]}
";

    #[test]
    fn cards_and_ways_side_by_side_add_up() {
        let file = parsed(FABRIC);
        let tree = file.tree().unwrap();
        assert_eq!(rate_of("n0", &tree).as_deref(), Some("20G"));
        assert_eq!(rate_of("n1", &tree).as_deref(), Some("50G"));
        assert_eq!(rate_of("leaf2", &tree).as_deref(), Some("80G"));
        assert!(rate_of("leaf1", &tree).is_some() && rate_of("spine[1-2]", &tree).is_some());
        assert_eq!(parsed(&file.to_yaml()), file);
        let address = "10.0.1.1".parse().unwrap();
        assert!(file.network_of(address).is_some());
    }

    fn rate_of(name: &str, tree: &crate::tree::Tree) -> Option<String> {
        let found = (0..tree.nodes()).find(|node| tree.name(*node) == name);
        found.map(|node| tree.rate(node).to_string())
    }

    #[test]
    fn what_ports_hold_is_read_and_written_for_each_network() {
        let one =
            parsed("queue: 512k\nswitches: [s0]\nhosts: {n0: {switch: s0}, n1: {switch: s0}}");
        assert_eq!(one.queue, Some(Bytes(512 << 10)));
        assert_eq!(
            one.tree().unwrap().restrict(&["n1"]).unwrap().queue(),
            Bytes(512 << 10)
        );
        assert_eq!(parsed(&one.to_yaml()), one);
        let two = "switches: [d, m]\nhosts:\n  n0: {cards: [{switch: d, network: data, rate: 25G}, \
                   {switch: m, network: other}]}\nnetworks: {data: {queue: 12M}, other: {}}";
        for (text, other) in [
            (two.to_owned(), None),
            (format!("queue: 200000\n{two}"), Some(200_000)),
        ] {
            let file = parsed(&text);
            assert_eq!(file.queue, Some(Bytes(12 << 20)));
            assert_eq!(file.networks["other"].queue, other.map(Bytes));
            assert_eq!(parsed(&file.to_yaml()), file);
        }
        let error = TopologyFile::parse(
            "t.yaml",
            "queue: much\nswitches: [s]\nhosts: {n: {switch: s}}",
        )
        .unwrap_err()
        .to_string();
        assert!(
            error.starts_with("t.yaml:1: ") && error.contains("like 64k"),
            "{error}"
        );
    }

    #[test]
    fn cards_and_pairs_that_make_no_sense_are_refused() {
        for (old, new, expected) in [
            (
                ", bond: lacp",
                "",
                "t.yaml:3: host \"n0\": two cards in one network",
            ),
            (
                "bond: lacp",
                "rails: 3",
                "t.yaml:3: host \"n0\": rails: 3, but 2 cards",
            ),
            (
                "bond: lacp",
                "bond: lacp, rails: 2",
                "t.yaml:3: hosts: host \"n0\": bond and rails",
            ),
            (
                "{switch: leaf1b,",
                "{switch: leaf9,",
                "t.yaml:3: host \"n0\": unknown switch \"leaf9\"",
            ),
            (
                "[leaf1a, leaf1b]}",
                "[leaf1a, leaf9]}",
                "t.yaml:11: pair \"leaf1\": unknown switch",
            ),
            (
                "[leaf1a, leaf1b]}",
                "[leaf1a]}",
                "t.yaml:11: pair \"leaf1\": expected the names",
            ),
            (
                "[leaf1a, leaf1b]}",
                "[leaf1a, leaf1a]}",
                "t.yaml:11: pair \"leaf1\": \"leaf1a\" is named twice",
            ),
            (
                "{leaf1: [",
                "{leaf2: [",
                "t.yaml:11: pair \"leaf2\": another node has its name",
            ),
        ] {
            assert!(FABRIC.contains(old), "{old}");
            let error = TopologyFile::parse("t.yaml", &FABRIC.replacen(old, new, 1)).unwrap_err();
            assert!(error.to_string().starts_with(expected), "{error}");
        }
    }
}
