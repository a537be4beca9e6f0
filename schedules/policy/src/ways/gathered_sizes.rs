//! The blocks with which allgathers go along a ring, before anybody has measured: of all ranks, and of one
//! rank a host.
use crate::call_time::{self, COPIED_TO_ALL, RING_STEP, SHARED_STEP};
use crate::decision_table::{Collective, OverflowingCall, UnmeasuredSet};
use crate::library_routine::LibraryRoutine;
use inventory::{Bytes, Mpi, MpiRoutines};
use std::ops::Range;
use std::time::Duration;

pub(super) const ALLGATHER: OverflowingCall = OverflowingCall {
    octets: Bytes(80 << 10),
    block: Duration::from_micros(650),
    on_fast_links: (Bytes(32 << 10), Duration::from_micros(300)),
};

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
    let longer = set.doubling_seconds() - bottleneck.seconds(Bytes(1));
    let cost = RING_STEP.as_secs_f64() * (host_of.len() - 1) as f64;
    // Blocks go over the cable there and back.
    let cost = cost + 2.0 * delay.as_secs_f64();
    Some(if longer > 0.0 {
        overflows.min(Bytes((cost / longer).ceil() as u64))
    } else {
        overflows
    })
}

/// With 8 ranks a host 8 B took 1.2 of the library's time, 64 B 0.6. Fewer than 4 were not tried.
const LEAST_BY_LEADERS: Bytes = Bytes(64);
const LEAST_RANKS_A_HOST: u64 = 4;

/// The blocks with which an allgather goes along a ring of one rank a host: from the first size on that
/// saves more beside the library's routine than its steps cost, up to the one from which copying all blocks
/// on each host costs more than the steps of a ring of all ranks.
pub(super) fn by_leaders(set: &UnmeasuredSet<'_>, collective: Collective) -> Option<Range<Bytes>> {
    let &UnmeasuredSet {
        host_of,
        delay,
        library,
        ..
    } = set;
    let bottleneck = set.allgather().filter(|_| set.shares_hosts())?;
    let used = set.used();
    let ranks = host_of.len() as u64;
    let longer = set.doubling_seconds() - bottleneck.seconds(Bytes(1));
    let steps = |ranks: u64| SHARED_STEP.as_secs_f64() * ranks.saturating_sub(1) as f64;
    let library = library.and_then(MpiRoutines::measured);
    let of_rank = call_time::work_on_hosts(library);
    let on_host = of_rank.as_secs_f64() * ranks as f64;
    let cost = steps(used) + on_host + 2.0 * delay.as_secs_f64();
    let saved = steps(ranks) - steps(used) - on_host;
    let doubled = library.map_or(LEAST_BY_LEADERS, |mpi| {
        smallest_doubled(mpi, collective, ranks as u32)
    });
    let start = Bytes((cost / longer).ceil() as u64)
        .max(LEAST_BY_LEADERS)
        .max(doubled);
    let end = Bytes((saved / (COPIED_TO_ALL.as_secs_f64() * ranks as f64)) as u64);
    let is_known = ranks >= LEAST_RANKS_A_HOST * used;
    (is_known && longer > 0.0 && start < end).then_some(start..end)
}

/// The smallest block, a power of two, that a library does not gather at one rank, from which it spreads all: with 64 B
/// that took 64 ranks under Open MPI 15 ms, and leaders 21.
fn smallest_doubled(mpi: Mpi, collective: Collective, ranks: u32) -> Bytes {
    let routine = |block| LibraryRoutine::chosen(mpi, collective, ranks, Bytes(block));
    let mut sizes = (0..u64::BITS).map(|power| 1 << power);
    let found = sizes.find(|&block| routine(block) != LibraryRoutine::Linear);
    found.map_or(Bytes(u64::MAX), Bytes)
}
