//! The host that holds each block, transfer by transfer.
//!
//! Input: any schedule whose blocks are listed. Guarantee: a host sends only blocks that it holds
//! when the phase begins, and no longer holds them afterwards. So each block takes one path, and is
//! at one place at the end. Cost: O(hosts² + blocks carried).
use crate::message::Message;
use crate::transfers::TransferSchedule;
use inventory::tree::NodeNumber;

/// No transfer.
pub(super) const NOWHERE: u32 = u32::MAX;

/// The reason why a transfer cannot be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DeliveryFault {
    /// A number that no host has.
    UnknownHost(u32),
    /// The sender is the receiver, too.
    ToItself,
    /// The transfer has no block.
    CarriesNothing,
    /// The block is from a host for itself.
    StaysAtHome,
    /// The block is elsewhere.
    Elsewhere {
        /// The host that has it.
        at: NodeNumber,
        /// The transfer that took it there; `None` if it never moved.
        by: Option<u32>,
    },
    /// The block reaches the sender in the same phase.
    SamePhase,
}

/// The place of every block.
pub(super) struct Delivery<'a> {
    schedule: &'a TransferSchedule,
    /// By source and destination: the last transfer that carried the block.
    by: Vec<u32>,
}

impl<'a> Delivery<'a> {
    pub(super) fn new(schedule: &'a TransferSchedule) -> Delivery<'a> {
        Delivery {
            schedule,
            by: vec![NOWHERE; (schedule.hosts() as usize).pow(2)],
        }
    }

    /// Checks that a transfer can be sent at all.
    pub(super) fn can_be_sent(&self, transfer: u32) -> Result<(), DeliveryFault> {
        let (ends, blocks) = (
            self.schedule.ends()[transfer as usize],
            self.schedule.blocks(transfer),
        );
        let hosts = self.schedule.hosts();
        let pairs = blocks.iter().chain([&ends]);
        let mut named = pairs.flat_map(|pair| [pair.src, pair.dst]);
        match named.find(|&host| host >= hosts) {
            Some(host) => Err(DeliveryFault::UnknownHost(host)),
            None if blocks.is_empty() => Err(DeliveryFault::CarriesNothing),
            None if ends.src == ends.dst => Err(DeliveryFault::ToItself),
            None => Ok(()),
        }
    }

    /// Moves a block of a transfer that can be sent.
    pub(super) fn carry(&mut self, transfer: u32, block: Message) -> Result<(), DeliveryFault> {
        let last = self.last(block);
        let at = last.map_or(block.src, |by| self.schedule.ends()[by as usize].dst);
        if block.src == block.dst {
            return Err(DeliveryFault::StaysAtHome);
        }
        if at != self.schedule.ends()[transfer as usize].src {
            return Err(DeliveryFault::Elsewhere { at, by: last });
        }
        if last.is_some_and(|by| self.schedule.phase(by) == self.schedule.phase(transfer)) {
            return Err(DeliveryFault::SamePhase);
        }
        let index = self.index(block);
        self.by[index] = transfer;
        Ok(())
    }

    /// The last transfer that carried a block; `None` if no host has the block's numbers.
    pub(super) fn last(&self, block: Message) -> Option<u32> {
        let known = block.src < self.schedule.hosts() && block.dst < self.schedule.hosts();
        known
            .then(|| self.by[self.index(block)])
            .filter(|&by| by != NOWHERE)
    }

    /// The first block that is not at its destination, and the host that has it.
    pub(super) fn undelivered(&self) -> Option<(Message, NodeNumber)> {
        let hosts = self.schedule.hosts();
        let pairs = (0..hosts)
            .flat_map(|src| (0..hosts).map(move |dst| Message { src, dst }))
            .zip(&self.by);
        pairs
            .map(|(block, &by)| {
                (
                    block,
                    self.schedule
                        .ends()
                        .get(by as usize)
                        .map_or(block.src, |ends| ends.dst),
                )
            })
            .find(|(block, at)| block.dst != *at)
    }

    fn index(&self, block: Message) -> usize {
        block.src as usize * self.schedule.hosts() as usize + block.dst as usize
    }
}
