//! One run of measurements, launch by launch: the ways that take turns next, and the figures at the
//! end.
//!
//! Input: the reports of the benchmark program, one for each launch. Guarantee: all launches of a
//! session ran on the same hosts and followed the same epoch. If a launch asked for a way and no
//! call went it, the way is not asked for again and is not part of the figures. After each launch
//! the slower ways are left out ([`halving`]).
use super::algorithms::ForcedAlgorithms;
use super::{TimedCalls, halving};
use crate::calibration::CallCalibration;
use inventory::tree::{Tree, TreeError};
use inventory::{Bytes, Millis, TopologyFile};
use policy::decision_table::{Collective, Mpi};
use policy::measurements::{CallTiming, LibraryTiming, MEASURED, MeasuredPlace, TuningRun};
use policy::ways::{WAYS, Way};
use std::collections::BTreeMap;

/// The ways that take turns first: the library's own and the requested ones. If none is requested,
/// all that may be the fastest.
///
/// # Errors
/// [`TreeError`] if the file's links are not a tree.
pub fn contenders(asked: &[Way], topology: &TopologyFile) -> Result<Vec<Way>, TreeError> {
    let mut ways = vec![Way::Native];
    if asked.is_empty() {
        let tree = topology.tree()?;
        ways.extend(WAYS.iter().flat_map(|row| row.contenders(&tree, topology)));
    }
    ways.extend(asked.iter().filter(|way| **way != Way::Native));
    Ok(ways)
}

/// Those of `ways` that are worth a first launch: a way stays unless it is predicted to be slower
/// than another one at every size, by more than both predictions are off. Ways without a prediction
/// stay.
pub fn promising(
    calibration: &CallCalibration,
    tree: &Tree,
    mpi: Mpi,
    sizes: &[Bytes],
    ways: Vec<Way>,
) -> Vec<Way> {
    // The least and the most time that a prediction leaves possible.
    let range = |way: Way, collective: Collective, block: Bytes| {
        let time = calibration.time(tree, (way.with_usual_sync(), mpi), collective, block)?;
        let off = 1.0 + time.error?;
        Some((time.seconds / off, time.seconds * off))
    };
    let is_hopeless = |way: Way, collective: Collective, block: Bytes| {
        let Some((least, _)) = range(way, collective, block) else {
            return false;
        };
        let others = ways.iter().filter(|other| other.serves(collective));
        others
            .filter_map(|other| range(*other, collective, block))
            .any(|(_, most)| most < least)
    };
    let worth = ways.iter().copied().filter(|way| {
        let mut served = MEASURED.into_iter().filter(|it| way.serves(*it));
        *way == Way::Native
            || served.any(|collective| {
                let mut sizes = sizes.iter();
                sizes.any(|block| !is_hopeless(*way, collective, *block))
            })
    });
    worth.collect()
}

/// The reason why launches cannot be combined.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SessionError {
    /// Another epoch was published during the session.
    #[error("epoch {found} came while epoch {measured} was measured; run heddle tune again")]
    OtherEpoch {
        /// The epoch of the launch.
        found: u64,
        /// The epoch of the session.
        measured: u64,
    },
    /// The launcher chose other hosts.
    #[error(
        "launch {launch} ran on other hosts than the first one; give the launcher a fixed list of \
         hosts"
    )]
    OtherHosts {
        /// The number of the launch.
        launch: u32,
    },
    /// A host is not in the epoch's tree.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// Nothing was launched.
    #[error("at least one launch")]
    NoLaunch,
}

/// The job of a launch.
#[derive(Debug, Clone, Copy)]
pub struct LaunchedJob<'a> {
    /// The MPI library's version.
    pub library: &'a str,
    /// The host of each rank.
    pub hosts: &'a [String],
    /// The epoch that it followed.
    pub epoch: u64,
    /// The ways that its calls really went.
    pub gone: &'a [Way],
}

/// Measurements in progress.
#[derive(Debug)]
pub struct TuningSession<'a> {
    tree: &'a Tree,
    epoch: u64,
    launch: u32,
    turns: Vec<Way>,
    /// Ways that were asked for but that no call went.
    not_gone: Vec<Way>,
    place: Option<(String, MeasuredPlace)>,
    calls: TimedCalls,
    pings: BTreeMap<Bytes, Vec<f64>>,
    forced: BTreeMap<(Collective, &'static str, Bytes), Vec<f64>>,
}

