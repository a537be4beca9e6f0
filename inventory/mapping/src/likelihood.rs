//! How well a tree explains the rounds.
use crate::host_rates::HostRates;
use crate::host_set::HostSet;
use crate::rounds::{HostFlow, MeasuredRound, crossing};
use crate::sharing::{EndRates, FlowLimit, SharedLink, SharingRule, bits};
use crate::trunk_tree::TrunkRates;
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
    pub(crate) fn under(rule: SharingRule) -> RateSpreads {
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
/// The spread of figures above the rate of their cable: that of the clock.
const SPREAD_ABOVE: f64 = 0.03;
/// A figure above the rate of its cable counts at most this much against a tree: octets that lay in a buffer can seem
/// to come faster than their cable.
const MOST_AGAINST: f64 = 8.0;
/// A link counts as filled where the flows over it stay below this part of what their hosts give.
const FILLED: f64 = 0.9;
/// Half of the parts of filled links lie no further from what is expected, in logarithms, where
/// the tree and the rule of sharing are right.
const PART_THAT_FITS: f64 = 0.075;
/// Much slower than expected: by the logarithm of the ratio, two thirds of it.
const MUCH_SLOWER: f64 = -0.4;
/// The place of the rate of a trunk, at first sight, in what flowed in the rounds that filled it.
const FIRST_SIGHT: f64 = 0.75;
/// The rates of two directions differ from this ratio on.
const DIFFERENT: f64 = 1.3;
/// Times that a trunk must have been filled before it is believed to be there.
const LEAST_FILLED: usize = 3;
/// Figures of one trunk agree if they differ by less than this part.
const AGREEING: f64 = 0.05;
/// Flows over nearly filled trunks without which nothing is reported of them.
const LEAST_NEARLY: usize = 30;

/// A rate is far from what is expected from this logarithm of the ratio on.
const FAR: f64 = 0.25;

/// The parts of the figures that are far from what trunks let expect, each from 0 to 1.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FitFigures {
    /// Flows that their hosts alone should limit, and which are slower.
    pub(crate) slow_alone: f64,
    /// Flows over nearly filled trunks, and which are slower.
    pub(crate) slow_nearly: f64,
    /// Sums over filled trunks that are less than these carry.
    pub(crate) slow_sums: f64,
    /// Those that are more.
    pub(crate) fast_sums: f64,
    /// Flows with another part of such a sum.
    pub(crate) far_parts: f64,
}

fn part_of(all: &[f64], is_meant: impl Fn(f64) -> bool) -> f64 {
    all.iter().filter(|r| is_meant(**r)).count() as f64 / all.len().max(1) as f64
}

/// The flows over nearly filled trunks, or none if there are few: one round with other traffic is
/// no part of all.
fn enough_nearly(nearly: &[f64]) -> &[f64] {
    if nearly.len() < LEAST_NEARLY {
        return &[];
    }
    nearly
}

/// The figures of all rounds about one side.
struct SideFigures {
    crossing: Vec<[u128; 2]>,
    /// The rates over its trunk in the rounds that filled it, from the least: out, into, either.
    filled: [Vec<f64>; 3],
}

/// The directions of trunks in an order in which every flow crosses them: out of the smallest sides
/// first, into the largest first. `true` is out of the side.
fn crossed_in_order(trunks: &[(HostSet, TrunkRates)]) -> Vec<(usize, bool)> {
    let mut order: Vec<usize> = (0..trunks.len()).collect();
    order.sort_by_key(|t| trunks[*t].0.len());
    let out = order.iter().map(|t| (*t, true));
    let into = order.iter().rev().map(|t| (*t, false));
    out.chain(into).collect()
}

/// The rates that flows would have over these trunks, with what limits each.
pub(crate) fn expected(
    rule: SharingRule,
    own_rates: &[HostRates],
    flows: &[HostFlow],
    trunks: &[(HostSet, TrunkRates)],
) -> Vec<(f64, FlowLimit)> {
    let ends: Vec<EndRates> = flows
        .iter()
        .map(|f| EndRates::between(own_rates, *f))
        .collect();
    let links: Vec<SharedLink> = crossed_in_order(trunks)
        .into_iter()
        .map(|(t, is_out)| {
            let (side, rates) = trunks[t];
            SharedLink::in_direction(crossing(flows.iter().copied(), side), rates, is_out)
        })
        .collect();
    let mut rates = Vec::new();
    rule.share(&ends, &links, &mut rates);
    rates
}

