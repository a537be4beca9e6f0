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
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

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
        return match read_again(from, &args) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("heddle map: {error:#}");
                ExitCode::from(1)
            }
        };
    }
    let Some(universe) = mpi::initialize() else {
        eprintln!("heddle map: MPI does not start; run it as: mpirun -n HOSTS heddle map -o FILE");
        return ExitCode::from(64);
    };
    let world = universe.world();
    match take_part(&world, &args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("heddle map: {error:#}");
            // The others wait for orders.
            world.abort(1)
        }
    }
}

fn take_part(world: &impl Communicator, args: &Args) -> anyhow::Result<()> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).context("no random numbers")?;
    world.process_at_rank(0).broadcast_into(&mut random);
    let key = SessionKey(random.iter().map(|byte| format!("{byte:02x}")).collect());
    let peer = FlowPeer::start(key.clone()).context("no port to listen on")?;
    let members = job_hosts::exchange(world, peer.port())?;
    if world.rank() != 0 {
        // Without a busy wait, which would disturb what is measured.
        peer.wait();
        return Ok(());
    }
    report::check_output(&args.output, args.force)?;
    let limits = MeasurementLimits {
        budget: Bytes(args.budget),
        time: Duration::try_from_secs_f64(args.seconds).context("--seconds")?,
        share: args.share,
    };
    let members = job_hosts::on_one_network(&members, args.network.as_deref())?;
    let measured = measurement::run(&members, &key, limits, &args.output)?;
    report::write(&members, &measured, &args.output, args.any_tree)?;
    if !args.keep_rounds {
        // They have told what they know.
        let _ = fs::remove_file(kept_rounds::path_beside(&args.output));
    }
    Ok(())
}

/// Takes rounds that were measured before; no job and no network are needed.
fn read_again(from: &Path, args: &Args) -> anyhow::Result<()> {
    report::check_output(&args.output, args.force)?;
    let (hosts, rounds) = kept_rounds::read(from)?;
    let measured = measurement::again(&hosts, rounds);
    ensure!(
        !measured.tree.own_rates.is_empty(),
        "{} holds {} rounds, too few to tell a tree",
        from.display(),
        measured.tree.rounds
    );
    report::write(&hosts, &measured, &args.output, args.any_tree)
}
