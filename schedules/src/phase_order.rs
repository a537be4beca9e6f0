//! The order of phases that needs fewer synchronizations.
//!
//! Source: none of the papers. Each phase by itself is free of contention, so phases may come in
//! any order. The order decides which messages follow each other on an edge, and so which hosts
//! must send tokens. Input: phases in which no edge carries more messages than it is wide.
//! Guarantee: the same phases, and never more synchronizations than in the given order. The result
//! is the same on every machine. Cost: O(messages * path length * [`WINDOWS`]) and the
//! synchronizations of each order tried; beyond [`MOST_MESSAGES`] only the synchronizations of the
//! given order. Deviations: the order is not the best one, which would be a travelling salesman's
//! problem. The next phase is chosen among the few that have waited longest: the one whose messages
//! follow other senders on the fewest edges. Small windows nearly keep the order of AAPC, which is
//! hard to beat on a star. Larger ones depart from it where that pays, as in a row of switches.
//!
//! Synchronizations per message (minimal) of AAPC's phases, before and after:
//!
//! | switches, hosts each | before | after |
//! |---|---|---|
//! | 1 x 24 | 0.957 | 0.957 |
//! | star 4 x 8, hosts also on the hub | 0.682 | 0.659 |
//! | star 8 x 16, hosts also on the hub | 0.395 | 0.387 |
//! | star 4 x 8 and an empty hub | 0.572 | 0.555 |
//! | row 3 x 8 | 0.792 | 0.708 |
//! | row 4 x 8 | 0.934 | 0.762 |
//! | row 8 x 16 | 0.972 | 0.793 |
use crate::capacities::EdgeCapacities;
use crate::message::{Message, Synchronization};
use crate::synchronization::{SyncKind, SyncReduction, syncs};
use inventory::tree::{EdgeNumber, Tree};
use std::collections::VecDeque;

/// The numbers of waiting phases among which the next one is chosen; all of them are tried.
pub const WINDOWS: [usize; 3] = [8, 16, 64];

/// Schedules with more messages, those of more than 128 hosts, stay as they are, because trying
/// orders would take far longer than planning.
pub const MOST_MESSAGES: usize = 128 * 127;

/// The order of the phases that needs the fewest synchronizations among the orders tried, and these
/// synchronizations.
pub fn with_fewer_syncs(
    tree: &Tree,
    capacities: &EdgeCapacities,
    phases: Vec<Vec<Message>>,
    kind: SyncKind,
    reduction: SyncReduction,
) -> (Vec<Vec<Message>>, Vec<Synchronization>) {
    let needed = |phases: &[Vec<Message>]| syncs(tree, capacities, phases, kind, reduction);
    let given = needed(&phases);
    let none_to_save =
        given.is_empty() || phases.iter().map(Vec::len).sum::<usize>() > MOST_MESSAGES;
    if none_to_save {
        return (phases, given);
    }
    let paths = NarrowPaths::new(tree, capacities, &phases);
    let orders = WINDOWS.map(|window| paths.order(window));
    let mut tried = orders.into_iter().map(|order| {
        let phases: Vec<Vec<Message>> = order.iter().map(|&phase| phases[phase].clone()).collect();
        let syncs = needed(&phases);
        (phases, syncs)
    });
    match tried.by_ref().min_by_key(|(_, syncs)| syncs.len()) {
        Some(best) if best.1.len() < given.len() => best,
        _ => (phases, given),
    }
}

/// The edges of width 1 that the messages of every phase use.
struct NarrowPaths {
    edges: usize,
    phases: Vec<Vec<MessagePath>>,
}

struct MessagePath {
    src: u32,
    edges: Vec<EdgeNumber>,
}

impl NarrowPaths {
    fn new(tree: &Tree, capacities: &EdgeCapacities, phases: &[Vec<Message>]) -> NarrowPaths {
        let paths = phases.iter().map(|messages| {
            let paths = messages.iter().map(|m| {
                let mut edges = Vec::new();
                tree.path(m.src, m.dst, |edge| {
                    edges.extend(Some(edge).filter(|&edge| capacities.width(edge) == 1))
                });
                MessagePath { src: m.src, edges }
            });
            paths.collect()
        });
        NarrowPaths {
            edges: tree.edges() as usize,
            phases: paths.collect(),
        }
    }

