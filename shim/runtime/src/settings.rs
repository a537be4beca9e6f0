//! The environment. Only rank 0's counts: what must be the same on all ranks travels with its word.
use schedules::sync::SyncKind;
use schedules::table::{Carrier, Collective, Way};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What the environment asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// `HEDDLE_DIR`: the shared directory.
    pub dir: Option<PathBuf>,
    /// `HEDDLE_FORCE`: one way at every size.
    pub force: Force,
    /// `HEDDLE_VERBOSE`: 0 says nothing but why it stands aside, 1 what is followed, 2 each kind of call too.
    pub verbose: u8,
}

/// One way at every size, for tests and measurements. It holds for the collectives that can go it; the others
/// follow the epoch's decision table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Force {
    alltoall: Option<Way>,
    allgather: Option<Way>,
}

impl Settings {
    /// Reads `HEDDLE_DIR`, `HEDDLE_FORCE` and `HEDDLE_VERBOSE` through `var`, and says what it did not understand.
    pub fn read(var: impl Fn(&str) -> Option<String>) -> (Settings, Option<String>) {
        let mut problem = None;
        let text = var("HEDDLE_FORCE").unwrap_or_default();
        let force = Force::parse(&text).unwrap_or_else(|| {
            problem = Some(format!("HEDDLE_FORCE={text}: expected aapc, ring, both as aapc,ring, or native; the decision table decides"));
            Force::default()
        });
        let dir = var("HEDDLE_DIR").filter(|v| !v.is_empty()).map(PathBuf::from);
        let verbose = var("HEDDLE_VERBOSE").and_then(|v| v.parse().ok()).unwrap_or(0);
        (Settings { dir, force, verbose }, problem)
    }
}

impl Force {
    /// `aapc` is a way of MPI_Alltoall, `ring` one of MPI_Allgather, `native` of both; several are given with commas.
    /// With `tcp` among them, these ways go over the runtime's own connections.
    pub(crate) fn parse(text: &str) -> Option<Force> {
        let mut force = Force::default();
        let over = if text.split(',').any(|name| name == "tcp") { Carrier::Tcp } else { Carrier::Mpi };
        for name in text.split(',').filter(|name| !name.is_empty()) {
            match name {
                "aapc" => force.alltoall = Some(Way::Aapc { sync: SyncKind::Receiver, over }),
                "ring" => force.allgather = Some(Way::Ring { over }),
                "tcp" => {}
                "native" => force = Force { alltoall: Some(Way::Native), allgather: Some(Way::Native) },
                _ => return None,
            }
        }
        Some(force)
    }

    /// The way this collective is forced to go, if it is.
    pub fn way(self, collective: Collective) -> Option<Way> {
        match collective {
            Collective::Alltoall => self.alltoall,
            Collective::Allgather => self.allgather,
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
        assert_eq!((s.dir, s.force, s.verbose, problem), (Some(PathBuf::from("/shared")), Force::parse("ring").unwrap(), 2, None));
        let (s, problem) = env(&[("HEDDLE_FORCE", "fast"), ("HEDDLE_DIR", "")]);
        assert_eq!((s.dir, s.force), (None, Force::default()));
        assert!(problem.unwrap().contains("expected aapc, ring"));
    }

    #[test]
    fn a_forced_way_holds_where_it_can_be_gone() {
        let way = |text: &str, collective| Force::parse(text).unwrap().way(collective);
        assert_eq!(way("ring", Collective::Alltoall), None);
        assert_eq!(way("aapc,ring", Collective::Allgather), Some(Way::Ring { over: Carrier::Mpi }));
        assert_eq!(way("native", Collective::Alltoall), Some(Way::Native));
        assert_eq!(Force::parse("lg"), None);
    }
}
