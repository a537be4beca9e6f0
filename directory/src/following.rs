//! Following the published epochs, as the helper of a rank does. It reads whole files only and
//! checks every digest. When anything is wrong it reports that and keeps nothing.
//!
//! Beside the epoch it reads the figures that jobs learned. An epoch can be used without them.
use crate::bounded;
use crate::epoch::LeanEpoch;
use crate::job_record::reading::{JobFileStamp, JobFileStat};
use crate::layout::{CURRENT, LEARNED, limit};
use crate::pointer::EpochPointer;
use crate::reading::{learned, reader};
use inventory::unreadable;
use policy::learned::LearnedWays;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The learned figures are read again after this time at the earliest: only process sets that begin to
/// follow an epoch use it.
const LEARNED_INTERVAL: Duration = Duration::from_secs(30);

/// The shared directory as last seen.
#[derive(Debug)]
pub struct EpochFollower {
    dir: PathBuf,
    /// The line of `current` that was last opened, and its epoch.
    seen: Option<(String, LeanEpoch)>,
    learned: LearnedFile,
}

/// `learned.json` as last read.
#[derive(Debug, Default)]
struct LearnedFile {
    /// When it was looked at, and its stamp then.
    looked: Option<(Instant, Option<JobFileStamp>)>,
    ways: LearnedWays,
    problem: Option<String>,
}

/// The result of a look.
#[derive(Debug)]
pub enum ReaderOutcome {
    /// The same epoch as before.
    Same,
    /// Another epoch, or newer figures of jobs beside the same one.
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
            learned: LearnedFile::default(),
        }
    }

    /// Reads the pointer, and the epoch if it differs from the last one. An epoch that could not be
    /// opened is tried again at the next look, because a file may still be on its way to this host.
    /// After that it is new again.
    pub fn look(&mut self) -> ReaderOutcome {
        match self.open(Instant::now()) {
            Ok(None) => ReaderOutcome::Same,
            Ok(Some(lean)) => ReaderOutcome::New(Box::new(lean)),
            Err(problem) => {
                // A caller that was notified of this failure must be notified of the epoch again once it is
                // back.
                self.seen = None;
                ReaderOutcome::Unusable(problem)
            }
        }
    }

    /// Why the figures of jobs could not be read, once for each reason. The epoch is used without them.
    pub fn take_complaint(&mut self) -> Option<String> {
        self.learned.problem.take()
    }

    fn open(&mut self, now: Instant) -> Result<Option<LeanEpoch>, String> {
        let current = self.dir.join(CURRENT);
        let octets = bounded::read(&current, limit(CURRENT)).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound if !self.dir.is_dir() => {
                format!("{}: no such directory on this host", self.dir.display())
            }
            io::ErrorKind::NotFound => format!("{}: no epoch published yet", self.dir.display()),
            _ => format!("{}: {}", current.display(), unreadable::reason(&e)),
        })?;
        let line = String::from_utf8_lossy(&octets).into_owned();
        if let Some((seen, lean)) = &self.seen
            && *seen == line
        {
            let lean = self.learned.look(&self.dir, now).then(|| lean.clone());
            return Ok(lean.map(|lean| self.with_learned(lean)));
        }
        let pointer: EpochPointer = line
            .parse()
            .map_err(|e| format!("{}: {e}", current.display()))?;
        let folder = self.dir.join(pointer.folder());
        let lean = LeanEpoch::open(&pointer, reader(folder))
            .map_err(|e| format!("{}: {e}", self.dir.display()))?;
        self.seen = Some((line, lean.clone()));
        self.learned.look(&self.dir, now);
        Ok(Some(self.with_learned(lean)))
    }

    fn with_learned(&self, lean: LeanEpoch) -> LeanEpoch {
        LeanEpoch {
            learned: self.learned.ways.clone(),
            ..lean
        }
    }
}

