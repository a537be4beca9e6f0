//! The MPI libraries that heddle serves.
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// An MPI library. The libraries' own routines differ, and so does the block size from which a
/// schedule is faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mpi {
    OpenMpi,
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

/// Libraries: their names here, and the beginning of what each calls itself. Those after the first
/// two have the binary interface of MPICH, and routines of their own.
const LIBRARIES: [(&str, &str); 6] = [
    ("openmpi", "Open MPI"),
    ("mpich", "MPICH Version"),
    ("intel", "Intel(R) MPI Library"),
    ("mvapich", "MVAPICH"),
    ("cray", "CRAY MPICH version"),
    ("parastation", "ParaStation MPI"),
];

/// Whose routines a figure is of: an MPI library, and its major version. In files it is
/// `intel-2021`. A name without a version is of a time when versions were not distinguished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MpiRoutines {
    library: &'static str,
    major: Option<u16>,
}

impl MpiRoutines {
    /// By the version text of a library with the binary interface of a family.
    pub fn of_version(text: &str, family: Mpi) -> MpiRoutines {
        let listed = LIBRARIES.iter().find_map(|(name, title)| {
            let (_, after) = text.split_once(title)?;
            let digits = after.trim_start_matches(|c: char| !c.is_ascii_digit());
            let major = digits.split(|c: char| !c.is_ascii_digit()).next();
            Some(MpiRoutines {
                library: name,
                major: major.and_then(|major| major.parse().ok()),
            })
        });
        listed
            .filter(|listed| listed.family() == family)
            .unwrap_or(family.into())
    }

    /// The library by whose binary interface programs call it.
    pub fn family(self) -> Mpi {
        self.measured().unwrap_or(Mpi::Mpich)
    }

    /// The library as which `heddle tune` measures it; `None` of one that it does not know.
    pub fn measured(self) -> Option<Mpi> {
        self.library.parse().ok()
    }

    /// True of Intel MPI.
    pub fn is_intel(self) -> bool {
        self.library == LIBRARIES[2].0
    }

    /// The same library, whatever its version.
    #[must_use]
    pub fn of_any_version(self) -> MpiRoutines {
        MpiRoutines {
            major: None,
            ..self
        }
    }
}

impl From<Mpi> for MpiRoutines {
    fn from(mpi: Mpi) -> MpiRoutines {
        MpiRoutines {
            library: mpi.name(),
            major: None,
        }
    }
}

impl fmt::Display for MpiRoutines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.major {
            Some(major) => write!(f, "{}-{major}", self.library),
            None => f.write_str(self.library),
        }
    }
}

impl FromStr for MpiRoutines {
    type Err = UnknownMpi;

    fn from_str(text: &str) -> Result<MpiRoutines, UnknownMpi> {
        let (name, major) = match text.split_once('-') {
            Some((name, major)) => (name, Some(major)),
            None => (text, None),
        };
        let unknown = || UnknownMpi(text.to_owned());
        let library = LIBRARIES.iter().find(|(known, _)| *known == name);
        Ok(MpiRoutines {
            library: library.ok_or_else(unknown)?.0,
            major: major.map(str::parse).transpose().map_err(|_| unknown())?,
        })
    }
}

impl Serialize for MpiRoutines {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for MpiRoutines {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<MpiRoutines, D::Error> {
        let name = String::deserialize(deserializer)?;
        name.parse().map_err(D::Error::custom)
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

    #[test]
    fn routines_are_known_by_what_a_library_calls_itself() {
        use Mpi::{Mpich, OpenMpi};
        for (text, family, name) in [
            (
                "Intel(R) MPI Library 2021.19.0 for Linux* OS\n",
                Mpich,
                "intel-2021",
            ),
            ("MVAPICH2 Version      :\t2.3.7\n", Mpich, "mvapich-2"),
            ("MVAPICH Version      :\t3.0\n", Mpich, "mvapich-3"),
            (
                "MPI VERSION    : CRAY MPICH version 8.1.25.17 (ANL base 3.4a2)\n",
                Mpich,
                "cray-8",
            ),
            ("MPICH Version:      5.0.2\n", Mpich, "mpich-5"),
            ("Open MPI v5.0.11, package: Open MPI", OpenMpi, "openmpi-5"),
            ("Open MPI v5.0.11, package: Open MPI", Mpich, "mpich"),
            ("Another MPI 7", OpenMpi, "openmpi"),
        ] {
            let routines = MpiRoutines::of_version(text, family);
            assert_eq!(routines.to_string(), name);
            assert_eq!(name.parse(), Ok(routines));
            assert_eq!(routines.family(), family);
        }
        for wrong in ["lam", "mpich-", "mpich-x", "mpich-70000", ""] {
            assert!(wrong.parse::<MpiRoutines>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_has_routines_of_its_own_is_not_measured_as_mpich() {
        assert_eq!(routines("mpich-5").measured(), Some(Mpi::Mpich));
        assert_eq!(routines("intel-2021").measured(), None);
        assert!(routines("intel-2021").is_intel() && !routines("mpich-5").is_intel());
        assert_eq!(routines("mpich-5").of_any_version(), Mpi::Mpich.into());
    }

    fn routines(name: &str) -> MpiRoutines {
        name.parse::<MpiRoutines>().unwrap()
    }
}
