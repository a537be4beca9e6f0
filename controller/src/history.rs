//! The history: the epochs in a shared directory, and the changes from each one to the next.
use api::{EpochInfo, StageTimes};
use directory::epoch::EpochOutline;
use directory::layout::{EPOCHS, folder};
use directory::reading::{current, numbers, reader};
use inventory::{Millis, Topology, counted, diff};
use policy::decision_table::DecisionTable;
use schedules::alltoall::AlltoallAlgorithm;
use schedules::bound;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

/// An epoch in the shared directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistoryEntry {
    /// Number, time, changes and figures. Only the controller that published the epoch knows its
    /// stages.
    #[serde(flatten)]
    pub info: EpochInfo,
    /// `current` points to it.
    pub current: bool,
    /// The reason why it cannot be used; the figures are then empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Every epoch kept in a shared directory, oldest first.
///
/// # Errors
/// The system's refusal to list the directory; a damaged epoch is an entry with a problem.
pub fn read(dir: &Path) -> io::Result<Vec<HistoryEntry>> {
    let pointed = current(dir).ok().flatten().map(|p| p.number);
    let mut before: Option<(Topology, DecisionTable)> = None;
    let mut entries = Vec::new();
    for number in numbers(&dir.join(EPOCHS))? {
        let is_current = pointed == Some(number);
        match open(dir, number) {
            Ok((mut info, network, table)) => {
                if let Some((network_before, table_before)) = &before {
                    info.changes = diff::diff(network_before, &network)
                        .iter()
                        .map(ToString::to_string)
                        .collect();
                    info.changes
                        .extend((*table_before != table).then(|| table.summary()));
                }
                before = Some((network, table));
                entries.push(HistoryEntry {
                    info,
                    current: is_current,
                    problem: None,
                });
            }
            Err(problem) => {
                let info = EpochInfo {
                    number,
                    ..EpochInfo::default()
                };
                entries.push(HistoryEntry {
                    info,
                    current: is_current,
                    problem: Some(problem),
                });
            }
        }
    }
    Ok(entries)
}

/// The network of an epoch, as discovered.
///
/// # Errors
/// The reason why the epoch cannot be used.
pub fn network(dir: &Path, number: u64) -> Result<Topology, String> {
    open(dir, number).map(|(_, network, _)| network)
}

/// An entry for people: one line, and one more for each change.
pub fn text(entry: &HistoryEntry) -> String {
    let info = &entry.info;
    let mark = if entry.current { "*" } else { " " };
    let head = match &entry.problem {
        Some(problem) => format!("{mark} {:>6}  {problem}\n", info.number),
        None => {
            let at = moment(info.at);
            let (from, to) = &info.bottleneck;
            let phases = match info.bound_only {
                true => format!(
                    "at least {} (too many hosts for a schedule among all of them)",
                    counted(info.phases, "phase")
                ),
                false => counted(info.phases, "phase"),
            };
            format!(
                "{mark} {:>6}  {at}  {}, {phases}, bottleneck {from} -> {to}\n",
                info.number,
                counted(info.hosts, "host")
            )
        }
    };
    info.changes
        .iter()
        .fold(head, |text, change| text + &format!("{:10}{change}\n", ""))
}

/// A time for people, in UTC.
pub fn moment(at: Millis) -> String {
    let at = i64::try_from(at.0)
        .ok()
        .and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    at.map_or_else(
        || "at an unknown time".to_owned(),
        |at| at.strftime("%Y-%m-%d %H:%M:%SZ").to_string(),
    )
}

/// The figures of an epoch, and its network and table, for the comparison with the next one.
fn open(dir: &Path, number: u64) -> Result<(EpochInfo, Topology, DecisionTable), String> {
    let outline =
        EpochOutline::open(number, reader(dir.join(folder(number)))).map_err(|e| e.to_string())?;
    let tree = outline
        .topology
        .tree()
        .map_err(|e| format!("epoch {number}: {e}"))?;
    let bound = bound::bound(
        &tree,
        &AlltoallAlgorithm::faster_for(&tree).capacities(&tree),
    );
    let info = EpochInfo {
        number,
        at: outline.at,
        changes: Vec::new(),
        phases: bound.phases,
        bound_only: !outline.omitted.is_empty(),
        bottleneck: bound.edge,
        hosts: tree.hosts(),
        stages: StageTimes {
            seen: outline.at,
            ..StageTimes::default()
        },
    };
    Ok((info, outline.network, outline.table))
}
