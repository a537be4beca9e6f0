//! Which flows to send next, and what the tree is by then.
use crate::host_rates::HostRates;
use crate::host_set::HostSet;
use crate::likelihood::{Measurements, RateSpreads, distance, expected};
use crate::misfit::{self, ROUNDS_AGAIN, TreeMisfit};
use crate::rounds::{HostFlow, MeasuredRound};
use crate::search::{ScoredTree, TreeSearch};
use crate::sharing::SharingRule;
use crate::trunk_tree::MappedTrunk;

/// Rounds in which every host sends and receives, before the first look. In such a round a trunk
/// carries on average as many flows as it has load in an all-to-all, measured in the load of a
/// host's cable: a trunk that bounds a schedule is filled in about every second one.
const FIRST_ROUNDS: usize = 12;
/// Rounds without which no tree is believed.
const LEAST_ROUNDS: usize = 24;
/// Rounds after which a tree suffices that is as good as the true one for schedules.
const ENOUGH_ROUNDS: usize = 40;
/// Rounds between two looks.
const ROUNDS_A_LOOK: usize = 4;
/// The probability at which a tree is believed.
const BELIEVED: f64 = 0.99;
/// If the best tree leaves a larger part of the flows unexplained, none of its trunks is believed:
/// then something else slows flows down, and a trunk may only seem to be the reason.
const DOUBTED_FROM: f64 = 0.1;
/// Times of an all-to-all count as the same if the logarithm of their ratio is smaller.
const SAME_TIME: f64 = 0.05;
/// Flows of one round are not independent of each other, so that they say less than they seem to.
const TEMPER: f64 = 3.0;
/// Rounds among which the one that tells most is chosen.
const CANDIDATES: usize = 40;

/// A map in the making.
#[derive(Debug)]
pub struct MapSession {
    hosts: usize,
    rounds: Vec<MeasuredRound>,
    waiting: Vec<Vec<HostFlow>>,
    most_rounds: usize,
    /// True once rounds were measured again because the best tree was doubtful, or it was not.
    has_doubted: bool,
    own_rates: Vec<HostRates>,
    trees: Vec<ScoredTree>,
    rule: SharingRule,
    /// By what differences of scores are divided: more than [`TEMPER`] where the best tree leaves
    /// much to explain, so that a model that fits badly claims less.
    temper: f64,
}

/// The best trees of the rounds, under the assumption that flows share links by one rule.
struct RuleLook {
    rule: SharingRule,
    trees: Vec<ScoredTree>,
}

/// The tree as far as the rounds tell.
#[derive(Debug, Clone, PartialEq)]
pub struct MappedTree {
    /// The rates of each host's cable; empty before the first look.
    pub own_rates: Vec<HostRates>,
    /// The trunks that rounds filled.
    pub trunks: Vec<FoundTrunk>,
    /// The rounds that were measured.
    pub rounds: usize,
    /// The part of the flows whose rate this tree does not explain, from 0 to 1.
    pub unexplained: f64,
    /// Why no tree explains them, if none does.
    pub misfit: Option<TreeMisfit>,
}

/// A trunk with what speaks for it.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundTrunk {
    pub trunk: MappedTrunk,
    pub probability: f64,
    /// How often flows filled it, counted for each direction.
    pub filled: usize,
}

impl MapSession {
    /// A session for so many hosts, with at most so many rounds in which all hosts send.
    pub fn new(hosts: usize, most_rounds: usize) -> MapSession {
        // The rest is for rounds that are measured again.
        let before = most_rounds.saturating_sub(ROUNDS_AGAIN).max(LEAST_ROUNDS);
        MapSession {
            hosts,
            rounds: Vec::new(),
            waiting: (0..hosts)
                .rev()
                .map(|from| {
                    vec![HostFlow {
                        from,
                        to: (from + 1) % hosts,
                    }]
                })
                .collect(),
            most_rounds: hosts + most_rounds.min(before),
            has_doubted: false,
            own_rates: Vec::new(),
            trees: Vec::new(),
            rule: SharingRule::default(),
            temper: TEMPER,
        }
    }

    /// The next round, or `None` when nothing more is to be learned or the rounds are spent.
    pub fn next_round(&mut self, rng: &mut fastrand::Rng) -> Option<Vec<HostFlow>> {
        if let Some(round) = self.waiting.pop() {
            return Some(round);
        }
        if self.rounds.len() >= self.most_rounds {
            self.look();
            return self.doubted();
        }
        let together = self.rounds.len() - self.hosts;
        if together < FIRST_ROUNDS {
            return Some(permutation(self.hosts, rng));
        }
        self.look();
        let is_known = self.believed() >= BELIEVED && together >= LEAST_ROUNDS;
        let suffices = self.settled() >= BELIEVED && together >= ENOUGH_ROUNDS;
        if is_known || suffices || self.has_doubted {
            return self.doubted();
        }
        for _ in 0..ROUNDS_A_LOOK {
            let telling = self.telling_round(rng);
            self.waiting.push(telling);
        }
        self.waiting.pop()
    }

