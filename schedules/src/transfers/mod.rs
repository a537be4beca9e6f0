//! One form for every schedule: a sequence of transfers, each with its blocks and with the
//! transfers that it waits for.
//!
//! ```text
//! Alltoall, Lg, Allgather, bundled --> TransferSchedule --verify--> sound
//!                                      TransferSchedule --part--> RankPart --runtime--> messages
//! ```
//!
//! The planners keep their results, because each has a certificate and a file format of its own.
//! The verifier and the runtime see only this form.
pub mod part;

use crate::allgather::AllgatherSchedule;
use crate::alltoall::AlltoallSchedule;
use crate::lg::{LgSchedule, Transfer};
use crate::message::Message;
use crate::stages::MessagePaths;
use crate::synchronization;
use inventory::tree::{NodeNumber, Tree};

/// A schedule of any planner. Transfers have numbers from 0, in the order of phases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferSchedule {
    hosts: u32,
    phases: u32,
    /// The sender and the receiver of each transfer.
    ends: Vec<Message>,
    /// The phase of each transfer.
    phase: Vec<u32>,
    contents: TransferContents,
    waits: Vec<TransferWait>,
    meetings: Vec<u32>,
    rounds: u32,
}

/// The contents of transfers.
#[derive(Debug, Clone, PartialEq, Eq)]
enum TransferContents {
    /// The sender's block for the receiver. This costs no memory: an all-to-all of 1,024 hosts has
    /// a million transfers.
    Own,
    /// The listed blocks: those of transfer `n` are `blocks[first[n]..first[n + 1]]`.
    Listed {
        first: Vec<u32>,
        blocks: Vec<Message>,
    },
    /// An allgather around a ring. Each host sends its own block, then each block that it receives,
    /// as soon as it comes, except the receiver's own. The blocks are not listed, since there are
    /// as many as pairs of hosts.
    Around,
    /// An allgather in which each transfer carries one host's block, which its receiver keeps and
    /// may pass on. A block names its owner twice: it is for all.
    Copied(Vec<Message>),
}

/// Transfer `before` must not start until transfer `after` has left the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransferWait {
    /// The number of the earlier transfer.
    pub after: u32,
    /// The number of the transfer that waits.
    pub before: u32,
    /// The host that sends the token.
    pub from: NodeNumber,
}

/// A synchronization that names a message which is in no phase. The number is its place in the
/// plan's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownWait(pub usize);

impl TransferSchedule {
    /// Each message of each phase carries its sender's block for its receiver.
    pub fn direct(hosts: u32, phases: &[Vec<Message>]) -> TransferSchedule {
        let phase = (0..)
            .zip(phases)
            .flat_map(|(phase, messages)| std::iter::repeat_n(phase, messages.len()))
            .collect();
        let (waits, meetings) = (Vec::new(), Vec::new());
        TransferSchedule {
            hosts,
            phases: phases.len() as u32,
            ends: phases.concat(),
            phase,
            contents: TransferContents::Own,
            waits,
            meetings,
            rounds: 1,
        }
    }

    /// Transfers of several blocks each. A host sends only blocks that it holds when the step
    /// begins.
    pub fn passed_on(hosts: u32, steps: &[Vec<Transfer>]) -> TransferSchedule {
        let transfers = (0..)
            .zip(steps)
            .flat_map(|(step, transfers)| transfers.iter().map(move |transfer| (step, transfer)));
        let (mut first, mut blocks) = (vec![0], Vec::new());
        for (_, transfer) in transfers.clone() {
            blocks.extend_from_slice(&transfer.blocks);
            first.push(blocks.len() as u32);
        }
        let ends = transfers
            .clone()
            .map(|(_, transfer)| Message {
                src: transfer.from,
                dst: transfer.to,
            })
            .collect();
        let phase = transfers.map(|(step, _)| step).collect();
        let (contents, phases) = (
            TransferContents::Listed { first, blocks },
            steps.len() as u32,
        );
        TransferSchedule {
            hosts,
            phases,
            ends,
            phase,
            contents,
            waits: Vec::new(),
            meetings: Vec::new(),
            rounds: 1,
        }
    }

