//! The demo: heddle's work on an emulated cluster. The cluster comes up, a job runs on it, a cable
//! moves, and the controller and the job follow.
//!
//! | module | one idea |
//! |---|---|
//! | `cluster` | the lab, the controller on its head node, a job across its hosts |
//! | `gain` | the same job without heddle and with it |
//! | `narration` | the lines that it prints |
//! | `scenario` | the steps, each checked |
#![deny(clippy::print_stdout, clippy::print_stderr)]
mod cluster;
mod gain;
mod narration;
mod scenario;

pub use cluster::BenchProgram;

use inventory::{Mpi, TopologyFile};

/// The default cluster of the demo: four switches in a ring and twelve hosts, and a network for management.
pub const TOPOLOGY: &str = include_str!("../../topologies/demo-networks.yaml");

/// Three leaves and two spines, over which flows spread.
pub const FABRIC: &str = include_str!("../../topologies/fabric.yaml");

/// Plays the demo in a lab of this name, either in the terminal interface or as text with every
/// step checked. Everything is down afterwards.
///
/// # Errors
/// The first step that failed.
pub fn play(
    name: &str,
    file: TopologyFile,
    mpi: Mpi,
    bench: BenchProgram,
    watched: bool,
) -> anyhow::Result<()> {
    let mut cluster = scenario::begin(name, file, mpi, bench)?;
    if watched {
        scenario::watch(&mut cluster)?;
        return cluster.down();
    }
    scenario::tell(&mut cluster)?;
    scenario::end(&mut cluster)
}
