use super::*;
use crate::aapc;
use crate::alltoall::{self, AlltoallAlgorithm};
use crate::capacities::EdgeCapacities;
use crate::packed::packed;
use crate::verify;
use inventory::BitsPerSec;
use inventory::tree::TreeCable;
use proptest::prelude::*;
use samples::trees::{any_tree_text, any_wide_tree, star, topology};
use std::collections::{BTreeSet, HashMap};

type MessagePairs = BTreeSet<(Message, Message)>;

fn pairs(syncs: &[Synchronization]) -> MessagePairs {
    syncs.iter().map(|s| (s.after, s.before)).collect()
}

/// The paper's method: a graph of all conflicts, from which every edge that a longer path implies
/// is removed. Returns the conflicts, and the edges that remain between different senders.
fn by_the_paper(tree: &Tree, phases: &[Vec<Message>]) -> (MessagePairs, MessagePairs) {
    let messages: Vec<(usize, Message)> = phases
        .iter()
        .enumerate()
        .flat_map(|(p, ms)| ms.iter().map(move |&m| (p, m)))
        .collect();
    let edges = |m: Message| {
        let mut edges = BTreeSet::new();
        tree.path(m.src, m.dst, |edge| assert!(edges.insert(edge)));
        edges
    };
    let paths: Vec<_> = messages.iter().map(|&(_, m)| edges(m)).collect();
    let (mut all, mut left) = (MessagePairs::new(), MessagePairs::new());
    let mut reachable: Vec<Vec<bool>> = vec![Vec::new(); messages.len()];
    for i in (0..messages.len()).rev() {
        let mut reach = vec![false; messages.len()];
        for j in (i + 1..messages.len())
            .filter(|&j| messages[i].0 < messages[j].0 && !paths[i].is_disjoint(&paths[j]))
        {
            all.insert((messages[i].1, messages[j].1));
            if !reach[j] && messages[i].1.src != messages[j].1.src {
                left.insert((messages[i].1, messages[j].1));
            }
            reach
                .iter_mut()
                .zip(&reachable[j])
                .for_each(|(own, theirs)| *own |= theirs);
            reach[j] = true;
        }
        reachable[i] = reach;
    }
    (all, left)
}

/// The figures are those of aapc-2005, Figure 5: a switch of 24 hosts, and 8 hosts on each of four
/// switches.
#[test]
fn a_third_of_the_tokens_suffices_on_a_star() {
    let counts = |tree: &Tree| {
        let phases = aapc::phases(tree);
        let count = |reduction| {
            syncs(
                tree,
                &EdgeCapacities::unit(tree),
                &phases,
                SyncKind::Sender,
                reduction,
            )
            .len()
        };
        (
            phases.iter().map(Vec::len).sum::<usize>(),
            count(SyncReduction::Chain),
            count(SyncReduction::Minimal),
        )
    };
    assert_eq!(counts(&star(&[24])), (552, 528, 528));
    let (messages, chain, minimal) = counts(&star(&[8, 8, 8, 8]));
    assert_eq!(messages, 992);
    assert!(
        (0.66..0.70).contains(&(minimal as f64 / 992.0)) && chain > minimal && chain < 1180,
        "{chain} {minimal}"
    );
}

#[test]
fn none_and_barrier_carry_no_tokens() {
    let tree = star(&[3, 2]);
    for kind in [SyncKind::None, SyncKind::Barrier] {
        assert!(
            syncs(
                &tree,
                &EdgeCapacities::unit(&tree),
                &aapc::phases(&tree),
                kind,
                SyncReduction::Chain
            )
            .is_empty()
        );
    }
}

/// For each message the messages that are over before it starts, by the tokens and by every
/// sender's own order.
fn closure(phases: &[Vec<Message>], syncs: &[Synchronization]) -> Vec<Vec<bool>> {
    let messages: Vec<(usize, Message)> = phases
        .iter()
        .enumerate()
        .flat_map(|(p, ms)| ms.iter().map(move |&m| (p, m)))
        .collect();
    let number: HashMap<Message, usize> = messages
        .iter()
        .enumerate()
        .map(|(i, &(_, m))| (m, i))
        .collect();
    let mut over = vec![vec![false; messages.len()]; messages.len()];
    for (i, &(phase, m)) in messages.iter().enumerate() {
        let awaited = syncs
            .iter()
            .filter(|s| s.before == m)
            .map(|s| number[&s.after]);
        let own = (0..i).filter(|&j| messages[j].1.src == m.src && messages[j].0 < phase);
        for j in awaited.chain(own).collect::<Vec<_>>() {
            let known = over[j].clone();
            over[i]
                .iter_mut()
                .zip(known)
                .for_each(|(own, theirs)| *own |= theirs);
            over[i][j] = true;
        }
    }
    over
}

