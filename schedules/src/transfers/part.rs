//! One rank's own part of a schedule: the transfers that it sends and receives, the origin of each
//! block, and the tokens that it awaits and gives.
//!
//! Tokens are matched by the pair of hosts and a number: [`SyncToken::id`] counts, for each ordered
//! pair of hosts, the waits between them in the schedule's order. Both ends compute the same
//! numbers without a message. In a schedule of [`crate::alltoall::plan`] no two tokens of one pair
//! follow the same message, so each number is below `hosts - 1`. Up to 32,768 hosts it fits an MPI
//! tag (at least 32,767; MPI-4.1 section 9.1.2). In such a schedule the tokens of a pair also come
//! in the same order at both ends ([`crate::synchronization::syncs`]). Credit's tokens of several rounds
//! ([`RankPart::rounds`]) have larger numbers; they go over TCP, whose tokens have 32 bits.
use super::TransferSchedule;
use crate::message::Message;
use inventory::Bytes;
use inventory::tree::NodeNumber;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::ops::Range;

/// A few octets that allow the receiver to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SyncToken {
    /// The rank at the other end.
    pub peer: NodeNumber,
    /// The number of this token among those from its giver to its taker, from 0.
    pub id: u32,
}

/// The work of a rank. It sends in the given order, each transfer as soon as its tokens and its
/// blocks have come, and it receives in any order. Where transfers go side by side, only those to
/// one rank keep their order.
///
/// It cannot hang: tokens point to later phases, and a block that a rank passes on comes from its
/// owner or in an earlier phase.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RankPart {
    pub rank: NodeNumber,
    /// The number of phases of the whole schedule.
    pub phases: u32,
    /// The transfers that it sends, in the order of phases.
    pub sends: Vec<OutgoingTransfer>,
    /// The transfers that it receives, in the order of phases.
    pub receives: Vec<IncomingTransfer>,
    /// True if the blocks of a transfer go one by one, each as soon as the rank has it.
    pub streams: bool,
    /// True if transfers to different ranks go beside each other. Those to one rank go in their
    /// order.
    pub side_by_side: bool,
    /// True if transfers carry blocks of several ranks, which their receivers may pass on.
    pub passes_on: bool,
    /// The octets that it may have under way, where that is limited. One transfer may always be.
    pub window: Option<Bytes>,
    /// The octets of a transfer that are still to come when its receiver gives tokens, where credit
    /// says it; all of them, if it is shorter.
    pub lead: Option<Bytes>,
    /// Its transfers are so many times those of whole blocks: each time they carry the next part of their
    /// blocks. 0 is 1.
    pub rounds: u32,
}

/// A transfer that a rank sends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutgoingTransfer {
    /// The phase, from 0.
    pub phase: u32,
    /// The receiver.
    pub peer: NodeNumber,
    /// Its blocks, in this order.
    pub blocks: Vec<OutgoingBlock>,
    /// Tokens to take before it starts.
    pub wait: Vec<SyncToken>,
    /// Tokens to give once it has gone (sender-based).
    pub give: Vec<SyncToken>,
}

/// A block of a transfer that a rank sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutgoingBlock {
    /// The sender and the receiver of the block.
    pub block: Message,
    /// The block's place before it is sent.
    pub origin: BlockOrigin,
}

/// The place of a block before it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum BlockOrigin {
    /// The block is the rank's own.
    Own,
    /// The block came in one of [`RankPart::receives`].
    Received {
        /// The place of that transfer.
        transfer: u32,
        /// The place of the block in it.
        block: u32,
    },
}

/// A transfer that a rank receives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncomingTransfer {
    /// The phase, from 0.
    pub phase: u32,
    /// The sender.
    pub peer: NodeNumber,
    /// Its blocks, in this order.
    pub blocks: Vec<Message>,
    /// Tokens to give once it has come (receiver-based).
    pub give: Vec<SyncToken>,
}

/// The part of `rank`; empty if no host has that number. A block that its sender never gets counts
/// as the sender's own; the verifier refuses such schedules.
pub fn of(schedule: &TransferSchedule, rank: NodeNumber) -> RankPart {
    let numbers: Vec<u32> = schedule
        .ends()
        .iter()
        .zip(0..)
        .filter(|(ends, _)| ends.src == rank || ends.dst == rank)
        .map(|(_, number)| number)
        .collect();
    let mut builder = RankPartBuilder {
        schedule,
        part: RankPart {
            rank,
            phases: schedule.phases(),
            streams: schedule.goes_around() || schedule.copies(),
            side_by_side: schedule.copies(),
            passes_on: schedule.passes_on(),
            rounds: schedule.rounds(),
            ..RankPart::default()
        },
        held: HashMap::new(),
        places: Vec::with_capacity(numbers.len()),
    };
    for in_phase in numbers.chunk_by(|&a, &b| schedule.phase(a) == schedule.phase(b)) {
        // A rank sends blocks that it held when the phase began, so sends come first.
        let (sends, receives): (Vec<u32>, Vec<u32>) = in_phase
            .iter()
            .partition(|&&number| schedule.ends()[number as usize].src == rank);
        sends.iter().for_each(|&number| builder.add_send(number));
        receives
            .iter()
            .for_each(|&number| builder.add_receive(number));
    }
    builder.places.sort_unstable();
    if schedule.goes_around() {
        list_around(schedule, &mut builder.part);
    }
    builder.add_tokens();
    builder.part
}

