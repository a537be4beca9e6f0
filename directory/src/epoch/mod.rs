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
//!     hops.json        what answers along the ways of a routed fabric, if anything does
//!     flows.json       flows whose ways counters showed, where nothing answers
//!     networks.json, networks/    where there are several: [`network_files`]
//! ```
//!
//! The caller gives a reader: `read(name, limit)` returns a file of the epoch's folder
//! ([`EpochPointer::folder`]). It must not return more than `limit + 1` octets and may stop there,
//! because a file that exceeds the limit is refused. A file is not trusted before its digest
//! matches. A matching digest alone does not make it trusted.
mod files;
mod network_files;
mod network_schedules;
mod outline;
mod plan_file;
#[cfg(test)]
mod tests;

use crate::layout::{
    ALLTOALL, FLOWS, HOPS, LEARNED, NETWORK, TABLE, TOPOLOGY, TUNING, in_network, limit,
};
use crate::pointer::EpochPointer;
pub use files::{EpochError, OmittedFile};
use files::{EpochFolder, with_manifest};
use inventory::networks::UnknownNetwork;
use inventory::stages::flows::KnownFlow;
use inventory::stages::hops::WayHop;
use inventory::tree::TreeError;
use inventory::{Millis, Topology, TopologyFile, Tree};
pub use network_schedules::NetworkSchedules;
pub use outline::EpochOutline;
use policy::decision_table::{DecisionTable, Mpi};
use policy::learned::{LearnedFigures, LearnedPlace, LearnedWays};
use policy::measurements::TuningRuns;
use schedules::alltoall::AlltoallAlgorithm;
use schedules::bound::{self, PhaseBound};
use schedules::json;
use schedules::verify::ScheduleViolation;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;

/// With more hosts there is no all-to-all among all of them. Its messages grow with the square of
/// the hosts, and a change of the tree would wait for it: at this size 0.4 s to 1.6 s to plan and
/// verify, at 2,048 hosts up to 10 s (docs/figures.md). Ranks plan for their own communicator and
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
    /// The hops that answer along its ways.
    pub hops: Vec<WayHop>,
    /// Flows whose ways are known.
    pub flows: Vec<KnownFlow>,
    /// The schedules of all hosts.
    pub schedules: NetworkSchedules,
    /// Those of the topology's further networks, in their order.
    pub further: Vec<NetworkSchedules>,
    /// The measurements from which the decision tables follow.
    pub tuning: TuningRuns,
    /// The figures that jobs had learned.
    pub learned: LearnedFigures,
}

/// The decision table for a tree that follows from measurements: `forecast::tuning::table`, which jobs do
/// not preload.
pub type TableOfRuns = fn(&TuningRuns, &Tree) -> DecisionTable;

/// The evidence for the ways in an epoch's decision table.
#[derive(Debug, Clone)]
pub struct WayEvidence {
    tuning: TuningRuns,
    learned: LearnedFigures,
    table: TableOfRuns,
}

/// Nobody has measured, and no job has learned.
impl Default for WayEvidence {
    fn default() -> WayEvidence {
        WayEvidence::learned(LearnedFigures::default())
    }
}

impl WayEvidence {
    /// Measurements, with the table that follows from them, and the figures that jobs learned.
    pub fn new(tuning: TuningRuns, learned: LearnedFigures, table: TableOfRuns) -> WayEvidence {
        WayEvidence {
            tuning,
            learned,
            table,
        }
    }

