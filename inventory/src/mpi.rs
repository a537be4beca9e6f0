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

/// Libraries with the binary interface of another one, and routines of their own: the beginning of
/// what they call themselves, and their names in job records.
const DERIVED: [(&str, &str); 4] = [
    ("Intel(R) MPI Library", "intel"),
    ("MVAPICH", "mvapich"),
    ("CRAY MPICH version", "cray"),
    ("ParaStation MPI", "parastation"),
];

/// The name of a library whose own routines are not those of [`Mpi`], with its major version:
/// `intel-2021`. `None` of one that has those.
pub fn derived_library(version_text: &str) -> Option<String> {
    let (name, after) = DERIVED.into_iter().find_map(|(title, name)| {
        let (_, after) = version_text.split_once(title)?;
        Some((name, after))
    })?;
    let digits = after.trim_start_matches(|c: char| !c.is_ascii_digit());
    let major = digits.split(|c: char| !c.is_ascii_digit()).next();
    Some(format!("{name}-{}", major.unwrap_or_default()))
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

    #[test]
    fn derived_libraries_are_told_by_what_they_call_themselves() {
        for (text, name) in [
            (
                "Intel(R) MPI Library 2021.19.0 for Linux* OS\n",
                Some("intel-2021"),
            ),
            ("MVAPICH2 Version      :\t2.3.7\n", Some("mvapich-2")),
            ("MVAPICH Version      :\t3.0\n", Some("mvapich-3")),
            (
                "MPI VERSION    : CRAY MPICH version 8.1.25.17 (ANL base 3.4a2)\n",
                Some("cray-8"),
            ),
            ("MPICH Version:      5.0.2\n", None),
            ("Open MPI v5.0.11, package: Open MPI", None),
        ] {
            assert_eq!(derived_library(text).as_deref(), name);
        }
    }
}
