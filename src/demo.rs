//! `heddle demo`: heddle's work on an emulated cluster, shown in the terminal interface or as text.
use crate::{CommandOutcome, flags, input_file};
use inventory::{Mpi, TopologyFile};
use lab::Lab;
use std::io::IsTerminal;
use std::path::PathBuf;

/// Emulate a cluster, run a job on it, move a cable, and show how the job follows
///
/// On a terminal this opens the terminal interface. Elsewhere it prints the scenario as text and
/// checks every step.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The topology file of the cluster [default: four switches in a ring and twelve hosts, and
    /// a network for management]
    #[arg(long, value_name = "FILE")]
    topology: Option<PathBuf>,
    /// Leaves and spines instead, of which one is drained
    #[arg(long, conflicts_with = "topology")]
    fabric: bool,
    /// The MPI library of the job
    #[arg(long, default_value_t = Mpi::OpenMpi, value_parser = flags::mpi())]
    mpi: Mpi,
    /// Print the scenario as text and check every step, also on a terminal
    #[arg(long)]
    text: bool,
    /// The lab's name
    #[arg(long, default_value = "demo")]
    name: String,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<CommandOutcome> {
    let file = match &args.topology {
        Some(path) => input_file::network(path)?,
        None if args.fabric => TopologyFile::parse("fabric.yaml", demo::FABRIC)?,
        None => TopologyFile::parse("demo-networks.yaml", demo::TOPOLOGY)?,
    };
    Lab::check_name(&args.name)?;
    lab::need_root()?;
    let watched = std::io::stdout().is_terminal() && std::io::stdin().is_terminal() && !args.text;
    lab::down_on_signal(&args.name, "demo")?;
    match demo::play(&args.name, file, args.mpi, crate::bench::program, watched) {
        Ok(()) => Ok(CommandOutcome::Done),
        Err(error) => {
            tell!("heddle demo: FAILED: {error:#}");
            Ok(CommandOutcome::CheckFailed)
        }
    }
}
