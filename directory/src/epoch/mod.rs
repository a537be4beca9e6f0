//! Epoch files: the controller publishes them and the runtime loads them. Bytes in, bytes out.
//!
//! ```text
//! epochs/00000041/
//!     manifest.json    number, time, heddle's version, length and digest of each file below
//!     topology.yaml    the tree as a topology file of the contract, blocked links marked
//!     network.json     the topology as discovered, with evidence (`discover --format json`)
//!     alltoall.plan    the schedule of all hosts, compressed: in most networks less than an
//!                      octet per message. Beyond [`MOST_PLANNED`] hosts there is none; the
//!                      manifest then says so under `omitted`
//!     allgather.json   the ring of all hosts, the contract's JSON
//!     table.json       the decision table
//!     tuning.json      the measurements from which it follows, if any were made
//!     learned.json     what jobs had learned before, from which it follows, too
//! ```
//!
//! The caller gives a reader: `read(name, limit)` returns a file of the epoch's folder
//! ([`EpochPointer::folder`]). It must not return more than `limit + 1` octets and may stop there,
//! because a file that exceeds the limit is refused. A file is not trusted before its digest
//! matches. A matching digest alone does not make it trusted.
mod files;
mod outline;
mod plan_file;
#[cfg(test)]
mod tests;
mod verified;

use crate::layout::{ALLGATHER, ALLTOALL, LEARNED, NETWORK, TABLE, TOPOLOGY, TUNING, limit};
use crate::pointer::EpochPointer;
pub use files::{EpochError, OmittedFile};
use files::{EpochFolder, with_manifest};
use inventory::tree::TreeError;
use inventory::{Millis, Topology, TopologyFile, Tree};
pub use outline::EpochOutline;
use schedules::allgather::{self, AllgatherSchedule};
use schedules::alltoall::{self, AlltoallAlgorithm, AlltoallSchedule};
use schedules::bound::{self, PhaseBound};
use schedules::json;
use schedules::synchronization::SyncKind;
use schedules::synchronization::scheme::SyncScheme;
use schedules::verify::{self, ScheduleViolation};
use selection::decision_table::{Collective, DecisionTable, Mpi, Way};
use selection::learned::{LearnedFigures, LearnedPlace, LearnedWays};
use selection::tuning::TuningRuns;
use serde::Deserialize;
use std::io;
use std::sync::Arc;
pub use verified::VerifiedEpoch;

/// With more hosts there is no all-to-all among all of them. Its messages grow with the square of
/// the hosts, and a change of the tree would wait for it: at this size 0.4 s to 1.6 s to plan and
/// verify, at 2,048 hosts up to 10 s (docs/scaling.md). Ranks plan for their own communicator and
/// never read it; `heddle schedule` plans more on request.
pub const MOST_PLANNED: u32 = 1_024;

/// A published version: the network as found, and the schedules for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Epoch {
    /// Its number, from 1.
    pub number: u64,
    /// When it was made.
    pub at: Millis,
    /// The tree, blocked links marked.
    pub topology: Arc<TopologyFile>,
    /// The network as discovered.
    pub network: Arc<Topology>,
    /// The lower bound of every all-to-all of all hosts.
    pub bound: PhaseBound,
    /// The all-to-all of all hosts; `None` beyond [`MOST_PLANNED`].
    pub alltoall: Option<AlltoallSchedule>,
    /// The allgather of all hosts.
    pub allgather: AllgatherSchedule,
    /// The way of a call at each block size.
    pub table: DecisionTable,
    /// The measurements from which the table follows.
    pub tuning: TuningRuns,
    /// The figures that jobs had learned.
    pub learned: LearnedFigures,
}

/// The evidence for the ways in an epoch's decision table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WayEvidence {
    /// The measurements of `heddle tune`.
    pub tuning: TuningRuns,
    /// The figures that jobs learned.
    pub learned: LearnedFigures,
}

impl From<TuningRuns> for WayEvidence {
    fn from(tuning: TuningRuns) -> WayEvidence {
        WayEvidence {
            tuning,
            ..WayEvidence::default()
        }
    }
}

