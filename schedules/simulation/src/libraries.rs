//! The algorithms that MPI libraries use by themselves: those of the textbooks, which ignore the
//! cables. One rank per host, ranks in the order of the hosts.
//!
//! Source: Thakur, Rabenseifner, Gropp, Optimization of Collective Communication Operations in
//! MPICH (2005), sections 4.1 (allgather) and 4.4 (all-to-all); Bruck et al., Efficient Algorithms
//! for All-to-All Communications in Multiport Message-Passing Systems (1997). Cost: O(messages).
//! Deviations: copies within a host take no time. A step of "send and receive" ends when both have
//! ended.
use super::{SimulatedTraffic, StepNumber, WaitKind};
use inventory::Bytes;
use std::fmt;

/// An algorithm of an MPI library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LibraryAlgorithm {
    /// Everything at once, directly.
    Linear,
    /// In step k with the rank whose number differs by exclusive or with k; needs a power of two of
    /// ranks.
    Pairwise,
    /// In step k to the k-th rank after it, from the k-th before it; in the allgather always to the
    /// next.
    Ring,
    /// log2 steps over distances that double, for any number of ranks.
    Bruck,
    /// log2 steps between partners whose distance doubles; needs a power of two of ranks.
    RecursiveDoubling,
}

impl LibraryAlgorithm {
    /// All algorithms.
    pub const ALL: [LibraryAlgorithm; 5] = [
        LibraryAlgorithm::Linear,
        LibraryAlgorithm::Pairwise,
        LibraryAlgorithm::Ring,
        LibraryAlgorithm::Bruck,
        LibraryAlgorithm::RecursiveDoubling,
    ];
}

impl fmt::Display for LibraryAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            LibraryAlgorithm::Linear => "linear",
            LibraryAlgorithm::Pairwise => "pairwise",
            LibraryAlgorithm::Ring => "ring",
            LibraryAlgorithm::Bruck => "bruck",
            LibraryAlgorithm::RecursiveDoubling => "recursive-doubling",
        })
    }
}

/// The all-to-all of `hosts` ranks with a `block` for every other rank; `None` if the algorithm
/// does not work with that number of ranks.
pub fn alltoall(library: LibraryAlgorithm, hosts: u32, block: Bytes) -> Option<SimulatedTraffic> {
    let rounds = 1..hosts;
    let halves = Bytes(block.0.saturating_mul(u64::from(hosts / 2)));
    match library {
        LibraryAlgorithm::Linear => Some(linear(hosts, block)),
        LibraryAlgorithm::Ring => Some(exchanges(
            hosts,
            rounds.map(|k| (RankPartner::After(k), block)),
        )),
        LibraryAlgorithm::Pairwise => hosts
            .is_power_of_two()
            .then(|| exchanges(hosts, rounds.map(|k| (RankPartner::Xor(k), block)))),
        LibraryAlgorithm::RecursiveDoubling => hosts.is_power_of_two().then(|| {
            exchanges(
                hosts,
                doubling(hosts).map(|k| (RankPartner::Xor(k), halves)),
            )
        }),
        // A block whose remaining distance has bit k set goes that far in step k.
        LibraryAlgorithm::Bruck => {
            let blocks = |k: u32| (1..hosts).filter(|distance| distance & k != 0).count() as u64;
            Some(exchanges(
                hosts,
                doubling(hosts).map(|k| {
                    (
                        RankPartner::After(k),
                        Bytes(block.0.saturating_mul(blocks(k))),
                    )
                }),
            ))
        }
    }
}

/// The allgather of `hosts` ranks that contribute `block` each; `None` if the algorithm does not
/// work with that number of ranks, or does not exist: there is no pairwise allgather.
pub fn allgather(library: LibraryAlgorithm, hosts: u32, block: Bytes) -> Option<SimulatedTraffic> {
    // After step k a rank has 2k blocks, but at most all of them.
    let grown = |k: u32| Bytes(block.0.saturating_mul(u64::from(k.min(hosts - k))));
    match library {
        LibraryAlgorithm::Linear => Some(linear(hosts, block)),
        LibraryAlgorithm::Pairwise => None,
        LibraryAlgorithm::Ring => Some(exchanges(
            hosts,
            (1..hosts).map(|_| (RankPartner::After(1), block)),
        )),
        LibraryAlgorithm::Bruck => Some(exchanges(
            hosts,
            doubling(hosts).map(|k| (RankPartner::Before(k), grown(k))),
        )),
        LibraryAlgorithm::RecursiveDoubling => hosts.is_power_of_two().then(|| {
            exchanges(
                hosts,
                doubling(hosts).map(|k| (RankPartner::Xor(k), grown(k))),
            )
        }),
    }
}

/// 1, 2, 4, … below `hosts`.
fn doubling(hosts: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(1u32), |k| k.checked_mul(2)).take_while(move |&k| k < hosts)
}

