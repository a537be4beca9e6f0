//! LR3: the ring whose longest path between neighbours is as short as possible.
//!
//! Source: allgather-switched-clusters, section 4.2.2 (Algorithm 3, the optimal logical ring).
//! Input: a tree. Guarantee: no contention, and no ring without contention has a shorter longest
//! path. The search gives up, and is never wrong, where it would have to look at more than
//! [`MOST_STATES`] states. Cost: for each junction and each bound tried, states (the product of
//! `count + 1` over kinds of branches) times kinds. There are few states because most branches are
//! of one kind, and equal junctions are solved once. Deviations:
//! - The paper enumerates all orders of the hosts and branches of a switch. Here bounds on the path
//!   are tried from below. Under a bound, only those pairs (distance to the first host, distance to
//!   the last host) of a branch matter that no other pair beats. Branches with the same pairs are
//!   interchangeable. So the numbers of visited branches of each kind describe an unfinished order.
//! - If a switch has more hosts than its branches plus one, the surplus stands next to another of
//!   its hosts. This lengthens no path.
//! - Distances are counted in cables, so that a host that others are cabled to is at distance 0
//!   from itself. Neighbours at distances `a` and `b` of the junction where they meet pass `a + b -
//!   1` switches.
use super::branches::{BranchTarget, RingBranches};
use super::visit_order::{CableCount, EndDistances, ParetoFront, VisitOrder};
use inventory::tree::NodeNumber;
use std::collections::{BTreeMap, HashMap};

/// The states of one plan, all bounds together: at most some tenths of a second. Random clusters of
/// 4,000 switches take less than a fiftieth of it.
pub const MOST_STATES: usize = 1 << 22;

/// The ring, or `None` where the states do not suffice.
pub(super) fn ring(branches: &RingBranches) -> Option<Vec<NodeNumber>> {
    let mut states = MOST_STATES;
    // The search goes up from the least bound in growing steps, then between the last bound that
    // was too tight and the first that was not.
    let (mut least, mut step) = (shortest_crossing(branches), 0);
    let mut best = None;
    let mut bound = least;
    loop {
        let mut search = RingSearch::new(branches, bound);
        match search.closing(&mut states).ok()? {
            Some(ends) => best = Some((bound, search.ring(ends))),
            None => (least, step) = (bound + 1, 2 * step + 1),
        }
        bound = match best {
            Some((found, ring)) if found == least => return Some(ring),
            Some((found, _)) => least + (found - least) / 2,
            None => least + step - 1,
        };
    }
}

/// The cables from a junction to each of its hosts, and to the nearest host of each of its branches.
fn ways(branches: &RingBranches, junction: NodeNumber, nearest: &[CableCount]) -> Vec<CableCount> {
    let at = branches.at(junction);
    let hosts = at
        .hosts
        .iter()
        .map(|&host| CableCount::from(host != junction));
    let behind = at
        .branches
        .iter()
        .map(|&branch| nearest[branch as usize] + 1);
    hosts.chain(behind).collect()
}

/// A bound that no ring beats, in cables: a walk must enter each host and branch of a junction from
/// another one.
fn shortest_crossing(branches: &RingBranches) -> CableCount {
    let mut nearest = vec![0; branches.nodes()];
    for &junction in branches.junctions.iter().rev() {
        nearest[junction as usize] = ways(branches, junction, &nearest)
            .into_iter()
            .min()
            .unwrap_or(0);
    }
    let mut outside: Vec<Option<CableCount>> = vec![None; branches.nodes()];
    let mut bound = 0;
    for &junction in &branches.junctions {
        let mut all = ways(branches, junction, &nearest);
        all.extend(outside[junction as usize]);
        all.sort_unstable();
        let &[least, second, ..] = all.as_slice() else {
            continue;
        };
        // The farthest of all has a neighbour, too: the nearest at best.
        bound = bound.max(least + all[all.len() - 1]);
        for &branch in &branches.at(junction).branches {
            let elsewhere = if nearest[branch as usize] + 1 == least {
                second
            } else {
                least
            };
            outside[branch as usize] = Some(elsewhere + 1);
        }
    }
    bound
}

/// More states than allowed.
struct SearchExhausted;

/// The number of hosts or branches of each kind at a junction. Branches with equal fronts are of
/// one kind and share its number.
type KindCounts = Vec<(usize, usize)>;
/// A host on the junction.
const HOST: usize = 0;
/// The junction itself, where it is a host.
const ITSELF: usize = 1;

/// The search for a ring whose neighbours are at most `bound` cables apart.
struct RingSearch<'a> {
    branches: &'a RingBranches,
    bound: CableCount,
    fronts: Vec<ParetoFront>,
    number: HashMap<ParetoFront, usize>,
    /// For each junction its front as seen from the junction above.
    kind: Vec<usize>,
    /// For each junction its hosts and branches by kind.
    counts: Vec<KindCounts>,
}

