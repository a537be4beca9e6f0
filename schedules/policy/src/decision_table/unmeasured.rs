//! The ways of a process set on a network where nobody has measured.
//!
//! A schedule over TCP pays where the libraries' own routine overflows the queue of a switch port
//! and waits for retransmission timers, or where it sends the same block over a slow link again and
//! again. It costs some processor time a step. So it is taken from the size on from which the gain
//! is larger than the cost, for the links and the ranks of the process set. The figures are from
//! heddle's own emulated clusters: docs/figures.md.
mod credit;

use super::{Collective, DecisionEntry, DecisionGrounds, DecisionTable};
use crate::call_time::{AlltoallTime, smallest_overflowing_block};
use crate::ways::{DataCarrier, HostTraits, Way};
use credit::ShortBlocks;
use inventory::tree::NodeNumber;
use inventory::{Bytes, Mpi, MpiRoutines, Tree};
use schedules::aapc::in_runs;
use schedules::alltoall::AlltoallAlgorithm;
use schedules::bound::{self, BottleneckLoad, WIRE_PER_PAYLOAD};
use schedules::synchronization::SyncKind;
use schedules::synchronization::scheme::SyncScheme;
use schedules::window::OctetWindow;
use std::collections::HashMap;
use std::ops::Range;
use std::time::Duration;

/// A call that overflows the queue of a switch port, with steps that are long beside their cost.
struct OverflowingCall {
    /// Octets of the whole call over its bottleneck link.
    octets: Bytes,
    /// The time of one block on the slowest link.
    block: Duration,
    /// On fast links less is enough: a block of so many octets, if it lasts this long.
    on_fast_links: (Bytes, Duration),
}

/// A phase at 1 and 10 Gbit/s took 90 us beside its block: two ranks are woken, one by a token. Four
/// hosts gained from half of this on; more hosts could not be measured, so jobs learn the rest.
const ALLTOALL_ON_FAST_LINKS: (Bytes, Duration) = (Bytes(128 << 10), Duration::from_micros(1100));

const ALLTOALL: OverflowingCall = OverflowingCall {
    octets: Bytes(256 << 10),
    block: Duration::from_millis(5),
    on_fast_links: ALLTOALL_ON_FAST_LINKS,
};
/// Where so many pairs of hosts share a trunk, their blocks overflow its queue while each is short.
/// A lost segment of a short block comes again only when a timer runs out: too few segments follow it
/// for a fast retransmission (RFC 5681). Those go in a window. With tokens, blocks of 8 and 16 kB took
/// 0.79 to 1.35 of the library's time, so they begin above.
const MANY_PAIRS: u64 = 40;
const ALLTOALL_OF_MANY: OverflowingCall = OverflowingCall {
    octets: Bytes(192 << 10),
    block: Duration::from_millis(10),
    on_fast_links: ALLTOALL_ON_FAST_LINKS,
};
/// The same where one host after the other sends over that trunk ([`in_runs`]): few tokens are
/// needed, and blocks of 2 to 16 kB took 0.29 to 0.87 of the library's time among 24 hosts.
const ALLTOALL_IN_RUNS: OverflowingCall = OverflowingCall {
    octets: Bytes(0),
    block: Duration::from_micros(800),
    on_fast_links: ALLTOALL_ON_FAST_LINKS,
};
/// So far above the smallest block that overflows a queue, blocks pay that last less. Times of the
/// library's own routine at 25 Mbit/s, 16 hosts: chain 0.69 to 0.88 with 16 and 24 kB, 0.77 and 0.90
/// with 10 kB; star 1.03 and 1.07 with 16 kB, 0.79 and 0.95 with 24 kB.
const FAR_OVER: u64 = 5;
const ALLTOALL_FAR_OVER: OverflowingCall = OverflowingCall {
    octets: Bytes(0),
    block: Duration::from_millis(4),
    on_fast_links: ALLTOALL_ON_FAST_LINKS,
};
/// Blocks that wait for no tokens may be short.
const ALLTOALL_IN_A_WINDOW: OverflowingCall = OverflowingCall {
    octets: Bytes(0),
    block: Duration::from_micros(300),
    on_fast_links: (Bytes(0), Duration::from_micros(300)),
};
/// Where the library's own routine would go otherwise, blocks half as long again as those that all
/// queues hold go in a window, too: the windows of all ranks are seldom full at once. They took 0.84
/// to 0.99 of the library's time on stars of 16 and 24 hosts, and twice as long ones 1.03 to 1.09.
const HELD_MOSTLY: (u64, u64) = (3, 2);
/// Where many pairs of hosts share a trunk, tokens between blocks that are less than so many times as
/// long as those that all queues hold cost more than they save: on a star of 24 hosts 8 and 12 kB, 1.5
/// and 2.3 times, took 1.07 to 1.16 of the library's time, and 16 kB 0.76 to 0.78.
const TOKENS_PAY: (u64, u64) = (5, 2);
const ALLGATHER: OverflowingCall = OverflowingCall {
    octets: Bytes(80 << 10),
    block: Duration::from_micros(650),
    on_fast_links: (Bytes(32 << 10), Duration::from_micros(300)),
};
/// Smaller reductions and broadcasts are the library's own.
pub const LEAST_RELAYED: Bytes = Bytes(256 << 10);
/// Several rings replace one between slow trunks if a block has so many octets and lasts so long on
/// the slowest. Times of one ring, 12 hosts: 0.64 with blocks of 28 ms, 0.58 to 0.85 with longer ones,
/// 0.92 to 1.04 with 14 ms, and more on fast links, where the lab had no processor time left.
const IN_RINGS: (Bytes, Duration) = (Bytes(16 << 10), Duration::from_millis(27));
/// The time of a step of the ring beside that of its block.
const RING_STEP: Duration = Duration::from_micros(300);
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
/// A block has to last so many times as long as its token is on its way over a long cable.
const TOKENS: u32 = 10;
/// Where one host after the other sends over a long cable, each turn takes so many times the cable's
/// delay: 2.7 times 10 ms with 8 hosts on either side, whatever the block.
const TURN: u32 = 3;
/// The library's own routine, when it overflows the queue there, loses at least this to
/// retransmission timers: 0.23 to 0.48 s. Turns that take less pay with any such block.
const LOST_TO_TIMERS: Duration = Duration::from_millis(250);
/// Longer turns may take such a part of the time of the blocks.
const TURNS_SHARE: u32 = 4;

