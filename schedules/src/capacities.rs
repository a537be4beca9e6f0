//! How many messages each directed edge carries at once.
//!
//! Source: none of the papers; they know links of one rate. See "Capacities" in ARCHITECTURE.md.
use inventory::BitsPerSec;
use inventory::tree::{Edge, Tree};

/// The width of every edge in messages, and the rate of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capacities {
    /// By node: the cable between it and its parent; 0 at the root.
    widths: Vec<u64>,
    rate: BitsPerSec,
}

impl Capacities {
    /// Every edge carries one message, at the rate of the slowest cable: what the papers assume.
    pub fn unit(tree: &Tree) -> Capacities {
        let width = |v| u64::from(tree.parent(v).is_some());
        Capacities { widths: (0..tree.nodes()).map(width).collect(), rate: BitsPerSec(rates(tree).min().unwrap_or(0)) }
    }

    /// A message has the greatest common divisor of all rates, and an edge is as wide as its rate has messages: with hosts of
    /// 25G and trunks of 40G, 5 and 8 messages of 5G.
    pub fn of(tree: &Tree) -> Capacities {
        let unit = rates(tree).reduce(gcd).unwrap_or(0);
        let width = |v| tree.parent(v).map_or(0, |_| (tree.rate(v).0 / unit.max(1)).max(1));
        Capacities { widths: (0..tree.nodes()).map(width).collect(), rate: BitsPerSec(unit) }
    }

    /// Messages that `edge` carries at once: 0 for the root's unused numbers, else at least 1.
    pub fn width(&self, edge: Edge) -> u64 {
        self.widths[edge as usize / 2]
    }

    /// What a message gets of every edge it uses; zero where there is no cable.
    pub fn rate(&self) -> BitsPerSec {
        self.rate
    }

    /// Whether no edge carries two messages at once.
    pub fn are_unit(&self) -> bool {
        self.widths.iter().all(|&width| width <= 1)
    }
}

fn rates(tree: &Tree) -> impl Iterator<Item = u64> + '_ {
    (0..tree.nodes()).filter(|&v| tree.parent(v).is_some()).map(|v| tree.rate(v).0)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{star, topology};

    #[test]
    fn widths_are_rates_over_their_common_measure() {
        let tree =
            topology("switches: [a, b]\nhosts: {x: {switch: a, rate: 25G}, y: {switch: b, rate: 25G}}\nlinks: [{a: a, b: b, rate: 40G}]");
        let capacities = Capacities::of(&tree);
        let mut widths: Vec<u64> = (0..tree.edges()).map(|edge| capacities.width(edge)).collect();
        widths.sort_unstable();
        assert_eq!((widths.as_slice(), capacities.rate()), ([0, 0, 5, 5, 5, 5, 8, 8].as_slice(), BitsPerSec(5_000_000_000)));
        assert!(!capacities.are_unit() && Capacities::unit(&tree).are_unit());
        assert_eq!(Capacities::unit(&tree).rate(), BitsPerSec(25_000_000_000));
    }

    #[test]
    fn links_of_one_rate_are_one_message_wide() {
        let tree = star(&[2, 2]);
        assert_eq!(Capacities::of(&tree), Capacities::unit(&tree));
        assert_eq!(Capacities::of(&star(&[1])).rate(), BitsPerSec::GIGABIT);
    }
}
