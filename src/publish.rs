//! `heddle publish`
use crate::{CommandOutcome, input_file};
use anyhow::Context;
use controller::plan::stated;
use controller::publish::{KEEP, learned_so_far, measurements_for_next};
use directory::epoch::{VerifiedEpoch, WayEvidence};
use directory::publishing::EpochStore;
use directory::reading::{current, current_epoch};
use std::path::PathBuf;

/// Publish one epoch from a topology file, without a controller
///
/// This plans and verifies the schedules, for clusters that never change and for tests. It prints
/// the content of the file `current` afterwards. If the current epoch has this topology already,
/// nothing is published, unless `heddle tune` has measured since.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The topology file
    #[arg(long, value_name = "FILE")]
    topology: PathBuf,
    /// The shared directory
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<CommandOutcome> {
    let name = args.topology.display().to_string();
    let file = input_file::topology(&args.topology)?; // Before the directory is touched.
    let store = EpochStore::open(&args.dir, KEEP)?;
    let (tuning, problem) = measurements_for_next(&args.dir);
    let (learned, unlearned) = learned_so_far(&args.dir);
    for problem in problem.into_iter().chain(unlearned) {
        tell!("{problem}; the decision table is made without that file");
    }
    // If the current epoch is damaged, a new one replaces it.
    if let Some(current) = current_epoch(&args.dir)
        .ok()
        .flatten()
        .filter(|current| *current.topology == file && current.tuning == tuning)
    {
        tell!(
            "{name}: epoch {} is this topology already; nothing published",
            current.number
        );
    } else {
        let number = store.next()?;
        let evidence = WayEvidence::new(tuning, learned, forecast::tuning::table);
        let verified =
            VerifiedEpoch::plan(number, agent::now(), file.clone(), stated(&file), evidence)
                .with_context(|| name.clone())?;
        store.publish(&verified)?;
    }
    if let Some(pointer) = current(&args.dir)? {
        say!("{pointer}");
        let dir = std::path::absolute(&args.dir).unwrap_or_else(|_| args.dir.clone());
        tell!("jobs follow it with HEDDLE_DIR={}", dir.display());
    }
    Ok(CommandOutcome::Done)
}
