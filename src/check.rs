//! `heddle check`
use crate::discover::NetworkArgs;
use crate::output::{TextFormat, print};
use crate::{CommandOutcome, input_file};
use cabling::compare;
use std::path::PathBuf;

/// Compare the cabling with a plan and name every difference
///
/// Exit status 1: there is a difference, or no switch answered.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    network: NetworkArgs,
    /// The plan: a topology file or a Graphviz file of the Prescriptive Topology Manager. A
    /// topology file may name ports: a_port and b_port of a link, port of a host
    #[arg(long, value_name = "FILE")]
    plan: PathBuf,
    /// The form of the report: a line for each difference, or one object that also names the cables
    #[arg(long, value_enum, default_value = "text")]
    format: TextFormat,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<CommandOutcome> {
    let plan = input_file::plan(&args.plan)?;
    let found = args.network.read_network(None)?;
    if !found.answered {
        return Ok(CommandOutcome::CheckFailed);
    }
    let report = compare(
        &plan.in_names_of(&found.topology, &found.descriptions),
        &found.topology,
    );
    print(&match args.format {
        TextFormat::Text => report.to_string(),
        TextFormat::Json => serde_json::to_string_pretty(&report)? + "\n",
    })?;
    Ok(CommandOutcome::check(report.is_as_planned()))
}
