//! `heddle history`
use crate::Outcome;
use anyhow::Context;
use controller::history;
use inventory::plain;
use std::path::PathBuf;

/// Lists the epochs kept in a shared directory and what changed from one to the next.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The shared directory
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// How to print it
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    Text,
    Json,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let entries = history::read(&args.dir).with_context(|| format!("{}: no shared directory of heddle", args.dir.display()))?;
    match args.format {
        Format::Json => println!("{}", serde_json::to_string_pretty(&entries)?),
        Format::Text => entries.iter().for_each(|entry| print!("{}", plain::message(&history::text(entry)))),
    }
    Ok(Outcome::Done)
}
