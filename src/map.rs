//! `heddle map`
use crate::CommandOutcome;
use crate::bench::beside;
use anyhow::{Context, bail};
use inventory::Mpi;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Find the tree of switches from the hosts alone, as an MPI job with one rank a host
///
/// The hosts send flows to each other. Flows that share a cable slow each other down, which tells
/// the tree and the rates of its cables. No switch is asked, and no root is needed. Start it with
/// the launcher of Open MPI or MPICH, one rank on each host:
///
///   mpirun --map-by node -n 16 heddle map -o cluster.yaml
///
/// The file serves `heddle publish --topology`. The network is busy meanwhile: for some seconds, and
/// with 200 MB at most by default. `heddle map -- --help` shows all options of the ranks.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The MPI library of the job [default: the one whose launcher started this rank]
    #[arg(long, value_parser = crate::flags::mpi())]
    mpi: Option<Mpi>,
    /// The options of the ranks: -o FILE, --budget BYTES, --seconds S, --network ADDRESS/BITS,
    /// --force
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTION")]
    options: Vec<OsString>,
}

/// Becomes the program of the ranks, which is linked with the job's MPI.
pub(crate) fn run(args: &Args) -> anyhow::Result<CommandOutcome> {
    let wants_help = args.options.iter().any(|o| o == "--help" || o == "-h");
    let mpi = match args.mpi.or_else(launched_by) {
        Some(mpi) => mpi,
        None if wants_help => Mpi::OpenMpi,
        None => bail!(
            "map: no MPI launcher started this; run it as a job with one rank on each host, for \
             example: mpirun --map-by node -n 16 heddle map -o cluster.yaml; if one did, name its \
             MPI: --mpi openmpi or --mpi mpich"
        ),
    };
    let program = beside(&format!("map-{mpi}"))?;
    let error = Command::new(&program).args(&args.options).exec();
    Err(error).with_context(|| format!("map: {} does not start", program.display()))
}

/// The MPI whose launcher set this rank's environment.
fn launched_by() -> Option<Mpi> {
    let is_set = |name| std::env::var_os(name).is_some();
    if is_set("OMPI_COMM_WORLD_SIZE") {
        Some(Mpi::OpenMpi)
    } else if is_set("PMI_SIZE") {
        Some(Mpi::Mpich)
    } else {
        None
    }
}