    /// The order in which phases are taken, each time from the first `window` phases that are left.
    fn order(&self, window: usize) -> Vec<usize> {
        let mut left: VecDeque<usize> = (0..self.phases.len()).collect();
        let mut order = Vec::with_capacity(left.len());
        let mut users = LastUsers {
            last: vec![None; self.edges],
            count: 0,
        };
        while let Some((place, _)) = left
            .iter()
            .map(|&phase| users.cost(&self.phases[phase]))
            .enumerate()
            .take(window)
            // Of equal ones `min_by` gives the first, which has waited longest.
            .min_by(|a, b| a.1.cmp(&b.1))
        {
            let Some(phase) = left.remove(place) else {
                break;
            };
            users.send(&self.phases[phase]);
            order.push(phase);
        }
        order
    }
}

/// The latest user of each edge.
struct LastUsers {
    /// Sender and number of the last message.
    last: Vec<Option<(u32, u32)>>,
    count: u32,
}

impl LastUsers {
    /// The number of messages of other senders that the messages of a phase would follow, divided
    /// by the number of its messages. A message counts as often as it is followed.
    fn cost(&self, phase: &[MessagePath]) -> OrderCost {
        let mut others = Vec::new();
        let mut follows = 0;
        for path in phase {
            others.extend(
                path.edges
                    .iter()
                    .filter_map(|&edge| self.last[edge as usize])
                    .filter(|&(src, _)| src != path.src),
            );
            others.sort_unstable();
            others.dedup();
            follows += others.len() as u64;
            others.clear();
        }
        OrderCost {
            follows,
            messages: phase.len() as u64,
        }
    }

    fn send(&mut self, phase: &[MessagePath]) {
        for path in phase {
            path.edges
                .iter()
                .for_each(|&edge| self.last[edge as usize] = Some((path.src, self.count)));
            self.count += 1;
        }
    }
}

/// A fraction. Two of them are compared by cross multiplication.
struct OrderCost {
    follows: u64,
    messages: u64,
}

impl OrderCost {
    fn cmp(&self, other: &OrderCost) -> std::cmp::Ordering {
        (self.follows * other.messages.max(1)).cmp(&(other.follows * self.messages.max(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aapc;
    use crate::packed::packed;
    use proptest::prelude::*;
    use samples::trees::{any_tree, any_wide_tree, row};

    #[test]
    fn a_row_of_switches_needs_a_fifth_less() {
        let tree = row(4, 8);
        let (unit, phases) = (EdgeCapacities::unit(&tree), aapc::phases(&tree));
        let given = syncs(
            &tree,
            &unit,
            &phases,
            SyncKind::Receiver,
            SyncReduction::Minimal,
        )
        .len();
        let (_, fewer) = with_fewer_syncs(
            &tree,
            &unit,
            phases,
            SyncKind::Receiver,
            SyncReduction::Minimal,
        );
        assert_eq!((given, fewer.len()), (927, 756));
    }

    fn sorted(mut phases: Vec<Vec<Message>>) -> Vec<Vec<Message>> {
        phases.sort();
        phases
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(
            if cfg!(debug_assertions) { 32 } else { 500 }
        ))]
        #[test]
        fn the_same_phases_and_never_more_tokens(
            unit in any_tree(1..=20),
            wide in any_wide_tree(3..=16, 6),
            sender in any::<bool>(),
            chain in any::<bool>(),
        ) {
            let kind = if sender {
                SyncKind::Sender
            } else {
                SyncKind::Receiver
            };
            let reduction = if chain {
                SyncReduction::Chain
            } else {
                SyncReduction::Minimal
            };
            let wide_phases = packed(&wide, &EdgeCapacities::from_tree(&wide));
            for (tree, capacities, phases) in [
                (&unit, EdgeCapacities::unit(&unit), aapc::phases(&unit)),
                (&wide, EdgeCapacities::from_tree(&wide), wide_phases),
            ] {
                let given = syncs(tree, &capacities, &phases, kind, reduction);
                let (ordered, fewer) =
                    with_fewer_syncs(tree, &capacities, phases.clone(), kind, reduction);
                prop_assert!(fewer.len() <= given.len());
                prop_assert_eq!(&fewer, &syncs(tree, &capacities, &ordered, kind, reduction));
                prop_assert_eq!(sorted(ordered), sorted(phases));
            }
        }
    }
}
