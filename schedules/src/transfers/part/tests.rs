use super::*;
use crate::lg::slice as passed_on;
use crate::lg::tests::{any_sites, runs};
use crate::slice;
use crate::synchronization::SyncKind;
use crate::synchronization::scheme::SyncScheme;
use crate::test_trees::{any_tree, star, topology};
use crate::{allgather, alltoall, lg};
use proptest::prelude::*;
use std::collections::HashSet;

fn parts(schedule: &TransferSchedule) -> Vec<RankPart> {
    (0..schedule.hosts())
        .map(|rank| of(schedule, rank))
        .collect()
}

/// What all parts together have sent, by each receiver, when none can go on: a transfer goes when
/// its tokens and blocks have come, a streamed block when it has come.
fn run(parts: &[RankPart]) -> HashSet<(NodeNumber, Message)> {
    let mut came: Vec<Vec<usize>> = parts
        .iter()
        .map(|part| vec![0; part.receives.len()])
        .collect();
    let mut sent: Vec<(usize, usize)> = vec![(0, 0); parts.len()];
    let mut tokens = HashSet::new();
    loop {
        let mut moved = false;
        for part in parts {
            let me = part.rank as usize;
            let Some(send) = part.sends.get(sent[me].0) else {
                continue;
            };
            let here = |block: &OutgoingBlock| match block.origin {
                BlockOrigin::Own => true,
                BlockOrigin::Received { transfer, block } => came[me][transfer] > block,
            };
            let ready = if part.streams {
                here(&send.blocks[sent[me].1])
            } else {
                send.blocks.iter().all(here)
            };
            if !ready
                || !send
                    .wait
                    .iter()
                    .all(|token| tokens.contains(&(token.peer, part.rank, token.id)))
            {
                continue;
            }
            moved = true;
            let count = if part.streams { 1 } else { send.blocks.len() };
            let peer = &parts[send.peer as usize];
            let from = |(at, receive): &(usize, &IncomingTransfer)| {
                receive.peer == part.rank && came[send.peer as usize][*at] < receive.blocks.len()
            };
            let (at, receive) = peer.receives.iter().enumerate().find(from).unwrap();
            let first = came[send.peer as usize][at];
            let expected: Vec<Message> = receive.blocks[first..first + count].to_vec();
            let carried = send.blocks[sent[me].1..][..count]
                .iter()
                .map(|block| block.block);
            assert!(
                part.streams && carried.map(|b| b.src).eq(expected.iter().map(|b| b.src))
                    || send.blocks.iter().map(|b| b.block).eq(expected)
            );
            came[send.peer as usize][at] += count;
            sent[me] = if sent[me].1 + count == send.blocks.len() {
                (sent[me].0 + 1, 0)
            } else {
                (sent[me].0, sent[me].1 + count)
            };
            tokens.extend(
                send.give
                    .iter()
                    .map(|token| (part.rank, token.peer, token.id)),
            );
            tokens.extend(
                receive
                    .give
                    .iter()
                    .map(|token| (send.peer, token.peer, token.id)),
            );
        }
        if !moved {
            break;
        }
    }
    let arrived = |part: &RankPart| {
        let (rank, came) = (part.rank, came[part.rank as usize].clone());
        let receives = part.receives.clone().into_iter().zip(came);
        receives
            .flat_map(move |(receive, count)| {
                receive
                    .blocks
                    .into_iter()
                    .take(count)
                    .map(move |block| (rank, block))
            })
            .collect::<Vec<_>>()
    };
    parts.iter().flat_map(arrived).collect()
}

fn delivered(hosts: u32, arrived: &HashSet<(NodeNumber, Message)>) -> bool {
    let pairs = (0..hosts).flat_map(|src| (0..hosts).map(move |dst| Message { src, dst }));
    pairs
        .filter(|pair| pair.src != pair.dst)
        .all(|pair| arrived.contains(&(pair.dst, pair)))
}

#[test]
fn a_number_that_is_no_host_has_an_empty_part() {
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 48 } else { 1_000 }))]
    #[test]
    fn parts_of_an_alltoall_are_its_slices(
        tree in any_tree(1..=24),
        scheme in prop::sample::select(SyncScheme::table_5(&[2, 3])),
    ) {
        let plan = alltoall::plan(&tree, scheme);
        let schedule = TransferSchedule::try_from(&plan).unwrap();
        for part in parts(&schedule) {
            let steps = slice::of(&plan, part.rank);
            let sends = steps.iter().filter_map(|step| {
                Some((step.phase, step.send_to?, &step.wait, &step.give_after_send))
            });
            prop_assert!(
                part.sends
                    .iter()
                    .map(|send| (send.phase, send.peer, &send.wait, &send.give))
                    .eq(sends)
            );
            let receives = steps.iter().filter_map(|step| {
                Some((step.phase, step.receive_from?, &step.give_after_receive))
            });
            prop_assert!(
                part.receives
                    .iter()
                    .map(|receive| (receive.phase, receive.peer, &receive.give))
                    .eq(receives)
            );
            let between = part.clone().between(schedule.meetings());
            prop_assert_eq!(between.len(), schedule.meetings().len() + 1);
            prop_assert_eq!(
                between
                    .iter()
                    .flat_map(|part| &part.sends)
                    .collect::<Vec<_>>(),
                part.sends.iter().collect::<Vec<_>>()
            );
        }
        prop_assert!(delivered(tree.hosts(), &run(&parts(&schedule))));
    }

    #[test]
    fn parts_of_lg_are_its_slices((text, sizes) in any_sites()) {
        let tree = topology(&text);
        let plan = lg::plan(&tree, &runs(&tree, &sizes), None);
        let schedule = TransferSchedule::from(&plan);
        for part in parts(&schedule) {
            let slice = passed_on::of(&plan, part.rank);
            let sends = slice.sends.iter().map(|send| {
                (
                    send.parcel.step,
                    send.parcel.peer,
                    send.parcel.blocks.clone(),
                )
            });
            let own = |send: &OutgoingTransfer| {
                (
                    send.phase,
                    send.peer,
                    send.blocks.iter().map(|b| b.block).collect::<Vec<_>>(),
                )
            };
            prop_assert!(part.sends.iter().map(own).eq(sends));
            let source = |origin| match origin {
                BlockOrigin::Own => passed_on::BlockSource::Own,
                BlockOrigin::Received { transfer, block } => passed_on::BlockSource::Received {
                    parcel: transfer,
                    block,
                },
            };
            let sources = part
                .sends
                .iter()
                .flat_map(|send| &send.blocks)
                .map(|block| source(block.origin));
            prop_assert!(
                sources.eq(slice
                    .sends
                    .iter()
                    .flat_map(|send| send.sources.iter().copied()))
            );
            let receives = slice
                .receives
                .iter()
                .map(|parcel| (parcel.step, parcel.peer, &parcel.blocks));
            prop_assert!(
                part.receives
                    .iter()
                    .map(|receive| (receive.phase, receive.peer, &receive.blocks))
                    .eq(receives)
            );
        }
        prop_assert!(delivered(tree.hosts(), &run(&parts(&schedule))));
    }

    #[test]
    fn around_a_ring_everybody_gets_everything(tree in any_tree(2..=24)) {
        let schedule = TransferSchedule::from(&allgather::plan(&tree));
        prop_assert!(delivered(tree.hosts(), &run(&parts(&schedule))));
    }
}
