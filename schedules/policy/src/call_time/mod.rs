//! The time of an all-to-all by each way, the library's own routine included, before anybody has
//! measured.
//!
//! Source: the payload bound ([`schedules::bound`]); the routines of the libraries (Thakur,
//! Rabenseifner, Gropp 2005, section 4.4), and which of them each library takes
//! ([`LibraryRoutine::chosen`]; of an unknown library the faster one); the rest are the quantities below.
//! Input: the tree of the hosts, the host of each rank, the delay of the cables, the library. Guarantee:
//! every rank comes to the same nanosecond, because all is counted in integers. Cost: O(nodes + ranks log
//! ranks). Deviations: another job's part of a link is not counted.
//!
//! | quantity | value | source |
//! |---|---|---|
//! | [`FRAME`] | 90 octets | preamble, headers and gap of a frame: IEEE 802.3 clause 4, RFC 7323 |
//! | [`SEGMENT`] | 1,448 octets | payload of a full frame: the same |
//! | [`HEADER`] | 40 octets | before a message, by a library or by heddle |
//! | [`SHORT`], [`LONG`] | 256, 1,024 octets | blocks that both libraries pass on, and that none does: the same rules |
//! | [`QUEUE`] | 128 KiB | the queue of a port: heddle's lab, and many small switches |
//! | [`MEET`] | an eighth | of the octets for a host, those that come while others do, in heddle's lab |
//! | [`FIRST`] | 28,960 octets | what a connection sends in two round trips: RFC 6928 |
//! | [`TIMER`] | 200 ms | the least retransmission timer of Linux (`TCP_RTO_MIN`) |
//! | [`WAKE`] | 45 us | a process is woken by a message (docs/figures.md) |
//! | [`MESSAGE`] | 10 us | processor time of a message, at both of its ends |
//! | [`COPIED`] | 1 GB/s | what a core copies in memory |
mod overflow;

pub(crate) use overflow::smallest_overflowing_block;

use crate::decision_table::{Collective, DataCarrier, Way};
use crate::library_routine::LibraryRoutine;
use inventory::tree::{NodeNumber, Tree};
use inventory::{BitsPerSec, Bytes, Mpi, MpiRoutines};
use schedules::bound;
use schedules::synchronization::SyncKind;
use schedules::synchronization::scheme::SyncScheme;
use schedules::window::OctetWindow;
use std::time::Duration;

const FRAME: u64 = 90;
const SEGMENT: u64 = 1448;
const HEADER: u64 = 40;
const QUEUE: Bytes = Bytes(128 << 10);
const SHORT: Bytes = Bytes(256);
const LONG: Bytes = Bytes(1024);
const MEET: u64 = 8;
const FIRST: u64 = 2 * 10 * SEGMENT;
const TIMER: u64 = 200_000_000;
const WAKE: u64 = 45_000;
const MESSAGE: u64 = 10_000;
const COPIED: BitsPerSec = BitsPerSec(8_000_000_000);
/// A port whose senders wait for timers is idle: so many times as long takes what goes over it. In
/// heddle's lab 2.2 to 5.3, with two libraries.
const LOSSY: (u64, u64) = (5, 2);
/// Bundles are few, and do not take turns: so many times as long takes the link of a host that is the
/// slowest one, and a trunk that many share.
const UNORDERED: (u64, u64) = (3, 2);
const UNORDERED_OVER_TRUNKS: (u64, u64) = (5, 4);
/// Nobody knows whether a queue overflows. Where none does, a way may take so many times the library's
/// time.
const REGRETTED: (u64, u64) = (3, 2);
/// Nanoseconds of a call of which a program notices a single one.
const NOTICED: u64 = 1_000_000_000;
/// Another way is taken if it takes less than this part of the library's time: the error of the model.
const CLEARLY: (u64, u64) = (9, 10);