    /// The next of the rounds that are measured again, if the best tree is doubtful.
    fn doubted(&mut self) -> Option<Vec<HostFlow>> {
        if std::mem::replace(&mut self.has_doubted, true) {
            return None;
        }
        let mut measurements = Measurements::new(&self.own_rates, &self.rounds, self.rule);
        let best = &self.trees.first()?.trunks;
        if misfit::is_doubtful(measurements.fit(best)) {
            self.waiting = misfit::rounds_again(&self.rounds, &measurements.excess(best));
        }
        self.waiting.pop()
    }

    /// The rounds so far in which more than one host sent.
    pub fn rounds_together(&self) -> usize {
        self.rounds.len().saturating_sub(self.hosts)
    }

    /// Takes rounds that another session measured, and looks at them as often as it did.
    pub fn replay(&mut self, rounds: Vec<MeasuredRound>) {
        for round in rounds {
            let together = self.rounds_together();
            if together >= FIRST_ROUNDS && (together - FIRST_ROUNDS).is_multiple_of(ROUNDS_A_LOOK) {
                self.look();
            }
            self.record(round);
        }
    }

    /// Takes a round's figures.
    pub fn record(&mut self, round: MeasuredRound) {
        self.rounds.push(round);
    }

    /// The tree as far as known.
    pub fn tree(&mut self) -> MappedTree {
        if self.rounds.len() > self.hosts {
            self.look();
        }
        if self.own_rates.is_empty() {
            return MappedTree {
                own_rates: Vec::new(),
                trunks: Vec::new(),
                rounds: self.rounds.len(),
                unexplained: 0.0,
                misfit: None,
            };
        }
        let weights = self.weights();
        let mut measurements = Measurements::new(&self.own_rates, &self.rounds, self.rule);
        let best = self
            .trees
            .first()
            .map(|t| t.trunks.clone())
            .unwrap_or_default();
        let unexplained = measurements.unexplained(&best);
        let most = match unexplained > DOUBTED_FROM {
            true => 1.0 - unexplained,
            false => 1.0,
        };
        let misfit = misfit::misfit(&measurements, &measurements.excess(&best));
        let carried = measurements.carried(&best);
        MappedTree {
            trunks: best
                .into_iter()
                .zip(carried)
                .map(|((side, _), rates)| FoundTrunk {
                    trunk: MappedTrunk { side, rates },
                    probability: self.probability(side, &weights).min(most),
                    filled: measurements.times_filled(side),
                })
                .collect(),
            rounds: self.rounds.len(),
            unexplained,
            misfit,
            own_rates: self.own_rates.clone(),
        }
    }

    fn probability(&self, side: HostSet, weights: &[f64]) -> f64 {
        let with = self
            .trees
            .iter()
            .zip(weights)
            .filter(|(t, _)| t.sides().contains(&side));
        with.map(|(_, w)| w).sum::<f64>()
    }

    /// The probability of the best tree beside those one change away.
    pub fn believed(&self) -> f64 {
        self.weights().first().copied().unwrap_or(0.0)
    }

    /// The probability that the schedules for the best tree are as fast as those for the true one,
    /// or nearly.
    fn settled(&self) -> f64 {
        let Some(best) = self.trees.first().map(|tree| self.alltoall_time(tree)) else {
            return 0.0;
        };
        let weights = self.weights();
        let alike = self
            .trees
            .iter()
            .zip(weights)
            .filter(|(t, _)| (self.alltoall_time(t) / best).ln().abs() < SAME_TIME);
        alike.map(|(_, w)| w).sum()
    }

    fn alltoall_time(&self, tree: &ScoredTree) -> f64 {
        let cable = self
            .own_rates
            .iter()
            .map(|r| r.least())
            .fold(f64::INFINITY, f64::min);
        // In blocks over a host's cable: each host sends one to every other, and n1 * n2 cross a
        // trunk between n1 and n2 hosts (aapc-2007 section 3).
        let trunks = tree.trunks.iter().map(|(side, rates)| {
            (side.len() * (self.hosts - side.len())) as f64 * cable / rates.least()
        });
        trunks.fold((self.hosts - 1) as f64, f64::max)
    }

