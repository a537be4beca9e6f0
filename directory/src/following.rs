//! Following the published epochs, as the helper of a rank does. It reads whole files only and
//! checks every digest. When anything is wrong it reports that and keeps nothing.
use crate::bounded;
use crate::epoch::LeanEpoch;
use crate::layout::{CURRENT, limit};
use crate::pointer::EpochPointer;
use crate::reading::reader;
use std::io;
use std::path::{Path, PathBuf};

/// The shared directory as last seen.
#[derive(Debug)]
pub struct EpochFollower {
    dir: PathBuf,
    /// The line of `current` that was last opened.
    seen: Option<String>,
}

/// The result of a look.
#[derive(Debug)]
pub enum ReaderOutcome {
    /// The same epoch as before.
    Same,
    /// Another epoch.
    New(Box<LeanEpoch>),
    /// There is no usable epoch, for this reason.
    Unusable(String),
}

impl EpochFollower {
    /// A follower that has not looked yet.
    pub fn new(dir: &Path) -> EpochFollower {
        EpochFollower {
            dir: dir.to_owned(),
            seen: None,
        }
    }

    /// Reads the pointer, and the epoch if it differs from the last one. An epoch that could not be
    /// opened is tried again at the next look, because a file may still be on its way to this host.
    /// After that it is new again.
    pub fn look(&mut self) -> ReaderOutcome {
        match self.open() {
            Ok(None) => ReaderOutcome::Same,
            Ok(Some((line, lean))) => {
                self.seen = Some(line);
                ReaderOutcome::New(Box::new(lean))
            }
            Err(problem) => {
                // A caller that was told of this failure must be told of the epoch again once it is
                // back.
                self.seen = None;
                ReaderOutcome::Unusable(problem)
            }
        }
    }

    fn open(&self) -> Result<Option<(String, LeanEpoch)>, String> {
        let current = self.dir.join(CURRENT);
        let line = bounded::read(&current, limit(CURRENT)).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound if !self.dir.is_dir() => {
                format!("{}: no such directory on this host", self.dir.display())
            }
            io::ErrorKind::NotFound => format!("{}: no epoch published yet", self.dir.display()),
            _ => format!("{}: {e}", current.display()),
        })?;
        let line = String::from_utf8_lossy(&line).into_owned();
        if self.seen.as_ref() == Some(&line) {
            return Ok(None);
        }
        let pointer: EpochPointer = line
            .parse()
            .map_err(|e| format!("{}: {e}", current.display()))?;
        let folder = self.dir.join(pointer.folder());
        let lean = LeanEpoch::open(&pointer, reader(folder))
            .map_err(|e| format!("{}: {e}", self.dir.display()))?;
        Ok(Some((line, lean)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoch::Epoch;
    use inventory::{Millis, Topology, TopologyFile};
    use selection::tuning::TuningRuns;
    use std::fs;

    /// Publishes an epoch of one switch by hand.
    fn publish(dir: &Path) {
        let topology = TopologyFile::parse(
            "tree",
            "switches: [s]\nhosts: {a: {switch: s}, b: {switch: s}}\n",
        )
        .unwrap();
        let epoch = Epoch::plan(
            1,
            Millis(0),
            topology,
            Topology::default(),
            TuningRuns::default(),
        )
        .unwrap();
        let files = epoch.files();
        let manifest = &files
            .iter()
            .find(|(name, _)| *name == "manifest.json")
            .unwrap()
            .1;
        let pointer = EpochPointer::new(1, manifest);
        fs::create_dir_all(dir.join(pointer.folder())).unwrap();
        files.iter().for_each(|(name, octets)| {
            fs::write(dir.join(pointer.folder()).join(name), octets).unwrap()
        });
        fs::write(dir.join("current"), pointer.to_string()).unwrap();
    }

    #[test]
    fn an_epoch_that_was_out_of_sight_is_new_again() {
        let dir = tempfile::tempdir().unwrap();
        publish(dir.path());
        let mut follower = EpochFollower::new(dir.path());
        assert!(matches!(follower.look(), ReaderOutcome::New(_)));
        assert!(matches!(follower.look(), ReaderOutcome::Same));
        fs::rename(dir.path().join("current"), dir.path().join("away")).unwrap();
        assert!(matches!(follower.look(), ReaderOutcome::Unusable(_)));
        fs::rename(dir.path().join("away"), dir.path().join("current")).unwrap();
        assert!(matches!(follower.look(), ReaderOutcome::New(_)));
        assert!(matches!(follower.look(), ReaderOutcome::Same));
    }
}
