//! The ring of an allgather.
use super::{CallWay, DataCarrier, EITHER, HostTraits, MessageForm, PlannedPart, PlanningSet, Way};
use crate::decision_table::{Collective, CollectiveTraffic};
use inventory::TopologyFile;
use inventory::tree::Tree;
use schedules::transfers::TransferSchedule;
use schedules::verify::ScheduleViolation;

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

    fn plan(&self, _: Way, set: &PlanningSet<'_>) -> Result<PlannedPart, ScheduleViolation> {
        let planned = set.whole(&TransferSchedule::from(set.ring()));
        Ok(planned.with_digest(&set.ring().ring))
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
