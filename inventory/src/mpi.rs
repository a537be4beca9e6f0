//! The MPI libraries that heddle serves.
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// An MPI library. The libraries' own routines differ, and so does the block size from which a
/// schedule is faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mpi {
    /// Open MPI.
    OpenMpi,
    /// MPICH.
    Mpich,
}

impl Mpi {
    /// Every library.
    pub const ALL: [Mpi; 2] = [Mpi::OpenMpi, Mpi::Mpich];

    /// The name in files and on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Mpi::OpenMpi => "openmpi",
            Mpi::Mpich => "mpich",
        }
    }

    /// The name that the library gives itself.
    pub fn title(self) -> &'static str {
        match self {
            Mpi::OpenMpi => "Open MPI",
            Mpi::Mpich => "MPICH",
        }
    }
}

impl fmt::Display for Mpi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Mpi {
    type Err = UnknownMpi;

    fn from_str(text: &str) -> Result<Mpi, UnknownMpi> {
        let known = Mpi::ALL.into_iter().find(|mpi| mpi.name() == text);
        known.ok_or_else(|| UnknownMpi(text.to_owned()))
    }
}

/// The name of a library that heddle does not serve.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("MPI library \"{0}\": expected openmpi or mpich")]
pub struct UnknownMpi(pub String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for mpi in Mpi::ALL {
            assert_eq!(mpi.to_string().parse(), Ok(mpi));
            let json = serde_json::to_string(&mpi).unwrap();
            assert_eq!(json, format!("\"{mpi}\""));
        }
        assert!("lam".parse::<Mpi>().is_err());
    }
}
