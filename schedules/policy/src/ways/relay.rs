//! Reductions, broadcasts and small allgathers along the ring of an allgather, one rank a host.
use super::{
    CallWay, DataCarrier, HostTraits, MessageForm, PlannedWay, PlanningSet, Way, gathered_sizes,
};
use crate::call_time::{GatherTime, smallest_halved};
use crate::decision_table::{ANY_SIZE, Collective, CollectiveTraffic, UnmeasuredSet};
use inventory::Bytes;
use schedules::bound;
use schedules::verify::ScheduleViolation;
use std::ops::Range;
use std::time::Duration;

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

    fn serves(&self, _: Way, collective: Collective) -> bool {
        collective.traffic() != CollectiveTraffic::Exchange
    }

    fn form(&self) -> MessageForm {
        MessageForm::Relayed
    }

    fn is_by_hosts(&self) -> bool {
        true
    }

    /// The ring is all that it needs.
    fn plan<'a>(&self, _: Way, set: &PlanningSet<'a>) -> Result<PlannedWay<'a>, ScheduleViolation> {
        Ok(PlannedWay::new(|_| Vec::new()).with_digest(&set.ring.ring))
    }

    fn gathers_in(&self, time: &GatherTime, block: Bytes) -> Option<u64> {
        let between = time.along_ring(time.used, block);
        Some(between.saturating_add(time.on_hosts(block)))
    }

    fn pays(&self, set: &UnmeasuredSet<'_>, collective: Collective) -> Option<(Range<Bytes>, Way)> {
        let used = set.used();
        let from = match collective.traffic() {
            CollectiveTraffic::Exchange => None,
            CollectiveTraffic::Gather => {
                let sizes = gathered_sizes::by_leaders(set, collective)?;
                // Up to where one ring of all ranks pays, if they are not too many for that.
                let end = sizes.end.max(gathered_sizes::smallest(set)?);
                let end = if set.traits().have_many_ranks {
                    ANY_SIZE
                } else {
                    end
                };
                return Some((sizes.start..end, Way::Relay));
            }
            CollectiveTraffic::Combine => {
                let lasting = smallest_part(set).map(|part| Bytes(part.0 * used));
                lasting.into_iter().chain(smallest_that_waits(set)).min()
            }
            CollectiveTraffic::Spread => smallest_part(set).map(|part| Bytes(part.0 * used)),
            // Where hosts have several ranks, a leader cannot keep the blocks of its host apart.
            CollectiveTraffic::CombineForEach => {
                smallest_part(set).filter(|_| used == set.host_of.len() as u64)
            }
        };
        from.map(|from| (from..ANY_SIZE, Way::Relay))
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

/// Smaller reductions and broadcasts are the library's own.
pub const LEAST_RELAYED: Bytes = Bytes(256 << 10);

/// So long a part lasts at least, and so many times a queue is filled, where the ring is ahead of each pattern of the
/// libraries by timers that these wait for: 18 to 48 hosts of 10 to 40 Gbit/s in ns-3 (docs/figures.md).
const PART_OF_WAITING: Duration = Duration::from_micros(10);
const FILLED: (u64, u64) = (9, 8);

/// The smallest elements with which a library waits for retransmission timers while it halves them.
fn smallest_that_waits(set: &UnmeasuredSet<'_>) -> Option<Bytes> {
    let halved = smallest_halved(set.hosts, set.host_of).filter(|_| !set.shares_hosts())?;
    let octet = bound::broadcast_seconds(set.hosts, &set.ranks, MANY) / MANY.0 as f64;
    let part = (PART_OF_WAITING + set.delay).as_secs_f64() / octet;
    let lasting = part.ceil() as u64 * set.used();
    Some(
        Bytes(halved.0 * FILLED.0 / FILLED.1)
            .max(Bytes(lasting))
            .max(LEAST_RELAYED),
    )
}

/// Rounding counts for nothing in the time of so many octets.
const MANY: Bytes = Bytes(1 << 20);

/// The smallest part, of as many as hosts have ranks, with which reductions and broadcasts along the ring pay:
/// it has to last as long as a block of an allgather. One rank a host is on the ring.
fn smallest_part(set: &UnmeasuredSet<'_>) -> Option<Bytes> {
    let octet = bound::broadcast_seconds(set.hosts, &set.ranks, MANY) / MANY.0 as f64;
    if octet == 0.0 {
        return None;
    }
    let lasting = (gathered_sizes::ALLGATHER.block + set.delay).as_secs_f64() / octet;
    let least = LEAST_RELAYED.0.div_ceil(set.used());
    Some(Bytes(least.max(lasting.ceil() as u64)))
}
