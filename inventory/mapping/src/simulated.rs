//! Networks of which everything is known, and flows on them.
pub(crate) mod cables;
pub(crate) mod crooked;
pub(crate) mod datagrams;

use crate::host_set::HostSet;
use crate::sharing::{SharedLink, bits};
use crate::trunk_tree::trunk_side;
use std::f64::consts::TAU;

pub(crate) struct TrueNetwork {
    pub(crate) hosts: usize,
    pub(crate) trunks: Vec<(HostSet, f64)>,
}

impl TrueNetwork {
    /// The rate of a host's cable.
    pub(crate) const CABLE: f64 = 20e6;

    /// 4 to 32 hosts on 1 to 6 switches; trunks of the hosts' rate, or each 2 to 10 times as fast.
    pub(crate) fn random(rng: &mut fastrand::Rng) -> TrueNetwork {
        let (hosts, switches, equal) = (rng.usize(4..=32), rng.usize(1..=6), rng.bool());
        let parent: Vec<usize> = (0..switches).map(|s| rng.usize(0..s.max(1))).collect();
        let at: Vec<usize> = (0..hosts).map(|_| rng.usize(0..switches)).collect();
        let mut below: Vec<HostSet> = (0..switches)
            .map(|s| (0..hosts).filter(|h| at[*h] == s).collect::<HostSet>())
            .collect();
        for s in (1..switches).rev() {
            below[parent[s]] = below[parent[s]].with(below[s]);
        }
        let mut times = || if equal { 1.0 } else { rng.usize(2..=10) as f64 };
        let trunks = below
            .drain(1..)
            .map(|side| (side, times() * TrueNetwork::CABLE))
            .collect();
        TrueNetwork { hosts, trunks }
    }

    /// The sides of trunks with two hosts on either side.
    pub(crate) fn sides(&self) -> Vec<HostSet> {
        self.trunks
            .iter()
            .filter_map(|(side, _)| trunk_side(self.hosts, *side))
            .collect()
    }

    /// The sides of trunks that an all-to-all loads as much as a host's cable.
    pub(crate) fn felt_sides(&self) -> Vec<HostSet> {
        let sides = self.trunks.iter().filter(|trunk| self.load(**trunk) >= 1.0);
        sides
            .filter_map(|(side, _)| trunk_side(self.hosts, *side))
            .collect()
    }

    /// The load of a trunk in an all-to-all over that of a host's cable.
    fn load(&self, (side, rate): (HostSet, f64)) -> f64 {
        let messages = (side.len() * (self.hosts - side.len())) as f64;
        messages * TrueNetwork::CABLE / rate / (self.hosts - 1) as f64
    }

    /// The least time of an all-to-all on these trunks over that of one switch.
    pub(crate) fn alltoall_time(&self, trunks: impl Iterator<Item = (HostSet, f64)>) -> f64 {
        trunks.map(|trunk| self.load(trunk)).fold(1.0, f64::max)
    }
}

/// The rates as TCP shares links: each flow takes its part by a weight of its own.
fn tcp_rates(cables: &[f64], ways: &[Vec<usize>], rng: &mut fastrand::Rng) -> Vec<f64> {
    let links: Vec<SharedLink> = cables
        .iter()
        .enumerate()
        .map(|(cable, rate)| {
            let flows = (0..ways.len())
                .filter(|f| ways[*f].contains(&cable))
                .fold(0, |set, f| set | 1 << f);
            let rate = *rate;
            SharedLink { flows, rate }
        })
        .collect();
    let mut spread =
        |spread: f64| -> Vec<f64> { ways.iter().map(|_| (normal(rng) * spread).exp()).collect() };
    let (weights, own) = (spread(0.25), spread(0.02));
    let own: Vec<f64> = own
        .iter()
        .zip(ways)
        .map(|(part, way)| part * cables[way[0]])
        .collect();
    let mut rates = weighted_rates(&weights, &own, &links);
    for (rate, noise) in rates.iter_mut().zip(spread(0.02)) {
        *rate *= noise;
    }
    rates
}

/// The rates rise together, each by its weight, until a host's cable or a link is full.
fn weighted_rates(weights: &[f64], own: &[f64], links: &[SharedLink]) -> Vec<f64> {
    let mut rates = vec![0.0; own.len()];
    let mut open: u128 = (0..own.len()).fold(0, |set, f| set | 1 << f);
    while open != 0 {
        let full_at = |link: &SharedLink| {
            let taken: f64 = bits(link.flows & !open).map(|f| rates[f]).sum();
            let weight: f64 = bits(link.flows & open).map(|f| weights[f]).sum();
            (link.rate - taken).max(0.0) / weight
        };
        let shared: Vec<(f64, u128)> = links.iter().map(|l| (full_at(l), l.flows & open)).collect();
        let alone = bits(open).map(|f| (own[f] / weights[f], 1 << f));
        let events: Vec<(f64, u128)> = alone
            .chain(shared.into_iter().filter(|(_, flows)| *flows != 0))
            .collect();
        let level = events
            .iter()
            .map(|(at, _)| *at)
            .fold(f64::INFINITY, f64::min);
        bits(open).for_each(|f| rates[f] = weights[f] * level);
        for (at, flows) in events {
            if at <= level * (1.0 + 1e-9) {
                open &= !flows;
            }
        }
    }
    rates
}

/// A number of the standard normal distribution (Box and Muller).
fn normal(rng: &mut fastrand::Rng) -> f64 {
    (-2.0 * rng.f64().max(1e-12).ln()).sqrt() * (TAU * rng.f64()).cos()
}
