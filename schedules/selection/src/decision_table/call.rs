//! The names of a call: its collective and its MPI library.
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A collective that heddle knows.
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
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Collective::Alltoall => "alltoall",
            Collective::Allgather => "allgather",
            Collective::Alltoallv => "alltoallv",
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
            Collective::Allgatherv,
        ];
        all.into_iter()
            .find(|collective| collective.to_string() == text)
            .ok_or_else(|| UnknownCollective(text.to_owned()))
    }
}

/// A name that is no [`Collective`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("collective \"{0}\": expected alltoall, allgather, alltoallv or allgatherv")]
pub struct UnknownCollective(pub String);

/// An MPI library. Their own routines differ, so the size from which a schedule pays does, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mpi {
    /// Open MPI.
    OpenMpi,
    /// MPICH.
    Mpich,
}

impl fmt::Display for Mpi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Mpi::OpenMpi => "openmpi",
            Mpi::Mpich => "mpich",
        })
    }
}

impl FromStr for Mpi {
    type Err = UnknownMpi;

    fn from_str(text: &str) -> Result<Mpi, UnknownMpi> {
        let known = [Mpi::OpenMpi, Mpi::Mpich]
            .into_iter()
            .find(|mpi| mpi.to_string() == text);
        known.ok_or_else(|| UnknownMpi(text.to_owned()))
    }
}

/// A name that is no [`Mpi`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("MPI library \"{0}\": expected openmpi or mpich")]
pub struct UnknownMpi(pub String);
