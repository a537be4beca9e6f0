//! The ring of an allgather.
use super::{
    CallWay, DataCarrier, EITHER, HostTraits, MessageForm, PlannedPart, PlanningSet, Way, relay,
};
use crate::decision_table::{
    ANY_SIZE, Collective, CollectiveTraffic, OverflowingCall, UnmeasuredSet,
};
use inventory::tree::{EdgeNumber, NodeNumber, Tree};
use inventory::{Bytes, TopologyFile};
use schedules::bound::WIRE_PER_PAYLOAD;
use schedules::transfers::TransferSchedule;
use schedules::verify::ScheduleViolation;
use std::ops::Range;
use std::time::Duration;

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

    fn pays(&self, set: &UnmeasuredSet<'_>, collective: Collective) -> Option<(Range<Bytes>, Way)> {
        let is_gathered = collective.traffic() == CollectiveTraffic::Gather;
        let from = is_gathered.then(|| smallest(set)).flatten()?;
        // Shorter blocks go by one rank a host, or as the library has it.
        let is_even = collective == Collective::Allgather;
        let by_leaders = is_even.then(|| relay::sizes_of_leaders(set)).flatten();
        let from = by_leaders.map_or(from, |sizes| from.max(sizes.end));
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

pub(super) const ALLGATHER: OverflowingCall = OverflowingCall {
    octets: Bytes(80 << 10),
    block: Duration::from_micros(650),
    on_fast_links: (Bytes(32 << 10), Duration::from_micros(300)),
};

/// The time of a step of the ring beside that of its block.
const RING_STEP: Duration = Duration::from_micros(300);

/// The smallest block with which the ring pays: the libraries' own routine overflows a queue, or it
/// doubles blocks over links on which that takes longer than all steps of the ring cost.
pub(super) fn smallest(set: &UnmeasuredSet<'_>) -> Option<Bytes> {
    let &UnmeasuredSet {
        hosts,
        host_of,
        delay,
        ..
    } = set;
    let bottleneck = set.allgather()?;
    let overflows = ALLGATHER.smallest_block(hosts, bottleneck, delay);
    let longer = doubling_seconds(hosts, host_of) - bottleneck.seconds(Bytes(1));
    let cost = RING_STEP.as_secs_f64() * (host_of.len() - 1) as f64;
    // Blocks go over the cable there and back.
    let cost = cost + 2.0 * delay.as_secs_f64();
    Some(if longer > 0.0 {
        overflows.min(Bytes((cost / longer).ceil() as u64))
    } else {
        overflows
    })
}

/// The least seconds, for each octet of a block, of the allgather in which what a rank sends
/// doubles from step to step, as both libraries have it for small blocks: recursive doubling where
/// the ranks are a power of two, else Bruck's. (Thakur, Rabenseifner, Gropp 2005, section 4.1.)
pub(super) fn doubling_seconds(hosts: &Tree, host_of: &[NodeNumber]) -> f64 {
    let n = host_of.len();
    let distances = std::iter::successors(Some(1), |k| Some(2 * k)).take_while(|&k| k < n);
    let step = |distance: usize| {
        let mut senders = vec![0_u64; hosts.edges() as usize];
        for (rank, &host) in host_of.iter().enumerate() {
            let to = if n.is_power_of_two() {
                rank ^ distance
            } else {
                (rank + n - distance) % n
            };
            hosts.path(host, host_of[to], |edge| {
                senders[edge as usize] += 1;
            });
        }
        let octets = distance.min(n - distance) as f64 * 8.0 * WIRE_PER_PAYLOAD;
        let slowest = (0..)
            .zip(&senders)
            .filter(|(_, senders)| **senders > 0)
            .map(|(edge, senders): (EdgeNumber, _)| {
                *senders as f64 / hosts.rate(edge / 2).0.max(1) as f64
            })
            .fold(0.0, f64::max);
        slowest * octets
    };
    distances.map(step).sum()
}
