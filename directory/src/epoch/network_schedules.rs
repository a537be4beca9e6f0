//! The schedules and the decision table of all hosts of a network.
use super::files::EpochFolder;
use super::{EpochError, MOST_PLANNED, PlanError, bound_of, plan_file};
use crate::layout::{ALLGATHER, ALLTOALL, TABLE, TOPOLOGY};
use inventory::{TopologyFile, Tree};
use policy::decision_table::{Collective, DecisionTable};
use schedules::allgather::{self, AllgatherSchedule};
use schedules::alltoall::{self, AlltoallSchedule};
use schedules::bound::PhaseBound;
use schedules::json;
use schedules::synchronization::SyncKind;
use schedules::synchronization::scheme::SyncScheme;
use schedules::verify::{self, ScheduleViolation};
use std::io;

/// The schedules of all hosts of a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkSchedules {
    /// The lower bound of every all-to-all of all hosts.
    pub bound: PhaseBound,
    /// The all-to-all of all hosts; `None` beyond [`MOST_PLANNED`].
    pub alltoall: Option<AlltoallSchedule>,
    /// The allgather of all hosts.
    pub allgather: AllgatherSchedule,
    /// The way of a call at each block size.
    pub table: DecisionTable,
}

impl NetworkSchedules {
    /// Plans and verifies both collectives. The all-to-all has the first synchronization in the table; if
    /// the table has none, receivers give tokens.
    pub(super) fn plan(tree: &Tree, table: DecisionTable) -> Result<NetworkSchedules, PlanError> {
        if tree.hosts() as usize > json::MAX_RING {
            return Err(PlanError::TooLarge(tree.hosts()));
        }
        let alltoall = (tree.hosts() <= MOST_PLANNED)
            .then(|| whole(tree, &table))
            .transpose()?;
        let allgather = allgather::plan(tree);
        verify::allgather(tree, &allgather)?;
        Ok(NetworkSchedules {
            bound: bound_of(tree),
            alltoall,
            allgather,
            table,
        })
    }

    /// The contents of their files, by name.
    pub(super) fn files(&self) -> Vec<(&'static str, Vec<u8>)> {
        let planned = self.alltoall.as_ref();
        let alltoall = planned.map(|plan| (ALLTOALL, plan_file::write(plan)));
        let allgather = json::write_allgather(&self.allgather).into_bytes();
        alltoall
            .into_iter()
            .chain([
                (ALLGATHER, allgather),
                (TABLE, self.table.to_json().into_bytes()),
            ])
            .collect()
    }

    /// Reads those of a tree; `path` gives the path of a file in the epoch's folder.
    pub(super) fn open<R: FnMut(&str, u64) -> io::Result<Vec<u8>>>(
        folder: &mut EpochFolder<R>,
        topology: &TopologyFile,
        path: impl Fn(&str) -> String,
    ) -> Result<NetworkSchedules, EpochError> {
        let tree = topology
            .tree()
            .map_err(|e| folder.error(&path(TOPOLOGY), e.to_string()))?;
        let hosts: Vec<String> = topology.hosts.keys().cloned().collect();
        let of_others = format!("its hosts are not those of {}", path(TOPOLOGY));
        let alltoall = if folder.omits(&path(ALLTOALL)) {
            None
        } else {
            Some(folder.parsed(&path(ALLTOALL), plan_file::read)?)
        };
        if alltoall.as_ref().is_some_and(|plan| plan.hosts != hosts) {
            return Err(folder.error(&path(ALLTOALL), of_others));
        }
        let ring = folder.parsed(&path(ALLGATHER), |bytes| {
            json::read_allgather(bytes).map_err(|e| e.to_string())
        })?;
        let allgather = ring
            .renumbered(&hosts)
            .ok_or_else(|| folder.error(&path(ALLGATHER), of_others))?;
        Ok(NetworkSchedules {
            bound: bound_of(&tree),
            alltoall,
            allgather,
            table: match path(TABLE) {
                file if file != TABLE && !folder.lists(&file) => {
                    DecisionTable::of_all_hosts(&tree) // Written by a former version.
                }
                file => folder.table(&file)?,
            },
        })
    }
}

/// The all-to-all of all hosts, verified.
fn whole(tree: &Tree, table: &DecisionTable) -> Result<AlltoallSchedule, ScheduleViolation> {
    let sync = table
        .entries(Collective::Alltoall)
        .iter()
        .find_map(|entry| entry.way.sync());
    let plan = plan_file::in_file_order(alltoall::plan(
        tree,
        sync.map_or(SyncKind::Receiver, SyncScheme::tokens),
    ));
    verify::alltoall(tree, &plan)?;
    Ok(plan)
}
