//! Cables that several networks share, as VLANs do: what all of them carry adds up there.
//!
//! Source: own. Input: the trees of the networks; the names of its ends identify a cable. Guarantee: a lower
//! bound for an all-to-all of the same blocks in all networks at once. Cost: O(nodes) of all trees.
use crate::bound::{link_capacity, slowest_host_link};
use crate::capacities::loads;
use inventory::{BitsPerSec, Tree};
use std::collections::HashMap;

/// The shared cable that needs most phases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedCable {
    pub ends: (String, String),
    /// Messages of one all-to-all in the network itself, in one direction.
    pub own: u64,
    /// Those of the other networks.
    pub others: u64,
    /// The phases that all need together, of the network's own length.
    pub phases: u64,
}

/// The most loaded cable of a network among those that others have, too; `shares` says which.
pub fn most_loaded(
    own: &Tree,
    others: &[Tree],
    shares: impl Fn(&str, &str) -> bool,
) -> Option<SharedCable> {
    let mut carried: HashMap<(&str, &str), u64> = HashMap::new();
    for (ends, load, _) in others.iter().flat_map(trunks) {
        *carried.entry(ends).or_default() += load;
    }
    let unit = slowest_host_link(own).unwrap_or(BitsPerSec::GIGABIT);
    let shared = trunks(own).into_iter().filter_map(|(ends, load, rate)| {
        let others = *carried.get(&ends)?;
        shares(ends.0, ends.1).then(|| SharedCable {
            ends: (ends.0.to_owned(), ends.1.to_owned()),
            own: load,
            others,
            phases: (load + others).div_ceil(link_capacity(rate, unit)),
        })
    });
    shared.max_by_key(|cable| cable.phases)
}

/// Each cable between switches: its ends, the messages over it in one direction, and its rate.
fn trunks(tree: &Tree) -> Vec<((&str, &str), u64, BitsPerSec)> {
    let loads = loads(tree);
    let trunks = tree.top_down().iter().filter_map(|v| {
        let (from, to) = tree.ends(2 * v)?;
        let ends = in_order(tree.name(from), tree.name(to));
        let of_trunk = from.min(to) >= tree.hosts();
        of_trunk.then(|| (ends, loads[2 * *v as usize], tree.rate(*v)))
    });
    trunks.collect()
}

fn in_order<'n>(a: &'n str, b: &'n str) -> (&'n str, &'n str) {
    if a < b { (a, b) } else { (b, a) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inventory::TopologyFile;

    /// Two hosts of each network at each end of s0-s1-s2. The networks share s0-s1 only.
    #[test]
    fn messages_of_all_networks_add_up_on_the_cables_that_they_share() {
        let text = "switches: [s0, s1, s2]\nhosts:\n  a[0-1]: {cards: [{switch: s0, network: x}, {switch: s0, \
                    network: y}]}\n  b[0-1]: {cards: [{switch: s1, network: x}, {switch: s1, network: y}]}\n  \
                    c: {switch: s2, network: x}\nlinks: [{a: s1, b: s0, rate: 2G}, {a: s1, b: s2, network: \
                    x}]\nnetworks: {x: {}, y: {}}\n";
        let file = TopologyFile::parse("t.yaml", text).unwrap();
        let [x, y] = ["x", "y"].map(|name| file.clone().in_network(name).unwrap().tree().unwrap());
        let shared = most_loaded(&x, std::slice::from_ref(&y), |_, _| true).unwrap();
        assert_eq!(shared.ends, ("s0".to_owned(), "s1".to_owned()));
        // 2 times 3 and 2 times 2 messages, two at once.
        assert_eq!((shared.own, shared.others, shared.phases), (6, 4, 5));
        assert_eq!(most_loaded(&x, &[y], |_, _| false), None);
        assert_eq!(most_loaded(&x, &[], |_, _| true), None);
    }
}
