//! The phases of an all-to-all over TCP, with tokens that receivers give ahead
//! ([`schedules::synchronization::credit`]).
use super::short_blocks::{ShortBlocks, credited};
use super::{CallWay, DataCarrier, MessageForm, PlannedWay, PlanningSet, Way, aapc};
use crate::call_time::{AlltoallTime, MESSAGE, times};
use crate::decision_table::{Collective, UnmeasuredSet};
use inventory::{BitsPerSec, Bytes};
use schedules::synchronization::SyncKind;
use schedules::synchronization::credit::{MESSAGES, ROUND_TRIP};
use schedules::synchronization::scheme::{SyncMechanism, SyncScheme};
use schedules::verify::ScheduleViolation;
use std::num::NonZeroU32;

pub(super) struct CreditedPhases;

impl CallWay for CreditedPhases {
    fn usual(&self) -> Way {
        super::phases(SyncScheme::credit(NonZeroU32::MIN))
    }

    fn is(&self, way: Way) -> bool {
        way.sync()
            .is_some_and(|sync| sync.mechanism() == SyncMechanism::Credit)
    }

    fn name(&self) -> &'static str {
        aapc::NAME
    }

    fn carriers(&self) -> &'static [DataCarrier] {
        &[DataCarrier::Tcp]
    }

    fn serves(&self, way: Way, collective: Collective) -> bool {
        aapc::goes_over_tcp(way, collective)
    }

    fn form(&self) -> MessageForm {
        MessageForm::Blocks
    }

    fn plan<'a>(
        &self,
        way: Way,
        set: &PlanningSet<'a>,
    ) -> Result<PlannedWay<'a>, ScheduleViolation> {
        let sync = way.sync().unwrap_or(SyncKind::Receiver.into());
        aapc::planned(sync, set, None)
    }

    fn timed(&self, time: &AlltoallTime, block: Bytes) -> Way {
        let scheme = time.credit.and_then(|credit| {
            credited((credit, time.ranks), block, |messages| {
                credit.longest(messages.get().into())
            })
        });
        super::phases(scheme.unwrap_or(SyncScheme::credit(NonZeroU32::MIN)))
    }

    fn nanoseconds(&self, time: &AlltoallTime, way: Way, block: Bytes) -> Option<u64> {
        let can = time.credit.is_some() && time.slowest_host() >= LEAST_RATE;
        Some(nanoseconds(time, way.sync().filter(|_| can)?, block))
    }

    /// Short blocks that overflow a queue, and those of which the library has few under way at once where each
    /// has a way of its own: a hash would put several on one way.
    fn instead_of_native(
        &self,
        set: &UnmeasuredSet<'_>,
        collective: Collective,
        ways: Vec<(Bytes, Way)>,
    ) -> Vec<(Bytes, Way)> {
        let is_even = collective == Collective::Alltoall && set.alltoall().is_some();
        let short = is_even.then(|| ShortBlocks::of(set));
        match short.flatten() {
            Some(short) => short.in_place_of_native(&ways),
            None => ways,
        }
    }

    /// Credit counts messages of one size: of longer ones fewer are under way.
    fn with_longer_blocks(&self, longer: Way) -> Option<Way> {
        let tokens = super::phases(SyncKind::Receiver);
        Some(if self.is(longer) { longer } else { tokens })
    }

    /// Up to twice as many messages.
    fn bolder(&self, way: Way) -> Option<Way> {
        let sync = way.sync()?;
        let more = sync.block() + 1..=2 * sync.block();
        let mut all = MESSAGES.into_iter().rev();
        let messages = all.find(|messages| more.contains(&messages.get()))?;
        let rounds = NonZeroU32::MIN.saturating_add(sync.rounds() - 1);
        Some(super::phases(
            SyncScheme::credit(messages).in_rounds(rounds),
        ))
    }

    /// Queues overflow there, and a call is short beside a timer.
    fn avoids_timers(&self) -> bool {
        true
    }
}

/// On slower links it is not known to gain: at 100 Mbit/s, in the lab, 64 ranks on two processors took 1.3 to 6.8 of the
/// library's time with 512 B and 2 kB, though in ns-3 no queue overflowed (docs/figures.md).
const LEAST_RATE: BitsPerSec = BitsPerSec(1_000_000_000);

/// Credit leaves links idle now and then: a block and its token take about a tenth longer. In ns-3, at 0.1 and 1 Gbit/s,
/// 1.08 to 1.15 times (docs/figures.md).
const IDLE: (u64, u64) = (11, 10);

/// In a round trip as many messages are over as were under way, and each message costs its ranks time.
fn nanoseconds(time: &AlltoallTime, sync: SyncScheme, block: Bytes) -> u64 {
    let rounds = u64::from(sync.rounds());
    let part = Bytes(block.0.div_ceil(rounds));
    let octets = aapc::with_token(part).saturating_mul(rounds);
    let sent = time.longest(|link| octets.saturating_mul(link.blocks));
    let round_trips = time.phases.saturating_mul(rounds) / u64::from(sync.block());
    let awaited = (ROUND_TRIP.as_nanos() as u64).saturating_mul(round_trips);
    let costs = MESSAGE * rounds * (time.ranks - 1) + time.delay;
    times(sent, IDLE).max(awaited).saturating_add(costs)
}
