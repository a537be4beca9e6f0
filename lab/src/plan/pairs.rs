//! Pairs of switches that act as one, and hosts with a card at both (IEEE 802.1AX, distributed aggregates).
use super::{LabCable, LabPlan, PortEnd};
use crate::aggregate;
use crate::error::{LabError, LabResult};
use inventory::topology_file::{CardSpread, TopologyHost};
use inventory::{Mac, TopologyFile};

/// A box of a pair, and what the two have agreed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PairedBox<'p> {
    /// Its port towards the other, if a cable is there.
    pub(crate) peer: Option<&'p str>,
    /// Its ports to hosts that the other reaches, too.
    pub(crate) common: Vec<&'p str>,
    /// The hosts at either box, and the other box itself, each with the port that leads there.
    pub(crate) stations: Vec<(Mac, &'p str)>,
}

/// The pairs of all networks.
///
/// # Errors
/// [`LabError::Refused`] for what the lab cannot build.
pub(super) fn in_file(file: &TopologyFile) -> LabResult<Vec<[String; 2]>> {
    let mut pairs = Vec::new();
    for network in file.all_networks() {
        for (name, boxes) in &network.pairs {
            let [one, other] = &boxes[..] else {
                return refused(name, "it has more than two boxes; the lab has pairs of two");
            };
            let mut has_peers = false;
            for link in &network.links {
                match [&link.a, &link.b].map(|end| boxes.contains(end)) {
                    [true, true] => has_peers = true,
                    [false, false] => {}
                    _ => {
                        return refused(
                            name,
                            "a link leads to another switch; the lab has pairs with hosts only",
                        );
                    }
                }
            }
            if !has_peers || !boxes.iter().all(|name| network.switches.contains(name)) {
                return refused(
                    name,
                    "it needs two switches and a link between them; add the link",
                );
            }
            pairs.push([one.clone(), other.clone()]);
        }
        for (name, host) in &network.hosts {
            if !host.further_cards.is_empty() && !is_bonded(host, &pairs) {
                return Err(LabError::Refused(format!(
                    "host \"{name}\": several cards in one network; the lab builds two as bond: lacp, one at \
                     each box of a pair; state the pair, or leave cards out"
                )));
            }
        }
    }
    Ok(pairs)
}

/// True if a host has a card at each box of a pair, as one.
fn is_bonded(host: &TopologyHost, pairs: &[[String; 2]]) -> bool {
    let mut switches: Vec<&str> = host.cards().map(|(switch, _)| switch).collect();
    switches.sort_unstable();
    let mut pairs = pairs
        .iter()
        .map(|[one, other]| [one.min(other), one.max(other)]);
    host.spread == CardSpread::Lacp && pairs.any(|pair| switches == pair)
}

fn refused<T>(pair: &str, why: &str) -> LabResult<T> {
    Err(LabError::Refused(format!("pair \"{pair}\": {why}")))
}

/// The ends of a host's cables in a network: its card, or the members of a bond that has the card's name.
pub(super) fn cards(card: PortEnd, host: &TopologyHost) -> Vec<PortEnd> {
    if host.further_cards.is_empty() {
        return vec![card];
    }
    (0..=host.further_cards.len())
        .map(|number| PortEnd {
            node: card.node.clone(),
            port: format!("{}{number}", aggregate::prefix(&card.port)),
        })
        .collect()
}

impl PortEnd {
    /// The bond of which it is a member: `eth0` of `m-eth0-1`.
    pub(crate) fn bond(&self) -> Option<&str> {
        let of = self.port.strip_prefix("m-")?.rsplit_once('-');
        of.map(|(bond, _)| bond)
    }
}

