//! Several rings of an allgather, where slow trunks make one slower and each host has one rank.
use super::{CallWay, DataCarrier, HostTraits, MessageForm, PlannedPart, PlanningSet, Way};
use crate::decision_table::{Collective, CollectiveTraffic};
use inventory::TopologyFile;
use inventory::tree::Tree;
use schedules::allgather::rings;
use schedules::verify::{self, ScheduleViolation};

pub(super) struct SeveralRings;

impl CallWay for SeveralRings {
    fn usual(&self) -> Way {
        Way::Rings
    }

    fn name(&self) -> &'static str {
        "rings"
    }

    fn carriers(&self) -> &'static [DataCarrier] {
        &[DataCarrier::Tcp]
    }

    fn serves(&self, _: Way, collective: Collective) -> bool {
        collective.traffic() == CollectiveTraffic::Gather
    }

    fn form(&self) -> MessageForm {
        MessageForm::Gathered
    }

    fn plan(&self, _: Way, set: &PlanningSet<'_>) -> Result<PlannedPart, ScheduleViolation> {
        let gains = HostTraits::of(set.hosts, set.host_of).have_slow_trunks;
        let Some(plan) = rings::plan(set.leaves).filter(|_| gains) else {
            return Ok(PlannedPart::default());
        };
        verify::rings(set.leaves, &plan)?;
        let planned = set.whole(&plan.schedule);
        Ok(planned.with_digest((plan.schedule.ends(), plan.schedule.waits())))
    }

    fn is_tried(&self, hosts: HostTraits) -> bool {
        hosts.have_slow_trunks
    }

    fn is_tried_by_size(&self, over: DataCarrier, _: Collective, hosts: HostTraits) -> bool {
        over == DataCarrier::Tcp && hosts.have_slow_trunks
    }

    /// A table of other hosts may say several: these may have no slow trunk.
    fn instead(&self) -> Option<Way> {
        let over = DataCarrier::Tcp;
        Some(Way::Ring { over })
    }

    fn contenders(&self, tree: &Tree, _: &TopologyFile) -> Vec<Way> {
        rings::gain(tree).map(|_| Way::Rings).into_iter().collect()
    }
}
