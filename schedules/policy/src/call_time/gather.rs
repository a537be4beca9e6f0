//! The time of an allgather by the library's own routine and along rings, before anybody has measured.
//!
//! Source, guarantee and quantities as in [`super`]; the steps of rings and the work on hosts are from heddle's lab.
//! Input: the same. Cost: O(nodes + ranks * depth * log ranks). Deviations: unequal blocks count as so many of their
//! mean, and nothing is known of routines other than those in which blocks double or go to the next rank.
use super::{NOTICED, RelayedRound, distances, lasting, ranks_of_hosts, wire};
use crate::decision_table::Collective;
use crate::library_routine::LibraryRoutine;
use crate::ways::Way;
use inventory::tree::{NodeNumber, Tree};
use inventory::{Bytes, Mpi, MpiRoutines};
use schedules::bound::{self, BottleneckLoad};
use std::time::Duration;

/// The time of a step of a ring beside that of its block, and where hosts have several ranks: 8 hosts of 4 and 8
/// ranks on two cores.
pub(crate) const RING_STEP: Duration = Duration::from_micros(300);
pub(crate) const SHARED_STEP: Duration = Duration::from_micros(550);
/// The time that each rank adds while a library gathers the blocks of hosts, and spreads those of all: with 8 B a
/// call took 13 ms under Open MPI and 2.7 ms under MPICH among 32 ranks, 8 ms under MPICH among 64. Of an
/// unknown library the larger one.
const ON_HOST: Duration = Duration::from_micros(250);
const ON_HOST_OF_MPICH: Duration = Duration::from_micros(100);
/// Copying an octet to all ranks. Beside a ring of all ranks blocks of 512 B took 0.6 with 8 ranks a host
/// and 0.95 with 4, 2 kB 1.0 and 1.05.
pub(crate) const COPIED_TO_ALL: Duration = Duration::from_nanos(130);

/// The load that an allgather of a process set puts on the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatherTime {
    /// The steps in which what a rank sends doubles.
    doubling: Vec<RelayedRound>,
    /// The step in which each rank sends a block to the next one.
    next: RelayedRound,
    bottleneck: BottleneckLoad,
    pub(crate) ranks: u64,
    /// Hosts with ranks.
    pub(crate) used: u64,
    /// Nanoseconds in which a frame crosses all cables.
    delay: u64,
    /// The library, if its routines are known.
    library: Option<Mpi>,
}

impl GatherTime {
    /// Of a process set as [`super::AlltoallTime::of`] takes it; `None` where nothing crosses a cable.
    pub fn of(
        hosts: &Tree,
        host_of: &[NodeNumber],
        delay: Duration,
        library: Option<MpiRoutines>,
    ) -> Option<GatherTime> {
        let ranks = ranks_of_hosts(hosts, host_of);
        let n = host_of.len();
        Some(GatherTime {
            doubling: doubling(hosts, host_of),
            next: RelayedRound::new(hosts, host_of, 1, |rank| (rank + 1) % n)?,
            bottleneck: bound::allgather_bottleneck(hosts, &ranks)?,
            ranks: n as u64,
            used: ranks.iter().filter(|&&ranks| ranks > 0).count() as u64,
            delay: delay.as_nanos().try_into().unwrap_or(u64::MAX),
            library: library.and_then(MpiRoutines::measured),
        })
    }

    /// The nanoseconds of the library's own routine, as far as it sends blocks; `None` of one that is not known.
    fn native(&self, collective: Collective, block: Bytes) -> Option<u64> {
        let ranks = u32::try_from(self.ranks).ok()?;
        match LibraryRoutine::chosen(self.library?, collective, ranks, block) {
            LibraryRoutine::Bruck | LibraryRoutine::Doubling => {
                let steps = self.doubling.iter();
                Some(steps.map(|step| step.lasting(block)).sum())
            }
            LibraryRoutine::Ring | LibraryRoutine::Neighbour => {
                Some((self.ranks - 1).saturating_mul(self.next.lasting(block)))
            }
            _ => None,
        }
    }

    /// The nanoseconds along a ring of so many ranks, each of which passes on all blocks of its host, or its own.
    pub(crate) fn along_ring(&self, members: u64, block: Bytes) -> u64 {
        let step = if self.ranks > self.used {
            SHARED_STEP
        } else {
            RING_STEP
        };
        let BottleneckLoad { blocks, rate } = self.bottleneck;
        lasting(wire(block.0).saturating_mul(blocks), rate)
            .saturating_add(step.as_nanos() as u64 * members.saturating_sub(1))
            .saturating_add(2 * self.delay)
    }

    /// The nanoseconds in which a library gathers the blocks of each host, and spreads those of all.
    pub(crate) fn on_hosts(&self, block: Bytes) -> u64 {
        let copied = (COPIED_TO_ALL.as_nanos() as u64).saturating_mul(block.0);
        let each = work_on_hosts(self.library).as_nanos() as u64;
        each.saturating_add(copied).saturating_mul(self.ranks)
    }

