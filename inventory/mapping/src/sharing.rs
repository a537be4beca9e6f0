//! The rates of flows that share links, by two rules:
//!
//! - in order of arrival: a full link takes of each flow the same part of what arrives. So do
//!   datagrams at a pace of their own.
//! - max-min fair, as TCP flows come close to (Bertsekas and Gallager, Data Networks, section
//!   6.5.2), and switches that serve their ports in turn.

use crate::host_rates::HostRates;
use crate::rounds::HostFlow;
use crate::trunk_tree::TrunkRates;

/// How full links are shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum SharingRule {
    #[default]
    ByArrival,
    MaxMin,
}

impl SharingRule {
    pub(crate) const ALL: [SharingRule; 2] = [SharingRule::ByArrival, SharingRule::MaxMin];

    /// The rate of each flow, and what limits it. `links` are in an order in which every flow crosses
    /// them.
    pub(crate) fn share(
        self,
        ends: &[EndRates],
        links: &[SharedLink],
        out: &mut Vec<(f64, FlowLimit)>,
    ) {
        match self {
            SharingRule::ByArrival => by_arrival(ends, links, out),
            SharingRule::MaxMin => max_min(ends, links, out),
        }
    }
}

/// The rates that the hosts of a flow give.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EndRates {
    /// The rate at which its sender sends.
    pub(crate) sent: f64,
    /// The rate at which its receiver receives.
    pub(crate) taken: f64,
}

impl EndRates {
    pub(crate) fn between(hosts: &[HostRates], flow: HostFlow) -> EndRates {
        EndRates {
            sent: hosts[flow.from].sends,
            taken: hosts[flow.to].receives,
        }
    }

    /// The rate of the flow if it has all cables to itself.
    pub(crate) fn alone(self) -> f64 {
        self.sent.min(self.taken)
    }
}

/// A direction of a link: the flows over it as bits, and its rate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SharedLink {
    pub(crate) flows: u128,
    pub(crate) rate: f64,
}

impl SharedLink {
    /// The direction of a trunk out of its side, or into it, by the flows that cross it.
    pub(crate) fn in_direction(
        [out, into]: [u128; 2],
        rates: TrunkRates,
        is_out: bool,
    ) -> SharedLink {
        let (flows, rate) = match is_out {
            true => (out, rates.out),
            false => (into, rates.into),
        };
        SharedLink { flows, rate }
    }
}

/// The limit of a flow's rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlowLimit {
    Hosts,
    /// The link of this number.
    Link(usize),
}

/// Datagrams leave at the rate of their sender, whatever their receiver takes.
fn by_arrival(ends: &[EndRates], links: &[SharedLink], out: &mut Vec<(f64, FlowLimit)>) {
    out.clear();
    out.extend(ends.iter().map(|ends| (ends.sent, FlowLimit::Hosts)));
    for (l, link) in links.iter().enumerate() {
        let arrives: f64 = bits(link.flows).map(|f| out[f].0).sum();
        if arrives > link.rate {
            for f in bits(link.flows) {
                out[f] = (out[f].0 * link.rate / arrives, FlowLimit::Link(l));
            }
        }
    }
    for (out, ends) in out.iter_mut().zip(ends) {
        if out.0 > ends.taken {
            *out = (ends.taken, FlowLimit::Hosts);
        }
    }
}

/// The rate of each flow, and what limits it: no flow can get more without a slower one getting
/// less.
fn max_min(ends: &[EndRates], links: &[SharedLink], out: &mut Vec<(f64, FlowLimit)>) {
    out.clear();
    out.extend(ends.iter().map(|ends| (ends.alone(), FlowLimit::Hosts)));
    let mut open: u128 = if ends.len() >= 128 {
        u128::MAX
    } else {
        (1 << ends.len()) - 1
    };
    // 128 hosts have at most 125 trunks between them, each with two directions.
    let mut left = [0.0; 256];
    for (left, link) in left.iter_mut().zip(links) {
        *left = link.rate;
    }
    while open != 0 {
        let narrow = (0..links.len())
            .filter(|&l| links[l].flows & open != 0)
            .min_by(|&a, &b| {
                fair_share(a, &left, links, open).total_cmp(&fair_share(b, &left, links, open))
            });
        let Some(narrow) = narrow else { return };
        let fair = fair_share(narrow, &left, links, open);
        // Flows whose hosts give less than the fair share leave the rest to the others.
        let slow = bits(open)
            .filter(|&f| ends[f].alone() <= fair)
            .fold(0, |set, f| set | 1u128 << f);
        let (settled, rate) = match slow {
            0 => (links[narrow].flows & open, Some(fair)),
            slow => (slow, None),
        };
        for f in bits(settled) {
            if let Some(rate) = rate {
                out[f] = (rate, FlowLimit::Link(narrow));
            }
            for (left, link) in left.iter_mut().zip(links) {
                if link.flows >> f & 1 == 1 {
                    *left = (*left - out[f].0).max(0.0);
                }
            }
        }
        open &= !settled;
    }
}

fn fair_share(l: usize, left: &[f64; 256], links: &[SharedLink], open: u128) -> f64 {
    left[l] / f64::from((links[l].flows & open).count_ones())
}

pub(crate) fn bits(mut set: u128) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let next = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(next)
    })
}
