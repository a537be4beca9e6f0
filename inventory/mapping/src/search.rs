//! The tree that explains the rounds best.
use crate::host_set::HostSet;
use crate::likelihood::Measurements;
use crate::trunk_tree::{TrunkRates, branches, compatible, trunk_side};
use std::collections::BTreeSet;

/// A further trunk must explain this much, in logarithms of probability, to be believed although its
/// hosts were chosen among many.
const PRICE_OF_A_TRUNK: f64 = 6.0;
/// Two rates of one trunk must explain this much more than one rate does.
const PRICE_OF_TWO_RATES: f64 = 6.0;
/// The other cables of a switch fill a trunk clearly from this multiple of its rate on.
const FILLABLE: f64 = 1.1;
/// Changed trees of which the rates are refined, the best by first sight.
const REFINED: usize = 24;

/// A tree and how probable it is beside others.
#[derive(Debug, Clone)]
pub(crate) struct ScoredTree {
    pub(crate) trunks: Vec<(HostSet, TrunkRates)>,
    pub(crate) score: f64,
}

impl ScoredTree {
    pub(crate) fn sides(&self) -> Vec<HostSet> {
        self.trunks.iter().map(|(s, _)| *s).collect()
    }
}

/// The search over trees.
pub(crate) struct TreeSearch<'a> {
    hosts: usize,
    measurements: Measurements<'a>,
    proposals: Vec<HostSet>,
    slow_sides: Vec<HostSet>,
    /// The trunks of the best tree so far.
    known: Vec<(HostSet, TrunkRates)>,
}