/// The reason why there is no epoch for a topology.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The topology is not a tree.
    #[error(transparent)]
    NoTree(#[from] TreeError),
    /// It is too large to publish.
    #[error(
        "topology has {0} hosts; schedules are published for up to {most}",
        most = json::MAX_RING
    )]
    TooLarge(u32),
    /// The verifier refused the schedule. This is a defect of heddle; nothing is published.
    #[error(
        "planned schedule is refused by the verifier: {0}; please report this with the topology"
    )]
    Refused(#[from] ScheduleViolation),
}

impl Epoch {
    /// Plans and verifies both collectives on `topology`, the all-to-all up to [`MOST_PLANNED`]
    /// hosts. The all-to-all has the first synchronization in the decision table that follows from
    /// the evidence; if the table has none, receivers give tokens.
    ///
    /// # Errors
    /// [`PlanError`].
    pub fn plan(
        number: u64,
        at: Millis,
        topology: impl Into<Arc<TopologyFile>>,
        network: impl Into<Arc<Topology>>,
        evidence: impl Into<WayEvidence>,
    ) -> Result<Epoch, PlanError> {
        let WayEvidence { tuning, learned } = evidence.into();
        let topology = topology.into();
        let tree = topology.tree()?;
        if tree.hosts() as usize > json::MAX_RING {
            return Err(PlanError::TooLarge(tree.hosts()));
        }
        let bound = bound_of(&tree);
        let table = table_of_all(&tree, &tuning, &learned);
        let alltoall = (tree.hosts() <= MOST_PLANNED)
            .then(|| whole(&tree, &table))
            .transpose()?;
        let allgather = allgather::plan(&tree);
        verify::allgather(&tree, &allgather)?;
        Ok(Epoch {
            number,
            at,
            topology,
            network: network.into(),
            bound,
            alltoall,
            allgather,
            table,
            tuning,
            learned,
        })
    }

    /// The decision table with the figures that jobs learned meanwhile on all hosts.
    ///
    /// # Errors
    /// [`TreeError`] if the topology is not a tree; that of a published epoch always is.
    pub fn table_with(&self, learned: &LearnedFigures) -> Result<DecisionTable, TreeError> {
        Ok(table_of_all(&self.topology.tree()?, &self.tuning, learned))
    }

    /// Names and contents of the files, the manifest last. `current` will hold
    /// [`EpochPointer::new`] of the manifest.
    pub fn files(&self) -> Vec<(&'static str, Vec<u8>)> {
        let network = serde_json::to_vec(&*self.network)
            .unwrap_or_else(|e| unreachable!("plain data always serializes: {e}"));
        let mut files = vec![
            (TOPOLOGY, self.topology.to_yaml().into_bytes()),
            (NETWORK, network),
        ];
        files.extend(
            self.alltoall
                .as_ref()
                .map(|plan| (ALLTOALL, plan_file::write(plan))),
        );
        files.push((
            ALLGATHER,
            json::write_allgather(&self.allgather).into_bytes(),
        ));
        files.push((TABLE, self.table.to_json().into_bytes()));
        files.extend(
            (!self.tuning.runs.is_empty()).then(|| (TUNING, self.tuning.to_json().into_bytes())),
        );
        files.extend(
            (!self.learned.is_empty()).then(|| (LEARNED, self.learned.to_json().into_bytes())),
        );
        with_manifest(self.number, self.at, files, self.omitted())
    }

    /// The files that a reader may miss, and the reason for each.
    fn omitted(&self) -> Vec<OmittedFile> {
        let hosts = self.allgather.hosts.len();
        let reason = format!(
            "{hosts} hosts: the all-to-all of all of them is written up to {MOST_PLANNED} hosts; \
             restrict {TOPOLOGY} to the hosts in question and plan on that, as `heddle schedule \
             alltoall --topology {TOPOLOGY} --hosts ...` does"
        );
        let omitted = OmittedFile {
            name: ALLTOALL.to_owned(),
            reason,
        };
        if self.alltoall.is_none() {
            vec![omitted]
        } else {
            vec![]
        }
    }

