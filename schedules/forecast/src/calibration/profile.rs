//! The demands of a call on its network: the time that it takes at least, and the sizes on which its
//! losses depend.
//!
//! Input: a tree with one rank on each leaf, ranks in the order of the leaves. Guarantee: no
//! execution in these steps is faster than [`CallProfile::least`] without the cost of messages.
//! Cost: a path for every message, but those of rings and direct exchanges, which repeat.
use super::routine::TimedRoutine;
use inventory::Bytes;
use inventory::tree::{NodeNumber, Tree};
use policy::decision_table::{Collective, CollectiveTraffic};
use policy::library_routine::LibraryRoutine;
use schedules::bound::{self, WIRE_PER_PAYLOAD};
use schedules::capacities;

/// The cost of a message to the rank that sends it and to the one that waits for it. Of 20, 30, 40, 60
/// and 100 us, calls of 1 kB at 20 and at 100 Mbit/s predict each other best with this one.
const MESSAGE: f64 = 60e-6;

/// The queue of a switch port in the lab, in octets. Frames that do not fit are lost, and those of
/// a short block come again only when a timer runs out.
const QUEUE: f64 = 131_072.0;

/// A call on a tree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CallProfile {
    /// The size of a block.
    pub block: Bytes,
    /// Seconds that the steps of the call take at least: for each the most loaded link at line
    /// rate, and the cost of its messages.
    pub least: f64,
    /// The octets of the largest message.
    pub largest: Bytes,
    /// How many times as long as a host's own link the most loaded one is busy: contention for a
    /// trunk leaves hosts idle, contention for hosts does not.
    pub sharing: f64,
    /// Octets that wait before the most loaded link if all ranks send at once.
    pub waiting: f64,
    /// How many links have to be busy all the time, as the most loaded one: the more there are, the
    /// more often one of them waits for another. 1 for heddle over TCP, which keeps messages apart.
    pub busy: f64,
}

impl CallProfile {
    /// The profile of a call; `None` where nothing is sent, and for other collectives than those
    /// that were measured.
    pub fn predicted(
        tree: &Tree,
        collective: Collective,
        routine: TimedRoutine,
        block: Bytes,
    ) -> Option<CallProfile> {
        let ranks = tree.hosts();
        if ranks < 2 || !matches!(collective, Collective::Alltoall | Collective::Allgather) {
            return None;
        }
        let host = bound::slowest_host_link(tree)?.0.max(1) as f64;
        let CallTraffic {
            wire,
            messages,
            at_once,
            largest,
            sent,
            busy,
        } = CallTraffic::planned(tree, collective, routine, block);
        let sharing = wire / (sent * block.0 as f64 * 8.0 * WIRE_PER_PAYLOAD / host);
        Some(CallProfile {
            block,
            least: wire + MESSAGE * messages,
            largest: Bytes(block.0.saturating_mul(u64::from(largest))),
            sharing,
            waiting: at_once * block.0 as f64 * (sharing - 1.0).max(0.0),
            busy: if routine == TimedRoutine::OverTcp {
                1.0
            } else {
                busy
            },
        })
    }

    /// How different two calls are: 1 is twice the block, or four times the time. Doubling the
    /// largest message counts for two, because libraries send large messages in another way.
    pub(super) fn distance(&self, other: &CallProfile) -> f64 {
        let doublings = |a: f64, b: f64| (a / b).log2();
        let octets = |a: Bytes, b: Bytes| doublings(a.0.max(1) as f64, b.0.max(1) as f64);
        octets(self.block, other.block).powi(2)
            + (0.5 * doublings(self.least, other.least)).powi(2)
            + (2.0 * octets(self.largest, other.largest)).powi(2)
            + doublings(self.sharing, other.sharing).powi(2)
            + (self.overflow() - other.overflow()).powi(2)
            + doublings(self.busy, other.busy).powi(2)
    }

    /// From -1, where the queue of a port holds all that waits, to 1, where it does by no means.
    fn overflow(&self) -> f64 {
        (self.waiting.max(1.0) / QUEUE).log2().clamp(-1.0, 1.0)
    }
}

/// The messages of a call.
struct CallTraffic {
    /// Seconds that the most loaded link of each step needs.
    wire: f64,
    /// Messages of a rank one after the other.
    messages: f64,
    /// Blocks that a rank sends at once.
    at_once: f64,
    /// Blocks of the largest message.
    largest: u32,
    /// Blocks that a rank sends.
    sent: f64,
    /// Links that are as busy as the most loaded one.
    busy: f64,
}

