//! The algorithm that a library chooses for so many ranks and such blocks.
//!
//! Source: Open MPI 4.1, `coll_tuned_decision_fixed.c` (its fixed rules by ranks and octets of a
//! block); MPICH 4.0, the control variables `MPIR_CVAR_ALLTOALL_SHORT_MSG_SIZE`, `…_MEDIUM_MSG_SIZE`,
//! `MPIR_CVAR_ALLGATHER_SHORT_MSG_SIZE`, `…_LONG_MSG_SIZE` with their defaults. Other versions may
//! choose otherwise.
use crate::decision_table::{Collective, CollectiveTraffic};
use inventory::{Bytes, Mpi};
use std::fmt;

/// An algorithm of a library, by the way in which it uses the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LibraryRoutine {
    /// All messages at once.
    Linear,
    /// All messages at once, each with an answer before its sender goes on.
    LinearSync,
    /// All messages at once, in batches of 32.
    Scattered,
    /// A partner a step.
    Pairwise,
    /// Blocks gathered into messages over distances that double.
    Bruck,
    /// Partners at distances that double; Bruck's where ranks are no power of two.
    Doubling,
    /// Always to the next rank.
    Ring,
    /// Neighbours in pairs, two blocks a step.
    Neighbour,
}

impl fmt::Display for LibraryRoutine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            LibraryRoutine::Linear => "linear",
            LibraryRoutine::LinearSync => "linear sync",
            LibraryRoutine::Scattered => "scattered",
            LibraryRoutine::Pairwise => "pairwise",
            LibraryRoutine::Bruck => "bruck",
            LibraryRoutine::Doubling => "recursive doubling",
            LibraryRoutine::Ring => "ring",
            LibraryRoutine::Neighbour => "neighbour",
        })
    }
}