impl LearnedFile {
    /// Reads the file, if it is time and it changed. Returns whether jobs say something else now.
    /// The content of the last good file stays in use while the present one is bad.
    fn look(&mut self, dir: &Path, now: Instant) -> bool {
        if self
            .looked
            .as_ref()
            .is_some_and(|(at, _)| now.saturating_duration_since(*at) < LEARNED_INTERVAL)
        {
            return false;
        }
        let stamp = JobFileStat::at(&dir.join(LEARNED)).map(|stat| stat.stamp);
        let before = self.looked.replace((now, stamp));
        if before.is_some_and(|(_, before)| before == stamp) {
            return false;
        }
        match learned(dir) {
            Ok(figures) => {
                let ways = figures.ways();
                let before = std::mem::replace(&mut self.ways, ways);
                before != self.ways
            }
            Err(e) => {
                self.problem = Some(format!("{e}; no newer figures of jobs are used"));
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoch::{Epoch, WayEvidence};
    use crate::publishing::EpochStore;
    use inventory::{Bytes, Millis, Topology, TopologyFile};
    use policy::decision_table::{Collective, Mpi};
    use policy::learned::figures::JobLesson;
    use policy::learned::{LearnedFigures, LearnedPlace, LearnedTiming, RecordedTiming};
    use std::fs;

    const TREE: &str = "switches: [s]\nhosts: {a: {switch: s}, b: {switch: s}}\n";

    /// Publishes an epoch of one switch by hand.
    fn publish(dir: &Path) {
        let topology = TopologyFile::parse("tree", TREE).unwrap();
        let epoch = Epoch::plan(
            1,
            Millis(0),
            topology,
            Topology::default(),
            WayEvidence::default(),
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

    /// The figures that a job of ann learned on the two hosts.
    fn figures() -> LearnedFigures {
        let timings = [timing("native", 2000), timing("aapc tcp", 1000)];
        let lesson = JobLesson {
            user: "ann".to_owned(),
            job: 1,
            at: Millis(1),
            timings: timings.map(RecordedTiming::from).into(),
        };
        let mut figures = LearnedFigures::default();
        figures.merge(&place(), lesson);
        figures
    }

    fn timing(way: &str, mean_ns: u64) -> LearnedTiming {
        LearnedTiming {
            collective: Collective::Alltoall,
            from: Bytes(1024),
            way: way.parse().unwrap(),
            samples: 9,
            mean_ns,
            error_ns: 1,
        }
    }

    fn place() -> LearnedPlace {
        let tree = TopologyFile::parse("tree", TREE).unwrap().tree().unwrap();
        LearnedPlace::new(&tree, &[0, 1], Mpi::Mpich)
    }

    #[test]
    fn what_jobs_learned_comes_with_the_epoch_and_newer_figures_are_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let store = EpochStore::open(dir.path(), 9).unwrap();
        publish(dir.path());
        let mut follower = EpochFollower::new(dir.path());
        let mut look = |later: u64| {
            follower.learned.looked.iter_mut().for_each(|(at, _)| {
                *at = at.checked_sub(Duration::from_secs(later)).unwrap();
            });
            match follower.look() {
                ReaderOutcome::New(lean) => Some(lean.restricted_to(&place())),
                _ => None,
            }
        };
        assert!(look(0).unwrap().learned.is_empty());
        store.write_learned(&figures()).unwrap();
        assert_eq!(look(0), None, "not yet");
        let lean = look(60).unwrap();
        let learned = lean.learned.for_place(&place());
        assert_eq!(learned[0].way.to_string(), "aapc tcp");
        assert_eq!(LeanEpoch::from_bytes(&lean.to_bytes()), Ok(lean));
        assert_eq!(look(60), None);
        store.write_learned(&figures()).unwrap();
        assert_eq!(look(60), None, "another file that says the same");
    }

    #[test]
    fn a_bad_file_of_figures_is_reported_once_and_the_epoch_is_used() {
        let dir = tempfile::tempdir().unwrap();
        publish(dir.path());
        fs::write(dir.path().join(LEARNED), "{").unwrap();
        let mut follower = EpochFollower::new(dir.path());
        let ReaderOutcome::New(lean) = follower.look() else {
            panic!("the epoch is not used");
        };
        assert!(lean.learned.is_empty());
        let problem = follower.take_complaint().unwrap();
        assert!(problem.contains("learned.json: no figures"), "{problem}");
        assert!(matches!(follower.look(), ReaderOutcome::Same));
        assert_eq!(follower.take_complaint(), None);
    }
}
