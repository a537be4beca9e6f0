//! The schedules and the decision table of all hosts of a network, and the files of several networks.
//!
//! ```text
//! networks.json                    names and prefixes, the main network first
//! networks/management/             a further network
//!     topology.yaml    alltoall.plan    allgather.json    table.json
//! ```
//!
//! The main network's files lie in the epoch's folder itself, as if it were the only one.
use super::files::EpochFolder;
use super::{EpochError, MOST_PLANNED, PlanError, bound_of, plan_file};
use crate::layout::{ALLGATHER, ALLTOALL, NETWORKS, TABLE, TOPOLOGY, in_network};
use inventory::topology_file::is_network_name;
use inventory::{TopologyFile, Tree};
use ipnet::IpNet;
use policy::decision_table::{Collective, DecisionTable};
use schedules::allgather::{self, AllgatherSchedule};
use schedules::alltoall::{self, AlltoallSchedule};
use schedules::bound::PhaseBound;
use schedules::json;
use schedules::synchronization::SyncKind;
use schedules::synchronization::scheme::SyncScheme;
use schedules::verify::{self, ScheduleViolation};
use serde::{Deserialize, Serialize};
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
        let alltoall = self.alltoall.as_ref();
        let alltoall = alltoall.map(|plan| (ALLTOALL, plan_file::write(plan)));
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
        let allgather = ring.renumbered(&hosts);
        let allgather = allgather.ok_or_else(|| folder.error(&path(ALLGATHER), of_others))?;
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

/// A network in the list of networks.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ListedNetwork {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prefix: Option<IpNet>,
}

/// The files of the trees: the main one is written as if it were the only one.
pub(super) fn topology_files(topology: &TopologyFile) -> Vec<(String, Vec<u8>)> {
    let one = |network: &TopologyFile| {
        let alone = TopologyFile {
            name: None,
            prefix: None,
            ..network.alone()
        };
        alone.to_yaml().into_bytes()
    };
    let mut files = vec![(TOPOLOGY.to_owned(), one(topology))];
    if topology.name.is_none() {
        return files;
    }
    let listed = topology.all_networks().map(|network| ListedNetwork {
        name: network.name.clone().unwrap_or_default(),
        prefix: network.prefix,
    });
    let listed = serde_json::to_vec_pretty(&listed.collect::<Vec<_>>())
        .unwrap_or_else(|e| unreachable!("plain data always serializes: {e}"));
    files.push((NETWORKS.to_owned(), listed));
    for (name, network) in &topology.networks {
        files.push((in_network(name, TOPOLOGY), one(network)));
    }
    files
}

/// Reads the trees of all networks; `read` gives a file of this name, if there is one.
///
/// # Errors
/// That of `read`, and `refuse` of a file's name and problem.
pub(super) fn topology<E>(
    mut read: impl FnMut(&str) -> Result<Option<Vec<u8>>, E>,
    refuse: impl Fn(&str, String) -> E,
) -> Result<TopologyFile, E> {
    let mut main = tree(TOPOLOGY, &mut read, &refuse)?;
    let Some(listed) = read(NETWORKS)? else {
        return Ok(main);
    };
    let listed: Vec<ListedNetwork> =
        serde_json::from_slice(&listed).map_err(|e| refuse(NETWORKS, e.to_string()))?;
    for ListedNetwork { name, prefix } in listed {
        let is_known = main.name.as_ref() == Some(&name) || main.networks.contains_key(&name);
        if is_known || !is_network_name(&name) {
            return Err(refuse(
                NETWORKS,
                format!("{name:?} cannot name a network here"),
            ));
        }
        if main.name.is_none() {
            (main.name, main.prefix) = (Some(name), prefix);
            continue;
        }
        let file = in_network(&name, TOPOLOGY);
        let mut network = tree(&file, &mut read, &refuse)?;
        (network.name, network.prefix) = (Some(name.clone()), prefix);
        main.networks.insert(name, network);
    }
    Ok(main)
}

/// One tree.
fn tree<E>(
    name: &str,
    read: &mut impl FnMut(&str) -> Result<Option<Vec<u8>>, E>,
    refuse: &impl Fn(&str, String) -> E,
) -> Result<TopologyFile, E> {
    let bytes = read(name)?.ok_or_else(|| refuse(name, "it is missing".to_owned()))?;
    let text = std::str::from_utf8(&bytes).map_err(|e| refuse(name, e.to_string()))?;
    let file = TopologyFile::parse(name, text).map_err(|e| refuse(name, e.to_string()))?;
    if file.name.is_some() {
        return Err(refuse(
            name,
            format!("it names networks, which {NETWORKS} does"),
        ));
    }
    Ok(file)
}