impl<'a> RingSearch<'a> {
    fn new(branches: &'a RingBranches, bound: CableCount) -> Self {
        let fronts = vec![vec![(1, 1)], vec![(0, 0)]];
        let number = fronts.iter().cloned().zip(0..).collect();
        let nodes = branches.nodes();
        RingSearch {
            branches,
            bound,
            fronts,
            number,
            kind: vec![HOST; nodes],
            counts: vec![KindCounts::new(); nodes],
        }
    }

    /// The ends of an order at the root that closes to a ring, if there is one.
    fn closing(&mut self, states: &mut usize) -> Result<Option<EndDistances>, SearchExhausted> {
        let mut solved: HashMap<KindCounts, ParetoFront> = HashMap::new();
        let mut at_root = vec![(0, 0)];
        for &junction in self.branches.junctions.iter().rev() {
            let counts = self.counts(junction);
            if !solved.contains_key(&counts) {
                let order = self.order(&counts).ok_or(SearchExhausted)?;
                *states = states.checked_sub(order.work()).ok_or(SearchExhausted)?;
                solved.insert(counts.clone(), order.front());
            }
            at_root.clone_from(&solved[&counts]);
            // Seen from above, ends are one cable further away. Ends further away than the bound
            // have no neighbour there.
            let above: ParetoFront = at_root
                .iter()
                .map(|&(first, last)| (first + 1, last + 1))
                .filter(|&(first, last)| first.max(last) <= self.bound)
                .collect();
            if above.is_empty() && junction != self.branches.root {
                return Ok(None);
            }
            self.kind[junction as usize] = self.numbered(above);
            self.counts[junction as usize] = counts;
        }
        Ok(at_root
            .into_iter()
            .find(|&(first, last)| first + last <= self.bound))
    }

    fn numbered(&mut self, front: ParetoFront) -> usize {
        let next = self.fronts.len();
        if let Some(&known) = self.number.get(&front) {
            return known;
        }
        self.fronts.push(front.clone());
        self.number.insert(front, next);
        next
    }

    fn counts(&self, junction: NodeNumber) -> KindCounts {
        let at = self.branches.at(junction);
        let itself = usize::from(at.hosts.contains(&junction));
        let others = at.branches.len() + itself;
        let mut counts = BTreeMap::from([
            (HOST, (at.hosts.len() - itself).min(others + 1)),
            (ITSELF, itself),
        ]);
        at.branches
            .iter()
            .for_each(|&branch| *counts.entry(self.kind[branch as usize]).or_insert(0) += 1);
        counts.into_iter().filter(|&(_, count)| count > 0).collect()
    }

    fn order(&self, counts: &KindCounts) -> Option<VisitOrder<'_>> {
        VisitOrder::new(
            counts
                .iter()
                .map(|&(kind, count)| (&self.fronts[kind], count)),
            self.bound,
            MOST_STATES,
        )
    }

    /// The hosts in an order with these ends at the root.
    fn ring(&self, ends: EndDistances) -> Vec<NodeNumber> {
        let mut wanted = vec![(0, 0); self.branches.nodes()];
        let mut known: HashMap<(&KindCounts, EndDistances), Vec<(usize, EndDistances)>> =
            HashMap::new();
        wanted[self.branches.root as usize] = ends;
        self.branches.walk(|junction| {
            let counts = &self.counts[junction as usize];
            let ends = wanted[junction as usize];
            let steps = known
                .entry((counts, ends))
                .or_insert_with(|| match self.order(counts) {
                    Some(order) => order
                        .steps(ends)
                        .into_iter()
                        .map(|(k, ends)| (counts[k].0, ends))
                        .collect(),
                    None => unreachable!("it was small enough when its front was found"),
                });
            self.named(junction, steps, &mut wanted)
        })
    }

    /// The hosts and branches that take the steps at `junction`; those of one kind are in the order
    /// of the tree.
    fn named(
        &self,
        junction: NodeNumber,
        steps: &[(usize, EndDistances)],
        wanted: &mut [EndDistances],
    ) -> Vec<BranchTarget> {
        let at = self.branches.at(junction);
        let mut hosts: Vec<NodeNumber> = at
            .hosts
            .iter()
            .rev()
            .copied()
            .filter(|&host| host != junction)
            .collect();
        let mut branches: BTreeMap<usize, Vec<NodeNumber>> = BTreeMap::new();
        at.branches.iter().rev().for_each(|&branch| {
            branches
                .entry(self.kind[branch as usize])
                .or_default()
                .push(branch)
        });
        // The first host is followed by the hosts that the counts left out.
        let mut together = hosts.len() + 1 - steps.iter().filter(|step| step.0 == HOST).count();
        let mut next = Vec::with_capacity(steps.len());
        for &(kind, (first, last)) in steps {
            if kind == ITSELF {
                next.push(BranchTarget::Host(junction));
            } else if kind == HOST {
                next.extend(
                    hosts
                        .drain(hosts.len() - together..)
                        .rev()
                        .map(BranchTarget::Host),
                );
                together = 1;
            } else if let Some(branch) = branches.get_mut(&kind).and_then(Vec::pop) {
                next.push(BranchTarget::Branch(branch));
                wanted[branch as usize] = (first - 1, last - 1);
            }
        }
        next
    }
}
