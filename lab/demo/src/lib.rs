//! The demo: the main job on real input. A cluster comes up, a job runs on it, a cable moves, and
//! all follows.
//!
//! | module | one idea |
//! |---|---|
//! | `cluster` | the moving parts: the lab, the controller on its head node, a job across its hosts |
//! | `story` | the steps, each checked |
mod cluster;
mod story;

pub use cluster::{BenchProgram, down_on_signal};

use inventory::{Mpi, TopologyFile};

/// The cluster of the demo where no other is asked for: four switches in a ring and twelve hosts.
pub const TOPOLOGY: &str = include_str!("../../topologies/demo.yaml");

/// Plays the demo in a lab of this name, watched in the terminal interface or told as text with
/// every step checked. Everything is down afterwards.
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
    let mut cluster = story::begin(name, file, mpi, bench)?;
    if watched {
        story::watch(&mut cluster)?;
        return cluster.down();
    }
    story::tell(&mut cluster)?;
    story::end(&mut cluster)
}
