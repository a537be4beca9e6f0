//! Several rings of an allgather, where slow trunks make one slower and each host has one rank.
use super::{
    CallWay, DataCarrier, HostTraits, MessageForm, PlannedWay, PlanningSet, Way, gathered_sizes,
};
use crate::decision_table::{ANY_SIZE, Collective, CollectiveTraffic, TOKENS, UnmeasuredSet};
use inventory::tree::Tree;
use inventory::{Bytes, TopologyFile};
use schedules::allgather::rings;
use schedules::bound::BottleneckLoad;
use schedules::verify::{self, ScheduleViolation};
use std::ops::Range;
use std::time::Duration;

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

    fn plan<'a>(&self, _: Way, set: &PlanningSet<'a>) -> Result<PlannedWay<'a>, ScheduleViolation> {
        let gains = HostTraits::of(set.hosts, set.host_of).have_slow_trunks;
        let Some(plan) = rings::plan(set.leaves).filter(|_| gains) else {
            return Ok(PlannedWay::default());
        };
        verify::rings(set.leaves, &plan)?;
        let planned = PlannedWay::undivided(plan.schedule.clone());
        Ok(planned.with_digest((plan.schedule.ends(), plan.schedule.waits())))
    }

    fn pays(&self, set: &UnmeasuredSet<'_>, collective: Collective) -> Option<(Range<Bytes>, Way)> {
        let is_gathered = collective.traffic() == CollectiveTraffic::Gather;
        let gains = is_gathered && set.traits().have_slow_trunks;
        let one = gains.then(|| gathered_sizes::smallest(set)).flatten()?;
        let (least, lasting) = IN_RINGS;
        let rate = set.allgather()?.rate;
        let octet = BottleneckLoad { blocks: 1, rate }.seconds(Bytes(1));
        let lasting = (lasting + TOKENS * set.delay).as_secs_f64() / octet;
        let several = least.max(Bytes(lasting.ceil() as u64));
        Some((one.max(several)..ANY_SIZE, Way::Rings))
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

/// Several rings replace one between slow trunks if a block has so many octets and lasts so long on
/// the slowest. Times of one ring, 12 hosts: 0.64 with blocks of 28 ms, 0.58 to 0.85 with longer ones,
/// 0.92 to 1.04 with 14 ms, and more on fast links, where the lab had no processor time left.
const IN_RINGS: (Bytes, Duration) = (Bytes(16 << 10), Duration::from_millis(27));
