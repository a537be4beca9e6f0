//! One message for each pair of hosts.
use super::{CallWay, DataCarrier, HostTraits, MessageForm, PlannedWay, PlanningSet, Way};
use crate::call_time::{
    AlltoallTime, COPIED, FIRST, LinkTraffic, MEMORY, MESSAGE, TIMER, WAKE, lasting, times, wire,
};
use crate::decision_table::{Collective, CollectiveTraffic};
use inventory::tree::Tree;
use inventory::{Bytes, TopologyFile};
use schedules::bundled;
use schedules::verify::ScheduleViolation;

pub(super) struct HostBundles;

impl CallWay for HostBundles {
    fn usual(&self) -> Way {
        Way::Bundled
    }

    fn name(&self) -> &'static str {
        "bundled"
    }

    fn carriers(&self) -> &'static [DataCarrier] {
        &[DataCarrier::Mpi]
    }

    /// Lengths that differ go the same way first.
    fn serves(&self, _: Way, collective: Collective) -> bool {
        collective.traffic() == CollectiveTraffic::Exchange
    }

    fn form(&self) -> MessageForm {
        MessageForm::Bundles {
            at_once: usize::MAX,
        }
    }

    fn is_by_hosts(&self) -> bool {
        true
    }

    fn plan<'a>(&self, _: Way, set: &PlanningSet<'a>) -> Result<PlannedWay<'a>, ScheduleViolation> {
        let order = set.hosts_along_ring();
        let host_of = set.host_of;
        let along = order.clone();
        let planned = PlannedWay::new(move |rank| vec![bundled::part(host_of, &along, rank)]);
        Ok(PlannedWay {
            together: most_together(host_of),
            ..planned
        }
        .with_digest(order))
    }

    fn nanoseconds(&self, time: &AlltoallTime, _: Way, block: Bytes) -> Option<u64> {
        Some(nanoseconds(time, block))
    }

    fn is_tried(&self, hosts: HostTraits) -> bool {
        hosts.have_several_ranks
    }

    fn contenders(&self, _: &Tree, _: &TopologyFile) -> Vec<Way> {
        vec![Way::Bundled]
    }

    fn copies(&self) -> bool {
        true
    }
}

/// Bundles are few, and do not take turns: so many times as long takes the link of a host that is the
/// slowest one, and a trunk that many share.
const UNORDERED: (u64, u64) = (3, 2);
const UNORDERED_OVER_TRUNKS: (u64, u64) = (5, 4);

/// Of blocks that are about equal the longest has so many times the mean.
const LONGEST: u64 = 3;

/// The most blocks of the mean length that a message may hold as much as.
pub(super) fn most_together(host_of: &[u32]) -> u64 {
    LONGEST * bundled::most_blocks(host_of)
}

/// The ranks of a host give blocks to leaders, these exchange them, and give them on. Half of the
/// calls wait for a timer if bundles are lost that are longer than what connections send at first,
/// and too short to be sent again at once.
fn nanoseconds(time: &AlltoallTime, block: Bytes) -> u64 {
    let sent = time.longest(|link| {
        let all = wire(octets(link, block)).saturating_mul(link.host_pairs);
        times(
            all,
            if link.is_of_host {
                UNORDERED
            } else {
                UNORDERED_OVER_TRUNKS
            },
        )
    });
    let lost = if are_lost(time, block) { TIMER / 2 } else { 0 };
    sent.saturating_add(on_hosts(time, block))
        .saturating_add(lost)
}

/// True if bundles are lost that wait for a timer.
pub(super) fn are_lost(time: &AlltoallTime, block: Bytes) -> bool {
    let bundles = time.links.iter().map(|link| octets(link, block));
    let longest = bundles.max().unwrap_or(0);
    longest > FIRST && time.overflowing.is_some_and(|least| block >= least)
}

/// The octets of a bundle over a link.
pub(super) fn octets(link: &LinkTraffic, block: Bytes) -> u64 {
    block.0.saturating_mul(link.blocks) / link.host_pairs
}

/// What ranks need beside the network: blocks are copied out of the sender's memory and into the receiver's, before
/// and after, and ranks are woken in three steps.
pub(super) fn on_hosts(time: &AlltoallTime, block: Bytes) -> u64 {
    let copies = [(time.of_rank, COPIED), (time.of_host, MEMORY)];
    let [of_rank, of_host] =
        copies.map(|(blocks, rate)| lasting(block.0.saturating_mul(4 * blocks), rate));
    of_rank
        .max(of_host)
        .saturating_add(3 * 2 * WAKE + MESSAGE * time.bundles + time.delay)
}
