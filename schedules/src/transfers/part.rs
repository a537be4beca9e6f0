//! One rank's own part of a schedule: what it sends and receives, where each block comes from,
//! which tokens it awaits and gives.
//!
//! Tokens are matched by the pair of hosts and a number: [`SyncToken::id`] counts, for each ordered
//! pair of hosts, the waits between them in the schedule's order. Both ends come to the same
//! numbers without a message. In a schedule of [`crate::alltoall::plan`] no two tokens of one pair
//! follow the same message, so each number is below `hosts - 1`: it fits an MPI tag (at least
//! 32,767; MPI-4.1 section 9.1.2) up to 32,768 hosts. There, too, tokens of a pair come in the same
//! order at both ends ([`crate::synchronization::syncs`]).
use super::TransferSchedule;
use crate::message::Message;
use crate::slice::SyncToken;
use inventory::tree::NodeNumber;
use std::collections::HashMap;

/// What a rank does. It sends in the given order, each transfer as soon as its tokens and its
/// blocks have come, and receives whatever comes.
///
/// It cannot hang: tokens point to later phases, and a block that a rank passes on comes from its
/// owner or in an earlier phase.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RankPart {
    /// The rank.
    pub rank: NodeNumber,
    /// How many phases all ranks together have.
    pub phases: u32,
    /// What it sends, in the order of phases.
    pub sends: Vec<OutgoingTransfer>,
    /// What it receives, in the order of phases.
    pub receives: Vec<IncomingTransfer>,
    /// Whether blocks of a transfer go one by one, each as soon as it is there.
    pub streams: bool,
}

/// A transfer that a rank sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingTransfer {
    /// The phase, from 0.
    pub phase: u32,
    /// The receiver.
    pub peer: NodeNumber,
    /// What it carries, in this order.
    pub blocks: Vec<OutgoingBlock>,
    /// Tokens to take before it starts.
    pub wait: Vec<SyncToken>,
    /// Tokens to give once it has gone (sender-based).
    pub give: Vec<SyncToken>,
}

/// A block of a transfer that a rank sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutgoingBlock {
    /// Whose block for whom.
    pub block: Message,
    /// Where it is before it is sent.
    pub origin: BlockOrigin,
}

/// Where a block is before it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockOrigin {
    /// It is the rank's own.
    Own,
    /// It came in one of [`RankPart::receives`].
    Received {
        /// Which transfer.
        transfer: usize,
        /// Which of its blocks.
        block: usize,
    },
}

/// A transfer that a rank receives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncomingTransfer {
    /// The phase, from 0.
    pub phase: u32,
    /// The sender.
    pub peer: NodeNumber,
    /// What it carries, in this order.
    pub blocks: Vec<Message>,
    /// Tokens to give once it has come (receiver-based).
    pub give: Vec<SyncToken>,
}

/// The part of `rank`. A number that no host has gives an empty part. A block that its sender never
/// gets, which the verifier refuses, is taken for the sender's own.
pub fn of(schedule: &TransferSchedule, rank: NodeNumber) -> RankPart {
    let own = |ends: &Message| ends.src == rank || ends.dst == rank;
    let numbers: Vec<u32> = schedule
        .ends()
        .iter()
        .zip(0..)
        .filter(|(ends, _)| own(ends))
        .map(|(_, number)| number)
        .collect();
    let mut transfers = OwnTransfers {
        schedule,
        places: vec![0; numbers.len()],
        numbers: &numbers,
        held: HashMap::new(),
        part: RankPart {
            rank,
            phases: schedule.phases(),
            streams: schedule.goes_around(),
            ..RankPart::default()
        },
    };
    let phase = |number: u32| schedule.phase_of()[number as usize];
    for in_phase in numbers.chunk_by(|&a, &b| phase(a) == phase(b)) {
        let sends = |number: &u32| schedule.ends()[*number as usize].src == rank;
        // A rank sends what it held when the phase began, so sends come first.
        for &number in in_phase.iter().filter(|&number| sends(number)) {
            transfers.add_send(number);
        }
        for &number in in_phase.iter().filter(|&number| !sends(number)) {
            transfers.add_receive(number);
        }
    }
    let OwnTransfers {
        places, mut part, ..
    } = transfers;
    if schedule.goes_around() {
        list_around(schedule, &mut part);
    }
    add_tokens(schedule, &numbers, &places, &mut part);
    part
}

/// The transfers of one rank while its part is made.
struct OwnTransfers<'a> {
    schedule: &'a TransferSchedule,
    /// The numbers of the transfers, ascending.
    numbers: &'a [u32],
    /// For each transfer its place among the sends, or among the receives.
    places: Vec<usize>,
    /// Blocks for others, and where they were received.
    held: HashMap<Message, BlockOrigin>,
    part: RankPart,
}