/// The phases over TCP.
pub(crate) fn phases(sync: impl Into<SyncScheme>) -> Way {
    Way::Aapc {
        sync: sync.into(),
        over: DataCarrier::Tcp,
    }
}

/// Octets on the wire of a message.
fn wire(octets: u64) -> u64 {
    let whole = octets.saturating_add(HEADER);
    whole.saturating_add(FRAME.saturating_mul(whole.div_ceil(SEGMENT)))
}

/// So many halves, quarters or others of a number.
fn times(number: u64, (part, of): (u64, u64)) -> u64 {
    let product = u128::from(number) * u128::from(part) / u128::from(of);
    product.try_into().unwrap_or(u64::MAX)
}

/// The nanoseconds of so many octets at a rate.
fn lasting(octets: u64, rate: BitsPerSec) -> u64 {
    let bits = u128::from(octets) * 8 * 1_000_000_000;
    (bits / u128::from(rate.0.max(1)))
        .try_into()
        .unwrap_or(u64::MAX)
}

/// What an all-to-all of a process set puts on the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlltoallTime {
    /// By link and direction: blocks, messages between hosts, and the rate.
    links: Vec<LinkTraffic>,
    /// By step of the routine in which blocks are passed on (Bruck's): the blocks in a message, and the
    /// messages over the link that needs longest.
    rounds: Vec<RelayedRound>,
    /// The smallest block that overflows the queue of a port if all ranks send all blocks at once.
    overflowing: Option<Bytes>,
    /// The largest block that all queues hold in a window.
    held: Bytes,
    /// Steps of the phases, one after the other.
    phases: u64,
    ranks: u64,
    /// The library, if its routines are known.
    library: Option<Mpi>,
    /// Messages that a rank sends and receives, if one goes for each pair of hosts.
    bundles: u64,
    /// Blocks that the ranks of one host send and receive.
    of_host: u64,
    /// Nanoseconds in which a frame crosses all cables.
    delay: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct LinkTraffic {
    blocks: u64,
    host_pairs: u64,
    rate: BitsPerSec,
    is_of_host: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RelayedRound {
    blocks: u64,
    messages: u64,
    rate: BitsPerSec,
}

impl AlltoallTime {
    /// The ways of which the model knows the time, the simplest first.
    pub fn ways() -> [Way; 4] {
        let [window, tokens] = [SyncScheme::WINDOW, SyncKind::Receiver.into()].map(phases);
        [Way::Native, Way::Bundled, window, tokens]
    }

    /// The way that takes the least time; the library's own routine where no other one is clearly
    /// faster, or where one loses too much if no queue overflows.
    pub fn fastest(&self, block: Bytes, can: impl Fn(Way) -> bool) -> Way {
        let others = AlltoallTime::ways()
            .into_iter()
            .filter(|&way| way != Way::Native && can(way));
        let timed = others.filter_map(|way| Some((self.nanoseconds(way, block)?, way)));
        let most = times(self.native(block), CLEARLY);
        let most = most.min(times(self.without_loss(block), REGRETTED));
        let best = timed.min_by_key(|(time, _)| *time);
        best.filter(|(time, _)| *time < most)
            .map_or(Way::Native, |(_, way)| way)
    }

    /// Of a process set whose rank `r` runs on host `host_of[r]` under a library, and whose cables delay a
    /// frame by `delay` together; `None` where nothing crosses a cable.
    pub fn of(
        hosts: &Tree,
        host_of: &[NodeNumber],
        delay: Duration,
        library: Option<MpiRoutines>,
    ) -> Option<AlltoallTime> {
        let mut ranks = vec![0; hosts.hosts() as usize];
        host_of.iter().for_each(|&host| ranks[host as usize] += 1);
        let used: Vec<u32> = ranks.iter().map(|&ranks| ranks.min(1)).collect();
        let links = links(hosts, &ranks, &used);
        let slowest = bound::slowest_host_link(hosts)?;
        // As many messages go over a wide trunk at once as it is times as fast as a host's link.
        let phases = |link: &LinkTraffic| {
            let at_once = u128::from(link.blocks) * u128::from(slowest.0);
            at_once.div_ceil(u128::from(link.rate.0.max(1))) as u64
        };
        let phases = links.iter().map(phases).max()?;
        let most = u64::from(ranks.iter().copied().max()?);
        let all = host_of.len() as u64;
        let other_hosts = (used.iter().sum::<u32>() - 1).into();
        Some(AlltoallTime {
            rounds: rounds(hosts, host_of),
            overflowing: smallest_overflowing_block(hosts, host_of),
            held: OctetWindow::of(hosts, host_of).largest_block,
            phases,
            ranks: all,
            library: library.and_then(MpiRoutines::measured),
            bundles: 2 * (most - 1) + 2 * u64::div_ceil(other_hosts, most),
            of_host: most * (all - most.min(all)),
            delay: delay.as_nanos().try_into().unwrap_or(u64::MAX),
            links,
        })
    }

    /// The nanoseconds of a call with such blocks; `None` for a way of which the model knows nothing.
    pub fn nanoseconds(&self, way: Way, block: Bytes) -> Option<u64> {
        match way {
            Way::Native => Some(self.native(block)),
            Way::Bundled => Some(self.bundled(block)),
            way if way == phases(SyncKind::Receiver) => Some(self.with_tokens(block)),
            way if way == phases(SyncScheme::WINDOW) => {
                (block <= self.held).then(|| self.in_a_window(block))
            }
            _ => None,
        }
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

    /// The library's own routine, which loses segments where a queue overflows.
    fn native(&self, block: Bytes) -> u64 {
        let lossy = |time| {
            if self.overflows(block) {
                times(time, LOSSY)
            } else {
                time
            }
        };
        self.by_routine(block, lossy(self.at_once(block)))
    }

    /// The same if all queues are as deep as they have to be.
    fn without_loss(&self, block: Bytes) -> u64 {
        self.by_routine(block, self.at_once(block))
    }

    /// The library's own routine while a segment waits for a timer, as a multiple of the time without.
    pub fn slowed_by_a_timer(&self, block: Bytes) -> f64 {
        1.0 + TIMER as f64 / self.without_loss(block).max(1) as f64
    }

    /// Short blocks are passed on, and long ones sent at once. Where nobody knows which routine the library
    /// takes: the faster one.
    fn by_routine(&self, block: Bytes, at_once: u64) -> u64 {
        let ranks = u32::try_from(self.ranks).unwrap_or(u32::MAX);
        let chosen = |mpi| {
            LibraryRoutine::chosen(mpi, Collective::Alltoall, ranks, block) == LibraryRoutine::Bruck
        };
        match self.library.map(chosen) {
            Some(true) => self.passed_on(block),
            None if block <= SHORT => self.passed_on(block),
            None if block < LONG => self.passed_on(block).min(at_once),
            Some(false) | None => at_once,
        }
    }

    /// True if the queue of some port overflows where all blocks are sent at once.
    fn overflows(&self, block: Bytes) -> bool {
        let meet = block.0.saturating_mul(self.of_host) / MEET;
        meet >= QUEUE.0 || self.overflowing.is_some_and(|least| block >= least)
    }

    /// The routine for short blocks: each rank passes on the blocks of others.
    fn passed_on(&self, block: Bytes) -> u64 {
        let round = |round: &RelayedRound| {
            let message = wire(block.0.saturating_mul(round.blocks));
            let sent = lasting(message.saturating_mul(round.messages), round.rate);
            sent.saturating_add(MESSAGE + self.delay)
        };
        self.rounds.iter().map(round).fold(0, u64::saturating_add)
    }

    /// The routine for longer blocks: each rank sends all of them at once.
    fn at_once(&self, block: Bytes) -> u64 {
        let sent = self.longest(|link| wire(block.0).saturating_mul(link.blocks));
        sent.saturating_add(MESSAGE * (self.ranks - 1) + self.delay)
    }

    /// The ranks of a host give blocks to leaders, these exchange them, and give them on. Half of the
    /// calls wait for a timer if bundles are lost that are longer than what connections send at first,
    /// and too short to be sent again at once.
    fn bundled(&self, block: Bytes) -> u64 {
        let bundle = |link: &LinkTraffic| block.0.saturating_mul(link.blocks) / link.host_pairs;
        let sent = self.longest(|link| {
            let sent = wire(bundle(link)).saturating_mul(link.host_pairs);
            times(
                sent,
                if link.is_of_host {
                    UNORDERED
                } else {
                    UNORDERED_OVER_TRUNKS
                },
            )
        });
        let longest = self.links.iter().map(bundle).max().unwrap_or(0);
        let is_lost = longest > FIRST && self.overflowing.is_some_and(|least| block >= least);
        let lost = if is_lost { TIMER / 2 } else { 0 };
        // Out of the sender's memory and into the receiver's, before and after.
        let copied = lasting(block.0.saturating_mul(4 * self.of_host), COPIED);
        let steps = 3 * 2 * WAKE + MESSAGE * self.bundles + self.delay;
        sent.saturating_add(copied).saturating_add(steps + lost)
    }

    /// Phases with a token between two messages of one link: each waits for two processes, and the token
    /// for a long cable, there and back.
    fn with_tokens(&self, block: Bytes) -> u64 {
        let sent = self.longest(|link| {
            let both = wire(block.0).saturating_add(wire(0));
            both.saturating_mul(link.blocks)
        });
        let step = (2 * WAKE).saturating_add(2 * self.delay);
        sent.saturating_add(self.phases.saturating_mul(step))
    }

    /// The same without tokens: a message waits until others have arrived.
    fn in_a_window(&self, block: Bytes) -> u64 {
        let sent = self.longest(|link| wire(block.0).saturating_mul(link.blocks));
        let steps = self.phases.saturating_mul(WAKE);
        sent.saturating_add(steps).saturating_add(2 * self.delay)
    }

    /// The time of the link that needs longest for what it carries.
    fn longest(&self, octets: impl Fn(&LinkTraffic) -> u64) -> u64 {
        let each = self.links.iter();
        each.map(|link| lasting(octets(link), link.rate))
            .max()
            .unwrap_or(0)
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

/// The rounds in which blocks go over distances of 1, 2, 4, … ranks, those whose way has that
/// distance in it.
fn rounds(hosts: &Tree, host_of: &[NodeNumber]) -> Vec<RelayedRound> {
    let n = host_of.len();
    let distances = std::iter::successors(Some(1), |k| Some(2 * k)).take_while(|&k| k < n);
    let round = |distance: usize| {
        let mut messages = vec![0u64; hosts.edges() as usize];
        for (rank, &host) in host_of.iter().enumerate() {
            let to = host_of[(rank + distance) % n];
            hosts.path(host, to, |edge| messages[edge as usize] += 1);
        }
        let of_edge = |edge: usize| (messages[edge], hosts.rate(edge as u32 / 2));
        let used = (0..messages.len()).filter(|&edge| messages[edge] > 0);
        // Slower: more messages for each bit a second.
        let slower = |a: &(u64, BitsPerSec), b: &(u64, BitsPerSec)| {
            let [a, b] =
                [(a.0, b.1), (b.0, a.1)].map(|(m, rate)| u128::from(m) * u128::from(rate.0));
            a.cmp(&b)
        };
        let (messages, rate) = used.map(of_edge).max_by(slower)?;
        let blocks = (1..n).filter(|way| way & distance != 0).count() as u64;
        Some(RelayedRound {
            blocks,
            messages,
            rate,
        })
    };
    distances.filter_map(round).collect()
}

#[cfg(test)]
mod tests;
