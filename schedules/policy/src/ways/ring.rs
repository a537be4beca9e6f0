//! The ring of an allgather.
use super::{
    CallWay, DataCarrier, EITHER, HostTraits, MessageForm, PlannedWay, PlanningSet, Way,
    gathered_sizes,
};
use crate::call_time::GatherTime;
use crate::decision_table::{ANY_SIZE, Collective, CollectiveTraffic, UnmeasuredSet};
use inventory::tree::Tree;
use inventory::{Bytes, TopologyFile};
use schedules::transfers::TransferSchedule;
use schedules::verify::ScheduleViolation;
use std::ops::Range;

pub(super) struct OneRing;

impl CallWay for OneRing {
    fn usual(&self) -> Way {
        Way::Ring {
            over: DataCarrier::Mpi,
        }
    }

    fn is(&self, way: Way) -> bool {
        matches!(way, Way::Ring { .. })
    }

    fn name(&self) -> &'static str {
        "ring"
    }

    fn carriers(&self) -> &'static [DataCarrier] {
        EITHER
    }

    fn serves(&self, _: Way, collective: Collective) -> bool {
        collective.traffic() == CollectiveTraffic::Gather
    }

    fn form(&self) -> MessageForm {
        MessageForm::Gathered
    }

    fn plan<'a>(&self, _: Way, set: &PlanningSet<'a>) -> Result<PlannedWay<'a>, ScheduleViolation> {
        let planned = PlannedWay::undivided(TransferSchedule::from(set.ring));
        Ok(planned.with_digest(&set.ring.ring))
    }

    fn gathers_in(&self, time: &GatherTime, block: Bytes) -> Option<u64> {
        Some(time.along_ring(time.ranks, block))
    }

    fn pays(&self, set: &UnmeasuredSet<'_>, collective: Collective) -> Option<(Range<Bytes>, Way)> {
        let is_gathered = collective.traffic() == CollectiveTraffic::Gather;
        let from = is_gathered
            .then(|| gathered_sizes::smallest(set))
            .flatten()?;
        // Shorter blocks go by one rank a host, or as the library has it.
        let from =
            gathered_sizes::by_leaders(set, collective).map_or(from, |sizes| from.max(sizes.end));
        let over = DataCarrier::Tcp;
        Some((from..ANY_SIZE, Way::Ring { over }))
    }

    fn is_tried(&self, _: HostTraits) -> bool {
        true
    }

    fn is_tried_by_size(&self, _: DataCarrier, _: Collective, _: HostTraits) -> bool {
        true
    }

    fn contenders(&self, _: &Tree, _: &TopologyFile) -> Vec<Way> {
        EITHER.iter().map(|&over| Way::Ring { over }).collect()
    }

    fn is_calibrated(&self, _: Way) -> bool {
        true
    }
}
