//! The phases of an all-to-all over TCP, with tokens that receivers give ahead
//! ([`schedules::synchronization::credit`]).
use super::short_blocks::ShortBlocks;
use super::{CallWay, DataCarrier, MessageForm, PlannedPart, PlanningSet, Way, aapc};
use crate::decision_table::{Collective, UnmeasuredSet};
use inventory::Bytes;
use schedules::synchronization::SyncKind;
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

    fn plan(&self, way: Way, set: &PlanningSet<'_>) -> Result<PlannedPart, ScheduleViolation> {
        let sync = way.sync().unwrap_or(SyncKind::Receiver.into());
        aapc::planned(sync, set, None)
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

    /// Queues overflow there, and a call is short beside a timer.
    fn avoids_timers(&self) -> bool {
        true
    }
}
