//! How well a tree explains the rounds.
use crate::host_set::HostSet;
use crate::rounds::{HostFlow, MeasuredFlow, MeasuredRound, crossing};
use crate::sharing::{FlowLimit, SharedLink, SharingRule, bits};
use std::collections::HashMap;

/// How far rates lie from what is expected, as parts of the rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RateSpreads {
    /// Of a flow that its own hosts limit.
    pub(crate) alone: f64,
    /// Of the sum of the flows over a filled link.
    pub(crate) sum: f64,
    /// Of a flow's part of that sum.
    pub(crate) part: f64,
}

impl RateSpreads {
    /// Wide enough for hosts that are busy with other things: narrower ones would have a trunk invented
    /// for each of their pauses.
    pub(crate) fn of(rule: SharingRule) -> RateSpreads {
        RateSpreads {
            alone: 0.1,
            sum: 0.12,
            part: match rule {
                SharingRule::ByArrival => 0.2,
                // TCP shares a link fairly only in the long run.
                SharingRule::MaxMin => 0.35,
            },
        }
    }
}

/// A link is nearly filled from this part of its rate on.
const NEARLY_FILLED: f64 = 0.85;
/// The spread above what a cable carries: that of the clock.
const SPREAD_ABOVE: f64 = 0.03;
/// What a figure above it says against a tree at most. What lay in a buffer can seem to be faster.
const MOST_AGAINST: f64 = 8.0;
/// A link counts as filled where the flows over it stay below this part of what their hosts give.
const FILLED: f64 = 0.9;
/// Half of the parts of filled links lie no further from what is expected, in logarithms, where
/// the tree and the rule of sharing are right.
const PART_THAT_FITS: f64 = 0.075;
/// Much slower than expected: by the logarithm of the ratio, two thirds of it.
const MUCH_SLOWER: f64 = -0.4;
/// Times that a trunk must have been filled before it is believed to be there.
const LEAST_FILLED: usize = 3;

/// What all rounds say about one side.
struct SideFigures {
    crossing: Vec<[u128; 2]>,
    /// What flowed over its trunk in the rounds that filled it, in either direction, from the
    /// least.
    filled: Vec<f64>,
}

/// The directions of trunks in an order in which every flow crosses them: out of the smallest sides
/// first, into the largest first. `true` is out of the side.
fn crossed_in_order(trunks: &[(HostSet, f64)]) -> Vec<(usize, bool)> {
    let mut order: Vec<usize> = (0..trunks.len()).collect();
    order.sort_by_key(|t| trunks[*t].0.len());
    let out = order.iter().map(|t| (*t, true));
    let into = order.iter().rev().map(|t| (*t, false));
    out.chain(into).collect()
}

/// The rates that flows would have over these trunks, with what limits each.
pub(crate) fn expected(
    rule: SharingRule,
    own_rates: &[f64],
    flows: &[HostFlow],
    trunks: &[(HostSet, f64)],
) -> Vec<(f64, FlowLimit)> {
    let alone: Vec<f64> = flows
        .iter()
        .map(|f| own_rates[f.from].min(own_rates[f.to]))
        .collect();
    let link = |(t, is_out): (usize, bool)| {
        let (side, rate) = trunks[t];
        let [out, into] = crossing(flows.iter().copied(), side);
        let flows = if is_out { out } else { into };
        SharedLink { flows, rate }
    };
    let links: Vec<SharedLink> = crossed_in_order(trunks).into_iter().map(link).collect();
    let mut rates = Vec::new();
    rule.share(&alone, &links, &mut rates);
    rates
}

/// How far apart two expectations of one round are, in squares of the spread of what is measured.
pub(crate) fn distance(
    one: &[(f64, FlowLimit)],
    other: &[(f64, FlowLimit)],
    spreads: RateSpreads,
) -> f64 {
    let flow = |(a, b): (&(f64, FlowLimit), &(f64, FlowLimit))| {
        let spread = match (a.1, b.1) {
            (FlowLimit::Link(_), FlowLimit::Link(_)) => spreads.part,
            _ => 2.0 * spreads.alone,
        };
        ((a.0.max(1.0) / b.0.max(1.0)).ln() / spread)
            .powi(2)
            .min(9.0)
    };
    one.iter().zip(other).map(flow).sum()
}

/// The rounds, and each host's own rate.
pub(crate) struct Measurements<'a> {
    pub(crate) rounds: &'a [MeasuredRound],
    own_rates: Vec<f64>,
    rule: SharingRule,
    spreads: RateSpreads,
    alone: Vec<Vec<f64>>,
    sides: HashMap<HostSet, SideFigures>,
}