    /// True if a program notices a single call of the library's own routine.
    pub fn is_long(&self, collective: Collective, block: Bytes) -> bool {
        let native = self.native(collective, block);
        native.is_some_and(|native| native >= NOTICED)
    }

    /// True if not even one call should go the library's way: it is long, and takes twice as long as this
    /// one.
    pub fn is_dear(&self, collective: Collective, way: Way, block: Bytes) -> bool {
        let native = self.native(collective, block);
        let times = native.zip(way.row().gathers_in(self, block));
        times.is_some_and(|(native, other)| native >= NOTICED && native / 2 >= other)
    }
}

impl RelayedRound {
    /// The nanoseconds of the link that needs longest, with such blocks.
    fn lasting(&self, block: Bytes) -> u64 {
        let message = wire(block.0.saturating_mul(self.blocks));
        lasting(message.saturating_mul(self.messages), self.rate)
    }

    /// The seconds for each octet of a block.
    pub(crate) fn seconds_an_octet(&self) -> f64 {
        let octets = self.blocks as f64 * 8.0 * bound::WIRE_PER_PAYLOAD;
        self.messages as f64 / self.rate.0.max(1) as f64 * octets
    }
}

/// The time that each rank adds on its host.
pub(crate) fn work_on_hosts(library: Option<Mpi>) -> Duration {
    match library {
        Some(Mpi::Mpich) => ON_HOST_OF_MPICH,
        Some(Mpi::OpenMpi) | None => ON_HOST,
    }
}

/// The steps of an allgather in which what a rank sends doubles from step to step, as both libraries have it for
/// small blocks: recursive doubling where the ranks are a power of two, else Bruck's. (Thakur, Rabenseifner, Gropp
/// 2005, section 4.1.)
pub(crate) fn doubling(hosts: &Tree, host_of: &[NodeNumber]) -> Vec<RelayedRound> {
    let n = host_of.len();
    let steps = distances(n).filter_map(|distance| {
        let blocks = distance.min(n - distance) as u64;
        RelayedRound::new(hosts, host_of, blocks, |rank| {
            if n.is_power_of_two() {
                rank ^ distance
            } else {
                (rank + n - distance) % n
            }
        })
    });
    steps.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ways::DataCarrier;
    use samples::trees::topology;

    /// Hosts in pairs on switches in a row, all links at 20 Mbit/s.
    fn row(switches: u32, each: usize, library: Mpi) -> GatherTime {
        let names: Vec<String> = (0..switches).map(|s| format!("s{s}")).collect();
        let hosts: Vec<String> = (0..2 * switches)
            .map(|host| format!("n{host}: {{switch: s{}, rate: 20M}}", host / 2))
            .collect();
        let trunks: Vec<String> = (1..switches)
            .map(|s| format!("{{a: s{}, b: s{s}, rate: 20M}}", s - 1))
            .collect();
        let tree = topology(&format!(
            "switches: [{}]\nhosts: {{{}}}\nlinks: [{}]",
            names.join(", "),
            hosts.join(", "),
            trunks.join(", ")
        ));
        let host_of: Vec<NodeNumber> = (0..tree.hosts())
            .flat_map(|host| std::iter::repeat_n(host, each))
            .collect();
        GatherTime::of(&tree, &host_of, Duration::ZERO, Some(library.into())).unwrap()
    }

    /// Milliseconds that PT-Scotch's `dgpart` was in MPI_Allgatherv under Open MPI 4.1.4: means of two to four calls.
    #[test]
    fn the_library_takes_about_as_long_as_was_measured() {
        let four = row(4, 4, Mpi::OpenMpi);
        let two = row(2, 4, Mpi::OpenMpi);
        for (time, block, measured) in [
            (&four, 5832, 725.0),
            (&four, 34_020, 490.0),
            (&four, 1458, 194.0),
            (&two, 33_696, 1180.0),
        ] {
            let native = time.native(Collective::Allgatherv, Bytes(block)).unwrap();
            let share = native as f64 / 1e6 / measured;
            assert!((0.8..1.25).contains(&share), "{block} B: {share}");
        }
    }

    #[test]
    fn a_long_allgather_leaves_the_library_at_its_first_call() {
        let ring = Way::Ring {
            over: DataCarrier::Tcp,
        };
        let time = row(4, 4, Mpi::Mpich);
        let is_dear = |way, block| time.is_dear(Collective::Allgather, way, Bytes(block));
        assert!(is_dear(ring, 12_000) && is_dear(Way::Relay, 12_000));
        assert!(!is_dear(ring, 4_000), "it takes half a second");
        assert!(!is_dear(ring, 32_000), "the library has a ring itself");
        assert!(!is_dear(Way::Native, 12_000));
    }
}
