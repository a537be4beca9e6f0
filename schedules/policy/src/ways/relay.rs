//! Reductions, broadcasts and small allgathers along the ring of an allgather, one rank a host.
use super::{CallWay, DataCarrier, HostTraits, MessageForm, PlannedPart, PlanningSet, Way, ring};
use crate::decision_table::{ANY_SIZE, Collective, CollectiveTraffic, UnmeasuredSet};
use inventory::{Bytes, Mpi, MpiRoutines};
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

    fn is_by_hosts(&self) -> bool {
        true
    }

    /// The ring is all that it needs.
    fn plan(&self, _: Way, set: &PlanningSet<'_>) -> Result<PlannedPart, ScheduleViolation> {
        Ok(PlannedPart::of(Vec::new()).with_digest(&set.ring().ring))
    }

    fn pays(&self, set: &UnmeasuredSet<'_>, collective: Collective) -> Option<(Range<Bytes>, Way)> {
        let used = set.used();
        let from = match collective.traffic() {
            CollectiveTraffic::Exchange => None,
            CollectiveTraffic::Gather => {
                let is_even = collective == Collective::Allgather;
                let sizes = is_even.then(|| sizes_of_leaders(set)).flatten()?;
                // Up to where one ring of all ranks pays, if they are not too many for that.
                let end = sizes.end.max(ring::smallest(set)?);
                let end = if set.traits().have_many_ranks {
                    ANY_SIZE
                } else {
                    end
                };
                return Some((sizes.start..end, Way::Relay));
            }
            CollectiveTraffic::Combine | CollectiveTraffic::Spread => {
                smallest_part(set).map(|part| Bytes(part.0 * used))
            }
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

/// The quantities of an allgather by leaders, from heddle's lab: 8 hosts of 4 and 8 ranks on two cores. A
/// step of a ring takes so long where hosts have several ranks.
const SHARED_STEP: Duration = Duration::from_micros(550);
/// What each rank adds while a library gathers the blocks of hosts, and spreads those of all: with 8 B a
/// call took 13 ms under Open MPI and 2.7 ms under MPICH among 32 ranks, 8 ms under MPICH among 64. Of an
/// unknown library the larger one.
const ON_HOST: Duration = Duration::from_micros(250);
const ON_HOST_OF_MPICH: Duration = Duration::from_micros(100);
/// Copying an octet to all ranks. Beside a ring of all ranks blocks of 512 B took 0.6 with 8 ranks a host
/// and 0.95 with 4, 2 kB 1.0 and 1.05.
const COPIED: Duration = Duration::from_nanos(130);
/// With 8 ranks a host 8 B took 1.2 of the library's time, 64 B 0.6. Fewer than 4 were not tried.
const LEAST_BY_LEADERS: Bytes = Bytes(64);
const LEAST_RANKS_A_HOST: u64 = 4;

/// The blocks with which an allgather goes along a ring of one rank a host: from the first size on that
/// saves more beside the library's routine than its steps cost, up to the one from which copying all blocks
/// on each host costs more than the steps of a ring of all ranks.
pub(super) fn sizes_of_leaders(set: &UnmeasuredSet<'_>) -> Option<Range<Bytes>> {
    let &UnmeasuredSet {
        hosts,
        host_of,
        delay,
        library,
        ..
    } = set;
    let bottleneck = set.allgather().filter(|_| set.shares_hosts())?;
    let used = set.used();
    let ranks = host_of.len() as u64;
    let longer = ring::doubling_seconds(hosts, host_of) - bottleneck.seconds(Bytes(1));
    let steps = |ranks: u64| SHARED_STEP.as_secs_f64() * ranks.saturating_sub(1) as f64;
    let of_rank = match library.and_then(MpiRoutines::measured) {
        Some(Mpi::Mpich) => ON_HOST_OF_MPICH,
        Some(Mpi::OpenMpi) | None => ON_HOST,
    };
    let on_host = of_rank.as_secs_f64() * ranks as f64;
    let cost = steps(used) + on_host + 2.0 * delay.as_secs_f64();
    let saved = steps(ranks) - steps(used) - on_host;
    let start = Bytes((cost / longer).ceil() as u64).max(LEAST_BY_LEADERS);
    let end = Bytes((saved / (COPIED.as_secs_f64() * ranks as f64)) as u64);
    let is_known = ranks >= LEAST_RANKS_A_HOST * used;
    (is_known && longer > 0.0 && start < end).then_some(start..end)
}

/// The smallest part, of as many as hosts have ranks, with which reductions and broadcasts along the ring pay:
/// it has to last as long as a block of an allgather. One rank a host is on the ring.
fn smallest_part(set: &UnmeasuredSet<'_>) -> Option<Bytes> {
    const MANY: Bytes = Bytes(1 << 20);
    let octet = bound::broadcast_seconds(set.hosts, &set.ranks, MANY) / MANY.0 as f64;
    if octet == 0.0 {
        return None;
    }
    let lasting = (ring::ALLGATHER.block + set.delay).as_secs_f64() / octet;
    let least = LEAST_RELAYED.0.div_ceil(set.used());
    Some(Bytes(least.max(lasting.ceil() as u64)))
}