/// How far apart two expectations of one round are, in squares of the spread of what is measured.
pub(crate) fn distance(
    one: &[(f64, FlowLimit)],
    other: &[(f64, FlowLimit)],
    spreads: RateSpreads,
) -> f64 {
    one.iter()
        .zip(other)
        .map(|(a, b)| {
            let spread = match (a.1, b.1) {
                (FlowLimit::Link(_), FlowLimit::Link(_)) => spreads.part,
                _ => 2.0 * spreads.alone,
            };
            ((a.0.max(1.0) / b.0.max(1.0)).ln() / spread)
                .powi(2)
                .min(9.0)
        })
        .sum()
}

/// The rounds, and each host's own rate.
pub(crate) struct Measurements<'a> {
    pub(crate) rounds: &'a [MeasuredRound],
    own_rates: Vec<HostRates>,
    rule: SharingRule,
    spreads: RateSpreads,
    ends: Vec<Vec<EndRates>>,
    sides: HashMap<HostSet, SideFigures>,
}

impl<'a> Measurements<'a> {
    pub(crate) fn new(
        own_rates: &[HostRates],
        rounds: &'a [MeasuredRound],
        rule: SharingRule,
    ) -> Measurements<'a> {
        Measurements {
            rounds,
            own_rates: own_rates.to_vec(),
            rule,
            spreads: RateSpreads::under(rule),
            ends: rounds
                .iter()
                .map(|r| {
                    r.flows
                        .iter()
                        .map(|f| EndRates::between(own_rates, f.flow))
                        .collect()
                })
                .collect(),
            sides: HashMap::new(),
        }
    }

    /// Rates of the trunk beside `side`, the same ones for both directions: the place in the rounds
    /// that filled it is a part of all, from 0 to 1. `None` if none did.
    pub(crate) fn rate(&mut self, side: HostSet, place: f64) -> Option<TrunkRates> {
        let [_, _, either] = &self.figures(side).filled;
        at_place(either, place).map(TrunkRates::both)
    }

    /// The same for each direction by itself.
    pub(crate) fn rates(&mut self, side: HostSet, place: f64) -> Option<TrunkRates> {
        let [out, into, _] = &self.figures(side).filled;
        let [out, into] = [out, into].map(|filled| at_place(filled, place));
        // A direction that no round fills slows nothing down.
        (out.is_some() || into.is_some()).then(|| TrunkRates {
            out: out.unwrap_or(f64::INFINITY),
            into: into.unwrap_or(f64::INFINITY),
        })
    }

    /// The rates of this trunk at first sight, and at most: two where its directions seem to
    /// differ.
    pub(crate) fn first_rates(&mut self, side: HostSet) -> Option<(TrunkRates, TrunkRates)> {
        let both = self.rate(side, FIRST_SIGHT)?;
        let each = self.rates(side, FIRST_SIGHT)?;
        let differ = each.most() > DIFFERENT * each.least();
        let most = match differ {
            true => self.rates(side, 1.0)?,
            false => self.rate(side, 1.0)?,
        };
        Some((if differ { each } else { both }, most))
    }

    /// The rates of a host's cable.
    pub(crate) fn own_rate(&self, host: usize) -> HostRates {
        self.own_rates[host]
    }

    /// How often flows filled the trunk beside `side`.
    pub(crate) fn times_filled(&mut self, side: HostSet) -> usize {
        self.figures(side).filled[2].len()
    }

    /// The part of the flows over no full trunk, of those over nearly filled ones, or of the sums
    /// over filled ones, that are much slower than these trunks let expect, whichever is largest.
    pub(crate) fn unexplained(&mut self, trunks: &[(HostSet, TrunkRates)]) -> f64 {
        let (mut alone, mut nearly, mut sums) = (Vec::new(), Vec::new(), Vec::new());
        self.residuals(trunks, |residual| match residual {
            RateResidual::Alone(r) => alone.push(r),
            RateResidual::Nearly(r) => nearly.push(r),
            RateResidual::Sum(r) => sums.push(r),
            RateResidual::Part(..) => {}
        });
        slow_part(&alone)
            .max(slow_part(enough_nearly(&nearly)))
            .max(slow_part(&sums))
    }

    /// How much wider the flows' parts of filled links lie around what these trunks let expect than
    /// they do where trunks and rule are right: the ratio of the variances, at least 1.
    pub(crate) fn dispersion(&mut self, trunks: &[(HostSet, TrunkRates)]) -> f64 {
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

    /// How these trunks fit.
    pub(crate) fn fit(&mut self, trunks: &[(HostSet, TrunkRates)]) -> FitFigures {
        let (mut alone, mut nearly) = (Vec::new(), Vec::new());
        let (mut sums, mut parts) = (Vec::new(), Vec::new());
        self.residuals(trunks, |residual| match residual {
            RateResidual::Alone(r) => alone.push(r),
            RateResidual::Nearly(r) => nearly.push(r),
            RateResidual::Sum(r) => sums.push(r),
            RateResidual::Part(r, _) => parts.push(r),
        });
        FitFigures {
            slow_alone: part_of(&alone, |r| r < -FAR),
            slow_nearly: part_of(enough_nearly(&nearly), |r| r < -FAR),
            slow_sums: part_of(&sums, |r| r < -FAR),
            fast_sums: part_of(&sums, |r| r > FAR),
            far_parts: part_of(&parts, |r| r.abs() > FAR),
        }
    }

    fn figures(&mut self, side: HostSet) -> &SideFigures {
        let (rounds, ends) = (self.rounds, &self.ends);
        self.sides.entry(side).or_insert_with(|| {
            let crossing: Vec<[u128; 2]> = rounds.iter().map(|r| r.crossing(side)).collect();
            let mut filled: [Vec<f64>; 3] = Default::default();
            for ((round, ends), crossing) in rounds.iter().zip(ends).zip(&crossing) {
                for (way, flows) in crossing.iter().enumerate() {
                    if flows.count_ones() < 2 {
                        continue;
                    }
                    let carried: f64 = bits(*flows).map(|f| round.flows[f].rate).sum();
                    let wanted: f64 = bits(*flows).map(|f| ends[f].alone()).sum();
                    if carried < FILLED * wanted {
                        filled[way].push(carried);
                        filled[2].push(carried);
                    }
                }
            }
            filled.iter_mut().for_each(|f| f.sort_by(f64::total_cmp));
            SideFigures { crossing, filled }
        })
    }

    /// The rates that these trunks carry.
    pub(crate) fn carried(&mut self, trunks: &[(HostSet, TrunkRates)]) -> Vec<TrunkRates> {
        match self.rule {
            SharingRule::ByArrival => self.carried_by_arrival(trunks),
            // TCP does not always fill a trunk that it could fill.
            SharingRule::MaxMin => trunks
                .iter()
                .map(|&(side, rates)| {
                    let most = match rates.out == rates.into {
                        true => self.rate(side, 0.9),
                        false => self.rates(side, 0.9),
                    };
                    most.unwrap_or(rates)
                })
                .collect(),
        }
    }

    /// The same by the rounds in which they limit flows. Cables behind them can take a part.
    fn carried_by_arrival(&self, trunks: &[(HostSet, TrunkRates)]) -> Vec<TrunkRates> {
        let order = crossed_in_order(trunks);
        let mut ratios = vec![[Vec::new(), Vec::new()]; trunks.len()];
        for round in self.rounds {
            let flows: Vec<HostFlow> = round.flows.iter().map(|f| f.flow).collect();
            let rates = expected(self.rule, &self.own_rates, &flows, trunks);
            for (l, (t, is_out)) in order.iter().enumerate() {
                let limited = || (0..flows.len()).filter(|f| rates[*f].1 == FlowLimit::Link(l));
                let fair: f64 = limited().map(|f| rates[f].0).sum();
                let carried: f64 = limited().map(|f| round.flows[f].rate).sum();
                if fair > 0.0 {
                    ratios[*t][usize::from(!is_out)].push(carried / fair);
                }
            }
        }
        let rates = trunks.iter().map(|(_, rates)| *rates);
        rates
            .zip(ratios)
            .map(|(rates, [out, into])| match rates.out == rates.into {
                true => TrunkRates::both(rates.out * agreed_ratio([out, into].concat())),
                false => TrunkRates {
                    out: rates.out * agreed_ratio(out),
                    into: rates.into * agreed_ratio(into),
                },
            })
            .collect()
    }

    /// The rate of a flow as a part of what its hosts give.
    pub(crate) fn part_of_alone(&self, round: usize, flow: usize) -> f64 {
        self.rounds[round].flows[flow].rate.max(1.0) / self.ends[round][flow].alone().max(1.0)
    }

    /// How much slower each flow was than expected: the logarithm of the ratio.
    pub(crate) fn excess(&self, trunks: &[(HostSet, TrunkRates)]) -> Vec<Vec<f64>> {
        self.rounds
            .iter()
            .map(|r| {
                let flows: Vec<HostFlow> = r.flows.iter().map(|f| f.flow).collect();
                let rates = expected(self.rule, &self.own_rates, &flows, trunks);
                rates
                    .iter()
                    .zip(&r.flows)
                    .map(|(e, f)| (e.0.max(1.0) / f.rate.max(1.0)).ln())
                    .collect()
            })
            .collect()
    }

    /// The logarithm of the probability of all rounds if these are the trunks. Trunks that no round
    /// fills change nothing.
    pub(crate) fn log_likelihood(&mut self, trunks: &[(HostSet, TrunkRates)]) -> f64 {
        let spreads = self.spreads;
        let (mut sum, mut parts) = (0.0, 0.0);
        self.residuals(trunks, |residual| match residual {
            RateResidual::Alone(r) => sum += log_limited(r, spreads.alone),
            RateResidual::Nearly(r) => sum += log_nearly(r, spreads),
            RateResidual::Sum(r) => sum += log_limited(r, spreads.sum),
            // The parts of k flows are k - 1 figures.
            RateResidual::Part(r, flows) => {
                parts += log_t(r, spreads.part) * (flows - 1.0) / flows;
            }
        });
        sum + parts
    }

    fn residuals(&mut self, trunks: &[(HostSet, TrunkRates)], mut take: impl FnMut(RateResidual)) {
        for (side, _) in trunks {
            self.figures(*side);
        }
        let order = crossed_in_order(trunks);
        let figures: Vec<&SideFigures> = trunks.iter().map(|(s, _)| &self.sides[s]).collect();
        let (mut links, mut shared) = (Vec::new(), Vec::new());
        for (r, (round, ends)) in self.rounds.iter().zip(&self.ends).enumerate() {
            links.clear();
            for &(t, is_out) in &order {
                let link = SharedLink::in_direction(figures[t].crossing[r], trunks[t].1, is_out);
                if link.flows != 0 {
                    links.push(link);
                }
            }
            self.rule.share(ends, &links, &mut shared);
            // A flow that a link hardly slows down says as little of the link as one beside it.
            for (flow, ends) in shared.iter_mut().zip(ends) {
                if flow.0 > FILLED * ends.alone() {
                    flow.1 = FlowLimit::Hosts;
                }
            }
            residuals_of_round(round, &shared, &links, &mut take);
        }
    }
}

