mod carried;

pub(crate) use carried::carried_out;

use super::*;
use crate::alltoall::AlltoallSchedule;
use crate::lg::tests::{any_sites, runs};
use crate::lg::{LgSchedule, Transfer};
use crate::message::Synchronization;
use crate::synchronization::SyncKind;
use crate::synchronization::scheme::SyncScheme;
use crate::{allgather, alltoall, lg, verify};
use inventory::Tree;
use proptest::prelude::*;
use samples::trees::{any_tree, star, topology};
use std::collections::HashSet;

fn parts(schedule: &TransferSchedule) -> Vec<RankPart> {
    (0..schedule.hosts())
        .map(|rank| of(schedule, rank))
        .collect()
}

/// The waits between transfers of different hosts, read from the tokens of all parts.
fn synchronizations(parts: &[RankPart]) -> Vec<Synchronization> {
    let mut given = HashMap::new();
    for part in parts {
        let sends = part.sends.iter().map(|send| {
            let after = Message {
                src: part.rank,
                dst: send.peer,
            };
            (after, &send.give)
        });
        let receives = part.receives.iter().map(|receive| {
            let after = Message {
                src: receive.peer,
                dst: part.rank,
            };
            (after, &receive.give)
        });
        for (after, tokens) in sends.chain(receives) {
            for token in tokens {
                let twice = given.insert((part.rank, token.peer, token.id), after);
                assert_eq!(twice, None, "the same token twice");
            }
        }
    }
    let mut syncs = Vec::new();
    for part in parts {
        for send in &part.sends {
            syncs.extend(send.wait.iter().map(|token| Synchronization {
                after: given[&(token.peer, part.rank, token.id)],
                before: Message {
                    src: part.rank,
                    dst: send.peer,
                },
                from: token.peer,
                to: part.rank,
            }));
        }
    }
    syncs.sort_unstable();
    syncs
}

/// The ends of all transfers with their phases: first as the senders have them, then as the
/// receivers.
fn by_phase(parts: &[RankPart]) -> [HashSet<(u32, Message)>; 2] {
    let sends = parts.iter().flat_map(|part| {
        part.sends.iter().map(|send| {
            let (src, dst) = (part.rank, send.peer);
            (send.phase, Message { src, dst })
        })
    });
    let receives = parts.iter().flat_map(|part| {
        part.receives.iter().map(|receive| {
            let (src, dst) = (receive.peer, part.rank);
            (receive.phase, Message { src, dst })
        })
    });
    [sends.collect(), receives.collect()]
}

fn planned(plan: &AlltoallSchedule) -> HashSet<(u32, Message)> {
    (0..)
        .zip(&plan.phases)
        .flat_map(|(phase, messages)| messages.iter().map(move |&message| (phase, message)))
        .collect()
}

#[test]
fn a_number_that_no_host_has_gives_an_empty_part() {
    let schedule =
        TransferSchedule::try_from(&alltoall::plan(&star(&[2, 1]), SyncKind::Receiver)).unwrap();
    let part = of(&schedule, 7);
    assert!(part.sends.is_empty() && part.receives.is_empty());
    assert!(
        parts(&TransferSchedule::around(&[0]))
            .iter()
            .all(|part| part.sends.is_empty())
    );
}

#[test]
fn around_a_ring_each_block_comes_from_the_host_before() {
    let part = of(&TransferSchedule::around(&[0, 2, 1, 3]), 1);
    let sources = |blocks: &[Message]| blocks.iter().map(|block| block.src).collect::<Vec<_>>();
    assert_eq!(
        (part.receives[0].peer, sources(&part.receives[0].blocks)),
        (2, vec![2, 0, 3])
    );
    let sent: Vec<Message> = part.sends[0]
        .blocks
        .iter()
        .map(|block| block.block)
        .collect();
    assert_eq!((part.sends[0].peer, sources(&sent)), (3, vec![1, 2, 0]));
}

/// Checks that all parts together are the schedule again, and bring every block to its receiver
/// once.
fn check_lg(tree: &Tree, plan: &LgSchedule) {
    let schedule = TransferSchedule::from(plan);
    let parts = parts(&schedule);
    let mut steps: Vec<Vec<Transfer>> = vec![Vec::new(); plan.steps.len()];
    for part in &parts {
        for send in &part.sends {
            steps[send.phase as usize].push(Transfer {
                from: part.rank,
                to: send.peer,
                blocks: send.blocks.iter().map(|block| block.block).collect(),
            });
        }
    }
    let together = LgSchedule {
        steps,
        ..plan.clone()
    };
    verify::lg(tree, &together).unwrap();
    assert!(carried_out(&parts).is_everything(tree.hosts()));
}