impl LabPlan {
    /// The cables of a host's bond.
    pub(crate) fn members_of<'p>(
        &'p self,
        host: &'p str,
        bond: &'p str,
    ) -> impl Iterator<Item = &'p LabCable> {
        let cables = self.cables.iter();
        cables.filter(move |c| c.a.node == host && c.a.bond() == Some(bond))
    }

    /// The bonds of hosts: host and interface.
    pub(crate) fn bonds(&self) -> Vec<(&str, &str)> {
        let members = self
            .cables
            .iter()
            .filter_map(|cable| Some((cable.a.node.as_str(), cable.a.bond()?)));
        let mut bonds: Vec<(&str, &str)> = members.collect();
        bonds.dedup();
        bonds
    }

    /// Both boxes of a pair.
    pub(crate) fn boxes<'p>(&'p self, [one, other]: &'p [String; 2]) -> [PairedBox<'p>; 2] {
        [self.paired(one, other), self.paired(other, one)]
    }

    fn paired<'p>(&'p self, own: &'p str, other: &'p str) -> PairedBox<'p> {
        let (here, there) = (self.hosts_at(own), self.hosts_at(other));
        let mut between = self.cables.iter().filter(|cable| !cable.cut);
        let peer =
            between
                .find(|cable| cable.joins(own, other))
                .map(|cable| match cable.a.node == own {
                    true => cable.a.port.as_str(),
                    false => cable.b.port.as_str(),
                });
        let mut stations: Vec<(Mac, &str)> = here
            .iter()
            .map(|cable| (self.port_mac(&cable.a), cable.b.port.as_str()))
            .collect();
        if let Some(peer) = peer {
            for cable in &there {
                let mac = self.port_mac(&cable.a);
                if stations.iter().all(|(own, _)| *own != mac) {
                    stations.push((mac, peer));
                }
            }
            let itself = self.nodes.iter().find(|node| node.name == other);
            stations.extend(itself.map(|node| (node.mac, peer)));
        }
        PairedBox {
            peer,
            common: here
                .iter()
                .filter(|cable| there.iter().any(|other| other.a.node == cable.a.node))
                .map(|cable| cable.b.port.as_str())
                .collect(),
            stations,
        }
    }

    /// The hosts' cables at a box that are not cut.
    fn hosts_at(&self, at: &str) -> Vec<&LabCable> {
        let cables = self.cables.iter();
        cables
            .filter(|cable| !cable.cut && !cable.a.is_bridged() && cable.b.node == at)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::LabOptions;

    const PAIR: &str = "
switches: [leaf1a, leaf1b]
hosts:
  n0: {cards: [{switch: leaf1a, rate: 20M}, {switch: leaf1b, rate: 20M}], bond: lacp}
  n1: {cards: [{switch: leaf1b, rate: 20M}, {switch: leaf1a, rate: 20M}], bond: lacp}
  n2: {switch: leaf1b, rate: 20M}
links: [{a: leaf1a, b: leaf1b, rate: 40M}]
pairs: {leaf1: [leaf1a, leaf1b]}
";

    fn plan(text: &str) -> LabResult<LabPlan> {
        LabPlan::new(
            &TopologyFile::parse("t.yaml", text).unwrap(),
            LabOptions::default(),
        )
    }

    #[test]
    fn a_bond_has_a_cable_to_each_box_and_one_address() {
        let plan = plan(PAIR).unwrap();
        let ends: Vec<String> = plan
            .members_of("n1", "eth0")
            .map(|c| format!("{} {}:{}", c.a.port, c.b.node, c.b.port))
            .collect();
        assert_eq!(ends, ["m-eth0-0 leaf1b:swp3", "m-eth0-1 leaf1a:swp3"]);
        assert_eq!(plan.bonds(), [("n0", "eth0"), ("n1", "eth0")]);
        let own = plan.places("n1").map(|(_, m)| (m.port.as_str(), m.mac));
        let mac = plan.port_mac(&plan.members_of("n1", "eth0").last().unwrap().a);
        assert_eq!(own.collect::<Vec<_>>(), [("eth0", mac)]);
    }

    #[test]
    fn a_host_that_lost_a_cable_is_reached_over_the_peer() {
        let mut plan = plan(PAIR).unwrap();
        let [n0, n1, n2, b] = ["n0", "n1", "n2", "leaf1b"].map(|node| plan.node(node).unwrap().mac);
        let pairs = plan.pairs.clone();
        let [at_a, at_b] = plan.boxes(&pairs[0]);
        assert_eq!(at_a.common, ["swp2", "swp3"]);
        assert_eq!(at_b.common, ["swp2", "swp3"]);
        assert_eq!(
            at_a.stations,
            [(n0, "swp2"), (n1, "swp3"), (n2, "swp1"), (b, "swp1")]
        );
        let cut = plan
            .cables
            .iter_mut()
            .find(|cable| cable.joins("n0", "leaf1a"));
        cut.unwrap().cut = true;
        let [at_a, at_b] = plan.boxes(&pairs[0]);
        assert_eq!((at_a.common, at_b.common), (vec!["swp3"], vec!["swp3"]));
        assert_eq!(at_a.stations[1], (n0, "swp1"));
        assert_eq!(at_b.stations[0], (n0, "swp2"));
    }

    #[test]
    fn what_is_no_pair_of_two_with_hosts_is_refused() {
        for (old, new, expected) in [
            (
                "links: [{a: leaf1a, b: leaf1b, rate: 40M}]\n",
                "",
                "pair \"leaf1\": it needs two switches",
            ),
            (
                "leaf1b, rate: 40M}]",
                "leaf1b}, {a: leaf1a, b: s0}]",
                "pair \"leaf1\": a link leads",
            ),
            (
                "pairs: {leaf1: [leaf1a, leaf1b]}\n",
                "",
                "host \"n0\": several cards",
            ),
            (
                "bond: lacp}\n  n1",
                "rails: 2}\n  n1",
                "host \"n0\": several cards",
            ),
        ] {
            let text = PAIR
                .replace(old, new)
                .replace("[leaf1a, leaf1b]\nhosts", "[leaf1a, leaf1b, s0]\nhosts");
            let refused = plan(&text).unwrap_err().to_string();
            assert!(refused.starts_with(expected), "{refused}");
        }
    }
}
