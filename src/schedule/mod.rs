//! `heddle schedule`
mod allgather;
mod alltoall;
mod drawn;

use crate::CommandOutcome;
use crate::flags::NameList;
use crate::input_file::PlannedTopology;
use anyhow::{Context, anyhow, bail};
use inventory::{TopologyFile, Tree, counted, ranks};
use schedules::json::MAX_HOSTS;
use std::path::Path;

/// Plan a collective for a topology file and print the schedule
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    collective: ScheduleCollective,
}

#[derive(clap::Subcommand)]
enum ScheduleCollective {
    /// All-to-all: phases without contention, and the tokens between them
    Alltoall(alltoall::Args),
    /// Allgather: a logical ring in which no two messages use one link in the same direction
    Allgather(allgather::Args),
}

/// Flags of both collectives.
#[derive(clap::Args)]
struct ScheduleArgs {
    #[command(flatten)]
    topology: PlannedTopology,
    /// The hosts that take part, each with all of its ranks, in this order: n0,n1 or node[01-40]
    /// [default: all]
    #[arg(long, value_name = "HOST,...")]
    hosts: Vec<NameList>,
    /// The form of the output
    #[arg(long, value_enum, default_value_t = ScheduleFormat::Text)]
    format: ScheduleFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ScheduleFormat {
    /// For people
    #[value(alias = "summary")]
    Text,
    /// The whole schedule, for heddle verify and other programs
    Json,
    /// A picture of the phases against the links, as a Gantt chart
    Svg,
    /// A C file with an MPI routine that follows the schedule
    C,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<CommandOutcome> {
    match &args.collective {
        ScheduleCollective::Alltoall(args) => alltoall::run(args),
        ScheduleCollective::Allgather(args) => allgather::run(args),
    }
}

/// Planning for more ranks takes too long, and every reader of schedules refuses them.
const MOST_RANKS: u64 = MAX_HOSTS as u64;

/// The tree of the ranks on the `chosen` hosts of a topology, or on all hosts if none is chosen.
/// More than `most` ranks are an error.
pub(crate) fn tree_of(
    file: &Path,
    topology: &TopologyFile,
    chosen: &[String],
    most: u64,
) -> anyhow::Result<Tree> {
    let place = file.display();
    let whole = topology.tree().with_context(|| place.to_string())?;
    let hosts = if chosen.is_empty() {
        whole
    } else {
        let restricted = whole.restrict(chosen);
        restricted.map_err(|e| anyhow!("{place}: {e}; nothing was done"))?
    };
    let number = ranks::count(&hosts);
    if number > most {
        bail!(
            "{}: {number} ranks are more than this command can handle ({most}); choose hosts with \
             --hosts, or state fewer ranks",
            place
        );
    }
    let single = number == u64::from(hosts.hosts());
    if single {
        Ok(hosts)
    } else {
        ranks::tree(&hosts, &ranks::names(&hosts)).with_context(|| place.to_string())
    }
}

/// `6 hosts on 4 switches`, `12 ranks on 6 hosts, 4 switches and 1 router`.
fn size(tree: &Tree, topology: &TopologyFile) -> String {
    let leaves = tree.host_names();
    let shared: std::collections::BTreeSet<&str> = leaves
        .iter()
        .filter_map(|name| Some(name.split_once(':')?.0))
        .collect();
    let inner = (tree.hosts()..tree.nodes()).map(|v| tree.name(v));
    let (routers, switches): (Vec<&str>, Vec<&str>) = inner
        .filter(|name| !shared.contains(name))
        .partition(|name| topology.routers.iter().any(|r| r == name));
    let mut others = Vec::new();
    if !shared.is_empty() {
        let alone = leaves.iter().filter(|name| !name.contains(':')).count();
        others.push(counted(alone + shared.len(), "host"));
    }
    others.push(counted(switches.len(), "switch"));
    others.extend((!routers.is_empty()).then(|| counted(routers.len(), "router")));
    let last = others.pop().unwrap_or_default();
    let below = if others.is_empty() {
        last
    } else {
        format!("{} and {last}", others.join(", "))
    };
    let leaf = if shared.is_empty() { "host" } else { "rank" };
    format!("{} on {below}", counted(leaves.len(), leaf))
}
