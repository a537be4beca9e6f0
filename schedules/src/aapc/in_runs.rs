//! Phases in which one host after the other sends over the bottleneck.
//!
//! Source: none of the papers. Input: a tree, every edge of unit capacity. The cable with the
//! highest load parts the hosts into two sides. In the phases of AAPC another host sends over it in
//! nearly each phase, in one direction at least, and each time a token has to come from the other
//! side first. Here a host sends all its messages for the other side in a row, in both directions,
//! which fills every phase. The messages within a side then go where all their edges are free: if
//! possible in a phase before and after which nobody else uses these edges, so that nobody waits.
//!
//! Guarantee: the pairs of AAPC, in as many phases, and no two messages of a phase on one directed
//! edge; or no phases at all, where those within a side do not fit. On rows of switches they fit,
//! and a row of 4 with 8 hosts each needs 520 tokens in place of 927. On one switch and on stars
//! they do not: there other cables are as busy as the bottleneck. Of 400 random trees with 4 to 32
//! hosts 328 had such phases; tokens were more than in AAPC's order for 5 of them, two thirds in
//! all. Cost: O(messages within a side * phases * path length), 64 phases at a time, so only up to
//! [`MOST_HOSTS`]. Deviations: first fit does not prove that the messages would fit in no other way.
use crate::message::Message;
use inventory::tree::{NodeNumber, Tree};
use std::cmp::Reverse;

/// Among more hosts this would take longer than the rest of the plan.
pub const MOST_HOSTS: u32 = 128;

/// The phases, or `None`: no such phases were found.
pub fn phases(tree: &Tree) -> Option<Vec<Vec<Message>>> {
    if !(4..=MOST_HOSTS).contains(&tree.hosts()) {
        return None;
    }
    let sides = sides(tree)?;
    let mut room = PhaseUse::new(tree, sides[0].len() * sides[1].len());
    for [senders, receivers] in [[&sides[0], &sides[1]], [&sides[1], &sides[0]]] {
        let pairs = senders
            .iter()
            .flat_map(|&src| receivers.iter().map(move |&dst| Message { src, dst }));
        for (phase, message) in pairs.enumerate() {
            room.put(phase, message);
        }
    }
    for message in within(tree, &sides) {
        let phase = room.free_phase(message)?;
        room.put(phase, message);
    }
    Some(room.phases)
}

/// The hosts on both sides of the bottleneck, each side from switch to switch; `None` where one
/// side is a single host.
fn sides(tree: &Tree) -> Option<[Vec<NodeNumber>; 2]> {
    let (n, below) = (tree.hosts(), tree.hosts_below());
    let cables = (0..tree.nodes()).filter(|&v| tree.parent(v).is_some());
    // Each host on one side of a cable sends to each on the other: that product is its load.
    let cut = cables.max_by_key(|&v| (below[v as usize] * (n - below[v as usize]), Reverse(v)))?;
    let mut way_down: Vec<Vec<NodeNumber>> = vec![Vec::new(); tree.nodes() as usize];
    for &v in tree.top_down() {
        let above = tree
            .parent(v)
            .map(|parent| way_down[parent as usize].clone());
        way_down[v as usize] = above.unwrap_or_default();
        way_down[v as usize].push(v);
    }
    let mut hosts: Vec<NodeNumber> = (0..n).collect();
    hosts.sort_by(|&a, &b| way_down[a as usize].cmp(&way_down[b as usize]));
    let (inside, outside): (Vec<_>, Vec<_>) = hosts
        .into_iter()
        .partition(|&host| way_down[host as usize].contains(&cut));
    (inside.len() > 1 && outside.len() > 1).then_some([inside, outside])
}

/// The messages within each side, the longest first.
fn within(tree: &Tree, sides: &[Vec<NodeNumber>; 2]) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    for side in sides {
        for &src in side {
            let others = side.iter().filter(|&&dst| dst != src);
            messages.extend(others.map(|&dst| Message { src, dst }));
        }
    }
    messages.sort_by_cached_key(|message| {
        let mut links = 0;
        tree.path(message.src, message.dst, |_| links += 1);
        Reverse(links)
    });
    messages
}

/// The phases in which each edge is used, and each host sends.
struct PhaseUse<'a> {
    tree: &'a Tree,
    phases: Vec<Vec<Message>>,
    /// By edge.
    used: Vec<PhaseSet>,
    /// By host.
    sends: Vec<PhaseSet>,
}

