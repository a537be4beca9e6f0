//! `heddle check`
use crate::CommandOutcome;
use crate::discover::NetworkArgs;
use crate::output::print;
use anyhow::Context;
use cabling::{CablingPlan, compare};
use std::path::PathBuf;

/// Flags of `heddle check`.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    network: NetworkArgs,
    /// The plan: a topology file, which may name ports (a_port and b_port of a link, port of a
    /// host), or a Graphviz file as the Prescriptive Topology Manager reads it
    #[arg(long, value_name = "FILE")]
    plan: PathBuf,
    /// What to print on standard output
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    /// A line for each difference
    Text,
    /// Differences and notes with the cables they are about
    Json,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<CommandOutcome> {
    let file = args.plan.display().to_string();
    let text = std::fs::read_to_string(&args.plan).with_context(|| file.clone())?;
    let plan = CablingPlan::parse(&file, &text)?;
    let found = args.network.read_network()?;
    if !found.answered {
        return Ok(CommandOutcome::CheckFailed);
    }
    let report = compare(
        &plan.in_names_of(&found.topology, &found.descriptions),
        &found.topology,
    );
    print(&match args.format {
        Format::Text => report.to_string(),
        Format::Json => serde_json::to_string_pretty(&report)? + "\n",
    })?;
    Ok(if report.is_as_planned() {
        CommandOutcome::Done
    } else {
        CommandOutcome::CheckFailed
    })
}
