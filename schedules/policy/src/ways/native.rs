//! The MPI library's own routine.
use super::{CallWay, DataCarrier, MessageForm, PlannedWay, PlanningSet, Way};
use crate::call_time::{AlltoallTime, LONG, MEET, MESSAGE, SHORT, TIMER, lasting, times, wire};
use crate::decision_table::Collective;
use crate::library_routine::LibraryRoutine;
use inventory::Bytes;
use schedules::verify::ScheduleViolation;

pub(super) struct LibrarysOwn;

impl CallWay for LibrarysOwn {
    fn usual(&self) -> Way {
        Way::Native
    }

    fn name(&self) -> &'static str {
        "native"
    }

    fn carriers(&self) -> &'static [DataCarrier] {
        &[]
    }

    fn serves(&self, _: Way, _: Collective) -> bool {
        true
    }

    fn form(&self) -> MessageForm {
        MessageForm::Library
    }

    fn is_by_hosts(&self) -> bool {
        true
    }

    fn plan<'a>(&self, _: Way, _: &PlanningSet<'a>) -> Result<PlannedWay<'a>, ScheduleViolation> {
        Ok(PlannedWay::new(|_| Vec::new()))
    }

    fn nanoseconds(&self, time: &AlltoallTime, _: Way, block: Bytes) -> Option<u64> {
        Some(time.native(block))
    }

    fn is_calibrated(&self, _: Way) -> bool {
        true
    }
}

/// A port whose senders wait for timers is idle, for one timer at least: so many times as long takes what
/// goes over it. In heddle's lab 2.2 to 5.3, with two libraries.
const LOSSY: (u64, u64) = (5, 2);

impl AlltoallTime {
    /// The library's own routine, which loses segments where a queue overflows.
    pub(crate) fn native(&self, block: Bytes) -> u64 {
        let time = self.at_once(block);
        let at_once = match self.overflows(block) {
            true => times(time, LOSSY).max(time.saturating_add(TIMER)),
            false => time,
        };
        self.by_routine(block, at_once)
    }

    /// The same if all queues are as deep as they have to be.
    pub(crate) fn without_loss(&self, block: Bytes) -> u64 {
        self.by_routine(block, self.at_once(block))
    }

    /// The time while a segment waits for a timer, as a multiple of the time without.
    pub(crate) fn slowed_by_a_timer(&self, block: Bytes) -> f64 {
        1.0 + TIMER as f64 / self.without_loss(block).max(1) as f64
    }

    /// Short blocks are passed on, and long ones sent at once. Where nobody knows which routine the library
    /// takes: the faster one, unless blocks sent at once would be lost.
    fn by_routine(&self, block: Bytes, at_once: u64) -> u64 {
        let ranks = u32::try_from(self.ranks).unwrap_or(u32::MAX);
        let is_passed_on = self.library.map(|mpi| {
            LibraryRoutine::chosen(mpi, Collective::Alltoall, ranks, block) == LibraryRoutine::Bruck
        });
        match is_passed_on {
            Some(true) => self.passed_on(block),
            None if block <= SHORT => self.passed_on(block),
            None if block < LONG && !self.overflows(block) => self.passed_on(block).min(at_once),
            Some(false) | None => at_once,
        }
    }

    /// True if the queue of some port overflows where all blocks are sent at once.
    fn overflows(&self, block: Bytes) -> bool {
        let meet = block.0.saturating_mul(self.of_host) / MEET;
        meet >= self.queue.0 || self.overflowing.is_some_and(|least| block >= least)
    }

    /// The routine for short blocks: each rank passes on the blocks of others.
    fn passed_on(&self, block: Bytes) -> u64 {
        self.rounds
            .iter()
            .map(|round| {
                let message = wire(block.0.saturating_mul(round.blocks));
                let sent = lasting(message.saturating_mul(round.messages), round.rate);
                sent.saturating_add(MESSAGE + self.delay)
            })
            .fold(0, u64::saturating_add)
    }

    /// The routine for longer blocks: each rank sends all of them at once.
    fn at_once(&self, block: Bytes) -> u64 {
        let sent = self.longest(|link| wire(block.0).saturating_mul(link.blocks));
        sent.saturating_add(MESSAGE * (self.ranks - 1) + self.delay)
    }
}