impl OverflowingCall {
    /// The smallest block of such a call, if it has to last longer by this time.
    fn smallest_block(&self, hosts: &Tree, bottleneck: BottleneckLoad, longer: Duration) -> Bytes {
        let BottleneckLoad { blocks, rate } = bottleneck;
        // Over a wide trunk several blocks go at once, each at the rate of its host's link.
        let one = BottleneckLoad {
            blocks: 1,
            rate: bound::slowest_host_link(hosts).map_or(rate, |slowest| slowest.min(rate)),
        };
        let (long, time) = self.on_fast_links;
        let fast = one.seconds(long).max(time.as_secs_f64());
        let block = self.block.as_secs_f64().min(fast) + longer.as_secs_f64();
        let lasting = block / one.seconds(Bytes(1));
        Bytes(self.octets.0.div_ceil(blocks).max(lasting.ceil() as u64))
    }
}

impl DecisionTable {
    /// The table for a process set whose rank `r` runs on host `host_of[r]` of a network on which
    /// nobody has measured, under a library, and whose cables delay a frame by `delay` together.
    pub fn unmeasured(
        hosts: &Tree,
        host_of: &[NodeNumber],
        delay: Duration,
        library: Option<MpiRoutines>,
    ) -> DecisionTable {
        let mut ranks = vec![0; hosts.hosts() as usize];
        host_of.iter().for_each(|&host| ranks[host as usize] += 1);
        let shares_hosts = ranks.iter().any(|&ranks| ranks > 1);
        let alltoall = if shares_hosts {
            AlltoallTime::of(hosts, host_of, delay, library).map(|time| fastest_ways(&time))
        } else {
            bound::alltoall_bottleneck(hosts, &ranks)
                .map(|bottleneck| ways_of_one_rank_a_host(hosts, host_of, bottleneck, delay))
        };
        let used = ranks.iter().filter(|&&ranks| ranks > 0).count() as u64;
        let around = bound::allgather_bottleneck(hosts, &ranks)
            .map(|bottleneck| ways_around(hosts, host_of, bottleneck, delay));
        let around = around.unwrap_or_default();
        let by_leaders = bound::allgather_bottleneck(hosts, &ranks)
            .filter(|_| shares_hosts)
            .and_then(|bottleneck| {
                let link = (bottleneck, delay);
                sizes_of_leaders(hosts, host_of, link, (used, library))
            });
        let allgather = entries(after_leaders(by_leaders, &around));
        let part = smallest_part(hosts, &ranks, used, delay);
        let whole = part.map(|part| Bytes(part.0 * used));
        // Where hosts have several ranks, a leader cannot keep the blocks of its host apart.
        let part = part.filter(|_| used == host_of.len() as u64);
        let relayed = |size: Option<Bytes>| entries(size.map(|size| (size, Way::Relay)));
        let alltoall = alltoall.unwrap_or_default();
        DecisionTable::default()
            .with_entries(Collective::Allreduce, relayed(whole))
            .with_entries(Collective::ReduceScatterBlock, relayed(part))
            .with_entries(Collective::Bcast, relayed(whole))
            .with_entries(Collective::Alltoall, entries(alltoall))
            .with_entries(Collective::Allgatherv, entries(around))
            .with_entries(Collective::Allgather, allgather)
    }