    /// An allgather of transfers of one block each: the phase, the ends, and the owner of the block.
    /// Phases ascend. A host sends a block as soon as it comes; to one other host one after the
    /// other, and to several beside each other.
    pub fn copied(
        hosts: u32,
        transfers: impl Iterator<Item = (u32, Message, NodeNumber)>,
    ) -> TransferSchedule {
        let (mut phase, mut ends, mut blocks) = (Vec::new(), Vec::new(), Vec::new());
        for (number, message, owner) in transfers {
            phase.push(number);
            ends.push(message);
            blocks.push(Message {
                src: owner,
                dst: owner,
            });
        }
        TransferSchedule {
            hosts,
            phases: phase.last().map_or(0, |last| last + 1),
            ends,
            phase,
            contents: TransferContents::Copied(blocks),
            waits: Vec::new(),
            meetings: Vec::new(),
            rounds: 1,
        }
    }

    /// An allgather in which each host of `ring` sends to the next one.
    pub fn around(ring: &[NodeNumber]) -> TransferSchedule {
        let next = ring.iter().cycle().skip(1);
        let ends: Vec<Message> = if ring.len() > 1 {
            ring.iter()
                .zip(next)
                .map(|(&src, &dst)| Message { src, dst })
                .collect()
        } else {
            vec![]
        };
        let (phase, contents) = (vec![0; ends.len()], TransferContents::Around);
        TransferSchedule {
            hosts: ring.len() as u32,
            phases: 1,
            ends,
            phase,
            contents,
            waits: Vec::new(),
            meetings: Vec::new(),
            rounds: 1,
        }
    }

    /// The same schedule with these waits.
    pub fn waiting(self, waits: Vec<TransferWait>) -> TransferSchedule {
        TransferSchedule { waits, ..self }
    }

    /// The same schedule with a barrier of all hosts before each of these phases, ascending.
    pub fn meeting(self, meetings: Vec<u32>) -> TransferSchedule {
        TransferSchedule { meetings, ..self }
    }

    /// The transfers of a plan on its tree, in all rounds: messages of a round also wait for those of the round
    /// before.
    pub fn on_tree(tree: &Tree, plan: &AlltoallSchedule) -> Result<TransferSchedule, UnknownWait> {
        let rounds = plan.scheme.rounds();
        if rounds == 1 {
            return TransferSchedule::try_from(plan);
        }
        let phases: Vec<_> = (0..rounds)
            .flat_map(|_| plan.phases.iter().cloned())
            .collect();
        let numbers = plan.paths.repeat(rounds as usize);
        let paths = MessagePaths::new(tree, &numbers);
        let capacities = plan.algorithm.capacities(tree);
        let orders =
            synchronization::credit_orders(&paths, &capacities, &phases, plan.scheme.block());
        let schedule = TransferSchedule::direct(tree.hosts(), &phases);
        let waits = orders.into_iter().map(|(after, before)| TransferWait {
            after,
            before,
            from: schedule.ends[after as usize].dst,
        });
        Ok(TransferSchedule {
            rounds,
            waits: waits.collect(),
            ..schedule
        })
    }

    /// The parts into which blocks are cut.
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// The number of hosts that take part.
    pub fn hosts(&self) -> u32 {
        self.hosts
    }

    /// The number of phases.
    pub fn phases(&self) -> u32 {
        self.phases
    }

    /// The sender and the receiver of each transfer.
    pub fn ends(&self) -> &[Message] {
        &self.ends
    }

    /// The phase of each transfer.
    pub fn phase_of(&self) -> &[u32] {
        &self.phase
    }

    /// The phase of a transfer.
    pub fn phase(&self, transfer: u32) -> u32 {
        self.phase[transfer as usize]
    }

    /// The blocks of a transfer in their order. Blocks that go around a ring are not listed.
    pub fn blocks(&self, transfer: u32) -> &[Message] {
        let at = transfer as usize;
        match &self.contents {
            TransferContents::Own => std::slice::from_ref(&self.ends[at]),
            TransferContents::Listed { first, blocks } => {
                &blocks[first[at] as usize..first[at + 1] as usize]
            }
            TransferContents::Around => &[],
            TransferContents::Copied(blocks) => std::slice::from_ref(&blocks[at]),
        }
    }

