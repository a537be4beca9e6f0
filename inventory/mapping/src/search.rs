//! The tree that explains the rounds best.
use crate::host_set::HostSet;
use crate::likelihood::Measurements;
use crate::trunk_tree::{branches, compatible, trunk_side};
use std::collections::BTreeSet;

/// What a further trunk must explain to be believed beside the choice of its hosts, in logarithms
/// of probability.
const PRICE_OF_A_TRUNK: f64 = 6.0;
/// What the other cables of a switch must carry at least to fill a trunk clearly, in its rates.
const FILLABLE: f64 = 1.1;
/// Changed trees of which the rates are refined, the best by first sight.
const REFINED: usize = 24;

/// A tree and how probable it is beside others.
#[derive(Debug, Clone)]
pub(crate) struct ScoredTree {
    pub(crate) trunks: Vec<(HostSet, f64)>,
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
}

impl<'a> TreeSearch<'a> {
    pub(crate) fn new(hosts: usize, measurements: Measurements<'a>) -> TreeSearch<'a> {
        let proposals = crate::proposals::proposed_sides(hosts, measurements.rounds);
        TreeSearch {
            hosts,
            measurements,
            proposals,
            slow_sides: Vec::new(),
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
                let mut tried = best.clone();
                tried.trunks[t].1 = self.measurements.rate(side, place).expect("it was rated");
                tried.score = self.score(&tried.trunks);
                if tried.score > best.score {
                    best = tried;
                }
            }
        }
        best
    }

    fn score(&mut self, trunks: &[(HostSet, f64)]) -> f64 {
        let price = |side: HostSet| {
            let count = side.len().min(self.hosts - side.len());
            let choices = (0..count).map(|i| ((self.hosts - i) as f64 / (i + 1) as f64).ln());
            PRICE_OF_A_TRUNK + choices.sum::<f64>()
        };
        let prices: f64 = trunks.iter().map(|(side, _)| price(*side)).sum();
        self.measurements.log_likelihood(trunks) - prices
    }

    /// True if at both ends of each trunk the other cables carry more than the trunk. One that they
    /// cannot fill slows no flow down: the rates cannot tell it.
    fn can_be_filled(&self, trunks: &[(HostSet, f64)]) -> bool {
        let sides: Vec<HostSet> = trunks.iter().map(|(side, _)| *side).collect();
        let rate = |branch: &HostSet| {
            let side = trunk_side(self.hosts, *branch);
            let trunk = trunks.iter().find(|(known, _)| Some(*known) == side);
            let host = || branch.iter().map(|h| self.measurements.own_rate(h)).sum();
            trunk.map_or_else(host, |(_, rate)| *rate)
        };
        branches(self.hosts, &sides).iter().all(|switch| {
            let all: f64 = switch.iter().map(rate).sum();
            let is_trunk = |b: &&HostSet| trunk_side(self.hosts, **b).is_some();
            switch
                .iter()
                .filter(is_trunk)
                .all(|b| all - rate(b) > FILLABLE * rate(b))
        })
    }

    fn scored(&mut self, sides: Vec<HostSet>) -> Option<ScoredTree> {
        let rated = |side: HostSet| Some((side, self.measurements.rate(side, 0.75)?));
        let trunks: Vec<(HostSet, f64)> = sides.into_iter().map(rated).collect::<Option<_>>()?;
        if !self.can_be_filled(&trunks) {
            return None;
        }
        let score = self.score(&trunks);
        Some(ScoredTree { trunks, score })
    }

    /// Every tree that one change makes of this one.
    fn changed(&self, sides: &[HostSet]) -> BTreeSet<Vec<HostSet>> {
        let mut found = BTreeSet::new();
        let mut propose = |mut new: Vec<HostSet>| {
            new.sort();
            new.dedup();
            let apart = |(i, a): (usize, &HostSet)| new[..i].iter().all(|b| compatible(*a, *b));
            if new != sides && new.iter().enumerate().all(apart) {
                found.insert(new);
            }
        };
        let switches = branches(self.hosts, sides);
        // One more trunk: two branches of a switch get a switch of their own; or a proposal.
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
            let at = |end: HostSet| {
                let here = switches.iter().find(|b| b.contains(&end));
                here.into_iter()
                    .flatten()
                    .copied()
                    .filter(move |b| *b != end)
            };
            let (near, far) = (everybody.without(*side), *side);
            let one = at(near).chain(at(far)).map(|b| side.toggled(b));
            let two = at(near).flat_map(|a| at(far).map(move |b| side.toggled(a).toggled(b)));
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

/// For each switch but that of `host`: the trunks between.
fn paths(sides: &[HostSet], host: HostSet) -> Vec<Vec<HostSet>> {
    // A switch is known by the innermost side around it; the first one has none.
    let switches = std::iter::once(HostSet::default()).chain(sides.iter().copied());
    let between = |switch: HostSet| -> Vec<HostSet> {
        let around = |s: &HostSet| !switch.is_empty() && s.covers(switch);
        let differ = |s: &&HostSet| s.covers(host) != around(s);
        sides.iter().filter(differ).copied().collect()
    };
    switches
        .map(between)
        .filter(|path| !path.is_empty())
        .collect()
}