    /// The same for all hosts of a tree, under any library. A process set knows the delays of its cables,
    /// and computes these entries again.
    pub fn of_all_hosts(tree: &Tree) -> DecisionTable {
        let host_of: Vec<NodeNumber> = (0..tree.hosts())
            .flat_map(|host| std::iter::repeat_n(host, tree.ranks(host) as usize))
            .collect();
        DecisionTable::unmeasured(tree, &host_of, Duration::ZERO, None)
    }

    /// This table, reduced to one library by [`DecisionTable::for_mpi`], with other ways for the
    /// collectives that nobody tuned: a process set has links and ranks of its own, and what jobs on
    /// all hosts learned does not hold for it.
    #[must_use]
    pub fn with_unmeasured(mut self, unmeasured: DecisionTable) -> DecisionTable {
        for (entries, others) in self.entries.iter_mut().zip(unmeasured.entries) {
            let is_unmeasured = |entry: &DecisionEntry| match entry.grounds {
                DecisionGrounds::Elsewhere => entry.way != Way::Native,
                grounds => grounds == DecisionGrounds::Learned,
            };
            if entries.iter().any(is_unmeasured) {
                *entries = others;
            }
        }
        self
    }
}

/// The ways of an all-to-all by their times, each with the smallest block from which on it is the
/// fastest, to an eighth.
fn fastest_ways(time: &AlltoallTime) -> Vec<(Bytes, Way)> {
    let sizes = (3..27).flat_map(|power| (8..16).map(move |eighths| eighths << power >> 3));
    let mut ways: Vec<(Bytes, Way)> = Vec::new();
    for block in sizes.map(Bytes) {
        let way = time.fastest(block, |_| true);
        if ways.last().map_or(Way::Native, |(_, last)| *last) != way {
            ways.push((block, way));
        }
    }
    ways
}

/// The ways of an allgather along rings, each with the smallest block with which it pays: one ring,
/// and several where slow trunks make that faster, a rank each.
fn ways_around(
    hosts: &Tree,
    host_of: &[NodeNumber],
    bottleneck: BottleneckLoad,
    delay: Duration,
) -> Vec<(Bytes, Way)> {
    let over = DataCarrier::Tcp;
    let one = smallest_of_ring(hosts, host_of, bottleneck, delay);
    let around = (one, Way::Ring { over });
    if !HostTraits::of(hosts, host_of).have_slow_trunks {
        return vec![around];
    }
    let (least, lasting) = IN_RINGS;
    let rate = bottleneck.rate;
    let octet = BottleneckLoad { blocks: 1, rate }.seconds(Bytes(1));
    let lasting = (lasting + TOKENS * delay).as_secs_f64() / octet;
    let several = least.max(Bytes(lasting.ceil() as u64));
    let around = Some(around).filter(|_| one < several);
    let several = (one.max(several), Way::Rings);
    around.into_iter().chain([several]).collect()
}