impl<'a> PhaseUse<'a> {
    fn new(tree: &'a Tree, phases: usize) -> PhaseUse<'a> {
        let none = PhaseSet(vec![0; phases.div_ceil(64)]);
        PhaseUse {
            tree,
            phases: vec![Vec::new(); phases],
            used: vec![none.clone(); tree.edges() as usize],
            sends: vec![none; tree.hosts() as usize],
        }
    }

    fn put(&mut self, phase: usize, message: Message) {
        self.tree.path(message.src, message.dst, |edge| {
            self.used[edge as usize].add(phase);
        });
        self.sends[message.src as usize].add(phase);
        self.phases[phase].push(message);
    }

    /// The first phase in which the message's edges are free, the best of these three: nobody else
    /// has them before and after; nobody else has them after, perhaps on the way to the bottleneck;
    /// any.
    fn free_phase(&self, message: Message) -> Option<usize> {
        let words = self.phases.len().div_ceil(64);
        let mut used = PhaseSet(vec![0; words]);
        self.tree.path(message.src, message.dst, |edge| {
            for (all, more) in used.0.iter_mut().zip(&self.used[edge as usize].0) {
                *all |= more;
            }
        });
        let own = &self.sends[message.src as usize];
        let mut by_others = used.clone();
        for (others, own) in by_others.0.iter_mut().zip(&own.0) {
            *others &= !own;
        }
        let first = |taken: &dyn Fn(usize) -> u64| {
            let free = (0..words).find_map(|at| {
                let free = !(used.0[at] | taken(at));
                (free != 0).then(|| at * 64 + free.trailing_zeros() as usize)
            });
            free.filter(|&phase| phase < self.phases.len())
        };
        let (before, after) = (|at| by_others.one_later(at), |at| by_others.one_earlier(at));
        first(&|at| before(at) | after(at))
            .or_else(|| first(&after))
            .or_else(|| first(&|_| 0))
    }
}

/// Numbers of phases, a bit for each.
#[derive(Debug, Clone)]
struct PhaseSet(Vec<u64>);

impl PhaseSet {
    fn add(&mut self, phase: usize) {
        self.0[phase / 64] |= 1 << (phase % 64);
    }

    /// A word of the set of phases whose previous one is in this set.
    fn one_later(&self, at: usize) -> u64 {
        let carried = at.checked_sub(1).map_or(0, |at| self.0[at] >> 63);
        self.0[at] << 1 | carried
    }

    /// A word of the set of phases whose next one is in this set.
    fn one_earlier(&self, at: usize) -> u64 {
        let carried = self.0.get(at + 1).map_or(0, |next| next << 63);
        self.0[at] >> 1 | carried
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alltoall::{AlltoallAlgorithm, AlltoallSchedule, plan, plan_as};
    use crate::synchronization::scheme::SyncScheme;
    use crate::synchronization::{SyncKind, SyncReduction};
    use crate::verify;
    use proptest::prelude::*;
    use samples::trees::{any_tree, row, star};

    fn in_order_of_aapc(tree: &Tree) -> AlltoallSchedule {
        let minimal = SyncReduction::Minimal;
        plan_as(tree, AlltoallAlgorithm::Aapc, SyncKind::Receiver, minimal)
    }

    #[test]
    fn a_row_of_switches_needs_half_the_tokens() {
        for (switches, hosts, aapc, runs) in [(2, 8, 225, 158), (4, 8, 927, 520)] {
            let tree = row(switches, hosts);
            let (before, now) = (in_order_of_aapc(&tree), plan(&tree, SyncKind::Receiver));
            assert_eq!((before.syncs.len(), now.syncs.len()), (aapc, runs));
            assert_eq!(before.phases.len(), now.phases.len());
        }
    }

    #[test]
    fn each_host_sends_over_the_bottleneck_once_in_a_row() {
        let phases = phases(&row(4, 4)).unwrap();
        for direction in [false, true] {
            let side = |host: u32| (host < 8) == direction;
            let over = phases.iter().map(|phase| {
                let mut over = phase.iter().filter(|m| side(m.src) && !side(m.dst));
                let message = over.next().unwrap();
                assert_eq!(over.next(), None);
                message.src
            });
            let mut senders: Vec<u32> = over.collect();
            assert_eq!(senders.len(), 64);
            senders.dedup();
            assert_eq!(senders.len(), 8);
        }
    }

    #[test]
    fn what_waits_for_no_turn_stays_in_aapcs_order() {
        let tree = row(4, 4);
        let phases = |scheme| plan(&tree, scheme).phases;
        let of_aapc = in_order_of_aapc(&tree).phases;
        assert_eq!(phases(SyncScheme::WINDOW), of_aapc);
        assert_ne!(phases(SyncKind::Receiver.into()), of_aapc);
    }

    #[test]
    fn where_every_cable_is_the_bottleneck_aapc_stays() {
        for tree in [star(&[8]), star(&[0, 8, 8, 8, 8])] {
            assert_eq!(phases(&tree), None);
            assert_eq!(plan(&tree, SyncKind::Receiver), in_order_of_aapc(&tree));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(
            if cfg!(debug_assertions) { 64 } else { 10_000 }
        ))]
        #[test]
        fn what_fits_is_an_all_to_all_of_as_many_phases(tree in any_tree(3..=24)) {
            let plan = plan(&tree, SyncKind::Receiver);
            prop_assert_eq!(verify::alltoall(&tree, &plan), Ok(()));
            prop_assert_eq!(plan.phases.len(), super::super::phases(&tree).len());
        }
    }
}