/// Each rank starts with the rank after it, so that not all begin with rank 0.
fn linear(hosts: u32, block: Bytes) -> SimulatedTraffic {
    let mut traffic = SimulatedTraffic::new();
    for src in 0..hosts {
        for k in 1..hosts {
            traffic.send(src, (src + k) % hosts, block);
        }
    }
    traffic
}

/// The receiver of a rank's message.
#[derive(Clone, Copy)]
enum RankPartner {
    After(u32),
    Before(u32),
    Xor(u32),
}

impl RankPartner {
    fn of(self, rank: u32, ranks: u32) -> u32 {
        match self {
            RankPartner::After(k) => (rank + k) % ranks,
            RankPartner::Before(k) => (rank + ranks - k) % ranks,
            RankPartner::Xor(k) => rank ^ k,
        }
    }
}

/// Every rank sends and receives in each step, and goes on when both have ended.
fn exchanges(ranks: u32, steps: impl Iterator<Item = (RankPartner, Bytes)>) -> SimulatedTraffic {
    let mut traffic = SimulatedTraffic::new();
    // Each rank's messages of the step before: the one it sent and the one it received.
    let mut former: Vec<[StepNumber; 2]> = Vec::new();
    for (partner, bytes) in steps {
        let mut now = vec![[0; 2]; ranks as usize];
        for rank in 0..ranks {
            let to = partner.of(rank, ranks);
            let step = traffic.send(rank, to, bytes);
            now[rank as usize][0] = step;
            now[to as usize][1] = step;
            for &before in former.get(rank as usize).into_iter().flatten() {
                traffic.wait(before, step, WaitKind::Order);
            }
        }
        former = now;
    }
    traffic
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_trees::star;
    use crate::traffic::TrafficStep;
    use proptest::prelude::*;

    fn bytes_from(traffic: &SimulatedTraffic, rank: u32) -> u64 {
        let of = |what: &TrafficStep| match what {
            TrafficStep::Send { src, bytes, .. } if *src == rank => *bytes,
            _ => 0,
        };
        traffic.steps.iter().map(of).sum()
    }

    #[test]
    fn algorithms_for_powers_of_two_say_so() {
        for library in [
            LibraryAlgorithm::Pairwise,
            LibraryAlgorithm::RecursiveDoubling,
        ] {
            assert!(
                alltoall(library, 6, Bytes(1)).is_none()
                    && alltoall(library, 8, Bytes(1)).is_some(),
                "{library}"
            );
        }
        assert!(allgather(LibraryAlgorithm::Pairwise, 8, Bytes(1)).is_none());
    }

    #[test]
    fn eight_ranks_send_what_the_textbook_says() {
        let sent = |library| bytes_from(&alltoall(library, 8, Bytes(10)).unwrap(), 3);
        assert_eq!(LibraryAlgorithm::ALL.map(sent), [70, 70, 70, 120, 120]);
        let gathered =
            |library| allgather(library, 8, Bytes(10)).map(|traffic| bytes_from(&traffic, 3));
        assert_eq!(
            LibraryAlgorithm::ALL.map(gathered),
            [Some(70), None, Some(70), Some(70), Some(70)]
        );
    }

    proptest! {
        /// Every block reaches its receiver: Bruck's distances add up, and an allgather brings n -
        /// 1 blocks to everyone.
        #[test]
        fn nothing_is_lost(hosts in 1u32..40, rank in 0u32..40) {
            let rank = rank % hosts;
            let carried: u64 = (1..hosts)
                .map(|distance| u64::from(distance.count_ones()))
                .sum();
            prop_assert_eq!(
                bytes_from(
                    &alltoall(LibraryAlgorithm::Bruck, hosts, Bytes(7)).unwrap(),
                    rank
                ),
                7 * carried
            );
            for library in [
                LibraryAlgorithm::Linear,
                LibraryAlgorithm::Ring,
                LibraryAlgorithm::Bruck,
                LibraryAlgorithm::RecursiveDoubling,
            ] {
                if let Some(traffic) = allgather(library, hosts, Bytes(7)) {
                    prop_assert_eq!(
                        bytes_from(&traffic, rank),
                        7 * u64::from(hosts - 1),
                        "{}",
                        library
                    );
                }
            }
            let tree = star(&[hosts]);
            for library in LibraryAlgorithm::ALL {
                for traffic in [
                    alltoall(library, hosts, Bytes(7)),
                    allgather(library, hosts, Bytes(7)),
                ]
                .into_iter()
                .flatten()
                {
                    prop_assert!(
                        crate::run(
                            &tree,
                            &traffic,
                            &crate::SimulationModel::default()
                        )
                        .is_ok()
                    );
                }
            }
        }
    }
}
