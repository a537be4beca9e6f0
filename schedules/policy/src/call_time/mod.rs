//! The time of an all-to-all by each way, the library's own routine included, before anybody has
//! measured.
//!
//! Source: the payload bound ([`schedules::bound`]); the routines of the libraries (Thakur,
//! Rabenseifner, Gropp 2005, section 4.4), and which of them each library takes
//! ([`crate::library_routine::LibraryRoutine::chosen`]; of an unknown library the faster one); the rest are the quantities below.
//! Input: the tree of the hosts, the host of each rank, the delay of the cables, the library. Guarantee:
//! every rank comes to the same nanosecond: times are counted in integers. Cost: O(nodes + hosts^2 + ranks log
//! ranks). Deviations: another job's part of a link is not counted.
//!
//! | quantity | value | source |
//! |---|---|---|
//! | [`FRAME`] | 90 octets | preamble, headers and gap of a frame: IEEE 802.3 clause 4, RFC 7323 |
//! | [`SEGMENT`] | 1,448 octets | payload of a full frame: the same |
//! | [`HEADER`] | 40 octets | before a message, by a library or by heddle |
//! | [`SHORT`], [`LONG`] | 256, 1,024 octets | blocks that both libraries pass on, and that none does: the same rules |
//! | [`Tree::queue`] | 128 KiB unless stated | the queue of a port: the inventory |
//! | [`MEET`] | an eighth | of the octets for a host, those that come while others do, in heddle's lab |
//! | [`Forwarding`] | octets of a frame and a token, again on each further link | store and forward: IEEE 802.1Q clause 8.6 |
//! | [`FIRST`] | 28,960 octets | what a connection sends in two round trips: RFC 6928 |
//! | [`TIMER`] | 200 ms | the least retransmission timer of Linux (`TCP_RTO_MIN`) |
//! | [`WAKE`] | 45 us | a process is woken by a message (docs/figures.md) |
//! | [`MESSAGE`] | 10 us | processor time of a message, at both of its ends |
//! | [`COPIED`] | 1 GB/s | what a core copies in memory; ranks have a core each |
//! | [`MEMORY`] | 10 GB/s | what all cores of a host copy together: two channels of 21 GB/s (JESD79-4), read and written |
mod forwarding;
mod gather;
mod overflow;

use forwarding::Forwarding;
pub use gather::GatherTime;
pub(crate) use gather::{COPIED_TO_ALL, RING_STEP, SHARED_STEP, doubling, work_on_hosts};
pub(crate) use overflow::{
    DEVIATIONS, may_meet_on_a_cable, smallest_halved, smallest_overflowing_block,
};

use crate::ways::{MOST_RANKS_BY_PAIRS, WAYS, Way};
use inventory::tree::{NodeNumber, Tree};
use inventory::{BitsPerSec, Bytes, Mpi, MpiRoutines};
use schedules::synchronization::credit::{LaneCredit, ROUND_TRIP};
use schedules::window::OctetWindow;
use schedules::{alltoall, bound};
use std::time::Duration;

const FRAME: u64 = 90;
const SEGMENT: u64 = 1448;
pub(crate) const HEADER: u64 = 40;
pub(crate) const SHORT: Bytes = Bytes(256);
pub(crate) const LONG: Bytes = Bytes(1024);
pub(crate) const MEET: u64 = 8;
pub(crate) const FIRST: u64 = 2 * 10 * SEGMENT;
pub(crate) const TIMER: u64 = 200_000_000;
pub(crate) const WAKE: u64 = 45_000;
pub(crate) const MESSAGE: u64 = 10_000;
pub(crate) const COPIED: BitsPerSec = BitsPerSec(8_000_000_000);
pub(crate) const MEMORY: BitsPerSec = BitsPerSec(80_000_000_000);
/// Nobody knows whether a queue overflows. Where none does, a way may take so many times the library's
/// time,
const REGRETTED: (u64, u64) = (3, 2);
/// or such a part of its time where one does.
const WORTH_REGRET: (u64, u64) = (1, 10);
/// Nanoseconds of a call of which a program notices a single one.
const NOTICED: u64 = 1_000_000_000;
/// Another way is taken if it takes less than this part of the library's time: the error of the model.
const CLEARLY: (u64, u64) = (9, 10);

