//! `heddle map` as a rank of an MPI job: the ranks find each other by MPI, and measure over TCP.
//!
//! Compiled once for each MPI library. `heddle map` starts the one that fits the job.
mod job_hosts;
mod kept_rounds;
mod measurement;
mod report;

use anyhow::{Context, ensure};
use clap::Parser;
use flows::{FlowPeer, MeasurementLimits, SessionKey};
use inventory::Bytes;
use mpi::traits::*;
use report::TreeVerdict;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// The exit status after bad input.
const BAD_INPUT: u8 = 64;

/// The options of `heddle map`, which describes and checks them.
#[derive(Parser)]
struct Args {
    #[arg(long)]
    output: PathBuf,
    /// In bytes.
    #[arg(long)]
    budget: u64,
    #[arg(long)]
    seconds: f64,
    #[arg(long)]
    share: f64,
    #[arg(long)]
    network: Option<String>,
    #[arg(long)]
    any_tree: bool,
    #[arg(long)]
    force: bool,
    #[arg(long)]
    keep_rounds: bool,
    #[arg(long)]
    from: Option<PathBuf>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    if let Some(from) = &args.from {
        return ExitCode::from(exit_status(read_again(from, &args)));
    }
    let Some(universe) = mpi::initialize() else {
        eprintln!("heddle map: MPI does not start; run it as: mpirun -n HOSTS heddle map -o FILE");
        return ExitCode::from(BAD_INPUT);
    };
    let world = universe.world();
    match exit_status(take_part(&world, &args)) {
        0 => ExitCode::SUCCESS,
        // The others wait for orders.
        status => world.abort(status.into()),
    }
}

/// The exit status, as every command of heddle has it. Says what is wrong.
fn exit_status(end: anyhow::Result<TreeVerdict>) -> u8 {
    match end {
        Ok(TreeVerdict::Written) => 0,
        Ok(TreeVerdict::Treeless) => 1,
        Err(error) => {
            eprintln!("heddle map: {error:#}");
            BAD_INPUT
        }
    }
}

fn take_part(world: &impl Communicator, args: &Args) -> anyhow::Result<TreeVerdict> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).context("no random numbers")?;
    world.process_at_rank(0).broadcast_into(&mut random);
    let key = SessionKey(random.iter().map(|byte| format!("{byte:02x}")).collect());
    let peer = FlowPeer::start(key.clone()).context("no port to listen on")?;
    let members = job_hosts::exchange(world, peer.port())?;
    if world.rank() != 0 {
        // Without a busy wait, which would disturb what is measured.
        peer.wait();
        return Ok(TreeVerdict::Written);
    }
    report::check_before_measuring(&args.output, args.force)?;
    let limits = MeasurementLimits {
        budget: Bytes(args.budget),
        time: Duration::try_from_secs_f64(args.seconds).context("--seconds")?,
        share: args.share,
    };
    let members = job_hosts::on_one_network(&members, args.network.as_deref())?;
    let measured = measurement::run(&members, &key, limits, &args.output)?;
    let kept = kept_rounds::path_beside(&args.output);
    let verdict = report::write(&members, &measured, &kept, &args.output, args.any_tree)?;
    if verdict == TreeVerdict::Written && !args.keep_rounds {
        // They have reported what they know.
        let _ = fs::remove_file(kept);
    }
    Ok(verdict)
}

/// Takes rounds that were measured before; no job and no network are needed.
fn read_again(from: &Path, args: &Args) -> anyhow::Result<TreeVerdict> {
    report::check_output(&args.output, args.force)?;
    let (hosts, rounds) = kept_rounds::read(from)?;
    let measured = measurement::again(&hosts, rounds);
    ensure!(
        !measured.tree.own_rates.is_empty(),
        "{}: {} rounds, too few to tell a tree; nothing was written; measure anew, as a job, with \
         higher --seconds and --budget",
        from.display(),
        measured.tree.rounds
    );
    report::write(&hosts, &measured, from, &args.output, args.any_tree)
}
