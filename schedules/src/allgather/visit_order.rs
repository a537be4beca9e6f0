//! The orders in which the hosts and branches of a junction can be visited when neighbours are at
//! most `bound` cables apart.
//!
//! The numbers of visited branches of each kind are a state. Of two orders with the same state the
//! one whose last host is nearer is at least as good. Guarantee, cost: see [`super::lr3`].
use std::collections::BTreeSet;

/// The number of cables between a junction and a host.
pub(super) type CableCount = u32;
/// The distances to the first and to the last host of a branch, or of an order.
pub(super) type EndDistances = (CableCount, CableCount);
/// The pairs that no other pair beats: first ascending, last descending. A walk can be reversed, so
/// the front is symmetric.
pub(super) type ParetoFront = Vec<EndDistances>;

/// The hosts and branches of a junction, by kinds.
pub(super) struct VisitOrder<'a> {
    kinds: Vec<BranchKind<'a>>,
    states: usize,
    bound: CableCount,
}

struct BranchKind<'a> {
    front: &'a ParetoFront,
    count: usize,
    /// The difference that one more branch of this kind makes to the number of the state.
    stride: usize,
}

const NEVER: CableCount = CableCount::MAX;

impl<'a> VisitOrder<'a> {
    /// `None` where there are more than `most` states.
    pub(super) fn new(
        kinds: impl IntoIterator<Item = (&'a ParetoFront, usize)>,
        bound: CableCount,
        most: usize,
    ) -> Option<VisitOrder<'a>> {
        let mut states = 1usize;
        let mut all = Vec::new();
        for (front, count) in kinds {
            all.push(BranchKind {
                front,
                count,
                stride: states,
            });
            states = states
                .checked_mul(count + 1)
                .filter(|&states| states <= most)?;
        }
        Some(VisitOrder {
            kinds: all,
            states,
            bound,
        })
    }

    /// The number of states that [`VisitOrder::front`] looks at.
    pub(super) fn work(&self) -> usize {
        self.firsts().len().saturating_mul(self.states)
    }

    /// The ends of all orders that no other order beats.
    pub(super) fn front(&self) -> ParetoFront {
        let mut front = ParetoFront::new();
        for first in self.firsts() {
            let last = self.least_lasts(first)[self.states - 1];
            if front.last().map_or(NEVER, |ends| ends.1) > last {
                front.push((first, last));
            }
        }
        front
    }

    fn firsts(&self) -> BTreeSet<CableCount> {
        self.kinds
            .iter()
            .flat_map(|kind| kind.front.iter().map(|ends| ends.0))
            .collect()
    }

    /// An order with these ends, which [`VisitOrder::front`] has found: the kind of each step, and
    /// the ends of its walk.
    pub(super) fn steps(&self, (first, last): EndDistances) -> Vec<(usize, EndDistances)> {
        let least = self.least_lasts(first);
        let (mut state, mut steps) = (self.states - 1, Vec::new());
        debug_assert_eq!(least[state], last);
        while state > 0 {
            let step = self.kinds.iter().enumerate().find_map(|(k, kind)| {
                let before =
                    (state / kind.stride % (kind.count + 1) > 0).then(|| state - kind.stride)?;
                let ends = if before == 0 {
                    kind.beginning(first)
                } else {
                    kind.following(least[before], self.bound)
                };
                ends.filter(|ends| ends.1 == least[state])
                    .map(|ends| (before, (k, ends)))
            });
            let Some((before, step)) = step else {
                unreachable!("every state that was reached has a state before it")
            };
            steps.push(step);
            state = before;
        }
        steps.reverse();
        steps
    }

    /// For each state the least distance to the last host when the order begins at distance
    /// `first`.
    fn least_lasts(&self, first: CableCount) -> Vec<CableCount> {
        let mut least = vec![NEVER; self.states];
        for kind in &self.kinds {
            if let Some((_, last)) = kind.beginning(first) {
                least[kind.stride] = last;
            }
        }
        let mut visited = vec![0; self.kinds.len()];
        // One more branch makes a state's number greater, so each state is final when its turn comes.
        for state in 1..self.states {
            count_up(&mut visited, &self.kinds);
            if least[state] == NEVER {
                continue;
            }
            for (kind, &visited) in self.kinds.iter().zip(&visited) {
                if visited < kind.count
                    && let Some((_, last)) = kind.following(least[state], self.bound)
                {
                    let after = &mut least[state + kind.stride];
                    *after = last.min(*after);
                }
            }
        }
        least
    }
}

impl BranchKind<'_> {
    fn beginning(&self, first: CableCount) -> Option<EndDistances> {
        self.front.iter().copied().find(|ends| ends.0 == first)
    }

    /// The ends of the next walk after a host at distance `before`: of those near enough the pair
    /// that ends nearest.
    fn following(&self, before: CableCount, bound: CableCount) -> Option<EndDistances> {
        if before == NEVER {
            None
        } else {
            self.front
                .iter()
                .copied()
                .rfind(|ends| ends.0 + before <= bound)
        }
    }
}

fn count_up(visited: &mut [usize], kinds: &[BranchKind<'_>]) {
    for (digit, kind) in visited.iter_mut().zip(kinds) {
        if *digit < kind.count {
            *digit += 1;
            return;
        }
        *digit = 0;
    }
}