impl<'a> TuningSession<'a> {
    /// Begins with these ways, on the tree of an epoch.
    pub fn new(tree: &'a Tree, epoch: u64, ways: Vec<Way>) -> TuningSession<'a> {
        let (calls, pings, forced) = (TimedCalls::default(), BTreeMap::new(), BTreeMap::new());
        TuningSession {
            tree,
            epoch,
            launch: 0,
            turns: ways,
            not_gone: Vec::new(),
            place: None,
            calls,
            pings,
            forced,
        }
    }

    /// The ways that take turns in the next launch, or took turns in the last one.
    pub fn turns(&self) -> &[Way] {
        &self.turns
    }

    /// Takes the job of a launch. Its times follow ([`TuningSession::add`],
    /// [`TuningSession::add_pings`]).
    ///
    /// # Errors
    /// [`SessionError`] if the launch cannot be combined with those before.
    pub fn launched(&mut self, job: LaunchedJob<'_>) -> Result<(), SessionError> {
        self.launch += 1;
        if job.epoch != self.epoch {
            return Err(SessionError::OtherEpoch {
                found: job.epoch,
                measured: self.epoch,
            });
        }
        let here = MeasuredPlace::of(self.tree, job.hosts)?;
        if self.place.as_ref().is_some_and(|(_, first)| *first != here) {
            return Err(SessionError::OtherHosts {
                launch: self.launch,
            });
        }
        self.place = Some((job.library.to_owned(), here));
        for way in &self.turns {
            if !job.gone.contains(way) && !self.not_gone.contains(way) {
                self.not_gone.push(*way);
            }
        }
        Ok(())
    }

    /// Adds the times of rows of calls that took turns.
    pub fn add(&mut self, collective: Collective, block: Bytes, seconds: &[f64]) {
        let turns: Vec<Way> = self
            .turns
            .iter()
            .copied()
            .filter(|way| way.serves(collective))
            .collect();
        self.calls.add(collective, block, &turns, seconds);
    }

    /// Adds the times of messages between two hosts.
    pub fn add_pings(&mut self, block: Bytes, seconds: &[f64]) {
        self.pings.entry(block).or_default().extend(seconds);
    }

    /// Adds the times of calls that the library made by a forced algorithm. The first call does not
    /// count.
    pub fn add_forced(
        &mut self,
        algorithms: &ForcedAlgorithms,
        collective: Collective,
        block: Bytes,
        seconds: &[f64],
    ) {
        let times = self
            .forced
            .entry((collective, algorithms.name(collective), block))
            .or_default();
        times.extend(seconds.iter().skip(1));
    }

    /// Leaves out the ways that are not worth another launch, and says which.
    pub fn narrow(&mut self) -> Vec<Way> {
        self.turns.retain(|way| !self.not_gone.contains(way));
        let kept = halving::kept(&self.calls.medians(), &self.turns);
        let mut left = std::mem::replace(&mut self.turns, kept);
        left.retain(|way| !self.turns.contains(way));
        left
    }

    /// Ways that were asked for but that no call went. The table leaves them out.
    pub fn not_gone(&self) -> &[Way] {
        &self.not_gone
    }

    /// All measurements, without the trials that may follow.
    ///
    /// # Errors
    /// [`SessionError::NoLaunch`] without a launch.
    pub fn finish(self, at: Millis, mpi: Mpi) -> Result<TuningRun, SessionError> {
        let (library, place) = self.place.ok_or(SessionError::NoLaunch)?;
        let gone = self
            .calls
            .figures()
            .into_iter()
            .filter(|figure| !self.not_gone.contains(&figure.way));
        let (figures, early) = gone.partition(|figure| self.turns.contains(&figure.way));
        let forced = self
            .forced
            .into_iter()
            .filter_map(|((collective, name, block), seconds)| {
                Some(LibraryTiming {
                    collective,
                    name: name.to_owned(),
                    timing: CallTiming::from_runs(block, &seconds)?,
                })
            });
        Ok(TuningRun {
            at,
            mpi,
            library,
            network: None,
            epoch: self.epoch,
            place,
            pingpong: self
                .pings
                .iter()
                .filter_map(|(&block, seconds)| CallTiming::from_runs(block, seconds))
                .collect(),
            figures,
            early,
            trials: Vec::new(),
            algorithms: forced.collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::ways::DataCarrier;

    const FILE: &str =
        "switches: [s0]\nhosts: {n0: {switch: s0}, n1: {switch: s0}, n2: {switch: s0}}";
    const OVER_TCP: Way = Way::Ring {
        over: DataCarrier::Tcp,
    };
    const OVER_MPI: Way = Way::Ring {
        over: DataCarrier::Mpi,
    };

    fn job<'a>(hosts: &'a [String], epoch: u64) -> LaunchedJob<'a> {
        LaunchedJob {
            library: "L 1",
            hosts,
            epoch,
            gone: &[Way::Native, OVER_MPI],
        }
    }

    #[test]
    fn launches_of_another_epoch_or_on_other_hosts_are_refused() {
        let tree = TopologyFile::parse("t", FILE).unwrap().tree().unwrap();
        let mut session = TuningSession::new(&tree, 7, vec![Way::Native, OVER_MPI]);
        let (first, other) = (
            ["n0", "n1"].map(str::to_owned),
            ["n0", "n2"].map(str::to_owned),
        );
        assert_eq!(
            session.launched(job(&first, 8)),
            Err(SessionError::OtherEpoch {
                found: 8,
                measured: 7
            })
        );
        assert_eq!(session.launched(job(&first, 7)), Ok(()));
        assert_eq!(
            session.launched(job(&other, 7)),
            Err(SessionError::OtherHosts { launch: 3 })
        );
        assert_eq!(
            TuningSession::new(&tree, 7, vec![]).finish(Millis(0), Mpi::Mpich),
            Err(SessionError::NoLaunch)
        );
    }

    #[test]
    fn a_way_that_no_call_went_is_left_out() {
        let tree = TopologyFile::parse("t", FILE).unwrap().tree().unwrap();
        let mut session = TuningSession::new(&tree, 7, vec![Way::Native, OVER_MPI, OVER_TCP]);
        session
            .launched(job(&["n0", "n1"].map(str::to_owned), 7))
            .unwrap();
        session.add(Collective::Allgather, Bytes(8), &[1.0; 12]);
        session.narrow();
        assert_eq!(
            (session.turns(), session.not_gone()),
            (&[Way::Native, OVER_MPI][..], &[OVER_TCP][..])
        );
        let run = session.finish(Millis(0), Mpi::Mpich).unwrap();
        assert_eq!(
            run.figures
                .iter()
                .map(|figure| figure.way)
                .collect::<Vec<_>>(),
            [OVER_MPI, Way::Native],
            "the second round goes backwards"
        );
    }

    #[test]
    fn what_is_predicted_to_be_slower_at_every_size_is_not_tried() {
        let hosts: Vec<String> = (0..16)
            .map(|host| format!("n{host}: {{switch: s, rate: 20M}}"))
            .collect();
        let text = format!("switches: [s]\nhosts: {{{}}}", hosts.join(", "));
        let tree = TopologyFile::parse("t", &text).unwrap().tree().unwrap();
        let bundled = Way::Bundled;
        let asked = vec![Way::Native, bundled, OVER_MPI, OVER_TCP];
        let tried = |size: u64| {
            let shipped = CallCalibration::shipped();
            promising(shipped, &tree, Mpi::OpenMpi, &[Bytes(size)], asked.clone())
        };
        assert_eq!(
            tried(1 << 18),
            [Way::Native, bundled, OVER_TCP],
            "the ring over MPI takes a fifth longer; nothing is predicted of the others' rival"
        );
        assert_eq!(tried(1 << 13), asked, "there both rings are about as fast");
    }

    #[test]
    fn contenders_are_those_asked_for_and_the_librarys_own() {
        let file = TopologyFile::parse("t", FILE).unwrap();
        assert_eq!(
            contenders(&[OVER_TCP, Way::Native], &file).unwrap(),
            [Way::Native, OVER_TCP]
        );
        let all = contenders(&[], &file).unwrap();
        assert!(
            all.contains(&Way::Bundled) && !all.contains(&Way::Lg),
            "{all:?}"
        );
    }
}
