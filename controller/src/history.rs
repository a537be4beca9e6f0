//! The history: the epochs in a shared directory, and the changes from each one to the next.
use api::{EpochInfo, StageTimes};
use directory::epoch::EpochOutline;
use directory::layout::{EPOCHS, folder};
use directory::reading::{current, numbers, reader};
use inventory::diff::host_changes;
use inventory::{Millis, Topology, counted, diff};
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
    let mut before: Option<EpochOutline> = None;
    let mut entries = Vec::new();
    for number in numbers(&dir.join(EPOCHS))? {
        let is_current = pointed == Some(number);
        match open(dir, number) {
            Ok((mut info, outline)) => {
                if let Some(before) = &before {
                    info.changes = diff::diff(&before.network, &outline.network)
                        .iter()
                        .map(ToString::to_string)
                        .chain(host_changes(&before.topology, &outline.topology))
                        .chain((before.table != outline.table).then(|| outline.table.summary()))
                        .collect();
                }
                before = Some(outline);
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
    open(dir, number).map(|(_, outline)| outline.network)
}

/// An entry for people: one line, and one more for each change.
pub fn text(entry: &HistoryEntry) -> String {
    let info = &entry.info;
    let mark = if entry.current { "*" } else { " " };
    let head = match &entry.problem {
        Some(problem) => format!("{mark} {:>6}  {problem}\n", info.number),
        None => {
            let at = moment(info.at);
            let hosts = counted(info.hosts, "host");
            format!("{mark} {:>6}  {at}  {hosts}, {}\n", info.number, load(info))
        }
    };
    info.changes
        .iter()
        .fold(head, |text, change| text + &format!("{:10}{change}\n", ""))
}

/// The phases of an all-to-all among all hosts, and its bottleneck.
fn load(info: &EpochInfo) -> String {
    let (from, to) = &info.bottleneck;
    let phases = counted(info.phases, "phase");
    match (info.phases, info.bound_only) {
        (0, _) => "nothing to send".to_owned(),
        (_, false) => format!("{phases}, bottleneck {from} -> {to}"),
        (_, true) => format!(
            "at least {phases} (too many hosts for a schedule among all of them), bottleneck \
             {from} -> {to}"
        ),
    }
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

/// The figures of an epoch, and what it says of itself, for the comparison with the next one.
fn open(dir: &Path, number: u64) -> Result<(EpochInfo, EpochOutline), String> {
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
    Ok((info, outline))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::stated;
    use crate::publish::KEEP;
    use directory::epoch::{VerifiedEpoch, WayEvidence};
    use directory::publishing::EpochStore;
    use inventory::TopologyFile;

    #[test]
    fn one_host_has_nothing_to_send_and_other_ranks_are_a_change() {
        let dir = tempfile::tempdir().unwrap();
        let store = EpochStore::open(dir.path(), KEEP).unwrap();
        for (hosts, ranks) in [("n0", 1), ("n[0-5]", 1), ("n[0-5]", 2)] {
            let text =
                format!("switches: [s0]\nhosts: {{'{hosts}': {{switch: s0, ranks: {ranks}}}}}\n");
            let file = TopologyFile::parse("t", &text).unwrap();
            let (number, network) = (store.next().unwrap(), stated(&file));
            let evidence = WayEvidence::default();
            let epoch = VerifiedEpoch::plan(number, Millis(1), file, network, evidence).unwrap();
            store.publish(&epoch).unwrap();
        }
        let entries = read(dir.path()).unwrap();
        assert!(text(&entries[0]).ends_with("  1 host, nothing to send\n"));
        let changes = &entries[2].info.changes;
        assert_eq!(changes[0], "n0, n1, n2, n3 and 2 more offer 2 ranks");
    }
}
