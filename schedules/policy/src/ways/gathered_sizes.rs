//! The blocks with which allgathers go along a ring, before anybody has measured: of all ranks, and of one
//! rank a host.
use crate::decision_table::{OverflowingCall, UnmeasuredSet};
use inventory::tree::{EdgeNumber, NodeNumber, Tree};
use inventory::{Bytes, Mpi, MpiRoutines};
use schedules::bound::WIRE_PER_PAYLOAD;
use std::ops::Range;
use std::time::Duration;

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
fn doubling_seconds(hosts: &Tree, host_of: &[NodeNumber]) -> f64 {
    let n = host_of.len();
    let distances = std::iter::successors(Some(1), |k| Some(2 * k)).take_while(|&k| k < n);
    let steps = distances.map(|distance| {
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
    });
    steps.sum()
}

/// The quantities of an allgather by leaders, from heddle's lab: 8 hosts of 4 and 8 ranks on two cores. A
/// step of a ring takes so long where hosts have several ranks.
const SHARED_STEP: Duration = Duration::from_micros(550);
/// The time that each rank adds while a library gathers the blocks of hosts, and spreads those of all: with 8 B a
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
pub(super) fn by_leaders(set: &UnmeasuredSet<'_>) -> Option<Range<Bytes>> {
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
    let longer = doubling_seconds(hosts, host_of) - bottleneck.seconds(Bytes(1));
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
