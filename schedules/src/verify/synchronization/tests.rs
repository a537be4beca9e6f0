use super::super::alltoall;
use super::super::brute_force::widths_are_kept;
use super::super::violation::ScheduleViolation;
use super::order_walk::{self, MessageOrders};
use super::sent_at_once;
use super::tokens::TokensByMessage;
use crate::alltoall::{AlltoallAlgorithm, AlltoallSchedule, plan_as};
use crate::bound::bound;
use crate::capacities::EdgeCapacities;
use crate::message::Message;
use crate::packed::packed;
use crate::synchronization::scheme::SyncScheme;
use crate::synchronization::{SyncKind, SyncReduction, syncs};
use crate::transfers::TransferSchedule;
use inventory::Tree;
use proptest::prelude::*;
use proptest::sample::Index;
use samples::trees::{any_wide_tree, star};

fn plan(
    tree: &Tree,
    phases: Vec<Vec<Message>>,
    kind: SyncKind,
    reduction: SyncReduction,
) -> AlltoallSchedule {
    let capacities = EdgeCapacities::from_tree(tree);
    let syncs = syncs(tree, &capacities, &phases, kind, reduction);
    AlltoallSchedule {
        algorithm: AlltoallAlgorithm::Capacity,
        hosts: tree.host_names().to_vec(),
        bound: bound(tree, &capacities),
        phases,
        scheme: kind.into(),
        syncs,
        paths: Vec::new(),
    }
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
    for scheme in
        "none dummy barrier barrier(3) sender receiver(3) barrier+sender(3) barrier+receiver(2)"
            .split(' ')
    {
        assert_eq!(alltoall(&tree, &of(scheme, &tree)), Ok(()), "{scheme}");
    }
    let mut bare = of("barrier+sender(3)", &tree);
    bare.syncs.clear();
    assert!(matches!(
        alltoall(&tree, &bare),
        Err(ScheduleViolation::Unordered {
            second_phase: 1..=2,
            ..
        })
    ));
}

fn of(scheme: &str, tree: &Tree) -> AlltoallSchedule {
    plan_as(
        tree,
        AlltoallAlgorithm::Aapc,
        scheme.parse::<SyncScheme>().unwrap(),
        SyncReduction::Minimal,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 64 } else { 1000 }))]
    #[test]
    fn lanes_keep_edges_within_their_widths(
        tree in any_wide_tree(3..=24, 8),
        (kind, reduction) in kinds(),
    ) {
        let phases = packed(&tree, &EdgeCapacities::from_tree(&tree));
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
            packed(&tree, &EdgeCapacities::from_tree(&tree)),
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

    #[test]
    fn threads_find_what_one_finds(
        tree in any_wide_tree(3..=24, 8),
        (kind, reduction) in kinds(),
        lost in prop::collection::vec(any::<Index>(), 0..20),
        threads in 2..6usize,
    ) {
        let capacities = EdgeCapacities::from_tree(&tree);
        let mut plan = plan(&tree, packed(&tree, &capacities), kind, reduction);
        for lost in lost {
            if !plan.syncs.is_empty() {
                plan.syncs.remove(lost.index(plan.syncs.len()));
            }
        }
        let schedule = TransferSchedule::try_from(&plan).unwrap();
        let order = MessageOrders {
            tree: &tree,
            schedule: &schedule,
            tokens: &TokensByMessage::new(&schedule, schedule.waits()),
            meetings: &[],
            sent_at_once: &sent_at_once(&schedule).unwrap(),
        };
        let asked: Vec<Option<u64>> = (0..tree.edges())
            .map(|edge| tree.ends(edge).map(|_| capacities.width(edge)))
            .collect();
        prop_assert_eq!(
            order_walk::first_crowded(order, &asked, threads),
            order_walk::first_crowded(order, &asked, 1)
        );
    }
}
