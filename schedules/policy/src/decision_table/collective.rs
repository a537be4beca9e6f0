//! The collective of a call.
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A collective that heddle serves. A new one is a variant, a place in [`Collective::ALL`], a name
/// and its traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Collective {
    /// MPI_Alltoall.
    Alltoall,
    /// MPI_Allgather.
    Allgather,
    /// MPI_Alltoallv.
    Alltoallv,
    /// MPI_Allgatherv.
    Allgatherv,
    /// MPI_Alltoallw.
    Alltoallw,
    /// MPI_Allreduce.
    Allreduce,
    /// MPI_Reduce_scatter_block.
    #[serde(rename = "reduce_scatter_block")]
    ReduceScatterBlock,
    /// MPI_Bcast.
    Bcast,
}

/// The pattern of messages in a collective: it decides about ways and bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CollectiveTraffic {
    /// Each rank has a block for each other rank.
    Exchange,
    /// Each rank has one block, for all other ranks.
    Gather,
    /// Each rank has one block, and each gets the combination of all. The block is what the library
    /// calls the buffer.
    Combine,
    /// Each rank has a block for each rank, and each gets the combination of those for it.
    CombineForEach,
    /// One rank has the only block, for all other ranks.
    Spread,
}

impl Collective {
    /// Every collective, in the order of the variants.
    pub const ALL: [Collective; 8] = [
        Collective::Alltoall,
        Collective::Allgather,
        Collective::Alltoallv,
        Collective::Allgatherv,
        Collective::Alltoallw,
        Collective::Allreduce,
        Collective::ReduceScatterBlock,
        Collective::Bcast,
    ];

    /// The name, as in files and on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Collective::Alltoall => "alltoall",
            Collective::Allgather => "allgather",
            Collective::Alltoallv => "alltoallv",
            Collective::Allgatherv => "allgatherv",
            Collective::Alltoallw => "alltoallw",
            Collective::Allreduce => "allreduce",
            Collective::ReduceScatterBlock => "reduce_scatter_block",
            Collective::Bcast => "bcast",
        }
    }

    /// Its pattern of messages.
    pub fn traffic(self) -> CollectiveTraffic {
        match self {
            Collective::Alltoall | Collective::Alltoallv | Collective::Alltoallw => {
                CollectiveTraffic::Exchange
            }
            Collective::Allgather | Collective::Allgatherv => CollectiveTraffic::Gather,
            Collective::Allreduce => CollectiveTraffic::Combine,
            Collective::ReduceScatterBlock => CollectiveTraffic::CombineForEach,
            Collective::Bcast => CollectiveTraffic::Spread,
        }
    }

    /// True if each rank knows the lengths only of the blocks that it sends and receives itself.
    pub fn has_own_lengths(self) -> bool {
        matches!(self, Collective::Alltoallv | Collective::Alltoallw)
    }
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Collective {
    type Err = UnknownCollective;

    fn from_str(text: &str) -> Result<Collective, UnknownCollective> {
        Collective::ALL
            .into_iter()
            .find(|collective| collective.name() == text)
            .ok_or_else(|| UnknownCollective(text.to_owned()))
    }
}

/// A name that does not name a [`Collective`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("collective \"{0}\": expected {names}", names = super::alternatives(Collective::ALL))]
pub struct UnknownCollective(pub String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_collective_has_its_place_and_its_name() {
        for (place, collective) in Collective::ALL.into_iter().enumerate() {
            assert_eq!(collective as usize, place);
            assert_eq!(collective.name().parse(), Ok(collective));
            assert_eq!(
                serde_json::to_string(&collective).unwrap(),
                format!("\"{collective}\"")
            );
        }
        assert_eq!(
            "scan".parse::<Collective>().unwrap_err().to_string(),
            "collective \"scan\": expected alltoall, allgather, alltoallv, allgatherv, alltoallw, \
             allreduce, reduce_scatter_block or bcast"
        );
    }
}
