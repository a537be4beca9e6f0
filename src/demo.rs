//! `heddle demo`: the main job on real input, watched in the terminal interface or told as text.
use crate::CommandOutcome;
use anyhow::Context;
use inventory::TopologyFile;
use std::io::IsTerminal;
use std::path::PathBuf;

/// Flags of `heddle demo`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The cluster to emulate; without it four switches in a ring and twelve hosts
    #[arg(long, value_name = "FILE")]
    topology: Option<PathBuf>,
    /// The MPI the job runs on
    #[arg(long, value_enum, default_value_t = Mpi::Openmpi)]
    mpi: Mpi,
    /// Tell the story as text and check every step, also on a terminal
    #[arg(long)]
    text: bool,
    /// The lab's name
    #[arg(long, default_value = "demo")]
    name: String,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Mpi {
    /// Open MPI
    Openmpi,
    /// MPICH
    Mpich,
}

impl From<Mpi> for lab::mpi::Mpi {
    fn from(mpi: Mpi) -> Self {
        match mpi {
            Mpi::Openmpi => lab::mpi::Mpi::OpenMpi,
            Mpi::Mpich => lab::mpi::Mpi::Mpich,
        }
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<CommandOutcome> {
    let (name, text) = match &args.topology {
        Some(path) => (
            path.display().to_string(),
            std::fs::read_to_string(path)
                .with_context(|| format!("{}: cannot be read", path.display()))?,
        ),
        None => ("demo.yaml".to_owned(), demo::TOPOLOGY.to_owned()),
    };
    let file = TopologyFile::parse(&name, &text)?;
    let watched = std::io::stdout().is_terminal() && std::io::stdin().is_terminal() && !args.text;
    demo::down_on_signal(&args.name)?;
    match demo::play(
        &args.name,
        file,
        args.mpi.into(),
        crate::bench::program,
        watched,
    ) {
        Ok(()) => Ok(CommandOutcome::Done),
        Err(error) => {
            eprintln!("heddle demo: FAILED: {error:#}");
            Ok(CommandOutcome::CheckFailed)
        }
    }
}
