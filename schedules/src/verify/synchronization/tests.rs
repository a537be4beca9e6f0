use super::super::alltoall;
use super::super::violation::ScheduleViolation;
use crate::alltoall::{AlltoallAlgorithm, AlltoallSchedule, plan_as};
use crate::bound::bound;
use crate::capacities::EdgeCapacities;
use crate::message::{Message, Synchronization};
use crate::packed::packed;
use crate::synchronization::scheme::SyncScheme;
use crate::synchronization::{SyncKind, SyncReduction, syncs};
use crate::test_trees::{any_wide_tree, star};
use inventory::Tree;
use proptest::prelude::*;
use proptest::sample::Index;
use std::collections::HashMap;

fn plan(
    tree: &Tree,
    phases: Vec<Vec<Message>>,
    kind: SyncKind,
    reduction: SyncReduction,
) -> AlltoallSchedule {
    let capacities = EdgeCapacities::of(tree);
    let syncs = syncs(tree, &capacities, &phases, kind, reduction);
    AlltoallSchedule {
        algorithm: AlltoallAlgorithm::Capacity,
        hosts: tree.host_names().to_vec(),
        bound: bound(tree, &capacities),
        phases,
        scheme: kind.into(),
        syncs,
    }
}

/// The check by definition: it computes the order's closure over all pairs. For every edge it tries
/// all sets of users, and finds the largest set without two users in order.
fn widths_are_kept(tree: &Tree, plan: &AlltoallSchedule) -> bool {
    let messages: Vec<(usize, Message)> = plan
        .phases
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
        let awaited = plan
            .syncs
            .iter()
            .filter(|s| s.before == m)
            .map(|s: &Synchronization| number[&s.after]);
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
    let capacities = EdgeCapacities::of(tree);
    (0..tree.edges()).all(|edge| {
        let uses = |m: Message| {
            let mut uses = false;
            tree.path(m.src, m.dst, |e| uses |= e == edge);
            uses
        };
        let users: Vec<usize> = (0..messages.len())
            .filter(|&i| uses(messages[i].1))
            .collect();
        let apart = |a: usize, b: usize| over[b][a];
        users.is_empty() || !antichain(&users, &apart, &mut Vec::new(), capacities.width(edge) + 1)
    })
}

/// True if `chosen` can be extended to an antichain of `size` by some of `users`.
fn antichain(
    users: &[usize],
    apart: &impl Fn(usize, usize) -> bool,
    chosen: &mut Vec<usize>,
    size: u64,
) -> bool {
    if chosen.len() as u64 == size {
        return true;
    }
    users.iter().enumerate().any(|(i, &user)| {
        let fits = chosen.iter().all(|&one| !apart(one, user));
        fits && {
            chosen.push(user);
            let found = antichain(&users[i + 1..], apart, chosen, size);
            chosen.pop();
            found
        }
    })
}

fn kinds() -> impl Strategy<Value = (SyncKind, SyncReduction)> {
    (
        prop::sample::select(vec![SyncKind::Sender, SyncKind::Receiver]),
        prop::sample::select(vec![SyncReduction::Chain, SyncReduction::Minimal]),
    )
}

#[test]
fn barriers_and_tokens_share_the_work() {
    let tree = star(&[3, 3]);
    let of = |scheme: &str| {
        plan_as(
            &tree,
            AlltoallAlgorithm::Aapc,
            scheme.parse::<SyncScheme>().unwrap(),
            SyncReduction::Minimal,
        )
    };
    for scheme in [
        "none",
        "dummy",
        "barrier",
        "barrier(3)",
        "sender",
        "receiver(3)",
        "barrier+sender(3)",
        "barrier+receiver(2)",
    ] {
        assert_eq!(alltoall(&tree, &of(scheme)), Ok(()), "{scheme}");
    }
    let mut bare = of("barrier+sender(3)");
    bare.syncs.clear();
    assert!(matches!(
        alltoall(&tree, &bare),
        Err(ScheduleViolation::Unordered {
            second_phase: 1..=2,
            ..
        })
    ));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 64 } else { 1000 }))]
    #[test]
    fn lanes_keep_edges_within_their_widths(
        tree in any_wide_tree(3..=24, 8),
        (kind, reduction) in kinds(),
    ) {
        let phases = packed(&tree, &EdgeCapacities::of(&tree));
        prop_assert_eq!(
            alltoall(&tree, &plan(&tree, phases, kind, reduction)),
            Ok(())
        );
    }

    #[test]
    fn a_lost_token_is_missed_exactly_where_an_edge_can_be_too_full(
        tree in any_wide_tree(3..=8, 5),
        (kind, reduction) in kinds(),
        lost in prop::collection::vec(any::<Index>(), 1..4),
    ) {
        let mut plan = plan(
            &tree,
            packed(&tree, &EdgeCapacities::of(&tree)),
            kind,
            reduction,
        );
        for lost in lost {
            if plan.syncs.len() > 1 {
                plan.syncs.remove(lost.index(plan.syncs.len()));
            }
        }
        prop_assume!(!plan.syncs.is_empty());
        let verdict = alltoall(&tree, &plan);
        prop_assert_eq!(
            verdict.is_ok(),
            widths_are_kept(&tree, &plan),
            "{:?}",
            verdict
        );
        let named = matches!(
            verdict,
            Ok(()) | Err(ScheduleViolation::Unordered { .. } | ScheduleViolation::Crowded { .. })
        );
        prop_assert!(named);
    }
}