impl CallTraffic {
    fn planned(
        tree: &Tree,
        collective: Collective,
        routine: TimedRoutine,
        block: Bytes,
    ) -> CallTraffic {
        let ranks = tree.hosts();
        let gathers = collective.traffic() == CollectiveTraffic::Gather;
        let steps = match routine {
            TimedRoutine::Library(_, library) if gathers => allgather_steps(library, ranks),
            TimedRoutine::Library(_, library) => alltoall_steps(library, ranks),
            _ => None,
        };
        let others = f64::from(ranks - 1);
        let Some(steps) = steps else {
            let along_ring = gathers && !matches!(routine, TimedRoutine::Library(..));
            let loads = capacities::loads(tree).into_iter().enumerate();
            let seconds = loads.map(|(edge, load)| {
                // A ring crosses each link once in either direction.
                let blocks = if along_ring { load.min(1) } else { load };
                blocks as f64 / link_rate(tree, edge)
            });
            return CallTraffic {
                busy: busy_links(&seconds.collect::<Vec<_>>()),
                wire: if along_ring {
                    bound::allgather_bound_seconds(tree, block)
                } else {
                    bound::payload_bound_seconds(tree, block)
                },
                messages: others,
                at_once: others,
                largest: 1,
                sent: others,
            };
        };
        let sent: f64 = steps.iter().map(|step| f64::from(step.blocks)).sum();
        let (mut wire, mut links) = (0.0, vec![0.0; tree.edges() as usize]);
        for step in &steps {
            let seconds = step.link_seconds(tree, block);
            wire += seconds.iter().copied().fold(0.0, f64::max);
            links
                .iter_mut()
                .zip(seconds)
                .for_each(|(all, one)| *all += one);
        }
        CallTraffic {
            wire,
            busy: busy_links(&links),
            messages: steps.len() as f64,
            at_once: sent / steps.len() as f64,
            largest: steps.iter().map(|step| step.blocks).max().unwrap_or(1),
            sent,
        }
    }
}

/// Every rank sends a message of so many blocks at once.
struct ExchangeStep {
    partner: RankDistance,
    blocks: u32,
}

/// The rank that a rank sends to.
#[derive(Clone, Copy)]
enum RankDistance {
    After(u32),
    Xor(u32),
}

impl ExchangeStep {
    fn new(partner: RankDistance, blocks: u32) -> ExchangeStep {
        ExchangeStep { partner, blocks }
    }
    /// The seconds that each link needs.
    fn link_seconds(&self, tree: &Tree, block: Bytes) -> Vec<f64> {
        let ranks = tree.hosts();
        let mut messages = vec![0u32; tree.edges() as usize];
        for rank in 0..ranks {
            let to: NodeNumber = match self.partner {
                RankDistance::After(k) => (rank + k) % ranks,
                RankDistance::Xor(k) => rank ^ k,
            };
            tree.path(rank, to, |edge| messages[edge as usize] += 1);
        }
        let octets = block.0 as f64 * f64::from(self.blocks) * 8.0 * WIRE_PER_PAYLOAD;
        messages
            .iter()
            .enumerate()
            .map(|(edge, &messages)| f64::from(messages) * octets / link_rate(tree, edge))
            .collect()
    }
}

/// Bits a second of the link of an edge, and 1 where there is none.
fn link_rate(tree: &Tree, edge: usize) -> f64 {
    let link = edge as u32 / 2;
    if link == tree.root() {
        1.0
    } else {
        tree.rate(link).0.max(1) as f64
    }
}

/// The number of links that are busy as long as the most loaded one, of which each needs so many
/// seconds. One that needs half as long counts a sixteenth.
fn busy_links(seconds: &[f64]) -> f64 {
    let most = seconds.iter().copied().fold(0.0, f64::max);
    seconds
        .iter()
        .map(|seconds| (seconds / most).powi(4))
        .sum::<f64>()
        .max(1.0)
}

/// The steps of an all-to-all; `None` where all messages go at once.
fn alltoall_steps(library: LibraryRoutine, ranks: u32) -> Option<Vec<ExchangeStep>> {
    match library {
        LibraryRoutine::Pairwise if ranks.is_power_of_two() => Some(
            (1..ranks)
                .map(|k| ExchangeStep::new(RankDistance::Xor(k), 1))
                .collect(),
        ),
        LibraryRoutine::Pairwise | LibraryRoutine::Ring => Some(
            (1..ranks)
                .map(|k| ExchangeStep::new(RankDistance::After(k), 1))
                .collect(),
        ),
        LibraryRoutine::Bruck | LibraryRoutine::Doubling => {
            // A block whose distance has bit k set goes that far in step k.
            Some(
                doubling(ranks)
                    .map(|k| {
                        ExchangeStep::new(
                            RankDistance::After(k),
                            (1..ranks).filter(|distance| distance & k != 0).count() as u32,
                        )
                    })
                    .collect(),
            )
        }
        _ => None,
    }
}

/// The steps of an allgather; `None` where all messages go at once, or along a ring that is
/// the order of the ranks.
fn allgather_steps(library: LibraryRoutine, ranks: u32) -> Option<Vec<ExchangeStep>> {
    match library {
        LibraryRoutine::Doubling if ranks.is_power_of_two() => Some(
            doubling(ranks)
                .map(|k| ExchangeStep::new(RankDistance::Xor(k), k))
                .collect(),
        ),
        LibraryRoutine::Bruck | LibraryRoutine::Doubling => Some(
            doubling(ranks)
                // Bruck's allgather sends k places back, and in the last step only what is missing.
                .map(|k| ExchangeStep::new(RankDistance::After(ranks - k), k.min(ranks - k)))
                .collect(),
        ),
        LibraryRoutine::Ring => Some(
            (1..ranks)
                .map(|_| ExchangeStep::new(RankDistance::After(1), 1))
                .collect(),
        ),
        LibraryRoutine::Neighbour if ranks.is_multiple_of(2) => Some(
            (0..ranks / 2)
                .map(|k| ExchangeStep::new(RankDistance::Xor(1), if k == 0 { 1 } else { 2 }))
                .collect(),
        ),
        _ => None,
    }
}

/// 1, 2, 4, … below `ranks`.
fn doubling(ranks: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(1u32), |k| k.checked_mul(2)).take_while(move |&k| k < ranks)
}