impl<'a> TreeSearch<'a> {
    pub(crate) fn new(hosts: usize, measurements: Measurements<'a>) -> TreeSearch<'a> {
        let proposals = crate::proposals::proposed_sides(hosts, measurements.rounds);
        TreeSearch {
            hosts,
            measurements,
            proposals,
            slow_sides: Vec::new(),
            known: Vec::new(),
        }
    }

    /// The best tree that small changes reach from `start`, and the trees one change away from it
    /// that are nearly as good.
    pub(crate) fn best(&mut self, start: &[HostSet]) -> (ScoredTree, Vec<ScoredTree>) {
        let none = ScoredTree {
            trunks: Vec::new(),
            score: f64::NEG_INFINITY,
        };
        let mut best = self
            .scored(start.to_vec())
            .map_or(none, |tree| self.refined(tree));
        loop {
            self.known.clone_from(&best.trunks);
            let excess = self.measurements.excess(&best.trunks);
            let rounds = self.measurements.rounds;
            self.slow_sides = crate::proposals::sides_of_slow_flows(self.hosts, rounds, &excess);
            let mut others: Vec<ScoredTree> = self
                .changed(&best.sides())
                .into_iter()
                .filter_map(|sides| self.scored(sides))
                .collect();
            others.sort_by(|a, b| b.score.total_cmp(&a.score));
            others.truncate(REFINED);
            others = others.into_iter().map(|tree| self.refined(tree)).collect();
            others.sort_by(|a, b| b.score.total_cmp(&a.score));
            match others.first() {
                // Rounding alone must not keep the search going.
                Some(better) if better.score > best.score + 1e-6 => best = better.clone(),
                _ => return (best, others),
            }
        }
    }

    /// The same tree with the rates of its trunks as they explain most.
    fn refined(&mut self, tree: ScoredTree) -> ScoredTree {
        let mut best = tree;
        for t in 0..best.trunks.len() {
            let side = best.trunks[t].0;
            for place in [0.25, 0.5, 0.9, 1.0] {
                let same = self.measurements.rate(side, place);
                let each = self.measurements.rates(side, place);
                for rates in same.into_iter().chain(each) {
                    let mut tried = best.clone();
                    tried.trunks[t].1 = rates;
                    tried.score = self.score(&tried.trunks);
                    if tried.score > best.score {
                        best = tried;
                    }
                }
            }
        }
        best
    }

    fn score(&mut self, trunks: &[(HostSet, TrunkRates)]) -> f64 {
        let of_trunks: f64 = trunks.iter().map(|(side, _)| self.price(*side)).sum();
        let differ = trunks.iter().filter(|(_, rates)| rates.out != rates.into);
        let prices = of_trunks + differ.count() as f64 * PRICE_OF_TWO_RATES;
        self.measurements.log_likelihood(trunks) - prices
    }

    fn price(&self, side: HostSet) -> f64 {
        let count = side.len().min(self.hosts - side.len());
        // The sum is the logarithm of the number of ways to choose so many hosts.
        let choices = (0..count).map(|i| ((self.hosts - i) as f64 / (i + 1) as f64).ln());
        PRICE_OF_A_TRUNK + choices.sum::<f64>()
    }

    /// True if at both ends of each trunk the other cables carry more than the trunk. One that they
    /// cannot fill slows no flow down: the rates cannot tell it.
    fn can_be_filled(&self, trunks: &[(HostSet, TrunkRates)]) -> bool {
        let sides: Vec<HostSet> = trunks.iter().map(|(side, _)| *side).collect();
        branches(self.hosts, &sides).iter().all(|switch| {
            switch.iter().all(|b| {
                self.rate_of_others(b, switch, trunks) > FILLABLE * self.least_rate(b, trunks)
            })
        })
    }

    fn least_rate(&self, branch: &HostSet, trunks: &[(HostSet, TrunkRates)]) -> f64 {
        let side = trunk_side(self.hosts, *branch);
        let trunk = trunks.iter().find(|(known, _)| Some(*known) == side);
        trunk.map_or(0.0, |(_, rates)| rates.least())
    }

    fn rate_of_others(
        &self,
        b: &HostSet,
        switch: &[HostSet],
        trunks: &[(HostSet, TrunkRates)],
    ) -> f64 {
        let others = switch.iter().filter(|other| *other != b);
        others
            .map(|branch| {
                let side = trunk_side(self.hosts, *branch);
                let trunk = trunks.iter().find(|(known, _)| Some(*known) == side);
                trunk.map_or_else(
                    || {
                        branch
                            .iter()
                            .map(|h| self.measurements.own_rate(h).sends)
                            .sum::<f64>()
                    },
                    |(_, rates)| rates.most(),
                )
            })
            .sum()
    }

    /// A tree with rates at first sight. A trunk of the best tree keeps its rates there.
    fn scored(&mut self, sides: Vec<HostSet>) -> Option<ScoredTree> {
        let (mut seen, mut most) = (Vec::new(), Vec::new());
        for side in sides {
            let known = self.known.iter().find(|(known, _)| *known == side);
            let (at_first, at_most) = match known {
                Some((_, rates)) => (*rates, *rates),
                None => self.measurements.first_rates(side)?,
            };
            seen.push((side, at_first));
            most.push((side, at_most));
        }
        // Where other cables are fuller, few of the rounds that seem to fill a trunk do.
        let tried = if most == seen {
            vec![seen]
        } else {
            vec![seen, most]
        };
        let mut best: Option<ScoredTree> = None;
        for trunks in tried {
            if self.can_be_filled(&trunks) {
                let score = self.score(&trunks);
                if best.as_ref().is_none_or(|best| best.score < score) {
                    best = Some(ScoredTree { trunks, score });
                }
            }
        }
        best
    }

    /// Every tree that one change makes of this one.
    fn changed(&self, sides: &[HostSet]) -> BTreeSet<Vec<HostSet>> {
        // In an order of its own, so that the search is repeatable.
        let mut found = BTreeSet::new();
        let mut propose = |mut new: Vec<HostSet>| {
            new.sort();
            new.dedup();
            if new != sides
                && new
                    .iter()
                    .enumerate()
                    .all(|(i, a)| new[..i].iter().all(|b| compatible(*a, *b)))
            {
                found.insert(new);
            }
        };
        let switches = branches(self.hosts, sides);
        // One more trunk: two branches of a switch get a switch of their own; or a proposal.
        // Two of three branches are the other side of the third: no further trunk.
        for switch in switches.iter().filter(|b| b.len() > 3) {
            for (i, a) in switch.iter().enumerate() {
                for b in &switch[..i] {
                    if let Some(side) = trunk_side(self.hosts, a.with(*b)) {
                        propose([sides, &[side]].concat());
                    }
                }
            }
        }
        for side in self.proposals.iter().chain(&self.slow_sides) {
            propose([sides, &[*side]].concat());
            // In the place of every trunk that it contradicts.
            let kept = sides.iter().copied().filter(|s| compatible(*s, *side));
            propose(kept.chain([*side]).collect());
        }
        // One trunk less, or one trunk moved past a branch.
        for (t, side) in sides.iter().enumerate() {
            let others: Vec<HostSet> = [&sides[..t], &sides[t + 1..]].concat();
            propose(others.clone());
            let everybody = HostSet::first(self.hosts);
            let (near, far) = (everybody.without(*side), *side);
            let one = beside(near, &switches)
                .chain(beside(far, &switches))
                .map(|b| side.toggled(b));
            let two = beside(near, &switches)
                .flat_map(|a| beside(far, &switches).map(move |b| side.toggled(a).toggled(b)));
            for moved in one.chain(two) {
                if let Some(moved) = trunk_side(self.hosts, moved) {
                    propose([others.as_slice(), &[moved]].concat());
                }
            }
        }
        self.moved_hosts(sides).into_iter().for_each(propose);
        found
    }

    /// Every tree in which one host hangs from another switch.
    fn moved_hosts(&self, sides: &[HostSet]) -> Vec<Vec<HostSet>> {
        let mut found = Vec::new();
        for host in (0..self.hosts).map(HostSet::one) {
            for path in paths(sides, host) {
                let moved = sides.iter().map(|s| match path.contains(s) {
                    true => trunk_side(self.hosts, s.toggled(host)),
                    false => Some(*s),
                });
                found.push(moved.flatten().collect());
            }
        }
        found
    }
}

fn beside(end: HostSet, switches: &[Vec<HostSet>]) -> impl Iterator<Item = HostSet> {
    let here = switches.iter().find(|b| b.contains(&end));
    here.into_iter()
        .flatten()
        .copied()
        .filter(move |b| *b != end)
}

/// For each switch but that of `host`: the trunks between.
fn paths(sides: &[HostSet], host: HostSet) -> Vec<Vec<HostSet>> {
    // A switch is known by the innermost side around it; the first one has none.
    let switches = std::iter::once(HostSet::default()).chain(sides.iter().copied());
    switches
        .map(|switch| -> Vec<HostSet> {
            sides
                .iter()
                .filter(|s| s.covers(host) != (!switch.is_empty() && s.covers(switch)))
                .copied()
                .collect()
        })
        .filter(|path| !path.is_empty())
        .collect()
}