/// Below so many ranks: the routine from each block size on.
type OpenRules = (u32, &'static [(u64, LibraryRoutine)]);

use LibraryRoutine::{Bruck, Doubling, Linear, LinearSync, Neighbour, Pairwise, Ring, Scattered};

const KB: u64 = 1 << 10;
const OPEN_ALLTOALL: [OpenRules; 12] = [
    (3, &[(0, Pairwise)]),
    (
        8,
        &[
            (0, LinearSync),
            (8 * KB, Linear),
            (16 * KB, LinearSync),
            (64 * KB, Linear),
            (512 * KB, Pairwise),
            (1024 * KB, Linear),
        ],
    ),
    (16, &[(0, LinearSync), (256 * KB, Linear)]),
    (
        32,
        &[
            (0, LinearSync),
            (4, Bruck),
            (512, LinearSync),
            (8 * KB, Linear),
            (32 * KB, LinearSync),
            (256 * KB, Linear),
            (512 * KB, LinearSync),
        ],
    ),
    (64, &[(0, Bruck), (512, Linear), (512 * KB, LinearSync)]),
    (
        128,
        &[
            (0, Bruck),
            (KB, Linear),
            (2 * KB, LinearSync),
            (4 * KB, Linear),
            (256 * KB, Pairwise),
        ],
    ),
    (
        256,
        &[
            (0, Bruck),
            (KB, LinearSync),
            (2 * KB, Linear),
            (256 * KB, Pairwise),
        ],
    ),
    (
        512,
        &[
            (0, Bruck),
            (KB, LinearSync),
            (8 * KB, Linear),
            (32 * KB, Pairwise),
        ],
    ),
    (
        1024,
        &[
            (0, Bruck),
            (512, LinearSync),
            (8 * KB, Linear),
            (16 * KB, LinearSync),
            (128 * KB, Linear),
            (256 * KB, Pairwise),
        ],
    ),
    (
        2048,
        &[
            (0, Bruck),
            (512, LinearSync),
            (KB, Linear),
            (2 * KB, LinearSync),
            (16 * KB, Linear),
            (256 * KB, LinearSync),
        ],
    ),
    (
        4096,
        &[
            (0, Bruck),
            (KB, LinearSync),
            (4 * KB, Linear),
            (8 * KB, LinearSync),
            (128 * KB, Linear),
        ],
    ),
    (
        u32::MAX,
        &[
            (0, Bruck),
            (2 * KB, LinearSync),
            (8 * KB, Linear),
            (16 * KB, LinearSync),
            (32 * KB, Linear),
            (64 * KB, LinearSync),
        ],
    ),
];
const OPEN_ALLGATHER: [OpenRules; 5] = [
    (32, &[(0, Doubling)]),
    (64, &[(0, Doubling), (KB, Neighbour), (64 * KB, Ring)]),
    (128, &[(0, Doubling), (512, Neighbour), (64 * KB, Ring)]),
    (
        512,
        &[
            (0, Doubling),
            (512, Neighbour),
            (128 * KB, Ring),
            (512 * KB, Neighbour),
            (1024 * KB, Ring),
        ],
    ),
    (u32::MAX, &[(0, Doubling), (2 * KB, Neighbour)]),
];

/// Of the mean block. `Linear` stands for a gathering at one rank, which then has all blocks spread.
const OPEN_ALLGATHERV: [OpenRules; 10] = [
    (3, &[(0, Ring)]),
    (
        8,
        &[
            (0, Linear),
            (256, Neighbour),
            (4 * KB, Ring),
            (8 * KB, Neighbour),
            (16 * KB, Bruck),
            (256 * KB, Neighbour),
        ],
    ),
    (16, &[(0, Linear), (KB, Bruck)]),
    (32, &[(0, Linear), (128, Bruck), (256 * KB, Ring)]),
    (64, &[(0, Linear), (256, Bruck), (8 * KB, Ring)]),
    (128, &[(0, Linear), (256, Bruck), (4 * KB, Ring)]),
    (256, &[(0, Bruck), (KB, Neighbour), (64 * KB, Ring)]),
    (512, &[(0, Bruck), (KB, Ring)]),
    (
        1024,
        &[
            (0, Bruck),
            (512, Linear),
            (KB, Bruck),
            (4 * KB, Neighbour),
            (1024 * KB, Ring),
        ],
    ),
    (u32::MAX, &[(0, Bruck), (4 * KB, Neighbour)]),
];

impl LibraryRoutine {
    /// The library's own choice.
    pub fn chosen(mpi: Mpi, collective: Collective, ranks: u32, block: Bytes) -> LibraryRoutine {
        let alltoall = collective.traffic() == CollectiveTraffic::Exchange;
        let chosen = match mpi {
            Mpi::OpenMpi if alltoall => by_rules(&OPEN_ALLTOALL, ranks, block),
            Mpi::OpenMpi if collective == Collective::Allgatherv => {
                by_rules(&OPEN_ALLGATHERV, ranks, block)
            }
            Mpi::OpenMpi => by_rules(&OPEN_ALLGATHER, ranks, block),
            Mpi::Mpich if alltoall => match block.0 {
                ..=256 if ranks >= 8 => Bruck,
                ..=32_768 => Scattered,
                _ => Pairwise,
            },
            // MPICH compares its limits for allgather with the blocks of all ranks together.
            Mpi::Mpich => match block.0.saturating_mul(u64::from(ranks)) {
                ..524_288 if ranks.is_power_of_two() => Doubling,
                ..=81_920 => Bruck,
                _ => Ring,
            },
        };
        // Recursive doubling in Open MPI hands over to Bruck's algorithm itself (`coll_base_allgather.c`).
        match chosen {
            Doubling if !ranks.is_power_of_two() => Bruck,
            chosen => chosen,
        }
    }
}

fn by_rules(rules: &[OpenRules], ranks: u32, block: Bytes) -> LibraryRoutine {
    let sizes = rules
        .iter()
        .find(|(below, _)| ranks < *below)
        .map_or(&[][..], |(_, sizes)| sizes);
    sizes
        .iter()
        .rev()
        .find(|(from, _)| block.0 >= *from)
        .map_or(Linear, |(_, routine)| *routine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_choose_by_ranks_and_size() {
        let chosen = |mpi, collective, ranks, block| {
            LibraryRoutine::chosen(mpi, collective, ranks, Bytes(block))
        };
        use Collective::{Allgather, Alltoall};
        let open = |ranks, block| chosen(Mpi::OpenMpi, Alltoall, ranks, block);
        assert_eq!(
            [
                open(16, 1024),
                open(16, 8192),
                open(16, 65536),
                open(16, 262_144),
                open(24, 100)
            ],
            [
                LibraryRoutine::LinearSync,
                LibraryRoutine::Linear,
                LibraryRoutine::LinearSync,
                LibraryRoutine::Linear,
                LibraryRoutine::Bruck
            ]
        );
        let mpich = |ranks, block| chosen(Mpi::Mpich, Allgather, ranks, block);
        assert_eq!(
            [
                mpich(16, 8192),
                mpich(16, 65536),
                mpich(24, 1024),
                mpich(24, 8192)
            ],
            [
                LibraryRoutine::Doubling,
                LibraryRoutine::Ring,
                LibraryRoutine::Bruck,
                LibraryRoutine::Ring
            ]
        );
        assert_eq!(
            chosen(Mpi::Mpich, Alltoall, 8, 65536),
            LibraryRoutine::Pairwise
        );
    }
}