    /// Reads a whole epoch. `read` is described at the top of this module.
    ///
    /// # Errors
    /// [`EpochError`] that names the file that is missing, cut, altered, too long, or does not fit
    /// the others.
    pub fn open(
        pointer: &EpochPointer,
        read: impl FnMut(&str, u64) -> io::Result<Vec<u8>>,
    ) -> Result<Epoch, EpochError> {
        let mut folder = EpochFolder::open(pointer, read)?;
        let topology = folder.topology()?;
        let hosts: Vec<String> = topology.hosts.keys().cloned().collect();
        let network = folder.network()?;
        let tree = topology
            .tree()
            .map_err(|e| folder.error(TOPOLOGY, e.to_string()))?;
        let alltoall = if folder.omits(ALLTOALL) {
            None
        } else {
            Some(folder.parsed(ALLTOALL, plan_file::read)?)
        };
        if alltoall.as_ref().is_some_and(|plan| plan.hosts != hosts) {
            return Err(folder.error(ALLTOALL, format!("its hosts are not those of {TOPOLOGY}")));
        }
        let ring = folder.parsed(ALLGATHER, |bytes| {
            json::read_allgather(bytes).map_err(|e| e.to_string())
        })?;
        let Some(allgather) = ring.renumbered(&hosts) else {
            return Err(folder.error(ALLGATHER, format!("its hosts are not those of {TOPOLOGY}")));
        };
        let (table, tuning, learned) = (folder.table()?, folder.tuning()?, folder.learned()?);
        let bound = bound_of(&tree);
        Ok(Epoch {
            number: pointer.number,
            at: folder.at(),
            topology: topology.into(),
            network: network.into(),
            bound,
            alltoall,
            allgather,
            table,
            tuning,
            learned,
        })
    }
}

/// The decision table, with what jobs on all hosts learned about collectives that nobody tuned.
/// Process sets compute such entries for their own place.
fn table_of_all(tree: &Tree, tuning: &TuningRuns, learned: &LearnedFigures) -> DecisionTable {
    let mut table = tuning.table(tree);
    let host_of: Vec<u32> = (0..tree.hosts())
        .flat_map(|host| std::iter::repeat_n(host, tree.ranks(host) as usize))
        .collect();
    let ways = learned.ways();
    for mpi in Mpi::ALL {
        let place = LearnedPlace::new(tree, &host_of, mpi);
        let mut timings = ways.for_place(&place);
        timings.retain(|timing| table.is_untuned(timing.collective, mpi));
        table = table.with_learned(mpi, &timings);
    }
    table
}

/// The bound of the algorithm that fits the tree.
fn bound_of(tree: &Tree) -> PhaseBound {
    bound::bound(tree, &AlltoallAlgorithm::faster_for(tree).capacities(tree))
}

/// The all-to-all of all hosts, verified.
fn whole(tree: &Tree, table: &DecisionTable) -> Result<AlltoallSchedule, ScheduleViolation> {
    let told = table
        .entries(Collective::Alltoall)
        .iter()
        .find_map(|entry| {
            if let Way::Aapc { sync, .. } = entry.way {
                Some(sync)
            } else {
                None
            }
        });
    let plan = plan_file::in_file_order(alltoall::plan(
        tree,
        told.map_or(SyncKind::Receiver, SyncScheme::tokens),
    ));
    verify::alltoall(tree, &plan)?;
    Ok(plan)
}

/// The parts of an epoch that a rank needs to plan for its own communicator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeanEpoch {
    /// The epoch's number.
    pub number: u64,
    /// The tree, blocked links marked.
    pub topology: TopologyFile,
    /// The way of a call at each block size.
    pub table: DecisionTable,
    /// The figures that jobs learned. [`crate::following::EpochFollower`] reads them beside the epoch,
    /// where they are newer than in the epoch's folder.
    pub learned: LearnedWays,
}

