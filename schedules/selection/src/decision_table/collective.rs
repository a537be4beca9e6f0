//! The collective of a call.
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A collective that heddle serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Collective {
    /// MPI_Alltoall.
    Alltoall,
    /// MPI_Allgather.
    Allgather,
    /// MPI_Alltoallv.
    Alltoallv,
    /// MPI_Alltoallw.
    Alltoallw,
    /// MPI_Allgatherv.
    Allgatherv,
}

impl Collective {
    /// True if each rank knows the lengths only of the blocks that it sends and receives itself.
    pub fn has_own_lengths(self) -> bool {
        matches!(self, Collective::Alltoallv | Collective::Alltoallw)
    }
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Collective::Alltoall => "alltoall",
            Collective::Allgather => "allgather",
            Collective::Alltoallv => "alltoallv",
            Collective::Alltoallw => "alltoallw",
            Collective::Allgatherv => "allgatherv",
        })
    }
}

impl FromStr for Collective {
    type Err = UnknownCollective;

    fn from_str(text: &str) -> Result<Collective, UnknownCollective> {
        let all = [
            Collective::Alltoall,
            Collective::Allgather,
            Collective::Alltoallv,
            Collective::Alltoallw,
            Collective::Allgatherv,
        ];
        all.into_iter()
            .find(|collective| collective.to_string() == text)
            .ok_or_else(|| UnknownCollective(text.to_owned()))
    }
}

/// A name that does not name a [`Collective`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("collective \"{0}\": expected alltoall, allgather, alltoallv, alltoallw or allgatherv")]
pub struct UnknownCollective(pub String);
