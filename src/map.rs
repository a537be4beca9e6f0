//! `heddle map`
use crate::connection::ConnectionArgs;
use crate::{CommandOutcome, bench, flags, map_order};
use anyhow::Context;
use inventory::{Bytes, Mpi};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Find the tree of switches from the hosts alone, as an MPI job with one rank a host
///
/// The hosts send flows to each other. Flows that share a cable slow each other down, which tells
/// the tree and the rates of its cables. No switch is asked, and no root is needed. Start it with
/// the launcher of Open MPI or MPICH, one rank on each host:
///
///   mpirun --map-by node -n 16 heddle map -o cluster.yaml
///
/// The file serves `heddle publish --topology`. The network is busy meanwhile, for half a minute or more.
///
/// With --controller a running controller measures, by the agents of its hosts: only hosts on
/// unmanaged switches, and only within what the inventory allows (measuring:). It takes the result
/// into its tree.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The topology file to write
    #[arg(
        short,
        long,
        value_name = "FILE",
        required_unless_present = "controller"
    )]
    output: Option<PathBuf>,
    /// Have the controller at this address measure [default: HEDDLE_CONNECT, or 127.0.0.1:7171]
    #[arg(
        long,
        value_name = "HOST:PORT",
        num_args = 0..=1,
        default_missing_value = "",
        conflicts_with_all = [
            "output", "budget", "seconds", "share", "network", "any_tree", "keep_rounds", "from", "force", "mpi"
        ]
    )]
    controller: Option<String>,
    /// With --controller: a PEM file with the authorities that certify it [environment: HEDDLE_CA]
    #[arg(long, value_name = "FILE", requires = "controller")]
    ca: Option<PathBuf>,
    /// With --controller: a file with its token [environment: HEDDLE_TOKEN_FILE]
    #[arg(long, value_name = "FILE", requires = "controller")]
    token_file: Option<PathBuf>,
    /// The bytes to move at most
    #[arg(long, value_name = "BYTES", default_value = "190M")]
    budget: Bytes,
    /// The time to take at most, in seconds
    #[arg(long, value_name = "S", default_value_t = 180.0, value_parser = flags::seconds)]
    seconds: f64,
    /// The part of the time in which flows may run, 0.2 or 20%: the rest is left to others
    #[arg(long, value_name = "PART", default_value_t = 1.0, value_parser = share)]
    share: f64,
    /// The network on which to measure, if the hosts have several in common
    #[arg(long, value_name = "ADDRESS/BITS")]
    network: Option<String>,
    /// Write the best tree even if it explains little of what was measured
    #[arg(long)]
    any_tree: bool,
    /// Keep the measured rounds in FILE.rounds; they are kept anyway if the measurement stops early
    /// or no tree explains it
    #[arg(long)]
    keep_rounds: bool,
    /// Measure nothing, and take the rounds that an earlier run kept; needs no job
    #[arg(long, value_name = "FILE.rounds")]
    from: Option<PathBuf>,
    /// Replace the file if it is there already
    #[arg(long)]
    force: bool,
    /// The MPI library of the job [default: the one whose launcher started this rank]
    #[arg(long, value_parser = flags::mpi())]
    mpi: Option<Mpi>,
}

/// Becomes the program of the ranks, which is linked with the job's MPI.
pub(crate) fn run(args: &Args) -> anyhow::Result<CommandOutcome> {
    if let Some(from) = &args.from {
        // Either program does: no MPI starts.
        let program = Mpi::ALL
            .into_iter()
            .map(|mpi| bench::beside(&format!("map-{mpi}")))
            .reduce(Result::or)
            .expect("heddle serves an MPI")?;
        let mut ranks = Command::new(&program);
        ranks.arg("--from").arg(from);
        return become_ranks(args, &program, ranks);
    }
    if let Some(address) = &args.controller {
        return map_order::run(&ConnectionArgs {
            // Without a value the address is that of the environment, or the usual one.
            connect: Some(address.clone()).filter(|address| !address.is_empty()),
            ca: args.ca.clone(),
            token_file: args.token_file.clone(),
        });
    }
    let mpi = args.mpi.or_else(launched_by).context(
        "map: no MPI launcher started this; run it as a job with one rank on each host, for \
         example: mpirun --map-by node -n 16 heddle map -o cluster.yaml; if a launcher did start \
         it, name its MPI: --mpi openmpi or --mpi mpich",
    )?;
    let program = bench::beside(&format!("map-{mpi}"))?;
    let ranks = Command::new(&program);
    become_ranks(args, &program, ranks)
}

fn become_ranks(args: &Args, program: &Path, mut ranks: Command) -> anyhow::Result<CommandOutcome> {
    ranks.arg("--output").args(&args.output);
    ranks.arg("--budget").arg(args.budget.0.to_string());
    ranks.arg("--seconds").arg(args.seconds.to_string());
    ranks.arg("--share").arg(args.share.to_string());
    ranks.args(
        args.network
            .iter()
            .flat_map(|network| ["--network", network]),
    );
    ranks.args(args.any_tree.then_some("--any-tree"));
    ranks.args(args.keep_rounds.then_some("--keep-rounds"));
    ranks.args(args.force.then_some("--force"));
    // A program that starts takes the place of this one: exec returns only if it fails.
    Err(ranks.exec()).with_context(|| format!("map: {} does not start", program.display()))
}

fn share(text: &str) -> Result<f64, String> {
    let part: Option<f64> = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse().ok().map(|p: f64| p / 100.0),
        None => text.parse().ok(),
    };
    let share = part.filter(|s| (0.01..=1.0).contains(s));
    share.ok_or_else(|| "expected a number from 0.01 to 1, or 1% to 100%".to_owned())
}

/// The MPI whose launcher set this rank's environment.
fn launched_by() -> Option<Mpi> {
    if is_set("OMPI_COMM_WORLD_SIZE") {
        Some(Mpi::OpenMpi)
    } else if is_set("PMI_SIZE") {
        Some(Mpi::Mpich)
    } else {
        None
    }
}

fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some()
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn a_share_is_written_as_in_the_inventory_or_as_a_number() {
        assert_eq!(share("0.2"), Ok(0.2));
        assert_eq!(share("20%"), Ok(0.2));
        for text in ["0", "20", "101%", "0.5%", "%", "NaN"] {
            assert!(share(text).is_err(), "{text}");
        }
    }
}