/// Octets on the wire of a message.
pub(crate) fn wire(octets: u64) -> u64 {
    let whole = octets.saturating_add(HEADER);
    whole.saturating_add(FRAME.saturating_mul(whole.div_ceil(SEGMENT)))
}

/// So many halves, quarters or others of a number.
pub(crate) fn times(number: u64, (part, of): (u64, u64)) -> u64 {
    let product = u128::from(number) * u128::from(part) / u128::from(of);
    product.try_into().unwrap_or(u64::MAX)
}

/// The nanoseconds of so many octets at a rate.
pub(crate) fn lasting(octets: u64, rate: BitsPerSec) -> u64 {
    let bits = u128::from(octets) * 8 * 1_000_000_000;
    (bits / u128::from(rate.0.max(1)))
        .try_into()
        .unwrap_or(u64::MAX)
}

/// The load that an all-to-all of a process set puts on the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlltoallTime {
    /// By link and direction: blocks, messages between hosts, and the rate.
    pub(crate) links: Vec<LinkTraffic>,
    /// By step of the routine in which blocks are passed on (Bruck's): the blocks in a message, and the
    /// messages over the link that needs longest.
    pub(crate) rounds: Vec<RelayedRound>,
    /// The smallest block that overflows the queue of a port if all ranks send all blocks at once.
    pub(crate) overflowing: Option<Bytes>,
    /// The octets that the queue of a port holds.
    pub(crate) queue: Bytes,
    /// The largest block that all queues hold in a window.
    pub(crate) held: Bytes,
    /// The octets that may be under way on each lane where receivers give tokens ahead; `None` where nobody knows what
    /// queues hold then.
    pub(crate) credit: Option<LaneCredit>,
    /// Steps of the phases, one after the other.
    pub(crate) phases: u64,
    /// The same if one message goes for each pair of hosts; `None` where that is not planned.
    pub(crate) host_phases: Option<u64>,
    pub(crate) ranks: u64,
    /// The library, if its routines are known.
    pub(crate) library: Option<Mpi>,
    /// Messages that a rank sends and receives, if one goes for each pair of hosts.
    pub(crate) bundles: u64,
    /// Blocks that the ranks of one host send and receive.
    pub(crate) of_host: u64,
    /// Those of one of its ranks.
    pub(crate) of_rank: u64,
    /// Nanoseconds in which a frame crosses all cables.
    pub(crate) delay: u64,
    forwarding: Forwarding,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LinkTraffic {
    pub(crate) blocks: u64,
    pub(crate) host_pairs: u64,
    rate: BitsPerSec,
    pub(crate) is_of_host: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RelayedRound {
    pub(crate) blocks: u64,
    pub(crate) messages: u64,
    pub(crate) rate: BitsPerSec,
}

impl AlltoallTime {
    /// The way that takes the least time; the library's own routine where no other one is clearly
    /// faster, or where one loses too much if no queue overflows.
    pub fn fastest(&self, block: Bytes, can: impl Fn(Way) -> bool) -> Way {
        let others = self
            .timed(block)
            .filter(|&(way, _)| way != Way::Native && can(way));
        let native = self.native(block);
        let regretted = times(self.without_loss(block), REGRETTED).max(times(native, WORTH_REGRET));
        let most = times(native, CLEARLY).min(regretted);
        let best = others.min_by_key(|(_, time)| *time);
        best.filter(|(_, time)| *time < most)
            .map_or(Way::Native, |(way, _)| way)
    }

    /// Of a process set whose rank `r` runs on host `host_of[r]` under a library, and whose cables delay a
    /// frame by `delay` together; `None` where nothing crosses a cable.
    pub fn of(
        hosts: &Tree,
        host_of: &[NodeNumber],
        delay: Duration,
        library: Option<MpiRoutines>,
    ) -> Option<AlltoallTime> {
        let ranks = ranks_of_hosts(hosts, host_of);
        let used: Vec<u32> = ranks.iter().map(|&ranks| ranks.min(1)).collect();
        let links = links(hosts, &ranks, &used);
        let slowest = bound::slowest_host_link(hosts)?;
        // As many messages go over a wide trunk at once as it is times as fast as a host's link.
        let phases = |messages: fn(&LinkTraffic) -> u64| {
            let steps = links.iter().map(|link| {
                let at_once = u128::from(messages(link)) * u128::from(slowest.0);
                at_once.div_ceil(u128::from(link.rate.0.max(1))) as u64
            });
            steps.max()
        };
        let (phases, host_phases) = (phases(|link| link.blocks)?, phases(|link| link.host_pairs));
        // With one rank a host, messages of many hosts mix.
        let shares_hosts = ranks.iter().any(|&ranks| ranks > 1);
        let overflowing = [
            smallest_overflowing_block(hosts, host_of),
            shares_hosts
                .then(|| overflow::smallest_block_in_order(hosts, host_of))
                .flatten(),
        ];
        let most = u64::from(ranks.iter().copied().max()?);
        let all = host_of.len() as u64;
        let other_hosts = (used.iter().sum::<u32>() - 1).into();
        Some(AlltoallTime {
            rounds: rounds(hosts, host_of),
            overflowing: overflowing.into_iter().flatten().min(),
            queue: hosts.queue(),
            held: OctetWindow::of(hosts, host_of).largest_block,
            credit: lane_credit(hosts, host_of.len()).filter(|_| 2 * delay <= ROUND_TRIP),
            phases,
            host_phases: host_phases.filter(|_| hosts.hosts() as usize <= MOST_RANKS_BY_PAIRS),
            ranks: all,
            library: library.and_then(MpiRoutines::measured),
            // Blocks are collected from the ranks of the host and spread among them; a rank leads its share of the
            // messages to and from other hosts.
            bundles: 2 * (most - 1) + 2 * u64::div_ceil(other_hosts, most),
            of_host: most * (all - most.min(all)),
            of_rank: all - most.min(all),
            delay: delay.as_nanos().try_into().unwrap_or(u64::MAX),
            forwarding: Forwarding::among(hosts, &used),
            links,
        })
    }

    /// The nanoseconds of a call with such blocks; `None` for a way of which the model knows nothing.
    pub fn nanoseconds(&self, way: Way, block: Bytes) -> Option<u64> {
        way.row().nanoseconds(self, way, block)
    }

    /// Each way of which it knows the time over TCP, or over MPI where there is no other, with that time; the
    /// simplest first.
    pub fn timed(&self, block: Bytes) -> impl Iterator<Item = (Way, u64)> {
        let ways = WAYS.iter().map(move |row| row.timed(self, block));
        ways.filter_map(move |way| Some((way, self.nanoseconds(way, block)?)))
    }

    /// True if a program notices a single call of the library's own routine: it takes over a second.
    pub fn is_long(&self, block: Bytes) -> bool {
        self.native(block) >= NOTICED
    }

    /// True if not even one call should go the library's way: it is long, and takes twice as long as this
    /// one.
    pub fn is_dear(&self, way: Way, block: Bytes) -> bool {
        let other = self.nanoseconds(way, block);
        self.is_long(block) && other.is_some_and(|other| self.native(block) / 2 >= other)
    }

    /// The rate of the slowest host's link.
    pub(crate) fn slowest_host(&self) -> BitsPerSec {
        let of_hosts = self.links.iter().filter(|link| link.is_of_host);
        of_hosts.map(|link| link.rate).min().unwrap_or_default()
    }

    /// The time from a message of so many octets to the next one of its link that waits for its token: two processes are
    /// woken, and the token goes there and back over a long cable.
    pub(crate) fn token(&self, octets: u64) -> u64 {
        let forwarded = self.forwarding.last_frame_and_token(octets);
        (2 * WAKE)
            .saturating_add(2 * self.delay)
            .saturating_add(forwarded)
    }

    /// The time of the link that needs longest for what it carries.
    pub(crate) fn longest(&self, octets: impl Fn(&LinkTraffic) -> u64) -> u64 {
        let each = self.links.iter();
        each.map(|link| lasting(octets(link), link.rate))
            .max()
            .unwrap_or(0)
    }
}

/// The credit of the schedules of so many ranks, of which there are none for too many. Where a hash chooses among
/// cables, nobody knows how many of their messages meet on one.
fn lane_credit(hosts: &Tree, ranks: usize) -> Option<LaneCredit> {
    let has_hash = (0..hosts.nodes())
        .flat_map(|node| hosts.member_cables(node))
        .any(|cable| cable.parts.get() > 1);
    (ranks <= MOST_RANKS_BY_PAIRS && !has_hash).then(|| credit_of_ranks(hosts, ranks))
}

/// More ranks have no plans by parts of blocks, each of which is a message of the plan.
const MOST_RANKS_BY_PARTS: usize = 256;

/// The credit of so many ranks on these hosts. Parts of blocks were tried with one rank a host only.
pub(crate) fn credit_of_ranks(hosts: &Tree, ranks: usize) -> LaneCredit {
    let credit = alltoall::lane_credit(hosts);
    if ranks <= MOST_RANKS_BY_PARTS.min(hosts.hosts() as usize) {
        credit
    } else {
        credit.of_whole_blocks()
    }
}

/// The links that carry blocks, each kind of load once.
fn links(hosts: &Tree, ranks: &[u32], used: &[u32]) -> Vec<LinkTraffic> {
    let blocks = bound::edge_loads(hosts, ranks, bound::exchange_blocks);
    let host_pairs = bound::edge_loads(hosts, used, bound::exchange_blocks);
    // An edge has blocks if it has pairs of hosts.
    let both = blocks.into_iter().zip(host_pairs);
    let mut links: Vec<LinkTraffic> = both
        .map(|((edge, blocks), (_, pairs))| LinkTraffic {
            blocks: blocks.blocks,
            host_pairs: pairs.blocks,
            rate: blocks.rate,
            is_of_host: hosts.is_host(edge / 2),
        })
        .collect();
    links.sort_unstable();
    links.dedup();
    links
}

/// The rounds in which blocks go over distances of 1, 2, 4, … ranks: a block for the rank so far away goes the powers of
/// two of which that number is the sum (Bruck et al. 1997).
fn rounds(hosts: &Tree, host_of: &[NodeNumber]) -> Vec<RelayedRound> {
    let n = host_of.len();
    let rounds = distances(n).filter_map(|distance| {
        let blocks = (1..n).filter(|way| way & distance != 0).count() as u64;
        RelayedRound::new(hosts, host_of, blocks, |rank| (rank + distance) % n)
    });
    rounds.collect()
}

/// By host, its ranks.
pub(crate) fn ranks_of_hosts(hosts: &Tree, host_of: &[NodeNumber]) -> Vec<u32> {
    let mut ranks = vec![0; hosts.hosts() as usize];
    host_of.iter().for_each(|&host| ranks[host as usize] += 1);
    ranks
}

/// 1, 2, 4, … below this number.
fn distances(n: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(1), |k| Some(2 * k)).take_while(move |&k| k < n)
}

impl RelayedRound {
    /// Each rank sends a message of so many blocks to another; `None` where none crosses a cable.
    fn new(
        hosts: &Tree,
        host_of: &[NodeNumber],
        blocks: u64,
        to: impl Fn(usize) -> usize,
    ) -> Option<RelayedRound> {
        let mut messages = vec![0u64; hosts.edges() as usize];
        for (rank, &host) in host_of.iter().enumerate() {
            hosts.path(host, host_of[to(rank)], |edge| messages[edge as usize] += 1);
        }
        let used = (0..messages.len()).filter(|&edge| messages[edge] > 0);
        // Slower: more messages for each bit a second.
        let (messages, rate) = used
            .map(|edge| (messages[edge], hosts.rate(edge as u32 / 2)))
            .max_by(|a, b| {
                let [a, b] =
                    [(a.0, b.1), (b.0, a.1)].map(|(m, rate)| u128::from(m) * u128::from(rate.0));
                a.cmp(&b)
            })?;
        Some(RelayedRound {
            blocks,
            messages,
            rate,
        })
    }
}

#[cfg(test)]
mod tests;