impl<'a> Measurements<'a> {
    pub(crate) fn new(
        own_rates: &[f64],
        rounds: &'a [MeasuredRound],
        rule: SharingRule,
    ) -> Measurements<'a> {
        let alone = |r: &MeasuredRound| {
            let rate = |f: &MeasuredFlow| own_rates[f.flow.from].min(own_rates[f.flow.to]);
            r.flows.iter().map(rate).collect()
        };
        Measurements {
            rounds,
            own_rates: own_rates.to_vec(),
            rule,
            spreads: RateSpreads::of(rule),
            alone: rounds.iter().map(alone).collect(),
            sides: HashMap::new(),
        }
    }

    /// A rate of the trunk beside `side`: the place in the rounds that filled it is a part of all,
    /// from 0 to 1. `None` if none did.
    pub(crate) fn rate(&mut self, side: HostSet, place: f64) -> Option<f64> {
        let filled = &self.figures(side).filled;
        let last = filled
            .len()
            .checked_sub(1)
            .filter(|last| *last + 1 >= LEAST_FILLED)?;
        filled.get((last as f64 * place).round() as usize).copied()
    }

    /// The rate of a host's cable.
    pub(crate) fn own_rate(&self, host: usize) -> f64 {
        self.own_rates[host]
    }

    /// How often flows filled the trunk beside `side`.
    pub(crate) fn times_filled(&mut self, side: HostSet) -> usize {
        self.figures(side).filled.len()
    }

    /// The part of the flows, or of the sums over filled trunks, that are much slower than these
    /// trunks let expect, whichever is larger.
    pub(crate) fn unexplained(&mut self, trunks: &[(HostSet, f64)]) -> f64 {
        let (mut alone, mut sums) = (Vec::new(), Vec::new());
        self.residuals(trunks, |residual| match residual {
            RateResidual::Alone(r) => alone.push(r < MUCH_SLOWER),
            RateResidual::Sum(r) => sums.push(r < MUCH_SLOWER),
            RateResidual::Nearly(_) | RateResidual::Part(..) => {}
        });
        let part = |all: &[bool]| {
            all.iter().filter(|slow| **slow).count() as f64 / all.len().max(1) as f64
        };
        part(&alone).max(part(&sums))
    }

    /// How much wider the flows' parts of filled links lie around what these trunks let expect than
    /// they do where trunks and rule are right: the ratio of the variances, at least 1.
    pub(crate) fn dispersion(&mut self, trunks: &[(HostSet, f64)]) -> f64 {
        let mut all = Vec::new();
        self.residuals(trunks, |residual| {
            if let RateResidual::Part(r, _) = residual {
                all.push(r.abs());
            }
        });
        all.sort_by(f64::total_cmp);
        let median = all.get(all.len() / 2).copied().unwrap_or(0.0);
        (median / PART_THAT_FITS).powi(2).max(1.0)
    }

    fn figures(&mut self, side: HostSet) -> &SideFigures {
        let (rounds, alone) = (self.rounds, &self.alone);
        self.sides.entry(side).or_insert_with(|| {
            let crossing: Vec<[u128; 2]> = rounds.iter().map(|r| r.crossing(side)).collect();
            let mut filled: Vec<f64> = Vec::new();
            for ((round, alone), crossing) in rounds.iter().zip(alone).zip(&crossing) {
                for flows in crossing.iter().filter(|flows| flows.count_ones() > 1) {
                    let carried: f64 = bits(*flows).map(|f| round.flows[f].rate).sum();
                    let wanted: f64 = bits(*flows).map(|f| alone[f]).sum();
                    if carried < FILLED * wanted {
                        filled.push(carried);
                    }
                }
            }
            filled.sort_by(f64::total_cmp);
            SideFigures { crossing, filled }
        })
    }

    /// How much slower each flow was than expected: the logarithm of the ratio.
    pub(crate) fn excess(&self, trunks: &[(HostSet, f64)]) -> Vec<Vec<f64>> {
        let of_round = |r: &MeasuredRound| {
            let flows: Vec<HostFlow> = r.flows.iter().map(|f| f.flow).collect();
            let rates = expected(self.rule, &self.own_rates, &flows, trunks);
            let excess =
                |(e, f): (&(f64, FlowLimit), &MeasuredFlow)| (e.0.max(1.0) / f.rate.max(1.0)).ln();
            rates.iter().zip(&r.flows).map(excess).collect()
        };
        self.rounds.iter().map(of_round).collect()
    }

    /// The logarithm of the probability of all rounds if these are the trunks. Trunks that no round
    /// fills change nothing.
    pub(crate) fn log_likelihood(&mut self, trunks: &[(HostSet, f64)]) -> f64 {
        let spreads = self.spreads;
        let (mut sum, mut parts) = (0.0, 0.0);
        self.residuals(trunks, |residual| match residual {
            RateResidual::Alone(r) => sum += log_limited(r, spreads.alone),
            RateResidual::Nearly(r) => sum += log_t(r, spreads.part.max(spreads.alone)),
            RateResidual::Sum(r) => sum += log_limited(r, spreads.sum),
            // The parts of k flows are k - 1 figures.
            RateResidual::Part(r, flows) => {
                parts += log_t(r, spreads.part) * (flows - 1.0) / flows;
            }
        });
        sum + parts
    }

    fn residuals(&mut self, trunks: &[(HostSet, f64)], mut take: impl FnMut(RateResidual)) {
        for (side, _) in trunks {
            self.figures(*side);
        }
        let order = crossed_in_order(trunks);
        let figures: Vec<&SideFigures> = trunks.iter().map(|(s, _)| &self.sides[s]).collect();
        let (mut links, mut shared) = (Vec::new(), Vec::new());
        for (r, (round, alone)) in self.rounds.iter().zip(&self.alone).enumerate() {
            links.clear();
            for &(t, is_out) in &order {
                let [out, into] = figures[t].crossing[r];
                let flows = if is_out { out } else { into };
                if flows != 0 {
                    let rate = trunks[t].1;
                    links.push(SharedLink { flows, rate });
                }
            }
            self.rule.share(alone, &links, &mut shared);
            // A flow that a link hardly slows down says as little of the link as one beside it.
            for (flow, alone) in shared.iter_mut().zip(alone) {
                if flow.0 > FILLED * alone {
                    flow.1 = FlowLimit::Hosts;
                }
            }
            residuals_of_round(round, &shared, &links, &mut take);
        }
    }
}

