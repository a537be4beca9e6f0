//! One host's own part of an all-to-all by LG: which messages it sends, with which blocks, and what
//! has to come before.
//!
//! Between two hosts goes one message in each direction at most, so a message needs no name but its
//! ends; the blocks of a message lie one behind the other in the order of
//! [`ReceivedTransfer::blocks`], the same at both ends.
use super::{LgSchedule, Transfer};
use crate::message::Message;
use inventory::tree::NodeNumber;
use std::collections::HashMap;

/// What a host does. It sends one message after the other, each as soon as what it passes on has
/// come, and receives whatever comes.
///
/// It cannot hang: what a host passes on comes from messages that their senders hold from the
/// start, or that come in earlier steps.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TransferSlice {
    /// Its messages, in the order of steps.
    pub sends: Vec<SentTransfer>,
    /// Those it receives, in the order of steps.
    pub receives: Vec<ReceivedTransfer>,
    /// How many steps all hosts together have.
    pub steps: u32,
}

/// A message that a host receives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedTransfer {
    /// The step it is planned in, from 0.
    pub step: u32,
    /// The host at the other end.
    pub peer: NodeNumber,
    /// What it carries.
    pub blocks: Vec<Message>,
}

/// A message that a host sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentTransfer {
    /// Where it goes, and what it carries.
    pub parcel: ReceivedTransfer,
    /// Where each of its blocks comes from, in their order.
    pub sources: Vec<BlockSource>,
}

/// Where a block is before it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockSource {
    /// It is the host's own.
    Own,
    /// It came in one of [`TransferSlice::receives`], as one of its blocks.
    Received {
        /// Which message.
        parcel: usize,
        /// Which of its blocks.
        block: usize,
    },
}

/// The slice of `host`. A number that is no host's gives an empty one; so does, of a message, a
/// block that its sender never gets, which the verifier refuses: it is taken for the sender's own.
pub fn of(plan: &LgSchedule, host: NodeNumber) -> TransferSlice {
    of_steps(&plan.steps, host)
}

