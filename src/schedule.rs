//! `heddle schedule`
use crate::Outcome;
use anyhow::Context;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use inventory::{TopologyFile, Tree};
use schedules::alltoall::{Alltoall, plan_reduced};
use schedules::bound::Bound;
use schedules::sync::{Reduction, SyncKind, syncs};
use schedules::{allgather, json};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Flags of `heddle schedule`.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    collective: Collective,
}

#[derive(clap::Subcommand)]
enum Collective {
    /// All-to-all: contention-free phases, and the tokens that keep them apart
    Alltoall(AlltoallArgs),
    /// Allgather: a logical ring in which no two messages share a link
    Allgather(AllgatherArgs),
}

#[derive(clap::Args)]
struct Common {
    /// Topology file
    #[arg(long, value_name = "FILE")]
    topology: PathBuf,
    /// Plan for these hosts only, in this order
    #[arg(long, value_name = "HOST,...", value_delimiter = ',')]
    hosts: Vec<String>,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Summary)]
    format: Format,
}

#[derive(clap::Args)]
struct AlltoallArgs {
    #[command(flatten)]
    common: Common,
    /// How to plan; auto takes aapc, which counts every link as equally fast
    #[arg(long, value_enum, default_value_t = AlltoallAlgorithm::Auto)]
    algorithm: AlltoallAlgorithm,
    /// What keeps messages of different phases apart
    #[arg(long, default_value_t = SyncKind::Receiver,
        value_parser = PossibleValuesParser::new(["none", "sender", "receiver", "barrier"]).try_map(|name| name.parse::<SyncKind>()))]
    sync: SyncKind,
    /// Leave out every token that others imply
    #[arg(long)]
    minimal: bool,
}

#[derive(clap::Args)]
struct AllgatherArgs {
    #[command(flatten)]
    common: Common,
    /// How to plan; auto takes lr1
    #[arg(long, value_enum, default_value_t = AllgatherAlgorithm::Auto)]
    algorithm: AllgatherAlgorithm,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    /// For people
    Summary,
    /// The whole schedule, as heddle verify reads it
    Json,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum AlltoallAlgorithm {
    Auto,
    Aapc,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum AllgatherAlgorithm {
    Auto,
    Lr1,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    match &args.collective {
        Collective::Alltoall(args) => alltoall(args),
        Collective::Allgather(args) => allgather(args),
    }
}

fn alltoall(args: &AlltoallArgs) -> anyhow::Result<Outcome> {
    let (AlltoallAlgorithm::Auto | AlltoallAlgorithm::Aapc) = args.algorithm;
    let tree = tree(&args.common)?;
    let plan = plan_reduced(&tree, args.sync, if args.minimal { Reduction::Minimal } else { Reduction::Chain });
    print(&match args.common.format {
        Format::Json => json::write_alltoall(&plan),
        Format::Summary => alltoall_summary(&tree, &plan, args.sync),
    })
}

fn allgather(args: &AllgatherArgs) -> anyhow::Result<Outcome> {
    let (AllgatherAlgorithm::Auto | AllgatherAlgorithm::Lr1) = args.algorithm;
    let tree = tree(&args.common)?;
    let plan = allgather::plan(&tree);
    let ring: Vec<&str> = plan.ring.iter().map(|&h| tree.name(h)).collect();
    print(&match args.common.format {
        Format::Json => json::write_allgather(&plan),
        Format::Summary => format!(
            "allgather among {}\nalgorithm     {}\nring          {}\nlongest path  {} between neighbours\ncontention    none: no link carries two messages in one direction\n",
            size(&tree),
            plan.algorithm,
            ring.join(" "),
            count(plan.longest_path as usize, "switch", "switches"),
        ),
    })
}

fn alltoall_summary(tree: &Tree, plan: &Alltoall, sync: SyncKind) -> String {
    let Bound { edge: (from, to), load, .. } = &plan.bound;
    let reason = if *load == 0 { "nothing to send".to_owned() } else { format!("{from} -> {to} carries {}", messages(*load as usize)) };
    let mut lines = vec![
        format!("all-to-all among {}", size(tree)),
        format!("algorithm     {}", plan.algorithm),
        format!("bound         {}: {reason}", phases(plan.bound.phases)),
        format!("schedule      {}, {}", phases(plan.phases.len() as u64), messages(plan.messages())),
        format!("sync          {sync}{}", tokens(tree, plan, sync)),
    ];
    let rates: Vec<_> = (0..tree.nodes()).filter(|&v| tree.parent(v).is_some()).map(|v| tree.rate(v)).collect();
    if let (Some(slowest), Some(fastest)) = (rates.iter().min(), rates.iter().max())
        && slowest < fastest
    {
        lines.push(format!("note          links differ in rate ({slowest} to {fastest}); aapc uses each like the slowest"));
    }
    lines.join("\n") + "\n"
}

fn tokens(tree: &Tree, plan: &Alltoall, sync: SyncKind) -> String {
    match sync {
        SyncKind::None => ": phases may run into each other".to_owned(),
        SyncKind::Barrier => format!(": {} between phases", count(plan.phases.len().saturating_sub(1), "barrier", "barriers")),
        SyncKind::Sender | SyncKind::Receiver => {
            let number = |reduction| syncs(tree, &plan.phases, sync, reduction).len();
            let (chain, minimal) = (number(Reduction::Chain), number(Reduction::Minimal));
            format!(": {} in this plan; {chain} chained, {minimal} minimal", count(plan.syncs.len(), "token", "tokens"))
        }
    }
}

fn size(tree: &Tree) -> String {
    let switches = (tree.nodes() - tree.hosts()) as usize;
    format!("{} on {}", count(tree.hosts() as usize, "host", "hosts"), count(switches, "switch", "switches"))
}

fn phases(number: u64) -> String {
    count(number as usize, "phase", "phases")
}

fn messages(number: usize) -> String {
    count(number, "message", "messages")
}

fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

fn tree(common: &Common) -> anyhow::Result<Tree> {
    let tree = read_tree(&common.topology)?;
    if common.hosts.is_empty() { Ok(tree) } else { tree.restrict(&common.hosts).with_context(|| common.topology.display().to_string()) }
}

/// The tree of a topology file.
pub(crate) fn read_tree(path: &Path) -> anyhow::Result<Tree> {
    let file = path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(|| format!("{file}: cannot be read"))?;
    TopologyFile::parse(&file, &text)?.tree().with_context(|| file)
}

/// Prints a whole schedule; a reader that has seen enough is no error.
fn print(text: &str) -> anyhow::Result<Outcome> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(e).context("standard output"),
        _ => Ok(Outcome::Done),
    }
}
