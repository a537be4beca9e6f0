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

/// The blocks that each receiver has when no part can go on.
fn run(parts: &[RankPart]) -> HashSet<(NodeNumber, Message)> {
    let mut running = RunningParts {
        parts,
        came: parts
            .iter()
            .map(|part| vec![0; part.receives.len()])
            .collect(),
        sent: vec![(0, 0); parts.len()],
        tokens: HashSet::new(),
    };
    while parts
        .iter()
        .fold(false, |any, part| running.step(part) | any)
    {}
    let mut arrived = HashSet::new();
    for part in parts {
        for (receive, &count) in part.receives.iter().zip(&running.came[part.rank as usize]) {
            arrived.extend(
                receive.blocks[..count]
                    .iter()
                    .map(|&block| (part.rank, block)),
            );
        }
    }
    arrived
}

/// All parts, and how far each has come. A transfer goes when its tokens and blocks have come, a
/// streamed block when it has come.
struct RunningParts<'a> {
    parts: &'a [RankPart],
    /// For each rank and each of its receives, the number of blocks that came.
    came: Vec<Vec<usize>>,
    /// For each rank, the number of transfers sent, and of blocks of the next one.
    sent: Vec<(usize, usize)>,
    /// Giver, taker and number of each token given.
    tokens: HashSet<(NodeNumber, NodeNumber, u32)>,
}

impl<'a> RunningParts<'a> {
    /// Sends the next transfer or streamed block of a rank, if it can go.
    fn step(&mut self, part: &RankPart) -> bool {
        let (rank, (transfer, first)) = (part.rank, self.sent[part.rank as usize]);
        let Some(send) = part.sends.get(transfer) else {
            return false;
        };
        let count = if part.streams { 1 } else { send.blocks.len() };
        let blocks = &send.blocks[first..][..count];
        let token = |token: &SyncToken| self.tokens.contains(&(token.peer, rank, token.id));
        if !blocks.iter().all(|block| self.is_here(rank, block)) || !send.wait.iter().all(token) {
            return false;
        }
        let give = self.receive(part, send, blocks);
        self.sent[rank as usize] = if first + count == send.blocks.len() {
            (transfer + 1, 0)
        } else {
            (transfer, first + count)
        };
        let given = |from, give: &[SyncToken]| -> Vec<_> {
            give.iter()
                .map(|token| (from, token.peer, token.id))
                .collect()
        };
        self.tokens.extend(given(rank, &send.give));
        self.tokens.extend(given(send.peer, give));
        true
    }

    fn is_here(&self, rank: NodeNumber, block: &OutgoingBlock) -> bool {
        match block.origin {
            BlockOrigin::Own => true,
            BlockOrigin::Received { transfer, block } => self.came[rank as usize][transfer] > block,
        }
    }

    /// Hands the blocks to the receiver, which must expect them. Returns the tokens that it gives.
    fn receive(
        &mut self,
        part: &RankPart,
        send: &OutgoingTransfer,
        blocks: &[OutgoingBlock],
    ) -> &'a [SyncToken] {
        let came = &mut self.came[send.peer as usize];
        let parts = self.parts;
        let mut receives = parts[send.peer as usize].receives.iter().enumerate();
        let (at, receive) = receives
            .find(|(at, receive)| receive.peer == part.rank && came[*at] < receive.blocks.len())
            .unwrap();
        let expected = receive.blocks[came[at]..][..blocks.len()].iter();
        let carried = blocks.iter().map(|block| block.block);
        // Around a ring only the source of a block is stated by both ends.
        assert!(
            part.streams
                && carried
                    .clone()
                    .map(|b| b.src)
                    .eq(expected.clone().map(|b| b.src))
                || carried.eq(expected.copied())
        );
        came[at] += blocks.len();
        &receive.give
    }
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