/// The same of any steps in which blocks are passed on; messages between other hosts may be left
/// out. Where two hosts exchange more than one message in a direction, they are in different steps.
pub fn of_steps(steps: &[Vec<Transfer>], host: NodeNumber) -> TransferSlice {
    let mut slice = TransferSlice {
        steps: steps.len() as u32,
        ..TransferSlice::default()
    };
    // Blocks for others: where they were received.
    let mut held: HashMap<Message, (usize, usize)> = HashMap::new();
    for (step, transfers) in (0..).zip(steps) {
        let parcel = |peer, transfer: &Transfer| ReceivedTransfer {
            step,
            peer,
            blocks: transfer.blocks.clone(),
        };
        for transfer in transfers.iter().filter(|transfer| transfer.from == host) {
            let source = |block| {
                held.get(block)
                    .map_or(BlockSource::Own, |&(parcel, block)| BlockSource::Received {
                        parcel,
                        block,
                    })
            };
            let sources = transfer.blocks.iter().map(source).collect();
            slice.sends.push(SentTransfer {
                parcel: parcel(transfer.to, transfer),
                sources,
            });
        }
        for transfer in transfers.iter().filter(|transfer| transfer.to == host) {
            let number = slice.receives.len();
            held.extend(
                transfer
                    .blocks
                    .iter()
                    .enumerate()
                    .filter(|(_, b)| b.dst != host)
                    .map(|(at, &b)| (b, (number, at))),
            );
            slice.receives.push(parcel(transfer.from, transfer));
        }
    }
    slice
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lg::plan;
    use crate::lg::tests::{any_sites, runs};
    use crate::test_trees::{star, topology};
    use crate::verify;
    use proptest::prelude::*;
    use std::collections::HashMap;

    /// Runs all hosts, each by itself, and moves what its slice says, block by block; gives who has
    /// which block at the end.
    fn run(slices: &[TransferSlice]) -> Result<HashMap<Message, Vec<u32>>, String> {
        let mut arrived: HashMap<(u32, u32), Vec<Message>> = HashMap::new();
        let mut sent = vec![0; slices.len()];
        let mut ends: HashMap<Message, Vec<u32>> = HashMap::new();
        loop {
            let mut moved = false;
            for (host, slice) in (0..).zip(slices) {
                let Some(next) = slice.sends.get(sent[host as usize]) else {
                    continue;
                };
                let block = |(&source, &said): (&BlockSource, &Message)| match source {
                    BlockSource::Own if said.src == host => Some(said),
                    BlockSource::Own => None,
                    BlockSource::Received { parcel, block } => arrived
                        .get(&(slice.receives[parcel].peer, host))?
                        .get(block)
                        .copied(),
                };
                let Some(blocks) = next
                    .sources
                    .iter()
                    .zip(&next.parcel.blocks)
                    .map(block)
                    .collect::<Option<Vec<_>>>()
                else {
                    continue;
                };
                if blocks != next.parcel.blocks {
                    return Err(format!(
                        "{host} sends {blocks:?} instead of {:?}",
                        next.parcel.blocks
                    ));
                }
                let to = next.parcel.peer;
                let expected = slices[to as usize]
                    .receives
                    .iter()
                    .find(|r| r.peer == host)
                    .ok_or("nobody receives")?;
                if expected.blocks != blocks || arrived.insert((host, to), blocks.clone()).is_some()
                {
                    return Err(format!("{host} -> {to}: another message than expected"));
                }
                blocks
                    .iter()
                    .filter(|b| b.dst == to)
                    .for_each(|&b| ends.entry(b).or_default().push(to));
                (sent[host as usize], moved) = (sent[host as usize] + 1, true);
            }
            if !moved {
                let hangs = slices
                    .iter()
                    .zip(&sent)
                    .any(|(slice, &sent)| sent < slice.sends.len());
                return if hangs {
                    Err(format!("hangs at {sent:?}"))
                } else {
                    Ok(ends)
                };
            }
        }
    }

    /// The plan that slices stand for.
    fn together(slices: &[TransferSlice], plan: &LgSchedule) -> LgSchedule {
        let mut steps: Vec<Vec<Transfer>> = vec![Vec::new(); plan.steps.len()];
        for (from, slice) in (0..).zip(slices) {
            for SentTransfer { parcel, .. } in &slice.sends {
                steps[parcel.step as usize].push(Transfer {
                    from,
                    to: parcel.peer,
                    blocks: parcel.blocks.clone(),
                });
            }
        }
        LgSchedule {
            steps,
            ..plan.clone()
        }
    }

    fn check(tree: &inventory::Tree, plan: &LgSchedule) {
        let slices: Vec<TransferSlice> = (0..tree.hosts()).map(|host| of(plan, host)).collect();
        verify::lg(tree, &together(&slices, plan)).unwrap();
        let ends = run(&slices).unwrap();
        let pairs = (0..tree.hosts())
            .flat_map(|src| (0..tree.hosts()).map(move |dst| Message { src, dst }))
            .filter(|m| m.src != m.dst);
        let all: HashMap<Message, Vec<u32>> = pairs.map(|m| (m, vec![m.dst])).collect();
        assert_eq!(ends, all, "each block comes once");
        let received: usize = slices.iter().map(|s| s.receives.len()).sum();
        assert_eq!(
            received,
            slices.iter().map(|s| s.sends.len()).sum::<usize>()
        );
    }

    #[test]
    fn three_and_seven_hosts_one_cluster_and_nobody() {
        for sizes in [vec![3, 7], vec![7, 3], vec![4], vec![1], vec![2, 2, 2]] {
            let tree = star(&sizes);
            check(&tree, &plan(&tree, &runs(&tree, &sizes), None));
        }
        let tree = star(&[2, 2]);
        let plan = plan(&tree, &runs(&tree, &[2, 2]), None);
        assert_eq!(
            of(&plan, 7),
            TransferSlice {
                steps: plan.steps.len() as u32,
                ..TransferSlice::default()
            }
        );
        let proxy = of(&plan, 0);
        assert_eq!(
            proxy
                .sends
                .iter()
                .map(|s| (s.parcel.peer, s.sources.len()))
                .collect::<Vec<_>>(),
            [(1, 2), (2, 2)]
        );
        assert_eq!(
            proxy.sends[1].sources,
            [
                BlockSource::Own,
                BlockSource::Received {
                    parcel: 0,
                    block: 1
                }
            ]
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 48 } else { 2_000 }))]
        #[test]
        fn any_clusters((text, sizes) in any_sites(), at_once in prop::option::of(1u64..5)) {
            let tree = topology(&text);
            check(&tree, &plan(&tree, &runs(&tree, &sizes), at_once));
        }
    }
}