    /// True if blocks go around a ring, each as soon as it has come.
    pub fn goes_around(&self) -> bool {
        self.contents == TransferContents::Around
    }

    /// True if each transfer carries a block for all hosts.
    pub fn copies(&self) -> bool {
        matches!(self.contents, TransferContents::Copied(_))
    }

    /// True if transfers carry blocks of several hosts, which their receivers may pass on.
    pub fn passes_on(&self) -> bool {
        matches!(self.contents, TransferContents::Listed { .. })
    }

    /// The waits between transfers.
    pub fn waits(&self) -> &[TransferWait] {
        &self.waits
    }

    /// The phases before which all hosts meet in a barrier.
    pub fn meetings(&self) -> &[u32] {
        &self.meetings
    }
}

/// The number of each pair's transfer, in an all-to-all with one block per transfer.
pub(crate) struct PairNumbers {
    hosts: u32,
    numbers: Vec<u32>,
}

impl PairNumbers {
    pub(crate) fn new(hosts: u32) -> PairNumbers {
        PairNumbers {
            hosts,
            numbers: vec![u32::MAX; (hosts as usize).pow(2)],
        }
    }

    fn from_schedule(schedule: &TransferSchedule) -> PairNumbers {
        let mut pairs = PairNumbers::new(schedule.hosts);
        for (&ends, number) in schedule.ends.iter().zip(0..) {
            pairs.put(ends, number);
        }
        pairs
    }

    /// Gives a pair of known hosts the number of its transfer, and returns the number it had.
    pub(crate) fn put(&mut self, pair: Message, number: u32) -> Option<u32> {
        let at = self.at(pair)?;
        Some(std::mem::replace(&mut self.numbers[at], number)).filter(|&former| former != u32::MAX)
    }

    /// The first pair of two hosts without a transfer.
    pub(crate) fn missing(&self) -> Option<Message> {
        let pairs =
            (0..self.hosts).flat_map(|src| (0..self.hosts).map(move |dst| Message { src, dst }));
        pairs
            .zip(&self.numbers)
            .find(|(pair, number)| pair.src != pair.dst && **number == u32::MAX)
            .map(|(pair, _)| pair)
    }

    fn at(&self, pair: Message) -> Option<usize> {
        (pair.src < self.hosts && pair.dst < self.hosts)
            .then(|| pair.src as usize * self.hosts as usize + pair.dst as usize)
    }

    pub(crate) fn number(&self, pair: Message) -> Option<u32> {
        self.at(pair)
            .map(|at| self.numbers[at])
            .filter(|&number| number != u32::MAX)
    }
}

impl TryFrom<&AlltoallSchedule> for TransferSchedule {
    type Error = UnknownWait;

    fn try_from(plan: &AlltoallSchedule) -> Result<TransferSchedule, UnknownWait> {
        let meetings = (0..plan.phases.len())
            .filter(|&phase| plan.scheme.barrier_before(phase))
            .map(|phase| phase as u32);
        let schedule = TransferSchedule::direct(plan.hosts.len() as u32, &plan.phases)
            .meeting(meetings.collect());
        if plan.syncs.is_empty() {
            return Ok(schedule);
        }
        let pairs = PairNumbers::from_schedule(&schedule);
        let waits = plan.syncs.iter().enumerate().map(|(at, sync)| {
            let messages = pairs.number(sync.after).zip(pairs.number(sync.before));
            let (after, before) = messages.ok_or(UnknownWait(at))?;
            Ok(TransferWait {
                after,
                before,
                from: sync.from,
            })
        });
        Ok(schedule.waiting(waits.collect::<Result<_, _>>()?))
    }
}

impl From<&LgSchedule> for TransferSchedule {
    fn from(plan: &LgSchedule) -> TransferSchedule {
        TransferSchedule::passed_on(plan.hosts.len() as u32, &plan.steps)
    }
}

impl From<&AllgatherSchedule> for TransferSchedule {
    fn from(plan: &AllgatherSchedule) -> TransferSchedule {
        TransferSchedule::around(&plan.ring)
    }
}
