//! The phases of an all-to-all, kept apart by tokens or barriers.
use super::{CallWay, DataCarrier, EITHER, HostTraits, MessageForm, PlannedPart, PlanningSet, Way};
use crate::call_time::{AlltoallTime, WAKE, wire};
use crate::decision_table::{Collective, CollectiveTraffic};
use inventory::tree::Tree;
use inventory::{Bytes, TopologyFile};
use schedules::alltoall;
use schedules::synchronization::SyncKind;
use schedules::synchronization::scheme::{SyncMechanism, SyncScheme};
use schedules::transfers::TransferSchedule;
use schedules::transfers::part::{self, RankPart};
use schedules::verify::{self, ScheduleViolation};

pub(super) const NAME: &str = "aapc";

pub(super) struct OrderedPhases;

impl CallWay for OrderedPhases {
    fn usual(&self) -> Way {
        super::phases(SyncKind::Receiver).with_carrier(DataCarrier::Mpi)
    }

    fn is(&self, way: Way) -> bool {
        way.sync().is_some_and(|sync| {
            !matches!(
                sync.mechanism(),
                SyncMechanism::Window | SyncMechanism::Credit
            )
        })
    }

    fn name(&self) -> &'static str {
        NAME
    }

    fn carriers(&self) -> &'static [DataCarrier] {
        EITHER
    }

    fn serves(&self, way: Way, collective: Collective) -> bool {
        let mechanism = way.sync().map(SyncScheme::mechanism);
        let can = mechanism.is_some_and(|mechanism| mechanism != SyncMechanism::Dummy);
        can && collective.traffic() == CollectiveTraffic::Exchange
    }

    fn form(&self) -> MessageForm {
        MessageForm::Blocks
    }

    fn plan(&self, way: Way, set: &PlanningSet<'_>) -> Result<PlannedPart, ScheduleViolation> {
        let sync = way.sync().unwrap_or(SyncKind::Receiver.into());
        planned(sync, set, |_| {})
    }

    fn nanoseconds(&self, time: &AlltoallTime, way: Way, block: Bytes) -> Option<u64> {
        (way == super::phases(SyncKind::Receiver)).then(|| with_tokens(time, block))
    }

    fn is_tried(&self, _: HostTraits) -> bool {
        true
    }

    fn is_tried_by_size(&self, _: DataCarrier, _: Collective, _: HostTraits) -> bool {
        true
    }

    /// Synchronizations for blocks of phases (aapc-2007, Table 5) are not among them: in no measurement did
    /// one gain more than the noise over tokens for every phase.
    fn contenders(&self, _: &Tree, _: &TopologyFile) -> Vec<Way> {
        let schemes = SyncScheme::table_5(&[]).into_iter();
        let ways =
            schemes.flat_map(|sync| EITHER.iter().map(move |&over| Way::Aapc { sync, over }));
        ways.filter(|way| way.serves(Collective::Alltoall))
            .collect()
    }

    fn is_calibrated(&self, way: Way) -> bool {
        way == way.with_usual_sync()
    }
}

/// The rank's part of the phases with a synchronization, after `altered`.
pub(super) fn planned(
    sync: SyncScheme,
    set: &PlanningSet<'_>,
    altered: impl FnOnce(&mut RankPart),
) -> Result<PlannedPart, ScheduleViolation> {
    let plan = alltoall::plan(set.leaves, sync);
    verify::alltoall(set.leaves, &plan)?;
    let schedule = TransferSchedule::try_from(&plan);
    let schedule = schedule
        .unwrap_or_else(|wait| unreachable!("the verifier has found every message: {wait:?}"));
    let mut part = part::of(&schedule, set.rank);
    altered(&mut part);
    let digest = (&plan.phases, &plan.syncs, part.lead, part.window);
    let planned = PlannedPart::default().with_digest(digest);
    Ok(PlannedPart {
        phases: plan.phases.len(),
        parts: Some(part.between(schedule.meetings())),
        ..planned
    })
}

/// Phases with a token between two messages of one link: each waits for two processes, and the token
/// for a long cable, there and back.
fn with_tokens(time: &AlltoallTime, block: Bytes) -> u64 {
    let sent = time.longest(|link| {
        let both = wire(block.0).saturating_add(wire(0));
        both.saturating_mul(link.blocks)
    });
    let step = (2 * WAKE).saturating_add(2 * time.delay);
    sent.saturating_add(time.phases.saturating_mul(step))
}