impl OwnTransfers<'_> {
    fn add_send(&mut self, number: u32) {
        self.places[place(self.numbers, number).unwrap_or_default()] = self.part.sends.len();
        let outgoing = |&block: &Message| OutgoingBlock {
            block,
            origin: self.held.get(&block).copied().unwrap_or(BlockOrigin::Own),
        };
        self.part.sends.push(OutgoingTransfer {
            phase: self.schedule.phase_of()[number as usize],
            peer: self.schedule.ends()[number as usize].dst,
            blocks: self.schedule.blocks(number).iter().map(outgoing).collect(),
            wait: Vec::new(),
            give: Vec::new(),
        });
    }

    fn add_receive(&mut self, number: u32) {
        let transfer = self.part.receives.len();
        self.places[place(self.numbers, number).unwrap_or_default()] = transfer;
        let blocks = self.schedule.blocks(number);
        for (block, &message) in blocks.iter().enumerate() {
            if message.dst != self.part.rank {
                let origin = BlockOrigin::Received { transfer, block };
                self.held.insert(message, origin);
            }
        }
        self.part.receives.push(IncomingTransfer {
            phase: self.schedule.phase_of()[number as usize],
            peer: self.schedule.ends()[number as usize].src,
            blocks: blocks.to_vec(),
            give: Vec::new(),
        });
    }
}

fn place(numbers: &[u32], number: u32) -> Option<usize> {
    numbers.binary_search(&number).ok()
}

/// Names the blocks that go around the ring past a rank: its own, then that of the host before it,
/// and so on.
fn list_around(schedule: &TransferSchedule, part: &mut RankPart) {
    let Some(at) = schedule
        .ends()
        .iter()
        .position(|ends| ends.src == part.rank)
    else {
        return;
    };
    let before = schedule.ends().iter().cycle().skip(at).map(|ends| ends.src);
    let mut sources: Vec<NodeNumber> = before.take(schedule.ends().len()).collect();
    // Against the ring's direction, from this rank.
    sources[1..].reverse();
    for send in &mut part.sends {
        let origin = |at: usize| {
            if at == 0 {
                BlockOrigin::Own
            } else {
                BlockOrigin::Received {
                    transfer: 0,
                    block: at - 1,
                }
            }
        };
        let block = |(at, &src): (usize, &NodeNumber)| OutgoingBlock {
            block: Message {
                src,
                dst: send.peer,
            },
            origin: origin(at),
        };
        send.blocks = sources[..sources.len() - 1]
            .iter()
            .enumerate()
            .map(block)
            .collect();
    }
    for receive in &mut part.receives {
        receive.blocks = sources[1..]
            .iter()
            .map(|&src| Message {
                src,
                dst: part.rank,
            })
            .collect();
    }
}

fn add_tokens(schedule: &TransferSchedule, numbers: &[u32], places: &[usize], part: &mut RankPart) {
    let mut counts: [HashMap<NodeNumber, u32>; 2] = Default::default();
    let mut next = |side: usize, peer: NodeNumber| {
        let count = counts[side].entry(peer).or_insert(0);
        *count += 1;
        SyncToken {
            peer,
            id: *count - 1,
        }
    };
    for wait in schedule.waits() {
        let (after, before) = (
            schedule.ends()[wait.after as usize],
            schedule.ends()[wait.before as usize],
        );
        if before.src == part.rank
            && let Some(at) = place(numbers, wait.before)
        {
            part.sends[places[at]].wait.push(next(0, wait.from));
        }
        if wait.from == part.rank
            && let Some(at) = place(numbers, wait.after)
        {
            let give = if after.src == part.rank {
                &mut part.sends[places[at]].give
            } else {
                &mut part.receives[places[at]].give
            };
            give.push(next(1, before.src));
        }
    }
}

impl RankPart {
    /// As many parts on every rank, by the phases before which all meet. No block is passed on from
    /// one part to another: schedules with barriers are direct.
    pub fn between(self, meetings: &[u32]) -> Vec<RankPart> {
        let RankPart {
            rank,
            phases,
            streams,
            ..
        } = self;
        let (mut sends, mut receives) = (
            self.sends.into_iter().peekable(),
            self.receives.into_iter().peekable(),
        );
        let ends = meetings.iter().copied().chain([u32::MAX]);
        let part = |end: u32| RankPart {
            sends: std::iter::from_fn(|| sends.next_if(|send| send.phase < end)).collect(),
            receives: std::iter::from_fn(|| receives.next_if(|receive| receive.phase < end))
                .collect(),
            ..RankPart {
                rank,
                phases,
                streams,
                ..RankPart::default()
            }
        };
        ends.map(part).collect()
    }
}

#[cfg(test)]
mod tests;
