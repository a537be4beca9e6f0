//! `heddle verify`
use crate::CommandOutcome;
use crate::input_file::PlannedTopology;
use anyhow::{Context, anyhow, bail};
use inventory::unreadable::UnreadableFile;
use inventory::{Tree, counted, ranks, sanitize};
use schedules::json::{self, MAX_BYTES, Schedule};
use schedules::verify;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Check a schedule against a topology file and name the first violation
///
/// Exit status 1: the schedule breaks a rule, or was cut off or altered. Exit status 64: the file
/// holds no schedule.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    topology: PlannedTopology,
    /// The schedule, as printed by `heddle schedule --format json`. It may be for some of the
    /// topology's hosts only. The check does not include whether a ring is the shortest
    #[arg(value_name = "SCHEDULE.json")]
    schedule: PathBuf,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<CommandOutcome> {
    let topology = args.topology.read()?;
    let tree = topology
        .tree()
        .with_context(|| args.topology.path.display().to_string())?;
    let bytes = read(&args.schedule)?;
    let checked = json::read(&bytes)
        .map_err(|e| e.to_string())
        .and_then(|schedule| check(&tree, &schedule));
    Ok(match checked {
        Ok(summary) => {
            say!("ok: {summary}");
            CommandOutcome::Done
        }
        Err(problem) if is_foreign(&bytes) => bail!(
            "{}: {}; nothing was verified",
            args.schedule.display(),
            sanitize::visible(&problem)
        ),
        Err(violation) => {
            say!("violation: {}", sanitize::visible(&violation)); // Names in it are the file's.
            CommandOutcome::CheckFailed
        }
    })
}

/// True of a file that does not belong to a schedule: another format, or JSON about something else.
fn is_foreign(bytes: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct AnySchedule {
        #[serde(rename = "collective")]
        _collective: serde::de::IgnoredAny,
    }
    let read = serde_json::from_slice::<AnySchedule>(bytes);
    // A schedule that was cut off ends in the middle of its JSON: that is a violation.
    read.is_err_and(|e| bytes.is_empty() || !e.is_eof())
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One octet more lets the reader refuse a file that is too long.
    let read = File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes));
    read.map_err(|cause| anyhow!("{}; nothing was verified", UnreadableFile::new(path, cause)))?;
    Ok(bytes)
}

/// A summary of the schedule, or its first violation. A host that the topology does not have is
/// one, too.
fn check(tree: &Tree, schedule: &Schedule) -> Result<String, String> {
    let hosts = hosts(schedule);
    let tree_of_hosts = ranks::tree(tree, hosts).map_err(|e| e.to_string())?;
    let several = ranks::count(tree) > u64::from(tree.hosts());
    let among = format!(
        "{} of {} {}",
        hosts.len(),
        ranks::count(tree),
        if several { "ranks" } else { "hosts" }
    );
    match schedule {
        Schedule::Alltoall(plan) => {
            verify::alltoall(&tree_of_hosts, plan).map_err(|e| e.to_string())?;
            Ok(format!(
                "all-to-all among {among}: {} (bound {}), {}, {}",
                counted(plan.phases.len(), "phase"),
                plan.bound.phases,
                counted(plan.messages(), "message"),
                counted(plan.syncs.len(), "synchronization")
            ))
        }
        Schedule::Lg(plan) => {
            verify::lg(&tree_of_hosts, plan).map_err(|e| e.to_string())?;
            let transfers: usize = plan.steps.iter().map(Vec::len).sum();
            Ok(format!(
                "all-to-all among {among} in {}: {}, {}, {} of them over {}-{}",
                counted(plan.clusters.len(), "cluster"),
                counted(plan.steps.len(), "step"),
                counted(transfers, "message"),
                plan.messages,
                plan.bound.edge.0,
                plan.bound.edge.1
            ))
        }
        Schedule::Allgather(plan) => {
            verify::allgather(&tree_of_hosts, plan).map_err(|e| e.to_string())?;
            Ok(format!(
                "allgather among {among}: longest path {}",
                plan.longest_path
            ))
        }
    }
}

fn hosts(schedule: &Schedule) -> &[String] {
    match schedule {
        Schedule::Alltoall(plan) => &plan.hosts,
        Schedule::Lg(plan) => &plan.hosts,
        Schedule::Allgather(plan) => &plan.hosts,
    }
}
