//! `heddle history`
use crate::CommandOutcome;
use crate::output;
use crate::schedule::count;
use anyhow::{Context, bail};
use controller::history::{self, HistoryEntry};
use directory::reading::current_epoch;
use drawing::network::{NetworkMoment, compared};
use inventory::sanitize;
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
    format: HistoryFormat,
    /// The epoch to draw [default: the current one]
    #[arg(long, value_name = "N")]
    epoch: Option<u64>,
}

/// The form of the list.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum HistoryFormat {
    /// For people
    Text,
    /// For programs
    Json,
    /// A picture of the network in an epoch, and in the one before it
    Svg,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<CommandOutcome> {
    let entries = history::read(&args.dir)
        .with_context(|| format!("{}: not a shared directory of heddle", args.dir.display()))?;
    match args.format {
        HistoryFormat::Svg => output::print(&drawn(args, &entries)?)?,
        HistoryFormat::Json => say!("{}", serde_json::to_string_pretty(&entries)?),
        HistoryFormat::Text => {
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

/// The network of an epoch beside that of the epoch before it.
fn drawn(args: &Args, entries: &[HistoryEntry]) -> anyhow::Result<String> {
    let wanted = |entry: &&HistoryEntry| match args.epoch {
        Some(number) => entry.info.number == number,
        None => entry.current,
    };
    let dir = args.dir.display();
    let after = entries.iter().find(wanted).with_context(|| match args.epoch {
        Some(number) => format!("--epoch {number}: {dir} does not keep this epoch; heddle history --dir {dir} lists those that it keeps"),
        None => format!("{dir}: there is no current epoch to draw; name one with --epoch"),
    })?;
    let is_usable = |entry: &&HistoryEntry| entry.problem.is_none();
    let older = |entry: &&HistoryEntry| entry.info.number < after.info.number;
    let before = entries
        .iter()
        .rev()
        .filter(older)
        .find(is_usable)
        .unwrap_or(after);
    let network = |entry: &HistoryEntry| {
        history::network(&args.dir, entry.info.number).map_err(anyhow::Error::msg)
    };
    let (network_before, network_after) = (network(before)?, network(after)?);
    let changes = after.info.changes.join("; ");
    let title = format!("epoch {}: {changes}", after.info.number);
    let moment = |entry: &HistoryEntry, topology| NetworkMoment {
        topology,
        heading: format!("epoch {}", entry.info.number),
        figures: vec![
            history::moment(entry.info.at),
            count(entry.info.phases as usize, "phase", "phases"),
        ],
    };
    let (before, after) = (
        moment(before, &network_before),
        moment(after, &network_after),
    );
    Ok(compared(title.trim_end_matches(": "), &before, &after).document(&title))
}