    fn weights(&self) -> Vec<f64> {
        let best = self.trees.first().map_or(0.0, |t| t.score);
        let weights: Vec<f64> = self
            .trees
            .iter()
            // Relative to the best one: exponentials of the scores themselves leave the range of an f64.
            .map(|t| ((t.score - best) / self.temper).exp())
            .collect();
        let sum: f64 = weights.iter().sum();
        weights.into_iter().map(|w| w / sum).collect()
    }

    fn look(&mut self) {
        self.own_rates = HostRates::measured(self.hosts, &self.rounds);
        let known = self
            .trees
            .first()
            .map(ScoredTree::sides)
            .unwrap_or_default();
        let usual = self.look_by(self.rule, &[Vec::new(), known]);
        // The rule stands where the other one tells no more of nearly the same tree.
        let sides = usual.trees[0].sides();
        let other = SharingRule::ALL
            .into_iter()
            .find(|r| *r != self.rule)
            .filter(|_| !sides.is_empty())
            .map(|rule| self.look_by(rule, &[sides]));
        let better = other.filter(|other| other.trees[0].score > usual.trees[0].score);
        let look = better.unwrap_or(usual);
        let mut measurements = Measurements::new(&self.own_rates, &self.rounds, look.rule);
        self.temper = TEMPER * measurements.dispersion(&look.trees[0].trunks);
        (self.rule, self.trees) = (look.rule, look.trees);
    }

    /// The best tree that is reached from one of these.
    fn look_by(&self, rule: SharingRule, starts: &[Vec<HostSet>]) -> RuleLook {
        let measurements = Measurements::new(&self.own_rates, &self.rounds, rule);
        let mut search = TreeSearch::new(self.hosts, measurements);
        let (mut best, mut others) = search.best(&starts[0]);
        for start in &starts[1..] {
            if !start.is_empty() && *start != best.sides() {
                let (again, beside) = search.best(start);
                if again.score > best.score {
                    (best, others) = (again, beside);
                }
            }
        }
        RuleLook {
            rule,
            trees: std::iter::once(best).chain(others).collect(),
        }
    }

    /// The round on which the trees that are still possible differ most.
    fn telling_round(&self, rng: &mut fastrand::Rng) -> Vec<HostFlow> {
        let weights = self.weights();
        let spreads = RateSpreads::under(self.rule);
        let tells = |flows: &Vec<HostFlow>| {
            let rates = |t: &ScoredTree| expected(self.rule, &self.own_rates, flows, &t.trunks);
            let best = rates(&self.trees[0]);
            let others = self.trees.iter().zip(&weights).skip(1);
            others
                .map(|(t, w)| w * distance(&best, &rates(t), spreads))
                .sum::<f64>()
        };
        let mut sides: Vec<HostSet> = self.trees.iter().flat_map(|t| t.sides()).collect();
        sides.sort();
        sides.dedup();
        let candidates: Vec<Vec<HostFlow>> = (0..CANDIDATES)
            .map(|c| match c % 2 {
                1 if !sides.is_empty() => across(self.hosts, sides[rng.usize(..sides.len())], rng),
                _ => permutation(self.hosts, rng),
            })
            .collect();
        let best = candidates
            .iter()
            .map(|c| (tells(c), c))
            .max_by(|a, b| a.0.total_cmp(&b.0));
        best.map_or_else(Vec::new, |(_, flows)| flows.clone())
    }
}

/// Every host sends to another, along one random cycle.
fn permutation(hosts: usize, rng: &mut fastrand::Rng) -> Vec<HostFlow> {
    let mut order: Vec<usize> = (0..hosts).collect();
    rng.shuffle(&mut order);
    (0..hosts)
        .map(|i| HostFlow {
            from: order[i],
            to: order[(i + 1) % hosts],
        })
        .collect()
}

/// As many flows as there can be from one side to the other, and back.
fn across(hosts: usize, side: HostSet, rng: &mut fastrand::Rng) -> Vec<HostFlow> {
    let mut inside: Vec<usize> = side.iter().collect();
    let mut outside: Vec<usize> = HostSet::first(hosts).without(side).iter().collect();
    rng.shuffle(&mut inside);
    rng.shuffle(&mut outside);
    let there: Vec<(usize, usize)> = inside
        .iter()
        .copied()
        .zip(outside.iter().copied())
        .collect();
    // Turned by one, so that a host sends to another than it receives from, where there is one.
    outside.rotate_left(1);
    let back = outside.into_iter().zip(inside);
    there
        .into_iter()
        .chain(back)
        .map(|(from, to)| HostFlow { from, to })
        .collect()
}