/// The logarithm of a measured rate over the expected one.
enum RateResidual {
    /// Of a flow that its hosts limit.
    Alone(f64),
    /// Of a flow over a link that is nearly filled: another flow may take its part.
    Nearly(f64),
    /// Of the sum of the flows over a filled link.
    Sum(f64),
    /// Of a flow's part of such a sum, and the number of flows.
    Part(f64, f64),
}

fn residuals_of_round(
    round: &MeasuredRound,
    expected: &[(f64, FlowLimit)],
    links: &[SharedLink],
    take: &mut impl FnMut(RateResidual),
) {
    let ratio = |f: usize| (round.flows[f].rate.max(1.0) / expected[f].0.max(1.0)).ln();
    let near = |link: &&SharedLink| {
        let load: f64 = bits(link.flows).map(|f| expected[f].0).sum();
        load > NEARLY_FILLED * link.rate
    };
    let nearly = links
        .iter()
        .filter(near)
        .fold(0, |all, link| all | link.flows);
    for (f, (_, limit)) in expected.iter().enumerate() {
        match limit {
            FlowLimit::Hosts if nearly >> f & 1 == 1 => take(RateResidual::Nearly(ratio(f))),
            FlowLimit::Hosts => take(RateResidual::Alone(ratio(f))),
            FlowLimit::Link(_) => {}
        }
    }
    for link in 0..links.len() {
        let flows = (0..expected.len()).filter(|f| expected[*f].1 == FlowLimit::Link(link));
        let (mut carried, mut fair, mut count) = (0.0, 0.0, 0.0);
        for f in flows.clone() {
            carried += round.flows[f].rate;
            fair += expected[f].0;
            count += 1.0;
        }
        if count > 0.0 {
            let whole = (carried.max(1.0) / fair.max(1.0)).ln();
            take(RateResidual::Sum(whole));
            flows.for_each(|f| take(RateResidual::Part(ratio(f) - whole, count)));
        }
    }
}

/// The logarithm of Student's density with four degrees of freedom, at whose middle it is 3/8: a
/// few flows are disturbed much more than the others.
fn log_t(difference: f64, spread: f64) -> f64 {
    (0.375 / spread).ln() - 2.5 * (1.0 + difference * difference / (4.0 * spread * spread)).ln()
}

/// The logarithm of the density around what a cable carries: other traffic and busy hosts make flows
/// slower, but nothing makes them faster than the cable.
fn log_limited(difference: f64, spread: f64) -> f64 {
    if difference <= 0.0 {
        return log_t(difference, spread);
    }
    let faster = difference / SPREAD_ABOVE;
    log_t(0.0, spread) - (faster * faster / 2.0).min(MOST_AGAINST)
}