    /// Nobody has measured.
    pub fn learned(learned: LearnedFigures) -> WayEvidence {
        WayEvidence::new(TuningRuns::default(), learned, |_, tree| {
            DecisionTable::of_all_hosts(tree)
        })
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
    pub fn plan(
        number: u64,
        at: Millis,
        topology: impl Into<Arc<TopologyFile>>,
        network: impl Into<Arc<Topology>>,
        evidence: WayEvidence,
    ) -> Result<Epoch, PlanError> {
        let WayEvidence {
            tuning,
            learned,
            table,
        } = evidence;
        let topology = topology.into();
        let plan = |network: &TopologyFile, is_main: bool| {
            let tree = network.tree()?;
            let tuning = tuning.on_network(network.name.as_deref(), is_main);
            NetworkSchedules::plan(&tree, table_of_all(&tree, table(&tuning, &tree), &learned))
        };
        let schedules = plan(&topology, true)?;
        let plans = topology.networks.values().map(|other| plan(other, false));
        let further = plans.collect::<Result<Vec<_>, PlanError>>()?;
        let network = network.into();
        let found = network.hops();
        Ok(Epoch {
            number,
            at,
            hops: if found.is_empty() {
                topology.hops()
            } else {
                found
            },
            flows: Vec::new(),
            topology,
            network,
            schedules,
            further,
            tuning,
            learned,
        })
    }

    /// The schedules of a network; the main one's without a name.
    pub fn schedules_of(&self, network: Option<&str>) -> Option<&NetworkSchedules> {
        match network {
            Some(name) if self.topology.name.as_deref() != Some(name) => {
                self.further.get(self.topology.networks.get_index_of(name)?)
            }
            _ => Some(&self.schedules),
        }
    }

    /// The decision table that follows from the measurements and the figures that jobs learned meanwhile on
    /// all hosts.
    ///
    /// # Errors
    /// [`TreeError`] if the topology is not a tree; that of a published epoch always is.
    pub fn table_with(
        &self,
        learned: &LearnedFigures,
        table: TableOfRuns,
    ) -> Result<DecisionTable, TreeError> {
        let tuning = self.tuning.on_network(self.topology.name.as_deref(), true);
        let tree = self.topology.tree()?;
        Ok(table_of_all(&tree, table(&tuning, &tree), learned))
    }

    /// Names and contents of the files, the manifest last. `current` will hold
    /// [`EpochPointer::new`] of the manifest.
    pub fn files(&self) -> Vec<(String, Vec<u8>)> {
        let mut files = network_files::topology_files(&self.topology);
        let mut own = vec![(NETWORK, as_json(&*self.network))];
        if !self.hops.is_empty() {
            own.push((HOPS, as_json(&self.hops)));
        }
        if !self.flows.is_empty() {
            own.push((FLOWS, as_json(&self.flows)));
        }
        own.extend(self.schedules.files());
        if !self.tuning.runs.is_empty() {
            own.push((TUNING, self.tuning.to_json().into_bytes()));
        }
        if !self.learned.is_empty() {
            own.push((LEARNED, self.learned.to_json().into_bytes()));
        }
        files.extend(
            own.into_iter()
                .map(|(name, bytes)| (name.to_owned(), bytes)),
        );
        for (network, schedules) in self.topology.networks.keys().zip(&self.further) {
            let named = (schedules.files()).into_iter();
            files.extend(named.map(|(name, bytes)| (in_network(network, name), bytes)));
        }
        with_manifest(self.number, self.at, files, self.omitted())
    }

    /// The files that a reader may miss, and the reason for each.
    fn omitted(&self) -> Vec<OmittedFile> {
        let others = self.topology.networks.keys().zip(&self.further);
        let further = others.map(|(network, schedules)| (in_network(network, ""), schedules));
        let all = [(String::new(), &self.schedules)]
            .into_iter()
            .chain(further);
        let without = all.filter(|(_, schedules)| schedules.alltoall.is_none());
        let omitted = without.map(|(folder, schedules)| OmittedFile {
            name: format!("{folder}{ALLTOALL}"),
            reason: format!(
                "{} hosts: the all-to-all of all of them is written up to {MOST_PLANNED} hosts; \
                 restrict {folder}{TOPOLOGY} to the hosts in question and plan on that, as `heddle \
                 schedule alltoall --topology {TOPOLOGY} --hosts ...` does",
                schedules.allgather.hosts.len()
            ),
        });
        omitted.collect()
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
        let network = folder.network()?;
        let schedules = NetworkSchedules::open(&mut folder, &topology, str::to_owned)?;
        let mut further = Vec::new();
        for (name, tree) in &topology.networks {
            further.push(NetworkSchedules::open(&mut folder, tree, |file| {
                in_network(name, file)
            })?);
        }
        let (tuning, learned) = (folder.tuning()?, folder.learned()?);
        Ok(Epoch {
            number: pointer.number,
            at: folder.at(),
            hops: folder.hops()?,
            flows: folder.flows()?,
            topology: topology.into(),
            network: network.into(),
            schedules,
            further,
            tuning,
            learned,
        })
    }
}

fn as_json(plain: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(plain).unwrap_or_else(|e| unreachable!("plain data always serializes: {e}"))
}

/// The decision table, with what jobs on all hosts learned about collectives that nobody tuned.
/// Process sets compute such entries for their own place.
fn table_of_all(tree: &Tree, mut table: DecisionTable, learned: &LearnedFigures) -> DecisionTable {
    let host_of: Vec<u32> = (0..tree.hosts())
        .flat_map(|host| std::iter::repeat_n(host, tree.ranks(host) as usize))
        .collect();
    let ways = learned.ways();
    for mpi in Mpi::ALL {
        let taught = learned.places().map(|(place, _, _)| place.mpi);
        let newest = taught.filter(|of| of.measured() == Some(mpi)).max();
        let place = LearnedPlace::new(tree, &host_of, newest.unwrap_or(mpi.into()));
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

/// The parts of an epoch that a rank needs to plan for its own communicator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeanEpoch {
    pub number: u64,
    /// The tree, blocked links marked.
    pub topology: TopologyFile,
    /// The hops that answer along its ways.
    pub hops: Vec<WayHop>,
    /// Flows whose ways are known.
    pub flows: Vec<KnownFlow>,
    /// The way of a call at each block size.
    pub table: DecisionTable,
    /// The same in further networks, by name, until one is chosen. Epochs of former versions have none.
    pub further_tables: BTreeMap<String, DecisionTable>,
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
        let topology = folder.topology()?;
        let mut further_tables = BTreeMap::new();
        for name in topology.networks.keys() {
            let file = in_network(name, TABLE);
            if folder.lists(&file) {
                further_tables.insert(name.clone(), folder.table(&file)?);
            }
        }
        Ok(LeanEpoch {
            number: pointer.number,
            topology,
            hops: folder.hops()?,
            flows: folder.flows()?,
            table: folder.table(TABLE)?,
            further_tables,
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

    /// The same for the network of this name alone.
    ///
    /// # Errors
    /// [`NetworkChoiceError`]; the links of a published epoch always are a tree.
    pub fn in_network(mut self, name: &str) -> Result<LeanEpoch, NetworkChoiceError> {
        let is_main = self.topology.name.as_deref() == Some(name);
        let topology = self.topology.in_network(name)?;
        let table = match self.further_tables.remove(name) {
            Some(table) => table,
            None if is_main => self.table,
            None => DecisionTable::of_all_hosts(&topology.tree()?),
        };
        Ok(LeanEpoch {
            topology,
            table,
            further_tables: BTreeMap::new(),
            ..self
        })
    }

    /// The same for the main network alone.
    #[must_use]
    pub fn in_main_network(mut self) -> LeanEpoch {
        self.topology.networks.clear();
        self.further_tables.clear();
        self
    }

    /// The bytes for a broadcast among ranks of one heddle version.
    pub fn to_bytes(&self) -> Vec<u8> {
        let topology = network_files::topology_files(&self.topology);
        let further: BTreeMap<&str, String> = self
            .further_tables
            .iter()
            .map(|(name, table)| (name.as_str(), table.to_json()))
            .collect();
        let table = self.table.to_json();
        let ways = (&self.hops, &self.flows);
        let parts = (self.number, topology, ways, table, further);
        let epoch = postcard::to_stdvec(&parts)
            .unwrap_or_else(|e| unreachable!("plain data always serializes: {e}"));
        let learned = postcard::to_stdvec(&self.learned)
            .unwrap_or_else(|e| unreachable!("plain data always serializes: {e}"));
        LeanEpoch::joined(&epoch, &learned)
    }

    /// The epoch in bytes of [`LeanEpoch::to_bytes`], and what jobs learned; `None` if the bytes are cut.
    pub fn parts(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
        let (length, rest) = bytes.split_first_chunk()?;
        rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)
    }

    /// The bytes of these parts.
    pub fn joined(epoch: &[u8], learned: &[u8]) -> Vec<u8> {
        [&(epoch.len() as u64).to_le_bytes()[..], epoch, learned].concat()
    }

    /// True if these are bytes of the same epoch, whatever jobs learned. It parses nothing.
    pub fn are_of_one_epoch(a: &[u8], b: &[u8]) -> bool {
        let [a, b] = [a, b].map(|bytes| LeanEpoch::parts(bytes).map(|(epoch, _)| epoch));
        a.is_some() && a == b
    }

    /// Reads the bytes of [`LeanEpoch::to_bytes`].
    ///
    /// # Errors
    /// [`EpochError`] if they are anything else.
    pub fn from_bytes(bytes: &[u8]) -> Result<LeanEpoch, EpochError> {
        let most = [TOPOLOGY, HOPS, FLOWS, TABLE, LEARNED]
            .map(limit)
            .iter()
            .sum();
        if bytes.len() as u64 > most {
            return Err(broadcast_error(format!(
                "{} octets are too many",
                bytes.len()
            )));
        }
        let (epoch, learned) =
            LeanEpoch::parts(bytes).ok_or_else(|| broadcast_error("it is cut".to_owned()))?;
        let BroadcastEpoch(number, topology, (hops, flows), table, further) =
            read_postcard(epoch).map_err(broadcast_error)?;
        let learned: LearnedWays = read_postcard(learned).map_err(broadcast_error)?;
        let table = broadcast_table(&table)?;
        let further_tables = further
            .into_iter()
            .map(|(name, json)| Ok((name, broadcast_table(&json)?)))
            .collect::<Result<_, EpochError>>()?;
        let texts: HashMap<String, Vec<u8>> = topology.into_iter().collect();
        let topology = network_files::topology(
            |name| Ok(texts.get(name).cloned()),
            |file, problem| broadcast_error(format!("{file}: {problem}")),
        )?;
        Ok(LeanEpoch {
            number,
            topology,
            hops,
            flows,
            table,
            further_tables,
            learned,
        })
    }
}

fn broadcast_table(json: &str) -> Result<DecisionTable, EpochError> {
    DecisionTable::from_json(json.as_bytes()).map_err(|e| broadcast_error(e.to_string()))
}

fn broadcast_error(problem: String) -> EpochError {
    EpochError {
        epoch: 0,
        file: "broadcast".to_owned(),
        problem,
    }
}

/// The number of an epoch in a broadcast, its topology files by name, what tells its ways, and its tables: the
/// main network's, and those of further ones by name.
#[derive(Deserialize)]
struct BroadcastEpoch(
    u64,
    Vec<(String, Vec<u8>)>,
    (Vec<WayHop>, Vec<KnownFlow>),
    String,
    BTreeMap<String, String>,
);

/// A network of an epoch that a job cannot follow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NetworkChoiceError {
    /// The epoch has no such network.
    #[error(transparent)]
    Unknown(#[from] UnknownNetwork),
    /// Its links do not form a tree.
    #[error(transparent)]
    NoTree(#[from] TreeError),
}

impl From<&Epoch> for LeanEpoch {
    fn from(epoch: &Epoch) -> LeanEpoch {
        let further = epoch.topology.networks.keys().zip(&epoch.further);
        LeanEpoch {
            number: epoch.number,
            topology: TopologyFile::clone(&epoch.topology),
            hops: epoch.hops.clone(),
            flows: epoch.flows.clone(),
            table: epoch.schedules.table.clone(),
            further_tables: further
                .map(|(name, schedules)| (name.clone(), schedules.table.clone()))
                .collect(),
            learned: LearnedWays::default(),
        }
    }
}

/// All of `bytes` as one value.
fn read_postcard<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, String> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => Err(format!("{} octets follow the end", rest.len())),
        Err(e) => Err(e.to_string()),
    }
}

/// An epoch whose schedules the verifier has passed. There is no other way to make one, so no other
/// epoch can be published.
#[derive(Debug, Clone)]
pub struct VerifiedEpoch(Epoch);

impl VerifiedEpoch {
    /// Plans and verifies the collectives of all hosts. The evidence decides the way at each block
    /// size.
    ///
    /// # Errors
    /// [`PlanError`] where the file does not describe a tree, or the verifier refuses the plan.
    pub fn plan(
        number: u64,
        at: Millis,
        file: impl Into<Arc<TopologyFile>>,
        network: impl Into<Arc<Topology>>,
        evidence: WayEvidence,
    ) -> Result<VerifiedEpoch, PlanError> {
        Epoch::plan(number, at, file, network, evidence).map(VerifiedEpoch)
    }

    /// The same with flows whose ways are known. They make no schedule wrong.
    #[must_use]
    pub fn with_flows(self, flows: Vec<KnownFlow>) -> VerifiedEpoch {
        VerifiedEpoch(Epoch { flows, ..self.0 })
    }

    /// The epoch.
    pub fn epoch(&self) -> &Epoch {
        &self.0
    }
}