fn slow_part(all: &[f64]) -> f64 {
    part_of(all, |r| r < MUCH_SLOWER)
}

fn agreed_ratio(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    where_most_agree(&all).unwrap_or(1.0)
}

/// The figure at this part of all, from 0 to 1, if there are enough.
fn at_place(filled: &[f64], place: f64) -> Option<f64> {
    let last = filled.len().checked_sub(1)?;
    let enough = last + 1 >= LEAST_FILLED;
    enough.then(|| filled[(last as f64 * place).round() as usize])
}

/// The middle of the figures, from the least, around which most of them agree, if there are enough:
/// other traffic takes another part of a trunk each time, and where it takes none the figures agree.
fn where_most_agree(figures: &[f64]) -> Option<f64> {
    if figures.len() < LEAST_FILLED {
        return None;
    }
    // The third of them that lie nearest to each other.
    let count = figures.len().div_ceil(3).max(LEAST_FILLED);
    let near = figures.windows(count);
    let nearest = near.min_by(|a, b| (a[count - 1] - a[0]).total_cmp(&(b[count - 1] - b[0])))?;
    let middle = nearest[count / 2];
    let agreeing: Vec<f64> = figures
        .iter()
        .copied()
        .filter(|f| (f / middle - 1.0).abs() < AGREEING)
        .collect();
    at_place(&agreeing, 0.5).or(Some(middle))
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
    let nearly = links
        .iter()
        .filter(|link| {
            let load: f64 = bits(link.flows).map(|f| expected[f].0).sum();
            load > NEARLY_FILLED * link.rate
        })
        .fold(0, |all, link| all | link.flows);
    for (f, (_, limit)) in expected.iter().enumerate() {
        match limit {
            FlowLimit::Hosts if nearly >> f & 1 == 1 => {
                take(RateResidual::Nearly(log_ratio(f, round, expected)))
            }
            FlowLimit::Hosts => take(RateResidual::Alone(log_ratio(f, round, expected))),
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
            flows.for_each(|f| {
                take(RateResidual::Part(
                    log_ratio(f, round, expected) - whole,
                    count,
                ))
            });
        }
    }
}

fn log_ratio(f: usize, round: &MeasuredRound, expected: &[(f64, FlowLimit)]) -> f64 {
    // A flow of which nothing came must have a logarithm, too.
    (round.flows[f].rate.max(1.0) / expected[f].0.max(1.0)).ln()
}

/// The logarithm of Student's density with four degrees of freedom, at whose middle it is 3/8: a
/// few flows are disturbed much more than the others.
fn log_t(difference: f64, spread: f64) -> f64 {
    (0.375 / spread).ln() - 2.5 * (1.0 + difference * difference / (4.0 * spread * spread)).ln()
}

/// The logarithm of the density of a flow over a link that is nearly filled: as often as not nothing
/// slows it down. A tree that expects such links must not seem worse for it: on kernel bridges their
/// flows are as fast as any.
fn log_nearly(difference: f64, spreads: RateSpreads) -> f64 {
    let undisturbed = log_limited(difference, spreads.alone).exp();
    let disturbed = log_t(difference, spreads.part.max(spreads.alone)).exp();
    f64::midpoint(undisturbed, disturbed).ln()
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