#[test]
fn three_and_seven_hosts_one_cluster_and_nobody_by_lg() {
    for sizes in [vec![3, 7], vec![7, 3], vec![4], vec![1], vec![2, 2, 2]] {
        let tree = star(&sizes);
        check_lg(&tree, &lg::plan(&tree, &runs(&tree, &sizes), None));
    }
    let tree = star(&[2, 2]);
    let plan = lg::plan(&tree, &runs(&tree, &[2, 2]), None);
    let schedule = TransferSchedule::from(&plan);
    let nobody = of(&schedule, 7);
    assert_eq!(nobody.phases, plan.steps.len() as u32);
    assert!(nobody.sends.is_empty() && nobody.receives.is_empty());
    let proxy = of(&schedule, 0);
    let sends = proxy
        .sends
        .iter()
        .map(|send| (send.peer, send.blocks.len()));
    assert_eq!(sends.collect::<Vec<_>>(), [(1, 2), (2, 2)]);
    let origins = proxy.sends[1].blocks.iter().map(|block| block.origin);
    let received = BlockOrigin::Received {
        transfer: 0,
        block: 1,
    };
    assert_eq!(origins.collect::<Vec<_>>(), [BlockOrigin::Own, received]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 48 } else { 2_000 }))]
    #[test]
    fn parts_together_are_the_alltoall_and_never_hang(
        tree in any_tree(1..=24),
        scheme in prop::sample::select(SyncScheme::table_5(&[2, 3])),
    ) {
        let plan = alltoall::plan(&tree, scheme);
        let schedule = TransferSchedule::try_from(&plan).unwrap();
        let parts = parts(&schedule);
        prop_assert_eq!(by_phase(&parts), [planned(&plan), planned(&plan)]);
        let mut syncs = plan.syncs.clone();
        syncs.sort_unstable();
        prop_assert_eq!(synchronizations(&parts), syncs);
        for part in &parts {
            prop_assert!(part.sends.is_sorted_by_key(|send| send.phase));
            prop_assert!(part.receives.is_sorted_by_key(|receive| receive.phase));
            let between = part.clone().between(schedule.meetings());
            prop_assert_eq!(between.len(), schedule.meetings().len() + 1);
            let sends: Vec<_> = between.iter().flat_map(|part| &part.sends).collect();
            prop_assert_eq!(sends, part.sends.iter().collect::<Vec<_>>());
        }
        prop_assert!(carried_out(&parts).is_everything(tree.hosts()));
    }

    /// Transfers that share an edge follow each other as planned, whatever the pace of the hosts.
    #[test]
    fn tokens_keep_the_order_on_every_edge(tree in any_tree(1..=24), kind in 0..2usize) {
        let plan = alltoall::plan(&tree, [SyncKind::Sender, SyncKind::Receiver][kind]);
        let parts = parts(&TransferSchedule::try_from(&plan).unwrap());
        let phase: HashMap<Message, u32> =
            planned(&plan).into_iter().map(|(phase, message)| (message, phase)).collect();
        let mut last = vec![None; tree.edges() as usize];
        for m in carried_out(&parts).order {
            let mut in_order = true;
            tree.path(m.src, m.dst, |edge| {
                in_order &= last[edge as usize].replace(phase[&m]) < Some(phase[&m]);
            });
            prop_assert!(in_order);
        }
        let tokens = parts.iter().flat_map(|part| &part.sends).flat_map(|send| &send.wait);
        prop_assert!(tokens.map(|token| token.id).max().unwrap_or(0) < tree.hosts());
    }

    /// Several phases merged into one: such schedules have hosts whose cables carry several
    /// messages at once.
    #[test]
    fn several_messages_of_a_phase_are_several_transfers(
        tree in any_tree(1..=24),
        width in 2..5usize,
    ) {
        let mut plan = alltoall::plan(&tree, SyncKind::None);
        plan.phases = plan.phases.chunks(width).map(<[_]>::concat).collect();
        let parts = parts(&TransferSchedule::try_from(&plan).unwrap());
        prop_assert_eq!(by_phase(&parts), [planned(&plan), planned(&plan)]);
        prop_assert!(carried_out(&parts).is_everything(tree.hosts()));
    }

    #[test]
    fn parts_of_lg_bring_every_block_once(
        (text, sizes) in any_sites(),
        at_once in prop::option::of(1u64..5),
    ) {
        let tree = topology(&text);
        check_lg(&tree, &lg::plan(&tree, &runs(&tree, &sizes), at_once));
    }

    #[test]
    fn around_a_ring_everybody_gets_everything(tree in any_tree(2..=24)) {
        let schedule = TransferSchedule::from(&allgather::plan(&tree));
        prop_assert!(carried_out(&parts(&schedule)).is_everything(tree.hosts()));
    }
}
