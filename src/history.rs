//! `heddle history`
use crate::CommandOutcome;
use crate::output::{self, TextFormat};
use anyhow::{anyhow, bail};
use controller::history;
use directory::layout::EPOCHS;
use directory::reading::current_epoch;
use inventory::sanitize;
use inventory::unreadable::UnreadableFile;
use std::path::PathBuf;

/// List the published epochs and the changes between them
///
/// This fails if the current epoch cannot be read.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The shared directory
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// The form of the list
    #[arg(long, value_enum, default_value = "text")]
    format: TextFormat,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<CommandOutcome> {
    let entries = history::read(&args.dir).map_err(|cause| {
        anyhow!(
            "{}; expected the shared directory that heddle controller or heddle publish writes",
            UnreadableFile::new(&args.dir.join(EPOCHS), cause)
        )
    })?;
    match args.format {
        TextFormat::Json => say!("{}", serde_json::to_string_pretty(&entries)?),
        TextFormat::Text => {
            let lines = entries.iter().map(|e| sanitize::message(&history::text(e)));
            output::print(&lines.collect::<String>())?
        }
    };
    if let Err(e) = current_epoch(&args.dir) {
        bail!(
            "{e}; jobs that start now use their MPI library's own routines, running ones keep the \
             epoch they follow; publish a new epoch: run heddle publish, or restart heddle \
             controller"
        );
    }
    Ok(CommandOutcome::Done)
}