/// An unfinished part.
struct RankPartBuilder<'a> {
    schedule: &'a TransferSchedule,
    part: RankPart,
    /// Blocks for other ranks, and the place where each was received.
    held: HashMap<Message, BlockOrigin>,
    /// The number of each transfer, and its place among the sends or among the receives.
    places: Vec<(u32, usize)>,
}

impl RankPartBuilder<'_> {
    fn add_send(&mut self, number: u32) {
        let blocks = self
            .schedule
            .blocks(number)
            .iter()
            .map(|&block| OutgoingBlock {
                block,
                origin: self.held.get(&block).copied().unwrap_or(BlockOrigin::Own),
            })
            .collect();
        self.places.push((number, self.part.sends.len()));
        self.part.sends.push(OutgoingTransfer {
            phase: self.schedule.phase(number),
            peer: self.schedule.ends()[number as usize].dst,
            blocks,
            wait: Vec::new(),
            give: Vec::new(),
        });
    }

    fn add_receive(&mut self, number: u32) {
        let transfer = self.part.receives.len();
        let blocks = self.schedule.blocks(number);
        let passed_on = (0..)
            .zip(blocks)
            .filter(|(_, block)| block.dst != self.part.rank);
        self.held.extend(passed_on.map(|(at, &block)| {
            (
                block,
                BlockOrigin::Received {
                    transfer: transfer as u32,
                    block: at,
                },
            )
        }));
        self.places.push((number, transfer));
        self.part.receives.push(IncomingTransfer {
            phase: self.schedule.phase(number),
            peer: self.schedule.ends()[number as usize].src,
            blocks: blocks.to_vec(),
            give: Vec::new(),
        });
    }

    fn place(&self, number: u32) -> Option<usize> {
        let at = self.places.binary_search_by_key(&number, |place| place.0);
        at.ok().map(|at| self.places[at].1)
    }

    fn add_tokens(&mut self) {
        let ends = self.schedule.ends();
        let [mut taken, mut given] = [(); 2].map(|()| TokenCounts::default());
        for wait in self.schedule.waits() {
            let (after, before) = (ends[wait.after as usize], ends[wait.before as usize]);
            if before.src == self.part.rank
                && let Some(at) = self.place(wait.before)
            {
                self.part.sends[at].wait.push(taken.next(wait.from));
            }
            if wait.from == self.part.rank
                && let Some(at) = self.place(wait.after)
            {
                let give = if after.src == self.part.rank {
                    &mut self.part.sends[at].give
                } else {
                    &mut self.part.receives[at].give
                };
                give.push(given.next(before.src));
            }
        }
    }
}

/// The number of tokens so far between a rank and each other rank, in one direction.
#[derive(Default)]
struct TokenCounts(HashMap<NodeNumber, u32>);

impl TokenCounts {
    fn next(&mut self, peer: NodeNumber) -> SyncToken {
        let count = self.0.entry(peer).or_insert(0);
        *count += 1;
        SyncToken {
            peer,
            id: *count - 1,
        }
    }
}

/// Lists the blocks that pass a rank on their way around the ring: first its own, then that of the
/// host before it, and so on.
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
        send.blocks = (0u32..)
            .zip(&sources[..sources.len() - 1])
            .map(|(at, &src)| OutgoingBlock {
                block: Message {
                    src,
                    dst: send.peer,
                },
                origin: match at.checked_sub(1) {
                    Some(block) => BlockOrigin::Received { transfer: 0, block },
                    None => BlockOrigin::Own,
                },
            })
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

impl RankPart {
    /// The round, from 0, of the transfer of this number among `all` that the rank sends or receives.
    pub fn round(&self, transfer: usize, all: usize) -> usize {
        transfer * self.rounds.max(1) as usize / all.max(1)
    }

    /// The octets of a block of this length that the transfers of a round carry.
    pub fn portion(&self, round: usize, length: usize) -> Range<usize> {
        let rounds = self.rounds.max(1) as usize;
        length * round / rounds..length * (round + 1) / rounds
    }

    /// Cuts the part at the phases before which all hosts meet; every rank gets the same number of
    /// parts. No block is passed on from one part to another, because schedules with barriers are
    /// direct.
    pub fn between(self, meetings: &[u32]) -> Vec<RankPart> {
        let RankPart {
            rank,
            phases,
            streams,
            side_by_side,
            passes_on,
            window,
            lead,
            rounds,
            ..
        } = self;
        let (mut sends, mut receives) = (
            self.sends.into_iter().peekable(),
            self.receives.into_iter().peekable(),
        );
        let ends = meetings.iter().copied().chain([u32::MAX]);
        ends.map(|end| RankPart {
            sends: std::iter::from_fn(|| sends.next_if(|send| send.phase < end)).collect(),
            receives: std::iter::from_fn(|| receives.next_if(|receive| receive.phase < end))
                .collect(),
            ..RankPart {
                rank,
                phases,
                streams,
                side_by_side,
                passes_on,
                window,
                lead,
                rounds,
                ..RankPart::default()
            }
        })
        .collect()
    }
}

#[cfg(test)]
pub(crate) mod tests;