/// The blocks with which an allgather goes along a ring of one rank a host: from the first size on that
/// saves more beside the library's routine than its steps cost, up to the one from which copying all blocks
/// on each host costs more than the steps of a ring of all ranks.
fn sizes_of_leaders(
    hosts: &Tree,
    host_of: &[NodeNumber],
    (bottleneck, delay): (BottleneckLoad, Duration),
    (used, library): (u64, Option<MpiRoutines>),
) -> Option<Range<Bytes>> {
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

/// These sizes by leaders, and the others as without them.
fn after_leaders(sizes: Option<Range<Bytes>>, around: &[(Bytes, Way)]) -> Vec<(Bytes, Way)> {
    let Some(sizes) = sizes else {
        return around.to_vec();
    };
    let after = around.iter().map(|&(from, way)| (from.max(sizes.end), way));
    std::iter::once((sizes.start, Way::Relay))
        .chain(after)
        .collect()
}

/// The library's own routine, and other ways from these sizes on.
fn entries(ways: impl IntoIterator<Item = (Bytes, Way)>) -> Vec<DecisionEntry> {
    let native = [(Bytes(0), Way::Native)].into_iter();
    native
        .chain(ways)
        .map(|(from, way)| DecisionEntry {
            from,
            way,
            mpi: None,
            grounds: DecisionGrounds::Elsewhere,
        })
        .collect()
}

/// The ways of an all-to-all where each host has one rank, each with the smallest block that goes it.
fn ways_of_one_rank_a_host(
    hosts: &Tree,
    host_of: &[NodeNumber],
    bottleneck: BottleneckLoad,
    delay: Duration,
) -> Vec<(Bytes, Way)> {
    let overflowing = smallest_overflowing_block(hosts, host_of);
    let ways = ways_of_phases(hosts, host_of, bottleneck, (delay, overflowing));
    let short = overflowing.and_then(|first| ShortBlocks::of(hosts, first, delay));
    match short {
        Some(short) => short.in_place_of_native(&ways),
        None => ways,
    }
}

/// The ways of an all-to-all by phases, each with the smallest block with which it pays. Where the
/// library overflows a queue, that is a window, as long as queues mostly hold it; then tokens.
fn ways_of_phases(
    hosts: &Tree,
    host_of: &[NodeNumber],
    bottleneck: BottleneckLoad,
    (delay, overflowing): (Duration, Option<Bytes>),
) -> Vec<(Bytes, Way)> {
    let way = |sync| Way::Aapc {
        sync,
        over: DataCarrier::Tcp,
    };
    let receiver = way(SyncKind::Receiver.into());
    if let Some(overflowing) = overflowing.filter(|_| goes_in_runs(hosts, host_of)) {
        let longer = longer_for_turns(hosts, bottleneck, delay);
        let lasting = ALLTOALL_IN_RUNS.smallest_block(hosts, bottleneck, longer);
        return vec![(overflowing.max(lasting), receiver)];
    }
    let largest = OctetWindow::of(hosts, host_of).largest_block;
    let tokens = smallest_of_phases(hosts, bottleneck, delay, (overflowing, largest));
    let lasting = ALLTOALL_IN_A_WINDOW.smallest_block(hosts, bottleneck, TOKENS * delay);
    let first = overflowing.map(|block| block.max(lasting));
    let held = largest.0 + 1;
    let (longer, by) = HELD_MOSTLY;
    let tokens = tokens.max(Bytes(held));
    let end = Bytes(held * longer / by).min(tokens);
    let Some(first) = first.filter(|first| *first < end) else {
        return vec![(tokens, receiver)];
    };
    let between = (end < tokens).then_some((end, Way::Native));
    [(first, way(SyncScheme::WINDOW))]
        .into_iter()
        .chain(between)
        .chain([(tokens, receiver)])
        .collect()
}

/// True if one host after the other sends over a trunk that many pairs of hosts share, a rank each.
fn goes_in_runs(hosts: &Tree, host_of: &[NodeNumber]) -> bool {
    host_of.len() == hosts.hosts() as usize
        && is_shared_by_many(hosts)
        && AlltoallAlgorithm::faster_for(hosts) == AlltoallAlgorithm::Aapc
        && in_runs::phases(hosts).is_some()
}

/// By how much a block has to last longer because of the turns of hosts over long cables.
fn longer_for_turns(hosts: &Tree, bottleneck: BottleneckLoad, delay: Duration) -> Duration {
    // With a and b hosts at the trunk's ends, a + b is the number of hosts, and a b that of blocks.
    let (n, blocks) = (f64::from(hosts.hosts()), bottleneck.blocks as f64);
    let at_one_end = f64::midpoint(n, (n * n - 4.0 * blocks).max(0.0).sqrt());
    let turns = (TURN * delay).mul_f64(at_one_end);
    if turns <= LOST_TO_TIMERS {
        Duration::ZERO
    } else {
        (TURNS_SHARE * turns).div_f64(blocks)
    }
}

/// True if some trunk carries the blocks of many pairs of hosts.
fn is_shared_by_many(hosts: &Tree) -> bool {
    let n = hosts.hosts();
    let pairs =
        bound::alltoall_bottleneck(hosts, &vec![1; n as usize]).map_or(0, |link| link.blocks);
    // A host's own link has one less than there are hosts.
    pairs >= MANY_PAIRS.max(u64::from(n))
}

/// The smallest block with which the phases of an all-to-all pay, with tokens between them, where
/// blocks overflow a queue from the first of two sizes on, and all queues hold those up to the second.
fn smallest_of_phases(
    hosts: &Tree,
    bottleneck: BottleneckLoad,
    delay: Duration,
    (overflowing, held): (Option<Bytes>, Bytes),
) -> Bytes {
    let smallest = |call: OverflowingCall| call.smallest_block(hosts, bottleneck, TOKENS * delay);
    if is_shared_by_many(hosts) {
        // A trunk that is hardly slower than what comes to it holds larger blocks.
        let usual = smallest(ALLTOALL_OF_MANY).max(overflowing.unwrap_or_default());
        let tokens = overflowing.map_or(usual, |block| {
            let far = Bytes(block.0.saturating_mul(FAR_OVER));
            smallest(ALLTOALL_FAR_OVER).max(far).min(usual)
        });
        let (times, by) = TOKENS_PAY;
        tokens.max(Bytes(held.0 * times / by))
    } else {
        smallest(ALLTOALL)
    }
}

/// The smallest part, of as many as hosts are `used`, with which reductions and broadcasts along the ring pay:
/// it has to last as long as a block of an allgather. One rank a host is on the ring.
fn smallest_part(hosts: &Tree, ranks: &[u32], used: u64, delay: Duration) -> Option<Bytes> {
    const MANY: Bytes = Bytes(1 << 20);
    let octet = bound::broadcast_seconds(hosts, ranks, MANY) / MANY.0 as f64;
    if octet == 0.0 {
        return None;
    }
    let lasting = (ALLGATHER.block + delay).as_secs_f64() / octet;
    let least = LEAST_RELAYED.0.div_ceil(used);
    Some(Bytes(least.max(lasting.ceil() as u64)))
}

/// The smallest block with which the ring pays: the libraries' own routine overflows a queue, or it
/// doubles blocks over links on which that takes longer than all steps of the ring cost.
fn smallest_of_ring(
    hosts: &Tree,
    host_of: &[NodeNumber],
    bottleneck: BottleneckLoad,
    delay: Duration,
) -> Bytes {
    let overflows = ALLGATHER.smallest_block(hosts, bottleneck, delay);
    let longer = doubling_seconds(hosts, host_of) - bottleneck.seconds(Bytes(1));
    let cost = RING_STEP.as_secs_f64() * (host_of.len() - 1) as f64;
    // Blocks go over the cable there and back.
    let cost = cost + 2.0 * delay.as_secs_f64();
    if longer > 0.0 {
        overflows.min(Bytes((cost / longer).ceil() as u64))
    } else {
        overflows
    }
}

/// The least seconds, for each octet of a block, of the allgather in which what a rank sends
/// doubles from step to step, as both libraries have it for small blocks: recursive doubling where
/// the ranks are a power of two, else Bruck's. (Thakur, Rabenseifner, Gropp 2005, section 4.1.)
fn doubling_seconds(hosts: &Tree, host_of: &[NodeNumber]) -> f64 {
    let n = host_of.len();
    let distances = std::iter::successors(Some(1), |k| Some(2 * k)).take_while(|&k| k < n);
    let step = |distance: usize| {
        let mut senders: HashMap<_, u64> = HashMap::new();
        for (rank, &host) in host_of.iter().enumerate() {
            let to = if n.is_power_of_two() {
                rank ^ distance
            } else {
                (rank + n - distance) % n
            };
            hosts.path(host, host_of[to], |edge| {
                *senders.entry(edge).or_default() += 1;
            });
        }
        let octets = distance.min(n - distance) as f64 * 8.0 * WIRE_PER_PAYLOAD;
        let slowest = senders
            .iter()
            .map(|(edge, senders)| *senders as f64 / hosts.rate(edge / 2).0.max(1) as f64)
            .fold(0.0, f64::max);
        slowest * octets
    };
    distances.map(step).sum()
}

#[cfg(test)]
mod tests;
