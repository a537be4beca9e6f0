//! `heddle map` as a rank of an MPI job: the ranks find each other by MPI, and measure over TCP.
//!
//! Compiled once for each MPI library. `heddle map` starts the one that fits the job.
mod measurement;
mod members;
mod report;

use anyhow::Context;
use clap::Parser;
use flows::{FlowPeer, SessionKey};
use inventory::Bytes;
use measurement::MapLimits;
use mpi::traits::*;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Find the tree of switches between the hosts of this job, and write it as a topology file
#[derive(Parser)]
struct Args {
    /// The topology file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The bytes to move at most
    #[arg(long, value_name = "BYTES", default_value = "200M", value_parser = bytes)]
    budget: Bytes,
    /// The time to take at most, in seconds
    #[arg(long, value_name = "S", default_value_t = 180.0)]
    seconds: f64,
    /// The network on which to measure, if the hosts have several in common
    #[arg(long, value_name = "ADDRESS/BITS")]
    network: Option<String>,
    /// Write a tree even if it explains little of what was measured
    #[arg(long)]
    force: bool,
}

fn bytes(text: &str) -> Result<Bytes, String> {
    let units = [("k", 1_000), ("M", 1_000_000), ("G", 1_000_000_000)];
    let unit = units
        .iter()
        .find_map(|(name, factor)| Some((text.strip_suffix(name)?, factor)));
    let (number, factor) = unit.unwrap_or((text, &1));
    let number: u64 = number
        .parse()
        .map_err(|_| "not a number of bytes, like 200M".to_owned())?;
    number
        .checked_mul(*factor)
        .map(Bytes)
        .ok_or_else(|| "too many bytes".to_owned())
}

fn main() -> ExitCode {
    let args = Args::parse();
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
    let members = members::exchange(world, peer.port())?;
    if world.rank() != 0 {
        // Without a busy wait, which would disturb what is measured.
        peer.wait();
        return Ok(());
    }
    let limits = MapLimits {
        budget: args.budget,
        time: Duration::try_from_secs_f64(args.seconds).context("--seconds")?,
    };
    let members = members::on_one_network(&members, args.network.as_deref())?;
    let measured = measurement::run(&members, &key, limits, &args.output)?;
    report::write(&members, &measured, &args.output, args.force)
}
