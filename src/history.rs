//! `heddle history`
use crate::flags::whole;
use crate::output::{self, print};
use crate::{CommandOutcome, input_file};
use anyhow::{Context, anyhow, bail};
use controller::history::{self, HistoryEntry};
use controller::publish::{KEEP, learned_so_far, measurements_for_next};
use directory::epoch::{EpochOutline, VerifiedEpoch, WayEvidence};
use directory::layout::{EPOCHS, folder};
use directory::publishing::{EpochStore, PublishError};
use directory::reading::{current, current_epoch, reader};
use directory::rollback::RollbackOrder;
use drawing::network::{NetworkMoment, compared};
use inventory::unreadable::UnreadableFile;
use inventory::{TopologyFile, counted, sanitize};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The time to wait for a controller that carries out an order.
const PATIENCE: Duration = Duration::from_secs(30);

/// List the published epochs and the changes between them
///
/// This fails if the current epoch cannot be read.
///
/// With --rollback the network of an earlier epoch is planned, verified and published again, under
/// a new number. A running controller does it itself, and stays with that network until it sees the
/// network change, or until --release.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The shared directory
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// The form of the list
    #[arg(long, value_enum, default_value = "text")]
    format: HistoryFormat,
    /// The epoch to draw [default: the current one]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=u64::MAX))]
    epoch: Option<u64>,
    /// Publish the network of this epoch again
    #[arg(long, value_name = "EPOCH", conflicts_with_all = ["release", "format", "epoch"],
          value_parser = whole::<u64>(1..=u64::MAX))]
    rollback: Option<u64>,
    /// Take the order of --rollback back: the controller publishes the network as it finds it
    #[arg(long, conflicts_with_all = ["format", "epoch"])]
    release: bool,
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
    if let Some(epoch) = args.rollback {
        return roll_back(&args.dir, epoch);
    }
    if args.release {
        return release(&args.dir);
    }
    let entries = history::read(&args.dir).map_err(|cause| {
        anyhow!(
            "{}; expected the shared directory that heddle controller or heddle publish writes",
            UnreadableFile::new(&args.dir.join(EPOCHS), cause)
        )
    })?;
    match args.format {
        HistoryFormat::Svg => print(&drawn(args, &entries)?)?,
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

fn release(dir: &Path) -> anyhow::Result<CommandOutcome> {
    input_file::shared_directory(dir)?;
    let shown = dir.display();
    if let Ok(None) = RollbackOrder::read(dir) {
        tell!("heddle: {shown}: no order to roll back is in force");
    } else {
        RollbackOrder::remove(dir)?;
        tell!(
            "heddle: {shown}: the order is taken back; the controller publishes the network as it \
             finds it"
        );
    }
    Ok(CommandOutcome::Done)
}

fn roll_back(dir: &Path, number: u64) -> anyhow::Result<CommandOutcome> {
    let shown = dir.display();
    let now = input_file::published(dir)?;
    let kept = dir.join(folder(number));
    if !kept.exists() {
        bail!(
            "epoch {number}: it is not kept in {shown}; nothing was done: heddle history --dir \
             {shown} lists those that are"
        );
    }
    let wanted = EpochOutline::open(number, reader(kept))
        .with_context(|| format!("epoch {number} cannot be published again"))?;
    if wanted.topology == *now.topology {
        bail!(
            "epoch {number}: its network is that of the current epoch {} already; nothing was done",
            now.number
        );
    }
    let order = RollbackOrder {
        epoch: number,
        replaced: now.number,
    };
    order.write(dir)?;
    let published = match EpochStore::open(dir, KEEP) {
        Ok(store) => publish(dir, &store, wanted),
        Err(PublishError::Locked { .. }) => {
            if !is_carried_out(dir, now.number, &wanted.topology, PATIENCE)? {
                tell!(
                    "heddle: {shown}: the controller has not carried the order out within {} s; \
                     its log says why, and --release takes the order back",
                    PATIENCE.as_secs()
                );
                return Ok(CommandOutcome::CheckFailed);
            }
            Ok(())
        }
        Err(e) => Err(e.into()),
    };
    if let Err(e) = published {
        // A controller that starts later must not find an order that the operator saw fail.
        RollbackOrder::remove(dir)?;
        return Err(e);
    }
    tell!(
        "heddle: the network of epoch {number} is published again; a controller stays with it until \
         the network changes, or until: heddle history --dir {shown} --release"
    );
    let pointer = current(dir)?.map(|pointer| format!("{pointer}\n"));
    output::print(&pointer.unwrap_or_default())
}

/// Publishes without a controller; one that starts later finds the order.
fn publish(dir: &Path, store: &EpochStore, wanted: EpochOutline) -> anyhow::Result<()> {
    let (tuning, problem) = measurements_for_next(dir);
    let (learned, unlearned) = learned_so_far(dir);
    for problem in problem.into_iter().chain(unlearned) {
        tell!("heddle: {problem}; the decision table is made without that file");
    }
    let EpochOutline {
        topology, network, ..
    } = wanted;
    let evidence = WayEvidence::new(tuning, learned, forecast::tuning::table);
    let number = store.next()?;
    let epoch = VerifiedEpoch::plan(number, agent::now(), topology, network, evidence)?;
    store.publish(&epoch)?;
    Ok(())
}

/// Waits until the controller has published the wanted network. It may publish another one first:
/// that which it has in the making.
fn is_carried_out(
    dir: &Path,
    before: u64,
    wanted: &TopologyFile,
    patience: Duration,
) -> anyhow::Result<bool> {
    let began = Instant::now();
    let mut seen = before;
    while began.elapsed() < patience {
        let number = current(dir)?.map_or(seen, |pointer| pointer.number);
        if number != seen {
            seen = number;
            if current_epoch(dir)?.is_some_and(|epoch| *epoch.topology == *wanted) {
                return Ok(true);
            }
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(false)
}

/// The network of an epoch beside that of the epoch before it.
fn drawn(args: &Args, entries: &[HistoryEntry]) -> anyhow::Result<String> {
    let dir = args.dir.display();
    let after = entries.iter().find(|entry| match args.epoch {
        Some(number) => entry.info.number == number,
        None => entry.current,
    }).with_context(|| match args.epoch {
        Some(number) => format!("--epoch {number}: {dir} does not keep this epoch; heddle history --dir {dir} lists those that it keeps"),
        None => format!("{dir}: there is no current epoch to draw; name one with --epoch"),
    })?;
    let before = entries
        .iter()
        .rev()
        .filter(|entry| entry.info.number < after.info.number)
        .find(|entry| entry.problem.is_none())
        .unwrap_or(after);
    let (network_before, network_after) = (
        network_of(before, &args.dir)?,
        network_of(after, &args.dir)?,
    );
    let title = std::iter::once(format!("epoch {}", after.info.number))
        .chain((!after.info.changes.is_empty()).then(|| after.info.changes.join("; ")))
        .collect::<Vec<_>>()
        .join(": ");
    let (before, after) = (
        moment(before, &network_before),
        moment(after, &network_after),
    );
    Ok(compared(title.trim_end_matches(": "), &before, &after).document(&title))
}

fn network_of(entry: &HistoryEntry, dir: &Path) -> anyhow::Result<inventory::Topology> {
    history::network(dir, entry.info.number).map_err(anyhow::Error::msg)
}

fn moment<'a>(entry: &HistoryEntry, topology: &'a inventory::Topology) -> NetworkMoment<'a> {
    NetworkMoment {
        topology,
        heading: format!("epoch {}", entry.info.number),
        figures: vec![
            history::moment(entry.info.at),
            counted(entry.info.phases, "phase"),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use std::fs;

    #[derive(Parser)]
    struct HistoryCommand {
        #[command(flatten)]
        args: Args,
    }

    /// Publishes a network with a host of this name beside another.
    fn put(dir: &Path, host: &str) -> TopologyFile {
        let text = format!("switches: [s0]\nhosts: {{n0: {{switch: s0}}, {host}: {{switch: s0}}}}");
        let file = TopologyFile::parse("t", &text).unwrap();
        let store = EpochStore::open(dir, KEEP).unwrap();
        let (number, network) = (store.next().unwrap(), controller::plan::stated(&file));
        let at = agent::now();
        let epoch = VerifiedEpoch::plan(number, at, file.clone(), network, WayEvidence::default());
        store.publish(&epoch.unwrap()).unwrap();
        file
    }

    #[test]
    fn only_the_wanted_network_means_that_an_order_is_carried_out() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let wanted = put(dir, "n1");
        put(dir, "n2");
        assert!(
            !is_carried_out(dir, 2, &wanted, Duration::from_millis(300)).unwrap(),
            "nothing was published"
        );
        put(dir, "n3");
        assert!(
            !is_carried_out(dir, 2, &wanted, Duration::from_millis(300)).unwrap(),
            "another network was published"
        );
        put(dir, "n1");
        assert!(
            is_carried_out(dir, 2, &wanted, Duration::from_millis(300)).unwrap()
                && is_carried_out(dir, 3, &wanted, Duration::from_millis(300)).unwrap()
        );
    }

    #[test]
    fn an_order_that_fails_is_not_in_force() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        put(dir, "n1");
        put(dir, "n2");
        // No number is left for another epoch.
        let last = dir.join(folder(u64::MAX));
        fs::create_dir(&last).unwrap();
        assert!(roll_back(dir, 1).is_err());
        assert_eq!(RollbackOrder::read(dir).unwrap(), None);
        fs::remove_dir(&last).unwrap();
        roll_back(dir, 1).unwrap();
        assert!(RollbackOrder::read(dir).unwrap().is_some());
    }

    #[test]
    fn orders_take_no_flags_of_the_list() {
        assert!(is_fine("--rollback 1") && is_fine("--release"));
        assert!(is_fine("--epoch 1 --format svg"));
        for order in ["--rollback 1", "--release"] {
            for flag in ["--epoch 2", "--format json"] {
                assert!(!is_fine(&format!("{order} {flag}")), "{order} {flag}");
            }
        }
    }

    fn is_fine(flags: &str) -> bool {
        let words = format!("history --dir d {flags}");
        HistoryCommand::try_parse_from(words.split_whitespace()).is_ok()
    }
}
