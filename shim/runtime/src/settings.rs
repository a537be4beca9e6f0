//! The environment. Only rank 0's counts: what must be the same on all ranks travels with its word.
use schedules::sync::SyncKind;
use schedules::table::{Collective, Way};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What the environment asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// `HEDDLE_DIR`: the shared directory.
    pub dir: Option<PathBuf>,
    /// `HEDDLE_FORCE`: one way at every size.
    pub force: Option<Force>,
    /// `HEDDLE_VERBOSE`: 0 says nothing but why it stands aside, 1 what is followed, 2 each kind of call too.
    pub verbose: u8,
}

/// One way at every size, for tests and measurements. It holds for the collective that can go it; the other one
/// follows the epoch's decision table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Force {
    /// MPI_Alltoall by phases.
    Aapc,
    /// MPI_Allgather by ring.
    Ring,
    /// Everything by the MPI library.
    Native,
}

impl Settings {
    /// Reads `HEDDLE_DIR`, `HEDDLE_FORCE` and `HEDDLE_VERBOSE` through `var`, and says what it did not understand.
    pub fn read(var: impl Fn(&str) -> Option<String>) -> (Settings, Option<String>) {
        let mut problem = None;
        let force = var("HEDDLE_FORCE").filter(|v| !v.is_empty()).and_then(|v| {
            let known = Force::parse(&v);
            if known.is_none() {
                problem = Some(format!("HEDDLE_FORCE={v}: expected aapc, ring or native; the decision table decides"));
            }
            known
        });
        let dir = var("HEDDLE_DIR").filter(|v| !v.is_empty()).map(PathBuf::from);
        let verbose = var("HEDDLE_VERBOSE").and_then(|v| v.parse().ok()).unwrap_or(0);
        (Settings { dir, force, verbose }, problem)
    }
}

impl Force {
    fn parse(text: &str) -> Option<Force> {
        match text {
            "aapc" => Some(Force::Aapc),
            "ring" => Some(Force::Ring),
            "native" => Some(Force::Native),
            _ => None,
        }
    }

    /// The way this collective is forced to go, if it is.
    pub fn way(self, collective: Collective) -> Option<Way> {
        match (self, collective) {
            (Force::Native, _) => Some(Way::Native),
            (Force::Aapc, Collective::Alltoall) => Some(Way::Aapc { sync: SyncKind::Receiver }),
            (Force::Ring, Collective::Allgather) => Some(Way::Ring),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_environment_and_names_what_it_does_not_know() {
        let env = |pairs: &'static [(&str, &str)]| Settings::read(|name| pairs.iter().find(|p| p.0 == name).map(|p| p.1.to_owned()));
        let (s, problem) = env(&[("HEDDLE_DIR", "/shared"), ("HEDDLE_FORCE", "ring"), ("HEDDLE_VERBOSE", "2")]);
        assert_eq!((s.dir, s.force, s.verbose, problem), (Some(PathBuf::from("/shared")), Some(Force::Ring), 2, None));
        let (s, problem) = env(&[("HEDDLE_FORCE", "fast"), ("HEDDLE_DIR", "")]);
        assert_eq!((s.dir, s.force), (None, None));
        assert!(problem.unwrap().contains("aapc, ring or native"));
    }

    #[test]
    fn a_forced_way_holds_where_it_can_be_gone() {
        assert_eq!(Force::Ring.way(Collective::Alltoall), None);
        assert_eq!(Force::Ring.way(Collective::Allgather), Some(Way::Ring));
        assert_eq!(Force::Native.way(Collective::Alltoall), Some(Way::Native));
    }
}
