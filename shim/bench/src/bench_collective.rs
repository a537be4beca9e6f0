//! The collectives that can be timed.
use clap::ValueEnum;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BenchSelection {
    Alltoall,
    Allgather,
    Both,
    /// Every other block is three times as long as the others
    Alltoallv,
    /// The same, with a datatype for each rank
    Alltoallw,
    /// Every other rank contributes three times as much as the others
    Allgatherv,
    /// Bytes, by exclusive or
    Allreduce,
    /// The same, a block for each rank
    ReduceScatterBlock,
    /// From rank 0
    Bcast,
    /// No collective: half of the way to the last rank and back, which is usually on another host
    Pingpong,
    /// Ping-pong, MPI_Alltoall and MPI_Allgather
    All,
}

impl BenchSelection {
    /// The collectives in the order in which they are timed.
    pub(crate) fn collectives(self) -> &'static [BenchCollective] {
        match self {
            BenchSelection::Alltoall => &[BenchCollective::Alltoall],
            BenchSelection::Allgather => &[BenchCollective::Allgather],
            BenchSelection::Alltoallv => &[BenchCollective::Alltoallv],
            BenchSelection::Alltoallw => &[BenchCollective::Alltoallw],
            BenchSelection::Allgatherv => &[BenchCollective::Allgatherv],
            BenchSelection::Allreduce => &[BenchCollective::Allreduce],
            BenchSelection::ReduceScatterBlock => &[BenchCollective::ReduceScatterBlock],
            BenchSelection::Bcast => &[BenchCollective::Bcast],
            BenchSelection::Both => &[BenchCollective::Alltoall, BenchCollective::Allgather],
            BenchSelection::Pingpong => &[BenchCollective::Pingpong],
            BenchSelection::All => &[
                BenchCollective::Pingpong,
                BenchCollective::Alltoall,
                BenchCollective::Allgather,
            ],
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum BenchCollective {
    Alltoall,
    Allgather,
    Alltoallv,
    Alltoallw,
    Allgatherv,
    Allreduce,
    ReduceScatterBlock,
    Bcast,
    Pingpong,
}

impl BenchCollective {
    /// Whether each rank sends one block, and the same to all.
    pub(crate) fn goes_to_all(self) -> bool {
        matches!(
            self,
            BenchCollective::Allgather
                | BenchCollective::Allgatherv
                | BenchCollective::Allreduce
                | BenchCollective::Bcast
        )
    }

    /// Whether each rank gets one block, made of those of others.
    pub(crate) fn comes_as_one(self) -> bool {
        use BenchCollective::{Allreduce, Bcast, ReduceScatterBlock};
        matches!(self, Allreduce | ReduceScatterBlock | Bcast)
    }

    /// Whether blocks differ in length.
    pub(crate) fn is_unequal(self) -> bool {
        use BenchCollective::{Allgatherv, Alltoallv, Alltoallw};
        matches!(self, Alltoallv | Alltoallw | Allgatherv)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            BenchCollective::Alltoall => "alltoall",
            BenchCollective::Allgather => "allgather",
            BenchCollective::Alltoallv => "alltoallv",
            BenchCollective::Alltoallw => "alltoallw",
            BenchCollective::Allgatherv => "allgatherv",
            BenchCollective::Allreduce => "allreduce",
            BenchCollective::ReduceScatterBlock => "reduce_scatter_block",
            BenchCollective::Bcast => "bcast",
            BenchCollective::Pingpong => "pingpong",
        }
    }
}