/// Hosts cabled to hosts. A host with others below it receives over several cables, so its messages
/// do not come one after the other.
fn hosts_under_hosts(parents: &[usize]) -> Tree {
    let names: Vec<String> = (0..=parents.len()).map(|h| format!("n{h}")).collect();
    let hosts: Vec<(&str, u32)> = names.iter().map(|name| (name.as_str(), 1)).collect();
    Tree::new(
        &hosts,
        &[],
        &parents
            .iter()
            .enumerate()
            .map(|(child, &parent)| TreeCable {
                a: &names[child + 1],
                b: &names[parent],
                rate: BitsPerSec::GIGABIT,
            })
            .collect::<Vec<_>>(),
    )
    .unwrap()
}

fn kinds() -> impl Strategy<Value = SyncKind> {
    prop::sample::select(vec![SyncKind::Sender, SyncKind::Receiver])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 60 } else { 2000 }))]
    #[test]
    fn minimal_says_with_fewer_tokens_all_that_the_chain_says(
        tree in any_wide_tree(3..=8, 6),
        kind in kinds(),
    ) {
        let capacities = EdgeCapacities::from_tree(&tree);
        let phases = packed(&tree, &capacities);
        let [chain, minimal] = [SyncReduction::Chain, SyncReduction::Minimal]
            .map(|reduction| syncs(&tree, &capacities, &phases, kind, reduction));
        let all = closure(&phases, &minimal);
        prop_assert_eq!(&all, &closure(&phases, &chain));
        prop_assert!(pairs(&chain).is_superset(&pairs(&minimal)));
        for lost in 0..minimal.len() {
            let others = [&minimal[..lost], &minimal[lost + 1..]].concat();
            prop_assert_ne!(&closure(&phases, &others), &all);
        }
    }

    #[test]
    fn hosts_that_others_hang_from_are_told_of_everything(
        parents in (2..12usize).prop_flat_map(|n| (1..n).map(|h| 0..h).collect::<Vec<_>>()),
        kind in kinds(),
        chain in any::<bool>(),
    ) {
        let tree = hosts_under_hosts(&parents);
        let plan = alltoall::plan_as(
            &tree,
            AlltoallAlgorithm::Aapc,
            kind,
            if chain {
                SyncReduction::Chain
            } else {
                SyncReduction::Minimal
            },
        );
        prop_assert_eq!(verify::alltoall(&tree, &plan), Ok(()));
    }

    #[test]
    fn minimal_is_the_papers_reduction(text in any_tree_text(3..=12, 7)) {
        let tree = topology(&text);
        let phases = aapc::phases(&tree);
        let (conflicts, reduced) = by_the_paper(&tree, &phases);
        for kind in [SyncKind::Sender, SyncKind::Receiver] {
            let minimal = pairs(&syncs(
                &tree,
                &EdgeCapacities::unit(&tree),
                &phases,
                kind,
                SyncReduction::Minimal,
            ));
            let chain = pairs(&syncs(
                &tree,
                &EdgeCapacities::unit(&tree),
                &phases,
                kind,
                SyncReduction::Chain,
            ));
            prop_assert_eq!(&minimal, &reduced);
            prop_assert!(chain.is_superset(&minimal));
            prop_assert!(conflicts.is_superset(&chain));
        }
    }

    #[test]
    fn tokens_of_two_hosts_never_overtake(text in any_tree_text(3..=20, 9)) {
        let tree = topology(&text);
        let phases = aapc::phases(&tree);
        let phase: HashMap<Message, usize> = phases
            .iter()
            .enumerate()
            .flat_map(|(p, ms)| ms.iter().map(move |&m| (m, p)))
            .collect();
        for kind in [SyncKind::Sender, SyncKind::Receiver] {
            for reduction in [SyncReduction::Chain, SyncReduction::Minimal] {
                let mut last: HashMap<(u32, u32), (usize, usize)> = HashMap::new();
                for s in syncs(
                    &tree,
                    &EdgeCapacities::unit(&tree),
                    &phases,
                    kind,
                    reduction,
                ) {
                    prop_assert_ne!(s.from, s.to);
                    let (after, before) = (phase[&s.after], phase[&s.before]);
                    if let Some((earlier_after, earlier_before)) =
                        last.insert((s.from, s.to), (after, before))
                    {
                        prop_assert!(earlier_after < after && earlier_before < before);
                    }
                }
            }
        }
    }
}
