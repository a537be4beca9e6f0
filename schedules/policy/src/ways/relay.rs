//! Reductions, broadcasts and small allgathers along the ring of an allgather, one rank a host.
use super::{CallWay, DataCarrier, HostTraits, MessageForm, PlannedPart, PlanningSet, Way};
use crate::decision_table::{Collective, CollectiveTraffic};
use schedules::verify::ScheduleViolation;

pub(super) struct AlongRing;

impl CallWay for AlongRing {
    fn usual(&self) -> Way {
        Way::Relay
    }

    fn name(&self) -> &'static str {
        "relay"
    }

    fn names_carrier(&self) -> bool {
        false
    }

    fn carriers(&self) -> &'static [DataCarrier] {
        &[DataCarrier::Tcp]
    }

    /// One rank a host relays blocks of all, whose size it knows only if all are equal.
    fn serves(&self, _: Way, collective: Collective) -> bool {
        match collective.traffic() {
            CollectiveTraffic::Exchange => false,
            CollectiveTraffic::Gather => collective == Collective::Allgather,
            CollectiveTraffic::Combine
            | CollectiveTraffic::CombineForEach
            | CollectiveTraffic::Spread => true,
        }
    }

    fn form(&self) -> MessageForm {
        MessageForm::Relayed
    }

    /// The ring is all that it needs.
    fn plan(&self, _: Way, set: &PlanningSet<'_>) -> Result<PlannedPart, ScheduleViolation> {
        Ok(PlannedPart::of(Vec::new()).with_digest(&set.ring().ring))
    }

    fn is_tried(&self, _: HostTraits) -> bool {
        true
    }

    fn is_tried_by_size(
        &self,
        over: DataCarrier,
        collective: Collective,
        hosts: HostTraits,
    ) -> bool {
        let is_gathered = collective.traffic() == CollectiveTraffic::Gather;
        over == DataCarrier::Tcp && (hosts.have_several_ranks || !is_gathered)
    }
}