impl LeanEpoch {
    /// Reads these parts of an epoch. `read` is described at the top of this module.
    ///
    /// # Errors
    /// As [`Epoch::open`], for the files it reads.
    pub fn open(
        pointer: &EpochPointer,
        read: impl FnMut(&str, u64) -> io::Result<Vec<u8>>,
    ) -> Result<LeanEpoch, EpochError> {
        let mut folder = EpochFolder::open(pointer, read)?;
        Ok(LeanEpoch {
            number: pointer.number,
            topology: folder.topology()?,
            table: folder.table()?,
            learned: LearnedWays::default(),
        })
    }

    /// The same with only what a process set at this place can start from, so that a broadcast
    /// stays small.
    #[must_use]
    pub fn restricted_to(self, place: &LearnedPlace) -> LeanEpoch {
        LeanEpoch {
            learned: self.learned.restricted_to(place),
            ..self
        }
    }

    /// The same for an MPI library whose own routines nobody has measured: without what is known of
    /// others.
    #[must_use]
    pub fn without_measurements(self) -> LeanEpoch {
        LeanEpoch {
            table: self.table.for_each_mpi(),
            learned: LearnedWays::default(),
            ..self
        }
    }

    /// The bytes for a broadcast among ranks of one heddle version.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (topology, table) = (self.topology.to_yaml(), self.table.to_json());
        let parts = (self.number, topology, table);
        let epoch = postcard::to_stdvec(&parts)
            .unwrap_or_else(|e| unreachable!("plain data always serializes: {e}"));
        let learned = postcard::to_stdvec(&self.learned)
            .unwrap_or_else(|e| unreachable!("plain data always serializes: {e}"));
        [&(epoch.len() as u64).to_le_bytes()[..], &epoch, &learned].concat()
    }

    /// True if these are bytes of the same epoch, whatever jobs learned. It parses nothing.
    pub fn are_of_one_epoch(a: &[u8], b: &[u8]) -> bool {
        let epoch = |bytes| split_broadcast(bytes).map(|(epoch, _)| epoch);
        epoch(a).is_some() && epoch(a) == epoch(b)
    }

    /// Reads the bytes of [`LeanEpoch::to_bytes`].
    ///
    /// # Errors
    /// [`EpochError`] if they are anything else.
    pub fn from_bytes(bytes: &[u8]) -> Result<LeanEpoch, EpochError> {
        let error = |problem: String| EpochError {
            epoch: 0,
            file: "broadcast".to_owned(),
            problem,
        };
        if bytes.len() as u64 > limit(TOPOLOGY) + limit(TABLE) + limit(LEARNED) {
            return Err(error(format!("{} octets are too many", bytes.len())));
        }
        let (epoch, learned) =
            split_broadcast(bytes).ok_or_else(|| error("it is cut".to_owned()))?;
        let (number, topology, table): (u64, String, String) =
            read_postcard(epoch).map_err(error)?;
        let learned: LearnedWays = read_postcard(learned).map_err(error)?;
        let table = DecisionTable::from_json(table.as_bytes()).map_err(|e| error(e.to_string()))?;
        let topology =
            TopologyFile::parse(TOPOLOGY, &topology).map_err(|e| error(e.to_string()))?;
        Ok(LeanEpoch {
            number,
            topology,
            table,
            learned,
        })
    }
}

impl From<&Epoch> for LeanEpoch {
    fn from(epoch: &Epoch) -> LeanEpoch {
        LeanEpoch {
            number: epoch.number,
            topology: TopologyFile::clone(&epoch.topology),
            table: epoch.table.clone(),
            learned: LearnedWays::default(),
        }
    }
}

/// The epoch in the bytes of a broadcast, and the figures that jobs learned.
fn split_broadcast(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)
}

/// All of `bytes` as one value.
fn read_postcard<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, String> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => Err(format!("{} octets follow the end", rest.len())),
        Err(e) => Err(e.to_string()),
    }
}
